package metrics

import _ "embed" // the board

//go:embed board.json
var grafana []byte

// Board is a dashboard for Grafana that shows these metrics.
func Board() []byte { return append([]byte(nil), grafana...) }
