// Package types defines the data types of the protocol: accounts, hashes, amounts, transactions, headers, blocks,
// receipts, parameters and genesis, with their canonical encodings and hashes (docs/protocol.md).
//
// The values are plain data. The validity rules for transactions and blocks are in internal/protocol/exec.
package types
