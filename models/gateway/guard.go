package gateway

import (
	"crypto/sha256"
	"crypto/subtle"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
)

// admit says why a request may not come in; nil: it may.
//
// Without a token everybody on this computer is served, and pages that a browser
// shows are not among them: a page that names its own server 127.0.0.1 (DNS
// rebinding) is told by the Host that it asks for, any other by its Origin.
func (g *Gateway) admit(r *http.Request) *refusal {
	return admit(r, g.o.Token, "The token of the gateway is missing or wrong: send it as the API key.")
}

// admit is the gateway's for whatever is served; missing says what a request lacks.
func admit(r *http.Request, token, missing string) *refusal {
	if token != "" {
		if !sameToken(bearer(r), token) {
			return &refusal{
				status: http.StatusUnauthorized, kind: invalidRequest, code: "invalid_api_key", message: missing,
			}
		}
		return nil
	}
	if !isLoopbackHost(r.Host) {
		return forbidden("This address was asked for by a name that is not of this computer: use 127.0.0.1 or localhost.")
	}
	if origin := r.Header.Get("Origin"); origin != "" && !isOwnOrigin(origin, r.Host) {
		return forbidden("Pages in a browser may not use this address without a token.")
	}
	return nil
}

// Guard lets requests through to a handler that the gateway would let in: with the
// token, or without one those of this computer that come from no web page.
func Guard(token string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		bad := admit(r, token, "The token of this address is missing or wrong: send it as `Authorization: Bearer TOKEN`.")
		if bad != nil {
			bad.write(w)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func forbidden(message string) *refusal {
	return &refusal{status: http.StatusForbidden, kind: invalidRequest, code: "forbidden", message: message}
}

// bearer is the key that a client sends.
func bearer(r *http.Request) string {
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.TrimSpace(token)
}

// sameToken compares in a time that says nothing of where they differ, nor how long
// the right one is.
func sameToken(got, want string) bool {
	a, b := sha256.Sum256([]byte(got)), sha256.Sum256([]byte(want))
	return subtle.ConstantTimeCompare(a[:], b[:]) == 1
}

// isLoopbackHost reports whether a Host header names this computer.
func isLoopbackHost(host string) bool {
	name := host
	if h, _, err := net.SplitHostPort(host); err == nil {
		name = h
	}
	name = strings.TrimSuffix(strings.TrimPrefix(name, "["), "]")
	if strings.EqualFold(name, "localhost") {
		return true
	}
	addr, err := netip.ParseAddr(name)
	return err == nil && addr.IsLoopback()
}

func isOwnOrigin(origin, host string) bool {
	u, err := url.Parse(origin)
	return err == nil && u.Host == host
}

// IsLoopback reports whether an address to listen on is reached from this computer
// alone.
func IsLoopback(addr string) bool {
	host, _, err := net.SplitHostPort(addr)
	return err == nil && host != "" && isLoopbackHost(host)
}
