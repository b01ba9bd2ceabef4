package tools

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"belay/session/sandbox"
)

// What the settings say of the network of commands.
const (
	networkAllow = "allow"
	networkDeny  = "deny"
)

func newSandbox(o Options) *sandbox.Sandbox {
	options := sandbox.Options{Root: o.Root, Own: append([]string{o.Data}, o.Secrets...), Temp: sandbox.TempFolders()}
	if home, err := os.UserHomeDir(); err == nil {
		options.Home, options.Secrets = home, sandbox.Secrets(home)
	}
	options.Cache = o.Cache
	options.Write, options.Read = inHome(options.Home, o.Write), inHome(options.Home, o.Read)
	return sandbox.New(options)
}

// inHome gives places by their whole names.
func inHome(home string, paths []string) (list []string) {
	for _, path := range paths {
		if rest, ok := strings.CutPrefix(path, "~/"); ok {
			path = filepath.Join(home, rest)
		}
		list = append(list, path)
	}
	return list
}

// refusal is what the sandbox refused a command that somebody had allowed.
type refusal struct {
	network bool
	why     string // for a person
}

// working is how a command runs that somebody allowed.
func (s *Set) working(line string) sandbox.Profile {
	if !s.holds() {
		return sandbox.Profile{Outside: true}
	}
	p := s.sandbox.Needs(line)
	switch s.o.Network {
	case networkAllow:
		p.Network = true
	case networkDeny:
		p.Network = false
	default:
		p.Network = p.Network || s.refusedBefore(line).network
	}
	return p
}

// holds reports whether commands that somebody allowed run in the sandbox.
func (s *Set) holds() bool { return !s.o.Open && s.unavailable == nil }

func (s *Set) refusedBefore(line string) refusal {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.refused[line]
}

// maxKeys bounds the secret places that a question names.
const maxKeys = 4

// reach says what a command can reach, for whoever is asked about it.
func (s *Set) reach(p sandbox.Profile) string {
	switch {
	case p.Outside && s.o.Open:
		return "everything you can: the sandbox is off"
	case p.Outside:
		return "everything you can: nothing here can hold it"
	}
	text := "this folder and caches; no network"
	if p.Network {
		text = "this folder, caches and the network"
	}
	keys := s.sandbox.Opens(p)
	if len(keys) == 0 {
		return text
	}
	more := ""
	if n := len(keys) - maxKeys; n > 0 {
		keys, more = keys[:maxKeys], fmt.Sprintf(" and %d more", n)
	}
	return text + "; secrets: " + strings.Join(keys, ", ") + more
}

// The words with which programs say that they were refused something.
var (
	networkRefusals = []string{
		"network is unreachable", "network unreachable", "enetunreach", "name resolution", "could not resolve",
		"couldn't resolve", "name or service not known", "nodename nor servname", "no such host", "getaddrinfo",
		"eai_again", "enotfound", "unable to resolve", "connection refused", "econnrefused", "couldn't connect to server",
		"failed to establish a new connection", "cannot assign requested address", "socket: operation not permitted",
		"address family not supported", "could not connect to", "no route to host", "cannot connect to the docker daemon",
	}
	fileRefusals      = []string{"read-only file system", "erofs", "device or resource busy"}
	accessRefusals    = []string{"permission denied", "operation not permitted", "eacces", "eperm"}
	privilegeRefusals = []string{"no new privileges", "must be owned by uid 0", "owned by uid 65534", "must be setuid root"}
)

// refusedPath finds the file in a line of an error.
var refusedPath = regexp.MustCompile(`(?:^|[\s:=('"‘“` + "`" + `])(~?/[^\s:'"` + "`" + `,;()‘’“”]*)`)

// noteWorking tells the model of a command that somebody allowed what the sandbox
// refused it, and has a person asked with that named when the same command comes
// again.
func (s *Set) noteWorking(job shellJob, result *Result) {
	if !result.Error || job.profile.Outside || job.profile.Reading {
		return
	}
	found, note := s.workingRefusal(job.profile, result.Output)
	if note == "" {
		return
	}
	s.mu.Lock()
	s.refused[job.line] = found
	s.mu.Unlock()
	result.Output += "\n(" + note + ")"
}

// again is how a model gets more.
const again = " If it is needed, make exactly the same call again: the user is asked then, with this named."

func (s *Set) workingRefusal(p sandbox.Profile, output string) (found refusal, note string) {
	lower := strings.ToLower(output)
	has := func(phrases []string) bool {
		return slices.ContainsFunc(phrases, func(phrase string) bool { return strings.Contains(lower, phrase) })
	}
	switch path, rule := s.refusedFile(p, output); {
	case has(privilegeRefusals):
		return refusal{why: "it was refused the rights of another user in the sandbox"},
			"The sandbox gives nobody the rights of another user. Only the user can run it outside." + again
	case rule != "":
		return refusal{why: "the sandbox refused it " + path + " (" + rule + " allows that)"},
			"The sandbox refused " + path + ". In the user's settings, [sandbox] " + rule + " allows that." + again
	case path != "":
		return refusal{why: "the sandbox refused it " + path},
			"The sandbox refused " + path + ", which no setting opens."
	case has(fileRefusals):
		return refusal{why: "the sandbox refused it to write outside the workspace"},
			"The sandbox has all but the workspace, temporary folders and caches read-only." + again
	case p.Network || !has(networkRefusals):
		return refusal{}, ""
	case s.o.Network == networkDeny:
		return refusal{why: "it was refused the network, as the settings say"},
			`It ran without the network: the user's settings deny that ([sandbox] network = "deny").`
	}
	return refusal{network: true, why: "it was refused the network, and gets it now"},
		"It ran in the sandbox without the network, not even other programs on this computer." + again
}

// refusedFile finds a file outside that an error says was refused, and the setting
// that would allow it; none: no setting does.
func (s *Set) refusedFile(p sandbox.Profile, output string) (path, rule string) {
	for line := range strings.Lines(output) {
		lower := strings.ToLower(line)
		writing := slices.ContainsFunc(fileRefusals, func(r string) bool { return strings.Contains(lower, r) })
		if !writing && !slices.ContainsFunc(accessRefusals, func(r string) bool { return strings.Contains(lower, r) }) {
			continue
		}
		paths := refusedPath.FindAllStringSubmatch(line, -1)
		slices.Reverse(paths) // the program comes before its file
		for _, path := range paths {
			if closed, rule := s.sandbox.Rule(p, path[1]); closed {
				return path[1], rule
			}
		}
	}
	return "", ""
}
