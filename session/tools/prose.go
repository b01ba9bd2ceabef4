package tools

import "belay/session/sandbox"

// sandboxProse tells a model what holds commands: what this system can, and the
// settings say. It stays the same for a session, for it is part of each request.
func sandboxProse(grip sandbox.Grip, open bool, network string) string {
	const (
		unasked = "A command that only reads runs without a question, held to that by the kernel; "
		asks    = "any other asks the user, or not, as they chose, "
	)
	switch {
	case grip == sandbox.None:
		return "Nothing on this system holds commands: a plain one that only reads may run without a question; " + asks +
			"and can do all that the user can."
	case open:
		return unasked + asks + "and can do all that the user can: the sandbox is off."
	}
	text := unasked + asks + "and runs in a sandbox: it writes to the workspace, temporary folders and caches of tools, " +
		"reads no keys but those that its program needs, " + networkProse(network) + "."
	if grip == sandbox.Parts {
		text += " Here the sandbox holds only files and the network."
	}
	return text + " What the sandbox refused is said in the result, with the setting that allows it; if it is needed, " +
		"make exactly the same call again, and the user is asked for it."
}

func networkProse(network string) string {
	switch network {
	case networkAllow:
		return "and has the network"
	case networkDeny:
		return "and has no network, which the user's settings deny"
	}
	return "and has the network only for programs that use it (such as git push, npm install, curl)"
}
