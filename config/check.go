package config

import (
	"fmt"
	"maps"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"
)

// checkValue checks a value that already has the right type. An empty problem means
// that it is valid.
func checkValue(path []string, v reflect.Value) (problem, hint string) {
	if v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	test := checks[pattern(path)]
	if len(path) == 2 && path[0] == "theme" {
		test = checkColour
	}
	if test == nil {
		return "", ""
	}
	return test(v.Interface())
}

type checkFunc func(v any) (problem, hint string)

// checks are the checks by key, with a star for names that the user chooses.
var checks = map[string]checkFunc{
	"lang": oneOf("auto", "en", "zh"),

	"providers.*.base_url":     checkAddress,
	"providers.*.api":          oneOf("responses", "chat"),
	"providers.*.key_env":      checkVariableName,
	"providers.*.headers.*":    checkOneLine,
	"providers.*.concurrency":  between(0, 1000),
	"providers.*.service_tier": checkOneLine,

	"tiers.heavy":   checkTargets,
	"tiers.medium":  checkTargets,
	"tiers.light":   checkTargets,
	"tiers.default": oneOf("heavy", "medium", "light"),

	"models.*.window":     between(0, 1e9),
	"models.*.max_output": between(0, 1e9),
	"models.*.input":      between(0, 1e6),
	"models.*.cached":     between(0, 1e6),
	"models.*.output":     between(0, 1e6),
	"models.*.encoding":   oneOf("o200k_base", "cl100k_base"),
	"models.*.edit":       oneOf("patch", "edit"),
	"models.*.dialect":    oneOf("strict", "openai", "openrouter", "google", "mistral", "mistral-template", "deepseek"),

	"switch.policy":            oneOf("auto", "ask", "never"),
	"switch.floor":             oneOf("heavy", "medium", "light"),
	"switch.after.interactive": between(1, 100),
	"switch.after.step":        between(1, 100),
	"switch.failback_after":    durationBetween(0, 24*time.Hour),

	"request.effort":     checkEfforts,
	"request.max_output": between(0, 1e8),
	"request.titles":     oneOf("words", "light"),
	"request.slim":       oneOf("off", "trim", "lower"),

	"context.reserve": between(0, 1e8),
	"context.trigger": between(0.1, 1),
	"context.warn":    between(0, 1e9),

	"retry.profile":     oneOf("default", "switch-early", "patient"),
	"retry.attempts":    between(1, 20),
	"retry.max_wait":    durationBetween(0, time.Hour),
	"retry.first_event": durationBetween(time.Second, 24*time.Hour),
	"retry.silence":     durationBetween(time.Second, 24*time.Hour),

	"park.ladder": checkSchedule,

	"limits.steps":   between(0, 1e6),
	"limits.retries": between(0, 1e6),
	"limits.wait":    durationBetween(0, 1000*time.Hour),
	"limits.cost":    between(0, 1e6),

	"queue.url":           checkQueueURL,
	"queue.tasks":         between(1, 3),
	"lanes.normal.minute": between(0, 1e6),
	"lanes.normal.hour":   between(0, 1e6),
	"lanes.batch.minute":  between(0, 1e6),
	"lanes.batch.hour":    between(0, 1e6),

	"record.retention":   durationBetween(0, 100*365*24*time.Hour),
	"record.environment": checkOneLine,
	"record.team":        checkOneLine,
	"budget.day":         between(0, 1e6),
	"budget.month":       between(0, 1e6),
	"alerts.notify":      checkChannels,
	"alerts.command":     checkOneLine,
	"alerts.share":       between(0.01, 1),
	"alerts.webhook":     checkOptionalAddress,
	"alerts.secret_env":  checkVariableName,

	"telemetry.otlp": checkOptionalAddress,

	"gateway.address":   checkListen,
	"gateway.token_env": checkVariableName,
	"gateway.hold":      durationBetween(time.Second, time.Hour),
	"gateway.requests":  between(1, 100_000),

	"permissions.mode": oneOf(modes...),
	"permissions.env":  checkVariables,

	"permissions.readable": checkNamePatterns,

	"sandbox.network": oneOf(networks...),
	"sandbox.write":   checkPlaces,
	"sandbox.read":    checkPlaces,

	"screen.theme":  oneOf("auto", "light", "dark", "contrast", "16", "none"),
	"screen.notify": oneOf("auto", "osc9", "osc777", "osc99", "bell", "command", "off"),
	"screen.quiet":  checkHours,

	"screen.command": checkOneLine,
	"screen.links":   oneOf("auto", "on", "off"),
	"screen.leave":   oneOf("answer", "all", "nothing"),
}

// modes are the permission modes from strict to free.
var modes = []string{"ask", "edits", "all"}

// networks are what commands may do with the network, from strict to free.
var networks = []string{"deny", "ask", "allow"}

// checkPlaces checks a list of files and folders.
func checkPlaces(v any) (problem, hint string) {
	for _, path := range v.([]string) {
		if !filepath.IsAbs(path) && !strings.HasPrefix(path, "~/") {
			return fmt.Sprintf("%.60q is no place", path), "write a path that begins with / or ~/"
		}
	}
	return "", ""
}

func oneOf(list ...string) checkFunc {
	return func(v any) (string, string) {
		text := v.(string)
		if slices.Contains(list, text) {
			return "", ""
		}
		hint := "use " + strings.Join(list[:len(list)-1], ", ") + " or " + list[len(list)-1]
		return fmt.Sprintf("unknown value %.60q", text), hint
	}
}

// checkEfforts accepts any word, since models differ in the efforts they support.
func checkEfforts(v any) (string, string) {
	e := v.(Effort)
	for _, text := range []string{e.Heavy, e.Medium, e.Light} {
		if strings.ContainsFunc(text, func(r rune) bool { return r != '_' && r != '-' && !('a' <= r && r <= 'z') }) {
			return fmt.Sprintf("unknown effort %.60q", text),
				"use a word that the model knows, such as low, medium or high"
		}
	}
	return "", ""
}

var checkChannel = oneOf("screen", "desktop", "command", "webhook")

func checkChannels(v any) (string, string) {
	for _, text := range v.(Channels) {
		if problem, hint := checkChannel(text); problem != "" {
			return problem, hint
		}
	}
	return "", ""
}

func between(low, high float64) checkFunc {
	return func(v any) (string, string) {
		n := reflect.ValueOf(v)
		x := 0.0
		if n.CanInt() {
			x = float64(n.Int())
		} else {
			x = n.Float()
		}
		if x < low || x > high {
			return fmt.Sprintf("%v is out of range", v), fmt.Sprintf("use %.12g to %.12g", low, high)
		}
		return "", ""
	}
}

func durationBetween(low, high time.Duration) checkFunc {
	return func(v any) (string, string) {
		if d := v.(time.Duration); d < low || d > high {
			return fmt.Sprintf("%s is out of range", formatDuration(d)),
				fmt.Sprintf("use %s to %s", formatDuration(low), formatDuration(high))
		}
		return "", ""
	}
}

func checkSchedule(v any) (string, string) {
	steps := v.([]time.Duration)
	if len(steps) > 20 {
		return fmt.Sprintf("%d steps are too many", len(steps)), "use at most 20"
	}
	for i, d := range steps {
		if d < time.Second || d > 24*time.Hour {
			return fmt.Sprintf("entry %d: %s is out of range", i+1, formatDuration(d)), "use 1s to 24h"
		}
		if i > 0 && d < steps[i-1] {
			return fmt.Sprintf("entry %d: %s is shorter than the one before", i+1, formatDuration(d)),
				"each wait is at least as long as the one before"
		}
	}
	return "", ""
}

func checkTargets(v any) (string, string) {
	list := v.([]string)
	for i, text := range list {
		if provider, model, ok := strings.Cut(text, "/"); !ok || provider == "" || model == "" {
			return fmt.Sprintf("entry %d: %.80q is not provider/model", i+1, text),
				"write provider/model, such as openai/gpt-5.6-sol"
		}
		if strings.TrimSpace(text) != text {
			return fmt.Sprintf("entry %d: %.80q has spaces around it", i+1, text),
				"names are sent as they are: take the spaces out"
		}
		if slices.Contains(list[:i], text) {
			return fmt.Sprintf("entry %d: %.80q stands there twice", i+1, text), "name each target once"
		}
	}
	return "", ""
}

func checkVariables(v any) (problem, hint string) {
	for i, name := range v.([]string) {
		if !variablePattern.MatchString(name) {
			// It may be a secret itself, so the message must not quote it.
			return fmt.Sprintf("entry %d: is not the name of a variable", i+1), "write names, such as GITHUB_TOKEN"
		}
	}
	return "", ""
}

func checkNamePatterns(v any) (problem, hint string) {
	for i, pattern := range v.([]string) {
		if _, err := filepath.Match(pattern, ""); err != nil || pattern == "" || strings.ContainsAny(pattern, `/\`) {
			return fmt.Sprintf("entry %d: is no pattern for the name of a file", i+1), "write names, such as .env.test or *.pem"
		}
	}
	return "", ""
}

var variablePattern = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

func checkVariableName(v any) (string, string) {
	if text := v.(string); text != "" && !variablePattern.MatchString(text) {
		// Most likely this is the key itself, so the message must not quote it.
		return "is not the name of a variable",
			"name the environment variable that holds the key; the key itself does not belong here"
	}
	return "", ""
}

func checkOneLine(v any) (string, string) {
	if strings.ContainsAny(reflect.ValueOf(v).String(), "\r\n\x00") {
		return "holds a line break", "write it on one line"
	}
	return "", ""
}

var headerPattern = regexp.MustCompile("^[A-Za-z0-9!#$%&'*+.^_`|~-]+$")

// checkName checks a name that the user chooses: of a provider, a model or a header.
func checkName(path []string) (problem, hint string) {
	key := path[len(path)-1]
	switch pattern(path) {
	case "providers.*":
		if key == "" || strings.ContainsAny(key, "/ \t\r\n") {
			return "is no name for a provider", "use a word without spaces and slashes"
		}
	case "models.*":
		if provider, model, ok := strings.Cut(key, "/"); !ok || provider == "" || model == "" {
			return "is not provider/model", `write [models."provider/model"]`
		}
	case "providers.*.headers.*":
		if !headerPattern.MatchString(key) {
			return "is no name for a header", "use letters, digits and hyphens"
		}
	}
	return "", ""
}

// checkProjectValue keeps a project's file from loosening what the user has set. The
// file comes with the code, so anybody may have written it.
func checkProjectValue(path []string, old, v reflect.Value) (problem, hint string) {
	const advice = "put it into your own settings: `belay config path` names the file"
	switch {
	case path[0] == "providers":
		return "a project may not say where requests and keys go", advice
	case path[0] == "keys":
		return "a project may not say what keys do", advice
	case path[0] == "queue" || path[0] == "lanes":
		return "a project may not say where tasks are kept and how fast they go", advice
	case path[0] == "record" || path[0] == "alerts" || path[0] == "telemetry":
		return "a project may not say what is recorded and what runs", advice
	case path[0] == "gateway":
		return "a project may not say who is served", advice
	case joinKey(path) == "screen.command":
		return "a project may not say what runs", advice
	case joinKey(path) == "permissions.env":
		return "a project may not say which secrets its commands see", advice
	case joinKey(path) == "permissions.anywhere":
		return "a project may not say where you need not be asked", advice
	case joinKey(path) == "permissions.readable":
		return "a project may not say which of its secrets are read", advice
	case joinKey(path) == "sandbox.network":
		if slices.Index(networks, v.String()) > slices.Index(networks, old.String()) {
			return fmt.Sprintf("a project may only be stricter than your own %q", old.String()), advice
		}
	case path[0] == "sandbox" && (joinKey(path) != "sandbox.enabled" || !v.Bool()):
		return "a project may not say what its commands reach", advice
	case joinKey(path) == "permissions.mode":
		if slices.Index(modes, v.String()) > slices.Index(modes, old.String()) {
			return fmt.Sprintf("a project may only be stricter than your own %q", old.String()), advice
		}
	case path[0] == "limits" || path[0] == "budget":
		before, after := toFloat(old), toFloat(v)
		if before != 0 && (after == 0 || after > before) {
			return "a project may only lower a limit of yours", advice
		}
	}
	return "", ""
}

func toFloat(v reflect.Value) float64 {
	if v.CanInt() {
		return float64(v.Int())
	}
	return v.Float()
}

// checkTogether checks keys that depend on each other.
func (l *loader) checkTogether() {
	settings := &l.settings
	lists := settings.Tiers.Targets()
	for _, tier := range []string{"heavy", "medium", "light"} {
		key := "tiers." + tier
		for _, target := range lists[tier] {
			provider, _, _ := strings.Cut(target, "/")
			l.checkProvider(key, provider)
		}
	}
	fields := slices.Sorted(maps.Keys(settings.origins))
	for _, target := range slices.Sorted(maps.Keys(settings.Models)) {
		provider, _, _ := strings.Cut(target, "/")
		prefix := joinKey([]string{"models", target}) + "."
		i := slices.IndexFunc(fields, func(field string) bool { return strings.HasPrefix(field, prefix) })
		if i >= 0 {
			l.checkProvider(fields[i], provider)
		}
	}
	if tier := settings.Tiers.Default; len(lists[tier]) == 0 {
		l.fault(settings.Origin("tiers.default"), "tiers.default", fmt.Sprintf("the tier %q is empty", tier),
			"name a target in tiers."+tier+", or begin with another tier")
	}
}

// checkProvider checks that the settings or the catalogue know a provider.
func (l *loader) checkProvider(key, provider string) {
	if _, ok := l.settings.Providers[provider]; ok || l.from.Providers == nil {
		return
	}
	known := l.from.Providers()
	if slices.Contains(known, provider) {
		return
	}
	for p := range l.settings.Providers {
		known = append(known, p)
	}
	hint := "describe it under [" + joinKey([]string{"providers", provider}) + "] with base_url and api"
	if near := nearestName(provider, known); near != "" {
		hint = fmt.Sprintf("did you mean %s? Otherwise %s", near, hint)
	}
	l.fault(l.settings.Origin(key), key, fmt.Sprintf("unknown provider %.60q", provider), hint)
}
