package openai_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"belay/models"
	"belay/models/diagnose"
)

// endless is a body that repeats itself with a number in each piece.
type endless struct {
	first string
	piece func(n int) string
	n     int
	rest  string
	read  int
}

func (e *endless) Read(p []byte) (int, error) {
	if e.rest == "" {
		e.rest = e.first + e.piece(e.n)
		e.first = ""
		e.n++
	}
	n := copy(p, e.rest)
	e.rest = e.rest[n:]
	e.read += n
	return n, nil
}

func (e *endless) Close() error { return nil }

// repeated is a body in one piece that holds much of the same.
func repeated(first, piece string, times int, last string) func(int) string {
	return func(n int) string {
		if n > 0 {
			return last
		}
		return first + strings.Repeat(piece, times)
	}
}

const mega = 1 << 20

var sign = strings.Repeat("x", 4000) // of life

// endlessReplies are replies that bring more of something than any reply needs.
var endlessReplies = []struct {
	name  string
	api   models.API
	first string
	piece func(n int) string
	want  string // in the error
	read  int    // how much of it is read at most, in MB
	kept  int    // finished calls that are kept
}{
	{name: "chat text", api: models.Chat, want: "8 MB of text", read: 20, piece: func(int) string {
		return chatPiece(`{"content":"` + strings.Repeat("word ", 200) + `"}`)
	}},
	{name: "chat text in an event", api: models.Chat, want: "8 MB of text", read: 10, piece: func(int) string {
		return chatPiece(`{"content":"` + strings.Repeat("word ", 9*mega/5) + `"}`)
	}},
	{name: "chat reasoning", api: models.Chat, want: "8 MB of reasoning", read: 20, piece: func(int) string {
		return chatPiece(`{"reasoning_content":"` + strings.Repeat("hmm ", 300) + `"}`)
	}},
	{name: "chat reasoning in tags", api: models.Chat, want: "8 MB of reasoning", read: 20,
		first: chatPiece(`{"content":"<think>"}`), piece: func(int) string {
			return chatPiece(`{"content":"` + strings.Repeat("hmm ", 300) + `"}`)
		}},
	{
		name: "chat reasoning that is sealed",
		api:  models.Chat,
		want: "64 MB of text",
		read: 70,
		piece: func(n int) string {
			return chatPiece(fmt.Sprintf(`{"reasoning_details":[{"type":"x","index":%d,"data":"%s"}]}`, n,
				strings.Repeat("A", 1<<16)))
		},
	},
	{name: "chat entries of reasoning", api: models.Chat, want: "10,000 parts", read: 70, piece: func(n int) string {
		return chatPiece(fmt.Sprintf(`{"reasoning_details":[{"type":"x","index":%d}]}`, n))
	}},
	{name: "chat space before the words", api: models.Chat, want: "8 MB of text", read: 40, piece: func(int) string {
		return chatPiece(`{"content":"` + strings.Repeat(" ", 1000) + `"}`)
	}},
	{name: "chat arguments", api: models.Chat, want: "8 MB of arguments", read: 20,
		first: chatPiece(`{"tool_calls":[{"index":0,"id":"c","function":{"name":"read","arguments":"{\"path\":\""}}]}`),
		piece: func(int) string {
			return chatPiece(
				`{"tool_calls":[{"index":0,"function":{"arguments":"` + strings.Repeat("a", 1000) + `"}}]}`,
			)
		}},
	{name: "chat arguments of many calls", api: models.Chat, want: "64 MB of text", read: 80,
		piece: func(n int) string {
			return chatPiece(
				fmt.Sprintf(`{"tool_calls":[{"index":%d,"id":"c%d","function":{"name":"read","arguments":"{%s"}}]}`,
					n, n, strings.Repeat("a", mega)),
			)
		}},
	{name: "chat calls", api: models.Chat, want: "1,000 calls", read: 1, kept: 999, piece: func(n int) string {
		return chatPiece(fmt.Sprintf(
			`{"tool_calls":[{"index":%d,"id":"c%d","function":{"name":"read","arguments":"{}"}}]}`, n, n))
	}},
	{name: "chat members of a call", api: models.Chat, want: "64 MB of text", read: 90,
		piece: func(n int) string {
			return chatPiece(fmt.Sprintf(`{"tool_calls":[{"index":0,"id":"c","function":{"name":"read"},"x%d":"%s"}]}`,
				n, strings.Repeat("a", 1<<16)))
		}},
	{name: "chat name of a tool", api: models.Chat, want: "1 KB in the name", read: 2, piece: func(int) string {
		return chatPiece(
			`{"tool_calls":[{"index":0,"id":"c","function":{"name":"` + strings.Repeat("a", mega) + `"}}]}`,
		)
	}},
	{name: "chat id of a call", api: models.Chat, want: "1 KB in the name", read: 2, piece: func(int) string {
		return chatPiece(
			`{"tool_calls":[{"index":0,"id":"` + strings.Repeat("a", mega) + `","function":{"name":"x"}}]}`,
		)
	}},
	{name: "chat name of the model", api: models.Chat, want: "1 KB in the name", read: 2, piece: func(int) string {
		return `data: {"model":"` + strings.Repeat("a", mega) + `","choices":[]}` + "\n\n"
	}},
	{name: "chat choices in an event", api: models.Chat, want: "300,000 values", read: 4,
		piece: repeated(`data: {"choices":[{}`, ",{}", 400_000, "]}\n\n")},
	{name: "chat calls in an event", api: models.Chat, want: "300,000 values", read: 4,
		piece: repeated(`data: {"choices":[{"delta":{"tool_calls":[{}`, ",{}", 400_000, "]}}]}\n\n")},
	{name: "chat events that say nothing", api: models.Chat, want: "1,000,000 events", read: 20,
		piece: func(int) string { return "data: {}\n\n" }},
	{name: "an event", api: models.Chat, want: "32 MB in one event", read: 40,
		first: "data: ", piece: func(int) string { return strings.Repeat("x", 1000) }},
	{name: "an event in many lines", api: models.Chat, want: "32 MB in one event", read: 50,
		piece: func(int) string { return "data: " + strings.Repeat("x", 1000) + "\n" }},
	{name: "signs of life", api: models.Chat, want: "256 MB", read: 257,
		piece: func(int) string { return strings.Repeat(": "+sign+"\n\n", 64) }},
	{name: "a document", api: models.Chat, want: "64 MB in one piece", read: 70,
		first: "{", piece: func(int) string { return strings.Repeat(" ", 1000) }},
	{name: "choices in a document", api: models.Chat, want: "64 MB in one piece", read: 70,
		first: `{"choices":[{}`, piece: func(int) string { return strings.Repeat(",{}", 1<<14) }},
	{name: "a document within a stream", api: models.Chat, want: "32 MB in one event", read: 40,
		first: ":\n{\n", piece: func(n int) string { return fmt.Sprintf("\"a%d\":{},\"b\":\n{}\n,", n) }},

	{name: "text", api: models.Responses, want: "8 MB of text", read: 20,
		first: addedPiece(0, `"message"`), piece: func(int) string {
			return deltaPiece("response.output_text.delta", 0, strings.Repeat("word ", 200))
		}},
	{name: "reasoning", api: models.Responses, want: "8 MB of reasoning", read: 20,
		first: addedPiece(0, `"reasoning"`), piece: func(int) string {
			return deltaPiece("response.reasoning_summary_text.delta", 0, strings.Repeat("hmm ", 200))
		}},
	{name: "arguments", api: models.Responses, want: "8 MB of arguments", read: 20,
		first: addedPiece(0, `"function_call","call_id":"c","name":"read"`), piece: func(int) string {
			return deltaPiece("response.function_call_arguments.delta", 0, strings.Repeat("a", 1000))
		}},
	{
		name: "arguments at their end",
		api:  models.Responses,
		want: "8 MB of arguments",
		read: 20,
		piece: func(int) string {
			return `data: {"type":"response.function_call_arguments.done","output_index":0,"arguments":"` +
				strings.Repeat("a", 9*mega) + "\"}\n\n"
		},
	},
	{name: "arguments of a finished call", api: models.Responses, want: "8 MB of arguments", read: 20,
		piece: func(n int) string { return doneCall(n, strings.Repeat("a", 9*mega)) }},
	{name: "finished calls", api: models.Responses, want: "1,000 calls", read: 1, kept: 1000,
		piece: func(n int) string { return doneCall(n, "x") }},
	{name: "calls that never end", api: models.Responses, want: "10,000 parts", read: 3, piece: func(n int) string {
		return addedPiece(n, `"function_call","call_id":"c","name":"read"`)
	}},
	{name: "items of no known kind", api: models.Responses, want: "64 MB of text", read: 70, piece: func(n int) string {
		return `data: {"type":"response.output_item.done","item":{"type":"x","y":"` + strings.Repeat(
			"a",
			mega,
		) + "\"}}\n\n"
	}},
	{name: "id of the reply", api: models.Responses, want: "1 KB in the name", read: 2, piece: func(int) string {
		return `data: {"type":"response.created","response":{"id":"` + strings.Repeat("a", mega) + "\"}}\n\n"
	}},
	{name: "id of an item", api: models.Responses, want: "1 KB in the name", read: 2, piece: func(int) string {
		return `data: {"type":"response.output_text.delta","item_id":"` + strings.Repeat(
			"a",
			mega,
		) + "\",\"delta\":\"x\"}\n\n"
	}},
	{name: "items of a whole reply", api: models.Responses, want: "300,000 values", read: 4,
		piece: repeated(`data: {"type":"response.completed","response":{"output":[{}`, ",{}", 400_000, "]}}\n\n")},
	{name: "messages of a whole reply", api: models.Responses, want: "8 MB of text", read: 40,
		piece: func(int) string {
			return `data: {"type":"response.completed","response":{"output":[{"type":"message","content":[{"text":"` +
				strings.Repeat("a", 9*mega) + "\"}]}]}}\n\n"
		}},
}

func chatPiece(delta string) string {
	return `data: {"choices":[{"index":0,"delta":` + delta + "}]}\n\n"
}

func addedPiece(index int, kind string) string {
	return fmt.Sprintf(
		`data: {"type":"response.output_item.added","output_index":%d,"item":{"type":%s}}`+"\n\n",
		index,
		kind,
	)
}

func deltaPiece(kind string, index int, delta string) string {
	return fmt.Sprintf(`data: {"type":%q,"output_index":%d,"delta":"%s"}`+"\n\n", kind, index, delta)
}

func doneCall(n int, path string) string {
	return fmt.Sprintf(`data: {"type":"response.output_item.done","output_index":%d,"item":{"type":"function_call",`+
		`"call_id":"c%d","name":"read","arguments":"{\"path\":\"%s\"}"}}`+"\n\n", n, n, path)
}

// answering is a client of an endpoint that answers with a body.
func answering(api models.API, body io.ReadCloser) models.Client {
	return client(roundTrip(func(r *http.Request) (*http.Response, error) {
		_, _ = io.Copy(io.Discard, r.Body)
		return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: body, Request: r}, nil
	}), provider(api))
}

func TestAReplyWithoutAnEndIsEnded(t *testing.T) {
	for _, tt := range endlessReplies {
		t.Run(tt.name, func(t *testing.T) {
			if testing.Short() && tt.read >= 40 {
				t.Skip("much to read")
			}
			synctest.Test(t, func(t *testing.T) { // reading waits for more in between
				body := &endless{first: tt.first, piece: tt.piece}
				kept := 0
				var last error
				for chunk, err := range answering(tt.api, body).Stream(context.Background(), target, models.Request{}) {
					if done, ok := chunk.(models.ItemDone); ok && done.Item.Kind == models.Call {
						kept++
					}
					last = err
				}
				var fault *models.Fault
				if !errors.As(last, &fault) || !errors.Is(last, diagnose.ErrTooLarge) {
					t.Fatalf("ended with %v, want ErrTooLarge", last)
				}
				if fault.Kind != models.KindStream || !strings.Contains(last.Error(), "more than "+tt.want) ||
					!strings.Contains(fault.Hint, "on and on") {
					t.Errorf("ended with %v (%s), want more than %s", last, fault.Hint, tt.want)
				}
				if body.read > tt.read*mega {
					t.Errorf("read %d MB, want at most %d", body.read/mega, tt.read)
				}
				if kept != tt.kept {
					t.Errorf("%d calls are kept, want %d", kept, tt.kept)
				}
			})
		})
	}
}

// What a reply holds in the extreme passes.
func TestALargeReplyPasses(t *testing.T) {
	var b strings.Builder
	for range 128_000 {
		b.WriteString(chatPiece(`{"content":"token "}`))
	}
	for n := range 500 {
		fmt.Fprintf(&b, `data: {"choices":[{"delta":{"tool_calls":[{"index":%d,"id":"c%d","function":{"name":"read",`+
			`"arguments":"{\"path\":\"%s\"}"}}]}}]}`+"\n\n", n, n, strings.Repeat("a", 1000))
	}
	b.WriteString(`data: {"choices":[{"finish_reason":"tool_calls"}]}` + "\n\ndata: [DONE]\n\n")
	text, calls := 0, 0
	body := io.NopCloser(strings.NewReader(b.String()))
	for chunk, err := range answering(models.Chat, body).Stream(context.Background(), target, models.Request{}) {
		if err != nil {
			t.Fatal(err)
		}
		switch c := chunk.(type) {
		case models.TextDelta:
			text += len(c.Text)
		case models.ItemDone:
			if c.Item.Kind == models.Call {
				calls++
			}
		}
	}
	if text != 6*128_000 || calls != 500 {
		t.Errorf("%d bytes of text, %d calls; want all of it", text, calls)
	}
}

func TestAFloodEndsWithItsRequest(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	body := &endless{piece: func(int) string { return chatPiece(`{"content":"word "}`) }}
	chunks := 0
	var last error
	for _, err := range answering(models.Chat, cancelled{ctx, body}).Stream(ctx, target, models.Request{}) {
		if chunks++; chunks == 1000 {
			cancel()
		}
		last = err
	}
	// What was read already is 32 KB at most.
	if fault := (*models.Fault)(nil); !errors.As(last, &fault) || fault.Kind != models.KindCancelled || chunks > 2000 {
		t.Errorf("ended with %v after %d chunks, want soon after the 1000th", last, chunks)
	}
}

// cancelled is a body of net/http's: it ends with its request.
type cancelled struct {
	ctx context.Context
	io.ReadCloser
}

func (c cancelled) Read(p []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	return c.ReadCloser.Read(p)
}
