package ui

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"belay/ui/keys"
)

// ownWords are those of the data that the states are made of, and names that are the
// same in every language.
const ownWords = `
belay, token, k token, http, main, shop, sol, terra, luna, AGENTS, md, README, provider/model, API, KEY, EDITOR, git, go, ok, json
enter esc tab space shift alt ctrl pgup pgdn home end
move the rules: I begin with the tests
The rules move, The pricing rules move into orders/pricing, which
refactor the orders module and cover it with tests
The module mixes pricing and storage. I will read it first. one rule lives twice
read, edit, grep, write, shell, make, shell make release, git push --force origin main, building, uploading, txt, write x
auto, dark, light, contrast, none, K J, sessions, models
if err := o.Validate(); err != nil return 0, err sum := round(l.Price) return sum, nil sum, err := PriceOf(o), service, git push origin main
FAIL: TestTotal got 1299, want 1300
func PriceOf(o Or, The rule is in two places, and is rounded twice. So, It is in two places, Reading, the rules
go on, then the docs, and then, release it, not today, write it, row, refactor, point 3 of the work
Selected model is at capacity. Please try a different model. server_is_overloaded req_8f2c openai, gpt, capacity, base
It is full, not broken, invalid_api_key, auth, Incorrect API key provided, openai refuses this key
port the importer, May I run make migrate, nightly job, login test, the long job, the job, zzz, orders, nowhere, mo
box, qwen, coder, openrouter, maker, OpenAI, run, very-large-model-with-a-long-name OPENAI_API_KEY OPENROUTER_API_KEY GROQ_API_KEY groq
large small, one, gemma, ollama, home me
map the module and its problems, three options, choose one, core logic, tests, tell the team
Move the rules of prices into orders/pricing.go, with one function PriceOf. Nothing else changes.
the old tests pass, go test ./orders
Read orders/ and list what is wrong with it.
prices are in cents, never in floats, high
package orders, data/dump.bin, logo.png, go install, func s Service Total o Order int64 error, return, diff
disk full, free some space, move the pricing rules, toml, x`

var asciiRun = regexp.MustCompile(`[A-Za-z]+(['’-][A-Za-z]+)*( [A-Za-z]+(['’-][A-Za-z]+)*)*`)

// cut follows a word of which the rest has no room, or lies under a dialog.
var cut = regexp.MustCompile(`^[…╭│╰]`)

// TestNoEnglishIsLeftInChineseScreens reads the goldens: what is neither Chinese nor from
// the states' own data was forgotten.
func TestNoEnglishIsLeftInChineseScreens(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("..", "testdata", "screens", "*.golden"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no goldens: %v", err)
	}
	known := asciiRun.FindAllString(ownWords, -1)
	for _, b := range keys.Table {
		known = append(known, asciiRun.FindAllString(b.Shown(), -1)...)
	}
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for name, screen := range sections(string(content)) {
			if !strings.HasSuffix(name, " zh") {
				continue
			}
			for _, line := range strings.Split(screen, "\n") {
				for _, run := range asciiRun.FindAllStringIndex(line, -1) {
					words := line[run[0]:run[1]]
					if cut.MatchString(line[run[1]:]) {
						words = words[:max(strings.LastIndexByte(words, ' '), 0)]
					}
					if strings.HasSuffix(line[:run[0]], "…") {
						_, words, _ = strings.Cut(words, " ")
					}
					if len(words) > 1 && !slices.ContainsFunc(known, func(k string) bool { return within(k, words) }) {
						t.Errorf("%s, %s: %q in %s", filepath.Base(file), name, words, strings.TrimSpace(line))
					}
				}
			}
		}
	}
}

// within reports whether some words are part of others, as they are when lines are
// wrapped or cut. A single word has to begin or end them.
func within(whole, words string) bool {
	if strings.Contains(words, " ") {
		return strings.Contains(" "+whole+" ", " "+words+" ")
	}
	return strings.HasPrefix(whole+" ", words+" ") || strings.HasSuffix(" "+whole, " "+words)
}
