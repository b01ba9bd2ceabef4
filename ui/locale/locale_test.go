package locale

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

func TestTheLanguageIsThatOfTheSettingThenOfTheEnvironment(t *testing.T) {
	for _, tt := range []struct {
		setting     string
		environment map[string]string
		want        Language
	}{
		{"auto", nil, English},
		{"auto", map[string]string{"LANG": "zh_CN.UTF-8"}, Chinese},
		{"auto", map[string]string{"LANG": "zh"}, Chinese},
		{"auto", map[string]string{"LANG": "zh-Hans-CN"}, Chinese},
		{"auto", map[string]string{"LANG": "de_DE.UTF-8"}, English},
		{"auto", map[string]string{"LANG": "zh_CN.UTF-8", "LC_ALL": "C"}, English},
		{"auto", map[string]string{"LANG": "en_US.UTF-8", "LC_MESSAGES": "zh_TW"}, Chinese},
		{"auto", map[string]string{"LANG": "zhx_YY"}, English},
		{"auto", map[string]string{"LANG": "_"}, English},
		{"en", map[string]string{"LANG": "zh_CN.UTF-8"}, English},
		{"zh", map[string]string{"LANG": "en_US.UTF-8"}, Chinese},
	} {
		got := Choose(tt.setting, func(name string) string { return tt.environment[name] })
		if got != tt.want {
			t.Errorf("Choose(%q, %v) = %q, want %q", tt.setting, tt.environment, got, tt.want)
		}
	}
}

const small = `
msgid ""
msgstr "Language: zh\n"

msgid "%d lines"
msgstr "%d 行"

msgid "open %s: %w"
msgstr "打开 %s：%w"

msgid "there is no %s in %s"
msgstr "%[2]s 中没有 %[1]s"

msgid "entry %d: %w"
msgstr "第 %d 项：%w"

msgid "unknown value %.60q"
msgstr "未知的值 %s"

msgid "100%% of it"
msgstr "它的 100%%"

msgid "%s failed"
msgstr "%s失败"

msgid "Try again."
msgstr "请再试一次。"

msgid "Take another model."
msgstr "请换一个模型。"
`

func withSmall(t *testing.T) {
	t.Helper()
	before := current.Load()
	current.Store(parse([]byte(small)))
	t.Cleanup(func() { current.Store(before) })
}

func TestTextsAreTranslatedAndCounted(t *testing.T) {
	if got, want := N(1, "%d line", "%d lines"), "1 line"; got != want {
		t.Errorf("in English: got %q, want %q", got, want)
	}
	withSmall(t)
	for _, tt := range []struct{ got, want string }{
		{N(1, "%d line", "%d lines"), "1 行"},
		{N(3, "%d line", "%d lines"), "3 行"},
		{T("there is no %s in %s", "a", "b"), "b 中没有 a"},
		{T("nobody has this"), "nobody has this"},
		{T("nobody has %d", 3), "nobody has 3"},
	} {
		if tt.got != tt.want {
			t.Errorf("got %q, want %q", tt.got, tt.want)
		}
	}
}

func TestWhatWasPutTogetherElsewhereIsFoundAgain(t *testing.T) {
	withSmall(t)
	inner := fmt.Errorf("there is no %s in %s", "x: y", "the file")
	for _, tt := range []struct{ text, want string }{
		{fmt.Errorf("open %s: %w", "a.db", inner).Error(), "打开 a.db：the file 中没有 x: y"},
		{fmt.Errorf("open %s: %w", "a.db", errors.New("permission denied")).Error(), "打开 a.db：permission denied"},
		{fmt.Errorf("entry %d: %w", 3, fmt.Errorf("unknown value %.60q", `a "b" 5`)).Error(), `第 3 项：未知的值 "a \"b\" 5"`},
		{"entry x: y", "entry x: y"},
		{"it failed", "it failed"},
		{"Try again. Take another model.", "请再试一次。请换一个模型。"},
		{"Try again. The weather is fine.", "请再试一次。 The weather is fine."},
		{"Try again.\n  entry 2: Try again.", "请再试一次。\n  第 2 项：请再试一次。"},
		{`/u.toml:3: tiers: unknown value "x" (Try again.)`, `/u.toml:3：tiers：未知的值 "x"（请再试一次。）`},
		{"host: it said: no (really)", "host: it said: no (really)"},
		{"", ""},
		{strings.Repeat("open ", 5000), strings.Repeat("open ", 5000)},
	} {
		for range 2 { // the second time it is remembered
			if got := Said(tt.text); got != tt.want {
				t.Errorf("Said(%.80q) = %.80q, want %.80q", tt.text, got, tt.want)
			}
		}
	}
}

// FuzzSaid looks for texts that take the search for a format down, or for long.
func FuzzSaid(f *testing.F) {
	for _, seed := range []string{"open a: open b: open c", "entry 3: unknown value \"", ". . . .", "open : : :\n\n"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		withSmall(t)
		Said(text)
	})
}

// BenchmarkParse is what a start in another language than English costs.
func BenchmarkParse(b *testing.B) {
	for b.Loop() {
		parse(chinese)
	}
}
