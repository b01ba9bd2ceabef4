package modellist

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"

	"belay/models"
	"belay/ui/keys"
	"belay/ui/theme"
)

func row(name string, tier models.Tier) Row {
	target, err := models.ParseTarget(name)
	if err != nil {
		panic(err)
	}
	return Row{Condition: models.Condition{Target: target, Tier: tier, Short: theme.Short(target), State: models.Ready}}
}

func some() View {
	missing := row("far/closed", "")
	missing.Missing = "FAR_API_KEY"
	return View{
		Models: []Row{
			row("openai/gpt-sol", models.Heavy), row("openai/gpt-terra", models.Medium), row("box/gpt-terra", ""), missing,
		},
		Providers: []Provider{{Name: "openai", Keyed: true}, {Name: "box", Keyed: true}, {Name: "far", Variable: "FAR_API_KEY"}},
	}
}

func newList() *Pane {
	return New(theme.New("none", true, colorprofile.ASCII), func() time.Time { return time.Unix(0, 0) }, models.Heavy)
}

func TestOneModelIsMeantByItsName(t *testing.T) {
	for _, tt := range []struct{ words, want, others string }{
		{"gpt-sol", "openai/gpt-sol", ""},
		{"SOL", "openai/gpt-sol", ""},
		{"box/gpt-terra", "box/gpt-terra", ""},
		{"gpt-terra", "openai/gpt-terra", ""}, // what stands in a tier comes first
		{"gpt", "", "openai/gpt-sol openai/gpt-terra box/gpt-terra"},
		{"box/unlisted", "box/unlisted", ""},
		{"far/unlisted", "", ""}, // there is no key
		{"nothing", "", ""},
	} {
		got, others, ok := some().Match(tt.words)
		name := ""
		if ok {
			name = got.Target.String()
		}
		if name != tt.want || strings.Join(others, " ") != tt.others {
			t.Errorf("Match(%q) = %q, %q; want %q, %q", tt.words, name, others, tt.want, tt.others)
		}
	}
}

func TestFilterAndChoice(t *testing.T) {
	p := newList()
	if _, ok := p.Chosen(); ok {
		t.Error("an empty list has a choice")
	}
	p.Set(some())
	press := func(a keys.Action) Verdict { return p.Key(keys.ModelList.Press(a), "") }
	press(keys.Down)
	if r, _ := p.Chosen(); r.Target.String() != "openai/gpt-terra" {
		t.Errorf("chosen: %v", r.Target)
	}
	again := some()
	again.Models = append([]Row{row("new/first", "")}, again.Models...)
	p.Set(again)
	if r, _ := p.Chosen(); r.Target.String() != "openai/gpt-terra" {
		t.Errorf("after the list came anew: %v", r.Target)
	}
	for _, letter := range "closed" {
		p.Key(string(letter), string(letter))
	}
	if v := press(keys.Accept); v != Nothing {
		t.Errorf("a model without a key was taken: %v", v)
	}
	lines, _, _ := p.View(80, 20)
	if text := ansi.Strip(strings.Join(lines, "\n")); !strings.Contains(text, "there is no key for far") {
		t.Errorf("%s", text)
	}
	if v := press(keys.Close); v != Nothing || p.query != "" {
		t.Errorf("the first press clears the filter: %v, %q", v, p.query)
	}
	if v := press(keys.Accept); v != Use {
		t.Errorf("enter is %v", v)
	}
	if v := press(keys.Close); v != Close {
		t.Errorf("the second press closes: %v", v)
	}
}

func TestTheRowUnderThePointer(t *testing.T) {
	p := newList()
	var view View
	for i := range 30 {
		view.Models = append(view.Models, row(fmt.Sprintf("box/model-%02d", i), ""))
	}
	p.Set(view)
	p.Move(20)
	lines, _, _ := p.View(100, 16)
	found := 0
	for i, line := range lines {
		by, ok := p.ItemAt(i)
		if !ok {
			if strings.Contains(line, "box/model") && i < len(lines)-3 {
				t.Errorf("row %d is none of the list: %s", i, line)
			}
			continue
		}
		found++
		if want := fmt.Sprintf("box/model-%02d", p.selected+by); !strings.Contains(line, want) {
			t.Errorf("row %d is %s, want %s", i, line, want)
		}
		if theme.Width(line) != 100 {
			t.Errorf("row %d has %d cells", i, theme.Width(line))
		}
	}
	if found != 9 {
		t.Errorf("%d rows of the list, want 9", found)
	}
}
