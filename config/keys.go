package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/zalando/go-keyring"
)

// Keys stores API keys outside the settings: in the system's keyring or, where there
// is none, in a file that only the user can read.
type Keys struct {
	Dir     string // of the file
	Keyring bool   // try the system's keyring first
}

const (
	keyService = "belay"
	keyFile    = "keys.json"
)

// Get returns the key of a provider, or an empty string if none is stored.
func (k Keys) Get(provider string) (string, error) {
	if k.Keyring {
		if key, err := keyring.Get(keyService, provider); err == nil {
			return key, nil
		}
	}
	keys, err := k.read()
	return keys[provider], err
}

// Set stores a provider's key. where describes the place, for the user.
func (k Keys) Set(provider, key string) (where string, err error) {
	if k.Keyring && keyring.Set(keyService, provider, key) == nil {
		return "the system's keyring", nil
	}
	keys, err := k.read()
	if err != nil {
		return "", err
	}
	keys[provider] = key
	data, err := json.MarshalIndent(keys, "", "  ")
	if err != nil {
		return "", fmt.Errorf("keep the key: %w", err)
	}
	if err := os.MkdirAll(k.Dir, 0o700); err != nil {
		return "", fmt.Errorf("keep the key: %w", err)
	}
	path := filepath.Join(k.Dir, keyFile)
	temp, err := os.CreateTemp(k.Dir, ".keys-*") // created with mode 0600
	if err != nil {
		return "", fmt.Errorf("keep the key: %w", err)
	}
	_, err = temp.Write(append(data, '\n'))
	if err = errors.Join(err, temp.Sync(), temp.Close()); err == nil {
		err = os.Rename(temp.Name(), path)
	}
	if err != nil {
		return "", fmt.Errorf("keep the key: %w", errors.Join(err, os.Remove(temp.Name())))
	}
	return path, nil
}

func (k Keys) read() (map[string]string, error) {
	keys := map[string]string{}
	data, err := os.ReadFile(filepath.Join(k.Dir, keyFile))
	if errors.Is(err, fs.ErrNotExist) {
		return keys, nil
	}
	if err == nil {
		err = json.Unmarshal(data, &keys)
	}
	if err != nil {
		return nil, fmt.Errorf("read the kept keys: %w", err)
	}
	return keys, nil
}
