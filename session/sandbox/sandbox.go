// Package sandbox decides what a command that nobody was asked about may touch,
// and has the kernel hold it to that: it reads, apart from secret places, and
// writes to a folder of its own; no network, no other process, no device.
//
// What a command does is guessed before it runs (package permit). A wrong guess
// must not matter, so nothing here looks at the command.
package sandbox

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"
)

// ErrUnavailable says that the system has nothing to hold a command with.
var ErrUnavailable = errors.New("this system cannot hold a command to reading")

// Options for New.
type Options struct {
	Root    string   // the workspace: what it lies in is read
	Home    string   // where caches and secrets of tools are; may be empty
	Own     []string // files and folders of belay itself, which no command reads or writes
	Secrets []string // files and folders that are not read, unless a profile or Read opens them
	Temp    []string // folders for what is temporary
	Cache   string   // where reading commands keep what they compile, and nothing else looks; may be empty
	Write   []string // more places that working commands may write
	Read    []string // secrets that working commands may read

	Grace time.Duration // between asking a command to end and killing it; 0: two seconds
}

// Sandbox holds commands. It may be used by several goroutines.
type Sandbox struct {
	o       Options
	own     []string
	secrets []string // own ones included
	holders holders
}

// New makes a sandbox.
func New(o Options) *Sandbox {
	s := &Sandbox{o: o}
	// The kernel knows a place by what it is, not by the links to it.
	outside := func(path string) bool { return !below(path, o.Root) }
	for _, path := range resolveAll(o.Own) {
		if outside(path) {
			s.own = append(s.own, path)
		}
	}
	s.secrets = slices.Clone(s.own)
	for _, path := range resolveAll(o.Secrets) {
		if outside(path) {
			s.secrets = append(s.secrets, path)
		}
	}
	return s
}

// IsSecret reports a file or folder in one of the places that hold secrets. Links of
// the path have been followed.
func (s *Sandbox) IsSecret(path string) bool {
	return slices.ContainsFunc(s.secrets, func(place string) bool { return below(place, path) })
}

// Close ends what holds commands.
func (s *Sandbox) Close() { s.holders.close() }

// TempFolders are those that programs use for what is temporary.
func TempFolders() []string {
	list := []string{os.TempDir()}
	if runtime.GOOS != "windows" {
		list = append(list, "/tmp", "/var/tmp")
	}
	return list
}

// Secrets lists the places below a home folder that hold keys, tokens and what a
// person did: shells, browsers, mail, clouds, package registries and agents.
func Secrets(home string) []string {
	var paths []string
	for name := range strings.FieldsSeq(`
		.ssh .gnupg .pki .aws .azure .kube .docker .config/gcloud .config/gh .config/hub .config/glab-cli
		.config/op .config/rclone .config/doctl .config/hcloud .terraform.d .terraformrc .vault-token
		.netrc _netrc .git-credentials .config/git/credentials .npmrc .yarnrc .yarnrc.yml .pypirc .config/pip
		.cargo/credentials .cargo/credentials.toml .gem/credentials .m2/settings.xml .gradle/gradle.properties
		.config/composer/auth.json .nuget .pgpass .my.cnf .s3cfg .boto .databrickscfg .snowsql .password-store
		.local/share/keyrings .kwallet .local/share/kwalletd .mozilla .config/google-chrome .config/chromium
		.config/BraveSoftware .config/microsoft-edge .config/vivaldi .config/opera .thunderbird .config/Signal
		.config/Slack .config/discord .bash_history .zsh_history .python_history .node_repl_history .psql_history
		.mysql_history .lesshst .codex .claude .claude.json .gemini .config/opencode .local/share/opencode
		.config/github-copilot .local/share/crush .config/crush .pi Library/Keychains Library/Cookies
		Library/Application\u0020Support Library/Mail Library/Messages`) {
		name = strings.ReplaceAll(name, `\u0020`, " ")
		paths = append(paths, filepath.Join(home, filepath.FromSlash(name)))
	}
	return append(paths, otherHomes(home)...)
}

// readable lists the files and folders that together are everything but the
// secrets: a folder with a secret in it stands for what else it holds.
func readable(secrets []string) []string { return readableBelow(string(filepath.Separator), secrets) }

func readableBelow(dir string, secrets []string) (paths []string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		switch {
		case slices.Contains(secrets, path):
		case slices.ContainsFunc(secrets, func(secret string) bool { return below(path, secret) }):
			paths = append(paths, readableBelow(path, secrets)...)
		default:
			paths = append(paths, path)
		}
	}
	return paths
}
