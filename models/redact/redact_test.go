package redact_test

import (
	"encoding/json"
	"strings"
	"testing"

	"belay/models/redact"
)

func TestLikely(t *testing.T) {
	for _, text := range []string{
		"Bearer abc.def.ghi123", "sk-proj-abcdefghijkl_mno", "sk-abcde***********wxyz", "ghp_16C7e42F292c6912E7710c838347Ae178B4a",
		"github_pat_11ABCDEFG0abcdefghij", "glpat-abcDEF123456", "AIzaSyA1234567890123456789012345678", "AKIAIOSFODNN7EXAMPLE",
		"xoxb-123456789012-abcdef", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.abc", "npm_a1b2c3d4e5f6g7h8",
		"-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNz\n-----END OPENSSH PRIVATE KEY-----", "-----BEGIN RSA PRIVATE KEY-----\nMIIE",
	} {
		got := redact.Likely("before " + text + " after")
		secret := strings.TrimPrefix(text, "Bearer ")
		if strings.Contains(got, secret) || !strings.HasPrefix(got, "before ") {
			t.Errorf("Likely(%q) = %q", text, got)
		}
	}
	if got, want := redact.Likely(`api_key = "abcdefgh12" and ?key=abcdefgh12&a=b`),
		`api_key = "[redacted-by-belay]" and ?key=[redacted-by-belay]&a=b`; got != want {
		t.Errorf("Likely() = %q, want %q", got, want)
	}
	for _, text := range []string{
		"task-force and desk-top stay", "key_handlers_by_name and sk_buff_head_init are names", "an ordinary token, bearer of news",
		"-----BEGIN CERTIFICATE-----", "",
	} {
		if got := redact.Likely(text); got != text {
			t.Errorf("ordinary words changed: %q", got)
		}
	}
}

func TestValuesInAllTheirForms(t *testing.T) {
	values := redact.New(`p/w"+rd&9é`, "longer-p/w\"+rd&9é", "short", "")
	for _, text := range []string{
		`p/w"+rd&9é`, "p%2Fw%22%2Brd%269%C3%A9", `p/w\"+rd\u00269é`, `p\/w\"+rd\u00269é`, "cC93IityZCY5w6k",
	} {
		if got := values.Text("x " + text + " y"); got != "x [redacted-by-belay] y" {
			t.Errorf("Text(%q) = %q", text, got)
		}
	}
	if got := values.Text("a short word"); got != "a short word" {
		t.Errorf("a short value is looked for: %q", got)
	}
	var none *redact.Values
	if got := none.Text("a"); got != "a" || none.Unfinished([]byte("a")) != 0 {
		t.Error("nil knows none")
	}
}

func TestUnfinished(t *testing.T) {
	values := redact.New("secret-value-1", "secret-valuable")
	for text, want := range map[string]int{
		"": 0, "nothing": 0, "a se": 2, "a secret-valu": 11, "secret-value-1": 0, "secret-valus": 1, "secret-value-1s": 1,
	} {
		if got := values.Unfinished([]byte(text)); got != want {
			t.Errorf("Unfinished(%q) = %d, want %d", text, got, want)
		}
	}
}

func TestLooksRandom(t *testing.T) {
	for value, want := range map[string]bool{
		"a1b2c3d4e5f6g7h8": true, "postgres": false, "1234567890123456789": false, "averylongwordwithoutdigits": false,
		"/home/somebody/key1": false, "two words with 1 digit": false,
	} {
		if got := redact.LooksRandom(value); got != want {
			t.Errorf("LooksRandom(%q) = %v", value, got)
		}
	}
}

func FuzzJSON(f *testing.F) {
	for _, document := range []string{`{"a":"Bearer abcd\"x","b":[1,"-----BEGIN PRIVATE KEY-----\n"],"sk-12345678":""}`, `"`, `"\`, `{}`} {
		f.Add([]byte(document))
	}
	f.Fuzz(func(t *testing.T, document []byte) {
		got := redact.JSON(document, redact.Likely)
		if json.Valid(document) && !json.Valid(got) {
			t.Errorf("JSON(%q) = %q is no JSON", document, got)
		}
	})
}
