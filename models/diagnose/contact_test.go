package diagnose

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"syscall"
	"testing"

	"belay/models"
)

func TestHowFarAConnectionCame(t *testing.T) {
	dial := func(err error) error { return &net.OpError{Op: "dial", Net: "tcp", Err: err} }
	for _, tt := range []struct {
		name   string
		err    error
		status int
		want   models.Contact
	}{
		{"a name that is not found", dial(&net.DNSError{Err: "no such host", Name: "a.example"}), 0, models.ContactFailed},
		{"a refused port", dial(syscall.ECONNREFUSED), 0, models.ContactFailed},
		{"no way there", dial(syscall.EHOSTUNREACH), 0, models.ContactFailed},
		{"a proxy that is not there", &net.OpError{Op: "proxyconnect", Err: dial(syscall.ECONNREFUSED)}, 0,
			models.ContactFailed},
		{"a certificate of nobody", &tls.CertificateVerificationError{Err: x509.UnknownAuthorityError{}}, 0,
			models.ContactFailed},
		{"a certificate of another name", x509.HostnameError{Certificate: &x509.Certificate{}, Host: "a"}, 0,
			models.ContactFailed},
		{"no encryption there", tls.RecordHeaderError{Msg: "first record does not look like TLS"}, 0, models.ContactFailed},
		{"http asked, https meant", errors.New("http: server gave HTTP response to HTTPS client"), 0, models.ContactFailed},
		{"another protocol", errors.New(`malformed HTTP response "SSH-2.0-OpenSSH_9.2"`), 0, models.ContactFailed},
		{"accepted and closed", io.EOF, 0, models.ContactClosed},
		{"accepted and reset", &net.OpError{Op: "read", Net: "tcp", Err: syscall.ECONNRESET}, 0, models.ContactClosed},
		{"closed while it was asked", &net.OpError{Op: "write", Net: "tcp", Err: syscall.EPIPE}, 0, models.ContactClosed},
		{"closed while it was asked, and read first", &net.OpError{Op: "write", Net: "tcp", Err: net.ErrClosed}, 0,
			models.ContactClosed},
		{"aborted", &net.OpError{Op: "read", Net: "tcp", Err: syscall.ECONNABORTED}, 0, models.ContactClosed},
		{"sent away", errors.New("http2: server sent GOAWAY and closed the connection; ErrCode=NO_ERROR"), 0,
			models.ContactClosed},
		{"closed before it was asked", errors.New("http: server closed idle connection"), 0, models.ContactClosed},
		{"headers that are none", errors.New(`net/http: HTTP/1.x transport connection broken: malformed MIME header: x`), 0,
			models.ContactClosed},
		{"torn in the headers", io.ErrUnexpectedEOF, 0, models.ContactClosed},
		{"the network went away", &net.OpError{Op: "read", Net: "tcp", Err: syscall.ENETDOWN}, 0, ""},
		{"torn after the headers", io.ErrUnexpectedEOF, http.StatusOK, ""},
		{"silent", ErrSilent, 0, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			err := fmt.Errorf("send: %w", &url.Error{Op: "Post", URL: "https://a.example/v1", Err: tt.err})
			if got := Fault(Evidence{Err: err, Status: tt.status}).Contact; got != tt.want {
				t.Errorf("%q, want %q", got, tt.want)
			}
		})
	}
}
