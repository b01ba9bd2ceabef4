package route

import (
	"context"
	"testing"

	"belay/models"
)

func TestAnEndpointIsAskedForItsNamesOnlyWhenItRefusesOne(t *testing.T) {
	for _, c := range []struct {
		fault *models.Fault
		asked int
		want  models.Kind
	}{
		{&models.Fault{Kind: models.KindModel, Status: 404, PathInDoubt: true, Target: sol}, 1, models.KindRequest},
		{&models.Fault{Kind: models.KindModel, Status: 404, Target: sol}, 1, models.KindModel},
		{&models.Fault{Kind: models.KindAuth, Status: 401, Target: sol}, 0, models.KindAuth},
	} {
		asked := 0
		op := &operation{r: &Router{o: Options{Names: func(context.Context, string) ([]string, error) {
			asked++
			return []string{sol.Model}, nil
		}}}}
		op.checkName(t.Context(), c.fault)
		if asked != c.asked || c.fault.Kind != c.want {
			t.Errorf("asked %d times, then %s; want %d, %s", asked, c.fault.Kind, c.asked, c.want)
		}
	}
}

func TestAConnectionThatARelayLostIsCounted(t *testing.T) {
	ours := policyFor(&models.Fault{Kind: models.KindNetwork}, false)
	relays := policyFor(&models.Fault{Kind: models.KindNetwork, Status: 502}, false)
	if !ours.Uncounted || ours.Switch != models.SwitchNever {
		t.Errorf("our own: %+v, want it uncounted and no switch", ours)
	}
	if relays.Uncounted || relays.Switch != models.SwitchSoon {
		t.Errorf("a relay's: %+v, want it counted, and a switch soon", relays)
	}
}
