// Package bech32m writes and reads taproot addresses: bech32m (BIP-350) of a witness program of 32 bytes, version 1.
package bech32m
