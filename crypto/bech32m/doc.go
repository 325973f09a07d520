// Package bech32m encodes and decodes taproot addresses: bech32m (BIP-350) of a 32-byte witness program, version 1.
package bech32m
