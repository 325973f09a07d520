package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/cairn-chain/cairn/contracts"
	"github.com/cairn-chain/cairn/internal/engine/ledger"
	"github.com/cairn-chain/cairn/internal/engine/wasm"
	"github.com/cairn-chain/cairn/internal/protocol/exec"
	"github.com/cairn-chain/cairn/internal/protocol/state"
	"github.com/cairn-chain/cairn/internal/protocol/tree"
	"github.com/cairn-chain/cairn/types"
)

const (
	eventsPerCall   = 10    // per transaction
	eventsPerBlock  = 2_000 // at most: a block of token transfers every second
	exchangeShare   = 10    // one in exchangeShare transfers comes from the exchange
	sinkShare       = 1_000 // one in sinkShare of the other transfers goes to the sink
	rareShare       = 1_000 // in one of rareShare blocks a contract emits an event that no other block has
	exchangeBalance = 1 << 60
)

// sink is an account that receives tokens in every block, but never from the exchange.
var sink = account(-1)

// tokens is a chain with one token, the reference token, that has as many holders, storage entries and Transfer events
// as there were transfers, each to a new account.
type tokens struct {
	*grown
	token    types.ContractID
	rare     types.ContractID // emits few events
	exchange types.Account    // deployed the token, and makes a tenth of all transfers
	made     int              // number of transfers
	sum      map[types.Account]uint64
}

// newTokens starts a chain in a directory, and deploys the token.
func newTokens(dir string) (*tokens, error) {
	g, err := newGrown(dir)
	if err != nil {
		return nil, err
	}
	key := g.keys[0]
	args := fmt.Appendf(nil, `{"name":"Growth","symbol":"GRW","decimals":2,"initialSupply":"%d"}`, uint64(exchangeBalance))
	c := &tokens{
		grown:    g,
		token:    types.NewContractID(key.PublicKey(), 0),
		rare:     types.ContractID(account(-2)),
		exchange: key.PublicKey(),
		sum:      map[types.Account]uint64{key.PublicKey(): exchangeBalance},
	}
	signed, err := types.Sign(types.Transaction{
		ChainID:      chainID,
		Sender:       key.PublicKey(),
		GasLimit:     100_000_000,
		MaxFeePerGas: types.CoinUnits / 1_000_000,
		Payload:      types.Deploy{Name: "growth", Code: contracts.Token(), InitArgs: args},
	}, key, [32]byte{})
	if err != nil {
		return nil, err
	}
	o, err := g.open()
	if err != nil {
		return nil, err
	}
	err = c.deploy(o, &batch{types.VerifyWitnesses(types.Regtest, types.NewTxs(signed))})
	return c, errors.Join(err, o.close())
}

// deploy makes the genesis block and a block with the deploy.
func (c *tokens) deploy(o *opened, b *batch) (err error) {
	engine, err := wasm.New(wasm.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, engine.Close()) }()
	l, err := c.ledger(o, engine)
	if err != nil {
		return err
	}
	if _, err := c.build(l, b); err != nil {
		return err
	}
	receipts, err := o.store.Receipts(o.store.Head().Header.Height)
	if err == nil && receipts[0].Status != types.StatusSuccess {
		err = fmt.Errorf("the token's deploy failed: %s", receipts[0].Output)
	}
	return err
}

// holder returns the recipient of the i-th transfer.
func (c *tokens) holder(i int) types.Account {
	if i%exchangeShare != 0 && i%sinkShare == 1 {
		return sink
	}
	return account(i)
}

// source returns the sender of the i-th transfer: the exchange, or the zero account for a mint.
func (c *tokens) source(i int) types.Account {
	if i%exchangeShare == 0 {
		return c.exchange
	}
	return types.Account{}
}

// amount returns the amount of the i-th transfer.
func amount(i int) uint64 { return 1 + uint64(i)%100_000 }

// balanceKey returns the key under which the reference token stores an account's balance
// (contracts/rust/cairn/src/stored.rs).
func balanceKey(a types.Account) []byte { return append([]byte("\x07balance"), a[:]...) }

// transferUntil adds blocks, without executing them, until the chain has a number of transfers. It returns the size of
// the database in bytes.
func (c *tokens) transferUntil(ctx context.Context, count int) (disk uint64, err error) {
	o, err := c.open()
	if err != nil {
		return 0, err
	}
	t, err := ledger.LoadTree(o.store)
	for err == nil && c.made < count {
		if err = c.appendTransfers(o, t, min(eventsPerBlock, count-c.made)); err == nil {
			err = ctx.Err()
		}
	}
	return o.db.Metrics().DiskBytes, errors.Join(err, o.close())
}

// appendTransfers makes a block of the next count transfers. Its receipts and writes are those of an honest token's
// calls, except for the senders' fees and nonces.
func (c *tokens) appendTransfers(o *opened, t *tree.Tree, count int) error {
	calls := (count + eventsPerCall - 1) / eventsPerCall
	result := exec.Result{
		Transactions: make([]*types.Tx, calls), Receipts: make([]types.Receipt, calls), Reasons: make([]exec.Reason, calls),
	}
	height := uint64(o.store.Head().Header.Height) + 1
	before := map[types.Account]uint64{}
	for i := range calls {
		first := c.made + i*eventsPerCall
		logs := make([]types.Log, 0, eventsPerCall+1)
		for j := first; j < min(first+eventsPerCall, c.made+count); j++ {
			logs = append(logs, c.transfer(j, before))
		}
		if i == 0 && height%rareShare == 2 { // the first block of transfers is one of them
			logs = append(logs, types.Log{Contract: c.rare, Name: "Rare", Data: []byte("{}")})
		}
		tx := types.NewTx(types.SignedTransaction{Witness: types.WitnessKey{}, Transaction: types.Transaction{
			Target:       types.Account(c.token),
			ChainID:      chainID,
			Sender:       account(first),
			Nonce:        height,
			GasLimit:     1_000_000,
			MaxFeePerGas: 10,
			Payload:      types.Call{Function: "transfer", Args: logs[0].Data},
		}})
		result.Transactions[i] = tx
		result.Receipts[i] = types.Receipt{
			Status: types.StatusSuccess, GasUsed: 500_000, Output: []byte("true"), Logs: logs,
		}
	}
	c.made += count
	for a, old := range before {
		access := types.Access{
			Key: state.StorageKey(c.token, balanceKey(a)),
			New: binary.LittleEndian.AppendUint64(nil, c.sum[a]),
		}
		if old > 0 {
			access.Old = binary.LittleEndian.AppendUint64(nil, old)
		}
		result.Accesses = append(result.Accesses, access)
		if a != c.exchange && a != sink {
			delete(c.sum, a) // it receives nothing more
		}
	}
	sortByKey(result.Accesses)
	_, err := o.append(t, result)
	return err
}

// transfer applies the i-th transfer and returns its event. It records previous balances in before.
func (c *tokens) transfer(i int, before map[types.Account]uint64) types.Log {
	from, to := c.source(i), c.holder(i)
	for _, a := range []types.Account{from, to} {
		if _, known := before[a]; !known && a != (types.Account{}) {
			before[a] = c.sum[a]
		}
	}
	if from == c.exchange {
		c.sum[from] -= amount(i)
	}
	c.sum[to] += amount(i)
	var topic [32]byte
	binary.BigEndian.PutUint64(topic[24:], amount(i))
	return types.Log{
		Contract: c.token, Name: "Transfer", Topics: [][32]byte{from, to, topic},
		Data: fmt.Appendf(nil, `{"from":%q,"to":%q,"amount":"%d"}`, from, to, amount(i)),
	}
}
