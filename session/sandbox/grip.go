package sandbox

// Grip is how well the running system holds commands that somebody allowed.
type Grip int

// The grips.
const (
	None  Grip = iota // nothing holds them
	Parts             // files and the network, not all else
	Full              // nothing but what a Profile names
)

// Word is for a line that has little room; empty: all is held.
func (g Grip) Word() string {
	switch g {
	case None:
		return "no sandbox"
	case Parts:
		return "sandbox in part"
	}
	return ""
}

// Text says what commands can do that somebody allowed.
func (g Grip) Text() string {
	switch g {
	case None:
		return "nothing on this system holds the commands that you allow: they can do what you can"
	case Parts:
		return "those that you allow are held by " + Mechanism() + ": they write to the workspace, temporary folders and " +
			"caches; " + partText
	}
	return "those that you allow are held by " + Mechanism() + ": they write to the workspace, temporary folders and " +
		"caches, and reach the network if you allow it; what they start ends with them"
}
