package statistics

import (
	_ "embed" // the page
	"errors"
	"fmt"
	"html/template"
	"io"
	"os"
	"strings"
	"time"

	"belay/models/ledger"
	"belay/ui/cli/app"
	"belay/ui/theme"
)

//go:embed stats.html
var statsHTML string

// pageTemplate escapes whatever it is given: names come from servers. The page
// asks for nothing from anywhere and runs no script.
func pageTemplate() *template.Template {
	return template.Must(template.New("stats").Funcs(template.FuncMap{
		"cells":   rowCells,
		"shares":  shares,
		"line":    theme.Line,
		"percent": percent,
		"shade":   shadeOf,
		"day":     dayName,
		"when":    func(t time.Time) string { return t.Local().Format("2006-01-02 15:04") },
		"clock":   theme.Clock,
		"title":   func(w ledger.Week) string { return w.Target.String() },
		"hint": func(day, hour int, h ledger.Hour) string {
			return fmt.Sprintf("%s %d–%d h: %d of %d found no room", dayName(day), hour, hour+1, h.Capacity, h.Attempts)
		},
	}).Parse(statsHTML))
}

// page writes the statistics as one HTML page.
func page(w io.Writer, s statistics) error {
	maps := s.Weeks
	if len(maps) == 2 { // all of them together are the only one
		maps = maps[1:]
	}
	return pageTemplate().Execute(w, map[string]any{
		"S": s, "By": strings.ToUpper(string(s.By)), "Head": rowHead, "Sentences": s.sentences(), "Weeks": maps,
	})
}

// writePage writes the page to a new file.
func writePage(env app.Env, name string, s statistics) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("write the page: %w", err)
	}
	if err := errors.Join(page(f, s), f.Close()); err != nil {
		return fmt.Errorf("write the page: %w", err)
	}
	fmt.Fprintf(env.Err, "written to %s\n", name)
	return nil
}
