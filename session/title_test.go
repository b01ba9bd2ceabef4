package session

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestTheTitleOfAFirstPrompt(t *testing.T) {
	for _, tt := range []struct{ prompt, want string }{
		{"move the pricing rules", "move the pricing rules"},
		{"Please, could you fix the flaky test? Thanks!", "fix the flaky test"},
		{"Hi! I'd like you to add a test for ParseDate.", "add a test for ParseDate"},
		{"can you please explain @orders/deep/price.go", "explain price.go"},
		{"fix /home/me/work/shop/orders/price.go, line 12", "fix price.go, line 12"},
		{"read `~/notes/todo.md`", "read `todo.md`"},
		{`open C:\work\shop\main.go`, "open main.go"},
		{"see https://example.com/a/b/c for why", "see https://example.com/a/b/c for why"},
		{"either/or, input/output", "either/or, input/output"},
		{"hide the panel", "hide the panel"}, // no "hi"
		{"solve it", "solve it"},             // no "so"
		{"nowhere is it said", "nowhere is it said"},
		{"please", "please"},
		{"/", "/"},
		{"", ""},
		{"first line\nsecond line", "first line"},
		{"修复测试，谢谢", "修复测试，谢谢"},
	} {
		if got := titleOf(tt.prompt); got != tt.want {
			t.Errorf("titleOf(%q) = %q, want %q", tt.prompt, got, tt.want)
		}
	}
	long := titleOf(strings.Repeat("word ", 40))
	if n := utf8.RuneCountInString(long); n > maxTitle || !strings.HasSuffix(long, "word…") {
		t.Errorf("a long one is %d runes: %q", n, long)
	}
}

func FuzzTitleOf(f *testing.F) {
	for _, seed := range []string{"please fix /a/b/c.go", "@a/b", "\"/x/y\"", "hi", "题/目/是", "\xff/\xfe/a"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, prompt string) {
		if got := titleOf(prompt); utf8.RuneCountInString(got) > maxTitle || strings.Contains(got, "\n") {
			t.Errorf("titleOf(%q) = %q", prompt, got)
		}
	})
}
