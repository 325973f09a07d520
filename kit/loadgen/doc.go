// Package loadgen is the load generator behind `cairn bench`. It sends prepared JSON-RPC calls over raw keep-alive
// connections and reports rates, latencies and the outcome of transactions. A [Target] defines the calls and their
// signatures for a chain: [Cairn] is one, and workshop/peers has one for Ethereum nodes.
//
// The generator usually shares the node's cores, so it does not encode, hash or allocate during a run. Requests are
// prepared in memory as the bytes to send.
package loadgen
