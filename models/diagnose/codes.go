package diagnose

import (
	"net/http"
	"strconv"
	"strings"

	"belay/models"
)

// codes says what an error's code, or its type, means by itself. Codes are
// compared in lower case. What is missing here is decided by the status.
var codes = codeTable(map[models.Kind]string{
	models.KindCapacity: `
		server_is_overloaded server_overloaded slow_down no_capacity overloaded_error model_overloaded
		overloaded engine_overloaded engine_overloaded_error capacity_exceeded insufficient_capacity
		model_at_capacity no_available_capacity service_tier_capacity_exceeded insufficient_system_resource
		unavailable unavailable_error modelnotreadyexception queue_full`,
	models.KindRate: `
		rate_limit_exceeded rate_limited rate_limit_reached throttlingexception concurrency_limit_exceeded
		resource_exhausted`,
	models.KindUsage: `
		usage_limit_reached usage_limit_exceeded daily_limit_exceeded quota_exceeded monthly_limit_exceeded`,
	models.KindBilling: `
		insufficient_quota usage_not_included billing_hard_limit_reached billing_not_active payment_required
		insufficient_balance insufficient_credits credit_balance_too_low exceeded_current_quota_error
		billing_error spend_limit_reached`,
	models.KindAuth: `
		invalid_api_key incorrect_api_key api_key_invalid invalid_authentication
		invalid_authentication_error authentication_error unauthorized unauthenticated token_expired
		expired_token invalid_token no_api_key permission_error permission_denied forbidden access_denied
		account_deactivated missing_scope insufficient_permissions unsupported_country_region_territory
		ip_not_authorized mismatched_organization mismatched_project`,
	models.KindModel: `
		model_not_found deployment_not_found deploymentnotfound unknown_model invalid_model
		unsupported_model model_not_supported not_found_error`,
	models.KindSize: `
		context_length_exceeded exceed_context_size_error request_too_large prompt_too_long
		context_window_exceeded input_too_long tokens_limit_reached string_above_max_length`,
	models.KindRequest: `
		invalid_prompt content_policy_violation content_filter policy_violation responsibleaipolicyviolation
		moderation_blocked invalid_encrypted_content unsupported_parameter unsupported_value invalid_value
		unknown_parameter missing_required_parameter invalid_function_parameters previous_response_not_found
		invalid_json`,
	models.KindGateway: `
		bad_gateway gateway_timeout`,
})

func codeTable(kinds map[models.Kind]string) map[string]models.Kind {
	t := map[string]models.Kind{}
	for k, names := range kinds {
		for _, name := range strings.Fields(names) {
			t[name] = k
		}
	}
	return t
}

// vagueTypes types say no more than a status does: others can overrule them.
var vagueTypes = map[string]int{
	"rate_limit_error": 429, "too_many_requests": 429, "requests": 429, "tokens": 429,
	"server_error": 500, "internal_error": 500, "internal_server_error": 500, "api_error": 500, "internal": 500,
	"timeout_error": 500, "service_unavailable": 503, "service_unavailable_error": 503,
	"invalid_request_error": 400, "invalid_argument": 400, "bad_request": 400,
}

// phrases are read in this order; in lower case. The first that occurs counts.
var phrases = []struct {
	kind models.Kind
	any  []string
}{
	{
		models.KindAuth,
		[]string{
			"invalid api key",
			"incorrect api key",
			"api key not valid",
			"api key not found",
			"no api key",
			"authentication failed",
			"auth failed",
			"login expired",
			"token expired",
			"token has expired",
			"token is expired",
			"expired token",
			"unauthorized",
			"not logged in",
			"please log in",
			"invalid token",
			"invalid authentication",
		},
	},
	{
		models.KindCapacity,
		[]string{
			"at capacity",
			"overloaded",
			"no capacity",
			"no_capacity",
			"high demand",
			"peak load",
			"try a different model",
			"over capacity",
			"out of capacity",
			"capacity constraint",
			"insufficient capacity",
			"limited capacity",
			"capacity exceeded",
			"available capacity",
			"server busy",
			"server is busy",
			"maximum pending requests",
			"currently busy",
			"loading model",
			"queue is full",
			"slow_down",
		},
	},
	{
		models.KindSize,
		[]string{
			"maximum context length",
			"context length",
			"exceeds the available context size",
			"context window",
			"context size",
			"prompt is too long",
			"input is too long",
			"too many tokens",
			"request too large",
			"maximum prompt length",
			"payload too large",
		},
	},
	{
		models.KindModel,
		[]string{
			"model not found",
			"model_not_found",
			"unknown model",
			"no such model",
			"not a valid model",
			"invalid model",
			"try pulling it first",
			"no endpoints found",
		},
	},
	{
		models.KindBilling,
		[]string{
			"exceeded your current quota",
			"insufficient balance",
			"insufficient_quota",
			"credit balance",
			"insufficient credits",
			"out of credits",
			"more credits",
			"billing",
			"spend limit",
			"spending limit",
			"payment required",
		},
	},
	{models.KindUsage, []string{"usage limit", "per day", "daily limit", "monthly limit", "weekly limit", "quota"}},
	{models.KindRate, []string{"rate limit", "rate_limit", "too many requests", "tokens per min", "requests per min"}},
	{models.KindRequest, []string{"policy", "policies", "flagged", "content filter"}},
}

// localRelays are the words of programs on this computer between belay and the
// model, relays those of any such program.
var (
	localRelays = []string{"local proxy failed", "cc switch", "proxy failed while handling"}
	relays      = append(
		[]string{"upstream connect error", "no healthy upstream", "connect: connection refused", "econnrefused"},
		localRelays...)
)

func isRelay(text string) bool { return containsAny(text, relays) }

func containsAny(text string, parts []string) bool {
	for _, p := range parts {
		if strings.Contains(text, p) {
			return true
		}
	}
	return false
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

var longPeriods = []string{"per day", "perday", "(rpd)", "(tpd)", "daily", "per week", "weekly", "per month", "monthly"}

// reportedKind names a failure that the endpoint itself reports.
func reportedKind(ev Evidence, object errorObject, source []byte) models.Kind {
	text := strings.ToLower(strings.Join(object.texts, "\n"))
	html := object.empty() && isHTML(source)
	if object.empty() && !html && ev.Status >= 300 {
		text = strings.ToLower(string(source[:min(len(source), maxRead)]))
	}
	for _, c := range object.codes {
		if k, ok := codes[strings.ToLower(c)]; ok {
			return refine(k, strings.ToLower(c), text)
		}
		if strings.HasSuffix(strings.ToLower(c), "_policy") {
			return models.KindRequest
		}
	}
	status := ev.Status
	for _, c := range object.codes { // a number in the code's place, as in a 200 of OpenRouter
		if n, err := strconv.Atoi(c); err == nil && n >= 400 && n <= 599 && status < 400 {
			status = n
		}
	}
	for _, c := range object.codes {
		if n := vagueTypes[strings.ToLower(c)]; n > 0 && status < 400 {
			status = n
		}
	}
	return kindByStatus(status, text, html, object)
}

// refine corrects a code whose message is more exact than itself.
func refine(class models.Kind, code, text string) models.Kind {
	if class == models.KindModel && code == "not_found_error" && strings.Contains(text, "invalid url") {
		return models.KindRequest
	}
	if class != models.KindRate {
		return class
	}
	if strings.Contains(text, "request too large") {
		return models.KindSize // larger than a whole minute's allowance: waiting cannot help
	}
	if code == "resource_exhausted" {
		if other, ok := kindInText(text, models.KindCapacity, models.KindBilling); ok &&
			!containsAny(text, longPeriods) &&
			!strings.Contains(text, "per minute") {
			return other
		}
	}
	if containsAny(text, longPeriods) {
		return models.KindUsage
	}
	return class
}

func kindByStatus(status int, text string, html bool, object errorObject) models.Kind {
	if isRelay(text) && status != http.StatusUnauthorized && status != http.StatusForbidden {
		return models.KindGateway
	}
	in := func(fallback models.Kind, allowed ...models.Kind) models.Kind {
		if k, ok := kindInText(text, allowed...); ok {
			return k
		}
		return fallback
	}
	switch {
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		return models.KindAuth
	case html:
		return models.KindGateway
	case status == http.StatusPaymentRequired:
		return models.KindBilling
	case status == http.StatusNotFound:
		if object.empty() && text != "" || containsAny(text, []string{"invalid url", "page not found"}) ||
			text == "not found" {
			return models.KindRequest // the path is wrong, not the name
		}
		return models.KindModel
	case status == http.StatusRequestEntityTooLarge:
		return models.KindSize
	case status == http.StatusProxyAuthRequired, status == 499:
		return models.KindGateway
	case status == http.StatusRequestTimeout, status == http.StatusConflict, status == http.StatusTooEarly:
		return in(models.KindServer, models.KindCapacity)
	case status == http.StatusTooManyRequests:
		return kindOf429(text)
	case status == 529:
		return models.KindCapacity
	case status == http.StatusServiceUnavailable:
		return in(models.KindCapacity, models.KindAuth)
	case status == http.StatusBadGateway, status == http.StatusGatewayTimeout, status >= 520 && status <= 530:
		return in(models.KindGateway, models.KindAuth, models.KindCapacity)
	case status >= 500:
		return in(models.KindServer, models.KindAuth, models.KindCapacity, models.KindSize)
	case status >= 400:
		return in(models.KindRequest, models.KindAuth, models.KindCapacity, models.KindSize, models.KindModel,
			models.KindBilling, models.KindUsage)
	case status >= 300:
		return models.KindGateway
	}
	return in(models.KindServer, models.KindAuth, models.KindCapacity, models.KindSize, models.KindModel,
		models.KindBilling, models.KindUsage, models.KindRate, models.KindRequest)
}

// kindOf429 divides what comes as status 429.
func kindOf429(text string) models.Kind {
	if strings.Contains(text, "request too large") {
		return models.KindSize
	}
	k, ok := kindInText(text, models.KindCapacity, models.KindBilling)
	switch {
	case ok:
		return k
	case containsAny(text, longPeriods), strings.Contains(text, "usage limit"):
		return models.KindUsage
	}
	return models.KindRate
}
