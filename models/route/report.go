package route

import (
	"fmt"
	"strings"

	"belay/models"
)

// final is the fault that ends the request: the preferred target's, so that a
// person sees why the first choice failed and not the last one.
func (s *situation) final(f *models.Fault) *models.Fault {
	first := s.history.first
	if first != nil && first.Target != f.Target && retries(f.Kind.Policy()) {
		return s.withOthers(first)
	}
	return s.withOthers(f)
}

// report is the fault of a request that is given up for now; nil when it was
// the user's own doing.
func (s *situation) report(f *models.Fault) *models.Fault {
	if f == nil || f.Kind == models.KindCancelled {
		return nil
	}
	return s.withOthers(f)
}

// withOthers lists the other targets that were asked as well. When every target
// of every tier failed the same way it points to the doctor: then the cause is
// likely nearer than all of them.
func (s *situation) withOthers(fault *models.Fault) *models.Fault {
	var others []string
	seen := map[models.Target]bool{fault.Target: true}
	allSame := true
	for _, tier := range models.Tiers() {
		for _, t := range s.rules.tiers[tier] {
			kind, tried := s.history.tried[t]
			allSame = allSame && kind == fault.Kind
			if !seen[t] && tried {
				others = append(others, fmt.Sprintf("%s (%s)", t, kind))
			}
			seen[t] = true
		}
	}
	report := *fault
	switch {
	case allSame && len(seen) > 1 && !fault.Unproven: // its own hint says where to look
		report.Hint = "Every model failed in the same way. " +
			"`belay doctor` tells whether a name, the key or a proxy is the cause."
	case len(others) > 0 && !allSame:
		report.Hint = strings.TrimSpace(fault.Hint + " Also asked: " + strings.Join(others, ", ") + ".")
	default:
		return fault
	}
	return &report
}

// cancelledFault is the fault of a request that its caller ended.
func (s *situation) cancelledFault(f *models.Fault) *models.Fault {
	cancelled := &models.Fault{
		Kind:   models.KindCancelled,
		Scope:  models.ScopeRequest,
		Target: s.target.Target,
		Err:    s.cancelled,
	}
	if f != nil {
		cancelled.Phase = f.Phase
		cancelled.Usage = f.Usage
	}
	return cancelled
}
