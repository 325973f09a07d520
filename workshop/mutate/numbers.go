package main

import (
	"crypto/elliptic"
	"math/big"
)

// numbers holds the orders of P-256 and secp256k1, the primes of their fields, and half the order of P-256.
var numbers = func() [][32]byte {
	order, _ := new(big.Int).SetString("fffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141", 16)
	prime, _ := new(big.Int).SetString("fffffffffffffffffffffffffffffffffffffffffffffffffffffffefffffc2f", 16)
	p := elliptic.P256().Params()
	half := new(big.Int).Rsh(p.N, 1)
	var all [][32]byte
	for _, n := range []*big.Int{p.N, order, p.P, prime, half, new(big.Int).Add(half, big.NewInt(1))} {
		all = append(all, [32]byte(n.FillBytes(make([]byte, 32))))
	}
	return all
}()

// negate replaces a number by the order minus it.
func negate(s []byte, order [32]byte) {
	n, v := new(big.Int).SetBytes(order[:]), new(big.Int).SetBytes(s)
	v.Sub(n, v).Mod(v, n).FillBytes(s)
}
