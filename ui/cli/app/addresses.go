package app

import (
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
)

// Addresses gives where the terminal can open a path of a workspace: a file: address,
// with the host's name, for it may be shown by another (RFC 8089). It is nil where the
// setting, or what the environment tells of the terminal, wants no links.
func Addresses(setting string, env func(string) string, workspace string) func(path string) string {
	if setting == "off" || setting != "on" && !takesLinks(env) {
		return nil
	}
	host, err := os.Hostname()
	if err != nil {
		host = ""
	}
	root, err := filepath.EvalSymlinks(workspace)
	if err != nil {
		root = workspace
	}
	return func(path string) string {
		if !openable(root, workspace, path) {
			return ""
		}
		if !filepath.IsAbs(path) {
			path = filepath.Join(workspace, path)
		}
		path = filepath.ToSlash(filepath.Clean(path))
		if !strings.HasPrefix(path, "/") { // a drive
			path = "/" + path
		}
		return (&url.URL{Scheme: "file", Host: host, Path: path}).String()
	}
}

// started are endings of files that opening may start as a program.
var started = []string{
	".app", ".bat", ".cmd", ".com", ".command", ".desktop", ".exe", ".fileloc", ".hta", ".inetloc", ".jar", ".js", ".jse",
	".lnk", ".msi", ".ps1", ".reg", ".scpt", ".scr", ".terminal", ".tool", ".url", ".vbe", ".vbs", ".webloc", ".workflow",
	".wsf", ".wsh",
}

// openable reports whether a path is a file of the workspace, seen through its symbolic
// links, and none that opening would start.
func openable(root, workspace, path string) bool {
	local := filepath.FromSlash(path)
	if filepath.IsAbs(local) {
		relative, err := filepath.Rel(workspace, local)
		if err != nil {
			return false
		}
		local = relative
	}
	if !filepath.IsLocal(local) {
		return false
	}
	target, err := filepath.EvalSymlinks(filepath.Join(root, local))
	if err != nil {
		return false
	}
	within, err := filepath.Rel(root, target)
	if err != nil || !filepath.IsLocal(within) {
		return false
	}
	info, err := os.Stat(target)
	if err != nil || !info.Mode().IsRegular() || runtime.GOOS != "windows" && info.Mode()&0o111 != 0 {
		return false
	}
	starts := func(name string) bool { return slices.Contains(started, strings.ToLower(filepath.Ext(name))) }
	return !starts(local) && !starts(target)
}

// takesLinks reports whether a terminal is known to take hyperlinks (OSC 8), or at
// least to pass over them.
func takesLinks(env func(string) string) bool {
	term := env("TERM")
	switch {
	case env("TMUX") != "": // it passes them on where the terminal takes them
		return true
	case env("STY") != "", env("TERM_PROGRAM") == "Apple_Terminal":
		return false
	case env("VTE_VERSION") != "":
		const first = 5001 // 0.50.0 crashes of them
		version, err := strconv.Atoi(env("VTE_VERSION"))
		return err == nil && version >= first
	case runtime.GOOS == "windows":
		return env("WT_SESSION") != "" || env("TERM_PROGRAM") != ""
	}
	for _, without := range []string{"linux", "dumb", "screen", "vt", "ansi", "cons", "cygwin", "eterm", "sun"} {
		if strings.HasPrefix(term, without) {
			return false
		}
	}
	return term != ""
}
