package gateway

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"

	"belay/models"
)

// part is a piece of a content, of either API.
type part struct {
	Type     string          `json:"type"`
	Text     string          `json:"text"`
	Refusal  string          `json:"refusal"`
	ImageURL json.RawMessage `json:"image_url"` // a text, or in Chat Completions an object
	Detail   string          `json:"detail"`
	FileID   string          `json:"file_id"`
}

// contents are the words and pictures of a content, which is a text or a list of
// parts. Words after a picture begin another item, so that their order is kept.
func contents(param string, raw json.RawMessage) ([]models.Item, *refusal) {
	var words string
	if len(raw) == 0 || isNull(raw) || json.Unmarshal(raw, &words) == nil {
		return []models.Item{{Text: words}}, nil
	}
	parts, bad := read[[]part](param, raw)
	if bad != nil {
		return nil, bad
	}
	items := []models.Item{{}}
	for i, p := range parts {
		last := &items[len(items)-1]
		switch p.Type {
		case "text", "input_text", "output_text", "summary_text", "refusal":
			if len(last.Images) > 0 {
				items = append(items, models.Item{})
				last = &items[len(items)-1]
			}
			last.Text += p.Text + p.Refusal
		case "image_url", "input_image":
			image, bad := picture(fmt.Sprintf("%s[%d]", param, i), p)
			if bad != nil {
				return nil, bad
			}
			last.Images = append(last.Images, image)
		default:
			return nil, invalid(fmt.Sprintf("%s[%d].type", param, i),
				"Invalid value: '%s'. The gateway of belay carries text and pictures.", bounded(p.Type))
		}
	}
	return items, nil
}

// joined are the words and pictures of a content as one.
func joined(param string, raw json.RawMessage) (text string, images []models.Image, bad *refusal) {
	items, bad := contents(param, raw)
	for i := range items {
		text += items[i].Text
		images = append(images, items[i].Images...)
	}
	return text, images, bad
}

// picture takes a picture that is in the request itself: belay fetches nothing for a
// client.
func picture(param string, p part) (models.Image, *refusal) {
	var address string
	detail := p.Detail
	if json.Unmarshal(p.ImageURL, &address) != nil {
		var link struct{ URL, Detail string }
		if json.Unmarshal(p.ImageURL, &link) != nil || p.FileID != "" {
			return models.Image{}, invalid(param, "Invalid '%s': the gateway of belay takes pictures as data: URLs.", param)
		}
		address, detail = link.URL, link.Detail
	}
	head, encoded, ok := strings.Cut(address, ",")
	mime, isData := strings.CutPrefix(head, "data:")
	mime, isBase64 := strings.CutSuffix(mime, ";base64")
	if !ok || !isData || !isBase64 || !strings.HasPrefix(mime, "image/") {
		return models.Image{}, invalid(param,
			"Invalid '%s': the gateway of belay takes pictures as data: URLs with base64; it fetches none.", param)
	}
	data, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil || len(data) == 0 {
		return models.Image{}, invalid(param, "Invalid '%s': the picture is not base64.", param)
	}
	return models.Image{MIME: mime, Data: data, Detail: detail}, nil
}

// sealMark begins the encrypted_content of reasoning that came through a gateway.
const sealMark = "belay1."

// sealed is reasoning with who made it, for a client to send back. It is no secret of
// belay's: what must not be read was encrypted by its maker.
type sealed struct {
	Origin models.Origin   `json:"origin"`
	ID     string          `json:"id,omitempty"`
	Text   string          `json:"text,omitempty"`
	Raw    json.RawMessage `json:"raw,omitempty"`
}

func seal(it models.Item) string {
	b, err := json.Marshal(sealed{Origin: it.Origin, ID: it.ID, Text: it.Text, Raw: it.Raw})
	if err != nil { // what came is not JSON: nobody can send it back
		return ""
	}
	return sealMark + base64.RawStdEncoding.EncodeToString(b)
}

// unseal is reasoning that came through a gateway before; false: it is not.
func unseal(content string) (models.Item, bool) {
	encoded, ok := strings.CutPrefix(content, sealMark)
	if !ok {
		return models.Item{}, false
	}
	b, err := base64.RawStdEncoding.DecodeString(encoded)
	var from sealed
	if err != nil || json.Unmarshal(b, &from) != nil {
		return models.Item{}, false
	}
	if object := map[string]json.RawMessage{}; len(from.Raw) > 0 && json.Unmarshal(from.Raw, &object) != nil {
		return models.Item{}, false
	}
	return models.Item{
		Kind: models.Reasoning, ID: from.ID, Text: from.Text, Origin: from.Origin, Raw: from.Raw,
	}, true
}
