package ui

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime/debug"
	"sync"

	tea "charm.land/bubbletea/v2"
)

// Run shows the screen until the person leaves or the context ends. It
// returns an error when the terminal fails, or what kept belay from working.
func Run(ctx context.Context, o Options) error {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(35) // an open screen mostly waits: a fifth less memory costs it nothing that can be measured
	}
	return runWith(ctx, o, func(*tea.Program) {})
}

// runWith is Run with a terminal of the caller's choice, which learns of the
// program before it starts.
func runWith(ctx context.Context, o Options, begin func(*tea.Program), more ...tea.ProgramOption) error {
	ctx, stop := signal.NotifyContext(ctx, hangup...)
	defer stop()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	model := New(o)
	model.backend.ctx = ctx
	model.unsized = true
	p := tea.NewProgram(model, append([]tea.ProgramOption{tea.WithContext(ctx)}, more...)...)
	model.pulse.program = p
	begin(p)
	var feeding sync.WaitGroup
	feeding.Go(func() { feed(ctx, model.ready, p.Send) })
	_, err := p.Run()
	model.pulse.stop()
	cancel()
	feeding.Wait()
	if v := model.views.shown(); v != nil && v.state.Turn > 0 && o.Left != nil {
		whole, begun := v.pane.Talk()
		o.Left(Talk{ID: v.state.ID, Answer: v.pane.Answer(), Whole: whole, Begun: begun})
	}
	if err != nil && !errors.Is(err, tea.ErrInterrupted) && ctx.Err() == nil {
		return fmt.Errorf("show the screen: %w", err)
	}
	if errors.Is(err, tea.ErrProgramPanic) {
		return fmt.Errorf("show the screen: %w", err)
	}
	return model.failure
}
