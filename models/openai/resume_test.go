package openai_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"belay/models"
	"belay/models/rehearsal"
)

// requests lists what a server was asked, as method and path.
func requests(s *rehearsal.Server) []string {
	var list []string
	for _, x := range s.Log() {
		path := strings.TrimPrefix(x.Path, "/v1")
		if dir, id, ok := strings.Cut(path, "/resp_"); ok {
			_, verb, _ := strings.Cut(id, "/")
			path = strings.TrimSuffix(dir+"/ID/"+verb, "/")
		}
		list = append(list, x.Method+" "+path)
	}
	return list
}

func resuming() models.Provider {
	p := provider(models.Responses)
	p.Resume = true
	return p
}

func TestAReplyIsTakenUpWhereItsConnectionBroke(t *testing.T) {
	for _, how := range []string{"cut", "reset", "end", "stall", "comments"} {
		for _, at := range []string{"reasoning", "text", "arguments", "item", "end"} {
			t.Run(how+" at "+at, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s := script(
						t,
						slow+"[[reply]]\nusage = { input = 120, cached = 80, output = 60, reasoning = 20 }\n"+fullReply+fmt.Sprintf(
							"fault = { how = %q, at = %q }\n",
							how,
							at,
						),
					)
					c := client(s, resuming())
					r := attempt(t, context.Background(), c, hello())
					c.Close()
					if r.fault != nil {
						t.Fatalf("failed: %v", r.fault)
					}
					if r.text != "0123456789" || r.reasoning != "I think." || len(r.items) != 3 {
						t.Errorf("said %q, thought %q, %d items; want each once", r.text, r.reasoning, len(r.items))
					}
					if got, want := r.finished.Usage, (models.Usage{Input: 120, Cached: 80, Output: 60, Reasoning: 20}); got != want {
						t.Errorf("usage = %+v, want %+v", got, want)
					}
					if got, want := requests(s), []string{"POST /responses", "GET /responses/ID"}; !slices.Equal(
						got,
						want,
					) {
						t.Errorf("requests = %q, want %q", got, want)
					}
					if n := count[models.Resumed](r.chunks); n != 1 {
						t.Errorf("resumed %d times, want once", n)
					}
				})
			})
		}
	}
}

func count[C models.Chunk](chunks []models.Chunk) (n int) {
	for _, c := range chunks {
		if _, ok := c.(C); ok {
			n++
		}
	}
	return n
}

// lame lets a connection break again and again.
type lame struct {
	*rehearsal.Server
	get func(r *http.Request, res *http.Response) (*http.Response, error)
}

func (l lame) RoundTrip(r *http.Request) (*http.Response, error) {
	res, err := l.Server.RoundTrip(r)
	if err == nil && r.Method == http.MethodGet {
		return l.get(r, res)
	}
	return res, err
}

func TestAReplyThatCannotBeTakenUpFailsAsUsual(t *testing.T) {
	broken := errors.New("connection reset by peer")
	for name, c := range map[string]struct {
		get    func(r *http.Request, res *http.Response) (*http.Response, error)
		gets   int
		cancel bool
	}{
		"no connection": {func(*http.Request, *http.Response) (*http.Response, error) { return nil, broken }, 3, true},
		"breaks again": {func(_ *http.Request, res *http.Response) (*http.Response, error) {
			res.Body = &torn{res.Body}
			return res, nil
		}, 3, true},
		"is gone": {func(_ *http.Request, res *http.Response) (*http.Response, error) {
			res.StatusCode = 404
			return res, nil
		}, 1, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := script(t, slow+"[[reply]]\n"+fullReply+"fault = { how = \"cut\", at = \"text\" }")
				client := client(lame{s, c.get}, resuming())
				r := attempt(t, context.Background(), client, hello())
				client.Close()
				if r.fault == nil || r.fault.Kind != models.KindStream || r.fault.Phase != models.InText {
					t.Fatalf("fault = %v, want a broken stream in the text", r.fault)
				}
				if r.text != "01234" {
					t.Errorf("said %q, want 01234", r.text)
				}
				want := append([]string{"POST /responses"}, slices.Repeat([]string{"GET /responses/ID"}, c.gets)...)
				if got := requests(s); !slices.Equal(got, append(want, "POST /responses/ID/cancel")) {
					t.Errorf("requests = %q, want %q and a cancel", got, want)
				}
			})
		})
	}
}

// torn is a body that ends before its first byte.
type torn struct{ body interface{ Close() error } }

func (torn) Read([]byte) (int, error) { return 0, errors.New("connection reset by peer") }
func (t torn) Close() error           { return t.body.Close() }

func TestLeavingAReplyInTheBackgroundCancelsIt(t *testing.T) {
	for name, resume := range map[string]bool{"cancelled": true, "not kept, so nothing to cancel": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := script(t, slow+"[[reply]]\ntext = \"0123456789\"\nfault = { how = \"stall\", at = \"text\" }")
				p := resuming()
				p.Resume = resume
				c := client(s, p)
				ctx, cancel := context.WithTimeout(context.Background(), time.Second)
				defer cancel()
				began := time.Now()
				r := attempt(t, ctx, c, hello())
				if took := time.Since(began); took != time.Second {
					t.Errorf("stopping took until %v, want 1s", took)
				}
				c.Close()
				if r.fault == nil || r.fault.Kind != models.KindCancelled {
					t.Errorf("fault = %v, want cancelled", r.fault)
				}
				want := []string{"POST /responses"}
				if resume {
					want = append(want, "POST /responses/ID/cancel")
				}
				if got := requests(s); !slices.Equal(got, want) {
					t.Errorf("requests = %q, want %q", got, want)
				}
			})
		})
	}
}

func TestOnlyWhoAsksForItHasRepliesStored(t *testing.T) {
	for _, api := range []models.API{models.Responses, models.Chat} {
		for _, resume := range []bool{false, true} {
			s := script(t, "[default]\ntext = \"ok\"")
			p := provider(api)
			p.Resume, p.ServiceTier = resume, "flex"
			attempt(t, context.Background(), client(s, p), hello())
			body := string(s.Log()[0].Body)
			if got, want := strings.Contains(body, `"background":true`) && strings.Contains(body, `"store":true`), resume &&
				api == models.Responses; got != want {
				t.Errorf("%s, resume = %v: stored = %v, want %v: %s", api, resume, got, want, body)
			}
			if !strings.Contains(body, `"service_tier":"flex"`) {
				t.Errorf("%s: no service tier in %s", api, body)
			}
		}
	}
}
