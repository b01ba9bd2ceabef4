package route

import (
	"testing"
	"time"

	"belay/models"
)

func TestBegin(t *testing.T) {
	stated := func(k models.Kind, d time.Duration) *models.Fault {
		return &models.Fault{Kind: k, Delayed: true, RetryAfter: d}
	}
	for _, tt := range []struct {
		name   string
		change func(*situation)
		want   string
	}{
		{"the first of the tier", nil, "switch sol"},
		{"the next when it rests", func(s *situation) { s.set(sol, models.Resting, time.Minute, nil) }, "switch terra"},
		{"a short stated rest is waited for", func(s *situation) {
			s.set(sol, models.Resting, 7*time.Second, stated(models.KindCapacity, 7*time.Second))
		}, "retry 7s"},
		{"a longer one of a limit of one's own too", func(s *situation) {
			s.set(sol, models.Resting, 20*time.Second, stated(models.KindRate, 20*time.Second))
		}, "retry 20s"},
		{"unless a person wants it now", func(s *situation) {
			s.request.force = true
			s.set(sol, models.Resting, 7*time.Second, stated(models.KindCapacity, 7*time.Second))
		}, "switch sol"},
		{"a wait that was left is gone on with", func(s *situation) {
			s.control.pending = pendingWait{candidate{sol, models.Heavy}, noon.Add(9 * time.Second),
				stated(models.KindCapacity, 0)}
		}, "retry 9s"},
		{"a refused key is asked again rather than a tier left", func(s *situation) {
			s.set(sol, models.Unusable, time.Minute, &models.Fault{Kind: models.KindAuth})
		}, "switch sol"},
		{"it stays where a switch has taken it", func(s *situation) {
			s.control.failover = failover{candidate{terra, models.Medium}, sol}
			s.failbackAt = noon.Add(time.Minute)
			s.request.boundary = true
		}, "switch terra"},
		{"it goes back at the beginning of a turn when the delay is over", func(s *situation) {
			s.control.failover = failover{candidate{terra, models.Medium}, sol}
			s.request.boundary = true
		}, "switch sol"},
		{"never within a turn", func(s *situation) {
			s.control.failover = failover{candidate{terra, models.Medium}, sol}
		}, "switch terra"},
		{"all rest: the one that can be asked soonest is waited for", func(s *situation) {
			for t, d := range map[models.Target]time.Duration{sol: time.Minute, terra: 20 * time.Second, spare: time.Hour,
				luna: time.Hour} {
				s.set(t, models.Resting, d, nil)
			}
		}, "retry 20s"},
		{"or it is parked until then", func(s *situation) {
			for t, d := range map[models.Target]time.Duration{sol: time.Minute, terra: 2 * time.Minute, spare: time.Hour,
				luna: time.Hour} {
				s.set(t, models.Resting, d, nil)
			}
		}, "park 1m0s"},
		{"another request is trying a rested one", func(s *situation) {
			s.rules.policy = Never
			s.set(sol, models.HalfOpen, 2*time.Minute, nil)
		}, "retry 5s"},
		{"all are set aside", func(s *situation) {
			for t := range s.targets {
				s.set(t, models.Disabled, 0, nil)
			}
		}, "stop"},
		{"a tier without a model", func(s *situation) { s.rules.tiers[models.Heavy] = nil }, "stop"},
		{"pictures that nobody sees: words stand in for them", func(s *situation) {
			s.request.images = true
		}, "switch sol"},
		{"pictures go to the first that sees them", func(s *situation) { s.withImages(spare) }, "switch spare"},
		{"or to the first that nobody describes", func(s *situation) {
			s.withImages(spare)
			undescribed := s.targets[sol]
			undescribed.model.Known = false
			s.targets[sol] = undescribed
		}, "switch sol"},
		{"but not on to one that nobody describes", func(s *situation) {
			s.withImages()
			undescribed := s.targets[terra]
			undescribed.model.Known = false
			s.targets[terra] = undescribed
		}, "switch sol"},
		{"or to the next that sees them when it rests", func(s *situation) {
			s.withImages(terra, spare)
			s.set(terra, models.Resting, time.Minute, nil)
		}, "switch spare"},
		{"or to one that does not when all of those rest", func(s *situation) {
			s.withImages(terra)
			s.set(terra, models.Resting, time.Minute, nil)
		}, "switch sol"},
		{"nobody waits for a short rest of one that would not see them", func(s *situation) {
			s.withImages(terra)
			s.set(sol, models.Resting, 7*time.Second, stated(models.KindCapacity, 7*time.Second))
		}, "switch terra"},
		{"nor stays where they are not seen", func(s *situation) {
			s.withImages(sol)
			s.control.failover = failover{candidate{terra, models.Medium}, sol}
		}, "switch sol"},
		{"a pinned tier keeps to its own, those that see them in front", func(s *situation) {
			s.rules.policy = Never
			s.rules.tiers = map[models.Tier][]models.Target{models.Heavy: {sol, spare}, models.Medium: {terra}}
			s.order = s.rules.tiers
			s.withImages(spare, terra)
		}, "switch spare"},
		{"without pictures the order of the settings holds", func(s *situation) {
			s.withImages(spare)
			s.request.images = false
		}, "switch sol"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := afterFailures(0)
			if tt.change != nil {
				tt.change(s)
			}
			if got := begin(s).String(); got != tt.want {
				t.Errorf("%s, want %s", got, tt.want)
			}
		})
	}
}
