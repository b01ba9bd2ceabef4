package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"

	"belay/models/rehearsal"
)

// proxied is a way in which a reverse proxy stands between belay and a model.
type proxied struct {
	name     string
	location string // what nginx does; PASS stands for passing on to the model
	script   string // of the model
	settings string // of belay

	code     int
	out      string   // a regular expression of what is written to stdout
	err      []string // the same of stderr
	requests int      // that the proxy got
}

const (
	helloScript = "[[reply]]\ntimes = -1\ntext = \"The model speaks.\"\n"
	slowScript  = "speed = { chunk = 3, delay = \"5ms\" }\n" + helloScript
	cutScript   = "[[reply]]\ntext = \"The first half, and the second.\"\nspeed = { chunk = 4 }\n" +
		"fault = { how = \"cut\", at = \"text\", after = 15 }\n" + helloScript
	readsScript = "[[reply]]\ncalls = [{ name = \"read\", arguments = { path = \"big\" } }]\n"
	oneAttempt  = "[retry]\nattempts = 1\n"
)

var behindProxy = []proxied{
	{name: "a stream that is buffered", location: "proxy_buffering on; PASS", script: slowScript,
		out: `^The model speaks\.\n$`, requests: 1},
	{name: "a stream that is passed on at once", location: "proxy_buffering off; proxy_http_version 1.1; PASS",
		script: slowScript, out: `^The model speaks\.\n$`, requests: 1},
	{name: "a stream that is compressed", location: "gzip on; gzip_min_length 1; gzip_types text/event-stream; PASS",
		script: slowScript, out: `^The model speaks\.\n$`, requests: 1},
	{name: "a stream that the model cuts", location: "proxy_http_version 1.1; PASS", script: cutScript,
		out: `^The model speaks\.\n$`, err: []string{`the reply broke off .*: unexpected EOF`}, requests: 2},
	{name: "a stream that the model cuts and HTTP 1.0 ends", location: "proxy_http_version 1.0; PASS", script: cutScript,
		out: `^The model speaks\.\n$`, err: []string{`the reply broke off .*ended without its last event`}, requests: 2},

	{name: "no model behind it", location: "proxy_pass http://127.0.0.1:1;", settings: oneAttempt, code: 69, requests: 1,
		err: []string{`something else answered \(HTTP 502\) .*: 502 Bad Gateway`, `parked`}},
	{name: "a model that is slower than it waits", location: "proxy_read_timeout 100ms; PASS", settings: oneAttempt,
		script: "speed = { headers = \"20s\" }\n" + helloScript, code: 69, requests: 1,
		err: []string{`something else answered \(HTTP 504\) .*: 504 Gateway Time-out`, `parked`}},
	{name: "closed for a while", location: "return 503;", settings: oneAttempt, code: 69, requests: 1,
		err: []string{`something else answered \(HTTP 503\) .*: 503 Service Temporarily Unavailable`, `parked`}},
	{name: "no answer", location: "return 444;", settings: oneAttempt, code: 69, requests: 1,
		err: []string{`no connection`, `parked`}},
	{name: "its own page", location: "default_type text/html; return 200 '<html><title>Welcome</title></html>';",
		settings: oneAttempt, code: 69, requests: 1, err: []string{`something else answered \(HTTP 200\) .*: Welcome`}},
	{name: "too many requests", location: "limit_req zone=slow; limit_req_status 429; PASS", settings: oneAttempt,
		script: readsScript + helloScript, code: 75, requests: 2,
		err: []string{`your rate limit \(HTTP 429\) .*: 429 Too Many Requests`, `parked`}},

	{name: "room for the request without old outputs", location: "client_max_body_size 100k; PASS",
		script: readsScript + readsScript + helloScript, out: `^The model speaks\.\n$`, requests: 4,
		err: []string{`too long for the model \(HTTP 413\) .*: 413 Request Entity Too Large`}},
	{name: "no room for any request", location: "client_max_body_size 1k; PASS", code: 1, requests: 1,
		err: []string{`too long for the model \(HTTP 413\) .*: 413 Request Entity Too Large`, `raise the proxy's limit`}},

	{name: "nothing at this path", location: "return 404;", code: 78, requests: 1,
		err: []string{`request refused \(HTTP 404\) .*: 404 Not Found`, `api = "chat"`, `without /v1`}},
	{name: "files at this path", location: "root /nonexistent;", code: 78, requests: 1,
		err: []string{`request refused \(HTTP 404\) .*: 404 Not Found`, `api = "chat"`, `without /v1`}},
	{name: "nothing at this path any more", location: "return 410;", code: 78, requests: 1,
		err: []string{`request refused \(HTTP 410\) .*: 410 Gone`, `check base_url`}},
	{name: "reading only", location: "if ($request_method = POST) { return 405; }", code: 78, requests: 1,
		err: []string{`request refused \(HTTP 405\) .*: 405 Not Allowed`, `check base_url`}},
	{name: "encryption is wanted", location: "return 301 https://models.example$request_uri;", code: 78, requests: 1,
		err: []string{`HTTP 301.* to https://models\.example/`, `write base_url = "https://models\.example/\d+/v1"`}},
	{name: "moved", location: "return 308 https://models.example/v1/responses;", code: 78, requests: 1,
		err: []string{`HTTP 308.* to https://models\.example/v1`, `write base_url = "https://models\.example/v1"`}},
	{name: "not from here", location: "deny all;", code: 77, requests: 1,
		err: []string{`key refused \(HTTP 403\) .*: 403 Forbidden`, `firewall`}},
	{name: "a password", location: "auth_basic x; auth_basic_user_file /dev/null;", code: 77, requests: 1,
		err: []string{`key refused \(HTTP 401\) .*: 401 Authorization Required`}},
}

// TestBehindAReverseProxy runs the real program in front of a real nginx.
func TestBehindAReverseProxy(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the proxy is started as on Unix")
	}
	if _, err := exec.LookPath(nginxPath()); err != nil {
		t.Skip("nginx is not installed: on Debian, apt-get install nginx-light")
	}
	p := startProxy(t)
	t.Run("with", func(t *testing.T) {
		for i, c := range behindProxy {
			t.Run(c.name, func(t *testing.T) {
				t.Parallel()
				c.run(t, fmt.Sprintf("%s/%d/v1", p.url, i))
			})
		}
	})
	p.end(t) // what it logged is complete only then
	for i, c := range behindProxy {
		log, err := os.ReadFile(filepath.Join(p.dir, fmt.Sprintf("%d.log", i)))
		if err != nil {
			t.Fatal(err)
		}
		if got := bytes.Count(log, []byte("POST ")); got != c.requests {
			t.Errorf("%s: the proxy got %d requests, want %d:\n%s", c.name, got, c.requests, log)
		}
	}
}

// run has belay ask at an address, and checks what its user sees.
func (c proxied) run(t *testing.T, url string) {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	dir := t.TempDir()
	work, config := filepath.Join(dir, "work"), filepath.Join(dir, "config.toml")
	if err := errors.Join(
		os.Mkdir(work, 0o700),
		os.WriteFile(config, []byte(c.settings), 0o600),
		os.WriteFile(filepath.Join(work, "big"), bytes.Repeat([]byte("A line of the big file.\n"), 4000), 0o600),
	); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(ctx, "belay", "run", "--no-wait", "hello")
	cmd.Dir = work
	cmd.Env = append(os.Environ(), "HOME="+dir, "BELAY_HOME="+filepath.Join(dir, "data"), "BELAY_CONFIG="+config,
		"OPENAI_API_KEY=sk-x", "OPENAI_BASE_URL="+url, "GIT_CONFIG_NOSYSTEM=1")
	cmd.Env = append(cmd.Env, relaxed...)
	var out, said strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &said
	var exit *exec.ExitError
	if err := cmd.Run(); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	if got := cmd.ProcessState.ExitCode(); got != c.code {
		t.Errorf("exit code %d, want %d", got, c.code)
	}
	if !regexp.MustCompile(c.out).MatchString(out.String()) {
		t.Errorf("stdout does not match %q", c.out)
	}
	for _, want := range c.err {
		if !regexp.MustCompile(want).MatchString(said.String()) {
			t.Errorf("stderr does not match %q", want)
		}
	}
	if t.Failed() || testing.Verbose() {
		t.Logf("stdout:\n%s\nstderr:\n%s", out.String(), said.String())
	}
}

// proxy is a running nginx.
type proxy struct {
	dir, url string
	cmd      *exec.Cmd
	said     strings.Builder
	ended    sync.Once
}

// nginxPath is where nginx is, which is not in everybody's PATH.
func nginxPath() string {
	if path, err := exec.LookPath("nginx"); err == nil {
		return path
	}
	return "/usr/sbin/nginx"
}

func startProxy(t *testing.T) *proxy {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	socket, err := listener.(*net.TCPListener).File()
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	p := &proxy{dir: t.TempDir(), url: "http://" + listener.Addr().String()}
	conf := filepath.Join(p.dir, "nginx.conf")
	if err := os.WriteFile(conf, []byte(p.config(t, listener.Addr().String())), 0o600); err != nil {
		t.Fatal(err)
	}
	p.cmd = exec.Command(nginxPath(), "-e", filepath.Join(p.dir, "error.log"), "-p", p.dir, "-c", conf)
	p.cmd.Stderr = &p.said
	// It takes the socket over as it does from an nginx that it replaces, so that
	// nobody else can have the port.
	p.cmd.ExtraFiles = []*os.File{socket}
	p.cmd.Env = append(os.Environ(), "NGINX=3;")
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.end(t) })
	return p
}

// config has a location for each case, with a model of its own behind it.
func (p *proxy) config(t *testing.T, addr string) string {
	var b strings.Builder
	if os.Getuid() == 0 { // otherwise nginx warns of it
		b.WriteString("user root;\n")
	}
	fmt.Fprintf(&b, `daemon off; worker_processes 1; pid %[1]s/pid; error_log %[1]s/error.log;
events {}
http {
	client_body_temp_path %[1]s/body; proxy_temp_path %[1]s/proxy; fastcgi_temp_path %[1]s/fastcgi;
	uwsgi_temp_path %[1]s/uwsgi; scgi_temp_path %[1]s/scgi;
	access_log off;
	limit_req_zone $server_addr zone=slow:1m rate=1r/m;
	server {
		listen %[2]s;
`, p.dir, addr)
	for i, c := range behindProxy {
		script, err := rehearsal.Parse("script.toml", []byte(c.script))
		if err != nil {
			t.Fatal(err)
		}
		model := httptest.NewServer(rehearsal.New(script, rehearsal.Options{}))
		t.Cleanup(model.Close)
		pass := strings.ReplaceAll(c.location, "PASS", "proxy_pass "+model.URL+"/;")
		fmt.Fprintf(&b, "\t\tlocation /%d/ { access_log %s/%d.log; %s }\n", i, p.dir, i, pass)
	}
	b.WriteString("\t}\n}\n")
	return b.String()
}

// end has nginx finish what it does, and waits for it.
func (p *proxy) end(t *testing.T) {
	p.ended.Do(func() {
		_ = p.cmd.Process.Signal(syscall.SIGQUIT)
		if err := p.cmd.Wait(); err != nil {
			log, _ := os.ReadFile(filepath.Join(p.dir, "error.log"))
			t.Errorf("nginx: %v\n%s%s", err, p.said.String(), log)
		}
	})
}
