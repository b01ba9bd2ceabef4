package openai

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"golang.org/x/net/http/httpproxy"
)

// ProxyFunc says through which proxy a request goes; nil: through none.
type ProxyFunc func(*http.Request) (*url.URL, error)

// NewTransport is the way over the network. Roots are the certificates that are
// trusted; nil: the system's.
func NewTransport(proxy ProxyFunc, roots *x509.CertPool) *http.Transport {
	return &http.Transport{
		Proxy:               proxy,
		DialContext:         (&net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
		TLSClientConfig:     &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12},
		ForceAttemptHTTP2:   true,
		MaxIdleConns:        20,
		IdleConnTimeout:     90 * time.Second,
		TLSHandshakeTimeout: 15 * time.Second,
	}
}

func transport() http.RoundTripper { return NewTransport(http.ProxyFromEnvironment, nil) }

// proxySchemes are those of the proxies that net/http can speak to.
var proxySchemes = []string{"http", "https", "socks5", "socks5h"}

// Proxies reads the variables of the environment as curl does: HTTPS_PROXY and
// HTTP_PROXY for their schemes, ALL_PROXY for what they leave open, NO_PROXY for
// exceptions; lower case comes first. Loopback addresses need no proxy. An
// address that cannot be used is an error, for without it requests would take a
// way that the user did not mean.
func Proxies(getenv func(string) string) (ProxyFunc, error) {
	both := func(name string) string { return cmp.Or(getenv(strings.ToLower(name)), getenv(name)) }
	settings := httpproxy.Config{NoProxy: both("NO_PROXY"), CGI: getenv("REQUEST_METHOD") != ""}
	for _, variable := range []struct {
		name string
		to   []*string
	}{
		{"HTTPS_PROXY", []*string{&settings.HTTPSProxy}},
		{"HTTP_PROXY", []*string{&settings.HTTPProxy}},
		{"ALL_PROXY", []*string{&settings.HTTPSProxy, &settings.HTTPProxy}},
	} {
		address, err := proxyAddress(both(variable.name))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", variable.name, err)
		}
		for _, to := range variable.to {
			*to = cmp.Or(*to, address)
		}
	}
	find := settings.ProxyFunc()
	return func(r *http.Request) (*url.URL, error) { return find(r.URL) }, nil
}

// proxyAddress checks the address of a proxy, which may lack its scheme. The
// error repeats none of it: it may hold a password.
func proxyAddress(text string) (string, error) {
	text = strings.TrimSpace(text)
	if text == "" {
		return "", nil
	}
	if !strings.Contains(text, "://") {
		text = "http://" + text
	}
	if rest, ok := strings.CutPrefix(text, "socks://"); ok { // as desktops write it
		text = "socks5://" + rest
	}
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Hostname() == "":
		return "", errors.New("is not the address of a proxy, such as http://127.0.0.1:3128")
	case !slices.Contains(proxySchemes, u.Scheme):
		return "", fmt.Errorf("proxies of the kind %.20q are not spoken to; use one of %s",
			u.Scheme, strings.Join(proxySchemes, ", "))
	}
	return text, nil
}

// Certificates are the system's, and those of a file in PEM, as SSL_CERT_FILE
// names one. Go reads that variable by itself, but not on macOS and Windows.
func Certificates(pem []byte) (*x509.CertPool, error) {
	pool, err := x509.SystemCertPool()
	if err != nil {
		pool = x509.NewCertPool()
	}
	if !pool.AppendCertsFromPEM(pem) {
		return nil, errors.New("it holds no certificate in PEM")
	}
	return pool, nil
}
