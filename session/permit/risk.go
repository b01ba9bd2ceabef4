package permit

import (
	"path/filepath"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// risk is a kind of thing that a command does and that a person wants to know before
// they allow it.
type risk struct {
	reason string
	danger bool // it cannot be taken back, or gives away what holds the command
	is     func(command) bool
}

// command is a program and its arguments, as far as they are known before it runs.
type command struct {
	name string
	sub  string // its first argument that is no flag
	args []string
}

func newCommand(words []string) command {
	c := command{name: filepath.Base(words[0]), args: words[1:]}
	if rest := operands(c.args, ""); len(rest) > 0 {
		c.sub = rest[0]
	}
	return c
}

// risks are the kinds, the gravest first: a line is explained by the first that one of
// its commands is of.
var risks = []risk{
	{"it runs as another user", true, named("sudo doas su pkexec runuser run0")},
	{"it rewrites history or throws work away", true, losesWork},
	{"it deletes folders with all that is in them", true, deletesFolders},
	{"it is forced", true, isForced},
	{"it changes who may use all files of a folder", true, func(c command) bool {
		return named("chmod chown chgrp setfacl")(c) && hasFlag(c.args, []string{"-R", "--recursive"})
	}},
	{"it writes to a disk as a whole", true, named("dd fdisk parted wipefs blkdiscard")},
	{"it pushes or publishes", false, does(publishing)},
	{"it deletes files", false, deletes},
	{"it uses the network", false, func(c command) bool { return named(networked)(c) || does(fetching)(c) }},
	{"it stops programs", false, named("kill pkill killall systemctl service launchctl")},
	{"it changes the repository", false, named("git jj hg svn")},
	{"it changes files", false, named("cp mv mkdir touch tee ln install chmod chown chgrp sed perl patch gofmt rsync tar unzip")},
	{"it builds or runs what the project says", false, named(building)},
	{"it runs a script", false, named("sh bash zsh dash ksh fish python python3 node deno bun ruby perl php lua Rscript java")},
}

// Programs by what they do; with a word behind a colon only that sub-command does.
var (
	publishing = pairs(`git:push jj:git-push hg:push npm:publish pnpm:publish yarn:publish bun:publish cargo:publish
		gem:push twine:upload docker:push podman:push helm:push gh:pr gh:release gh:repo gh:issue terraform:apply
		kubectl:apply kubectl:delete`)
	fetching = pairs(`git:fetch git:pull git:clone git:ls-remote git:submodule npm:install npm:ci npm:i npm:update
		pnpm:install pnpm:add yarn:install yarn:add bun:install bun:add pip:install pip3:install pip:download uv:add
		uv:sync uv:pip poetry:install poetry:add go:get go:install cargo:install cargo:add cargo:fetch cargo:update
		gem:install bundle:install composer:install composer:require docker:pull docker:login podman:pull`)
	networked = `curl wget http https xh aria2c ssh scp sftp ftp nc ncat netcat telnet socat ping dig nslookup host
		apt apt-get dnf yum apk brew pacman snap gh aws gcloud az kubectl npx pnpx uvx`
	building = `make cmake ninja just task go cargo npm pnpm yarn bun pip pip3 uv poetry gradle gradlew mvn mvnw bazel
		dotnet rake bundle tox nox pytest jest vitest tsc docker podman docker-compose composer mix sbt zig swift`
)

func pairs(list string) map[string]bool {
	set := map[string]bool{}
	for _, pair := range strings.Fields(list) {
		set[pair] = true
	}
	return set
}

func named(list string) func(command) bool {
	names := strings.Fields(list)
	return func(c command) bool { return slices.Contains(names, c.name) }
}

func does(set map[string]bool) func(command) bool {
	return func(c command) bool { return set[c.name+":"+c.sub] }
}

// losesWork reports what git does that no later command brings back easily.
func losesWork(c command) bool {
	if c.name == "git-filter-repo" {
		return true
	}
	if c.name != "git" {
		return false
	}
	switch c.sub {
	case "rebase", "filter-branch", "filter-repo", "update-ref", "replace", "prune":
		return true
	case "reset":
		return hasFlag(c.args, []string{"--hard", "--merge", "--keep"})
	case "commit":
		return hasFlag(c.args, []string{"--amend"})
	case "clean":
		return hasFlag(c.args, []string{"-f", "--force"})
	case "branch":
		return hasFlag(c.args, []string{"-D", "-f", "-M"})
	case "checkout", "restore":
		return slices.Contains(c.args, ".") || slices.Contains(c.args, "--")
	case "stash":
		return slices.Contains(c.args, "drop") || slices.Contains(c.args, "clear")
	case "reflog":
		return slices.Contains(c.args, "expire") || slices.Contains(c.args, "delete")
	case "push":
		return hasFlag(c.args, []string{"--mirror", "--delete", "-d", "--prune"}) ||
			slices.ContainsFunc(c.args[1:], func(w string) bool { return strings.HasPrefix(w, "+") || strings.HasPrefix(w, ":") })
	}
	return false
}

func deletesFolders(c command) bool {
	switch c.name {
	case "rm":
		return hasFlag(c.args, []string{"-r", "-R", "--recursive"})
	case "find":
		return slices.Contains(c.args, "-delete") || slices.Contains(c.args, "-exec") && slices.Contains(c.args, "rm") &&
			slices.ContainsFunc(c.args, func(w string) bool { return strings.HasPrefix(w, "-r") })
	case "rsync":
		return slices.ContainsFunc(c.args, func(w string) bool { return strings.HasPrefix(w, "--del") })
	}
	return false
}

func deletes(c command) bool {
	switch c.name {
	case "rm", "rmdir", "unlink", "shred", "trash", "truncate":
		return true
	case "git":
		return c.sub == "rm" || c.sub == "branch" && hasFlag(c.args, []string{"-d", "--delete"})
	case "find", "xargs":
		return slices.Contains(c.args, "rm")
	case "docker", "podman":
		return slices.Contains(strings.Fields("rm rmi prune"), c.sub) || slices.Contains(c.args, "prune")
	}
	return false
}

// isForced reports the flag that leaves out what a program would else stop at.
func isForced(c command) bool {
	for _, arg := range c.args {
		if arg == "--" {
			break
		}
		if arg == "--force" || strings.HasPrefix(arg, "--force-") || strings.HasPrefix(arg, "--force=") {
			return true
		}
	}
	short := c.name == "git" && slices.Contains(strings.Fields("push checkout switch tag worktree"), c.sub) ||
		slices.Contains([]string{"rm", "mv", "cp", "ln", "docker", "podman"}, c.name)
	return short && c.name != "docker" && hasFlag(c.args, []string{"-f"})
}

// shells are programs that carry out what they read.
var shells = strings.Fields("sh bash zsh dash ksh ash fish python python3 node ruby perl php lua")

// feedsShell reports that what carries out text is given the output of another
// command: curl … | sh, bash <(curl …), eval "$(…)".
func feedsShell(n syntax.Node) bool {
	switch n := n.(type) {
	case *syntax.BinaryCmd:
		return (n.Op == syntax.Pipe || n.Op == syntax.PipeAll) && readsProgram(n.Y)
	case *syntax.CallExpr:
		words := callWords(n)
		if len(words) == 0 {
			return false
		}
		name := filepath.Base(words[0])
		return (slices.Contains(shells, name) || slices.Contains([]string{"eval", "source", "."}, name)) && holdsOutput(n)
	}
	return false
}

// readsProgram reports a shell that reads what it does from its input.
func readsProgram(stmt *syntax.Stmt) bool {
	call, ok := stmt.Cmd.(*syntax.CallExpr)
	if !ok {
		return false
	}
	words := callWords(call)
	for len(words) > 0 && slices.Contains(wrapperCommands, filepath.Base(words[0])) {
		words = words[1:]
		for len(words) > 0 && (strings.HasPrefix(words[0], "-") || strings.Contains(words[0], "=")) {
			words = words[1:]
		}
	}
	if len(words) == 0 || !slices.Contains(shells, filepath.Base(words[0])) {
		return false
	}
	for _, arg := range words[1:] {
		switch {
		case arg == "-", arg == "-s", arg == "--":
			return true
		case arg == "-c", arg == "-e", arg == "-m", !strings.HasPrefix(arg, "-"):
			return false // the program is named, and reads text
		}
	}
	return true
}

func holdsOutput(call *syntax.CallExpr) bool {
	held := false
	for _, word := range call.Args[1:] {
		syntax.Walk(word, func(n syntax.Node) bool {
			switch n.(type) {
			case *syntax.CmdSubst, *syntax.ProcSubst:
				held = true
			}
			return !held
		})
	}
	return held
}

func callWords(call *syntax.CallExpr) []string {
	words := make([]string, len(call.Args))
	for i, w := range call.Args {
		words[i] = wordText(w.Parts)
	}
	return words
}
