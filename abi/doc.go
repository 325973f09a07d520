// Package abi describes the functions and events of a contract, as its code carries them for tools in the custom section
// cairn_abi (JSON, docs/protocol.md, "Conventions above consensus"), and converts arguments and results.
//
// Arguments are one JSON object by parameter name, results one JSON value. Integers above 2^53 − 1 are decimal strings,
// accounts, hashes and bytes hex with 0x. Consensus knows nothing of all this.
package abi
