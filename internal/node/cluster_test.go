package node

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/internal/datadir"
	"github.com/cairn-chain/cairn/internal/engine/cluster"
	"github.com/cairn-chain/cairn/internal/role"
	"github.com/cairn-chain/cairn/internal/server/admin"
	"github.com/cairn-chain/cairn/internal/server/members"
	"github.com/cairn-chain/cairn/types"
)

// TestMemberIsNotReadyWhileAnotherKeyProduces checks the readiness of a cluster once the chain has another producer: no
// block would include the cluster's transactions, so it accepts none.
func TestMemberIsNotReadyWhileAnotherKeyProduces(t *testing.T) {
	development, err := datadir.NewDevelopment(api.DevelopmentMnemonic, 1)
	if err != nil {
		t.Fatal(err)
	}
	genesis := development.Genesis(1_000)
	genesis.Parameters.Producer = development.Accounts[0].PublicKey()
	dir, err := datadir.Open(t.TempDir(), datadir.Options{})
	if err != nil {
		t.Fatal(err)
	}
	engine, err := dir.Engine()
	if err != nil {
		t.Fatal(err)
	}
	book, err := dir.Book()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := dir.Ledger(datadir.Chain{Genesis: &genesis}, book, engine); err != nil {
		t.Fatal(err)
	}
	if err := engine.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := dir.InitCluster(datadir.Membership{Name: "a", Address: "127.0.0.1:1"}); err != nil {
		t.Fatal(err)
	}
	proving := make(chan struct{})
	prove := func(ctx context.Context, _ admin.Client) error {
		close(proving)
		<-ctx.Done()
		return ctx.Err()
	}
	n, err := New(dir, Config{
		Chain: datadir.Chain{Genesis: &genesis},
		Role: role.Member{
			Production: role.Production{Key: role.LocalKey(development.Producer), BlockTime: time.Second},
			Addr:       "127.0.0.1:0",
			MaxLag:     10,
		},
		Serving: Serving{RPCAddr: "127.0.0.1:0", AdminAddr: "127.0.0.1:0"},
		Proofs:  Proofs{Relay: true, Prove: prove},
		Log:     slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	// The starter of a node learns the address before Run begins.
	if s, err := (members.Client{Node: n.Admin()}).Status(t.Context()); err != nil || len(s.Members) != 1 {
		t.Errorf("the status of a member that does not run yet: got %+v, %v, want its one member", s, err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- n.Run(ctx) }()
	for n.role.Mode() != api.ModePrimary {
		select {
		case <-time.After(time.Millisecond):
		case err := <-ended:
			t.Fatal("the member ended: ", err)
		}
	}
	<-proving // no member follows another, so the node proves even though it has upstreams to hand proofs to
	if ready, reason := n.ready(); ready || !strings.Contains(reason, "the chain's producer is") {
		t.Errorf("ready: got %v, %s", ready, reason)
	}
	transfer, err := types.Sign(types.Transaction{
		ChainID:      genesis.ChainID,
		Sender:       development.Accounts[0].PublicKey(),
		GasLimit:     120_000,
		MaxFeePerGas: 1_000,
		Target:       types.Account{1}, Value: 1, Payload: types.Transfer{},
	}, development.Accounts[0], [32]byte{})
	if err != nil {
		t.Fatal(err)
	}
	results := n.role.AddMany(ctx, [][]byte{transfer.Encode()}, "a client")
	if !errors.Is(results[0].Err, cluster.ErrHolds) {
		t.Errorf("a transaction that would wait in vain: error %v", results[0].Err)
	}
	stop()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
}
