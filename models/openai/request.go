package openai

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"

	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/responses"
	"github.com/openai/openai-go/v3/shared"

	"belay/models"
)

// responseParams is the request for the Responses API.
func (a *attempt) responseParams(req models.Request) (responses.ResponseNewParams, error) {
	a.keepsReply = a.provider.Resume && !req.NoStream && !a.dialect.omits("background") && !a.dialect.omits("store")
	params := responses.ResponseNewParams{
		Model:       a.target.Model,
		Store:       param.NewOpt(a.keepsReply),
		Include:     []responses.ResponseIncludable{responses.ResponseIncludableReasoningEncryptedContent},
		ServiceTier: responses.ResponseNewParamsServiceTier(a.provider.ServiceTier),
	}
	if a.keepsReply {
		params.Background = param.NewOpt(true)
	}
	if req.Instructions != "" {
		params.Instructions = param.NewOpt(req.Instructions)
	}
	if req.CacheKey != "" {
		params.PromptCacheKey = param.NewOpt(req.CacheKey)
	}
	if req.MaxOutput > 0 {
		params.MaxOutputTokens = param.NewOpt(req.MaxOutput)
	}
	if req.Effort != "" {
		params.Reasoning = shared.ReasoningParam{
			Effort:  shared.ReasoningEffort(req.Effort),
			Summary: shared.ReasoningSummaryAuto,
		}
	}
	if len(req.AnswerSchema) > 0 {
		text, err := responseText(req.AnswerSchema)
		if err != nil {
			return params, err
		}
		params.Text = text
	}
	freeform := map[string]string{} // by tool: the parameter that its text is the value of
	for _, t := range req.Tools {
		if t.Freeform != nil {
			freeform[t.Name] = t.Freeform.Parameter
			params.Tools = append(params.Tools, customTool(t))
			continue
		}
		tool, err := a.functionTool(t)
		if err != nil {
			return params, fmt.Errorf("tool %s: %w", t.Name, err)
		}
		params.Tools = append(params.Tools, tool)
	}
	items := a.dialect.joinUsers(a.dialect.adapt(req.Items, a.origin))
	input := make(responses.ResponseInputParam, 0, len(items))
	for i := range items {
		item, ok, err := a.inputItem(items, i, freeform)
		if err != nil {
			return params, fmt.Errorf("item %d: %w", i+1, err)
		}
		if ok {
			input = append(input, item)
		}
	}
	params.Input.OfInputItemList = input
	extra, err := a.parameters(req)
	if len(extra) > 0 {
		params.SetExtraFields(extra)
	}
	return params, err
}

// customTool is a tool that is called with text.
func customTool(spec models.ToolSpec) responses.ToolUnionParam {
	tool := &responses.CustomToolParam{Name: spec.Name, Description: param.NewOpt(spec.Description)}
	if spec.Freeform.Grammar != "" {
		tool.Format.OfGrammar = &shared.CustomToolInputFormatGrammarParam{
			Syntax:     cmp.Or(spec.Freeform.Syntax, "lark"),
			Definition: spec.Freeform.Grammar,
		}
	}
	return responses.ToolUnionParam{OfCustom: tool}
}

func (a *attempt) functionTool(spec models.ToolSpec) (responses.ToolUnionParam, error) {
	// The values stay as they are written, for the order of the properties tells
	// the model something.
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(a.dialect.schema(spec), &fields); err != nil {
		return responses.ToolUnionParam{}, fmt.Errorf("read schema: %w", err)
	}
	tool := &responses.FunctionToolParam{
		Name:       spec.Name,
		Strict:     param.NewOpt(spec.Strict),
		Parameters: make(map[string]any, len(fields)),
	}
	if a.dialect.omits("strict") {
		tool.SetExtraFields(map[string]any{"strict": param.Omit})
	}
	for name, value := range fields {
		tool.Parameters[name] = value
	}
	if spec.Description != "" {
		tool.Description = param.NewOpt(spec.Description)
	}
	return responses.ToolUnionParam{OfFunction: tool}, nil
}

// inputItem is one item of the conversation; false leaves it out. What this very
// target has made goes back as it came; reasoning of others is left out, for
// nobody else can read it.
func (a *attempt) inputItem(
	items []models.Item,
	i int,
	freeform map[string]string,
) (item responses.ResponseInputItemUnionParam, ok bool, err error) {
	it := &items[i]
	own := it.Origin == a.origin && len(it.Raw) > 0
	if it.Kind == models.Reasoning {
		if own && a.leads(items, i) && isSealed(it.Raw) {
			return rawItem(it.Raw), true, nil
		}
		return item, false, nil
	}
	if own && (it.Kind == models.Call || it.Kind == models.Message) && json.Valid(it.Raw) {
		return rawItem(it.Raw), true, nil
	}
	switch it.Kind {
	case models.Message:
		if it.Role == models.Assistant {
			item.OfOutputMessage = assistantMessage(it.Text)
		} else {
			item.OfMessage = &responses.EasyInputMessageParam{
				Type:    responses.EasyInputMessageTypeMessage,
				Role:    responses.EasyInputMessageRole(it.Role),
				Content: responses.EasyInputMessageContentUnionParam{OfInputItemContentList: messageParts(it)},
			}
		}
	case models.Call:
		if text, ok := freeformText(it, freeform); ok {
			item.OfCustomToolCall = &responses.ResponseCustomToolCallParam{CallID: it.CallID, Name: it.Name, Input: text}
			break
		}
		item.OfFunctionCall = &responses.ResponseFunctionToolCallParam{
			CallID:    it.CallID,
			Name:      it.Name,
			Arguments: it.Arguments,
		}
	case models.Output:
		if answersFreeform(items[:i], it.CallID, a.origin, freeform) {
			item.OfCustomToolCallOutput = &responses.ResponseCustomToolCallOutputParam{
				CallID: it.CallID,
				Output: responses.ResponseCustomToolCallOutputOutputUnionParam{OfString: param.NewOpt(it.Text)},
			}
			break
		}
		output := &responses.ResponseInputItemFunctionCallOutputParam{CallID: param.NewOpt(it.CallID)}
		if len(it.Images) > 0 {
			output.Output.OfResponseFunctionCallOutputItemArray = outputParts(it)
		} else {
			output.Output.OfString = param.NewOpt(it.Text)
		}
		item.OfFunctionCallOutput = output
	default:
		return item, false, fmt.Errorf("unknown kind %q", it.Kind)
	}
	return item, true, nil
}

// rawItem sends an item back as it was received, with fields that the SDK does
// not know.
func rawItem(raw json.RawMessage) responses.ResponseInputItemUnionParam {
	return param.Override[responses.ResponseInputItemUnionParam](raw)
}

// assistantMessage is what another model said. The id and the status that its
// own endpoint gave it mean nothing to this one.
func assistantMessage(text string) *responses.ResponseOutputMessageParam {
	part := &responses.ResponseOutputTextParam{Text: text}
	part.SetExtraFields(map[string]any{"annotations": param.Omit})
	message := &responses.ResponseOutputMessageParam{
		Content: []responses.ResponseOutputMessageContentUnionParam{{OfOutputText: part}},
	}
	message.SetExtraFields(map[string]any{"id": param.Omit, "status": param.Omit})
	return message
}

// leads reports whether a reasoning item is followed by something that the same
// target made: without it the endpoint refuses the item.
func (a *attempt) leads(items []models.Item, i int) bool {
	for _, next := range items[i+1:] {
		switch {
		case next.Origin != a.origin:
			return false
		case next.Kind == models.Reasoning:
			continue
		}
		return next.Kind == models.Call || next.Kind == models.Message && next.Role == models.Assistant
	}
	return false
}

// isSealed reports whether reasoning carries its contents, encrypted. A summary
// alone would be looked up in a store that we do not let the endpoint keep.
func isSealed(raw json.RawMessage) bool {
	var sealed struct {
		Content looseString `json:"encrypted_content"`
	}
	return json.Unmarshal(raw, &sealed) == nil && sealed.Content != ""
}

func messageParts(it *models.Item) responses.ResponseInputMessageContentListParam {
	var parts responses.ResponseInputMessageContentListParam
	if text := it.FullText(); text != "" || len(it.Images) == 0 {
		parts = append(parts, responses.ResponseInputContentUnionParam{
			OfInputText: &responses.ResponseInputTextParam{Text: text},
		})
	}
	for _, img := range it.Images {
		parts = append(parts, responses.ResponseInputContentUnionParam{
			OfInputImage: &responses.ResponseInputImageParam{
				ImageURL: param.NewOpt(dataURL(img)),
				Detail:   responses.ResponseInputImageDetail(cmp.Or(img.Detail, "auto")),
			},
		})
	}
	return parts
}

func outputParts(it *models.Item) responses.ResponseFunctionCallOutputItemListParam {
	var parts responses.ResponseFunctionCallOutputItemListParam
	if text := it.FullText(); text != "" {
		parts = append(parts, responses.ResponseFunctionCallOutputItemUnionParam{
			OfInputText: &responses.ResponseInputTextContentParam{Text: text},
		})
	}
	for _, img := range it.Images {
		parts = append(parts, responses.ResponseFunctionCallOutputItemUnionParam{
			OfInputImage: &responses.ResponseInputImageContentParam{
				ImageURL: param.NewOpt(dataURL(img)),
				Detail:   responses.ResponseInputImageContentDetail(cmp.Or(img.Detail, "auto")),
			},
		})
	}
	return parts
}

func dataURL(img models.Image) string {
	return "data:" + img.MIME + ";base64," + base64.StdEncoding.EncodeToString(img.Data)
}
