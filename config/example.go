package config

import _ "embed"

//go:embed example.toml
var example string

// Example is a settings file with every key, its meaning and its default. A line that
// begins with one # is a setting at its default, which takes effect without the #.
// Lines with two are explanations.
func Example() string { return example }
