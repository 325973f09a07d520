// Package types holds the nouns of the protocol: accounts, hashes, amounts, transactions, headers, blocks,
// receipts, parameters and genesis, with their canonical encodings and hashes (docs/protocol.md).
//
// Values here are plain data. What makes a transaction or a block valid is in internal/protocol/exec.
package types
