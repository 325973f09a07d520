// Package archtest defines the architecture as a table of permitted imports. The table is the diagram. Its test reads
// the sources, and fails if they violate it or if a package has no row.
package archtest

// module is the prefix of the project's import paths.
const module = "github.com/cairn-chain/cairn"

// rows lists, for each package, the packages of the project that it may import. Test files may also import testkit and
// the packages in testRows. A row whose name ends in "/..." applies to all packages below.
var rows = map[string][]string{
	".": {},

	// Public: imported by application developers.
	"codec":   {},
	"crypto":  {"crypto/bip340"},
	"wallet":  {"crypto", "crypto/bip340"}, // addresses of an account's public key: their tweak
	"jsonrpc": {},
	"types":   {"codec", "crypto/bech32m", "crypto/bip322", "crypto/bip340", "crypto/p256"},
	"api":     {"abi", "jsonrpc", "types"},
	"client":  {"abi", "api", "jsonrpc", "types", "crypto", "codec"},
	"abi":     {"types", "codec"},
	"proof": {"types", "internal/protocol/blockproof", "internal/protocol/lists", "internal/protocol/params",
		"internal/protocol/state", "internal/protocol/tree"},

	// The parts of crypto without secrets.
	"crypto/bip322":  {"crypto/bip340"},
	"crypto/bip340":  {"crypto/internal/lanes"},
	"crypto/bech32m": {},
	"crypto/foreign": {},
	"crypto/p256":    {},

	// Repeats view calls on proven state, with an engine, which the verifier of blocks does not need.
	"proof/view": {"api", "types", "internal/engine/wasm", "internal/protocol/..."},

	// The verifier for JavaScript.
	"proof/wasm": {"proof", "types"}, // the hash of a trusted block

	// Tests of tokens, and the in-memory chain for contract tests, with the protocol and the engine themselves.
	"kit/conformance": {"abi", "types"},
	"kit/nep20":       {"abi", "contracts", "types", "kit/conformance"},
	"kit/nep11":       {"abi", "contracts", "types", "kit/conformance"},
	"kit/sender":      {"api", "client", "types", "internal/protocol/fees", "internal/protocol/params"},
	"kit/bind":        {"abi", "api", "client", "codec", "types"},
	"kit/contracttest": {"abi", "api", "client", "kit/conformance", "kit/nep11", "kit/nep20", "crypto",
		"types", "internal/engine/wasm",
		"internal/protocol/...", "internal/trace"},
	"kit/contracttest/fuzz": {"abi", "kit/contracttest", "contracts", "types"},

	// Traces of transactions, as nodes and contract tests show them.
	"internal/trace": {"api", "jsonrpc", "types", "internal/protocol/exec", "internal/protocol/vm"},

	// Inside crypto: vector code.
	"crypto/internal/lanes":              {},
	"crypto/internal/lanes/internal/gen": {},

	// The protocol: deterministic, a function of values.
	"internal/proof/poseidon":              {},
	"internal/proof/poseidon/internal/gen": {},
	"internal/proof/air":                   {"internal/proof/field"},
	"internal/proof/field":                 {},
	"internal/proof/sha":                   {"internal/proof/field"},
	"internal/proof/transcript":            {"internal/proof/field", "internal/proof/sha"},
	"internal/proof/merkle":                {"internal/proof/field", "internal/proof/sha"},
	"internal/proof/fri":                   {"internal/proof/field", "internal/proof/merkle", "internal/proof/transcript"},
	"internal/proof/stark": {"internal/proof/air", "internal/proof/field", "internal/proof/fri",
		"internal/proof/transcript"},
	"internal/proof/verifier": {"internal/proof/air", "internal/proof/field", "internal/proof/fri",
		"internal/proof/merkle", "internal/proof/stark", "internal/proof/transcript"},
	"internal/proof/prover": {"internal/proof/air", "internal/proof/field", "internal/proof/fri",
		"internal/proof/merkle", "internal/proof/stark", "internal/proof/transcript"},
	"internal/proof/security": {"internal/proof/air", "internal/proof/field", "internal/proof/fri",
		"internal/proof/stark"},
	"internal/protocol/params": {"types", "crypto/bip340"},
	"internal/protocol/fees":   {"types", "internal/protocol/params"},
	"internal/protocol/state":  {"types", "codec"},
	"internal/protocol/tree":   {"types", "codec", "internal/proof/poseidon"},
	"internal/protocol/lists":  {"types", "internal/proof/poseidon"},
	"internal/protocol/vm":     {"types", "internal/protocol/params"},
	"internal/protocol/blockproof": {"types", "codec", "internal/proof/air", "internal/proof/field",
		"internal/proof/poseidon", "internal/proof/stark", "internal/proof/transcript", "internal/proof/verifier",
		"internal/protocol/params", "internal/protocol/tree"},
	"internal/protocol/exec": {"types", "crypto/bip340", "crypto/foreign", "crypto/p256", "internal/protocol/params",
		"internal/protocol/fees", "internal/protocol/lists", "internal/protocol/state", "internal/protocol/vm"},

	// Wakes goroutines one after another.
	"internal/wake": {},

	// Storage.
	"internal/storage/kv": {"internal/emergency", "internal/machine"}, // messages to operators about damage found by a read
	"internal/storage/chain": {"types", "codec", "internal/storage/kv", "internal/protocol/...",
		"internal/proof/poseidon", "internal/wake"},
	"internal/storage/signstate": {"types", "internal/storage/kv", "internal/storage/slots"},
	"internal/storage/raftlog":   {"codec", "internal/storage/kv", "internal/storage/slots"},
	"internal/storage/sealed":    {},
	"internal/storage/slots":     {"internal/storage/kv"},

	// The engine.
	"internal/engine/flat": {"types", "internal/engine/parallel"},
	"internal/engine/cluster": {"types", "codec", "internal/emergency", "internal/engine/ledger", "internal/engine/mempool",
		"internal/engine/sequencer", "internal/protocol/...", "internal/storage/chain", "internal/storage/kv",
		"internal/storage/raftlog"},
	// The producer's key in a separate process, with the cluster's TLS.
	"internal/signer": {"types", "crypto", "internal/emergency", "internal/p2p",
		"internal/storage/signstate"},
	"internal/p2p": {"types", "codec", "internal/emergency", "internal/engine/cluster", "internal/engine/semaphore"},
	"internal/engine/ledger": {"types", "internal/engine/flat", "internal/engine/parallel",
		"internal/storage/chain", "internal/storage/signstate", "internal/protocol/...", "internal/proof/poseidon"},
	"internal/engine/mempool": {"types", "crypto/bip340", "internal/emergency", "internal/engine/ledger",
		"internal/engine/mempool/journal", "internal/engine/parallel", "internal/engine/semaphore", "internal/machine",
		"internal/protocol/...", "internal/storage/chain"},
	"internal/engine/mempool/journal": {},
	"internal/engine/quarantine": {"types", "internal/emergency", "internal/engine/mempool/journal", "internal/protocol/vm",
		"internal/storage/sealed"},
	"internal/engine/parallel":  {"internal/machine"},
	"internal/engine/pause":     {},
	"internal/engine/semaphore": {},
	"internal/engine/wasm":      {"types", "internal/protocol/vm"},
	"internal/engine/proving": {"types", "codec", "internal/proof/prover", "internal/proof/stark",
		"internal/protocol/blockproof", "internal/protocol/tree", "internal/storage/chain", "internal/engine/pause"},
	"internal/engine/snapshot": {"types", "codec", "internal/engine/ledger", "internal/engine/pause",
		"internal/machine", "internal/storage/chain", "internal/storage/kv", "internal/protocol/...", "internal/proof/poseidon"},
	"internal/engine/sequencer": {"types", "crypto", "crypto/bip340", "internal/emergency", "internal/engine/quarantine",
		"internal/engine/ledger", "internal/engine/mempool", "internal/protocol/...", "internal/storage/signstate",
		"internal/storage/kv", "internal/storage/sealed"},

	"internal/engine/replica": {"types", "internal/emergency", "internal/engine/ledger", "internal/engine/mempool", "internal/engine/pause",
		"internal/engine/semaphore", "internal/protocol/blockproof", "internal/protocol/tree",
		"internal/storage/chain", "internal/storage/sealed"},

	// The client side of the wire, as used by the engine.
	"internal/upstream": {"api", "client", "jsonrpc", "types", "internal/engine/replica", "internal/engine/snapshot",
		"internal/proof/poseidon", "internal/protocol/tree", "internal/storage/chain"},

	// Servers.
	"internal/server/admission": {"internal/machine", "internal/server/telemetry"}, // the clock of a thread
	"internal/server/request":   {"internal/server/admission", "api", "jsonrpc", "types"},
	"internal/server/push": {"internal/server/request", "internal/server/telemetry", "api", "jsonrpc", "types",
		"internal/storage/chain", "internal/wake"},
	"internal/server/rpc": {"internal/build", "internal/machine", "internal/server/admission", "internal/server/request",
		"internal/server/telemetry", "abi", "api",
		"jsonrpc", "types", "codec",
		"internal/engine/...", "internal/proof/poseidon", "internal/storage/chain", "internal/protocol/...", "internal/trace"},
	"internal/server/admin":     {"internal/secret"},
	"internal/server/members":   {"internal/server/admin"},
	"internal/server/snapshots": {"internal/engine/snapshot"},
	"internal/server/sources":   {"api", "internal/contractsource", "internal/server/admin", "internal/storage/kv"},
	"internal/server/provers": {"types", "internal/engine/proving", "internal/protocol/blockproof",
		"internal/server/admin"},
	"internal/server/explorer": {},
	"internal/server/front": {"internal/logs", "internal/machine", "internal/reload", "internal/secret",
		"internal/server/admission", "internal/server/request", "internal/server/telemetry",
		"jsonrpc"}, // whether a connection's other end is there
	"internal/server/telemetry": {"internal/build", "internal/logs"},

	// The wiring and the commands.
	"internal/build":          {},
	"internal/contractsource": {}, // the archive of a contract's source
	"kit/contractbuild":       {"contracts", "types", "internal/contractsource", "internal/protocol/..."},
	"kit/bindings":            {"abi"},
	"internal/config":         {},
	"internal/emergency":      {"types"}, // messages to operators about a node that stops
	"internal/logs":           {},        // the log within bounds
	"internal/accept":         {},        // connections, also while there is no descriptor for the next one
	"internal/reload":         {},        // files that change while a process runs
	"internal/secret":         {},        // files that only their owner may read
	"internal/machine":        {"crypto/bip340", "internal/proof/poseidon"},
	"internal/datadir": {"api", "client", "crypto", "types", "wallet", "internal/emergency", "internal/engine/...",
		"internal/machine", "internal/p2p",
		"internal/protocol/...", "internal/reload", "internal/secret", "internal/storage/...", "internal/upstream"},
	// The role of a node on its chain, for the node, operators and other members.
	"internal/role": {"api", "crypto", "jsonrpc", "types", "internal/accept", "internal/datadir", "internal/emergency",
		"internal/engine/...", "internal/machine", "internal/p2p", "internal/protocol/blockproof",
		"internal/protocol/exec", "internal/protocol/params", "internal/server/admin",
		"internal/server/members", "internal/server/rpc", "internal/server/telemetry", "internal/signer",
		"internal/storage/chain", "internal/storage/raftlog"},
	"internal/node": {"..."},
	"kit/loadgen":   {"contracts", "client", "api", "types", "crypto", "crypto/bip340"},
	// The tree of the client commands, and its rooms, which do not see one another.
	"cli": {"cli/chain", "cli/contract", "cli/invoke", "cli/keys", "cli/network", "cli/output", "cli/session",
		"internal/build", "types"},
	"cli/chain": {"api", "cli/argument", "cli/invoke", "cli/output", "cli/session", "cli/show", "cli/submit",
		"cli/tracing", "client", "proof", "types"},
	"cli/contract": {"abi", "api", "cli/argument", "cli/invoke", "cli/keystore", "cli/output", "cli/session", "cli/show",
		"cli/submit", "cli/tracing", "client", "contracts", "crypto", "internal/contractsource",
		"internal/server/sources", "kit/bindings", "kit/conformance", "kit/contractbuild", "kit/contracttest",
		"kit/contracttest/fuzz", "kit/nep11", "kit/nep20", "types"},
	"cli/keys": {"api", "cli/argument", "cli/invoke", "cli/keystore", "cli/output", "cli/session", "cli/show",
		"cli/submit", "client", "kit/sender", "types", "wallet"},
	"cli/network": {"api", "cli/argument", "cli/invoke", "cli/keystore", "cli/output", "cli/session", "cli/show",
		"cli/submit", "client", "crypto", "kit/loadgen", "types"},
	// The packages that the client commands share.
	"cli/submit": {"abi", "api", "cli/argument", "cli/invoke", "cli/keystore", "cli/output", "cli/session", "cli/show",
		"cli/tracing", "client", "kit/sender", "types"},
	"cli/tracing": {"abi", "api", "cli/output", "cli/session", "cli/show", "client", "internal/contractsource",
		"kit/contractbuild", "kit/contracttest", "types"},
	"cli/session": {"api", "cli/argument", "cli/invoke", "cli/keystore", "cli/output", "cli/show", "cli/terminal",
		"client", "internal/config", "internal/server/admin", "types"},
	"cli/show":     {"api", "cli/argument", "cli/output", "client", "types"},
	"cli/invoke":   {"cli/output", "cli/terminal", "internal/config"},
	"cli/argument": {"api", "types", "crypto", "crypto/bech32m", "wallet", "cli/keystore"},
	"cli/keystore": {"types", "crypto", "wallet"},
	"cli/output":   {"internal/emergency", "jsonrpc"},
	"cli/terminal": {},
	// The operator's commands, and the tree of all commands.
	"cli/operator": {"cli", "internal/accept", "internal/build", "internal/datadir", "internal/emergency", "internal/logs",
		"internal/machine",
		"internal/node", "internal/role",
		"internal/p2p", "internal/engine/parallel", "internal/engine/proving", "internal/engine/sequencer",
		"internal/server/explorer",
		"internal/server/admin", "internal/server/front", "internal/server/members", "internal/server/provers",
		"internal/server/rpc",
		"internal/server/telemetry", "internal/reload",
		"cli/argument", "cli/invoke", "cli/keystore", "cli/output", "cli/session", "internal/config",
		"internal/protocol/params",
		"internal/signer", "api", "types", "crypto"},
	"cmd/cairn": {"cli/invoke", "cli/operator", "internal/machine"},

	// Builds release files and the documentation site; in a separate module.
	"tools/release":      {},
	"tools/release/site": {},

	// Measurements; workshop/peers is a separate module.
	"workshop/distrust": {"codec", "crypto", "jsonrpc", "types", "internal/engine/parallel", "internal/engine/replica",
		"internal/protocol/blockproof", "internal/protocol/params", "workshop/internal/program", "internal/upstream"},
	"workshop/flood": {"api", "client", "types", "crypto", "kit/loadgen", "workshop/internal/program",
		"internal/testkit/wasmgen"},
	"workshop/gas": {"abi", "crypto", "types", "internal/engine/wasm", "internal/protocol/...",
		"internal/testkit/cputime", "workshop/internal/hunt", "internal/testkit/wasmgen"},
	"workshop/hunt": {"internal/machine", "internal/protocol/params", "workshop/internal/hunt"},
	"workshop/mutate": {"crypto", "crypto/bip322", "crypto/bip340", "crypto/p256", "types", "internal/engine/wasm",
		"internal/proof/poseidon", "internal/protocol/...", "internal/testkit/probe", "internal/testkit/wasmgen"},
	"workshop/history": {"api", "client", "types", "crypto", "internal/engine/...", "internal/datadir",
		"internal/protocol/...", "internal/storage/...", "workshop/internal/program"},
	"workshop/growth": {"api", "client", "contracts", "types", "crypto", "internal/engine/ledger",
		"internal/engine/parallel", "internal/engine/wasm", "internal/datadir", "internal/machine", "internal/proof/poseidon",
		"internal/proof/prover", "internal/proof/stark", "internal/protocol/...", "internal/storage/...",
		"workshop/internal/plot", "workshop/internal/program", "internal/testkit/wasmgen"},
	"workshop/proving": {"client", "kit/loadgen", "workshop/internal/program", "types"},
	"workshop/soak": {"client", "crypto", "types", "kit/loadgen", "workshop/internal/plot",
		"workshop/internal/program"},
	"workshop/outage": {"api", "client", "crypto", "types", "internal/server/admin", "internal/server/members",
		"workshop/internal/program"},
	"workshop/ruin": {"api", "client", "types", "crypto", "internal/server/admin", "internal/server/members",
		"internal/testkit/nextstep", "workshop/internal/program"},
	"workshop/siege":   {"api", "client", "jsonrpc", "types", "crypto", "workshop/internal/program", "workshop/internal/hunt"},
	"workshop/peers":   {"client", "kit/loadgen", "workshop/internal/program"},
	"workshop/replica": {"api", "client", "types", "kit/loadgen", "workshop/internal/program"},
	"workshop/snapshot": {"types", "crypto", "internal/engine/ledger", "internal/engine/parallel", "internal/datadir",
		"internal/protocol/...", "internal/storage/...", "workshop/internal/program"},

	"deploy":           {}, // files for operators; its test runs a node
	"workshop/balance": {"api", "client", "crypto", "types", "workshop/internal/program"},
	"workshop/provoke": {"api", "client", "crypto", "types", "internal/p2p", "internal/storage/sealed", "kit/loadgen",
		"workshop/internal/badmemory", "workshop/internal/program"},

	"contracts":                {}, // the sources of the SDKs for new projects and the reference token, embedded
	"contracts/assemblyscript": {}, // the guest's side; its test runs the compiled examples
	"contracts/rust":           {}, // likewise

	// Writes the methods and types of the TypeScript SDK from the OpenRPC document.
	"kit/apigen": {"api", "jsonrpc"},

	"internal/testkit": {"..."},
	// official test vectors of signatures, addresses and wallets
	"internal/testkit/bip": {},
	// contracts that call host functions as their arguments say
	"internal/testkit/probe": {"internal/protocol/vm", "types"},
	// processor time for benchmarks
	"internal/testkit/cputime": {},
	// next steps in messages to operators
	"internal/testkit/nextstep": {},
	// changes the databases of stopped nodes
	"workshop/internal/badmemory": {"internal/protocol/state", "internal/storage/kv", "types"},
	// contracts that cost more than they pay for
	"workshop/internal/hunt": {"crypto", "types", "internal/engine/...", "internal/protocol/...",
		"internal/storage/...", "internal/testkit/cputime", "internal/testkit/wasmgen"},
	// a second verifier of proofs, following docs/proofs.md
	"internal/testkit/plainverifier": {"internal/proof/air", "internal/proof/field", "internal/proof/stark"},
	// draws diagrams
	"workshop/internal/plot": {},
	// runs the real binary
	"workshop/internal/program": {"kit/loadgen"},
	// a chain in memory, which every test may use
	"internal/testkit/testchain": {"crypto", "types", "internal/engine/ledger", "internal/protocol/params",
		"internal/protocol/vm", "internal/storage/..."},
	// a chain with its proofs
	"internal/testkit/provenchain": {"contracts", "crypto", "types", "internal/engine/...", "internal/protocol/...",
		"internal/storage/...", "internal/testkit/testchain"},
	// a second implementation of metering, following docs/protocol.md
	"internal/testkit/naivemeter": {},
	// generates modules for tests of checks and engines
	"internal/testkit/wasmgen": {},
	"internal/testkit/openrpc": {}, // validates values against the schemas of an OpenRPC document
	"workshop/e2e":             {"..."},
	"internal/archtest":        {},
	"workshop/clustersim": {"crypto", "types", "internal/engine/...", "internal/storage/...",
		"internal/protocol/..."},
	"kit/bindings/generated/typed": {"abi", "api", "client", "kit/bind", "codec", "types"},
	"kit/bindings/generated/nep20": {"api", "client", "kit/bind", "codec", "types"},
	"workshop/sim": {"contracts", "crypto", "crypto/bip340", "types", "internal/engine/...",
		"internal/storage/...", "internal/protocol/..."},
}

// testRows lists the packages that a package's tests may import in addition to its row, such as a real store below the
// tested code.
var testRows = map[string][]string{
	"internal/storage/chain": {"crypto"},
	"client":                 {"crypto/bip322", "crypto/p256"},
	"kit/sender":             {"crypto", "jsonrpc"},
	"cli": {"abi", "api", "cli/argument", "cli/keystore", "cli/submit", "cli/terminal", "cli/tracing", "contracts",
		"crypto/bip322", "internal/contractsource", "jsonrpc"},
	"kit/loadgen":             {"jsonrpc"},
	"crypto":                  {"crypto/bech32m", "internal/testkit/bip"},
	"crypto/bip322":           {"crypto/bech32m"},
	"crypto/bip340":           {"internal/testkit/bip"},
	"crypto/bech32m":          {"internal/testkit/bip"},
	"wallet":                  {"crypto/bech32m", "internal/testkit/bip"},
	"types":                   {"crypto"},
	"internal/engine/mempool": {"codec", "crypto"},
	"internal/protocol/blockproof": {"crypto", "internal/proof/prover", "internal/proof/security",
		"internal/testkit/plainverifier"},
	"internal/protocol/exec": {"crypto", "crypto/bip322", "internal/protocol/tree", "internal/testkit/wasmgen"},
	"kit/contracttest":       {"contracts", "internal/testkit/wasmgen"},
	"kit/contracttest/fuzz":  {"internal/testkit/wasmgen"},
	"contracts/rust": {"abi", "client", "kit/conformance", "kit/contractbuild", "kit/contracttest", "kit/contracttest/fuzz", "crypto",
		"crypto/bip322", "crypto/bip340", "crypto/foreign", "crypto/p256", "internal/protocol/vm", "types"},
	"contracts/assemblyscript": {"client", "types", "crypto", "internal/engine/wasm", "internal/protocol/..."},
	"deploy": {"api", "crypto", "internal/build", "internal/datadir", "internal/p2p", "internal/node", "internal/role",
		"internal/server/provers", "internal/server/telemetry", "internal/signer", "types"},
	// faults found by the storage, for which a message is made
	"cli/operator": {"internal/engine/mempool/journal", "internal/storage/chain", "internal/storage/kv",
		"internal/storage/raftlog", "internal/testkit/nextstep"},
	"internal/engine/cluster": {"internal/testkit/wasmgen"},
	"internal/signer":         {"internal/storage/kv"},
	"internal/engine/flat":    {"internal/testkit/cputime"},
	"internal/engine/ledger": {"abi", "contracts", "internal/engine/proving", "internal/engine/wasm",
		"internal/testkit/cputime", "crypto", "internal/storage/kv"},
	"internal/engine/wasm":      {"internal/testkit/cputime", "internal/testkit/wasmgen"},
	"internal/engine/proving":   {"internal/engine/ledger"},
	"internal/engine/sequencer": {"internal/engine/wasm", "internal/storage/...", "internal/testkit/wasmgen"},
	"internal/engine/replica":   {"crypto", "internal/protocol/...", "internal/testkit/wasmgen"},
	"internal/proof/prover":     {"internal/proof/verifier"},
	"proof":                     {"crypto", "internal/proof/poseidon", "internal/testkit/provenchain"},
	"proof/wasm": {"crypto", "internal/proof/poseidon", "internal/protocol/...", "internal/testkit/provenchain",
		"jsonrpc"},
	"internal/proof/verifier": {"internal/proof/prover", "internal/testkit/plainverifier"},
	"internal/protocol/vm":    {"internal/testkit/naivemeter", "internal/testkit/wasmgen"},
	"internal/server/push":    {"internal/protocol/exec"},
	// the other ends of a subscription and of a proof
	"internal/server/rpc": {"crypto", "internal/testkit/openrpc",
		"internal/testkit/wasmgen", "client", "internal/server/push", "proof/view"},
	"internal/server/telemetry": {"api", "internal/datadir", "internal/node", "internal/role"},
	"internal/server/snapshots": {"client", "internal/storage/...", "internal/upstream"},
	"internal/server/sources":   {"client"},
	"internal/server/provers":   {"internal/storage/..."},
	"internal/engine/snapshot":  {"crypto"},
	"internal/datadir":          {"internal/node", "internal/role", "internal/testkit/wasmgen"}, // a chain to work with
}

// deterministic lists the packages without clock, I/O, goroutines, floats or randomness, as their results are
// consensus, or determine the verdict on a block, signature or proof.
var deterministic = []string{
	"codec", "types", "proof", "internal/protocol/...",
	"crypto/bech32m", "crypto/bip322", "crypto/bip340", "crypto/foreign", "crypto/internal/lanes", "crypto/p256",
	"internal/proof/air", "internal/proof/field", "internal/proof/fri", "internal/proof/merkle", "internal/proof/poseidon",
	"internal/proof/sha", "internal/proof/stark", "internal/proof/transcript", "internal/proof/verifier",
}

// exceptions lists the banned imports allowed in deterministic packages, with the reason why they do not affect
// results.
var exceptions = map[string][]string{
	"types":                     {"time"},        // the calendar of texts
	"crypto/bip340":             {"sync"},        // the self-test of the vector kernels runs once
	"crypto/internal/lanes":     {"sync"},        // tables are built once, and scratch memory is reused
	"internal/proof/field":      {"unsafe"},      // views a vector's elements as numbers
	"internal/proof/transcript": {"sync/atomic"}, // the least nonce found by several workers
}

// bannedImports would give a deterministic package access to the outside world.
var bannedImports = []string{"time", "os", "os/...", "net", "net/...", "log", "log/...", "math/rand", "math/rand/v2",
	"crypto/rand", "sync", "sync/...", "context", "io/fs", "runtime", "unsafe"}

// reserved lists names that only the given packages may use, as they bypass the rules of blocks.
var reserved = map[string][]string{
	"internal/protocol/exec.Rehearse": {"kit/contracttest"}, // unsigned transactions
	// versions that only tests have
	"internal/protocol/params.Learn": {"internal/engine/sequencer", "internal/protocol/params", "workshop/clustersim"},
}

// wire lists packages that neither the engine nor its tests may import: data from other nodes arrives through
// internal/upstream, and leaves through internal/server.
var wire = []string{"api", "client", "jsonrpc", "net", "net/...", "crypto/tls"}

// houses lists which packages may import those below a directory: the node depends neither on the kit for contracts and
// applications nor on the command line, and nothing depends on the workshop that measures and attacks it.
var houses = map[string][]string{
	"kit/...":      {"kit/...", "cli/...", "contracts/...", "workshop/...", "internal/archtest"},
	"cli/...":      {"cli/...", "cmd/cairn"},
	"workshop/...": {"workshop/..."},
}

// bannedNames are package names that say nothing about the contents.
var bannedNames = []string{"util", "utils", "common", "helper", "helpers", "misc", "shared", "lib", "sync", "context"}

// sharedModules lists the modules that several packages may import, and these packages. Any other module has a single
// importing package.
var sharedModules = map[string][]string{
	"github.com/coder/websocket": {"client", "internal/server/push"},                            // the two ends
	"golang.org/x/sync/errgroup": {"internal/engine/replica", "internal/node", "internal/role"}, // groups of goroutines
	// The log of a cluster, what keeps it, and what carries and simulates its messages.
	"go.etcd.io/raft/v3": {"internal/engine/cluster", "internal/storage/raftlog"},
	"go.etcd.io/raft/v3/raftpb": {"workshop/provoke", "internal/engine/cluster", "internal/p2p", "internal/role",
		"internal/storage/raftlog", "workshop/clustersim"},
	"google.golang.org/protobuf/proto": {"internal/engine/cluster", "internal/p2p", "internal/storage/raftlog",
		"workshop/clustersim"},
	"github.com/spf13/cobra": {"cli/..."},
	"github.com/spf13/pflag": {"cli/...", "internal/config"},
	// Request bodies and snapshot chunks.
	"github.com/klauspost/compress/zstd": {"jsonrpc", "internal/engine/snapshot"},
	// Scalars of secrets, recovered points.
	"github.com/btcsuite/btcd/btcec/v2": {"crypto", "crypto/foreign"},
	// One curve, with scalars passed between the two.
	"github.com/consensys/gnark-crypto/ecc/secp256k1":    {"crypto/..."},
	"github.com/consensys/gnark-crypto/ecc/secp256k1/fp": {"crypto/..."},
	"github.com/consensys/gnark-crypto/ecc/secp256k1/fr": {"crypto/..."},
	// Features of the processor, for each vector code.
	"golang.org/x/sys/cpu": {"crypto/internal/lanes", "internal/proof/field", "internal/proof/poseidon",
		"internal/proof/sha"},
}
