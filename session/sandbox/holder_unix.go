//go:build unix

package sandbox

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"syscall"
	"time"

	"belay/session/sandbox/hold"
)

// maxIdle bounds the processes that wait for a command.
const maxIdle = 4

// mark is the variable by which what a command left is found, where nothing else
// finds it.
const mark = "BELAY_COMMAND"

// holders are the processes that start commands. Each serves one command at a time
// and waits for the next then: making its place takes longer than most commands.
type holders struct {
	mu     sync.Mutex
	idle   []*holder
	closed bool
}

// holder is such a process, seen from here.
type holder struct {
	place   string // what it was set up to be
	cmd     *exec.Cmd
	control int

	mu   sync.Mutex
	gone bool // the control is closed
}

// get gives a process with a certain place.
func (h *holders) get(setup hold.Setup, attr *syscall.SysProcAttr) (held *holder, isNew bool, err error) {
	place := string(setup.Pack())
	h.mu.Lock()
	for i, held := range h.idle {
		if held.place == place {
			h.idle = append(h.idle[:i], h.idle[i+1:]...)
			h.mu.Unlock()
			return held, false, nil
		}
	}
	h.mu.Unlock()
	held, err = startHolder(place, attr)
	return held, true, err
}

// put takes a process back.
func (h *holders) put(held *holder) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		held.end()
		return
	}
	h.idle = append(h.idle, held)
	if len(h.idle) > maxIdle {
		h.idle[0].end()
		h.idle = h.idle[1:]
	}
}

func (h *holders) close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, held := range h.idle {
		held.end()
	}
	h.idle, h.closed = nil, true
}

// self is this program, whatever became of its file.
func self() (string, error) {
	if _, err := os.Stat("/proc/self/exe"); err == nil {
		return "/proc/self/exe", nil
	}
	return os.Executable()
}

func startHolder(place string, attr *syscall.SysProcAttr) (*holder, error) {
	program, err := self()
	if err != nil {
		return nil, fmt.Errorf("find this program: %w", err)
	}
	pair, err := controlPair()
	if err != nil {
		return nil, fmt.Errorf("make a socket: %w", err)
	}
	theirs := os.NewFile(uintptr(pair[1]), "control")
	defer theirs.Close()
	// A test with the race detector would wait a second at the end of each.
	env := []string{"GOMAXPROCS=2", "GORACE=" + os.Getenv("GORACE")}
	cmd := &exec.Cmd{Path: program, Args: []string{hold.Name}, Dir: "/", Env: env,
		ExtraFiles: []*os.File{theirs}, SysProcAttr: attr}
	if err := cmd.Start(); err != nil {
		return nil, errors.Join(fmt.Errorf("start the process that holds commands: %w", err), syscall.Close(pair[0]))
	}
	h := &holder{place: place, cmd: cmd, control: pair[0]}
	err = hold.Send(h.control, hold.Prepare, []byte(place))
	if err == nil {
		err = h.expect(hold.Ready)
	}
	if err != nil {
		h.end()
		return nil, fmt.Errorf("prepare the place of commands: %w", err)
	}
	return h, nil
}

func controlPair() ([2]int, error) {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	pair, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err == nil {
		syscall.CloseOnExec(pair[0])
		syscall.CloseOnExec(pair[1])
	}
	return pair, err
}

// expect waits for an answer that may be an error.
func (h *holder) expect(kind byte) error {
	got, body, _, err := hold.Receive(h.control)
	switch {
	case err != nil:
		return errors.Join(ErrHolderKilled, err)
	case got != kind:
		return fmt.Errorf("an answer %q instead of %q", got, kind)
	case len(body) > 0:
		return errors.New(string(body))
	}
	return nil
}

// end has the process end with all that it started, and waits for it.
func (h *holder) end() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.gone {
		return
	}
	h.gone = true
	_ = syscall.Shutdown(h.control, syscall.SHUT_RDWR)
	_ = h.cmd.Wait() // how it ended tells nothing
	_ = syscall.Close(h.control)
}

// whileOpen does something with the control, if it is there still.
func (h *holder) whileOpen(do func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.gone {
		do()
	}
}

// heldProcess is a command that a holder runs.
type heldProcess struct {
	*holder
	pool   *holders
	output *output
	mark   string
}

// runHeld starts a command. A process that was killed while it waited is replaced.
func (s *Sandbox) runHeld(
	cmd *exec.Cmd,
	setup hold.Setup,
	attr func() *syscall.SysProcAttr,
	c hold.Command,
) (process, error) {
	c.Path, c.Dir, c.Args = cmd.Path, cmd.Dir, cmd.Args
	p := &heldProcess{pool: &s.holders, mark: mark + "=" + rand.Text()}
	c.Env = append(append(c.Env, cmd.Environ()...), p.mark)
	var err error
	if p.output, err = openOutput(cmd); err != nil {
		return nil, err
	}
	body := c.Pack()
	for {
		held, isNew, err := s.holders.get(setup, attr())
		if err != nil {
			p.output.abandon()
			return nil, err
		}
		err = hold.Send(held.control, hold.Run, body, p.output.descriptors()...)
		if err == nil {
			err = held.expect(hold.Started)
		}
		if err == nil {
			p.holder = held
			p.output.begin()
			return p, nil
		}
		lost := errors.Is(err, ErrHolderKilled) || errors.Is(err, syscall.EPIPE)
		if lost {
			held.end()
		} else {
			s.holders.put(held)
		}
		if isNew || !lost {
			p.output.abandon()
			return nil, err
		}
	}
}

func (p *heldProcess) pid() int { return p.cmd.Process.Pid }

func (p *heldProcess) wait() (code int, err error) {
	kind, body, _, err := hold.Receive(p.control)
	if err == nil && kind == hold.Ended {
		code, err = strconv.Atoi(string(body))
		if !endsAll {
			endMarked(p.mark)
		}
		p.pool.put(p.holder)
		p.output.drain(drain)
		return code, err
	}
	p.end()
	// What is just being started shows no mark for a moment.
	for range 5 {
		endMarked(p.mark)
		time.Sleep(10 * time.Millisecond)
	}
	p.output.drain(drain)
	return 0, ErrHolderKilled
}

func (p *heldProcess) terminate() {
	p.whileOpen(func() { _ = hold.Send(p.control, hold.Terminate, nil) }) // or it has ended
}

// kill closes one direction only: the other side's end is still noticed.
func (p *heldProcess) kill() {
	p.whileOpen(func() { _ = syscall.Shutdown(p.control, syscall.SHUT_WR) })
}

// output is where a command reads and writes.
type output struct {
	files  []*os.File // what the command gets, in order
	own    []*os.File // those of them that were opened here
	copies []func() error
	ends   []*os.File // of pipes, this side
	done   chan error
}

// openOutput opens what a command reads and writes, as os/exec does.
func openOutput(cmd *exec.Cmd) (*output, error) {
	o := &output{done: make(chan error, maxCopies)}
	in, err := o.reader(cmd.Stdin)
	if err != nil {
		o.abandon()
		return nil, err
	}
	out, err := o.writer(cmd.Stdout)
	if err != nil {
		o.abandon()
		return nil, err
	}
	errs := out
	if !sameWriter(cmd.Stdout, cmd.Stderr) {
		if errs, err = o.writer(cmd.Stderr); err != nil {
			o.abandon()
			return nil, err
		}
	}
	o.files = []*os.File{in, out, errs}
	return o, nil
}

// maxCopies is how many pipes a command has.
const maxCopies = 3

func sameWriter(a, b io.Writer) bool {
	defer func() { _ = recover() }() // of types that cannot be compared
	return a == b
}

func (o *output) reader(r io.Reader) (*os.File, error) {
	switch r := r.(type) {
	case nil:
		f, err := os.Open(os.DevNull)
		return o.opened(f), err
	case *os.File:
		return r, nil
	}
	theirs, ours, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	go func() { // it ends when the command does, or with its source
		_, _ = io.Copy(ours, r)
		_ = ours.Close()
	}()
	return o.opened(theirs), nil
}

func (o *output) writer(w io.Writer) (*os.File, error) {
	switch w := w.(type) {
	case nil:
		f, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
		return o.opened(f), err
	case *os.File:
		return w, nil
	}
	ours, theirs, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	o.ends = append(o.ends, ours)
	o.copies = append(o.copies, func() error {
		_, err := io.Copy(w, ours)
		return err
	})
	return o.opened(theirs), nil
}

func (o *output) opened(f *os.File) *os.File {
	if f != nil {
		o.own = append(o.own, f)
	}
	return f
}

func (o *output) descriptors() (list []int) {
	for _, f := range o.files {
		list = append(list, int(f.Fd()))
	}
	return list
}

// begin starts to read what the command writes: it has its own descriptors now.
func (o *output) begin() {
	for _, f := range o.own {
		_ = f.Close()
	}
	for _, run := range o.copies {
		go func() { o.done <- run() }()
	}
}

func (o *output) abandon() {
	for _, f := range append(o.own, o.ends...) {
		_ = f.Close()
	}
}

// drain waits for what was written, though not for a process that nobody could end
// and that holds a pipe open.
func (o *output) drain(limit time.Duration) {
	timer := time.AfterFunc(limit, func() {
		for _, f := range o.ends {
			_ = f.Close()
		}
	})
	for range o.copies {
		<-o.done
	}
	timer.Stop()
	for _, f := range o.ends {
		_ = f.Close()
	}
}
