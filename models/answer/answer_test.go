package answer

import (
	"errors"
	"strings"
	"testing"
)

const review = `{
	"type": "object",
	"properties": {
		"verdict": {"enum": ["good", "bad"]},
		"findings": {"type": "array", "items": {"type": "string"}}
	},
	"required": ["verdict", "findings"],
	"additionalProperties": false
}`

func schema(t testing.TB, text string) *Schema {
	t.Helper()
	s, err := NewSchema([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestTheAnswerIsFoundAmongWordsAndFences(t *testing.T) {
	const fits = `{"verdict": "good", "findings": []}`
	const other = `{"verdict": "fine"}`
	for name, text := range map[string]string{
		"alone":                           fits,
		"with space and a mark around it": "\ufeff\n  " + fits + "\n\n",
		"in a fence":                      "```json\n" + fits + "\n```",
		"in a fence after words":          "Here it is:\n\n```json\n" + fits + "\n```\nAnything else?",
		"in an indented fence":            "  ```\n  " + fits + "\n  ```",
		"in a fence of tildes":            "~~~JSON\r\n" + fits + "\r\n~~~",
		"in the last of two fences":       "First I had\n```json\n" + other + "\n```\nbut now\n```json\n" + fits + "\n```",
		"between words":                   "The answer is " + fits + ", as you asked.",
		"after a smaller object":          "With {} in mind: " + fits,
		"after a bracket in the words":    "[see above] {so} " + fits,
		"after one that does not fit":     other + "\n" + fits,
		"in a fence that is not closed":   "```json\n" + fits,
	} {
		t.Run(name, func(t *testing.T) {
			got, err := schema(t, review).Find(text)
			if err != nil || string(got) != fits {
				t.Errorf("found %s, %v", got, err)
			}
		})
	}
}

func TestWhatDoesNotFitIsSaid(t *testing.T) {
	for text, want := range map[string]string{
		"":                              "the answer holds no JSON",
		"I cannot do that.":             "the answer holds no JSON",
		`{"verdict": "good", `:          "the answer holds no JSON",
		`{"verdict": "fine"}`:           "missing property 'findings'",
		"```\n{\"verdict\": \"\"}\n```": "/verdict: value must be one of 'good', 'bad'",
		`{"verdict":"good","findings":[1,2]}`: "/findings/0: got number, want string; " +
			"/findings/1: got number, want string",
		`{"verdict":"good","findings":[],"x":1}`: "additional properties 'x' not allowed",
		`"good"`:                                 "at its top: got string, want object",
	} {
		_, err := schema(t, review).Find(text)
		var misfit *Misfit
		if !errors.As(err, &misfit) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
	many := `{"verdict":"good","findings":[` + strings.TrimSuffix(strings.Repeat("1,", 1000), ",") + `]}`
	var misfit *Misfit
	if _, err := schema(t, review).Find(many); !errors.As(err, &misfit) || len(misfit.Problems) != maxProblems {
		t.Errorf("a thousand problems are told as %d", len(misfit.Problems))
	}
}

func TestASchemaOfAnyKindIsRead(t *testing.T) {
	for text, answer := range map[string]string{
		`{"type":"array","items":{"$ref":"#/$defs/n"},"$defs":{"n":{"type":"integer"}}}`:                                 `[1, 2]`,
		`{"$schema":"http://json-schema.org/draft-04/schema#","type":"number","exclusiveMinimum":true,"minimum":1}`:      `2`,
		`{"$schema":"http://json-schema.org/draft-07/schema#","definitions":{"a":{"const":1}},"$ref":"#/definitions/a"}`: `1`,
		`{"$id":"https://example.com/a","type":"string"}`:                                                                `"x"`,
		`{}`: `null`,
	} {
		if got, err := schema(t, text).Find("```\n" + answer + "\n```"); err != nil || string(got) != answer {
			t.Errorf("%s: %s, %v", text, got, err)
		}
	}
}

func TestWhatIsNoSchemaIsRefused(t *testing.T) {
	for text, want := range map[string]string{
		"":                                       "not JSON",
		"{":                                      "not JSON",
		"[]":                                     "not an object",
		`{"type":"objekt"}`:                      "is not one",
		`{"$ref":"file:///etc/passwd"}`:          "leads outside",
		`{"$ref":"https://example.com/x"}`:       "leads outside",
		`{"$ref":"#/nowhere"}`:                   "is not one",
		`{"pattern":"("}`:                        "is not one",
		"{}" + strings.Repeat(" ", 70<<10) + "x": "more than 64 KB",
	} {
		if _, err := NewSchema([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60q: %v, want %s", text, err, want)
		}
	}
}

// Foreign text, whatever it is, is searched in a time that does not explode.
func FuzzFind(f *testing.F) {
	f.Add("```json\n{}\n```")
	f.Add(strings.Repeat("[", 1<<20))
	f.Add(strings.Repeat(`{"a":`, 1<<18))
	s := schema(f, review)
	f.Fuzz(func(t *testing.T, text string) {
		if found, err := s.Find(text); err == nil && !strings.Contains(text, string(found)) {
			t.Errorf("what was found does not stand in the text: %s", found)
		}
	})
}
