package main

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/cairn-chain/cairn/internal/protocol/exec"
	"github.com/cairn-chain/cairn/types"
)

// perBlock is the number of changed blocks for each generated block, and perCode that number if blocks run contracts.
const (
	perBlock = 12
	perCode  = 6
)

// block generates a block on the head, compares the verdicts on it and on changed copies, and extends the chain with
// it.
func (m *mutator) block(r *rand.Rand, w *world, c *chain) error {
	signed, whole, err := makeBlock(r, w, c)
	if err != nil {
		return err
	}
	changes := perBlock
	if c.engine != nil {
		changes = perCode
	}
	for range changes {
		changed, err := changeBlock(r, w, c, signed)
		if err != nil {
			return err
		}
		if _, _, err := m.compareBlock(c, changed); err != nil {
			return err
		}
	}
	if !whole {
		_, _, err := m.compareBlock(c, signed.Encode())
		return err
	}
	result, err := m.addValid(c, signed)
	if err != nil {
		return err
	}
	return m.proofs(r, w, c, result)
}

// addValid compares the verdicts on a valid block, and extends the chain with it.
func (m *mutator) addValid(c *chain, block types.Block) (exec.Result, error) {
	result, number, err := m.compareBlock(c, block.Encode())
	if err != nil {
		return result, err
	}
	if number == 0 {
		_, why := c.judgeBlock(block.Encode())
		return result, fmt.Errorf("%x: a block that the node made is refused: %w", block.Encode(), why)
	}
	c.height = number
	c.learn(result)
	return result, c.commit(result)
}

// makeBlock fills a block with transactions that the node finds valid. If the block as a whole is not valid, its last
// transaction breaks it.
func makeBlock(r *rand.Rand, w *world, c *chain) (block types.Block, valid bool, err error) {
	timestamp := c.parent.Timestamp + pick(r, []uint64{0, 1, 1000, 1000, 5000})
	if up := c.present.Upgrade; up != nil { // no judge knows the next version
		timestamp = max(c.parent.Timestamp, min(timestamp, up.From-1))
	}
	template, err := exec.HeaderTemplate(c.parent, c.present, timestamp)
	if err != nil {
		return types.Block{}, false, err
	}
	run := exec.Begin(c.network, c.present, c.entries, template, c.machine())
	maker := &maker{
		world: w, chainID: c.parent.ChainID, network: c.network, present: c.present, baseFee: template.BaseFee,
		at: view{c.entries, timestamp}, contracts: c.contracts, codes: c.engine != nil,
	}
	used := map[types.Account]uint64{}
	most, large, code := r.IntN(10), r.IntN(60) == 0, c.engine != nil
	if large || code {
		most = 24
	}
	for range most {
		tx := maker.transaction(r)
		if large {
			tx.Payload, tx.Target, tx.Value = types.Call{Args: make([]byte, 65_536)}, types.Account{31: 1}, 0
		}
		tx.Nonce += used[tx.Sender]
		if used[tx.Sender] > 0 && !large && !code || w.ends(tx, timestamp) {
			continue
		}
		signed := maker.signed(r, tx)
		verified := types.VerifyWitnesses(c.network, types.NewTxs(signed))[0]
		if verified == nil {
			continue
		}
		if _, err := run.Apply(verified); err != nil {
			if ruleOf(err, &signed, run.GasLeft()) == 0 {
				return types.Block{}, false, err
			}
			if large && len(block.Transactions) > 14 && r.IntN(2) == 0 { // too long for a line to the judge
				block.Transactions = append(block.Transactions, signed)
				break
			}
			continue
		}
		used[tx.Sender]++
		block.Transactions = append(block.Transactions, signed)
	}
	result, err := run.Finish()
	if err != nil {
		return types.Block{}, false, err
	}
	if err := c.root(&result); err != nil {
		return types.Block{}, false, err
	}
	block.Header = result.Header
	return seal(r, w, block), len(block.Transactions) == len(result.Transactions), nil
}

// ends reports whether a transaction ends the chain: by an upgrade that begins at once, or a producer without a known
// key.
func (w *world) ends(tx types.Transaction, now uint64) bool {
	p, ok := tx.Payload.(types.Configure)
	if !ok {
		return false
	}
	_, known := w.keys[types.Account(p.Parameters.Producer)]
	up := p.Parameters.Upgrade
	return !known && p.Parameters.Producer != w.producer.PublicKey() || up != nil && up.From < now+60_000
}

// seal seals a block with the key of its producer, or with another key if that one is unknown.
func seal(r *rand.Rand, w *world, block types.Block) types.Block {
	key := w.producer
	if known, ok := w.keys[types.Account(block.Header.Producer)]; ok {
		key = known
	}
	block.Seal = types.Seal{Signature: schnorr(key, block.Header.Hash(), scalar(r))}
	return block
}

// changeBlock changes a header field, the transactions, the seal or a byte of a block.
func changeBlock(r *rand.Rand, w *world, c *chain, block types.Block) ([]byte, error) {
	block.Transactions = slices.Clone(block.Transactions)
	switch r.IntN(5) {
	case 0, 1:
		changeHeader(r, &block.Header)
	case 2:
		changeTransactions(r, w, c, &block)
	case 3:
		encoded := changeBytes(r, block.Encode())
		if changed, err := types.DecodeBlock(encoded); err == nil && r.IntN(2) == 0 {
			return seal(r, w, changed).Encode(), nil
		}
		return encoded, nil
	default:
		changeSignature(r, (*[64]byte)(&block.Seal.Signature))
		return block.Encode(), nil
	}
	if r.IntN(5) > 0 {
		block = seal(r, w, block)
	}
	return block.Encode(), nil
}

func changeHeader(r *rand.Rand, h *types.Header) {
	flip := func(b []byte) { b[r.IntN(len(b))] ^= 1 << r.IntN(8) }
	switch r.IntN(12) {
	case 0:
		h.Version = pick(r, []uint32{0, 1, 3})
	case 1:
		h.ChainID++
	case 2:
		h.Height += types.Height(pick(r, []uint64{1, 1<<64 - 1}))
	case 3:
		flip(h.Parent[:])
	case 4:
		h.Timestamp = pick(r, []uint64{h.Timestamp - 1, h.Timestamp + 1, h.Timestamp - 5001, types.MaxTime + 1, edge(r)})
	case 5:
		flip(h.Producer[:])
	case 6:
		flip(h.TransactionsRoot[:])
	case 7:
		flip(h.ReceiptsRoot[:])
	case 8:
		flip(h.StateRoot[:])
	case 9:
		h.GasUsed++
	case 10:
		h.GasLimit--
	default:
		h.BaseFee++
	}
}

// changeTransactions changes the transactions of a block, and recomputes the roots that need no execution.
func changeTransactions(r *rand.Rand, w *world, c *chain, block *types.Block) {
	maker := &maker{
		world: w, chainID: c.parent.ChainID, network: c.network, present: c.present, baseFee: block.Header.BaseFee,
		at: view{c.entries, block.Header.Timestamp},
	}
	n := len(block.Transactions)
	switch kind := r.IntN(5); {
	case n == 0 || kind == 0:
		block.Transactions = slices.Insert(block.Transactions, r.IntN(n+1), maker.signed(r, maker.transaction(r)))
	case kind == 1:
		at := r.IntN(n)
		block.Transactions = slices.Delete(block.Transactions, at, at+1)
	case kind == 2:
		i, j := r.IntN(n), r.IntN(n)
		block.Transactions[i], block.Transactions[j] = block.Transactions[j], block.Transactions[i]
	case kind == 3:
		block.Transactions = append(block.Transactions, block.Transactions[r.IntN(n)])
	default:
		maker.changeWitness(r, &block.Transactions[r.IntN(n)])
	}
}
