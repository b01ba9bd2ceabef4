//go:build race

package main

// raceEnabled is whether the race detector slows everything down.
const raceEnabled = true
