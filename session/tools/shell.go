package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"belay/session/sandbox"
)

// shellTimeout is how long a command may take that names no limit.
const shellTimeout = 120 * time.Second

type shellTool struct{}

type shellArgs struct {
	Command string `json:"command"`
	Dir     string `json:"dir"`
	Timeout int    `json:"timeout"`
}

func (shellTool) prepare(s *Set, raw []byte) (Call, error) {
	var args shellArgs
	if err := json.Unmarshal(raw, &args); err != nil {
		return Call{}, err
	}
	if strings.ContainsRune(args.Command, 0) {
		return Call{}, errors.New("the command holds a NUL byte")
	}
	p, err := s.resolve(orDefault(args.Dir, "."))
	if err != nil {
		return Call{}, err
	}
	limit := shellTimeout
	if args.Timeout > 0 {
		limit = time.Duration(args.Timeout) * time.Second
	}
	var group atomic.Int64
	name, flag := shellProgram()
	profile := s.working(args.Command)
	job := shellJob{
		profile: profile,
		dir:     p.abs,
		line:    args.Command,
		words:   []string{name, flag, args.Command},
		limit:   limit,
		group:   &group,
	}
	run := func(job shellJob) func(context.Context, func(string)) Result {
		return func(ctx context.Context, out func(string)) Result {
			if info, err := os.Stat(job.dir); err != nil || !info.IsDir() {
				return errorResult(fmt.Errorf("%s is not a folder", p.rel))
			}
			return s.shell(ctx, job, out)
		}
	}
	call := Call{
		Group:   func() int { return int(group.Load()) },
		Title:   firstLine(args.Command),
		Detail:  args.Command,
		Command: args.Command,
		Shell:   strings.TrimSuffix(filepath.Base(name), ".exe"),
		Path:    p.abs,
		Outside: p.outside,
		Run:     run(job),
		Unheld:  s.whyUnheld(args.Command),
		Reach:   s.reach(profile),
		Refused: s.refusedBefore(args.Command).why,
	}
	switch {
	case call.Unheld == "":
		held := job
		held.profile = sandbox.Profile{Reading: true}
		call.RunHeld = run(held)
	case s.unavailable != nil && runtime.GOOS != "windows":
		call.RunDirect = func(words []string) func(context.Context, func(string)) Result {
			direct := job
			direct.words = words
			return run(direct)
		}
	}
	if !profile.Outside {
		outside := job
		outside.profile = sandbox.Profile{Outside: true}
		call.RunOutside = run(outside)
	}
	return call, nil
}

// shellJob is a command as it is run.
type shellJob struct {
	dir   string
	line  string   // as the model wrote it
	words []string // the program and what it is given
	limit time.Duration
	group *atomic.Int64

	profile sandbox.Profile // how the kernel holds it
}

func (j shellJob) started(group int) { j.group.Store(int64(group)) }

// whyUnheld says why the kernel would not hold a command to reading; empty: it
// would.
func (s *Set) whyUnheld(command string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.unavailable != nil:
		return "nothing on this system can hold it to reading"
	}
	return s.unheld[command]
}

// prompts are the words of programs that would have asked a person, and had no
// terminal to do it on.
var prompts = []string{
	"a terminal is required",
	"no tty present",
	"could not read username",
	"could not read password",
	"terminal prompts disabled",
	"host key verification failed",
	"cannot open /dev/tty",
	"inappropriate ioctl for device",
	"no askpass program",
	"permission denied (publickey",
}

// notePrompt tells the model why a program did not get an answer.
func notePrompt(result *Result) {
	output := strings.ToLower(result.Output)
	if result.Error && slices.ContainsFunc(prompts, func(p string) bool { return strings.Contains(output, p) }) {
		result.Output += "\n(Commands have no terminal, so nobody can be asked for a password or a confirmation. " +
			"Use a way that needs none, or ask the user to do it.)"
	}
}

// refusals are the words with which programs say that the kernel refused them.
var refusals = []string{"permission denied", "not permitted", "read-only file system"}

// noteRefusal tells the model of a held command that it may have been refused
// something, and has a person asked when the same command comes again.
func (s *Set) noteRefusal(job shellJob, result *Result) {
	refused := slices.Collect(refusedLines(result.Output))
	if !result.Error || len(refused) == 0 {
		return
	}
	if !slices.ContainsFunc(refused, func(line string) bool { return !namesOne(line, job.profile.Closed) }) {
		result.Output += "\n(Files that may hold secrets were left out. To read one, name it: the user is asked then.)"
		return
	}
	s.mu.Lock()
	s.unheld[job.line] = "it was refused something when it was held to reading"
	s.mu.Unlock()
	result.Output += "\n(It ran without a question, so it was held to reading: no writing, no network, no secret places. " +
		"If it needs more, make exactly the same call again: the user is asked then.)"
}

// refusedLines are the lines that say that something was refused.
func refusedLines(output string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for line := range strings.Lines(output) {
			lower := strings.ToLower(line)
			if slices.ContainsFunc(refusals, func(r string) bool { return strings.Contains(lower, r) }) && !yield(line) {
				return
			}
		}
	}
}

// namesOne reports whether a line names one of some files.
func namesOne(line string, files []string) bool {
	return slices.ContainsFunc(files, func(file string) bool { return strings.Contains(line, filepath.Base(file)) })
}

// errTimeout ends a command that takes too long.
var errTimeout = errors.New("timeout")

func (s *Set) shell(ctx context.Context, job shellJob, out func(string)) Result {
	ctx, cancel := context.WithTimeoutCause(ctx, job.limit, errTimeout)
	defer cancel()
	kept := newOutput(s.o.Outputs, s.o.NewID, s.o.Redact, out)
	run := s.runShell
	if job.profile.Reading {
		run = s.runHeld
		job.profile.Closed = s.secretFiles(ctx)
	}
	code, err := run(ctx, job, kept)
	text, file := kept.close()
	result := Result{Output: text, File: file}
	switch {
	case errors.Is(context.Cause(ctx), errTimeout):
		result.Error, result.Summary = true, fmt.Sprintf("stopped after %s", job.limit)
		result.Output += fmt.Sprintf(
			"\n(stopped after %s with everything it had started; pass a longer timeout if it needs more)",
			job.limit,
		)
	case ctx.Err() != nil:
		result.Error, result.Summary = true, "stopped"
		result.Output += "\n(stopped by the user; what it had done until then stays)"
	case s.noteEnded(job.line, err, &result):
		return result
	case err != nil:
		return errorResult(fmt.Errorf("run the command: %w", err))
	default:
		result.Error, result.Summary = code != 0, fmt.Sprintf("exit %d", code)
		if code != 0 || text == "" {
			result.Output = strings.TrimLeft(
				fmt.Sprintf("%s\n(exit status %d)", strings.TrimRight(text, "\n"), code),
				"\n",
			)
		}
	}
	if job.profile.Reading {
		s.noteRefusal(job, &result)
	}
	s.noteWorking(job, &result)
	notePrompt(&result)
	return result
}

// runShell runs what was approved, or the words of a command that needs no shell.
func (s *Set) runShell(ctx context.Context, job shellJob, out *commandOutput) (code int, err error) {
	cmd := exec.Command(job.words[0], job.words[1:]...)
	cmd.Dir = job.dir
	cmd.Env = s.environment()
	cmd.Stdout, cmd.Stderr = out, out
	return s.sandbox.Run(ctx, cmd, job.profile, job.started)
}

// secretEndings are how the names of variables end that hold keys and passwords.
var secretEndings = []string{
	"KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "PASSPHRASE", "CREDENTIAL", "CREDENTIALS", "PAT", "DSN",
}

// LooksSecret says whether a variable holds a secret, going by the last word of its
// name. What is meant for a program can be passed on by name.
func LooksSecret(name string) bool {
	name = strings.ToUpper(name)
	last := name[strings.LastIndexByte(name, '_')+1:]
	return slices.Contains(secretEndings, last) || strings.HasSuffix(name, "APIKEY") ||
		strings.HasPrefix(name, "AWS_SECRET") || name == "DATABASE_URL"
}

// environment is belay's own without its secrets, and with what keeps programs
// from asking questions or painting.
func (s *Set) environment() []string {
	env := slices.DeleteFunc(os.Environ(), func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		return slices.Contains(s.o.Hide, name) || LooksSecret(name) && !slices.Contains(s.o.Pass, name)
	})
	// A folder that only looks like a repository must not make git run what its
	// settings name, nor cd lead elsewhere than it says.
	n, _ := strconv.Atoi(os.Getenv("GIT_CONFIG_COUNT"))
	env = append(env, fmt.Sprintf("GIT_CONFIG_COUNT=%d", n+1), fmt.Sprintf("GIT_CONFIG_KEY_%d=safe.bareRepository", n),
		fmt.Sprintf("GIT_CONFIG_VALUE_%d=explicit", n), "CDPATH=")
	return append(
		env,
		"TERM=dumb",
		"NO_COLOR=1",
		"PAGER=cat",
		"GIT_PAGER=cat",
		"GIT_TERMINAL_PROMPT=0",
		"GIT_EDITOR=true",
		"SSH_ASKPASS_REQUIRE=never",
		"SUDO_ASKPASS=/bin/false",
		"DEBIAN_FRONTEND=noninteractive",
		"BELAY=1",
	)
}
