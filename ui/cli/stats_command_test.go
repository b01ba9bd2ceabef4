package cli

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"belay/models"
	"belay/models/ledger"
	"belay/session/store"
	"belay/ui/cli/app"
)

// noon is when the statistics of these tests are asked for.
var noon = time.Date(2026, 3, 12, 12, 0, 0, 0, time.UTC)

// recorded is a data folder with a record, for commands to read.
func recorded(t *testing.T, list ...ledger.Attempt) {
	t.Helper()
	dir := t.TempDir()
	t.Setenv("BELAY_HOME", dir)
	st, err := store.Open(t.Context(), dir, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range list {
		if err := st.AppendAttempts(t.Context(), a); err != nil {
			t.Fatal(err)
		}
	}
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
}

// belay runs a command line.
func belay(t *testing.T, width int, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	var out, err bytes.Buffer
	cli := CLI{
		Env: app.Env{
			In:    strings.NewReader(""),
			Out:   &out,
			Err:   &err,
			Dir:   "/shop",
			Now:   func() time.Time { return noon },
			Width: func(any) int { return width },
		},
	}
	code = Run(t.Context(), cli, args)
	return out.String(), err.String(), code
}

// months is a record of nine days: sol is full from 14 to 16 h and above 100k.
func months() []ledger.Attempt {
	var list []ledger.Attempt
	for hour := range 9 * 24 {
		for n := range 4 {
			attempt := ledger.Attempt{
				Provider: "openai", Model: "sol",
				CreatedAt: noon.Add(time.Duration(hour-9*24)*time.Hour + time.Duration(n)*time.Minute), InputTokens: 10_000,
				OutputTokens: 500,
				LatencyMS:    9000, FirstTokenMS: 1900, Cost: 0.05, Session: "abcdefgh", Turn: hour, ProjectID: "/shop",
				Tier: models.Heavy, StatusCode: 200,
			}
			if attempt.CreatedAt.Hour() == 14 || attempt.CreatedAt.Hour() == 15 {
				attempt.InputTokens = 150_000
				if n < 2 {
					attempt.Kind = models.KindCapacity
					attempt.ErrorCode = "server_is_overloaded"
					attempt.StatusCode = 503
					attempt.RetryCount = n
					attempt.FirstTokenMS = 0
				}
				if n == 1 {
					attempt.FallbackModel = "openai/terra"
				}
			}
			list = append(list, attempt)
		}
	}
	list[3].ProjectID = "/other"
	return list
}

func TestStatsOnATerminalAndOnAPipe(t *testing.T) {
	local := time.Local
	time.Local = time.UTC
	t.Cleanup(func() { time.Local = local })
	recorded(t, months()...)
	out, errs, code := belay(t, 100, "stats", "--since", "30d")
	if code != 0 || errs != "" {
		t.Fatalf("exit %d: %s", code, errs)
	}
	for _, want := range []string{
		"864 attempts since 10 February 12:00 · 96% answered · 4% found no room · $43.20\n",
		"MODEL       ATTEMPTS  OK   NO ROOM  LOST  COST    FIRST  RETRIES  SWITCHES  IN     OUT   WHOLE  P95\n",
		"openai/sol  864       96%  4%       0     $43.20  1.9s   18       18        18.7M  432k  9.0s   9.0s\n",
		"failures start above 128k input (50% against 0% below)",
		"18 episodes without room: the longest 2:09, the median 2:09\n",
		"! openai/sol has no room for 50 % of the requests at 14–16 h, 0 % at other times",
		" Mo ··············██········\n",
		"belay switched by itself 18 times\n",
		"2026-03-03 14:01  openai/sol  openai/terra  capacity server_is_overloaded  2      abcdefgh  2\n",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("lacks %q:\n%s", want, out)
		}
	}
	for _, line := range strings.Split(out, "\n") {
		if n := len([]rune(line)); n > 100 {
			t.Errorf("%d columns: %s", n, line)
		}
	}
	out, errs, _ = belay(t, 0, "stats", "--by", "size")
	if !strings.Contains(out, "8k–16k\t792\t100%\t0%\t0\t$39.60\t1.9s") ||
		!strings.Contains(errs, "and 8 earlier: belay stats --since 30d") {
		t.Errorf("on a pipe:\n%s%s", out, errs)
	}
	out, _, _ = belay(t, 0, "stats", "--by", "hour", "--since", "24h")
	if !strings.Contains(out, "14–15 h\t4\t50%") || strings.Contains(out, "864") {
		t.Errorf("the last day by hour:\n%s", out)
	}
	if strings.Contains(out, "a week is needed") || !strings.Contains(out, "(local time, since 3 March)") {
		t.Errorf("the hours of the week are made of the last day alone:\n%s", out)
	}
	out, _, _ = belay(t, 0, "stats", "--by", "project", "--here")
	if !strings.Contains(out, "/shop\t863") || strings.Contains(out, "/other") {
		t.Errorf("here:\n%s", out)
	}
}

func TestStatsSayWhatTheNetworkTook(t *testing.T) {
	var list []ledger.Attempt
	for n := range 72 {
		a := ledger.Attempt{Provider: "openai", Model: "sol", CreatedAt: noon.Add(-time.Hour), InputTokens: 900,
			Session: "abcdefgh", Turn: n, RetryCount: n}
		switch {
		case n < 40:
			a.Kind = models.KindNetwork
		case n < 52:
			a.Kind = models.KindServer // the connection was closed without an answer
		default:
			a.StatusCode, a.OutputTokens, a.Cost = 200, 50, 0.001
		}
		list = append(list, a)
	}
	recorded(t, list...)
	out, _, _ := belay(t, 0, "stats")
	for _, want := range []string{
		"· 28% answered · 0% found no room · 52 lost to the network · $0.02\n",
		"openai/sol\t72\t28%\t0%\t52\t$0.02\t",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("lacks %q:\n%s", want, out)
		}
	}
	if strings.Contains(out, "retries and fallbacks are") {
		t.Errorf("an alert of two cents:\n%s", out)
	}
}

func TestStatsForPrograms(t *testing.T) {
	recorded(t, months()...)
	out, _, code := belay(t, 0, "stats", "--json", "--since", "2026-03-01")
	var s map[string]any
	if err := json.Unmarshal([]byte(out), &s); err != nil || code != 0 || s["v"] != 1.0 {
		t.Fatalf("exit %d, %v: %.300s", code, err, out)
	}
	for _, name := range []string{"since", "until", "total", "by", "rows", "costs", "episodes", "weeks", "sizes",
		"risks", "alerts", "degrades"} {
		if s[name] == nil {
			t.Errorf("JSON has no %q", name)
		}
	}
	out, _, _ = belay(t, 0, "stats", "--csv")
	rows, err := csv.NewReader(strings.NewReader(out)).ReadAll()
	if err != nil || len(rows) != 865 ||
		strings.Join(
			rows[0][:16],
			",",
		) != "request_id,project_id,team_id,environment,model,endpoint,stream,input_tokens,output_tokens,concurrency,"+
			"retry_count,fallback_model,status_code,error_code,latency_ms,created_at" {
		t.Errorf("CSV has %d rows, %v: %v", len(rows), err, rows[0])
	}
	out, _, _ = belay(t, 0, "stats", "--csv", "--by", "model")
	if rows, err := csv.NewReader(strings.NewReader(out)).ReadAll(); err != nil || len(rows) != 2 ||
		rows[0][0] != "key" ||
		rows[1][0] != "openai/sol" {
		t.Errorf("CSV by model: %v, %v", rows, err)
	}
}

func TestStatsAreSafeToShow(t *testing.T) {
	evil := "<script>alert(1)</script>\x1b]52;c;x\x07\u202e\"'"
	recorded(
		t,
		ledger.Attempt{
			Provider:      "p",
			Model:         evil,
			CreatedAt:     noon.Add(-time.Hour),
			Kind:          models.KindCapacity,
			ErrorCode:     evil,
			FallbackModel: evil,
			Session:       evil,
			ProjectID:     evil,
			InputTokens:   5,
		},
		ledger.Attempt{
			Provider:  "p",
			Model:     "=cmd|' /C calc'!A0",
			CreatedAt: noon.Add(-time.Hour),
			ProjectID: "=1+1",
			ErrorCode: "@x",
			RequestID: "-2",
		},
	)
	file := filepath.Join(t.TempDir(), "page.html")
	_, errs, code := belay(t, 0, "stats", "--html", file)
	if code != 0 || !strings.Contains(errs, "written to") {
		t.Fatalf("exit %d: %s", code, errs)
	}
	page, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if s := string(page); strings.Contains(s, "<script") || strings.ContainsAny(s, "\x1b\x07\u202e") ||
		!strings.Contains(s, "&lt;script&gt;") ||
		strings.Contains(s, "ZgotmplZ") {
		t.Errorf("the page is not safe:\n%s", s)
	}
	if strings.Contains(string(page), "http:") || strings.Contains(string(page), "https:") ||
		!strings.HasSuffix(strings.TrimSpace(string(page)), "</html>") {
		t.Error("the page needs something else, or is cut short")
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if _, errs, code := belay(t, 0, "stats", "--html", file); code != 1 || !strings.Contains(errs, "exists") {
		t.Errorf("a page was overwritten: exit %d, %s", code, errs)
	}
	for _, args := range [][]string{{"stats"}, {"stats", "--csv"}, {"stats", "--by", "project"}} {
		out, _, _ := belay(t, 0, args...)
		if strings.ContainsAny(out, "\x1b\x07\u202e") {
			t.Errorf("%v steers the terminal: %q", args, out)
		}
	}
	out, _, _ := belay(t, 0, "stats", "--csv")
	rows, err := csv.NewReader(strings.NewReader(out)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	for _, cell := range append(rows[1], rows[2]...) {
		if strings.HasPrefix(cell, "=") || strings.HasPrefix(cell, "@") {
			t.Errorf("a spreadsheet would run %q", cell)
		}
	}
}

func TestStatsRefuse(t *testing.T) {
	recorded(t)
	for _, tt := range []struct {
		name, want string
		args       []string
		code       int
	}{
		{"an unknown division", `unknown division "moon": use model, project, hour or size`, []string{"--by", "moon"}, 2},
		{"a time that is none", `--since "soon": write a time such as 36h, 7d or 2w`, []string{"--since", "soon"}, 2},
		{"a time to come", `--since "-3d"`, []string{"--since=-3d"}, 2},
		{"two formats", "--json, --csv and --html exclude each other", []string{"--json", "--csv"}, 2},
		{"an empty record, kindly", "no requests are recorded since 10 February 2026", nil, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			out, errs, code := belay(t, 0, append([]string{"stats"}, tt.args...)...)
			if code != tt.code || out != "" || !strings.Contains(errs, tt.want) {
				t.Errorf("exit %d, %q, %q; want %d and %q", code, out, errs, tt.code, tt.want)
			}
		})
	}
}
