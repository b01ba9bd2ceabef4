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

// Keys keeps API keys out of the settings: in the system's keyring, or in a
// file that only the user can read where there is none.
type Keys struct {
	Dir string // of the file
	// Keyring is false to use the file alone, as where no keyring may be asked.
	Keyring bool
}

const (
	keyService = "belay"
	keyFile    = "keys.json"
)

// Get finds the key of a provider; empty means that none is kept.
func (k Keys) Get(provider string) (string, error) {
	if k.Keyring {
		if key, err := keyring.Get(keyService, provider); err == nil {
			return key, nil
		}
	}
	keys, err := k.read()
	return keys[provider], err
}

// Set keeps a provider's key and tells a person where.
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
	temp, err := os.CreateTemp(k.Dir, ".keys-*") // made with mode 0600
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
