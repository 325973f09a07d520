// Package abi describes the functions, events and errors of a contract, and converts arguments, results and errors. The
// contract's code carries them for tools in the custom section cairn_abi (JSON, docs/protocol.md, "ABI").
//
// Arguments are one JSON object by parameter name, and results one JSON value. Integers above 2^53 − 1 and those of 128
// bits are decimal strings; accounts, hashes and bytes are hex with 0x. Contracts that say so take the binary form too,
// which is the bincode of the arguments behind a byte 1. Consensus knows nothing of all this.
package abi
