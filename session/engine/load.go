package engine

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"belay/models/route"
	"belay/session"
	"belay/session/request"
	"belay/session/rewind"
	"belay/session/store"
)

// load reads what the engine needs of a session, and brings in order what an
// earlier program left behind.
func (e *Engine) load(ctx context.Context, id session.ID, lease *store.Lease) (*openSession, error) {
	state, err := e.o.Store.Load(ctx, id)
	if err != nil {
		return nil, err
	}
	root, err := filepath.EvalSymlinks(state.Project)
	if err != nil {
		return nil, fmt.Errorf("find the workspace: %w", err)
	}
	set, err := e.o.Tools(state.Project)
	if err != nil {
		return nil, err
	}
	opened := &openSession{
		e: e, id: id, root: root, lease: lease, tools: set, control: route.NewControl(state.Tier), state: state,
		task: task{limits: e.o.Limits, whole: e.o.NonInteractive && state.PartOf == ""},
	}
	opened.life, opened.end = context.WithCancel(context.Background())
	opened.control.Pin(state.PinnedTarget)
	if e.o.Snapshots != nil && state.PartOf == "" {
		opened.snapshots = e.o.Snapshots(root)
	}
	opened.checkpoints = rewind.NewCheckpointer(rewind.CheckpointOptions{
		Snapshots: opened.snapshots,
		Root:      root,
		Log:       opened,
		Life:      opened.life,
		Changed:   opened.changed,
		Lost:      opened.lost,
		Go:        e.work.Go,
	})
	if err := opened.prepare(ctx); err != nil {
		return nil, errors.Join(err, set.Close())
	}
	return opened, nil
}

// prepare takes over what the log and the project say.
func (s *openSession) prepare(ctx context.Context) error {
	if s.state.PartOf != "" && s.state.Step == 0 {
		s.tools.RestrictToReading() // planning changes nothing
	}
	if err := s.tools.Focus(s.state.Focus); err != nil {
		return err
	}
	grants, err := s.e.o.Store.PermissionGrants(ctx, s.state.Project)
	if err != nil {
		return err
	}
	s.approvals = newApprovals(grants)
	taskEvent := func(r session.Record) { s.task.apply(r.Event) }
	s.conversation, err = request.ReadConversation(ctx, s.e.o.Store, s.state, s.tools.Remember(), taskEvent)
	if err != nil {
		return err
	}
	if s.requests, err = s.e.requests.Builder(ctx, s.state, s.tools, s); err != nil {
		return err
	}
	if err := s.task.recall(ctx, &s.e.o, s.state); err != nil {
		return err
	}
	return s.recover(ctx)
}
