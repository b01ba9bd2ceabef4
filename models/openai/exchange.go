package openai

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/responses"

	"belay/models"
)

// errorBodyLimit is how long the body of an error may take; its status is enough.
const errorBodyLimit = 30 * time.Second

// send makes the HTTP request and returns at the headers.
func (a *attempt) send(req models.Request) (*http.Response, error) {
	req = a.answerForm(req)
	if a.origin.API == models.Chat {
		return a.sendChat(req)
	}
	params, err := a.responseParams(req)
	if err != nil {
		return nil, fmt.Errorf("build request: %w", err)
	}
	var res *http.Response
	opts := []option.RequestOption{option.WithResponseBodyInto(&res)}
	for _, name := range a.dialect.omit {
		opts = append(opts, option.WithJSONDel(name))
	}
	if !req.NoStream { // not a field of the type; the SDK's own streaming call sets it in this way
		opts = append(opts, option.WithJSONSet("stream", true))
	}
	service := responses.NewResponseService(a.options(req)...)
	_, err = service.New(a.ctx, params, opts...)
	if res != nil {
		// Its error, if there is one, is read from the body: the SDK knows only
		// errors that are objects in JSON.
		return res, nil
	}
	return nil, err
}

func (a *attempt) options(req models.Request) []option.RequestOption {
	opts := []option.RequestOption{
		option.WithBaseURL(a.provider.BaseURL),
		option.WithHTTPClient(a.c.http),
		option.WithMaxRetries(0),
		option.WithMiddleware(func(r *http.Request, next option.MiddlewareNext) (*http.Response, error) {
			a.headers(r.Header, req)
			res, err := next(r)
			if err == nil && res.StatusCode >= http.StatusBadRequest {
				a.keepErrorBody(res)
			}
			return res, err
		}),
	}
	if a.provider.Key != "" {
		opts = append(opts, option.WithAPIKey(a.provider.Key))
	}
	if u, err := url.Parse(a.provider.BaseURL); err == nil {
		for name, values := range u.Query() {
			for _, value := range values {
				opts = append(opts, option.WithQueryAdd(name, value))
			}
		}
	}
	return opts
}

// keepErrorBody reads the body of an error before the SDK does, which would
// wait for its end without a limit, and lose all of it when it breaks off.
func (a *attempt) keepErrorBody(res *http.Response) {
	a.stopClock()
	body := res.Body
	timer := time.AfterFunc(errorBodyLimit, func() { _ = body.Close() })
	defer timer.Stop()
	contents, _ := io.ReadAll(io.LimitReader(body, maxErrorBody)) // as much as came of it
	_ = body.Close()
	res.Body = io.NopCloser(bytes.NewReader(contents))
}

// sendChat is send for Chat Completions, which live in the SDK's root package;
// importing that would cost minutes of building.
func (a *attempt) sendChat(req models.Request) (*http.Response, error) {
	body, err := a.chatBody(req)
	if err != nil {
		return nil, fmt.Errorf("build request: %w", err)
	}
	r, err := a.request(http.MethodPost, "chat/completions", bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	a.headers(r.Header, req)
	return a.c.http.Do(r)
}

func (a *attempt) request(method, path string, body io.Reader) (*http.Request, error) {
	u, err := url.Parse(a.provider.BaseURL)
	if err != nil {
		return nil, fmt.Errorf("parse base_url: %w", err)
	}
	r, err := http.NewRequestWithContext(a.ctx, method, u.JoinPath(path).String(), body)
	if err != nil {
		return nil, fmt.Errorf("make request: %w", err)
	}
	if a.provider.Key != "" {
		r.Header.Set("Authorization", "Bearer "+a.provider.Key)
	}
	return r, nil
}

// headers says honestly who asks.
func (a *attempt) headers(header http.Header, req models.Request) {
	for k := range header {
		if strings.HasPrefix(k, "X-Stainless-") {
			delete(header, k)
		}
	}
	header.Set("User-Agent", a.c.userAgent)
	header.Set("Accept", "text/event-stream")
	if req.NoStream {
		header.Set("Accept", "application/json")
	}
	header.Set("X-Client-Request-Id", a.traceID)
	if req.Operation != "" {
		header.Set("X-Belay-Operation", req.Operation)
	}
	for k, v := range a.provider.Headers {
		header.Set(k, v)
	}
}

type bodyForm int

const (
	formStream     bodyForm = iota
	formJSON                // a reply, or an error, in one piece
	formUnexpected          // a page, or nothing that a model sends
)

// detectForm looks at the first bytes, because content types lie: streams come
// without one, errors come as text, and pages come with status 200.
func (a *attempt) detectForm() (*bufio.Reader, bodyForm, error) {
	in := bufio.NewReaderSize(countingReader{&batchReader{r: a.res.Body}, &a.bytes}, 32<<10)
	if a.status < 200 || a.status > 299 {
		return in, formUnexpected, nil
	}
	a.startClock()
	defer a.stopClock()
	for {
		b, err := in.Peek(1)
		if err != nil {
			if errors.Is(err, io.EOF) {
				return in, formStream, nil // empty: the reader of streams says so
			}
			return in, formUnexpected, err
		}
		if strings.IndexByte(" \t\r\n\xef\xbb\xbf", b[0]) < 0 {
			break
		}
		_, _ = in.Discard(1)
	}
	first, err := in.Peek(5)
	if err != nil && !errors.Is(err, io.EOF) {
		return in, formUnexpected, err
	}
	for _, field := range []string{":", "data:", "event", "id:", "retry"} {
		if bytes.HasPrefix(first, []byte(field)) || strings.HasPrefix(field, string(first)) {
			return in, formStream, nil
		}
	}
	if first[0] == '{' || first[0] == '[' {
		return in, formJSON, nil
	}
	return in, formUnexpected, nil
}

// readUnexpected reads a reply that no model sent, or one with a bad status.
func (a *attempt) readUnexpected(in io.Reader) error {
	a.startClock()
	if a.status > 299 {
		a.watch.Reset(errorBodyLimit)
	}
	defer a.stopClock()
	body, err := io.ReadAll(io.LimitReader(in, maxErrorBody))
	if err != nil && len(body) == 0 && (a.parent.Err() != nil || a.status < 300) {
		return err
	}
	return &apiError{body: body}
}
