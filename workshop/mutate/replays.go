package main

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/cairn-chain/cairn/internal/protocol/exec"
	"github.com/cairn-chain/cairn/types"
)

// errAccepted is the error of a replay from another chain or block that is accepted.
var errAccepted = errors.New("it was taken again")

// replays makes a chain, and replays its transactions and blocks on the chain itself, on one with another id, and on
// one of another network.
func (m *mutator) replays(r *rand.Rand, cases int) error {
	w := newWorld(r)
	g := newGenesis(r, w)
	g.Parameters.MaxBaseFee, g.BaseFee = g.Parameters.MinBaseFee, g.Parameters.MinBaseFee // no fee becomes too low
	home, err := m.begin(g, false)
	if err != nil {
		return err
	}
	first := home.place
	cases = min(cases, m.cases+perRound)
	var blocks []types.Block
	for len(blocks) < 12 {
		block, whole, err := makeBlock(r, w, home)
		if err != nil {
			return err
		}
		if !whole {
			continue
		}
		if _, err := m.addValid(home, block); err != nil {
			return err
		}
		blocks = append(blocks, block)
	}
	if err := m.again(r, w, home, blocks); err != nil {
		return err
	}
	for m.cases < cases {
		abroad := g
		id, network := r.IntN(3) > 0, r.IntN(2) == 0
		if id {
			abroad.ChainID++
		}
		for network && abroad.Network == g.Network {
			abroad.Network = pick(r, []types.Network{types.Mainnet, types.Testnet, types.Regtest})
		}
		if id == network { // otherwise their headers 0 differ already
			abroad.Time++
		}
		if err := m.abroad(first, abroad, blocks); err != nil {
			return err
		}
	}
	return nil
}

// again replays all blocks and transactions on their own chain.
func (m *mutator) again(r *rand.Rand, w *world, c *chain, blocks []types.Block) error {
	template, err := exec.HeaderTemplate(c.parent, c.present, c.parent.Timestamp)
	if err != nil {
		return err
	}
	run := exec.Begin(c.network, c.present, c.entries, template, c.machine())
	result, err := run.Finish()
	if err != nil {
		return err
	}
	for _, block := range blocks {
		if err := m.refused(c, block); err != nil {
			return err
		}
		for _, tx := range block.Transactions {
			single := seal(r, w, types.Block{Header: result.Header, Transactions: []types.SignedTransaction{tx}})
			if err := m.refused(c, single); err != nil {
				return err
			}
		}
	}
	return nil
}

// refused compares verdicts on a block that must be refused.
func (m *mutator) refused(c *chain, block types.Block) error {
	_, number, err := m.compareBlock(c, block.Encode())
	if err == nil && number != 0 {
		err = fmt.Errorf("%x: %w", block.Encode(), errAccepted)
	}
	return err
}

// abroad replays a chain's blocks and transactions on another chain with the same accounts.
func (m *mutator) abroad(home place, g types.Genesis, blocks []types.Block) error {
	c, err := m.begin(g, false)
	if err != nil {
		return err
	}
	if c.template, err = exec.HeaderTemplate(c.parent, c.present, c.parent.Timestamp); err != nil {
		return err
	}
	if err := m.tellContext(&c.place); err != nil {
		return err
	}
	for _, block := range blocks {
		if err := m.refused(c, block); err != nil {
			return err
		}
		for _, tx := range block.Transactions {
			rule, err := m.compare(&c.place, tx.Encode())
			if err != nil {
				return err
			}
			refusal := 0 // by the difference between the chains
			if g.ChainID != home.parent.ChainID {
				refusal = 2
			} else if g.Network != home.network && ofText(tx) {
				refusal = 18
			}
			if refusal != 0 && (rule == 0 || rule > refusal) {
				return fmt.Errorf("%x: rule %d, want %d: %w", tx.Encode(), rule, refusal, errAccepted)
			}
			m.counts[fmt.Sprintf("chain id %t, network %t, text %t: rule %02d", g.ChainID == home.parent.ChainID,
				g.Network == home.network, ofText(tx), rule)]++
		}
	}
	return nil
}

// ofText reports whether a witness signs a text, which names the network.
func ofText(tx types.SignedTransaction) bool {
	return slices.ContainsFunc([]types.Witness{tx.Witness, tx.PayerWitness}, func(w types.Witness) bool {
		switch w := w.(type) {
		case types.WitnessText:
			return true
		case types.WitnessPolicy:
			return slices.ContainsFunc(w.Proofs, func(p types.Proof) bool {
				_, text := p.Evidence.(types.EvidenceText)
				return text
			})
		}
		return false
	})
}
