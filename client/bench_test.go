package client

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"testing"

	"github.com/cairn-chain/cairn/crypto"
	"github.com/cairn-chain/cairn/types"
)

// BenchmarkWitnesses verifies 100 transfers, each signed by another account in one way, and reports the processor time
// for one.
func BenchmarkWitnesses(b *testing.B) {
	const count = 100
	h := holders{make(map[types.Account]crypto.PrivateKey), nil}
	key := func(b *testing.B, i int) crypto.PrivateKey {
		key, err := crypto.NewPrivateKey([32]byte{31: byte(i + 1)})
		if err != nil {
			b.Fatal(err)
		}
		h.keys[key.PublicKey()] = key
		return key
	}
	device := func(b *testing.B, i int) (*ecdsa.PrivateKey, P256Signer) {
		secret := [32]byte{31: byte(i + 1)}
		key, err := ecdsa.ParseRawPrivateKey(elliptic.P256(), secret[:])
		if err != nil {
			b.Fatal(err)
		}
		signer, err := NewP256Signer(key)
		if err != nil {
			b.Fatal(err)
		}
		return key, signer
	}
	policy := func(b *testing.B, threshold int, cosigners ...Cosigner) Signer {
		signers := make([]types.Signer, len(cosigners))
		for i, c := range cosigners {
			signers[i] = c.Signer()
		}
		rule, err := NewRule(threshold, signers...)
		if err != nil {
			b.Fatal(err)
		}
		p := types.Policy{Owner: rule}
		signer, err := NewPolicySigner(types.Regtest, PolicyAccount{ID: p.Hash(), Policy: p}, cosigners...)
		if err != nil {
			b.Fatal(err)
		}
		return signer
	}
	for _, test := range []struct {
		name   string
		signer func(b *testing.B, i int) Signer
	}{
		{"key", func(b *testing.B, i int) Signer { return NewSigner(key(b, i)) }},
		{"text", func(b *testing.B, i int) Signer {
			return NewTextSigner(types.Regtest, key(b, i).PublicKey(), h.wallet(types.SighashAll))
		}},
		{"two keys of two", func(b *testing.B, i int) Signer {
			return policy(b, 2, NewSigner(key(b, i)), NewSigner(key(b, i+1)))
		}},
		{"P-256", func(b *testing.B, i int) Signer {
			_, signer := device(b, i)
			return policy(b, 1, signer)
		}},
		{"passkey", func(b *testing.B, i int) Signer {
			key, signer := device(b, i)
			return policy(b, 1, NewPasskeySigner(signer.point, true, authenticator(key)))
		}},
	} {
		b.Run(test.name, func(b *testing.B) {
			txs := make([]*types.Tx, count)
			for i := range txs {
				signer := test.signer(b, i)
				signed, err := Sign(b.Context(), signer, types.Transaction{
					Sender: signer.Account(), GasLimit: 1e6, MaxFeePerGas: 10, Value: 1, Payload: types.Transfer{},
				})
				if err != nil {
					b.Fatal(err)
				}
				if txs[i], err = types.DecodeTx(signed.Encode()); err != nil {
					b.Fatal(err)
				}
			}
			for b.Loop() {
				for i, verified := range types.VerifyWitnesses(types.Regtest, txs) {
					if verified == nil {
						b.Fatalf("transaction %d does not hold", i)
					}
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*count), "ns/tx")
		})
	}
}
