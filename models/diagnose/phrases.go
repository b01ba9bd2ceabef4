package diagnose

import (
	"strings"

	"belay/models"
)

// phrases are read in this order; in lower case. The first that occurs counts.
// A star stands for some words of the same sentence, a tilde for one word.
var phrases = []struct {
	kind models.Kind
	any  []string
}{
	{models.KindAuth, []string{
		"invalid api key", "incorrect api key", "api key not valid", "api key not found", "no api key",
		"missing api key", "api key is missing", "api key is required", "api key is invalid", "invalid credentials",
		"no auth credentials", "authentication failed", "auth failed", "login fail", "login expired", "token expired",
		"token has expired", "token is expired", "expired token", "key expired", "unauthorized", "not logged in",
		"please log in", "sign in again", "invalid token", "invalid authentication", "location is not supported",
		"country, region, or territory", "region is not supported", "organization must be verified",
		"verify your organization", "verify organization", "authentication error", "only authorized for use",
	}},
	{models.KindMalformed, malformedCalls},
	{models.KindRequest, missingAbilities},
	{models.KindCapacity, []string{
		"at capacity", "overloaded", "no capacity", "no_capacity", "high demand", "peak load", "heavy load",
		"high load", "high traffic", "heavy traffic", "try a different model", "capacity temporarily exceeded",
		"over capacity", "out of capacity", "capacity constraint", "insufficient capacity", "limited capacity",
		"capacity exceeded", "capacity exhausted", "capacity_exhausted", "available capacity", "maximum capacity",
		"full capacity", "server busy", "server is busy", "model is busy", "system is busy", "too busy",
		"maximum pending requests", "currently busy", "loading model", "model*is loading", "currently loading",
		"still loading", "warming up", "queue is full", "slow_down", "rate-limited upstream", "rate limited upstream",
		"upstream*rate limited", "degraded function", "degraded*cannot be invoked", "no instances available",
		"no healthy deployment", "no deployments available", "resources are insufficient", "insufficient resources",
		"worker*request limit", "temporarily unavailable", "not ready", "繁忙", "访问量过大", "负载",
	}},
	{models.KindSize, []string{
		"maximum context length", "context length", "context_length_exceeded", "context window", "context size",
		"context limit", "context overflow", "maximum context", "maximum prompt length", "maximum model length",
		"maximum input length", "model max length", "max length exceeded", "exceeds max length", "kv size",
		"prompt is too long", "prompt too long", "prompt is too big", "input is too long", "input too long",
		"inputs are too long", "messages is too long", "messages are too long", "request is too long",
		"too many tokens", "too many input tokens", "too many prompt tokens", "prompt token*exceed",
		"input token*exceed", "input tokens*cannot exceed", "token count*exceed", "tokens in the prompt*exceed",
		"total tokens*exceed", "input length*exceed", "prompt length*exceed", "prompt exceeds", "input exceeds",
		"input length should be", "exceeded model token limit", "token limit exceeded", "exceeds the token limit",
		"exceed max message tokens", "cannot exceed the total tokens limit", "tokens` must be <=",
		"reduce the length of the messages", "reduce the length of the prompt", "reduce the length of your",
		"reduce your message size", "too large for model with", "tokens to keep from the initial prompt",
		"input*is too large to process", "request too large", "request body too large", "request entity too large",
		"request_too_large", "payload too large", "payload size exceeds", "max_tokens*got -", "max_tokens: -",
		"max_tokens=-", "max_completion_tokens*got -", "max_new_tokens*got -", "max_output_tokens*got -", "超长", "最大长度",
		"上下文长度", "长度超",
	}},
	{models.KindModel, []string{
		"model not found", "model_not_found", "unknown model", "no such model", "not a valid model", "invalid model",
		"unsupported model", "model not exist", "not found the model", "could not find model", "model does not exist",
		"model*does not exist", "model*doesn't exist", "model*not found", "model is not supported",
		"model ~is not supported", "model ~not supported", "model' is not supported", "model is not available",
		"model ~is not available", "model*has been deprecated",
		"model*has been decommissioned", "model*decommissioned", "model*has been removed", "model*has been retired",
		"model*no longer available", "model*is not loaded", "model*is not deployed", "no models loaded",
		"multiple models are loaded", "model identifier", "model ~is invalid", "unavailable model", "unable to access model", "unrecognized model", "deployment*does not exist",
		"try pulling it first", "no endpoints found", "no allowed providers", "could not find fine tune", "not found for account",
		"entity was not found", "模型不存在",
	}},
	{models.KindBilling, spentMoney},
	{models.KindUsage, spentAllowances},
	{models.KindBilling, upsells},
	{models.KindUsage, []string{
		"per day", "per-day", "daily limit", "monthly limit", "weekly limit", "request allowance", "quota",
	}},
	{models.KindRate, []string{
		"rate limit", "rate_limit", "rate-limit", "ratelimit", "too many requests", "tokens per min",
		"requests per min", "throttled", "concurrency limit", "high concurrency", "too many concurrent", "频率", "并发", "限流",
	}},
	{models.KindNetwork, lostConnections},
	{models.KindServer, []string{"model has crashed", "model unloaded", "model reloaded"}},
	{models.KindRequest, []string{
		"policy", "policies", "flagged", "content filter", "moderation", "inappropriate content",
	}},
}

// spentMoney are the words about money that is gone, spentAllowances those about
// what a plan includes, upsells those that offer more, and come with limits too.
var (
	spentMoney = []string{
		"insufficient balance", "insufficient_balance", "balance is insufficient", "insufficient account balance",
		"balance is too low", "balance*not enough", "not enough balance", "insufficient_quota", "insufficient quota",
		"insufficient funds", "credit balance", "insufficient credit", "insufficient_credit", "out of credit",
		"not enough credit", "no credits", "no more credits", "used all*credits", "credits*exhausted",
		"credits*depleted", "credits have been used", "included credits", "credit limit", "credit card", "spend limit",
		"spending limit", "spend cap", "spending cap", "over budget", "payment required", "past due", "unpaid", "overdue",
		"good standing", "requires billing", "billing to be enabled", "enable billing", "billing hard limit",
		"billing is", "budget has been exceeded", "key limit exceeded", "prepayment", "need a*subscription",
		"requires a*subscription", "subscription*required", "extra usage is required", "free tier*exhausted", "余额",
		"欠费",
	}
	spentAllowances = []string{
		"usage limit", "usage quota", "session limit", "hour limit", "hour quota", "hour allocated quota",
		"week allocated quota", "month allocated quota", "free allocated quota", "out of extra usage",
	}
	upsells = []string{
		"exceeded your current quota", "plan and billing", "billing details", "billing account", "more credits",
		"add credits", "buy credits", "purchase credits", "payment method", "please recharge", "top up", "top-up",
		"prepaid",
	}
)

// malformedCalls tell that the model wrote what its server cannot read: asked
// again it writes something else.
var malformedCalls = []string{
	"failed to call a function", "tool call validation failed", "error parsing tool call",
	"failed to parse tool call", "did not call a tool", "model produced invalid", "malformed function call",
	"malformed_function_call", "generated output that could not be parsed", "model produced output that does not match",
	"unexpected tokens remaining in message header",
}

// missingAbilities tell what the model cannot do, and what a person calls it.
var (
	abilities = []struct{ phrase, name string }{
		{"support tool", "tools"}, {"support function", "tools"}, {"support the provided 'tool", "this tool_choice"},
		{"support image", "pictures"}, {"support vision", "pictures"}, {"image input is not supported", "pictures"},
		{"support multimodal", "pictures"}, {"support thinking", "thinking"}, {"support reasoning", "reasoning"},
		{"support this tool_choice", "this tool_choice"}, {"support chat", "chat"}, {"support stream", "streaming"},
		{"support completion", "completions"}, {"support structured", "structured output"},
	}
	missingAbilities = []string{
		"not support tool", "n't support tool", "not support function", "n't support function", "not support image",
		"n't support image", "not support vision", "image input is not supported", "not support multimodal",
		"not support thinking", "not support reasoning", "not support chat", "not support this tool_choice",
	}
)

// missingAbility is what a text says that the model cannot do; empty: nothing.
func missingAbility(text string) string {
	if !containsAny(text, missingAbilities) && !strings.Contains(text, "no endpoints found that support") {
		return ""
	}
	for _, a := range abilities {
		if strings.Contains(text, a.phrase) {
			return a.name
		}
	}
	return ""
}

// unservable are the words with which servers say as a failure of theirs that
// the request, or their own start, must be another.
var unservable = []string{
	"requires --", "require --", "--jinja", "start it with", "cannot use both", "can't use both", "not support",
	"n't support", "unsupported", "is not enabled", "jinja", "chat template", "this template", "must alternate",
	"failed to parse grammar", "failed to parse messages", "initialize samplers", "missing required", "is required",
	"must be", "must contain", "invalid value", "invalid type", "invalid param", "bad request", "badrequest",
	"validation error", "invalid_request_error", "invalid request",
}

// startOptions are those of them that name an option of the server's own.
var startOptions = []string{"requires --", "require --", "--jinja", "start it with", "requires the --"}

// wrongPaths are the words with which servers say that nothing is at a path,
// whatever their status.
var wrongPaths = []string{
	"invalid url (", "unexpected endpoint", "unknown request url", "unknown_url", "cannot post /", "cannot get /",
	"no static resource", "route post:", "route get:", "http request to an https server",
	"plain http request was sent to https port", "no route for that uri", "no route matched", "could not route to /",
}

// otherAPI are the words about a model that is asked over the Responses API only.
var otherAPI = []string{"only supported in v1/responses", "not a chat model", "use /v1/responses", "use v1/responses"}

// unserved are the words about a place that a provider does not serve.
var unserved = []string{"location is not supported", "country, region, or territory", "region is not supported"}

// absentPaths are such words that count only where nothing was found.
var absentPaths = []string{
	"invalid url", "page not found", "file not found", "no route", "no such route", "endpoint not found",
	"unknown endpoint", "unsupported endpoint", "path not found", "unknown path", "url not found",
	"url was not found", "requested url", "resource not found", "requested resource", "no handler found",
	"default backend", "method not allowed", "could not route", "route*not found", "not found: /",
}

// absentThings are the words about something else that is not found: neither
// the path nor the model.
var absentThings = []string{
	"with id '", "with id \"", "items are not persisted", "previous response", "no such file", "conversation*not found",
}

// localRelays are the words of programs on this computer between belay and the
// model, relays those of any such program, lostConnections those of a relay
// whose connection broke.
var (
	localRelays = []string{"local proxy failed", "cc switch", "proxy failed while handling"}
	relays      = append(
		[]string{"upstream connect error", "no healthy upstream", "connect: connection refused", "econnrefused"},
		localRelays...)
	lostConnections = []string{
		"connection lost", "lost connection", "connection error", "connection reset", "connection was closed",
		"connection closed", "connection aborted", "remote end closed", "server disconnected", "econnreset",
		"socket hang up", "fetch failed", "network error", "network connection", "broken pipe", "premature close",
		"other side closed", "stream disconnected", "peer closed connection", "no such host",
	}
)

// The spans of time over which an allowance runs.
var (
	longPeriods = []string{
		"per day", "per-day", "perday", "per_day", "/day", "(rpd)", "(tpd)", "daily", "per week", "weekly",
		"per month", "monthly",
	}
	shortPeriods = []string{
		"per minute", "per-minute", "perminute", "/ min", "per_minute", "per min", "/min", "(rpm)", "(tpm)", "per second",
		"persecond", "per_second", "per hour",
	}
)

// moderated are the words about what was asked, not about who asks.
var moderated = []string{"flagged", "moderation", "content filter", "inappropriate content"}

// unverified are the words about an account that has to show more than its key.
var unverified = []string{"organization must be verified", "verify organization", "verify your organization"}

// tooLarge are the words about one request that exceeds the allowance of a whole
// minute: waiting cannot help.
var tooLarge = []string{"request too large", "request body too large", "reduce your message size", "prompt is too long"}

// maxGap is how far apart the parts of a phrase may stand, in bytes.
const maxGap = 160

func containsAny(text string, list []string) bool {
	for _, phrase := range list {
		if contains(text, phrase) {
			return true
		}
	}
	return false
}

// contains looks for a phrase with at most one sign for other words.
func contains(text, phrase string) bool {
	i := strings.IndexAny(phrase, "*~")
	if i < 0 {
		return strings.Contains(text, phrase)
	}
	first, sign, last := phrase[:i], phrase[i], phrase[i+1:]
	for {
		_, after, ok := strings.Cut(text, first)
		if !ok {
			return false
		}
		if sign == '*' && strings.Contains(sentence(after), last) {
			return true
		}
		if _, next, ok := strings.Cut(after, " "); sign == '~' && ok && strings.HasPrefix(next, last) {
			return true
		}
		text = after
	}
}

// sentence is what of a text can belong to the sentence that it goes on with.
func sentence(text string) string {
	text = text[:min(len(text), maxGap)]
	for _, end := range []string{". ", "\n"} {
		text, _, _ = strings.Cut(text, end)
	}
	return text
}

// kindInText finds the kind that a text speaks of, among those allowed.
func kindInText(text string, allowed ...models.Kind) (models.Kind, bool) {
	for _, p := range phrases {
		for _, k := range allowed {
			if k == p.kind && containsAny(text, p.any) {
				return k, true
			}
		}
	}
	return "", false
}
