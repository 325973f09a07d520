package e2e

import (
	"context"
	"fmt"
	"maps"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/client"
	"github.com/cairn-chain/cairn/internal/protocol/lists"
	"github.com/cairn-chain/cairn/types"
)

// The gas of a transfer (docs/protocol.md, gas schedule).
const (
	transferGas   types.Gas = 10_000
	newAccountGas types.Gas = 100_000
	configureGas  types.Gas = 66_000
)

// model is the state that a reader of a chain of transfers computes independently. Genesis and the blocks' transactions
// determine every account, by the rules, which are repeated here in their simplest form.
type model struct {
	head     types.Header
	hash     types.BlockHash
	fees     types.Account // recipient of the priority fees
	balances map[types.Account]types.Amount
	nonces   map[types.Account]uint64
	burned   types.Amount
	supply   types.Amount
	included map[types.TxID]types.Height
	// configures tells whether the producer hands production over; the model knows no other effect of a Configure.
	configures bool
	producers  []types.PublicKey // in order of succession
}

// newModel makes a model with the genesis of a node.
func newModel(ctx context.Context, c *client.Client) (*model, error) {
	info, err := c.Genesis(ctx)
	if err != nil {
		return nil, err
	}
	genesis, err := c.BlockByNumber(ctx, api.Earliest(), false)
	if err != nil {
		return nil, err
	}
	m := &model{
		head:     types.Header{BaseFee: info.Genesis.BaseFee, Timestamp: info.Genesis.Time},
		hash:     genesis.Hash,
		fees:     info.Genesis.Parameters.FeeRecipient,
		balances: map[types.Account]types.Amount{},
		nonces:   map[types.Account]uint64{},
		included: map[types.TxID]types.Height{},
	}
	for _, a := range info.Genesis.Allocations {
		m.balances[a.Account] = a.Balance
		m.supply += a.Balance
	}
	return m, nil
}

// follow applies the node's blocks after the model's head. No applied block can change, as each block names its parent.
func (m *model) follow(ctx context.Context, c *client.Client) error {
	for {
		items, err := c.Blocks(ctx, m.head.Height+1, m.head.Height+api.MaxBlocks, true)
		if err != nil || len(items) == 0 {
			return err
		}
		for _, item := range items {
			block, err := types.DecodeBlock(item.Raw)
			if err != nil {
				return fmt.Errorf("block %d: %w", item.Block.Height, err)
			}
			if hash := block.Header.Hash(); hash != item.Block.Hash {
				return fmt.Errorf("block %d is told to be %s and is %s", block.Header.Height, item.Block.Hash, hash)
			}
			if err := m.apply(block); err != nil {
				return fmt.Errorf("block %d: %w", block.Header.Height, err)
			}
		}
	}
}

// apply applies a block to the model, or returns an error with the rule that the block breaks.
func (m *model) apply(block types.Block) error {
	h := block.Header
	switch {
	case h.Height != m.head.Height+1:
		return fmt.Errorf("it follows block %d", m.head.Height)
	case h.Parent != m.hash:
		return fmt.Errorf("its parent is %s, and block %d was %s", h.Parent, m.head.Height, m.hash)
	case h.Timestamp < m.head.Timestamp:
		return fmt.Errorf("its time is before its parent's")
	case !block.Signed().VerifySeal():
		return fmt.Errorf("the header's seal is not the producer's")
	}
	var gas types.Gas
	txs := types.NewTxs(block.Transactions...)
	receipts := make([]types.Receipt, len(block.Transactions))
	for i, tx := range txs {
		used, err := m.transaction(*tx.Signed(), h.BaseFee)
		if err != nil {
			return fmt.Errorf("transaction %d: %w", i, err)
		}
		gas += used
		receipts[i] = types.Receipt{Status: types.StatusSuccess, GasUsed: used}
		if at, twice := m.included[tx.ID()]; twice {
			return fmt.Errorf("transaction %s is in block %d already", tx.ID(), at)
		}
		m.included[tx.ID()] = h.Height
	}
	switch {
	case h.GasUsed != gas:
		return fmt.Errorf("its transactions use %d gas, and it says %d", gas, h.GasUsed)
	case h.TransactionsRoot != lists.TransactionsRoot(txs):
		return fmt.Errorf("its transactions root is another")
	case h.ReceiptsRoot != lists.ReceiptsRoot(receipts):
		return fmt.Errorf("its receipts root is another")
	}
	if last := len(m.producers) - 1; last < 0 || m.producers[last] != h.Producer {
		m.producers = append(m.producers, h.Producer)
	}
	m.head, m.hash = h, h.Hash()
	return nil
}

// transaction applies a transaction and returns the gas that it uses.
func (m *model) transaction(tx types.SignedTransaction, baseFee types.Amount) (types.Gas, error) {
	if _, ok := tx.Payload.(types.Configure); !ok || !m.configures {
		return m.transfer(tx, baseFee)
	}
	tip := min(tx.MaxPriorityFeePerGas, tx.MaxFeePerGas-baseFee)
	m.nonces[tx.Sender]++
	m.balances[tx.Sender] -= types.Amount(configureGas) * (baseFee + tip)
	m.balances[m.fees] += types.Amount(configureGas) * tip
	m.burned += types.Amount(configureGas) * baseFee
	return configureGas, nil
}

// transfer applies a transfer, the only action of the chain's users.
func (m *model) transfer(tx types.SignedTransaction, baseFee types.Amount) (types.Gas, error) {
	_, ok := tx.Payload.(types.Transfer)
	tip := min(tx.MaxPriorityFeePerGas, tx.MaxFeePerGas-baseFee)
	gas := transferGas
	if _, known := m.balances[tx.Target]; !known {
		gas += newAccountGas
	}
	fee := types.Amount(gas) * (baseFee + tip)
	switch {
	case !ok:
		return 0, fmt.Errorf("nobody sent a %s", tx.Payload.Kind())
	case tx.Nonce != m.nonces[tx.Sender]:
		return 0, fmt.Errorf("its nonce is %d, and its sender's %d", tx.Nonce, m.nonces[tx.Sender])
	case tx.MaxFeePerGas < baseFee:
		return 0, fmt.Errorf("it pays at most %d a gas, and the base fee is %d", tx.MaxFeePerGas, baseFee)
	case m.balances[tx.Sender] < tx.Value+fee:
		return 0, fmt.Errorf("its sender cannot pay")
	}
	m.nonces[tx.Sender]++
	m.balances[tx.Sender] -= tx.Value + fee
	m.balances[tx.Target] += tx.Value
	m.balances[m.fees] += types.Amount(gas) * tip
	m.burned += types.Amount(gas) * baseFee
	return gas, nil
}

// compare queries the node for the balance and the nonce of every account after the model's head, and for the supply.
func (m *model) compare(ctx context.Context, c *client.Client) error {
	var balances, nonces client.Batch
	at := api.AtHeight(m.head.Height)
	type asked struct {
		account types.Account
		balance client.Pending[api.Quantity]
		nonce   client.Pending[api.Quantity]
	}
	var all []asked
	for account := range maps.Keys(m.balances) {
		name := account.String()
		all = append(all, asked{
			account, client.Add(&balances, api.GetBalance, api.GetBalanceParams{Account: name, Block: at}),
			client.Add(&nonces, api.GetTransactionCount, api.GetTransactionCountParams{
				Account: name, Block: api.NonceRef{Block: at},
			}),
		})
	}
	if err := balances.Send(ctx, c); err != nil {
		return err
	}
	if err := nonces.Send(ctx, c); err != nil {
		return err
	}
	sum := m.burned
	for _, a := range all {
		balance, err := a.balance.Result()
		if err != nil {
			return err
		}
		nonce, err := a.nonce.Result()
		if err != nil {
			return err
		}
		if types.Amount(balance) != m.balances[a.account] || uint64(nonce) != m.nonces[a.account] {
			return fmt.Errorf("after block %d, %s has the balance %d and the nonce %d, and by the blocks %d and %d",
				m.head.Height,
				a.account, uint64(balance), uint64(nonce), m.balances[a.account], m.nonces[a.account])
		}
		sum += types.Amount(balance)
	}
	if sum != m.supply {
		return fmt.Errorf(
			"after block %d, balances and burned coins add up to %d, and the supply is %d", m.head.Height, sum, m.supply,
		)
	}
	return nil
}
