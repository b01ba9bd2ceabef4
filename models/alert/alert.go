// Package alert decides how a program elsewhere learns of what a person should know: by
// a webhook that is signed, bounded, and sent again where it did not arrive.
//
// A message has the form of Standard Webhooks (https://www.standardwebhooks.com): the
// headers webhook-id, webhook-timestamp and webhook-signature, which is "v1," and the
// base64 of an HMAC-SHA256 over "id.timestamp.body". The same message keeps its id
// through all tries, so that its receiver can tell it from another.
package alert

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// Message is something that a person should know.
type Message struct {
	ID   string    `json:"-"`
	Key  string    `json:"key"` // what it is about; the same trouble has the same key
	Text string    `json:"text"`
	At   time.Time `json:"-"`
}

// Webhook sends messages to an address.
type Webhook struct {
	URL    string
	Secret string // signs them; empty: they are not signed. One with whsec_ is base64
	HTTP   http.RoundTripper
	Now    func() time.Time
}

const (
	maxText    = 4000             // bytes of a message's text
	maxAnswer  = 64 << 10         // bytes that are read of an answer, to use its connection again
	tryTimeout = 10 * time.Second // for one try
)

// backoff is what is waited between tries.
var backoff = []time.Duration{time.Second, 5 * time.Second, 25 * time.Second}

// errRefused says that the receiver wants no such message: it is not sent again.
var errRefused = errors.New("the webhook refused the alert")

// Send delivers a message, with several tries where it does not arrive. Once the
// context has ended there is one try more, and no waiting.
func (w *Webhook) Send(ctx context.Context, m Message) error {
	body, err := m.body()
	if err != nil {
		return err
	}
	for try := 0; ; try++ {
		err := w.try(context.WithoutCancel(ctx), m.ID, body)
		if err == nil || errors.Is(err, errRefused) || try == len(backoff) || ctx.Err() != nil {
			return err
		}
		timer := time.NewTimer(backoff[try])
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
		}
	}
}

// body is the message as it is sent, bounded.
func (m *Message) body() ([]byte, error) {
	text := strings.ToValidUTF8(m.Text, "�")
	if len(text) > maxText {
		end := maxText
		for !utf8.RuneStart(text[end]) {
			end--
		}
		text = text[:end] + "…"
	}
	b, err := json.Marshal(struct {
		Type      string    `json:"type"`
		Timestamp time.Time `json:"timestamp"`
		Data      Message   `json:"data"`
	}{"belay.alert", m.At.UTC(), Message{Key: m.Key, Text: text}})
	if err != nil {
		return nil, fmt.Errorf("write the alert: %w", err)
	}
	return b, nil
}

func (w *Webhook) try(ctx context.Context, id string, body []byte) error {
	ctx, cancel := context.WithTimeout(ctx, tryTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, w.URL, bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("%w: %w", errRefused, err)
	}
	at := strconv.FormatInt(w.Now().Unix(), 10)
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("User-Agent", "belay")
	request.Header.Set("webhook-id", id)
	request.Header.Set("webhook-timestamp", at)
	if w.Secret != "" {
		request.Header.Set("webhook-signature", Sign(w.Secret, id, at, body))
	}
	response, err := w.HTTP.RoundTrip(request) // which follows no redirect: they are for pages
	if err != nil {
		return fmt.Errorf("send the alert: %w", err)
	}
	defer response.Body.Close()
	_, _ = io.CopyN(io.Discard, response.Body, maxAnswer)
	switch status := response.StatusCode; {
	case status < 300:
		return nil
	case status == http.StatusTooManyRequests || status == http.StatusRequestTimeout || status >= 500:
		return fmt.Errorf("send the alert: HTTP status %d", status)
	default:
		return fmt.Errorf("%w: HTTP status %d", errRefused, status)
	}
}

// Sign is the signature of a message as Standard Webhooks has it. A receiver compares
// it with what it computes itself, and refuses timestamps that are minutes old.
func Sign(secret, id, timestamp string, body []byte) string {
	key := []byte(secret)
	if encoded, ok := strings.CutPrefix(secret, "whsec_"); ok {
		if decoded, err := base64.StdEncoding.DecodeString(encoded); err == nil {
			key = decoded
		}
	}
	mac := hmac.New(sha256.New, key)
	fmt.Fprintf(mac, "%s.%s.", id, timestamp)
	mac.Write(body)
	return "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
}
