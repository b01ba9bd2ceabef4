package gateway

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"belay/models/route"
)

// patience is when a test gives up: far beyond every limit that is set here.
const patience = time.Minute

// smallBuffers are connections that hold little of what nobody reads.
type smallBuffers struct{ net.Listener }

func (l smallBuffers) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return conn, conn.(*net.TCPConn).SetWriteBuffer(4 << 10)
}

// serve has a rig answer at a real socket. It gives the address, and who has been
// answered: the paths of requests whose handler has returned.
func (r *rig) serve(t *testing.T) (address string, ended <-chan string) {
	t.Helper()
	over := make(chan string, 1000)
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		r.ServeHTTP(w, q)
		select {
		case over <- q.URL.Path:
		default: // more than anybody asks for
		}
	}))
	server.Listener = smallBuffers{server.Listener}
	server.Start()
	t.Cleanup(server.Close) // waits for all that are being answered
	return server.Listener.Addr().String(), over
}

// dial connects a client that has little room for what it does not read.
func dial(t *testing.T, address string) *net.TCPConn {
	t.Helper()
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	tcp := conn.(*net.TCPConn)
	if err := errors.Join(tcp.SetReadBuffer(4<<10), tcp.SetDeadline(time.Now().Add(patience))); err != nil {
		t.Fatal(err)
	}
	return tcp
}

func awaited[T any](t *testing.T, what string, c <-chan T) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(patience):
		t.Fatal("there is no end of " + what)
		panic("not reached")
	}
}

const long = `
[[reply]]
user = "much"
times = -1
speed = { chunk = 8192 }
text = "LONG"

[default]
text = "Hello."
`

func TestAClientThatDoesNotReadHoldsNothing(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, path, request, upstream string }{
		{"a stream of Responses", "/v1/responses", `{"model":"heavy","stream":true,"input":"much"}`, "left"},
		{"a stream of Chat Completions", "/v1/chat/completions",
			`{"model":"heavy","stream":true,"messages":[{"role":"user","content":"much"}]}`, "left"},
		{"in one piece", "/v1/responses", `{"model":"heavy","input":"much"}`, "done"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			script := strings.Replace(long, "LONG", strings.Repeat("much to read ", 200_000), 1)
			done := make(chan Exchange, 10)
			r := newRig(t, script, func(o *Options, _ *route.Options) {
				o.WriteLimit = 200 * time.Millisecond
				o.Done = func(e Exchange) { done <- e }
			})
			address, ended := r.serve(t)
			slow := dial(t, address)
			_, err := io.WriteString(slow, "POST "+c.path+" HTTP/1.1\r\nHost: localhost\r\nContent-Length: "+
				strconv.Itoa(len(c.request))+"\r\n\r\n"+c.request)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := bufio.NewReaderSize(slow, 16).ReadString('\n'); err != nil {
				t.Fatalf("the reply does not begin: %v", err)
			}
			other, err := http.Post("http://"+address+"/v1/responses", "application/json",
				strings.NewReader(`{"model":"medium","input":"hi"}`))
			if err != nil {
				t.Fatal(err)
			}
			answer, err := io.ReadAll(other.Body)
			if err := errors.Join(err, other.Body.Close()); err != nil || !strings.Contains(string(answer), "Hello.") {
				t.Errorf("another client gets %.200s, %v", answer, err)
			}
			outcomes := map[string]Outcome{}
			for range 2 {
				awaited(t, "the handlers", ended)
				e := awaited(t, "the exchanges", done)
				outcomes[e.Asked] = e.Outcome
			}
			if outcomes["heavy"] != Left || outcomes["medium"] != Answered {
				t.Errorf("told %v", outcomes)
			}
			if load := r.Load(); load != (Load{}) {
				t.Errorf("under way are still %+v", load)
			}
			// What is answered in one piece is whole before it meets the client.
			if log := r.upstream.Log(); len(log) != 2 || log[0].Outcome != c.upstream {
				t.Errorf("upstream, the attempt is %q of %d, want %q", log[0].Outcome, len(log), c.upstream)
			}
		})
	}
}

func TestAClientThatAsksAndNeverReadsIsLeft(t *testing.T) {
	t.Parallel()
	r := newRig(t, hello, func(o *Options, _ *route.Options) {
		o.ReadLimit, o.WriteLimit = 100*time.Millisecond, 100*time.Millisecond
	})
	address, _ := r.serve(t)
	conn := dial(t, address)
	ask := []byte(strings.Repeat("GET /v1/models HTTP/1.1\r\nHost: localhost\r\n\r\n", 100))
	var err error
	for err == nil {
		_, err = conn.Write(ask)
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		t.Error("the gateway waits for it for ever")
	}
}

func TestABodyThatDoesNotComeIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, path, head string
		drip             string // what comes again and again
		want             int
	}{
		{"a byte at a time", "/v1/responses", "Content-Length: 1000000\r\n\r\n", " ", http.StatusRequestTimeout},
		{"piece by piece", "/v1/chat/completions", "Transfer-Encoding: chunked\r\n\r\n", "1\r\n \r\n",
			http.StatusRequestTimeout},
		{"never", "/v1/responses", "Content-Length: 10\r\n\r\n", "", http.StatusRequestTimeout},
		{"where nobody reads it", "/v1/nothing", "Content-Length: 1000\r\n\r\n", "", http.StatusNotFound},
		{"when it is a page's", "/v1/responses", "Origin: http://evil.example\r\nContent-Length: 1000\r\n\r\n", "",
			http.StatusForbidden},
		{"when only a GET may be", "/v1/models", "Content-Length: 1000\r\n\r\n", "", http.StatusMethodNotAllowed},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, hello, func(o *Options, _ *route.Options) {
				o.ReadLimit, o.WriteLimit = 200*time.Millisecond, 100*time.Millisecond
			})
			address, ended := r.serve(t)
			conn := dial(t, address)
			if _, err := io.WriteString(conn, "POST "+c.path+" HTTP/1.1\r\nHost: localhost\r\n"+c.head); err != nil {
				t.Fatal(err)
			}
			answered := make(chan int)
			go func() {
				defer close(answered)
				res, err := http.ReadResponse(bufio.NewReader(conn), nil)
				if err != nil {
					t.Errorf("no answer: %v", err)
					return
				}
				_, _ = io.Copy(io.Discard, res.Body)
				_ = res.Body.Close()
				answered <- res.StatusCode
			}()
			drip := time.NewTicker(10 * time.Millisecond)
			defer drip.Stop()
			for got := 0; got == 0; {
				select {
				case got = <-answered:
					if got != c.want {
						t.Errorf("got %d, want %d", got, c.want)
					}
					got = 1
				case <-drip.C:
					_, _ = io.WriteString(conn, c.drip) // the answer says when that is enough
				}
			}
			awaited(t, "the handler", ended)
			if load := r.Load(); load != (Load{}) || r.bodies.Load() != 0 {
				t.Errorf("under way are still %+v, %d bytes", load, r.bodies.Load())
			}
		})
	}
}
