// Package ledger decides what the record of attempts means: how long a model
// was full and when that happens, from which size on requests fail, what a
// success costs, and when a person should hear of it.
//
// Everything but the record itself is a pure function over attempts, sorted by
// time as a Log gives them.
package ledger

import (
	"context"
	"fmt"
	"iter"
	"math"
	"net/url"
	"strings"
	"time"
	"unicode"

	"belay/models"
)

// Attempt is a row of the record. What its fields mean stands at models.Attempt.
type Attempt models.Attempt

// Log is where attempts are kept.
type Log interface {
	AppendAttempts(ctx context.Context, a Attempt) error
	// Attempts gives those created at since or later and before until, in order
	// of time; a zero time is no limit. An error ends the sequence.
	Attempts(ctx context.Context, since, until time.Time) iter.Seq2[Attempt, error]
}

// Read collects the attempts of a time.
func Read(ctx context.Context, l Log, since, until time.Time) ([]Attempt, error) {
	var list []Attempt
	for a, err := range l.Attempts(ctx, since, until) {
		if err != nil {
			return nil, fmt.Errorf("read the record: %w", err)
		}
		list = append(list, a)
	}
	return list, nil
}

// Target is who was asked.
func (a *Attempt) Target() models.Target { return models.Target{Provider: a.Provider, Model: a.Model} }

// OK reports whether the attempt succeeded.
func (a *Attempt) OK() bool { return a.Kind == "" }

// Counts reports whether the attempt says anything about its target. One that a
// person stopped, that never reached it, or that was refused for what was in
// it, does not.
func (a *Attempt) Counts() bool {
	return a.OK() || a.Kind.Policy().Ledger
}

// Ended is when the attempt was over.
func (a *Attempt) Ended() time.Time {
	return a.CreatedAt.Add(time.Duration(a.LatencyMS) * time.Millisecond)
}

// maxText is the most bytes of a text that come from outside and are kept.
const maxText = 200

// Clean is the attempt as it may be saved: texts without control characters
// and not longer than 200 bytes, an endpoint without user, password and query,
// times in UTC.
func (a Attempt) Clean() Attempt {
	a.Endpoint = Endpoint(a.Endpoint)
	for _, s := range []*string{
		&a.RequestID, &a.TeamID, &a.Environment, &a.Model, &a.FallbackModel,
		&a.ErrorCode, &a.Session, &a.Step, &a.Provider, &a.ServedModel,
		(*string)(&a.Tier), (*string)(&a.Kind), (*string)(&a.Phase),
	} {
		*s = clean(*s, maxText)
	}
	if math.IsNaN(a.Cost) || math.IsInf(a.Cost, 0) {
		a.Cost = 0
	}
	a.ProjectID = clean(a.ProjectID, 4096)
	a.CreatedAt = a.CreatedAt.Round(0).UTC()
	return a
}

func clean(s string, limit int) string {
	s = strings.ToValidUTF8(s, "�")
	if strings.ContainsFunc(s, isUnsafe) {
		s = strings.Map(func(r rune) rune {
			if isUnsafe(r) {
				return -1
			}
			return r
		}, s)
	}
	for len(s) > limit {
		cut := limit
		for cut > 0 && s[cut]&0xc0 == 0x80 {
			cut--
		}
		s = s[:cut]
	}
	return s
}

// isUnsafe are signs that steer a terminal or hide in a text.
func isUnsafe(r rune) bool { return unicode.IsControl(r) || unicode.Is(unicode.Cf, r) }

// Endpoint is an address without what may be secret in it; empty when it is no
// address of a server.
func Endpoint(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return ""
	}
	for _, bare := range []url.URL{
		{Scheme: u.Scheme, Host: u.Host, Path: u.Path, RawPath: u.RawPath},
		{Scheme: u.Scheme, Host: u.Host},
	} {
		if s := clean(bare.String(), maxText+1); len(s) <= maxText {
			return s
		}
	}
	return ""
}
