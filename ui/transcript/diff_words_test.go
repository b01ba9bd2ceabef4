package transcript

import (
	"fmt"
	"strings"
	"testing"

	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"

	"belay/ui/theme"
)

// changedWords are the parts of a drawn diff that stand out.
func changedWords(th *theme.Theme, style theme.Style, lines []string) []string {
	on, _, _ := strings.Cut(style.Paint("x"), "x")
	var out []string
	for _, line := range lines {
		for _, part := range strings.Split(line, on)[1:] {
			text, _, _ := strings.Cut(part, "\x1b[m")
			out = append(out, ansi.Strip(text))
		}
	}
	return out
}

func TestTheWordsThatDifferStandOut(t *testing.T) {
	for _, tt := range []struct {
		name, old, now, inOld, inNew string
	}{
		{"a name", "sum := round(price, 2)", "sum := PriceOf(price, 2)", "round", "PriceOf"},
		{"a word more", "return sum, nil", "return sum, nil, err", "", ", err"},
		{"wide characters", "// 端数は 二回 丸める", "// 端数は 一回 丸める", "二回", "一回"},
		{"lines with little in common are new as a whole", "a := b", "return errors.New(\"x\")", "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, profile := range []colorprofile.Profile{colorprofile.ASCII, colorprofile.ANSI, colorprofile.ANSI256,
				colorprofile.TrueColor} {
				th := theme.New("dark", true, profile)
				lines := Diff(th, "--- a/x.txt\n+++ b/x.txt\n@@ -1 +1 @@\n-"+tt.old+"\n+"+tt.now+"\n", 60, false)
				old := strings.Join(changedWords(th, th.RemovedWord, lines[:1]), "")
				now := strings.Join(changedWords(th, th.AddedWord, lines[1:]), "")
				if old != tt.inOld || now != tt.inNew {
					t.Errorf("%v: %q and %q stand out, want %q and %q", profile, old, now, tt.inOld, tt.inNew)
				}
			}
		})
	}
}

func TestColoursChangeNoCharacterOfAChange(t *testing.T) {
	diff := "--- a/x.go\n+++ b/x.go\n@@ -1,3 +1,3 @@\n func a() string {\n-\treturn \"old\" + `raw // 端数` // why\n" +
		"+\treturn \"new\" + `raw // 端数` // because\n }\n"
	for _, w := range []int{24, 40, 80, 160} {
		for _, two := range []bool{false, true} {
			rich := Diff(theme.New("dark", true, colorprofile.TrueColor), diff, w, two)
			none := Diff(theme.New("dark", true, colorprofile.ASCII), diff, w, two)
			for i := range rich {
				if got, want := ansi.Strip(rich[i]), ansi.Strip(none[i]); got != want || theme.Width(rich[i]) > w {
					t.Errorf("width %d: %q, want %q", w, got, want)
				}
			}
		}
	}
}

func BenchmarkDiff(b *testing.B) {
	var diff strings.Builder
	diff.WriteString("--- a/x.go\n+++ b/x.go\n@@ -1,300 +1,300 @@\n")
	for i := range 150 {
		fmt.Fprintf(&diff, "-\tsum := round(lines[%d].Price) // the old way\n", i)
		fmt.Fprintf(&diff, "+\tsum := PriceOf(lines[%d]) // the new way\n", i)
	}
	for b.Loop() {
		Diff(plainTheme, diff.String(), 100, false)
	}
}

func TestCodeIsSetApart(t *testing.T) {
	for _, tt := range []struct {
		profile colorprofile.Profile
		want    string
	}{
		{colorprofile.TrueColor, "     func a() {                       go"},
		{colorprofile.ANSI, "   │ func a() {                       go"},
		{colorprofile.ASCII, "   │ func a() {                       go"},
	} {
		p := New(theme.New("dark", true, tt.profile), nil)
		p.SetSize(42, 12)
		play(p, said("```go\nfunc a() {\n\treturn\n}\n```\n"))
		x, y := find(t, p, "func a")
		line := p.View()[y]
		if got := strings.TrimRight(ansi.Strip(line), " "); got != tt.want {
			t.Errorf("%v: %q, want %q", tt.profile, got, tt.want)
		}
		if grounded := strings.Contains(line, "48;"); grounded != (tt.profile == colorprofile.TrueColor) {
			t.Errorf("%v: the line is written as %q", tt.profile, line)
		}
		p.Press(x, y, 3)
		if got, want := p.Drop(), "func a() {"; got != want {
			t.Errorf("%v: copied %q, want %q", tt.profile, got, want)
		}
	}
}
