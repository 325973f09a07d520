// Package loadgen is the load generator behind `cairn bench`: it sends prepared JSON-RPC calls over raw keep-alive
// connections and reports rates, latencies and what became of the transactions. What a chain is asked and how it signs
// is a [Target]'s: [Cairn] here, and Ethereum's in the comparison with other nodes (workshop/peers).
//
// The generator usually shares the node's cores, so nothing is encoded, hashed or allocated once the clock runs. Each
// request is in memory as the bytes that go on the wire.
package loadgen
