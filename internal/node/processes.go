package node

import (
	"time"

	"github.com/cairn-chain/cairn/internal/server/provers"
	"github.com/cairn-chain/cairn/internal/server/telemetry"
	"github.com/cairn-chain/cairn/internal/signer"
)

// The metrics of the processes that work for a node on other machines. They are beside the node's, so that one test
// checks the alerts and the dashboard against all metrics (deploy).

// SignerDurations returns a function that records the duration of a signer's answer.
func SignerDurations(t *telemetry.Telemetry) func(time.Duration) {
	return t.Histogram("signer_request_duration_seconds", "Time to answer a signing request.")
}

// RegisterSigner registers a signer's metrics, which call read.
func RegisterSigner(t *telemetry.Telemetry, read func() signer.Stats) {
	type stats = signer.Stats
	telemetry.Register(t, read,
		telemetry.Counter("signer_signed_total", "Block headers signed.", func(s stats) uint64 { return s.Signed }),
		telemetry.Counters("signer_refused_total", "Signing requests refused, by reason.", "reason",
			func(s stats) map[string]uint64 { return s.Refused }),
		telemetry.Counter("signer_strangers_total", "Connections refused because the client's pin is unknown.",
			func(s stats) uint64 { return s.Strangers }),
		telemetry.Gauge("signer_nodes", "Connected nodes.", func(s stats) int { return s.Nodes }),
		telemetry.Gauge("signer_height", "Height of the newest signed header.",
			func(s stats) uint64 { return uint64(s.Height) }),
	)
}

// RegisterProver registers the metrics of a prover with an address of its own, which call read.
func RegisterProver(t *telemetry.Telemetry, read func() provers.Stats) {
	type stats = provers.Stats
	telemetry.Register(t, read,
		telemetry.Counter("prover_proofs_total", "Proofs accepted by the node.", func(s stats) uint64 { return s.Proofs }),
		telemetry.Counter("prover_failures_total", "Failures to reach the node, or to make or submit a proof.", func(s stats) uint64 { return s.Failures }),
	)
}
