package route

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"belay/models"
)

func TestContacted(t *testing.T) {
	network := func(c models.Contact) *models.Fault {
		return &models.Fault{Kind: models.KindNetwork, Contact: c, Hint: "Check it."}
	}
	for _, tt := range []struct {
		name     string
		fault    *models.Fault
		closed   int
		answered bool
		kind     models.Kind
		unproven bool
	}{
		{"one closed connection is the network's", network(models.ContactClosed), 1, true, models.KindNetwork, false},
		{"two in a row are the server's", network(models.ContactClosed), 2, true, models.KindServer, false},
		{"also where it has never answered", network(models.ContactClosed), 2, false, models.KindServer, false},
		{"no connection where it has answered before", network(models.ContactFailed), 0, true, models.KindNetwork, false},
		{"no connection where it never has", network(models.ContactFailed), 0, false, models.KindNetwork, true},
		{"nothing runs there and never did", &models.Fault{Kind: models.KindAbsent, Contact: models.ContactFailed}, 0, false,
			models.KindAbsent, true},
		{"an answer is none of it", &models.Fault{Kind: models.KindServer, Status: 500}, 0, false, models.KindServer, false},
		{"nor is a lost connection of an unknown kind", network(""), 0, false, models.KindNetwork, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := contacted(tt.fault, tt.closed, tt.answered, "https://a.example/v1")
			if got.Kind != tt.kind || got.Unproven != tt.unproven {
				t.Errorf("kind %s, unproven %v, want %s, %v", got.Kind, got.Unproven, tt.kind, tt.unproven)
			}
			if tt.unproven != strings.Contains(got.Hint, "https://a.example/v1") {
				t.Errorf("the hint is %q", got.Hint)
			}
		})
	}
}

func TestAServerThatKeepsClosingConnectionsHasFailed(t *testing.T) {
	closed := &models.Fault{Kind: models.KindNetwork, Contact: models.ContactClosed}
	lost := models.KindNetwork
	for _, tt := range []struct {
		name   string
		script map[models.Target][]any
		want   string
	}{
		{"it is asked less and less, and left", map[models.Target][]any{sol: {closed}},
			"sol(1/4) retry 1.5s sol(1/4) retry 1.5s sol(2/4) switch →terra terra(3/4) done"},
		{"one connection costs nothing", map[models.Target][]any{sol: {closed, ""}},
			"sol(1/4) retry 1.5s sol(1/4) done"},
		{"others between them begin anew", map[models.Target][]any{sol: {closed, lost, closed, lost, closed, ""}},
			"sol(1/4) retry 1.5s sol(1/4) retry 1.5s sol(1/4) retry 1.5s sol(1/4) retry 1.5s sol(1/4) retry 1.5s sol(1/4) done"},
		{"all of them park", map[models.Target][]any{sol: {closed}, terra: {closed}, luna: {closed}},
			"sol(1/4) retry 1.5s sol(1/4) retry 1.5s sol(2/4) switch " +
				"→terra terra(3/4) retry 1.5s terra(3/4) retry 1.5s terra(4/4) park"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := router(&endpoint{script: tt.script}, func(o *Options) {
					o.Local = func(t models.Target) bool { return t == luna }
				})
				if got, _ := play(t.Context(), r, Need{Control: NewControl(models.Heavy)}); got != tt.want {
					t.Errorf("went\n%s, want\n%s", got, tt.want)
				}
			})
		})
	}
}

func TestAnEndpointThatHasNeverAnsweredIsAWrongSetting(t *testing.T) {
	none := &models.Fault{Kind: models.KindNetwork, Contact: models.ContactFailed}
	for _, tt := range []struct {
		name     string
		answered bool
		wait     time.Duration // how long somebody would wait for the network
		parked   bool
		least    time.Duration
		most     time.Duration
	}{
		{"where nobody watches it ends within half a minute", false, 40 * time.Minute, false, 10 * time.Second,
			30 * time.Second},
		{"or sooner if that was asked for", false, 5 * time.Second, false, 0, 5 * time.Second},
		{"where it has answered before the network is waited out", true, 40 * time.Minute, true, 39 * time.Minute,
			40 * time.Minute},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e := &endpoint{script: map[models.Target][]any{sol: {none}}}
				r := router(e, nil)
				if tt.answered {
					r.o.Breakers.Succeeded(t.Context(), sol, time.Second)
				}
				began := time.Now()
				_, err := play(t.Context(), r, Need{Control: NewControl(models.Heavy), NetworkWait: tt.wait})
				var parked *Parked
				var fault *models.Fault
				if errors.As(err, &parked) != tt.parked || !errors.As(err, &fault) || fault.Unproven == tt.answered {
					t.Errorf("ended with %#v", err)
				}
				if took := time.Since(began); took < tt.least || took > tt.most {
					t.Errorf("took %v, want %v to %v", took, tt.least, tt.most)
				}
			})
		})
	}
	t.Run("somebody who watches may correct it", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			r := router(&endpoint{script: map[models.Target][]any{sol: append(slices.Repeat([]any{none}, 100), "")}}, nil)
			if got, err := play(t.Context(), r, Need{Control: NewControl(models.Heavy)}); err != nil {
				t.Errorf("went %s (%v)", got, err)
			}
		})
	})
}

func TestAWaitForTheNetworkSaysHowLongItMayTake(t *testing.T) {
	for _, tt := range []struct {
		fault *models.Fault
		wait  time.Duration
		want  time.Duration // from the beginning; 0: not said
	}{
		{&models.Fault{Kind: models.KindNetwork}, 40 * time.Minute, 40 * time.Minute},
		{&models.Fault{Kind: models.KindNetwork, Unproven: true}, 40 * time.Minute, settingWait},
		{&models.Fault{Kind: models.KindNetwork}, 0, 0},
		{&models.Fault{Kind: models.KindCapacity}, 40 * time.Minute, 0},
	} {
		s := afterFailures(1)
		s.request.networkWait = tt.wait
		want := time.Time{}
		if tt.want > 0 {
			want = noon.Add(tt.want)
		}
		if got := failing(s, tt.fault); !got.giveUpAt.Equal(want) {
			t.Errorf("%s, unproven %v: %v, want %v", tt.fault.Kind, tt.fault.Unproven, got.giveUpAt, want)
		}
	}
}
