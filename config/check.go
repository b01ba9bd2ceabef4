package config

import (
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"
)

// check looks at a value that has the right type.
func check(path []string, v reflect.Value) (problem, hint string) {
	if v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	test := checks[pattern(path)]
	if test == nil {
		return "", ""
	}
	return test(v.Interface())
}

type test func(v any) (problem, hint string)

var checks = map[string]test{
	"providers.*.base_url":     address,
	"providers.*.api":          oneOf("responses", "chat"),
	"providers.*.key_env":      variable,
	"providers.*.headers.*":    oneLine,
	"providers.*.concurrency":  between(0, 1000),
	"providers.*.service_tier": oneLine,

	"tiers.heavy":   targets,
	"tiers.medium":  targets,
	"tiers.light":   targets,
	"tiers.default": oneOf("heavy", "medium", "light"),

	"models.*.window":     between(0, 1e9),
	"models.*.max_output": between(0, 1e9),
	"models.*.input":      between(0, 1e6),
	"models.*.cached":     between(0, 1e6),
	"models.*.output":     between(0, 1e6),
	"models.*.encoding":   oneOf("o200k_base", "cl100k_base"),

	"switch.policy":            oneOf("auto", "ask", "never"),
	"switch.floor":             oneOf("heavy", "medium", "light"),
	"switch.after.interactive": between(1, 100),
	"switch.after.step":        between(1, 100),
	"switch.failback_after":    within(0, 24*time.Hour),

	"request.effort":     efforts,
	"request.max_output": between(0, 1e8),
	"request.slim":       oneOf("off", "trim", "lower"),

	"context.reserve": between(0, 1e8),
	"context.trigger": between(0.1, 1),
	"context.warn":    between(0, 1e9),

	"retry.profile":     oneOf("default", "switch-early", "patient"),
	"retry.attempts":    between(1, 20),
	"retry.max_wait":    within(0, time.Hour),
	"retry.first_event": within(time.Second, 24*time.Hour),
	"retry.silence":     within(time.Second, 24*time.Hour),

	"park.ladder": ladder,

	"limits.steps":   between(0, 1e6),
	"limits.retries": between(0, 1e6),
	"limits.wait":    within(0, 1000*time.Hour),
	"limits.cost":    between(0, 1e6),

	"record.retention":   within(0, 100*365*24*time.Hour),
	"record.environment": oneLine,
	"record.team":        oneLine,
	"budget.day":         between(0, 1e6),
	"budget.month":       between(0, 1e6),
	"alerts.notify":      channels,
	"alerts.command":     oneLine,
	"alerts.share":       between(0.01, 1),

	"permissions.mode": oneOf(modes...),

	"screen.theme":  oneOf("auto", "light", "dark"),
	"screen.notify": oneOf("auto", "bell", "off"),
}

// modes from careful to free.
var modes = []string{"ask", "edits", "all"}

func oneOf(list ...string) test {
	return func(v any) (string, string) {
		text := v.(string)
		if slices.Contains(list, text) {
			return "", ""
		}
		hint := "use " + strings.Join(list[:len(list)-1], ", ") + " or " + list[len(list)-1]
		return fmt.Sprintf("unknown value %.60q", text), hint
	}
}

// efforts takes any word: which ones a model knows is for the model to say.
func efforts(v any) (string, string) {
	e := v.(Effort)
	for _, text := range []string{e.Heavy, e.Medium, e.Light} {
		if strings.ContainsFunc(text, func(r rune) bool { return r != '_' && r != '-' && !('a' <= r && r <= 'z') }) {
			return fmt.Sprintf(
				"unknown effort %.60q",
				text,
			), "use a word that the model knows, such as low, medium or high"
		}
	}
	return "", ""
}

var oneChannel = oneOf("screen", "desktop", "command")

func channels(v any) (string, string) {
	for _, text := range v.(Channels) {
		if problem, hint := oneChannel(text); problem != "" {
			return problem, hint
		}
	}
	return "", ""
}

func between(low, high float64) test {
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

func within(low, high time.Duration) test {
	return func(v any) (string, string) {
		if d := v.(time.Duration); d < low || d > high {
			return fmt.Sprintf("%s is out of range", short(d)), fmt.Sprintf("use %s to %s", short(low), short(high))
		}
		return "", ""
	}
}

func ladder(v any) (string, string) {
	steps := v.([]time.Duration)
	if len(steps) > 20 {
		return fmt.Sprintf("%d steps are too many", len(steps)), "use at most 20"
	}
	for i, d := range steps {
		if d < time.Second || d > 24*time.Hour {
			return fmt.Sprintf("entry %d: %s is out of range", i+1, short(d)), "use 1s to 24h"
		}
		if i > 0 && d < steps[i-1] {
			return fmt.Sprintf(
				"entry %d: %s is shorter than the one before",
				i+1,
				short(d),
			), "each wait is at least as long as the one before"
		}
	}
	return "", ""
}

func targets(v any) (string, string) {
	list := v.([]string)
	for i, text := range list {
		if provider, model, ok := strings.Cut(text, "/"); !ok || provider == "" || model == "" {
			return fmt.Sprintf(
				"entry %d: %.80q is not provider/model",
				i+1,
				text,
			), "write provider/model, such as openai/gpt-5.6-sol"
		}
		if strings.TrimSpace(text) != text {
			return fmt.Sprintf(
				"entry %d: %.80q has spaces around it",
				i+1,
				text,
			), "names are sent as they are: take the spaces out"
		}
		if slices.Contains(list[:i], text) {
			return fmt.Sprintf("entry %d: %.80q stands there twice", i+1, text), "name each target once"
		}
	}
	return "", ""
}

var variablePattern = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

func variable(v any) (string, string) {
	if text := v.(string); text != "" && !variablePattern.MatchString(text) {
		// Most likely the key itself: it must not be repeated.
		return "is not the name of a variable",
			"name the environment variable that holds the key; the key itself does not belong here"
	}
	return "", ""
}

func oneLine(v any) (string, string) {
	if strings.ContainsAny(reflect.ValueOf(v).String(), "\r\n\x00") {
		return "holds a line break", "write it on one line"
	}
	return "", ""
}

var headerPattern = regexp.MustCompile("^[A-Za-z0-9!#$%&'*+.^_`|~-]+$")

// checkName looks at a key that the user may choose.
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

// forProject keeps a project's file from reaching further than the user: it
// came with the code and may have been written by anybody.
func forProject(path []string, old, v reflect.Value) (problem, hint string) {
	const mine = "put it into your own settings: `belay config path` names the file"
	switch {
	case path[0] == "providers":
		return "a project may not say where requests and keys go", mine
	case path[0] == "record" || path[0] == "alerts":
		return "a project may not say what is recorded and what runs", mine
	case name(path) == "permissions.mode":
		if slices.Index(modes, v.String()) > slices.Index(modes, old.String()) {
			return fmt.Sprintf("a project may only be stricter than your own %q", old.String()), mine
		}
	case path[0] == "limits" || path[0] == "budget":
		before, after := number(old), number(v)
		if before != 0 && (after == 0 || after > before) {
			return "a project may only lower a limit of yours", mine
		}
	}
	return "", ""
}

func number(v reflect.Value) float64 {
	if v.CanInt() {
		return float64(v.Int())
	}
	return v.Float()
}

// across checks what several keys say together.
func (l *loader) across() {
	settings := &l.settings
	lists := settings.Tiers.Targets()
	for _, tier := range []string{"heavy", "medium", "light"} {
		key := "tiers." + tier
		for _, target := range lists[tier] {
			provider, _, _ := strings.Cut(target, "/")
			l.provider(key, provider)
		}
	}
	fields := slices.Sorted(maps.Keys(settings.origins))
	for _, target := range slices.Sorted(maps.Keys(settings.Models)) {
		provider, _, _ := strings.Cut(target, "/")
		i := slices.IndexFunc(
			fields,
			func(field string) bool { return strings.HasPrefix(field, name([]string{"models", target})+".") },
		)
		if i >= 0 {
			l.provider(fields[i], provider)
		}
	}
	if tier := settings.Tiers.Default; len(lists[tier]) == 0 {
		l.fault(
			settings.Origin("tiers.default"),
			"tiers.default",
			fmt.Sprintf("the tier %q is empty", tier),
			"name a target in tiers."+tier+", or begin with another tier",
		)
	}
}

// provider checks that a name is known, to the settings or to the catalogue.
func (l *loader) provider(key, provider string) {
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
	hint := "describe it under [" + name([]string{"providers", provider}) + "] with base_url and api"
	if near := nearest(provider, known); near != "" {
		hint = fmt.Sprintf("did you mean %s? Otherwise %s", near, hint)
	}
	l.fault(l.settings.Origin(key), key, fmt.Sprintf("unknown provider %.60q", provider), hint)
}
