package config

import (
	"net"
	"strconv"
	"time"
)

// Gateway is how `belay gateway` serves other programs.
type Gateway struct {
	Address  string        `toml:"address"`   // to listen on
	TokenEnv string        `toml:"token_env"` // the variable with the token that every request must carry; empty: none
	Hold     time.Duration `toml:"hold"`      // how long the beginning of a reply is waited for
	Requests int           `toml:"requests"`  // at once
}

// checkListen checks an address to listen on.
func checkListen(v any) (problem, hint string) {
	_, port, err := net.SplitHostPort(v.(string))
	if n, notNumber := strconv.Atoi(port); err != nil || notNumber != nil || n < 0 || n > 65535 {
		return "is no address to listen on", `write it like "127.0.0.1:8790"`
	}
	return "", ""
}

// checkOptionalAddress checks an address that may be left empty.
func checkOptionalAddress(v any) (problem, hint string) {
	if v.(string) == "" {
		return "", ""
	}
	return checkAddress(v)
}
