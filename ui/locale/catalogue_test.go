package locale

import (
	"slices"
	"testing"
)

// TestATranslationTakesTheArgumentsOfItsText keeps "%!s(MISSING)" off the screen.
func TestATranslationTakesTheArgumentsOfItsText(t *testing.T) {
	c := parse(chinese)
	if len(c.texts) == 0 {
		t.Fatal("the catalogue is empty")
	}
	for id, told := range c.texts {
		if told == "" || told == id {
			t.Errorf("%q is not translated", id)
		}
		want, got := arguments(id), arguments(told)
		if !slices.Equal(got, want) {
			t.Errorf("%q has the arguments %v, its translation %q has %v", id, want, told, got)
		}
	}
}

// arguments gives the numbers of the arguments that a format uses, in order.
func arguments(text string) []int {
	var list []int
	next := 0
	for _, found := range verbPattern.FindAllStringSubmatch(text, -1) {
		if found[2] == "%" {
			continue
		}
		if found[1] != "" {
			next = position(found[1])
		}
		list = append(list, next)
		next++
	}
	slices.Sort(list)
	return slices.Compact(list)
}
