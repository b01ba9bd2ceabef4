package config

import _ "embed"

//go:embed example.toml
var example string

// Example is a settings file with every key, its default and its meaning. A
// line that begins with one # is a setting: without the # it takes effect, and
// as it stands it says what holds anyway. Lines with two are explanations.
func Example() string { return example }
