package diagnose

import (
	"strings"

	"belay/models"
)

// codes says what an error's code, or its type, means by itself. Codes are
// compared without case and separators, and those with dots part by part. What
// is missing here is decided by the status and the words.
var codes = codeTable(map[models.Kind]string{
	models.KindCapacity: `
		server_is_overloaded server_overloaded slow_down no_capacity overloaded_error model_overloaded
		overloaded engine_overloaded engine_overloaded_error capacity_exceeded insufficient_capacity
		model_at_capacity no_available_capacity service_tier_capacity_exceeded insufficient_system_resource
		unavailable unavailable_error model_not_ready_exception queue_full queue_exceeded
		model_capacity_exhausted server_busy model_busy`,
	models.KindRate: `
		rate_limit_exceeded rate_limited rate_limit_reached throttling throttling_exception
		concurrency_limit_exceeded resource_exhausted limit_requests request_limit_exceeded`,
	models.KindUsage: `
		usage_limit_reached usage_limit_exceeded daily_limit_exceeded quota_exceeded monthly_limit_exceeded
		free_usage_limit_error monthly_limit_error quota_exhausted session_limit_reached
		set_limit_exceeded account_quota_exceeded`,
	models.KindBilling: `
		insufficient_quota usage_not_included billing_hard_limit_reached billing_not_active payment_required
		insufficient_balance insufficient_balance_error insufficient_credits credit_balance_too_low
		exceeded_current_quota_error billing_error spend_limit_reached budget_exceeded credits_error
		arrearage account_overdue_error billing_disabled free_tier_only insufficient_user_quota unpurchased`,
	models.KindAuth: `
		invalid_api_key incorrect_api_key api_key_invalid invalid_authentication
		invalid_authentication_error authentication_error unauthorized unauthenticated token_expired
		expired_token invalid_token no_api_key permission_error permission_denied permission_denied_error
		forbidden access_denied account_deactivated missing_scope insufficient_permissions
		unsupported_country_region_territory ip_not_authorized mismatched_organization mismatched_project
		consumer_suspended service_disabled missing_api_key auth_error`,
	models.KindModel: `
		model_not_found deployment_not_found unknown_model invalid_model model_not_found_error
		unsupported_model model_not_supported model_not_available model_decommissioned model_deprecated unavailable_model
		invalid_endpoint_or_model fine_tune_not_found no_models_loaded model_not_open`,
	models.KindSize: `
		context_length_exceeded exceed_context_size_error request_too_large prompt_too_long
		context_window_exceeded context_window_exceeded_error input_too_long tokens_limit_reached
		too_many_prompt_tokens too_many_tokens model_max_prompt_tokens_exceeded max_prompt_tokens_exceeded
		model_context_window_exceeded prompt_tokens_exceeded max_tokens_exceeded token_limit_exceeded`,
	models.KindMalformed: `
		tool_use_failed output_parse_failed json_validate_failed malformed_function_call
		malformed_tool_call malformed_response unexpected_tool_call invalid_tool_call model_produced_invalid_content`,
	models.KindRequest: `
		invalid_prompt content_policy_violation content_filter policy_violation responsible_ai_policy_violation
		moderation_blocked data_inspection_failed invalid_encrypted_content unsupported_parameter
		unsupported_value invalid_value unknown_parameter missing_required_parameter
		invalid_function_parameters previous_response_not_found invalid_json string_above_max_length
		array_above_max_length unknown_url unsupported_file not_supported_error`,
	models.KindGateway: `
		bad_gateway gateway_timeout`,
	models.KindNetwork: `
		api_connection_error econnreset`,
})

// finalCodes are not corrected by the words beside them: those may repeat what
// was asked, or speak of lengths and models that are not the window and the name.
var finalCodes = codeTable(map[models.Kind]string{models.KindRequest: `
	invalid_prompt content_policy_violation content_filter policy_violation moderation_blocked
	data_inspection_failed string_above_max_length array_above_max_length previous_response_not_found
	unsupported_parameter unknown_parameter unsupported_file`})

// exacter lists the kinds whose words are more exact than a code of a kind.
var exacter = map[models.Kind][]models.Kind{
	models.KindRequest: {models.KindAuth, models.KindSize, models.KindModel},
	models.KindAuth:    {models.KindBilling, models.KindUsage},
}

func codeTable(kinds map[models.Kind]string) map[string]models.Kind {
	t := map[string]models.Kind{}
	for k, names := range kinds {
		for _, name := range strings.Fields(names) {
			t[codeKey(name)] = k
		}
	}
	return t
}

var codeSeparators = strings.NewReplacer("_", "", "-", "", " ", "")

func codeKey(code string) string { return codeSeparators.Replace(strings.ToLower(code)) }

// kindOfCode looks a code up, whole and then by its parts.
func kindOfCode(code string) (models.Kind, bool) {
	key := codeKey(code)
	if k, ok := codes[key]; ok {
		return k, true
	}
	if strings.HasSuffix(key, "policy") && key != "policy" {
		return models.KindRequest, true
	}
	for part := range strings.SplitSeq(key, ".") {
		if k, ok := codes[part]; ok {
			return k, true
		}
	}
	return "", false
}

// vagueTypes say no more than a status does: others can overrule them.
var vagueTypes = statusTable(map[int]string{
	400: "invalid_request_error invalid_argument bad_request bad_request_error invalid_parameter_error",
	404: "not_found_error not_found",
	429: "rate_limit_error too_many_requests too_many_requests_error requests tokens",
	500: "server_error internal_error internal_server_error api_error internal timeout_error",
	503: "service_unavailable service_unavailable_error",
})

func statusTable(statuses map[int]string) map[string]int {
	t := map[string]int{}
	for status, names := range statuses {
		for _, name := range strings.Fields(names) {
			t[codeKey(name)] = status
		}
	}
	return t
}
