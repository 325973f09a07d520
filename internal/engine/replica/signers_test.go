package replica

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cairn-chain/cairn/crypto"
	"github.com/cairn-chain/cairn/internal/engine/ledger"
	"github.com/cairn-chain/cairn/internal/testkit/testchain"
	"github.com/cairn-chain/cairn/types"
)

// handedOver is a chain of 30 blocks that alice makes up to block 15, which makes producerKey the producer.
func handedOver(t *testing.T, g types.Genesis) *ledger.Ledger {
	t.Helper()
	l := openChain(t, g)
	for h := range uint64(15) {
		tx := transfer(types.Height(h))
		if h == 14 {
			p := g.Parameters
			p.Producer = producerKey.PublicKey()
			signed, err := types.Sign(types.Transaction{
				ChainID:              7,
				Sender:               alice.PublicKey(),
				Nonce:                h,
				GasLimit:             100_000,
				MaxFeePerGas:         1_000,
				MaxPriorityFeePerGas: 1,
				Payload:              types.Configure{Parameters: p},
			}, alice, [32]byte{})
			check(t, err)
			tx = types.VerifyWitnesses(types.Regtest, types.NewTxs(signed))[0]
		}
		_, err := l.Build(ledger.Batch{
			Time: l.Tip().Header.Header.Timestamp + 1, Transactions: &testchain.List{tx},
		}, sealedBy(alice))
		check(t, err)
	}
	extend(t, l, 15)
	return l
}

// TestWhoSignsWhat has the preferred upstream give a block that is not the chain's, signed by each key that could have
// signed it, at each height that matters: 15 is the last block of the first producer, 30 this node's head, 31 the next.
// Only the current producer's signature halts the replica; for any other it follows the other upstream.
func TestWhoSignsWhat(t *testing.T) {
	stranger := testchain.Key("stranger")
	for _, c := range []struct {
		who    string
		key    crypto.PrivateKey
		height types.Height
		halts  string
		cause  Cause
	}{
		{"the producer of then", alice, 1, "", Forked},
		{"the producer of then", alice, 10, "", Forked},
		{"the producer of then", alice, 15, "", Forked},
		{"the one who has handed over", alice, 16, "", Lied},
		{"the one who has handed over", alice, 30, "", Lied},
		{"the one who has handed over", alice, 31, "", Lied},
		{"the producer in force", producerKey, 10, "", Lied},
		{"the producer in force", producerKey, 16, Equivocation, ""},
		{"the producer in force", producerKey, 30, Equivocation, ""},
		{"the producer in force", producerKey, 31, Diverged, ""},
		{"a stranger", stranger, 10, "", Lied},
		{"a stranger", stranger, 30, "", Lied},
		{"a stranger", stranger, 31, "", Lied},
	} {
		t.Run(fmt.Sprintf("block %d by %s", c.height, c.who), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFixture(t, 0, 2)
				g := testGenesis()
				g.Parameters.Producer, g.Parameters.Admin = alice.PublicKey(), alice.PublicKey()
				f.primary, f.chain = handedOver(t, g), openChain(t, g)
				for _, s := range f.sources {
					s.set(func(s *faultySource) { s.chain = f.primary })
				}
				f.start()
				f.pass(5 * time.Second)
				f.synced()
				other := func(h types.Header) types.SignedHeader {
					h.Producer, h.StateRoot[7] = c.key.PublicKey(), h.StateRoot[7]+1
					signature, err := sealedBy(c.key)(h.Hash())
					check(t, err)
					return types.SignedHeader{Header: h, Seal: types.Seal{Signature: signature}}
				}
				f.sources[0].set(func(s *faultySource) {
					s.header = func(h types.Height, header *types.SignedHeader) *types.SignedHeader {
						if header != nil && h >= c.height {
							*header = other(header.Header)
						}
						return header
					}
					s.blocks = at(c.height, func(encoded []byte) []byte {
						block, err := types.DecodeBlock(encoded)
						check(t, err)
						changed := other(block.Header)
						block.Header, block.Seal = changed.Header, changed.Seal
						return block.Encode()
					})
				})
				extend(t, f.primary, 1)
				f.pass(20 * time.Second)
				if c.halts != "" {
					if h := f.Halt(); h == nil || h.Reason != c.halts || h.Height != c.height {
						t.Fatalf("at %d, halted with %+v", f.height(), h)
					}
					if c.halts == Diverged && f.height() != 30 {
						t.Errorf("the head is %d", f.height())
					}
					return
				}
				if h := f.Halt(); h != nil {
					t.Fatalf("halted: %s", h.Message)
				}
				f.synced()
				if f.faults(0, c.cause) == 0 {
					t.Errorf("got %+v", f.Status().Upstreams[0])
				}
			})
		})
	}
}
