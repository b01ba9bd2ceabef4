package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
)

// Local is a settings file that uses models at a local endpoint.
func Local(provider, baseURL, heavy, medium, light string) string {
	target := func(model string) string { return quote(provider + "/" + model) }
	return fmt.Sprintf(`# Written by belay at its first start. Every key: belay config example
[providers.%s]
base_url    = %q
api         = "chat"
concurrency = 1

[tiers]
heavy  = [%s]
medium = [%s]
light  = [%s]
`, provider, baseURL, target(heavy), target(medium), target(light))
}

// Known is a settings file that uses two models of a known provider.
func Known(provider, large, small string) string {
	heavy, light := strconv.Quote(provider+"/"+large), strconv.Quote(provider+"/"+small)
	return fmt.Sprintf(`# Written by belay at its first start. Every key: belay config example
[tiers]
heavy  = [%s]
medium = [%s]
light  = [%s]
`, heavy, heavy, light)
}

// Create writes a new settings file. It never overwrites one: the error then says what
// to add to it.
func Create(path, text string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("make the settings folder: %w", err)
	}
	out, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%s exists already; add this to it:\n%s", path, text)
	}
	if err != nil {
		return fmt.Errorf("write the settings: %w", err)
	}
	_, err = out.WriteString(text)
	if err = errors.Join(err, out.Close()); err != nil {
		return fmt.Errorf("write the settings: %w", err)
	}
	return nil
}
