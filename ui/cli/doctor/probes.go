package doctor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"belay/models"
	"belay/ui/plain"
)

// probeKind is the one thing that a probe changes.
type probeKind string

// The probes, in the order they are made. Each but the first changes one thing
// against the short one.
const (
	probeShort  probeKind = "short"  // whole reply, a few words
	probeStream probeKind = "stream" // the same, streamed
	probeTool   probeKind = "tool"   // the same, with a tool to call
	probeJSON   probeKind = "json"   // the same, with a structured answer
	probeLarge  probeKind = "large"  // the same, with a larger input
)

// largeProbe is how many bytes the larger request carries: some 16,000 tokens,
// enough to tell a busy model from one that refuses size, at little cost.
const largeProbe = 56 << 10

// probeSchema is the tool that the model is asked to call.
const probeSchema = `{"type":"object","additionalProperties":false,"required":["word"],` +
	`"properties":{"word":{"type":"string"}}}`

func (k probeKind) request() models.Request {
	req := models.Request{
		Instructions: "You answer with one word.",
		Items:        []models.Item{models.NewMessage(models.User, "Say OK.")},
		NoStream:     true,
		Operation:    "doctor",
	}
	switch k {
	case probeStream:
		req.NoStream = false
	case probeTool:
		req.NoStream = false
		req.Tools = []models.ToolSpec{{Name: "say", Description: "Say a word.", Schema: []byte(probeSchema)}}
		req.Items[0].Text = "Call the tool say with the word OK."
	case probeJSON:
		req.NoStream = false
		req.Items[0].Text = `Answer with this JSON object and nothing else: {"word": "OK"}`
	case probeLarge:
		req.NoStream = false
		req.Items[0].Text = strings.Repeat("This line only makes the request longer.\n", largeProbe/41) + "Say OK."
	}
	return req
}

// probes tries one target. After a failure that every probe would share, the
// rest is left out.
func (x *examination) probes(ctx context.Context, tier models.Tier, target models.Target) {
	kinds := []probeKind{probeShort, probeStream, probeTool, probeLarge}
	if x.Fallbacks {
		kinds = []probeKind{probeShort, probeStream, probeTool, probeJSON}
	}
	for _, kind := range kinds {
		if ctx.Err() != nil {
			return
		}
		f := x.probe(ctx, target, kind)
		f.tier = tier
		if x.Curl && !f.OK {
			f.Curl, _ = x.client.Curl(target, kind.request()) // an unknown provider has been told
		}
		x.report(f)
		if f.Fault != nil && kind == probeShort && f.Fault.Kind.Policy().Final {
			return
		}
	}
}

// probe makes one attempt, without any retry.
func (x *examination) probe(ctx context.Context, target models.Target, kind probeKind) Finding {
	out := Finding{Check: string(kind), Target: target.String(), probe: kind, target: target}
	began := x.env.Now()
	var text strings.Builder
	var calls []models.Item
	served := ""
	for chunk, err := range x.client.Stream(ctx, target, kind.request()) {
		if err != nil {
			var f *models.Fault
			if !errors.As(err, &f) {
				f = &models.Fault{Kind: models.KindStream, Message: err.Error()}
			}
			f.CheckName(x.names[target.Provider])
			out.Fault, out.Text, out.Duration = f, plain.Describe(f), x.env.Now().Sub(began)
			return out
		}
		switch c := chunk.(type) {
		case models.TextDelta, models.ReasoningDelta, models.CallDelta:
			if out.FirstToken == 0 {
				out.FirstToken = x.env.Now().Sub(began)
			}
		case models.ItemDone:
			text.WriteString(c.Item.Text)
			if c.Item.Kind == models.Call {
				calls = append(calls, c.Item)
			}
		case models.Finished:
			served = c.Served
		}
	}
	out.Duration = x.env.Now().Sub(began)
	out.OK, out.Text = kind.judge(text.String(), calls)
	if served != "" && !models.SameName(served, target.Model) {
		out.Text += ", served by " + served
	}
	out.Text = fmt.Sprintf("%s in %s", out.Text, out.Duration.Round(1e7))
	return out
}

// judge looks at a reply that came.
func (k probeKind) judge(text string, calls []models.Item) (bool, string) {
	switch k {
	case probeTool:
		if len(calls) == 0 {
			return false, "answered without calling the tool: not fit for work with tools"
		}
		if calls[0].Name != "say" || !json.Valid([]byte(calls[0].Arguments)) {
			return false, "called the tool with arguments that are not JSON"
		}
		return true, "called the tool"
	case probeJSON:
		var v struct{ Word string }
		if err := json.Unmarshal([]byte(findJSON(text)), &v); err != nil || v.Word == "" {
			return false, "the structured answer cannot be read"
		}
		return true, "gave a structured answer"
	}
	if strings.TrimSpace(text) == "" {
		return false, "answered without a word"
	}
	return true, "answered"
}

// findJSON finds the JSON object in an answer: models put fences and prose around
// it although they were told not to.
func findJSON(text string) string {
	start, end := strings.IndexByte(text, '{'), strings.LastIndexByte(text, '}')
	if start < 0 || end < start {
		return ""
	}
	return text[start : end+1]
}
