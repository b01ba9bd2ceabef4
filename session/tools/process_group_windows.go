package tools

import "os/exec"

// shellProgram is what a command line is given to. Git for Windows brings a
// bash; without it the command goes to PowerShell.
func shellProgram() (name, flag string) {
	if bash, err := exec.LookPath("bash"); err == nil {
		return bash, "-c"
	}
	return "powershell.exe", "-Command"
}

// ProcessGroupAlive reports whether a process group has members left; here it is not known.
func ProcessGroupAlive(int) bool { return false }
