package ui

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"belay/models"
	"belay/session"
)

// hostile are texts as a model, a tool, a file's name or a server may send them.
var hostile = map[string]string{
	"plain":             "words",
	"clear and home":    "a\x1b[2J\x1b[H\x1b[3Jb",
	"other modes":       "\x1b[?1049l\x1b[?25l\x1b[?2004l\x1b[?1000h\x1b[4h\x1b[20h\x1b[?7l\x1b[?6h\x1b=\x1b>",
	"a margin":          "\x1b[2;4r\x1b[?69h\x1b[3;9s",
	"a reset":           "\x1bc\x1b[!p\x1b#8",
	"the clipboard":     "\x1b]52;c;ZXZpbA==\x07",
	"a title":           "\x1b]0;owned\x07\x1b]2;owned\x1b\\",
	"colours of all":    "\x1b]4;1;#000000\x07\x1b]10;#000000\x07\x1b]11;?\x07",
	"a link":            "\x1b]8;;file:///etc/passwd\x1b\\here\x1b]8;;\x1b\\",
	"a notice":          "\x1b]9;now\x07\x1b]777;notify;a;b\x07\x1b]1337;File=:AAAA\x07",
	"a DCS":             "\x1bPq#0;2;0;0;0#0~~\x1b\\\x1bP+q544e\x1b\\\x1bP$q\"p\x1b\\",
	"an APC, PM, SOS":   "\x1b_Gf=24;AAAA\x1b\\\x1b^pm\x1b\\\x1bXsos\x1b\\",
	"questions":         "\x1b[c\x1b[6n\x1b[?u\x1b[>q\x1b[18t\x1bZ\x05",
	"8-bit controls":    "\u009b2J\u009d0;owned\u009c\u0090q\u009c \x9b2J \x9d0;x\x9c",
	"one that is open":  "\x1b]0;never ended",
	"half a sequence":   "\x1b[",
	"a lone escape":     "\x1b",
	"entities":          "&#x1b;[2J &#27;]52;c;eA==&#7; &amp;#27;[2J",
	"returns":           "one\rtwo\r\rthree\r\n\r\n",
	"control letters":   "a\x00b\x01c\x08\x08\x08d\x0b\x0ce\x0e\x0ff\x7fg\x1a",
	"tabs":              "\ta\tb\t\tc\n\t\t\td",
	"right to left":     "a\u202eb\u202dc\u2066d\u2069 \u200f\u061c שלום مرحبا",
	"no width":          "a\u200bb\u200cc\u200dd\ufeffe\u2060f\u00adg\u034f\u180e\u3164",
	"combining":         "e" + strings.Repeat("\u0301", 300) + " Z\u0360\u0489",
	"wide":              strings.Repeat("端数は二回", 60) + "👩‍👩‍👧‍👦🏳️‍🌈👍🏽🇩🇪" + "한국어",
	"broken UTF-8":      "a\xffb\xc3\x28c\xe2\x82d\xf0\x9f\x98e\xed\xa0\x80",
	"not characters":    "\ufffe\uffff\U0001fffe\ufff9a\ufffbb\U000e0041\U000e0001",
	"line separators":   "a\u2028b\u2029c\u0085d",
	"Markdown in a tie": strings.Repeat("[", 500) + strings.Repeat("> ", 200) + strings.Repeat("*_", 300) + "\n|a|b|\n|-|\n```\x1b\n<br>\n",
	"one long line":     strings.Repeat("x", 100<<10),
	"long, all kinds":   strings.Repeat("é\x1b[31m端\u202e\t\xff", 20_000),
}

// suffer brings a text to each place of the screen where others' words stand.
func suffer(text string) state {
	fault := capacityFault()
	fault.Message, fault.Code, fault.RequestID, fault.Hint = text, text, text, text
	edit := "--- a/" + text + "\n+++ b/" + text + "\n@@ -1,2 +1,2 @@ " + text + "\n-" + text + "\n+" + text + "\n"
	begin := []session.Event{
		turn(text), said(text), said("```" + text + "\n" + text + "\n```\n"), calls("c1", "shell"+text, `{"command":"`+text+`"}`),
		session.ToolStarted{Effect: session.Effect{CallID: "c1", Tool: "shell" + text, Title: text}},
		session.ToolEnded{CallID: "c1", Tool: "shell" + text, Title: text, Output: text, Summary: text, File: text},
		session.ToolEnded{CallID: "c2", Tool: "edit", Title: text, Diff: edit, Summary: text, Error: true, Output: text},
		session.Noted{Text: text}, session.Renamed{Title: text}, session.NotePinned{Text: text},
		session.TodosChanged{Todos: []session.Todo{{Text: text, Status: "active"}, {Text: text}}},
		session.TurnEnded{Outcome: session.OutcomeFailed, Fault: fault, Reason: text}, turn("the last"),
	}
	return state{begin: begin, then: []any{
		answering(session.ReasoningDelta{Text: text}, session.TextDelta{Text: text},
			session.CallDelta{CallID: "c3", Name: text, Bytes: 3}),
		session.PromptQueued{Prompt: session.Prompt{ID: "q", Text: text}}, "home", "end",
	}}
}

// afterwards are looks of the screen that a session with foreign words may have next.
func afterwards(text string) map[string][]any {
	fault := capacityFault()
	fault.Message, fault.Code, fault.RequestID, fault.Hint = text, text, text, text
	return map[string][]any{
		"the transcript": nil,
		"an opened call": {"ctrl+o", "enter"},
		"a question": {session.ApprovalAsked{Approval: session.Approval{CallID: "c9", Tool: text, Title: text, Preview: text,
			Args: text, Reason: text, Always: text, Reach: text}}},
		"a wait": {session.AttemptFailed{Number: 1, Of: 4, Target: sol, Fault: fault, Next: models.NextRetry},
			session.Waiting{Number: 2, Of: 4, Until: noon.Add(8e9), Target: models.Target{Provider: text, Model: text},
				Fault: fault}, "F10"},
		"the sessions": {"ctrl+s"},
		"the prompts":  {"ctrl+r"},
	}
}

// TestForeignBytesLeaveTheScreenWhole checks, for each text in each look, the frame of
// the screen, what was written to the terminal, and the modes it is left in.
func TestForeignBytesLeaveTheScreenWhole(t *testing.T) {
	for name, text := range hostile {
		for look, then := range afterwards(text) {
			if len(text) > 10_000 && look != "the transcript" {
				continue
			}
			t.Run(name+", "+look, func(t *testing.T) { checkForeign(t, text, then) })
		}
	}
}

// A line of 2 MB, as a command prints it or a model writes it, is as harmless.
func TestALineOfTwoMegabytesLeavesTheScreenWhole(t *testing.T) {
	text := strings.Repeat("x", 2<<20)
	inBubble(t, func(t *testing.T) {
		st := state{begin: []session.Event{turn("go on")}, then: []any{
			running("shell", "cat big", text), session.ToolEnded{CallID: "c1", Tool: "shell", Title: "cat big", Output: text},
			answering(session.TextDelta{Text: text}), "ctrl+o", "enter", "home", "end"}}
		checkFrame(t, st.start(t, 80, 24))
	})
}

func FuzzForeignBytes(f *testing.F) {
	for _, name := range []string{"the clipboard", "broken UTF-8", "entities"} { // the others stand above
		f.Add(hostile[name])
	}
	f.Fuzz(func(t *testing.T, text string) {
		looks := afterwards(text)
		names := slices.Sorted(maps.Keys(looks))
		checkForeign(t, text, looks[names[len(text)%len(names)]])
	})
}

func checkForeign(t *testing.T, text string, then []any) {
	t.Helper()
	inBubble(t, func(t *testing.T) {
		st := suffer(text)
		st.then = append(st.then, then...)
		s := st.start(t, 80, 24)
		checkFrame(t, s)
		s.close()
		before, after := tame(t), spoken(s.raw.Bytes())
		for kind, on := range after.modes {
			if was, known := before.modes[kind]; !known || was != on {
				t.Errorf("mode %s is left %v, and %v without these words", kind, on, was)
			}
		}
		for kind := range after.kinds {
			if !before.kinds[kind] && !strings.Contains(drawing, " "+kind+" ") {
				t.Errorf("%q was written to the terminal", kind)
			}
		}
	})
}

// tameSpeech is what is said to a terminal where nobody means harm.
var tameSpeech *speech

func tame(t *testing.T) speech {
	if tameSpeech == nil {
		s := suffer("words").start(t, 80, 24)
		s.close()
		said := spoken(s.raw.Bytes())
		said.modes["7"] = true // as it is at first: a row is drawn to its end without it
		tameSpeech = &said
	}
	return *tameSpeech
}

// checkFrame reports a rule or a box that is not where it should be.
func checkFrame(t *testing.T, s *screen) {
	t.Helper()
	screen := s.seen()
	rows := strings.Split(strings.TrimSuffix(screen, "\n"), "\n")
	if len(rows) != 24 {
		t.Errorf("%d rows:\n%s", len(rows), screen)
		return
	}
	if !strings.HasPrefix(rows[0], " shop") || !strings.HasSuffix(rows[0], "3 ● luna") {
		t.Errorf("the header is broken:\n%s", screen)
	}
	at := func(x, y int) string {
		if c := s.emu.CellAt(x, y); c != nil {
			return c.Content
		}
		return " "
	}
	boxes := 0
	for y := range rows {
		for left := range 80 {
			if at(left, y) != "╭" {
				continue
			}
			boxes++
			right := max(79-left, left) // boxes lie in the middle
			if at(right, y) != "╮" {
				t.Errorf("the box in row %d has no corner at %d:\n%s", y, right, screen)
			}
			for below := y + 1; below < len(rows) && at(left, below) != "╰"; below++ {
				if at(left, below) != "│" || at(right, below) != "│" {
					t.Errorf("the box is broken in row %d:\n%s", below, screen)
				}
			}
		}
	}
	rule := strings.Repeat("─", 60)
	if boxes == 0 && (!strings.HasPrefix(rows[1], rule) || !strings.HasPrefix(rows[21], rule) ||
		!strings.HasPrefix(rows[22], " ›") || !strings.HasPrefix(rows[23], " ")) {
		t.Errorf("the frame is broken:\n%s", screen)
	}
}

// drawing are the sequences that a frame may be drawn with, whatever it shows. The bell
// ends a title, of which a letter may hold what the parser takes for an end.
const drawing = " CSI A CSI B CSI C CSI D CSI G CSI H CSI d CSI m CSI J CSI K CSI X CSI L CSI M CSI P CSI @ CSI b CSI S CSI T " +
	"CSI r ESC M OSC 8 C0 \\n C0 \\r C0 \\b C0 \\t C0 \\a "

// speech is what was said to a terminal besides text.
type speech struct {
	kinds map[string]bool
	modes map[string]bool
}

func spoken(raw []byte) speech {
	said := speech{map[string]bool{}, map[string]bool{}}
	parser := ansi.NewParser()
	var state byte
	for text := string(raw); text != ""; {
		seq, width, n, next := ansi.DecodeSequence(text, state, parser)
		state, text = next, text[n:]
		command := ansi.Cmd(parser.Command())
		switch {
		case ansi.HasCsiPrefix(seq):
			kind := "CSI " + strings.Trim(string([]byte{command.Prefix(), command.Intermediate(), command.Final()}), "\x00")
			if f := command.Final(); command.Prefix() == '?' && (f == 'h' || f == 'l') {
				for _, mode := range parser.Params() {
					said.modes[fmt.Sprint(mode.Param(0))] = f == 'h'
				}
				continue
			}
			said.kinds[kind] = true
		case ansi.HasOscPrefix(seq):
			said.kinds[fmt.Sprintf("OSC %d", parser.Command())] = true
		case ansi.HasEscPrefix(seq), ansi.HasDcsPrefix(seq), ansi.HasApcPrefix(seq), ansi.HasPmPrefix(seq),
			ansi.HasSosPrefix(seq):
			said.kinds[fmt.Sprintf("ESC %s", seq[1:])] = true
		case width == 0 && len(seq) == 1 && (seq[0] < 0x20 || seq[0] >= 0x7f):
			said.kinds["C0 "+strings.Trim(fmt.Sprintf("%q", seq), `"`)] = true
		}
	}
	return said
}

// TestAHundredResizesLeaveARightScreen compares the screen after each with a fresh one
// of that size.
func TestAHundredResizesLeaveARightScreen(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 11))
	for _, st := range states() {
		if !strings.Contains(" main approval-long waiting steps sessions ", " "+st.name+" ") {
			continue
		}
		t.Run(st.name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				s := st.start(t, 80, 24)
				for range 20 {
					w, h := 20+random.IntN(281), 5+random.IntN(76)
					s.resize(w, h)
					s.rest()
					fresh := st.start(t, w, h)
					if got, want := s.seen(), fresh.seen(); got != want {
						t.Errorf("after a resize to %d×%d:\n%s", w, h, differing(got, want))
					}
					fresh.close()
				}
			})
		})
	}
}
