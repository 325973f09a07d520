package node

import (
	"errors"
	"testing"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/client"
	"github.com/cairn-chain/cairn/internal/datadir"
	"github.com/cairn-chain/cairn/internal/protocol/vm"
	"github.com/cairn-chain/cairn/internal/testkit/wasmgen"
	"github.com/cairn-chain/cairn/types"
)

// failing is an engine that fails on all code.
type failing struct{ vm.Engine }

var errInjected = errors.New("injected")

func (failing) Module(types.CodeHash, func() ([]byte, error)) (*vm.Module, error) {
	return nil, errInjected
}

// A code on which the engine failed is in quarantine: a pending call of it waits, also after a restart, while blocks
// include other transactions; further calls are refused. Once the quarantine is cleared, the pending call is included.
// A sender that overran is refused likewise.
func TestSetAside(t *testing.T) {
	config := newNetwork(t)
	me := config.Key.PublicKey()
	call := types.Transaction{
		Target: types.Account(types.NewContractID(me, 0)), Payload: types.Call{Function: "recurse"},
	}
	n, end := config.run(t)
	defer func() { end() }()
	var connected *client.Client
	connect := func() {
		t.Helper()
		var err error
		connected, err = client.New(n.RPCURL(), client.WithRetry(0))
		check(t, err)
		t.Cleanup(connected.Close)
	}
	connect()
	send := func(nonce uint64, gas types.Gas, tx types.Transaction) error {
		t.Helper()
		tx.ChainID, tx.Sender, tx.Nonce, tx.GasLimit, tx.MaxFeePerGas = 7, me, nonce, gas, 1_000
		signed, err := types.Sign(tx, config.key, [32]byte{})
		check(t, err)
		_, err = connected.Send(t.Context(), signed)
		return err
	}
	deploy := types.Transaction{Payload: types.Deploy{Name: "hostile", Code: wasmgen.Hostile(false).Encode()}}
	transfer := types.Transaction{Target: types.Account{9}, Value: 1, Payload: types.Transfer{}}
	mine := func(transactions int) {
		t.Helper()
		check(t, makerOf(n).Mine(t.Context(), 1))
		block, err := n.store.Block(n.store.Head().Header.Height)
		check(t, err)
		if got := len(block.Transactions); got != transactions {
			t.Fatalf("the block has %d transactions, want %d", got, transactions)
		}
	}
	check(t, send(0, 100_000_000, deploy))
	mine(1)
	contracts, err := connected.Contracts(t.Context(), 1, "")
	check(t, err)
	code := contracts[0].CodeHash

	check(t, send(1, 120_000, transfer))
	check(t, send(2, 1_000_000, call))
	if _, err := n.book.Guard(failing{}).Module(code, nil); !errors.As(err, new(*vm.Fault)) {
		t.Fatalf("the engine's fault is %v", err)
	}
	mine(1)
	mine(0)
	if err := send(3, 1_000_000, call); !errors.Is(err, api.ErrQuarantined) {
		t.Errorf("a call of the code: error %v, want %v", err, api.ErrQuarantined)
	}
	end()
	n, end = config.run(t)
	connect()
	mine(0)
	end()
	listed, err := datadir.Quarantine(config.dir)
	check(t, err)
	if _, ok := listed[code]; !ok || len(listed) != 1 {
		t.Errorf("in quarantine: got %v", listed)
	}
	cleared, err := datadir.ClearQuarantine(config.dir, code)
	check(t, err)
	if cleared != 1 {
		t.Errorf("%d codes were cleared, want 1", cleared)
	}

	n, end = config.run(t)
	connect()
	mine(1)
	n.book.Overran([]types.Account{me}, nil)
	if err := send(3, 120_000, transfer); !errors.Is(err, api.ErrOverran) {
		t.Errorf("a transaction of who overran: error %v, want %v", err, api.ErrOverran)
	}
}
