package main

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"

	"github.com/cairn-chain/cairn/internal/protocol/exec"
	"github.com/cairn-chain/cairn/internal/protocol/state"
	"github.com/cairn-chain/cairn/types"
)

// perHistory is the number of blocks of a history.
const perHistory = 1000

// history makes a chain of random blocks, and derives every balance from the transactions, receipts and logs alone.
// Only the node's code executes the blocks.
func (m *mutator) history(r *rand.Rand, cases int) error {
	w := newWorld(r)
	g := newGenesis(r, w)
	codes := r.IntN(8) == 0 // they take most of the time
	if codes {
		g.Parameters.GasLimit += 300_000_000
	}
	for i := range g.Allocations {
		g.Allocations[i].Balance += 1 << 52
	}
	c, err := newChain(g, nil)
	if err != nil {
		return err
	}
	if codes {
		c.engine = m.engine
	}
	b := newBooks(g)
	empty := 0
	for end := min(cases, m.cases+perHistory); m.cases < end && empty < 30; { // fees may become too high
		m.cases++
		block, whole, err := makeBlock(r, w, c)
		if err != nil {
			return err
		}
		if empty++; len(block.Transactions) > 0 {
			empty = 0
		}
		if !whole {
			continue
		}
		result, err := c.judgeBlock(block.Encode())
		if err != nil {
			return fmt.Errorf("%x: %w", block.Encode(), err)
		}
		b.enter(result, c.present.FeeRecipient)
		c.learn(result)
		if err := c.commit(result); err != nil {
			return err
		}
		if err := b.agree(c.entries); err != nil {
			return fmt.Errorf("block %d: %w", c.parent.Height, err)
		}
		m.counts["history, block"]++
		m.count(result)
	}
	return nil
}

func (m *mutator) count(result exec.Result) {
	for i, tx := range result.Transactions {
		reason := string(result.Reasons[i])
		if result.Receipts[i].Status == types.StatusSuccess {
			reason = "success"
		}
		m.counts["history, "+tx.Signed().Payload.Kind().String()+", "+reason]++
	}
}

// books holds every account's balance, modulo 2^64 within a block.
type books struct {
	supply, burned types.Amount
	balances       map[types.Account]types.Amount
}

func newBooks(g types.Genesis) *books {
	b := &books{balances: map[types.Account]types.Amount{}}
	for _, a := range g.Allocations {
		b.balances[a.Account] = a.Balance
		b.supply += a.Balance
	}
	return b
}

func (b *books) move(from, to types.Account, amount types.Amount) {
	b.balances[from] -= amount
	b.balances[to] += amount
}

// enter records the payments of a block.
func (b *books) enter(result exec.Result, recipient types.Account) {
	base := result.Header.BaseFee
	for i, tx := range result.Transactions {
		signed, receipt := tx.Signed(), result.Receipts[i]
		payer := signed.Sender
		if signed.Payer != nil {
			payer = *signed.Payer
		}
		used := types.Amount(receipt.GasUsed)
		tip := min(signed.MaxPriorityFeePerGas, signed.MaxFeePerGas-base)
		b.balances[payer] -= used * base
		b.burned += used * base
		b.move(payer, recipient, used*tip)
		if receipt.Status != types.StatusSuccess {
			continue
		}
		switch signed.Payload.(type) {
		case types.Transfer, types.Call:
			b.move(signed.Sender, signed.Target, signed.Value)
		case types.Deploy, types.Instantiate:
			b.move(signed.Sender, types.Account(*receipt.Contract), signed.Value)
		}
		for _, log := range receipt.Logs {
			if log.Contract.IsZero() && log.Name == types.NativeTransfer {
				b.move(log.Topics[0], log.Topics[1], types.Amount(binary.LittleEndian.Uint64(log.Data)))
			}
		}
	}
}

// agree compares the books with a state.
func (b *books) agree(entries mapState) error {
	supply, err := state.DecodeSupply(entries[string(state.SupplyKey())])
	if err != nil {
		return err
	}
	if supply.Supply != b.supply || supply.Burned != b.burned {
		return fmt.Errorf("the record of the supply has %d and %d, want %d and %d", supply.Supply, supply.Burned, b.supply, b.burned)
	}
	sum := supply.Burned
	for key := range entries {
		if key[0] != state.AccountKey(types.Account{})[0] {
			continue
		}
		a := types.Account([]byte(key[1:]))
		got := view{entries: entries}.record(a).Balance
		if want := b.balances[a]; got != want {
			return fmt.Errorf("%v has %d, want %d", a, got, want)
		}
		sum += got
	}
	if sum != b.supply {
		return fmt.Errorf("balances and what was burned are %d, want %d", sum, b.supply)
	}
	return nil
}
