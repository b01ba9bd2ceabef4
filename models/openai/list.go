package openai

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"time"

	"belay/models"
)

// listLimit is how long an endpoint may take to list its models.
const listLimit = 30 * time.Second

// Models asks a provider which models it offers, in its own order. The error
// is a *models.Fault.
func (c *Client) Models(ctx context.Context, provider string) ([]string, error) {
	try, fault := c.attempt(ctx, models.Target{Provider: provider})
	if fault != nil {
		return nil, fault
	}
	defer try.close()
	try.origin.API = "" // the list is the same for each
	try.limit = listLimit
	try.watch.Reset(try.limit)
	names, err := try.list()
	if err != nil {
		return nil, try.fault(err)
	}
	return names, nil
}

func (a *attempt) list() ([]string, error) {
	r, err := a.request(http.MethodGet, "models", nil)
	if err != nil {
		return nil, err
	}
	a.headers(r.Header, models.Request{NoStream: true})
	if a.res, err = a.c.http.Do(r); err != nil {
		return nil, err
	}
	a.phase, a.status, a.header = models.BeforeEvent, a.res.StatusCode, a.res.Header
	body, err := readDocument(countingReader{a.res.Body, &a.bytes})
	if err != nil {
		return nil, err
	}
	if a.status < 200 || a.status > 299 {
		return nil, &apiError{body: body}
	}
	type entry struct {
		ID   looseString `json:"id"`
		Slug looseString `json:"slug"`
		Name looseString `json:"name"`
	}
	var listed struct {
		Data   []entry         `json:"data"`
		Models []entry         `json:"models"`
		Error  json.RawMessage `json:"error"`
	}
	entries := []entry(nil)
	if decode(body, &entries) != nil || entries == nil {
		if decode(body, &listed) != nil || listed.Data == nil && listed.Models == nil {
			if isGiven(listed.Error) {
				return nil, &apiError{event: body}
			}
			return nil, &apiError{body: body}
		}
		entries = append(listed.Data, listed.Models...)
	}
	var names []string
	seen := map[string]bool{}
	for _, e := range entries {
		name := string(cmp.Or(e.ID, e.Slug, e.Name))
		if name != "" && !seen[name] {
			seen[name] = true
			names = append(names, name)
		}
	}
	return names, nil
}
