package config

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Edit writes assignments into the user's settings file and keeps all else in it, byte
// for byte; a file that is not there is made. It refuses a file that has mistakes, and
// a change after which it would have one.
func Edit(from Sources, assignments ...Assignment) error {
	path := from.UserFile
	if resolved, err := filepath.EvalSymlinks(path); err == nil {
		path = resolved // the link stays
	}
	old, err := readFile(path)
	missing := errors.Is(err, fs.ErrNotExist)
	if err != nil && !missing {
		return fmt.Errorf("%s cannot be read: %w", from.UserFile, err)
	}
	if !missing {
		if err := from.check(old); err != nil {
			return fmt.Errorf("the settings have mistakes, mend them first: %w", err)
		}
	}
	text, err := edited(old, assignments)
	if err != nil {
		return fmt.Errorf("change %s: %w", from.UserFile, err)
	}
	if err := from.check(text); err != nil {
		return fmt.Errorf("the settings would have a mistake: %w", err)
	}
	if missing {
		return Create(path, string(text))
	}
	if err := replaceFile(path, old, text); err != nil {
		return fmt.Errorf("write the settings: %w", err)
	}
	return nil
}

// check reads a text as the user's settings.
func (from Sources) check(text []byte) error {
	_, err := Load(Sources{
		UserFile: from.UserFile, Named: true, Providers: from.Providers,
		ReadFile: func(string) ([]byte, error) { return text, nil },
	})
	return err
}

// edited is a settings file after assignments.
func edited(text []byte, assignments []Assignment) ([]byte, error) {
	for _, a := range assignments {
		d, fault := parseDocument(text)
		if fault != nil {
			return nil, fault
		}
		if len(a.Path) == 0 {
			return nil, errors.New("no key is named")
		}
		var err error
		if text, err = d.assign(a); err != nil {
			return nil, err
		}
	}
	return text, nil
}

// replaceFile puts a text in the place of a file in one stroke, unless somebody else
// has written the file meanwhile.
func replaceFile(path string, old, text []byte) (err error) {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	temp, err := os.CreateTemp(filepath.Dir(path), ".config-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(temp.Name()))
		}
	}()
	_, err = temp.Write(text)
	if err = errors.Join(err, temp.Chmod(info.Mode().Perm()), temp.Sync(), temp.Close()); err != nil {
		return err
	}
	now, err := readFile(path)
	if err != nil {
		return err
	}
	if !bytes.Equal(now, old) {
		return errors.New("somebody else has just changed them: look, and try again")
	}
	return os.Rename(temp.Name(), path)
}
