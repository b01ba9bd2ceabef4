// Package permit decides which tool calls may run, which ask a person first,
// and which never run.
package permit

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"belay/session"
)

// Verdict is what happens with a call.
type Verdict string

// The verdicts.
const (
	Allow Verdict = "allow"
	Ask   Verdict = "ask"
	Deny  Verdict = "deny"
)

// Call is what is known of a tool call before it runs.
type Call struct {
	Tool    string
	Class   session.Class
	Command string // the shell line, for a Run
	Shell   string // the name of the shell it is for; empty: bash
	Path    string // absolute, links resolved
	Outside bool   // Path lies outside the workspace
	Secret  bool   // Path lies where keys, tokens and what a person did are kept
	Root    string // the workspace, absolute, links resolved
	Unheld  string // why the kernel would not hold the command to reading; empty: it would
	Direct  bool   // it can run without a shell
	Refused string // what the sandbox refused it when it last ran; empty: nothing
}

// Decision is a verdict with its reason for people and for the model.
type Decision struct {
	Verdict Verdict
	Reason  string
	Grants  []string // the rules that "always" would add; none: it asks each time
	Held    bool     // allowed because it only reads, so the kernel has to hold it to that
	Direct  []string // allowed as these words, without a shell
	Outside bool     // a person has it run outside the sandbox
	Danger  bool     // it cannot be taken back, or gives away what holds the command
}

// Always tells a person what "always" would allow.
func (d Decision) Always() string {
	var what []string
	for _, g := range d.Grants {
		if strings.HasPrefix(g, ruleExact+":") {
			what = append(what, "exactly this command") // which is on the screen
			continue
		}
		what = append(what, RuleText(g))
	}
	return strings.Join(what, " and ")
}

// RuleText says in words what a rule allows.
func RuleText(rule string) string {
	kind, rest, _ := strings.Cut(rule, ":")
	switch kind {
	case ruleWrite:
		return "changing files of this project"
	case ruleOutside:
		return "reading below " + rest
	case ruleExact:
		return "exactly `" + rest + "`"
	case rulePrefix:
		return "commands that begin with `" + rest + "`"
	case ruleSecret:
		return "reading " + filepath.Base(rest)
	}
	return rule
}

// The kinds of rules a project remembers, each followed by a colon and its text.
const (
	ruleWrite   = "write"
	ruleOutside = "outside"
	ruleExact   = "exact"
	rulePrefix  = "prefix"
	ruleSecret  = "secret"
)

// Judge decides about a call in an approval mode, with the rules that the
// project remembers.
func Judge(mode session.Mode, call Call, grants []string) Decision {
	if call.Class == session.Run {
		return explain(judgeCommand(mode, call, grants), call)
	}
	if call.Class == session.Write && isGuarded(call) {
		return Decision{Verdict: Ask, Reason: "this file steers programs that run by themselves"}
	}
	if call.Class == session.Read && (call.Secret || HoldsSecrets(call.Path)) && !readable(grants, call.Path) {
		return Decision{
			Verdict: Ask, Reason: "this file may hold keys or passwords", Grants: []string{ReadableRule(call.Path)},
		}
	}
	if mode == session.All {
		return Decision{Verdict: Allow}
	}
	if call.Outside {
		if call.Class == session.Write {
			return Decision{Verdict: Ask, Reason: "the file is outside the workspace"}
		}
		if anyGrant(grants, ruleOutside, func(dir string) bool { return within(dir, call.Path) }) {
			return Decision{Verdict: Allow}
		}
		return Decision{Verdict: Ask, Reason: "it is outside the workspace", Grants: outsideRules(call.Path)}
	}
	if call.Class == session.Read || mode == session.Edits || slices.Contains(grants, ruleWrite+":") {
		return Decision{Verdict: Allow}
	}
	return Decision{Verdict: Ask, Reason: "it changes a file", Grants: []string{ruleWrite + ":"}}
}

// outsideRules is the rule for reading below a folder outside the workspace: the one
// that is read, or the one of the file. All of the disk or of the home folder
// cannot be allowed for good.
func outsideRules(path string) []string {
	dir := path
	if info, err := os.Stat(path); err != nil || !info.IsDir() {
		dir = filepath.Dir(path)
	}
	if isRootOrHome(dir) {
		return nil
	}
	return []string{ruleOutside + ":" + dir}
}

// guardedNames are files and folders whose content other programs obey by themselves:
// repositories, hooks, CI, shells, editors, package managers, keys, and the words
// that agents read before each task.
var guardedNames = strings.Fields(`
	.git .gitmodules .gitattributes .gitconfig .belay.toml .husky .githooks .pre-commit-config.yaml lefthook.yml
	.github .gitlab-ci.yml .circleci .travis.yml azure-pipelines.yml .drone.yml .woodpecker.yml .buildkite
	.bashrc .bash_profile .bash_login .bash_logout .profile .zshrc .zshenv .zprofile .zlogin .zlogout .kshrc .inputrc
	.envrc .direnv .tmux.conf .screenrc .xprofile .xinitrc .xsession .pam_environment
	.vscode .idea .vimrc .nvimrc .exrc .gvimrc .emacs .emacs.d .dir-locals.el .devcontainer
	.npmrc .yarnrc .yarnrc.yml .pnpmfile.cjs .pypirc .netrc .gdbinit .lldbinit .irbrc .pythonrc
	.ssh .gnupg .aws .kube .docker .cursor .cursorrules .mcp.json .claude .codex
	AGENTS.md CLAUDE.md GEMINI.md`)

// isGuarded reports files that steer programs which run by themselves.
func isGuarded(c Call) bool {
	rel, err := filepath.Rel(c.Root, c.Path)
	if err != nil {
		return true
	}
	parts := strings.Split(filepath.ToSlash(rel), "/")
	return slices.ContainsFunc(parts, func(p string) bool {
		// Windows takes .git. and .git:$DATA and git~1 for .git.
		p, _, _ = strings.Cut(p, ":")
		p = strings.TrimRight(p, ". ")
		return strings.EqualFold(p, "git~1") || strings.HasSuffix(strings.ToLower(p), ".git") ||
			slices.ContainsFunc(guardedNames, func(name string) bool { return strings.EqualFold(p, name) })
	})
}

func anyGrant(grants []string, kind string, match func(string) bool) bool {
	return slices.ContainsFunc(grants, func(g string) bool {
		k, rest, ok := strings.Cut(g, ":")
		return ok && k == kind && match(rest)
	})
}

func within(dir, path string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(rel)
}
