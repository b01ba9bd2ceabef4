package sandbox

import (
	"path/filepath"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// cacheTable lists what daily tools keep outside a workspace and could fetch or make
// again. What they run outside the sandbox later (bin folders, settings) is not here.
// Places are below the home folder, unless the variable before them is set. Those of
// the programs that a command names are made if they are missing.
var cacheTable = []struct{ programs, places string }{
	{
		"go gofmt gopls golangci-lint staticcheck",
		"$GOCACHE|.cache/go-build $GOMODCACHE|$GOPATH/pkg|go/pkg .cache/golangci-lint",
	},
	{"", ".cache/staticcheck .cache/gopls .config/go/telemetry"},
	{"npm npx node corepack", "$npm_config_cache|.npm .cache/node-gyp .cache/node"},
	{"yarn", "$YARN_CACHE_FOLDER|.cache/yarn .yarn/berry"},
	{"pnpm pnpx", "$PNPM_HOME/store|.local/share/pnpm/store .cache/pnpm .local/state/pnpm"},
	{"bun bunx", "$BUN_INSTALL/install|.bun/install"},
	{"deno", "$DENO_DIR|.cache/deno"},
	{"cargo", "$CARGO_HOME/registry|.cargo/registry $CARGO_HOME/git|.cargo/git"},
	{
		"",
		".cargo/.package-cache .cargo/.package-cache-mutate .cargo/.global-cache .cargo/.crates.toml .cargo/.crates2.json",
	},
	{"rustup", "$RUSTUP_HOME/downloads|.rustup/downloads $RUSTUP_HOME/tmp|.rustup/tmp"},
	{"pip pip3 python python3", "$PIP_CACHE_DIR|.cache/pip"},
	{"uv uvx", "$UV_CACHE_DIR|.cache/uv .local/share/uv"},
	{"poetry", "$POETRY_CACHE_DIR|.cache/pypoetry"},
	{
		"",
		".cache/pre-commit .cache/mypy .cache/ruff .cache/black .cache/matplotlib .cache/pylint .cache/pipenv .cache/huggingface",
	},
	{"gradle gradlew", "$GRADLE_USER_HOME/caches|.gradle/caches $GRADLE_USER_HOME/wrapper|.gradle/wrapper"},
	{
		"gradle gradlew",
		"$GRADLE_USER_HOME/daemon|.gradle/daemon $GRADLE_USER_HOME/native|.gradle/native .gradle/notifications .gradle/jdks",
	},
	{"mvn mvnw", ".m2/repository .m2/wrapper"},
	{"sbt cs scala", ".ivy2/cache .cache/coursier .sbt/boot"},
	{"ccache", "$CCACHE_DIR|.cache/ccache"},
	{"sccache", "$SCCACHE_DIR|.cache/sccache"},
	{"", ".ccache .cache/clangd .cache/zig .cache/bazel .cache/bazelisk .cache/vcpkg .conan .conan2/p"},
	{"composer", ".cache/composer .composer/cache"},
	{"bundle gem", ".bundle/cache .cache/gem"},
	{"dotnet", ".nuget/packages .local/share/NuGet .dotnet"},
	{"mix", ".hex/packages .cache/rebar3"},
	{"cabal stack ghcup", ".cabal/packages .cache/cabal .stack/pantry"},
	{"dart flutter", ".pub-cache/hosted"},
	{"swift", ".cache/org.swift.swiftpm"},
	{"terraform", ".terraform.d/plugin-cache"},
	{"helm", ".cache/helm"},
	{
		"",
		".cache/ms-playwright .cache/puppeteer .cache/Cypress .cache/electron .cache/typescript .cache/turbo .cache/fontconfig",
	},
	{"", "Library/Caches/go-build Library/Caches/pip Library/Caches/Yarn Library/Caches/pnpm Library/Caches/deno"},
}

// need is what a program reaches for outside the workspace when it does its work.
type need struct {
	network string // the sub-commands that use it; *: each; -: the one without arguments
	reads   string // secret places
	writes  string
	sockets string // variables that name a socket, and places
}

// needTable says what a program may reach that nothing else may.
var needTable = map[string]need{
	"git": {"push fetch clone pull ls-remote submodule lfs remote svn send-email", gitReads, ".gnupg", agents},
	"gpg": {
		"--recv-keys --send-keys --refresh-keys",
		".gnupg",
		".gnupg",
		agents,
	},
	"gpg2":    {"", ".gnupg", ".gnupg", agents},
	"pass":    {"", ".password-store .gnupg", ".gnupg .password-store", agents},
	"ssh":     {"*", ".ssh", "", agents},
	"scp":     {"*", ".ssh", "", agents},
	"sftp":    {"*", ".ssh", "", agents},
	"rsync":   {"*", ".ssh", "", agents},
	"mosh":    {"*", ".ssh", "", agents},
	"ssh-add": {"", ".ssh", "", agents},
	"hg":      {"push pull clone incoming outgoing", ".ssh .netrc", "", agents},
	"svn":     {"*", "", "", ""},
	"gh":      {"*", ".config/gh " + gitReads, "", agents},
	"glab":    {"*", ".config/glab-cli " + gitReads, "", agents},
	"hub":     {"*", ".config/hub " + gitReads, "", agents},

	"go":       {"get install download tidy vendor", ".netrc .git-credentials .config/git/credentials", "", ""},
	"npm":      {nodeNetwork, nodeReads, "", ""},
	"npx":      {"*", nodeReads, "", ""},
	"pnpm":     {nodeNetwork, nodeReads, "", ""},
	"pnpx":     {"*", nodeReads, "", ""},
	"yarn":     {"- " + nodeNetwork, nodeReads, "", ""},
	"bun":      {nodeNetwork + " x", nodeReads, "", ""},
	"bunx":     {"*", nodeReads, "", ""},
	"corepack": {"*", nodeReads, "", ""},
	"deno":     {"install add cache", "", "", ""},
	"pip":      {pipNetwork, pipReads, "", ""},
	"pip3":     {pipNetwork, pipReads, "", ""},
	"uv":       {pipNetwork + " pip sync add lock tool python self publish", pipReads, "", ""},
	"uvx":      {"*", pipReads, "", ""},
	"poetry":   {"install add update lock publish", pipReads + " .config/pypoetry", "", ""},
	"pipenv":   {"install update lock sync", pipReads, "", ""},
	"pipx":     {"install upgrade run", pipReads, "", ""},
	"twine":    {"*", ".pypirc", "", ""},
	"conda":    {"install create update search", "", "", ""},
	"cargo":    {"fetch install add update search publish login", ".cargo/credentials .cargo/credentials.toml", "", ""},
	"rustup":   {"update install toolchain component target", "", "", ""},
	"mvn":      {"*", ".m2/settings.xml", "", ""},
	"mvnw":     {"*", ".m2/settings.xml", "", ""},
	"gradle":   {"*", ".gradle/gradle.properties", "", ""},
	"gradlew":  {"*", ".gradle/gradle.properties", "", ""},
	"dotnet":   {"restore add nuget tool new publish", ".nuget", "", ""},
	"bundle":   {"- install update add", ".gem/credentials", "", ""},
	"gem":      {"install update push fetch", ".gem/credentials", "", ""},
	"composer": {"install require update create-project global", ".config/composer/auth.json", "", ""},
	"mix":      {"deps.get deps.update hex.publish local.hex", "", "", ""},
	"dart":     {"pub", "", "", ""},
	"flutter":  {"pub", "", "", ""},
	"nix":      {"*", "", "", ""},

	"curl":      {"*", ".netrc", "", ""},
	"wget":      {"*", ".netrc", "", ""},
	"http":      {"*", ".netrc", "", ""},
	"ping":      {"*", "", "", ""},
	"dig":       {"*", "", "", ""},
	"host":      {"*", "", "", ""},
	"nslookup":  {"*", "", "", ""},
	"nc":        {"*", "", "", ""},
	"telnet":    {"*", "", "", ""},
	"ftp":       {"*", "", "", ""},
	"psql":      {"*", ".pgpass", "", "/run/postgresql /var/run/postgresql /tmp/.s.PGSQL.5432"},
	"mysql":     {"*", ".my.cnf", "", "/run/mysqld /var/run/mysqld /tmp/mysql.sock"},
	"redis-cli": {"*", "", "", "/run/redis"},

	"docker":         {"*", ".docker", "", containers},
	"docker-compose": {"*", ".docker", "", containers},
	"podman":         {"*", ".docker .config/containers", ".local/share/containers", containers},
	"kubectl":        {"*", ".kube .aws .config/gcloud .azure", ".kube/cache", ""},
	"helm":           {"*", ".kube .docker .aws .config/gcloud .azure", "", ""},
	"terraform": {
		"init plan apply destroy import refresh providers get",
		".terraform.d .terraformrc .aws .azure .config/gcloud",
		"",
		"",
	},
	"aws":    {"*", ".aws", ".aws/cli/cache .aws/sso/cache", ""},
	"gcloud": {"*", ".config/gcloud", ".config/gcloud", ""},
	"az":     {"*", ".azure", ".azure", ""},
	"doctl":  {"*", ".config/doctl", "", ""},
	"hcloud": {"*", ".config/hcloud", "", ""},
	"rclone": {
		"*",
		".config/rclone",
		"",
		"",
	},
	"vault": {"*", ".vault-token", "", ""},
	"op":    {"*", ".config/op", "", ""},
}

const (
	gitReads    = ".ssh .git-credentials .config/git/credentials .config/gh .config/glab-cli .gnupg .netrc"
	nodeNetwork = "install i ci add update up upgrade publish audit outdated view info exec dlx create init login whoami ping"
	nodeReads   = ".npmrc .yarnrc .yarnrc.yml .config/pnpm"
	pipNetwork  = "install download wheel index"
	pipReads    = ".config/pip .pypirc .netrc"
	agents      = "$SSH_AUTH_SOCK .gnupg $XDG_RUNTIME_DIR/gnupg $XDG_RUNTIME_DIR/keyring"
	containers  = "$DOCKER_HOST /var/run/docker.sock /run/docker.sock .docker/run $XDG_RUNTIME_DIR/docker.sock " +
		"$XDG_RUNTIME_DIR/podman /run/podman"
)

// Needs says what the programs of a shell line reach for beyond a workspace. A line
// that cannot be read needs nothing.
func (s *Sandbox) Needs(line string) (p Profile) {
	home := s.o.Home
	for _, words := range commands(line) {
		name := s.programName(words[0])
		for _, row := range cacheTable {
			if slices.Contains(strings.Fields(row.programs), name) {
				p.Caches = append(p.Caches, places(home, row.places)...)
			}
		}
		if slices.Contains(gitPrograms, name) && !p.Git {
			p.Git, p.Writes = true, append(p.Writes, s.repository())
		}
		n := needTable[name]
		p.Network = p.Network || usesNetwork(n.network, words[1:])
		p.Reads = append(p.Reads, places(home, n.reads)...)
		p.Writes = append(p.Writes, places(home, n.writes)...)
		p.Sockets = append(p.Sockets, places(home, n.sockets)...)
	}
	return p
}

// programName is what a word names in the tables. A program of the workspace is
// none of those, whatever its name; a wrapper that projects carry is.
func (s *Sandbox) programName(word string) string {
	name := strings.TrimSuffix(filepath.Base(word), ".exe")
	holds := func(dir string) bool { return below(dir, word) }
	switch {
	case !strings.ContainsAny(word, `/\`), word == "./gradlew", word == "./mvnw":
		return name
	case filepath.IsAbs(word) && !slices.ContainsFunc(s.writable(Profile{}), holds):
		return name
	}
	return ""
}

func usesNetwork(subcommands string, args []string) bool {
	for sub := range strings.FieldsSeq(subcommands) {
		if sub == "*" || sub == "-" && len(args) == 0 || slices.Contains(args, sub) {
			return true
		}
	}
	return false
}

// wrappers run the program that follows.
var wrappers = strings.Fields("sudo doas env command exec nohup nice ionice time timeout xargs stdbuf setsid watch")

// shells run the line that follows -c.
var shells = strings.Fields("sh bash dash zsh ksh")

// maxNested bounds lines inside lines.
const maxNested = 4

// commands lists the words of each simple command of a line, as far as they are
// plain, and of those that the line hands to wrappers and shells.
func commands(line string) [][]string { return nestedCommands(line, maxNested) }

func nestedCommands(line string, depth int) (list [][]string) {
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(line), "")
	if err != nil || depth == 0 {
		return nil
	}
	syntax.Walk(file, func(n syntax.Node) bool {
		if call, ok := n.(*syntax.CallExpr); ok {
			var words []string
			for _, w := range call.Args {
				words = append(words, plainWord(w.Parts))
			}
			list = append(list, unwrapped(words, depth)...)
		}
		return true
	})
	return list
}

// unwrapped gives a command, and the ones inside it.
func unwrapped(words []string, depth int) [][]string {
	if len(words) == 0 {
		return nil
	}
	list := [][]string{words}
	name := filepath.Base(words[0])
	switch {
	case slices.Contains(wrappers, name):
		for i := range words[1:] {
			list = append(list, words[1+i:])
		}
	case slices.Contains(shells, name):
		if at := slices.IndexFunc(
			words,
			func(w string) bool { return strings.HasPrefix(w, "-") && strings.HasSuffix(w, "c") },
		); at > 0 &&
			at+1 < len(words) {
			list = append(list, nestedCommands(words[at+1], depth-1)...)
		}
	}
	return list
}

// plainWord is a word without its quotes; what is only known when it runs is left out.
func plainWord(parts []syntax.WordPart) string {
	var b strings.Builder
	for _, p := range parts {
		switch p := p.(type) {
		case *syntax.Lit:
			b.WriteString(strings.ReplaceAll(p.Value, `\`, ""))
		case *syntax.SglQuoted:
			b.WriteString(p.Value)
		case *syntax.DblQuoted:
			b.WriteString(plainWord(p.Parts))
		}
	}
	return b.String()
}
