package plain

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"belay/ui/locale"
	"belay/ui/theme"
)

// Table writes columns; the first row is the head. On a terminal the last
// column is cut to its width, on a pipe (width 0) columns are divided by tabs.
func Table(w io.Writer, rows [][]string, width int) error {
	for i, title := range rows[0] {
		rows[0][i] = locale.T(title)
	}
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], theme.Width(cell))
		}
	}
	for _, row := range rows {
		line := strings.Join(row, "\t")
		if width > 0 {
			var b strings.Builder
			for i, cell := range row[:len(row)-1] {
				b.WriteString(theme.Fit(cell, widths[i]) + "  ")
			}
			line = theme.Cut(b.String()+row[len(row)-1], width)
		}
		if _, err := fmt.Fprintln(w, line); err != nil {
			return err
		}
	}
	return nil
}

// JSONLine writes a value as one line of JSON.
func JSONLine(w io.Writer, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_, err = w.Write(append(b, '\n'))
	return err
}
