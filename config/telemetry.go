package config

// Telemetry is who is told of requests to models, beside the record on this computer.
// Nobody is by default.
type Telemetry struct {
	OTLP string `toml:"otlp"` // the address of a collector of OpenTelemetry; empty: none
}
