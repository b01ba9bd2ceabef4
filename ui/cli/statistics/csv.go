package statistics

import (
	"encoding/csv"
	"fmt"
	"io"
	"reflect"
	"strconv"
	"strings"
	"time"

	"belay/ui/theme"
)

// writeCSV writes records with the names of their JSON fields as a head, by
// RFC 4180.
func writeCSV[T any](w io.Writer, list []T) error {
	out := csv.NewWriter(w)
	kind := reflect.TypeFor[T]()
	var head []string
	for field := range kind.Fields() {
		name := field.Tag.Get("json")
		if name == "-" {
			break // what is not kept stands at the end
		}
		head = append(head, name)
	}
	if err := out.Write(head); err != nil {
		return err
	}
	row := make([]string, len(head))
	for i := range list {
		v := reflect.ValueOf(&list[i]).Elem()
		for n := range head {
			row[n] = csvCell(v.Field(n))
		}
		if err := out.Write(row); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}

// csvCell writes a value for a spreadsheet. Texts come from models and servers, so
// none may be taken for a formula.
func csvCell(v reflect.Value) string {
	switch value := v.Interface().(type) {
	case time.Time:
		return value.UTC().Format(time.RFC3339Nano)
	case float64:
		return strconv.FormatFloat(value, 'f', -1, 64)
	}
	if v.Kind() != reflect.String {
		return fmt.Sprint(v.Interface())
	}
	text := theme.Line(v.String())
	if text != "" && strings.ContainsRune("=+-@", rune(text[0])) {
		return "'" + text
	}
	return text
}
