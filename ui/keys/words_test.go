package keys

import (
	"strings"
	"testing"

	"belay/ui/locale"
)

func TestWhatKeysDoIsTranslated(t *testing.T) {
	locale.Use(locale.Chinese)
	t.Cleanup(func() { locale.Use(locale.English) })
	for _, b := range Table {
		if locale.T(b.Does) == b.Does {
			t.Errorf("msgid %q\nmsgstr \"\"", b.Does)
		}
	}
}

func TestProblemsOfKeysAreTranslated(t *testing.T) {
	locale.Use(locale.Chinese)
	t.Cleanup(func() { locale.Use(locale.English) })
	for _, tt := range []struct{ name, key, text, hint string }{
		{"next-teir", "ctrl+g", "不是动作", "是不是 next-tier？"},
		{"session-list.renam", "f2", "不是动作", "是不是 session-list.rename？"},
		{"nowhere.rename", "f2", "不是动作", "屏幕的各部分是 approval, "},
		{"zzzzzzzz", "f2", "不是动作", "动作的名称见"},
		{"next-tier", "ctrl+plus", `"ctrl+plus" 不是键`, "键写作"},
		{"next-tier", "x", "x 会写进草稿", "用带 ctrl+"},
		{"next-tier", "ctrl+s", `ctrl+s 已经表示 "sessions"`, "给其中一个换一个键"},
		{"mention", "ctrl+g", "是你会打的字符", ""},
	} {
		problems := Check(map[string][]string{tt.name: {tt.key}})
		if len(problems) != 1 || !strings.HasPrefix(problems[0].Text, tt.text) ||
			!strings.HasPrefix(problems[0].Hint, tt.hint) {
			t.Errorf("%s = %s: %q, want %q and %q", tt.name, tt.key, problems, tt.text, tt.hint)
		}
	}
}

func TestKeysWithinASentenceFollowTheSettings(t *testing.T) {
	t.Cleanup(func() { Use(nil) })
	meaning := func(a Action) string { return Of(a).Meaning() }
	if got := meaning(FullView); got != "the whole call over the screen; t: the other layout" {
		t.Errorf("got %q", got)
	}
	set := map[string][]string{"approval.layout": {"w"}, "call-chooser.copy": {"c"}}
	if problems := Use(set); len(problems) > 0 {
		t.Fatal(problems)
	}
	if got := meaning(FullView); got != "the whole call over the screen; w: the other layout" {
		t.Errorf("got %q", got)
	}
	if got := meaning(OpenCall); !strings.Contains(got, "c copies") {
		t.Errorf("got %q", got)
	}
	for _, b := range Table {
		if strings.Contains(b.Meaning(), "%") {
			t.Errorf("%s: %q", b.Action, b.Meaning())
		}
	}
}
