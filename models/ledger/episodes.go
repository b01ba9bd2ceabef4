package ledger

import (
	"cmp"
	"slices"
	"time"

	"belay/models"
)

const (
	// episodeCalm is how long there must be no capacity failure after a success for an
	// episode to be over: a nearly full target succeeds now and then.
	episodeCalm = 5 * time.Minute
	// episodeSilence is the time without requests that separates two episodes.
	episodeSilence = time.Hour
)

// Episode is a period during which a target had no capacity.
type Episode struct {
	Target models.Target `json:"target"`
	Begin  time.Time     `json:"begin"` // the first failure
	// End is when the success that ended it came. Without one it is the last failure.
	End      time.Time `json:"end"`
	Peak     int       `json:"peak"` // most failures in a row
	Failures int       `json:"failures"`
	Over     bool      `json:"over"`
}

// Length is how long the episode lasted, as far as is known.
func (e Episode) Length() time.Duration { return e.End.Sub(e.Begin) }

// Episodes finds the periods without capacity, oldest first. Failures of other kinds
// neither begin nor end one.
func Episodes(list []Attempt, now time.Time) []Episode {
	type open struct {
		Episode
		streak      int
		recovered   time.Time // the first success since lastFailure; zero: none
		lastFailure time.Time
	}
	var done []Episode
	running := map[models.Target]*open{}
	end := func(episode *open) {
		episode.Over = true
		if episode.End = episode.lastFailure; !episode.recovered.IsZero() {
			episode.End = episode.recovered
		}
		done = append(done, episode.Episode)
		delete(running, episode.Target)
	}
	over := func(episode *open, at time.Time) bool {
		calm := !episode.recovered.IsZero() && at.Sub(episode.recovered) > episodeCalm
		return calm || at.Sub(episode.lastFailure) > episodeSilence
	}
	for i := range list {
		attempt := &list[i]
		if !attempt.OK() && attempt.Kind != models.KindCapacity {
			continue
		}
		target := attempt.Target()
		episode := running[target]
		if episode != nil && over(episode, attempt.CreatedAt) {
			end(episode)
			episode = nil
		}
		switch {
		case attempt.OK() && episode == nil:
		case attempt.OK():
			episode.streak = 0
			if episode.recovered.IsZero() {
				episode.recovered = attempt.Ended()
			}
		case episode == nil:
			running[target] = &open{
				Episode:     Episode{Target: target, Begin: attempt.CreatedAt, Peak: 1, Failures: 1},
				streak:      1,
				lastFailure: attempt.Ended(),
			}
		default:
			episode.streak++
			episode.Failures++
			episode.Peak = max(episode.Peak, episode.streak)
			episode.lastFailure = attempt.Ended()
			episode.recovered = time.Time{}
		}
	}
	for _, episode := range running {
		if over(episode, now) {
			end(episode)
			continue
		}
		episode.End = latest(episode.lastFailure, episode.recovered)
		done = append(done, episode.Episode)
	}
	slices.SortFunc(done, func(a, b Episode) int {
		return cmp.Or(a.Begin.Compare(b.Begin), cmp.Compare(a.Target.String(), b.Target.String()))
	})
	return done
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// Lengths returns the longest and the median length of episodes.
func Lengths(list []Episode) (longest, median time.Duration) {
	if len(list) == 0 {
		return 0, 0
	}
	lengths := make([]time.Duration, len(list))
	for i, e := range list {
		lengths[i] = e.Length()
	}
	slices.Sort(lengths)
	return lengths[len(lengths)-1], quantile(lengths, 0.5)
}

// quantile is the value below which a share of the sorted values lies, interpolated
// linearly between neighbours.
func quantile[T ~int64](sorted []T, share float64) T {
	if len(sorted) == 0 {
		return 0
	}
	at := share * float64(len(sorted)-1)
	low := int(at)
	high := min(low+1, len(sorted)-1)
	return sorted[low] + T((at-float64(low))*float64(sorted[high]-sorted[low]))
}
