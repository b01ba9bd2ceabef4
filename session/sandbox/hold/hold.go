// Package hold is the process that starts commands in a place of their own and
// ends all that they leave behind. It decides nothing: package sandbox says how.
//
// A belay that is started under the name Name becomes that process, before any
// package is initialised that takes time. It therefore imports nothing but what
// the runtime needs anyway.
package hold

// Name is the name under which belay starts itself to be this process.
const Name = "belay-hold"

// Control is the descriptor on which it is told what to do.
const Control = 3

// The messages. To the process: a Setup, then any number of commands, one at a
// time, each with three descriptors. When the other end is gone, it ends with all
// that it started.
const (
	Prepare   byte = 's' // a Setup; answered by Ready
	Run       byte = 'r' // a Command; answered by Started, and by Ended later
	Terminate byte = 't' // ask what runs to end

	Ready   byte = 'S' // with an error's text, or nothing
	Started byte = 'R' // with an error's text, or nothing
	Ended   byte = 'E' // with the exit code
)

// Setup is the place of all commands of one process.
type Setup struct {
	Init     bool     // it is the first process of a namespace of its own
	Loopback bool     // its network is empty: bring up what is only inside
	Private  bool     // its mounts are its own
	Writable []string // of those: what stays writable; the rest is read-only
	InPlace  []string // of what is writable: what cannot be moved
	ReadOnly []string // and what is read-only all the same
	Closed   []string // of those: files and folders that appear empty
}

// Command is one command.
type Command struct {
	Path, Dir string
	Args, Env []string
	Closed    []string // more that appears empty from now on

	Held    bool   // the rest holds
	Caps    uint64 // the capabilities that stay, as bits
	Handled uint64 // what Landlock holds of files
	Scoped  uint64 // and of other processes
	Rules   []Rule
	Filter  []byte // the program of seccomp
}

// Rule allows an access of Landlock below a path.
type Rule struct {
	Path   string
	Access uint64
}

// Pack gives a setup as bytes.
func (s Setup) Pack() []byte {
	var p packer
	p.flag(s.Init)
	p.flag(s.Loopback)
	p.flag(s.Private)
	p.list(s.Writable)
	p.list(s.InPlace)
	p.list(s.ReadOnly)
	p.list(s.Closed)
	return p
}

func unpackSetup(b []byte) Setup {
	u := unpacker(b)
	return Setup{Init: u.flag(), Loopback: u.flag(), Private: u.flag(), Writable: u.list(),
		InPlace: u.list(), ReadOnly: u.list(), Closed: u.list()}
}

// Pack gives a command as bytes.
func (c Command) Pack() []byte {
	var p packer
	p.text(c.Path)
	p.text(c.Dir)
	p.list(c.Args)
	p.list(c.Env)
	p.list(c.Closed)
	p.flag(c.Held)
	p.number(c.Caps)
	p.number(c.Handled)
	p.number(c.Scoped)
	p.text(string(c.Filter))
	p.number(uint64(len(c.Rules)))
	for _, r := range c.Rules {
		p.text(r.Path)
		p.number(r.Access)
	}
	return p
}

func unpackCommand(b []byte) Command {
	u := unpacker(b)
	c := Command{Path: u.text(), Dir: u.text(), Args: u.list(), Env: u.list(), Closed: u.list(), Held: u.flag(),
		Caps: u.number(), Handled: u.number(), Scoped: u.number(), Filter: []byte(u.text())}
	for range u.number() {
		c.Rules = append(c.Rules, Rule{Path: u.text(), Access: u.number()})
	}
	return c
}

// packer writes values one after another, texts behind their length.
type packer []byte

func (p *packer) number(n uint64) {
	for range 8 {
		*p = append(*p, byte(n))
		n >>= 8
	}
}

func (p *packer) flag(set bool) {
	if set {
		p.number(1)
		return
	}
	p.number(0)
}

func (p *packer) text(s string) {
	p.number(uint64(len(s)))
	*p = append(*p, s...)
}

func (p *packer) list(list []string) {
	p.number(uint64(len(list)))
	for _, s := range list {
		p.text(s)
	}
}

// unpacker reads what a packer of the same program wrote.
type unpacker []byte

func (u *unpacker) number() (n uint64) {
	for i := range 8 {
		n |= uint64((*u)[i]) << (8 * i)
	}
	*u = (*u)[8:]
	return n
}

func (u *unpacker) flag() bool { return u.number() != 0 }

func (u *unpacker) text() string {
	n := u.number()
	s := string((*u)[:n])
	*u = (*u)[n:]
	return s
}

func (u *unpacker) list() []string {
	list := make([]string, u.number())
	for i := range list {
		list[i] = u.text()
	}
	return list
}
