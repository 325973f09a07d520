package node

import (
	"crypto/rand"
	"errors"
	"strings"
	"testing"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/client"
	"github.com/cairn-chain/cairn/crypto"
	"github.com/cairn-chain/cairn/internal/engine/replica"
	"github.com/cairn-chain/cairn/jsonrpc"
	"github.com/cairn-chain/cairn/types"
)

// A producer cannot make the next block if it does not know its rules or another key signs it. It takes no transactions
// then that would wait in vain, and says why.
func TestProducerThatMakesNoBlocksRefusesSends(t *testing.T) {
	next, err := crypto.GenerateKey(rand.Reader)
	check(t, err)
	for name, c := range map[string]struct {
		change func(*types.Parameters)
		want   *jsonrpc.Error
		reason string // of /ready
	}{
		"halted":  {func(p *types.Parameters) { p.Version = 2 }, api.ErrHalted, "version 2"},
		"holding": {func(p *types.Parameters) { p.Producer = next.PublicKey() }, api.ErrReadOnly, "producer is"},
	} {
		t.Run(name, func(t *testing.T) {
			config := newNetwork(t)
			n, end := config.run(t)
			defer end()
			connected, err := client.New(n.RPCURL(), client.WithRetry(0))
			check(t, err)
			defer connected.Close()
			send := func(nonce uint64, payload types.Payload) error {
				tx, err := types.Sign(types.Transaction{
					ChainID:      7,
					Sender:       config.Key.PublicKey(),
					Nonce:        nonce,
					GasLimit:     100_000,
					MaxFeePerGas: 1_000,
					Payload:      payload,
				}, config.key, [32]byte{})
				check(t, err)
				_, err = connected.Send(t.Context(), tx)
				return err
			}
			if ready, reason := n.ready(); !ready {
				t.Fatalf("not ready: %s", reason)
			}
			p := config.Chain.Genesis.Parameters
			c.change(&p)
			check(t, send(0, types.Configure{Parameters: p}))
			check(t, makerOf(n).Mine(t.Context(), 1))

			err = send(1, types.Transfer{To: types.Account{9}, Amount: 1})
			var refused *client.Error
			if !errors.As(err, &refused) || !errors.Is(err, c.want) {
				t.Fatalf("a transaction that no block can have: %v", err)
			}
			if cause, given := refused.Data["cause"]; given != (name == "halted") || given && cause != replica.UnknownVersion {
				t.Errorf("it says %+v", refused.Data)
			}
			if count := n.role.Pool().Stats().Count; count != 0 {
				t.Errorf("%d transactions wait", count)
			}
			if ready, reason := n.ready(); ready || !strings.Contains(reason, c.reason) {
				t.Errorf("ready %t, %q", ready, reason)
			}
		})
	}
}
