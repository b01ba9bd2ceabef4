package engine

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"belay/session"
)

// oneCall scripts a model that makes one call and ends.
func oneCall(tool, arguments string) string {
	return "[[reply]]\n[[reply.calls]]\nname = \"" + tool + "\"\narguments = " + arguments + "\n[[reply]]\ntext = \"Done.\"\n"
}

// outputs are what a session's calls gave.
func (r *rig) outputs(id session.ID) string {
	r.t.Helper()
	records, err := r.store.Records(r.t.Context(), id, 0, 1000, 1<<20)
	if err != nil {
		r.t.Fatal(err)
	}
	var all []string
	for _, record := range records {
		if ended, ok := record.Event.(session.ToolEnded); ok {
			all = append(all, ended.Output+ended.Diff)
		}
	}
	return strings.Join(all, "\n")
}

func TestAFileOutsideIsReadOnlyAfterAYes(t *testing.T) {
	t.Parallel()
	const secret = "SECRET one\nSECRET two\n"
	for _, tt := range []struct {
		name, tool, arguments string
		answers               []session.Answer
		asked                 []session.Class
		says, holds           string // of the outputs, and the file in the end
		rules                 string
	}{
		{"a no says nothing of it", "edit", `{ path = "OUT/f", edits = [{ old = "SECRET one\n two", new = "x" }] }`,
			[]session.Answer{{}}, []session.Class{session.Read}, "The user denied this call.", secret, ""},
		{"nor does a no to a write", "write", `{ path = "OUT/f", content = "x" }`,
			[]session.Answer{{}}, []session.Class{session.Read}, "The user denied this call.", secret, ""},
		{"an edit shows its change before it is made", "edit", `{ path = "OUT/f", edits = [{ old = "one", new = "1" }] }`,
			[]session.Answer{{Allow: true}, {Allow: true}}, []session.Class{session.Read, session.Write},
			"changed OUT/f", "SECRET 1\nSECRET two\n", ""},
		{"and is not made after a no", "edit", `{ path = "OUT/f", edits = [{ old = "one", new = "1" }] }`,
			[]session.Answer{{Allow: true}, {}}, []session.Class{session.Read, session.Write},
			"The user denied this call.", secret, ""},
		{"a mistake is explained after a yes", "edit", `{ path = "OUT/f", edits = [{ old = "SECRET  one", new = "1" }] }`,
			[]session.Answer{{Allow: true}}, []session.Class{session.Read}, "differs in white space", secret, ""},
		{"always is for reading alone", "edit", `{ path = "OUT/f", edits = [{ old = "one", new = "1" }] }`,
			[]session.Answer{{Allow: true, Always: true}, {}}, []session.Class{session.Read, session.Write},
			"The user denied this call.", secret, "outside:OUT"},
		{"a call that a person writes is asked about as it is", "edit", `{ path = "OUT/f", edits = [{ old = "x", new = "y" }] }`,
			[]session.Answer{{Allow: true, Args: `{"path":"OUT/f","edits":[{"old":"two","new":"2"}]}`}, {Allow: true}},
			[]session.Class{session.Read, session.Write}, "changed OUT/f", "SECRET one\nSECRET 2\n", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			out, err := filepath.EvalSymlinks(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			in := func(s string) string { return strings.ReplaceAll(s, "OUT", out) }
			file := filepath.Join(out, "f")
			writeFile(out, "f", secret)
			asking := func(r *rig) { r.mode = session.Ask }
			inBubble(t, oneCall(tt.tool, in(tt.arguments)), asking, func(t *testing.T, r *rig, id session.ID) {
				r.send(id, "go")
				for i, answer := range tt.answers {
					asked := r.asks(id)
					for i > 0 && asked.Class == tt.asked[i-1] { // the answer is on its way
						time.Sleep(time.Millisecond)
						asked = r.asks(id)
					}
					if asked.Class != tt.asked[i] || (asked.Preview != "") != (asked.Class == session.Write) {
						t.Errorf("question %d is %+v, want class %s", i+1, asked, tt.asked[i])
					}
					answer.CallID, answer.Args = asked.CallID, in(answer.Args)
					r.do(id, session.AnswerApproval{Answer: answer})
				}
				if s := r.wait(id); s.Status != session.Idle {
					t.Errorf("Status = %s, %v", s.Status, s.Fault)
				}
				if got := r.outputs(id); !strings.Contains(got, in(tt.says)) ||
					strings.Contains(got, "denied") && strings.Contains(got, "SECRET") {
					t.Errorf("the model was told %q, want %q", got, tt.says)
				}
				if b, _ := os.ReadFile(file); string(b) != tt.holds {
					t.Errorf("the file holds %q, want %q", b, tt.holds)
				}
				if rules, err := r.store.PermissionGrants(t.Context(), r.project); err != nil ||
					strings.Join(rules, " ") != in(tt.rules) {
					t.Errorf("granted %q, %v", rules, err)
				}
			})
		})
	}
}
