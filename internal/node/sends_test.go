package node

import (
	"crypto/rand"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/client"
	"github.com/cairn-chain/cairn/crypto"
	"github.com/cairn-chain/cairn/internal/engine/replica"
	"github.com/cairn-chain/cairn/internal/protocol/params"
	"github.com/cairn-chain/cairn/jsonrpc"
	"github.com/cairn-chain/cairn/types"
)

// A producer cannot make the next block if it does not know its rules or another key signs it. It then refuses
// transactions that no block could include, and says why.
func TestProducerThatMakesNoBlocksRefusesSends(t *testing.T) {
	next, err := crypto.GenerateKey(rand.Reader)
	check(t, err)
	for name, c := range map[string]struct {
		change func(*types.Parameters)
		want   *jsonrpc.Error
		reason string // of /ready
	}{
		"halted": {func(p *types.Parameters) {
			p.Upgrade = &types.Upgrade{Version: params.Version + 1, From: 1000 * uint64(time.Now().Add(time.Hour).Unix())}
		}, api.ErrHalted, "version 3"},
		"holding": {func(p *types.Parameters) { p.Producer = next.PublicKey() }, api.ErrReadOnly, "producer is"},
	} {
		t.Run(name, func(t *testing.T) {
			config := newNetwork(t)
			n, end := config.run(t)
			defer end()
			connected, err := client.New(n.RPCURL(), client.WithRetry(0))
			check(t, err)
			defer connected.Close()
			send := func(nonce uint64, tx types.Transaction) error {
				tx.ChainID, tx.Sender, tx.Nonce = 7, config.Key.PublicKey(), nonce
				tx.GasLimit, tx.MaxFeePerGas = 120_000, 1_000
				signed, err := types.Sign(tx, config.key, [32]byte{})
				check(t, err)
				_, err = connected.Send(t.Context(), signed)
				return err
			}
			if ready, reason := n.ready(); !ready {
				t.Fatalf("not ready: %s", reason)
			}
			p := config.Chain.Genesis.Parameters
			c.change(&p)
			check(t, send(0, types.Transaction{Payload: types.Configure{Parameters: p}}))
			check(t, makerOf(n).Mine(t.Context(), 1))
			if u := p.Upgrade; u != nil {
				check(t, makerOf(n).SetNextBlockTime(u.From/1000))
			}

			err = send(1, types.Transaction{Target: types.Account{9}, Value: 1, Payload: types.Transfer{}})
			var refused *client.Error
			if !errors.As(err, &refused) || !errors.Is(err, c.want) {
				t.Fatalf("a transaction that no block can have: error %v", err)
			}
			if cause, given := refused.Data["cause"]; given != (name == "halted") || given && cause != replica.UnknownVersion {
				t.Errorf("it says %+v", refused.Data)
			}
			if count := n.role.Pool().Stats().Count; count != 0 {
				t.Errorf("%d transactions wait, want 0", count)
			}
			if ready, reason := n.ready(); ready || !strings.Contains(reason, c.reason) {
				t.Errorf("ready %t, %q", ready, reason)
			}
		})
	}
}
