package archtest

// records are structs that list values, a field each, and hold nothing else together: settings, an answer, a report,
// the words of a format, registers. They may have as many fields as there are values.
var records = []string{
	"api.Block",
	"api.NodeInfo",
	"api.Receipt",
	"api.StateSnapshot",
	"api.TraceCall",
	"api.Transaction",
	"bench/flood.result",
	"bench/flood.settings",
	"bench/growth.settings",
	"bench/outage.settings",
	"bench/proving.settings",
	"cmd/cairn.devSettings",
	"cmd/cairn.httpSettings",
	"cmd/cairn.nodeSettings",
	"crypto/internal/lanes.work",
	"internal/cli.plannedTransaction",
	"internal/datadir.Options",
	"internal/engine/cluster.Config",
	"internal/engine/cluster.Status",
	"internal/engine/mempool.Options",
	"internal/engine/mempool.Stats",
	"internal/engine/snapshot.Manifest",
	"internal/loadgen.Report",
	"internal/node.Config",
	"internal/proof/poseidon/internal/gen.avx512",
	"internal/proof/poseidon/internal/gen.packed",
	"internal/protocol/blockproof.row",
	"internal/protocol/params.Schedule",
	"internal/protocol/vm.bounds",
	"internal/server/front.Config",
	"internal/server/front.Stats",
	"internal/server/front.counts",
	"internal/server/front.preamble",
	"internal/server/members.Member",
	"internal/server/push.Config",
	"internal/storage/kv.Metrics",
	"internal/testkit.headerVector",
	"internal/testkit.txVector",
	"internal/testkit.vectors",
	"internal/testkit/clustersim.Report",
	"internal/testkit/sim.Report",
	"proof.Verdict",
	"types.Header",
}

// large has what is over a limit still, with its size. It may shrink, and nothing may be added.
var large = map[string]int{}

// many has how many findings of a kind a package still has, or may have. They may become fewer only.
var many = map[string]int{
	"exported name of internal/node internal/node": 15,
}
