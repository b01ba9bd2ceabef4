package config

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
)

var durationType = reflect.TypeFor[time.Duration]()

// assign sets dst to a parsed value. A typed value is text and is parsed as dst needs.
func assign(v any, dst reflect.Value, typed bool) error {
	if dst.Kind() == reflect.Pointer {
		fresh := reflect.New(dst.Type().Elem())
		if err := assign(v, fresh.Elem(), typed); err != nil {
			return err
		}
		dst.Set(fresh)
		return nil
	}
	if text, ok := v.(string); ok && typed {
		v = parseTyped(text, dst.Type())
	}
	switch {
	case dst.Type() == durationType:
		text, ok := v.(string)
		if !ok {
			return mismatch(v)
		}
		d, err := parseDuration(text)
		if err != nil {
			return fmt.Errorf("%q is not a length of time", text)
		}
		dst.SetInt(int64(d))
		return nil
	case dst.Kind() == reflect.Slice:
		list, ok := v.([]any)
		if !ok {
			return mismatch(v)
		}
		fresh := reflect.MakeSlice(dst.Type(), len(list), len(list))
		for i, x := range list {
			if err := assign(x, fresh.Index(i), false); err != nil {
				return fmt.Errorf("entry %d: %w", i+1, err)
			}
		}
		dst.Set(fresh)
		return nil
	}
	return scalar(v, dst)
}

// parseHours reads a span of a day, such as 22:00-07:00, in minutes of the day.
func parseHours(text string) (from, to int, ok bool) {
	first, last, ok := strings.Cut(text, "-")
	if !ok {
		return 0, 0, false
	}
	var minutes [2]int
	for i, part := range []string{first, last} {
		at, err := time.Parse("15:04", strings.TrimSpace(part))
		if err != nil {
			return 0, 0, false
		}
		minutes[i] = at.Hour()*60 + at.Minute()
	}
	return minutes[0], minutes[1], true
}

func checkHours(v any) (problem, hint string) {
	text := v.(string)
	if _, _, ok := parseHours(text); text != "" && !ok {
		return fmt.Sprintf("%.40q are no hours", text), `write them like "22:00-07:00"`
	}
	return "", ""
}

const day = 24 * time.Hour

// parseDuration reads Go's durations, optionally with days in front: 90d, 1d12h.
func parseDuration(text string) (time.Duration, error) {
	digits, rest, ok := strings.Cut(text, "d")
	if !ok {
		return time.ParseDuration(text)
	}
	days, err := strconv.ParseUint(digits, 10, 16)
	if err != nil || rest == "" {
		return time.Duration(days) * day, err
	}
	d, err := time.ParseDuration(rest)
	return time.Duration(days)*day + d, err
}

// set reads one name or a list of them.
func (c *Channels) set(v any, typed bool) error {
	if text, ok := v.(string); ok && !typed {
		v = []any{text}
	}
	var list []string
	if err := assign(v, reflect.ValueOf(&list).Elem(), typed); err != nil {
		return err
	}
	*c = list
	return nil
}

// set reads one key or a list of them.
func (k *KeyList) set(v any, typed bool) error { return (*Channels)(k).set(v, typed) }

func scalar(v any, dst reflect.Value) error {
	switch v := v.(type) {
	case string:
		if dst.Kind() == reflect.String {
			dst.SetString(v)
			return nil
		}
	case bool:
		if dst.Kind() == reflect.Bool {
			dst.SetBool(v)
			return nil
		}
	case int64:
		switch {
		case dst.CanInt() && !dst.OverflowInt(v):
			dst.SetInt(v)
			return nil
		case dst.CanFloat():
			dst.SetFloat(float64(v))
			return nil
		}
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return errors.New("is not a finite number")
		}
		if dst.CanFloat() {
			dst.SetFloat(v)
			return nil
		}
	}
	return mismatch(v)
}

// parseTyped turns typed text into the value that a file would hold. Text that does
// not parse stays text, and assign rejects it.
func parseTyped(text string, typ reflect.Type) any {
	switch {
	case typ == durationType:
		return text
	case typ.Kind() == reflect.Bool:
		if b, err := strconv.ParseBool(text); err == nil {
			return b
		}
	case typ.Kind() == reflect.Int || typ.Kind() == reflect.Int64:
		if n, err := strconv.ParseInt(text, 10, 64); err == nil {
			return n
		}
	case typ.Kind() == reflect.Float64:
		if n, err := strconv.ParseFloat(text, 64); err == nil {
			return n
		}
	case typ.Kind() == reflect.Slice:
		list := []any{}
		for part := range strings.SplitSeq(text, ",") {
			if part = strings.TrimSpace(part); part != "" {
				list = append(list, part)
			}
		}
		return list
	}
	return text
}

func mismatch(v any) error { return errors.New("cannot be " + describe(v)) }

// describe describes a value in an error message.
func describe(v any) string {
	switch v := v.(type) {
	case string:
		return fmt.Sprintf("the text %.60q", v)
	case int64, float64:
		return fmt.Sprintf("the number %v", v)
	case bool:
		return fmt.Sprintf("%v", v)
	case []any:
		return "a list"
	case map[string]any:
		return "a table"
	}
	return "a date"
}

// expected is a hint on how to write a value of a type.
func expected(typ reflect.Type) string {
	if typ.Kind() == reflect.Pointer {
		typ = typ.Elem()
	}
	switch {
	case typ == reflect.TypeFor[KeyList]():
		return `write a key, such as "ctrl+t", or a list of them; a name with a dot stands in quotes`
	case typ == reflect.TypeFor[TokenBudget]():
		return `write "auto", a number of tokens, or one of both for each tier: { heavy = 200000, light = "auto" }`
	case typ == reflect.TypeFor[Effort]():
		return `write a word, or one for each tier: { heavy = "high", light = "low" }`
	case typ == durationType:
		return `write a number with a unit, such as "30s" or "5m"`
	case typ.Kind() == reflect.Slice && typ.Elem() == durationType:
		return `write a list such as ["30s", "2m"]`
	case typ.Kind() == reflect.Slice:
		return `write a list such as ["a", "b"]`
	case typ.Kind() == reflect.Bool:
		return "write true or false"
	case typ.Kind() == reflect.Int || typ.Kind() == reflect.Int64:
		return "write a whole number"
	case typ.Kind() == reflect.Float64:
		return "write a number"
	}
	return "write a text in quotation marks"
}

// setPerTier sets one value for all tiers, or a table's values for the tiers that it
// names. Other tiers keep theirs.
func setPerTier[T any](v any, heavy, medium, light *T, read func(any) (T, error)) error {
	table, ok := v.(map[string]any)
	if !ok {
		x, err := read(v)
		if err == nil {
			*heavy, *medium, *light = x, x, x
		}
		return err
	}
	dst := map[string]*T{"heavy": heavy, "medium": medium, "light": light}
	for _, key := range slices.Sorted(maps.Keys(table)) {
		if dst[key] == nil {
			return fmt.Errorf("unknown tier %.60q", key)
		}
		x, err := read(table[key])
		if err != nil {
			return err
		}
		*dst[key] = x
	}
	return nil
}

// set reads "auto" or a number for all tiers, or a table of these.
func (b *TokenBudget) set(v any, typed bool) error {
	fresh := *b
	err := setPerTier(v, &fresh.Heavy, &fresh.Medium, &fresh.Light, func(x any) (int64, error) {
		return parseTokens(x, typed)
	})
	if err == nil {
		*b = fresh
	}
	return err
}

// set reads a word for all tiers, or a table of words.
func (e *Effort) set(v any, _ bool) error {
	fresh := *e
	err := setPerTier(v, &fresh.Heavy, &fresh.Medium, &fresh.Light, func(x any) (string, error) {
		text, ok := x.(string)
		if !ok {
			return "", mismatch(x)
		}
		return text, nil
	})
	if err == nil {
		*e = fresh
	}
	return err
}

func parseTokens(v any, typed bool) (int64, error) {
	if v == "auto" {
		return 0, nil
	}
	if text, ok := v.(string); ok && typed {
		v = parseTyped(text, reflect.TypeFor[int64]())
	}
	n, ok := v.(int64)
	switch {
	case !ok:
		return 0, mismatch(v)
	case n < 1000 || n > 100_000_000:
		return 0, errors.New("must be auto or 1000 to 100000000")
	}
	return n, nil
}

// Value is a setting as it is shown to the user, without secrets.
type Value struct {
	Key    string
	Value  string // as written in a file
	Origin Origin
}

// Values lists all settings in the order of the example. Header values are hidden, and
// so are user names and passwords in addresses.
func (s Settings) Values() []Value { return s.values(nil, nil, reflect.ValueOf(s)) }

func (s Settings) values(list []Value, path []string, v reflect.Value) []Value {
	switch {
	case v.Kind() == reflect.Pointer:
		if v.IsNil() {
			return list
		}
		return s.values(list, path, v.Elem())
	case v.Kind() == reflect.Struct && v.Type() != reflect.TypeFor[TokenBudget]() && v.Type() != reflect.TypeFor[Effort]():
		for i := range v.NumField() {
			if tag := v.Type().Field(i).Tag.Get("toml"); tag != "" {
				list = s.values(list, append(path[:len(path):len(path)], tag), v.Field(i))
			}
		}
		return list
	case v.Kind() == reflect.Map:
		for _, key := range sortedKeys(v) {
			list = s.values(list, append(path[:len(path):len(path)], key), v.MapIndex(reflect.ValueOf(key)))
		}
		return list
	}
	key := joinKey(path)
	return append(list, Value{Key: key, Value: formatValue(v.Interface()), Origin: s.Origin(key)})
}

// formatValue writes a value as TOML.
func formatValue(v any) string {
	switch v := v.(type) {
	case TokenBudget:
		text := func(n int64) string {
			if n == 0 {
				return `"auto"`
			}
			return strconv.FormatInt(n, 10)
		}
		return formatPerTier(text(v.Heavy), text(v.Medium), text(v.Light))
	case Effort:
		return formatPerTier(quote(v.Heavy), quote(v.Medium), quote(v.Light))
	case time.Duration:
		return quote(formatDuration(v))
	case Secret:
		return quote(v.String())
	case string:
		return quote(withoutUser(v))
	case Channels:
		if len(v) == 1 {
			return quote(v[0])
		}
		return formatValue([]string(v))
	case []string:
		var parts []string
		for _, x := range v {
			parts = append(parts, quote(x))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case []time.Duration:
		var parts []string
		for _, x := range v {
			parts = append(parts, quote(formatDuration(x)))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	}
	return fmt.Sprint(v)
}

// formatPerTier writes one value if all tiers have the same, otherwise a table.
func formatPerTier(heavy, medium, light string) string {
	if heavy == medium && medium == light {
		return heavy
	}
	return fmt.Sprintf("{ heavy = %s, medium = %s, light = %s }", heavy, medium, light)
}

// formatDuration writes 5m instead of 5m0s, and two whole days or more in days.
func formatDuration(d time.Duration) string {
	if d >= 2*day && d%day == 0 {
		return fmt.Sprintf("%dd", d/day)
	}
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}
