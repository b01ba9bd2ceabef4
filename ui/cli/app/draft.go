package app

import (
	"context"
	"errors"
	"fmt"
	"os"
)

// EditText writes a draft to a file of its own for the user's editor.
func EditText(_ context.Context, text string) (string, error) {
	f, err := os.CreateTemp("", "belay-*.md")
	if err != nil {
		return "", fmt.Errorf("write the draft: %w", err)
	}
	_, err = f.WriteString(text)
	return f.Name(), errors.Join(err, f.Close())
}

// ReadText gives what the editor left in the file, and removes it.
func ReadText(path string) (string, error) {
	b, err := os.ReadFile(path)
	return string(b), errors.Join(err, os.Remove(path))
}
