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
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// ErrUnavailable says that the system has nothing to hold a command with.
var ErrUnavailable = errors.New("this system cannot hold a command to reading")

// Options for New.
type Options struct {
	Secrets []string // files and folders that are not read, absolute
	Root    string   // the workspace: what it lies in is read
}

// Sandbox holds commands. It may be used by several goroutines.
type Sandbox struct {
	secrets []string
}

// New makes a sandbox in which the secrets given, those that Secrets lists, are
// not read.
func New(o Options) *Sandbox {
	s := &Sandbox{}
	for _, path := range o.Secrets {
		if path == "" {
			continue
		}
		// The kernel knows a place by what it is, not by the links to it.
		if resolved, err := filepath.EvalSymlinks(path); err == nil {
			path = resolved
		}
		path = filepath.Clean(path)
		if o.Root == path || strings.HasPrefix(o.Root, path+string(filepath.Separator)) {
			continue
		}
		s.secrets = append(s.secrets, path)
	}
	return s
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

// Start starts a command that the kernel holds. Done is to be called when the
// command has ended: it removes the command's own folder.
func (s *Sandbox) Start(cmd *exec.Cmd) (done func(), err error) {
	if err := Available(); err != nil {
		return nil, err
	}
	temp, err := os.MkdirTemp("", "belay-")
	if err != nil {
		return nil, err
	}
	done = func() { _ = os.RemoveAll(temp) }
	if resolved, err := filepath.EvalSymlinks(temp); err == nil {
		temp = resolved
	}
	cmd.Env = append(cmd.Env, "TMPDIR="+temp, "TMP="+temp, "TEMP="+temp, "GIT_OPTIONAL_LOCKS=0",
		// go fails where it cannot write to its cache, and would fetch what is missing.
		"GOCACHE="+filepath.Join(temp, "go-build"), "GOPROXY=off", "GOTOOLCHAIN=local")
	if err := s.start(cmd, temp); err != nil {
		done()
		return nil, err
	}
	return done, nil
}

// readable lists the files and folders that together are everything but the
// secrets: a folder with a secret in it stands for what else it holds.
func (s *Sandbox) readable() []string {
	var paths []string
	var add func(dir string)
	add = func(dir string) {
		entries, err := os.ReadDir(dir)
		if err != nil {
			return
		}
		for _, e := range entries {
			path := filepath.Join(dir, e.Name())
			switch {
			case slices.Contains(s.secrets, path):
			case slices.ContainsFunc(s.secrets, func(secret string) bool {
				return strings.HasPrefix(secret, path+string(filepath.Separator))
			}):
				add(path)
			default:
				paths = append(paths, path)
			}
		}
	}
	add(string(filepath.Separator))
	return paths
}
