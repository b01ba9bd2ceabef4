package ledger

import (
	"cmp"
	"slices"
	"time"

	"belay/models"
)

const (
	// episodeCalm is how long after a success no request may fail for want of capacity
	// before an episode is over: targets that are nearly full flicker.
	episodeCalm = 5 * time.Minute
	// episodeSilence is after which two failures belong to two episodes, since nobody
	// asked in between.
	episodeSilence = time.Hour
)

// Episode is a time in which a target had no capacity.
type Episode struct {
	Target models.Target `json:"target"`
	Begin  time.Time     `json:"begin"` // the first failure
	// End is the success that ended it; the last failure if it is not over, or
	// nobody asked again.
	End      time.Time `json:"end"`
	Peak     int       `json:"peak"` // the most failures in a row
	Failures int       `json:"failures"`
	Over     bool      `json:"over"`
}

// Length is how long the episode lasted, as far as it was seen.
func (e Episode) Length() time.Duration { return e.End.Sub(e.Begin) }

// Episodes finds the times without capacity, the first in front. Failures of
// other kinds neither begin nor end one.
func Episodes(list []Attempt, now time.Time) []Episode {
	type open struct {
		Episode
		streak int
		well   time.Time // a success after the last failure
		last   time.Time // failure
	}
	var done []Episode
	running := map[models.Target]*open{}
	end := func(episode *open) {
		episode.Over = true
		if episode.End = episode.last; !episode.well.IsZero() {
			episode.End = episode.well
		}
		done = append(done, episode.Episode)
		delete(running, episode.Target)
	}
	over := func(episode *open, at time.Time) bool {
		return !episode.well.IsZero() && at.Sub(episode.well) > episodeCalm || at.Sub(episode.last) > episodeSilence
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
			if episode.well.IsZero() {
				episode.well = attempt.Ended()
			}
		case episode == nil:
			running[target] = &open{
				Episode: Episode{Target: target, Begin: attempt.CreatedAt, Peak: 1, Failures: 1},
				streak:  1,
				last:    attempt.Ended(),
			}
		default:
			episode.streak++
			episode.Failures++
			episode.Peak, episode.last, episode.well = max(episode.Peak, episode.streak), attempt.Ended(), time.Time{}
		}
	}
	for _, episode := range running {
		if over(episode, now) {
			end(episode)
			continue
		}
		episode.End = latest(episode.last, episode.well)
		done = append(done, episode.Episode)
	}
	slices.SortFunc(done, func(attempt, b Episode) int {
		return cmp.Or(attempt.Begin.Compare(b.Begin), cmp.Compare(attempt.Target.String(), b.Target.String()))
	})
	return done
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// Lengths gives the longest of some episodes and their median.
func Lengths(list []Episode) (longest, middle time.Duration) {
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

// quantile is the value below which a share of sorted values lies; between two
// values it is the mean weighted by nearness.
func quantile[T ~int64](sorted []T, share float64) T {
	if len(sorted) == 0 {
		return 0
	}
	at := share * float64(len(sorted)-1)
	low := int(at)
	high := min(low+1, len(sorted)-1)
	return sorted[low] + T((at-float64(low))*float64(sorted[high]-sorted[low]))
}
