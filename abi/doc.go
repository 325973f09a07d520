// Package abi describes the functions, events and errors of a contract, and converts arguments, results and errors. The
// description is for tools; the contract's code has it in the custom section cairn_abi (JSON, docs/protocol.md, "ABI").
//
// Arguments are one JSON object by parameter name, and results one JSON value. Integers above 2^53 − 1 and 128-bit
// integers are decimal strings; accounts, hashes and bytes are hex with 0x. Contracts that declare it also take the
// binary form: a byte 1 followed by the bincode of the arguments. Consensus does not use ABIs.
package abi
