package config

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"syscall"
)

// Sources are where settings come from. All fields are optional.
type Sources struct {
	UserFile    string // see File; it may be missing, unless Named
	Named       bool   // the user chose UserFile, so it must exist
	ProjectFile string // .belay.toml in the workspace
	Trusted     bool   // the user trusts the folder; otherwise ProjectFile is not read

	ReadFile func(name string) ([]byte, error)         // nil: of the disk, within a bound
	Env      func(name string) (value string, ok bool) // nil: no environment
	Flags    map[string]string                         // values as typed, by key such as "tiers.default"

	// Providers lists the catalogue's providers, to detect a misspelt one. It is
	// called only when a key names a provider that the settings do not define. Nil:
	// every name is accepted.
	Providers func() []string
}

// ProjectFile is the name of a project's own settings in its root.
const ProjectFile = ".belay.toml"

// variables are the environment variables that set a key.
var variables = []struct{ name, key string }{
	{"OPENAI_BASE_URL", "providers.openai.base_url"},
	{"BELAY_QUEUE_URL", "queue.url"},
}

// Load merges all sources. Its error is a Faults with every mistake found; the
// settings are then empty. A project's file with mistakes is left out, so that a
// folder locks nobody out; Ignored tells them.
func Load(from Sources) (Settings, error) {
	settings, err := merge(from)
	var faults Faults
	if from.Trusted && errors.As(err, &faults) && faults.allIn(projectSource) {
		from.Trusted = false
		settings, err = merge(from)
		settings.ignored = append(settings.ignored, faults...)
	}
	return settings, err
}

const projectSource = "project file"

func (f Faults) allIn(source string) bool {
	return !slices.ContainsFunc(f, func(fault Fault) bool { return fault.Origin.Source != source })
}

func merge(from Sources) (Settings, error) {
	loading := loader{settings: Defaults(), from: from}
	if from.ReadFile == nil {
		loading.from.ReadFile = readFile
	}
	if from.UserFile != "" {
		loading.loadFile(Origin{Source: "user file", Name: from.UserFile}, from.Named)
	}
	if from.ProjectFile != "" && from.Trusted {
		loading.loadFile(Origin{Source: projectSource, Name: from.ProjectFile}, false)
	}
	if from.Env != nil {
		for _, v := range variables {
			if text, ok := from.Env(v.name); ok && text != "" {
				loading.setText(Origin{Source: "environment", Name: v.name}, v.key, text)
			}
		}
	}
	for _, key := range slices.Sorted(maps.Keys(from.Flags)) {
		loading.setText(Origin{Source: "flag", Name: key}, key, from.Flags[key])
	}
	loading.checkTogether()
	if len(loading.faults) > 0 {
		slices.SortStableFunc(loading.faults, func(a, b Fault) int {
			return cmp.Or(
				cmp.Compare(rank(a.Origin.Source), rank(b.Origin.Source)),
				cmp.Compare(a.Origin.Line, b.Origin.Line),
			)
		})
		return Settings{}, loading.faults
	}
	return loading.settings, nil
}

// maxFile bounds a file of settings.
const maxFile = 4 << 20

// readFile reads a file of settings. A project's may be anything: a pipe is not
// waited for, and an endless file is not read to its end.
func readFile(name string) ([]byte, error) {
	f, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil {
		return nil, err
	} else if !info.Mode().IsRegular() {
		return nil, errors.New("it is not a file")
	}
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err == nil && len(data) > maxFile {
		err = fmt.Errorf("it has more than %d MB", maxFile>>20)
	}
	return data, err
}

func rank(source string) int {
	return slices.Index([]string{"default", "user file", projectSource, "environment", "flag"}, source)
}

type loader struct {
	settings Settings
	from     Sources
	faults   Faults
}

// source is the source being applied.
type source struct {
	Origin
	lines map[string]int // of each key; nil if the source is not a file
	typed bool           // values are text, to be parsed as the key requires
}

// origin is where the source sets a key: on its line or, failing that, on that of the
// nearest table around it.
func (s source) origin(path []string) Origin {
	o := s.Origin
	for n := len(path); n > 0 && o.Line == 0; n-- {
		o.Line = s.lines[joinKey(path[:n])]
	}
	return o
}

func (l *loader) fault(o Origin, key, problem, hint string) {
	l.faults = append(l.faults, Fault{Origin: o, Key: key, Problem: problem, Hint: hint})
}

func (l *loader) loadFile(origin Origin, mustExist bool) {
	data, err := l.from.ReadFile(origin.Name)
	if errors.Is(err, fs.ErrNotExist) && !mustExist {
		return
	}
	if err == nil && origin.Name == l.from.ProjectFile && leadsOut(origin.Name) {
		err = errors.New("it is a link that leads out of its folder")
	}
	if err != nil {
		l.fault(origin, "", "cannot be read: "+cause(err), "check the name and who may read the file")
		return
	}
	tree, lines, fault := parseTOML(data)
	if fault != nil {
		origin.Line = fault.Origin.Line
		l.fault(origin, "", fault.Problem, fault.Hint)
		return
	}
	l.apply(source{Origin: origin, lines: lines}, nil, tree, reflect.ValueOf(&l.settings).Elem())
}

// leadsOut reports a link to a file elsewhere. What comes with a project must not have
// another file read, of which messages would quote lines.
func leadsOut(path string) bool {
	resolved, err := filepath.EvalSymlinks(path)
	if err != nil {
		return false
	}
	dir, err := filepath.EvalSymlinks(filepath.Dir(path))
	if err != nil {
		return false
	}
	rel, err := filepath.Rel(dir, resolved)
	return err != nil || !filepath.IsLocal(rel)
}

// cause is an error without the file's name, which the fault names already.
func cause(err error) string {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err.Error()
	}
	return err.Error()
}

// setText sets one key from the environment or the command line.
func (l *loader) setText(origin Origin, key, value string) {
	path, err := splitKey(key)
	if err != nil {
		l.fault(origin, key, err.Error(), "write it like tiers.default")
		return
	}
	var tree any = value
	for _, part := range slices.Backward(path) {
		tree = map[string]any{part: tree}
	}
	l.apply(source{Origin: origin, typed: true}, nil, tree, reflect.ValueOf(&l.settings).Elem())
}

// apply sets dst from a parsed value, descending into tables.
func (l *loader) apply(from source, path []string, v any, dst reflect.Value) {
	if setter, ok := dst.Addr().Interface().(interface{ set(any, bool) error }); ok {
		l.setValue(from, path, func() error { return setter.set(v, from.typed) }, dst)
		return
	}
	switch dst.Kind() {
	case reflect.Struct:
		if table, ok := l.asTable(from, path, v); ok {
			l.applyStruct(from, path, table, dst)
		}
	case reflect.Map:
		if table, ok := l.asTable(from, path, v); ok {
			l.applyMap(from, path, table, dst)
		}
	default:
		l.setValue(from, path, func() error { return assign(v, dst, from.typed) }, dst)
	}
}

func (l *loader) asTable(from source, path []string, v any) (map[string]any, bool) {
	table, ok := v.(map[string]any)
	if !ok {
		l.fault(from.origin(path), joinKey(path), "is a table, not "+describe(v),
			"write ["+joinKey(path)+"] on a line of its own and its keys below")
	}
	return table, ok
}

// removedKeys are keys of older versions, and what to tell users who still set them.
var removedKeys = map[string]string{
	"switch.after.batch": "does nothing any more and is ignored: there is no queued work",
}

func (l *loader) applyStruct(from source, path []string, table map[string]any, dst reflect.Value) {
	for _, key := range slices.Sorted(maps.Keys(table)) {
		below := append(path[:len(path):len(path)], key)
		field, ok := fieldOf(dst, key)
		if problem, removed := removedKeys[pattern(below)]; !ok && removed {
			fault := Fault{Origin: from.origin(below), Key: joinKey(below), Problem: problem}
			l.settings.ignored = append(l.settings.ignored, fault)
			continue
		}
		if !ok {
			l.fault(from.origin(below), joinKey(below), "unknown key", suggestKey(path, key, dst.Type()))
			continue
		}
		l.apply(from, below, table[key], field)
	}
}

func (l *loader) applyMap(from source, path []string, table map[string]any, dst reflect.Value) {
	merged := reflect.MakeMap(dst.Type())
	for _, key := range dst.MapKeys() {
		merged.SetMapIndex(key, dst.MapIndex(key))
	}
	for _, key := range slices.Sorted(maps.Keys(table)) {
		below := append(path[:len(path):len(path)], key)
		if problem, hint := checkName(below); problem != "" {
			l.fault(from.origin(below), joinKey(below), problem, hint)
			continue
		}
		k := reflect.ValueOf(key)
		element := reflect.New(dst.Type().Elem()).Elem()
		if old := dst.MapIndex(k); old.IsValid() {
			element.Set(old)
		}
		l.apply(from, below, table[key], element)
		merged.SetMapIndex(k, element)
	}
	dst.Set(merged)
}

// setValue sets a value and remembers its origin. A value that is not valid, or that
// the source may not set, is undone and reported.
func (l *loader) setValue(from source, path []string, set func() error, dst reflect.Value) {
	at, key := from.origin(path), joinKey(path)
	old := reflect.New(dst.Type()).Elem()
	old.Set(dst)
	if err := set(); err != nil {
		l.fault(at, key, err.Error(), expected(dst.Type()))
		return
	}
	problem, hint := checkValue(path, dst)
	if problem == "" && from.Source == "project file" {
		problem, hint = checkProjectValue(path, old, dst)
	}
	if problem != "" {
		dst.Set(old)
		l.fault(at, key, problem, hint)
		return
	}
	l.settings.origins[key] = at
}

// fieldOf finds a struct's field by its key.
func fieldOf(v reflect.Value, key string) (reflect.Value, bool) {
	for i := range v.NumField() {
		if tag := v.Type().Field(i).Tag.Get("toml"); tag != "" && tag == key {
			return v.Field(i), true
		}
	}
	return reflect.Value{}, false
}

// keysOf lists the keys of a struct type.
func keysOf(t reflect.Type) []string {
	var keys []string
	for i := range t.NumField() {
		if tag := t.Field(i).Tag.Get("toml"); tag != "" {
			keys = append(keys, tag)
		}
	}
	return keys
}

// suggestKey is a hint for an unknown key: a similar key of this table, the table it
// belongs to, or the keys that exist here.
func suggestKey(path []string, key string, typ reflect.Type) string {
	if near := nearestName(key, keysOf(typ)); near != "" {
		return fmt.Sprintf("did you mean %s?", near)
	}
	root := reflect.TypeFor[Settings]()
	for i := range root.NumField() {
		f := root.Field(i)
		in := f.Type
		table := f.Tag.Get("toml")
		if in.Kind() == reflect.Map {
			in, table = in.Elem(), table+".NAME"
		}
		if in.Kind() == reflect.Struct && in != typ && slices.Contains(keysOf(in), key) {
			return fmt.Sprintf("it belongs into [%s]", table)
		}
	}
	where := "here"
	if len(path) > 0 {
		where = "in [" + joinKey(path) + "]"
	}
	return "known " + where + ": " + strings.Join(keysOf(typ), ", ")
}
