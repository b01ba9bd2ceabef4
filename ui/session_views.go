package ui

import (
	"fmt"
	"path/filepath"
	"slices"
	"time"

	tea "charm.land/bubbletea/v2"

	"belay/models"
	"belay/session"
	"belay/ui/locale"
	"belay/ui/status"
	"belay/ui/theme"
	"belay/ui/transcript"
)

// sessionViews holds the sessions that are open on this screen, one of which is
// in view. Before there is one, an empty transcript is.
type sessionViews struct {
	byID    map[session.ID]*sessionView
	order   []session.ID // as they were opened
	current session.ID   // in view; empty: none yet

	blank   *transcript.Pane
	tiers   []models.Condition // of a session that does not exist yet
	offered []session.Session  // unfinished ones, shown before there is a session
}

func newSessionViews(th *theme.Theme, now func() time.Time) *sessionViews {
	return &sessionViews{byID: map[session.ID]*sessionView{}, blank: transcript.New(th, now)}
}

func (vs *sessionViews) get(id session.ID) *sessionView { return vs.byID[id] }

// shown is the session in view, or nil.
func (vs *sessionViews) shown() *sessionView { return vs.byID[vs.current] }

// list gives the views in the order they were opened.
func (vs *sessionViews) list() []*sessionView {
	list := make([]*sessionView, len(vs.order))
	for i, id := range vs.order {
		list[i] = vs.byID[id]
	}
	return list
}

// add makes a view for a session, unless there is one.
func (vs *sessionViews) add(id session.ID, th *theme.Theme, now func() time.Time) *sessionView {
	v := vs.byID[id]
	if v == nil {
		v = &sessionView{pane: transcript.New(th, now)}
		vs.byID[id] = v
		vs.order = append(vs.order, id)
	}
	return v
}

// remove forgets the view of a session. What is shown in its place is for the caller.
func (vs *sessionViews) remove(id session.ID) {
	delete(vs.byID, id)
	vs.order = slices.DeleteFunc(vs.order, func(other session.ID) bool { return other == id })
}

// transcript is the one in view.
func (vs *sessionViews) transcript() *transcript.Pane {
	if v := vs.shown(); v != nil {
		return v.pane
	}
	return vs.blank
}

func (vs *sessionViews) setTheme(th *theme.Theme) {
	vs.blank.SetTheme(th)
	for _, v := range vs.byID {
		v.pane.SetTheme(th)
	}
}

// count takes what the turns have written by now as what is shown.
func (vs *sessionViews) count() {
	for _, v := range vs.byID {
		v.progress.count()
	}
}

// conditions are the tiers of the session in view.
func (vs *sessionViews) conditions() []models.Condition {
	if v := vs.shown(); v != nil {
		return v.tiers
	}
	return vs.tiers
}

// refreshTiers asks the engine how the tiers of the session in view are doing.
func (vs *sessionViews) refreshTiers(engine Engine) {
	switch v := vs.shown(); {
	case engine == nil:
	case v != nil:
		v.setTiers(engine.Tiers(vs.current))
	default:
		vs.tiers = engine.Tiers("")
	}
}

// pinnedTarget is the model that the session in view is kept at, if it is.
func (vs *sessionViews) pinnedTarget() models.Target {
	if v := vs.shown(); v != nil {
		return v.state.PinnedTarget
	}
	return models.Target{}
}

// tier is the tier of the session in view.
func (vs *sessionViews) tier() models.Tier {
	if v := vs.shown(); v != nil {
		return v.state.Tier
	}
	return models.Heavy
}

// planView is the session with the plan that the session in view belongs to.
func (vs *sessionViews) planView() *sessionView {
	v := vs.shown()
	if v != nil && v.state.PartOf != "" {
		return vs.byID[v.state.PartOf]
	}
	return v
}

// worker is the session in which the running step of a plan is carried out, or
// the steps are proposed.
func (vs *sessionViews) worker(plan *sessionView) *sessionView {
	if p := plan.state.Plan; p != nil {
		if step, ok := p.Running(); ok {
			return vs.byID[step.Session]
		}
	}
	if !plan.state.RunsPlan || !plan.state.Live() {
		return nil
	}
	for _, v := range vs.list() {
		if v.state.PartOf == plan.state.ID && v.state.Step == 0 && v.state.Live() {
			return v
		}
	}
	return nil
}

// isWorker reports whether a session carries out the running step of its plan.
func (vs *sessionViews) isWorker(v *sessionView) bool {
	plan := vs.byID[v.state.PartOf]
	return plan != nil && vs.worker(plan) == v
}

// title is how a session is called; one that is part of another is called after
// its step.
func (vs *sessionViews) title(s *session.Session) string {
	if s.PartOf == "" {
		return theme.Line(s.Title)
	}
	if s.Step == 0 {
		return locale.T("proposing steps")
	}
	plan := vs.byID[s.PartOf]
	if plan == nil || plan.state.Plan == nil || s.Step > len(plan.state.Plan.Steps) {
		return fmt.Sprintf("step %d", s.Step)
	}
	list := plan.state.Plan.Steps
	return fmt.Sprintf("step %d/%d %s", s.Step, len(list), theme.Line(list[s.Step-1].Title))
}

// project is the name of the folder in view.
func (vs *sessionViews) project(folder string) string {
	if v := vs.shown(); v != nil && v.state.Project != "" {
		folder = v.state.Project
	}
	return filepath.Base(folder)
}

// live lists the sessions that run.
func (vs *sessionViews) live() []session.ID {
	var ids []session.ID
	for _, v := range vs.list() {
		if v.state.Live() {
			ids = append(ids, v.state.ID)
		}
	}
	return ids
}

// neighbour is the next of the sessions that run or are parked, by is 1 or -1;
// "": there is none.
func (vs *sessionViews) neighbour(by int) session.ID {
	ids := slices.DeleteFunc(slices.Clone(vs.order), func(id session.ID) bool {
		s := &vs.byID[id].state
		return !s.Live() && s.Status != session.Parked
	})
	if len(ids) == 0 {
		return ""
	}
	at := slices.Index(ids, vs.current)
	if at < 0 && by < 0 {
		at = 0
	}
	return ids[((at+by)%len(ids)+len(ids))%len(ids)]
}

// otherStreams counts the other sessions whose model speaks now, at the provider
// that the session in view would ask.
func (vs *sessionViews) otherStreams() int {
	n, provider := 0, ""
	if v := vs.shown(); v != nil {
		provider = v.usage.Target.Provider
	}
	for id, v := range vs.byID {
		streams := v.state.Status == session.Running && v.wait == nil
		if id != vs.current && streams && (provider == "" || v.state.Target.Provider == provider) {
			n++
		}
	}
	return n
}

// pace is how often the clocks in view move: 0 when nothing does.
func (vs *sessionViews) pace(now time.Time) time.Duration {
	view := vs.shown()
	if view == nil {
		return tierPace(vs.tiers, now)
	}
	pace := view.pace(now)
	plan := vs.planView()
	if plan == nil {
		return pace
	}
	for _, other := range []*sessionView{plan, vs.worker(plan)} { // the panel, or the line at the bottom, shows them
		if other != nil && other != view {
			pace = sooner(pace, other.pace(now))
		}
	}
	return pace
}

// sooner is the shorter of two paces; 0 is none.
func sooner(a, b time.Duration) time.Duration {
	if a == 0 || b > 0 && b < a {
		return b
	}
	return a
}

// topBar is what the bar at the top says of the sessions.
func (vs *sessionViews) topBar(folder, branch string, now time.Time) status.Top {
	top := status.Top{
		Project: vs.project(folder), Branch: branch, Tiers: vs.conditions(), Now: now, Active: vs.tier(),
	}
	shown := vs.shown()
	if shown != nil {
		top.Title = vs.title(&shown.state)
		if shown.state.Project != folder {
			top.Branch = ""
		}
	}
	for _, v := range vs.list() {
		s := &v.state
		ofShown := shown != nil && shown.state.PartOf == s.ID // a plan and its step are one
		switch {
		case v == shown:
		case s.NeedsYou():
			top.NeedPerson++
		case s.Live() && s.PartOf == "" && !ofShown:
			top.Running++
		}
	}
	return top
}

// windowTitle is the title of the terminal's window: how the session in view is
// doing, and which it is.
func (vs *sessionViews) windowTitle(folder string, area frame) string {
	needs := 0
	for _, v := range vs.list() {
		if v.state.NeedsYou() {
			needs++
		}
	}
	title := "belay · " + theme.Line(vs.project(folder))
	if v := vs.shown(); v != nil && v.state.Title != "" {
		title += " · " + theme.Cut(vs.title(&v.state), 50)
	}
	if v := vs.shown(); v != nil && v.state.Turn > 0 {
		symbol, _, _ := area.theme.Status(&v.state, area.now)
		title = symbol + " " + title
	}
	if needs > 0 {
		title = "(" + theme.Count(int64(needs)) + ") " + title
	}
	return title
}

// programStatus tells the terminal how the session in view is doing.
func (vs *sessionViews) programStatus() *tea.ProgramStatus {
	ps := &tea.ProgramStatus{App: "belay", State: tea.ProgramStateIdle}
	view := vs.shown()
	if view == nil {
		return ps
	}
	state := view.state.Status
	if worker := vs.worker(view); worker != nil && worker.state.Status == session.Asking {
		state = session.Asking
	}
	switch state {
	case session.Running:
		ps.State = tea.ProgramStateWorking
	case session.Asking:
		ps.State, ps.Kind = tea.ProgramStateBlocked, tea.ProgramStatusKindPermission
	case session.NeedsPerson:
		ps.State, ps.Kind = tea.ProgramStateBlocked, tea.ProgramStatusKindQuestion
	case session.Failed:
		ps.State = tea.ProgramStateError
	case session.Idle:
		if view.state.Turn > 0 {
			ps.State = tea.ProgramStateDone
		}
	}
	return ps
}
