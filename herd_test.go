package main

import (
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"belay/models/rehearsal"
	"belay/session"
	"belay/session/store"
)

// herdScript has each of the herd write many times: requests, a command, answers, and
// how the models are doing.
const herdScript = `
speed = { chunk = 4, delay = "1ms" }
[[reply]]
times = -1
output = "counted"
text = "There are seventeen."
[[reply]]
times = -1
text = "I count them."
[[reply.calls]]
name = "shell"
arguments = { command = "echo counted" }
`

// herd is how many belays begin at once, and how often. BELAY_HERD=all is the bar
// that the store has to pass, and takes minutes.
func herd() (belays, rounds int) {
	switch {
	case os.Getenv("BELAY_HERD") == "all":
		return 50, 10
	case testing.Short() || raceEnabled:
		return 5, 1
	}
	return 12, 2
}

func TestAHerdOfBelaysEndsAsItShould(t *testing.T) {
	belays, rounds := herd()
	script, err := rehearsal.Parse("herd.toml", []byte(herdScript))
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(rehearsal.New(script, rehearsal.Options{}))
	defer server.Close()
	k := newKilled(t, server.URL)
	if os.Getenv("BELAY_HERD") == "all" { // then on a disk as it is
		k.env = slices.DeleteFunc(k.env, func(v string) bool { return slices.Contains(relaxed, v) })
	}
	failed := 0
	for round := range rounds {
		// Each round begins with a data folder of its own that nobody has made yet.
		data := filepath.Join(k.dir, fmt.Sprintf("data%d", round))
		env := append(k.env, "BELAY_HOME="+data)
		var wg sync.WaitGroup
		said := make([]string, belays)
		for n := range belays {
			wg.Go(func() { said[n] = herdMember(k, env, n) })
		}
		wg.Wait()
		for n, text := range said {
			if text != "" {
				failed++
				t.Errorf("round %d, belay %d: %s", round, n, text)
			}
		}
		if err := checkHerd(data, belays); err != nil {
			t.Errorf("round %d: %v", round, err)
		}
	}
	t.Logf("%d of %d ended as they should", belays*rounds-failed, belays*rounds)
}

// herdMember runs one belay, and gives what is wrong with its end.
func herdMember(k *killed, env []string, n int) string {
	cmd := exec.Command("belay", "run", "--approve", "all", fmt.Sprintf("count the marmots of valley %d", n))
	cmd.Dir, cmd.Env = filepath.Join(k.dir, "work"), env
	var out, errs strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	switch {
	case err != nil:
		return fmt.Sprintf("%v\n%s", err, errs.String())
	case out.String() != "There are seventeen.\n":
		return fmt.Sprintf("answered %q", out.String())
	case strings.Contains(errs.String(), "memory only"):
		return errs.String()
	}
	return ""
}

// checkHerd checks that no word was lost.
func checkHerd(data string, belays int) error {
	ctx := context.Background()
	s, err := store.Open(ctx, data, store.Options{ReadOnly: true})
	if err != nil {
		return err
	}
	defer s.Close()
	list, err := s.List(ctx, session.Filter{})
	if err != nil {
		return err
	}
	if len(list) != belays {
		err = fmt.Errorf("%d sessions, want %d", len(list), belays)
	}
	for _, state := range list {
		records, readErr := s.Records(ctx, state.ID, 0, 0, 0)
		err = errors.Join(err, readErr)
		calls, words := 0, 0
		for _, r := range records {
			switch e := r.Event.(type) {
			case session.ToolEnded:
				calls++
			case session.ItemAdded:
				words += strings.Count(e.Item.Text, "seventeen")
			}
		}
		if state.Status != session.Idle || calls != 1 || words != 1 {
			err = errors.Join(err, fmt.Errorf("session %s is %s with %d calls and %d answers", state.ID, state.Status,
				calls, words))
		}
	}
	return err
}
