package bundle

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"belay/models"
	"belay/models/ledger"
	"belay/models/redact"
	"belay/session"
	"belay/session/store"
)

const secret = "a-value-that-nobody-must-see-17"

// played is a session with a step, an attempt of its own and one of another session.
func played(t *testing.T) Source {
	t.Helper()
	ctx := t.Context()
	now := time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)
	st, err := store.Open(ctx, t.TempDir(), store.Options{Now: func() time.Time { return now }, Rehearsed: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = st.Close() })
	create := func(events ...session.Event) session.ID {
		s, err := st.Create(ctx, session.Created{Project: "/p", Tier: models.Heavy})
		if err == nil {
			_, _, err = st.Append(ctx, s.ID, 1, events...)
		}
		if err != nil {
			t.Fatal(err)
		}
		return s.ID
	}
	step := create(session.Noted{Text: "the step's own words"})
	other := create(session.Noted{Text: "of another session"})
	plan := session.Plan{Steps: []session.Step{{Title: "one"}, {Title: "two"}}}
	plan.Steps[0].Session = step
	id := create(
		session.TurnStarted{Prompt: session.Prompt{ID: "p", Text: "use " + secret + " here"}},
		session.PlanSet{Plan: plan},
		session.Noted{Text: "Bearer sk-0123456789abcdef"},
	)
	for _, of := range []session.ID{id, step, other} {
		attempt := ledger.Attempt{Session: string(of), Model: "m-" + string(of), CreatedAt: now, ErrorCode: secret}
		if err := st.AppendAttempts(ctx, attempt); err != nil {
			t.Fatal(err)
		}
	}
	state, err := st.Load(ctx, id)
	if err != nil {
		t.Fatal(err)
	}
	return Source{
		Store: st, Session: state, Version: "1.2.3", Rehearsed: true, Secrets: redact.New(secret),
		Request: func(_ context.Context, of session.ID) ([]byte, error) {
			if of != id {
				return nil, errors.New("it has made none")
			}
			return []byte(`{"input":"` + secret + `"}`), nil
		},
	}
}

// written is a bundle's bytes and its files by name.
func written(t *testing.T, kind Kind, source Source) ([]byte, map[string]string) {
	t.Helper()
	var out bytes.Buffer
	folder := t.TempDir()
	if err := Write(t.Context(), &out, kind, folder, source); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(folder); err != nil || len(left) > 0 {
		t.Errorf("temporary files are left: %v %v", left, err)
	}
	files := map[string]string{}
	read := func(name string, r io.Reader) {
		text, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		files[strings.TrimPrefix(name, "belay-"+string(source.Session.ID)+"/")] = string(text)
	}
	if kind == Zip {
		archive, err := zip.NewReader(bytes.NewReader(out.Bytes()), int64(out.Len()))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range archive.File {
			r, err := file.Open()
			if err != nil {
				t.Fatal(err)
			}
			read(file.Name, r)
		}
		return out.Bytes(), files
	}
	compressed, err := gzip.NewReader(&out)
	if err != nil {
		t.Fatal(err)
	}
	whole, archive := out.Bytes(), tar.NewReader(compressed)
	for {
		head, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return whole, files
		}
		if err != nil {
			t.Fatal(err)
		}
		read(head.Name, archive)
	}
}

func TestABundleHoldsAllThatIsKnownAndNoSecret(t *testing.T) {
	source := played(t)
	for _, kind := range []Kind{Zip, TarGz} {
		_, files := written(t, kind, source)
		for name, want := range map[string]string{
			"transcript.md":         "use " + redact.Mark + " here",
			"log.jsonl":             `"session":"` + string(source.Session.ID) + `"`,
			"request.json":          `{"input":"` + redact.Mark + `"}`,
			"attempts.jsonl":        `"model":"m-` + string(source.Session.ID) + `"`,
			"step-01/transcript.md": "the step's own words",
			"step-01/log.jsonl":     `"rehearsed":true`,
			"manifest.json":         `"rehearsed": true`,
		} {
			if !strings.Contains(files[name], want) {
				t.Errorf("%s: %s lacks %q: %.500s", kind, name, want, files[name])
			}
		}
		for name, text := range files {
			if strings.Contains(text, secret) || strings.Contains(text, "sk-0123") {
				t.Errorf("%s: %s holds a secret", kind, name)
			}
		}
		if strings.Count(files["attempts.jsonl"], "\n") != 2 {
			t.Errorf("%s: attempts of other sessions are in it: %s", kind, files["attempts.jsonl"])
		}
		var m manifest
		if err := json.Unmarshal([]byte(files["manifest.json"]), &m); err != nil || len(m.Files) != len(files)-1 {
			t.Fatalf("%s: the manifest names %d of %d files, %v", kind, len(m.Files), len(files)-1, err)
		}
		for _, file := range m.Files {
			if int64(len(files[file.Name])) != file.Bytes || file.Cut {
				t.Errorf("%s: %+v has %d bytes", kind, file, len(files[file.Name]))
			}
		}
		if want := []absent{{"step-01/request.json", "it has made none"}}; len(m.Missing) != 1 || m.Missing[0] != want[0] {
			t.Errorf("%s: missing is %v, want %v", kind, m.Missing, want)
		}
	}
}

func TestTheSameSessionGivesTheSameBundle(t *testing.T) {
	source := played(t)
	for _, kind := range []Kind{Zip, TarGz} {
		first, _ := written(t, kind, source)
		again, _ := written(t, kind, source)
		if !bytes.Equal(first, again) {
			t.Errorf("%s: two bundles of one session differ", kind)
		}
	}
}

func TestABundleIsBounded(t *testing.T) {
	source := played(t)
	source.MaxFile = 300
	_, files := written(t, TarGz, source)
	var m manifest
	if err := json.Unmarshal([]byte(files["manifest.json"]), &m); err != nil {
		t.Fatal(err)
	}
	for _, file := range m.Files {
		text := files[file.Name]
		if len(text) > 300 || text != "" && !strings.HasSuffix(text, "\n") {
			t.Errorf("%s has %d bytes and ends with %q", file.Name, len(text), text[max(len(text)-10, 0):])
		}
		if file.Name == "log.jsonl" && !file.Cut {
			t.Error("a log that was cut does not say so")
		}
	}
}

func TestABundleThatCannotBeWrittenLeavesNothing(t *testing.T) {
	full := errors.New("no space left")
	folder := t.TempDir()
	err := Write(t.Context(), failing{full}, Zip, folder, played(t))
	if !errors.Is(err, full) {
		t.Errorf("the error is %v", err)
	}
	if left, err := os.ReadDir(folder); err != nil || len(left) > 0 {
		t.Errorf("temporary files are left: %v %v", left, err)
	}
}

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }

// The disk of the archive is full, and not that of the database.
func TestALineThatCannotBeWrittenIsNotBlamedOnTheStore(t *testing.T) {
	full := errors.New("no space left")
	lines := &lineWriter{to: failing{full}, left: 100}
	if _, err := io.WriteString(lines, "a line\n"); !errors.Is(err, full) || !errors.Is(lines.err, full) {
		t.Errorf("the error is %v, kept %v", err, lines.err)
	}
}

func TestAnArchiveIsNamedByItsEnding(t *testing.T) {
	for name, want := range map[string]Kind{"a.zip": Zip, "A.ZIP": Zip, "a.tar.gz": TarGz, "a.tgz": TarGz} {
		if got, err := KindOf(name); got != want || err != nil {
			t.Errorf("%s is %q, %v", name, got, err)
		}
	}
	for _, name := range []string{"a", "a.tar", "a.gz", "zip"} {
		if kind, err := KindOf(name); err == nil {
			t.Errorf("%s is %q", name, kind)
		}
	}
}
