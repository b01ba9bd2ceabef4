package config

import (
	"errors"
	"path/filepath"
	"runtime"
)

// Env looks up an environment variable, as os.Getenv does.
type Env func(name string) string

// Home is the folder for sessions and logs: $BELAY_HOME, or else the platform's folder
// for application data (on Linux by the XDG Base Directory Specification).
func Home(env Env) (string, error) { return home(runtime.GOOS, env) }

func home(system string, env Env) (string, error) {
	if dir := env("BELAY_HOME"); dir != "" {
		return dir, nil
	}
	return appDir(system, env, "XDG_DATA_HOME", "LocalAppData", ".local/share")
}

// Dir is the platform's folder for belay's settings.
func Dir(env Env) (string, error) { return configDir(runtime.GOOS, env) }

func configDir(system string, env Env) (string, error) {
	return appDir(system, env, "XDG_CONFIG_HOME", "AppData", ".config")
}

// File is the user's settings file. named reports that it comes from $BELAY_CONFIG, so
// that it must exist.
func File(env Env) (path string, named bool, err error) { return file(runtime.GOOS, env) }

func file(system string, env Env) (string, bool, error) {
	if path := env("BELAY_CONFIG"); path != "" {
		return path, true, nil
	}
	dir, err := configDir(system, env)
	return filepath.Join(dir, "config.toml"), false, err
}

func appDir(system string, env Env, xdg, windows, under string) (string, error) {
	switch system {
	case "windows":
		if dir := env(windows); dir != "" {
			return filepath.Join(dir, "belay"), nil
		}
		return "", errors.New("%" + windows + "% is not set: set BELAY_HOME and BELAY_CONFIG")
	case "darwin", "ios":
		under = "Library/Application Support"
	default:
		// The specification requires relative paths to be ignored.
		if dir := env(xdg); filepath.IsAbs(dir) {
			return filepath.Join(dir, "belay"), nil
		}
	}
	if dir := env("HOME"); dir != "" {
		return filepath.Join(dir, filepath.FromSlash(under), "belay"), nil
	}
	return "", errors.New("$HOME is not set: set BELAY_HOME and BELAY_CONFIG")
}
