// Package bundle decides what the archive of a session holds: its log, what was sent as
// context, the record of its attempts and the transcript, without credentials.
package bundle

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"path"
	"time"

	"belay/models/redact"
	"belay/session"
	"belay/session/store"
)

// Source is what a bundle is made of.
type Source struct {
	Store     *store.Store
	Session   session.Session
	Version   string // of belay
	Rehearsed bool   // a script answered in place of the models
	// Request is the last request of a session, as its endpoint would get it.
	Request func(ctx context.Context, id session.ID) ([]byte, error)
	// Secrets are credentials that are known; what looks like one is left out as well.
	Secrets *redact.Values
	// MaxFile bounds each file, in bytes; 0: 256 MB.
	MaxFile int64
}

const defaultMaxFile = 256 << 20

// bundle is a bundle as it is made.
type bundle struct {
	Source
	folder   string // for what is written before it goes into the archive
	manifest manifest
}

// Write makes a bundle of a session in an archive of a kind, zip or tar.gz. The same
// session gives the same bytes. Folder is for temporary files.
func Write(ctx context.Context, w io.Writer, kind Kind, folder string, source Source) (err error) {
	if source.MaxFile == 0 {
		source.MaxFile = defaultMaxFile
	}
	s := source.Session
	b := &bundle{Source: source, folder: folder, manifest: manifest{
		Version: 1, Belay: source.Version, Session: s.ID, Title: redact.Likely(source.Secrets.Text(s.Title)),
		Status: string(s.Status), Turns: s.Turn, Created: s.Created.UTC(), Updated: s.Updated.UTC(),
		Rehearsed: source.Rehearsed,
	}}
	defer func() { err = errors.Join(err, b.forget()) }()
	if err := b.gather(ctx); err != nil {
		return fmt.Errorf("bundle session %s: %w", s.ID, err)
	}
	if err := b.pack(newArchive(w, kind, s.Updated)); err != nil {
		return fmt.Errorf("write the bundle: %w", err)
	}
	return nil
}

// gather makes every file of the bundle.
func (b *bundle) gather(ctx context.Context) error {
	ids := []session.ID{b.Session.ID}
	if err := b.addSession(ctx, "", b.Session.ID); err != nil {
		return err
	}
	if plan := b.Session.Plan; plan != nil {
		if plan.Planning != "" {
			ids = append(ids, plan.Planning)
			if err := b.addSession(ctx, "plan", plan.Planning); err != nil {
				return err
			}
		}
		for i, step := range plan.Steps {
			if step.Session == "" {
				continue
			}
			ids = append(ids, step.Session)
			if err := b.addSession(ctx, fmt.Sprintf("step-%02d", i+1), step.Session); err != nil {
				return err
			}
		}
	}
	return b.put("attempts.jsonl", whatAttempts, func(w io.Writer) error {
		return b.attempts(ctx, w, ids)
	})
}

// addSession adds what is known of one session, in a folder of its own.
func (b *bundle) addSession(ctx context.Context, folder string, id session.ID) error {
	export := func(format string) func(io.Writer) error {
		return func(w io.Writer) error { return b.Store.Export(ctx, id, w, format) }
	}
	err := b.put(path.Join(folder, "transcript.md"), whatTranscript, export("markdown"))
	if err == nil {
		err = b.put(path.Join(folder, "log.jsonl"), whatLog, export("jsonl"))
	}
	if err != nil {
		return err
	}
	name := path.Join(folder, "request.json")
	request, err := b.Request(ctx, id)
	if err != nil {
		if ctx.Err() != nil {
			return err
		}
		b.manifest.Missing = append(b.manifest.Missing, absent{name, err.Error()})
		return nil
	}
	return b.put(name, whatRequest, func(w io.Writer) error {
		_, err := w.Write(append(request, '\n'))
		return err
	})
}

func (b *bundle) attempts(ctx context.Context, w io.Writer, ids []session.ID) error {
	wanted := map[string]bool{}
	for _, id := range ids {
		wanted[string(id)] = true
	}
	for attempt, err := range b.Store.Attempts(ctx, b.Session.Created.Add(-time.Minute), time.Time{}) {
		if err != nil {
			return err
		}
		if !wanted[attempt.Session] {
			continue
		}
		line, err := json.Marshal(attempt)
		if err == nil {
			line = session.EscapeInvisible(redact.JSON(line, redact.Likely))
			_, err = w.Write(append(line, '\n'))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// put makes one file. It lies on disk until it is packed: a tar wants its length first.
func (b *bundle) put(name, what string, write func(io.Writer) error) error {
	spool, err := os.CreateTemp(b.folder, ".belay-bundle-*")
	if err != nil {
		return err
	}
	b.manifest.Files = append(b.manifest.Files, entry{Name: name, What: what, spooled: spool})
	file := &b.manifest.Files[len(b.manifest.Files)-1]
	sum := sha256.New()
	lines := &lineWriter{to: io.MultiWriter(spool, sum), secrets: b.Secrets, left: b.MaxFile}
	err = write(lines)
	if err == nil {
		err = lines.flush()
	}
	if lines.err != nil {
		err = lines.err // and not what the store makes of it: it is another disk's
	}
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	file.Bytes, file.SHA256, file.Cut = b.MaxFile-lines.left, sumOf(sum), lines.cut
	_, err = spool.Seek(0, io.SeekStart)
	return err
}

func sumOf(h hash.Hash) string { return hex.EncodeToString(h.Sum(nil)) }

// pack writes all files into an archive, the manifest first.
func (b *bundle) pack(to archive) error {
	text, err := json.MarshalIndent(b.manifest, "", "  ")
	if err != nil {
		return err
	}
	root := "belay-" + string(b.Session.ID)
	text = append(session.EscapeInvisible(text), '\n')
	w, err := to.create(path.Join(root, "manifest.json"), int64(len(text)))
	if err == nil {
		_, err = w.Write(text)
	}
	if err != nil {
		return err
	}
	for _, file := range b.manifest.Files {
		w, err := to.create(path.Join(root, file.Name), file.Bytes)
		if err == nil {
			_, err = io.Copy(w, file.spooled)
		}
		if err != nil {
			return err
		}
	}
	return to.close()
}

// forget removes the temporary files.
func (b *bundle) forget() error {
	var errs []error
	for _, file := range b.manifest.Files {
		errs = append(errs, file.spooled.Close(), os.Remove(file.spooled.Name()))
	}
	return errors.Join(errs...)
}
