package plain

import "testing"

func TestAnotherModelIsToldFromADatedName(t *testing.T) {
	for _, tt := range []struct {
		name, asked, served string
		want                bool
	}{
		{"the same name is the same model", "gpt-5.6-sol", "gpt-5.6-sol", false},
		{"a dated name is the same model", "gpt-5.6-sol", "gpt-5.6-sol-2026-10-01", false},
		{"silence says nothing", "gpt-5.6-sol", "", false},
		{"a smaller sister is another model", "gpt-5.6", "gpt-5.6-mini", true},
		{"a longer number is another model", "gpt-5", "gpt-50", true},
		{"a different name is another model", "gpt-5.6-sol", "gpt-4o", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := another(tt.asked, tt.served); got != tt.want {
				t.Errorf("another(%q, %q) = %v, want %v", tt.asked, tt.served, got, tt.want)
			}
		})
	}
}
