package ui

import (
	"context"
	"errors"
	"fmt"
	"os/signal"
	"sync"

	tea "charm.land/bubbletea/v2"
)

// Run shows the screen until the person leaves or the context ends. It
// returns an error when the terminal fails, or what kept belay from working.
func Run(ctx context.Context, o Options) error { return run(ctx, o) }

func run(ctx context.Context, o Options, more ...tea.ProgramOption) error {
	ctx, stop := signal.NotifyContext(ctx, hangup...)
	defer stop()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	m := New(o)
	m.ctx = ctx
	p := tea.NewProgram(m, append([]tea.ProgramOption{tea.WithContext(ctx)}, more...)...)
	var feeding sync.WaitGroup
	feeding.Go(func() { feed(ctx, m.ready, p.Send) })
	_, err := p.Run()
	cancel()
	feeding.Wait()
	if err != nil && !errors.Is(err, tea.ErrInterrupted) && ctx.Err() == nil {
		return fmt.Errorf("show the screen: %w", err)
	}
	if errors.Is(err, tea.ErrProgramPanic) {
		return fmt.Errorf("show the screen: %w", err)
	}
	return m.fault
}
