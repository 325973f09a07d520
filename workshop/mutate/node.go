package main

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/cairn-chain/cairn/internal/engine/wasm"
	"github.com/cairn-chain/cairn/internal/protocol/exec"
	"github.com/cairn-chain/cairn/internal/protocol/fees"
	"github.com/cairn-chain/cairn/internal/protocol/lists"
	"github.com/cairn-chain/cairn/internal/protocol/tree"
	"github.com/cairn-chain/cairn/types"
)

// ruleOf returns the number of the rule that an error names, or 0.
func ruleOf(err error, tx *types.SignedTransaction, left types.Gas) int {
	for _, r := range rules {
		if errors.Is(err, r.err) {
			return r.rule
		}
	}
	set, _ := tx.Payload.(types.SetPolicy)
	switch {
	case errors.Is(err, exec.ErrBlockFull) && tx.GasLimit > left:
		return 15
	case errors.Is(err, exec.ErrBlockFull):
		return 19
	case errors.Is(err, exec.ErrBadPayer) && set.Recovery && tx.Payer == nil:
		return 10
	case errors.Is(err, exec.ErrBadPayer):
		return 8
	case errors.Is(err, exec.ErrBadPolicy) && errors.Is(err, types.ErrBadPolicy):
		return 9
	case errors.Is(err, exec.ErrBadPolicy):
		return 10
	}
	return 0
}

var rules = []struct {
	err  error
	rule int
}{
	{exec.ErrWrongChain, 2}, {exec.ErrNonceExhausted, 3}, {exec.ErrFieldTooLong, 4}, {exec.ErrCodeTooLong, 4},
	{exec.ErrNotZero, 5}, {exec.ErrOverflow, 6}, {exec.ErrPriorityOverMax, 7}, {exec.ErrBadValidUntil, 8},
	{exec.ErrFeeTooLow, 11}, {exec.ErrExpired, 12}, {exec.ErrNotAdmin, 13}, {exec.ErrBadParameters, 13},
	{exec.ErrNonceTooLow, 14}, {exec.ErrNonceTooHigh, 14}, {exec.ErrIntrinsicGas, 15}, {exec.ErrGasOverBlock, 15},
	{exec.ErrCannotPay, 16}, {exec.ErrPayerCannotPay, 16}, {exec.ErrWrongPolicy, 17}, {exec.ErrBadSignature, 18},
	{exec.ErrLoadFull, 20},
}

// place is the context that judges transactions: a header, with the parameters and the state after it.
type place struct {
	network  types.Network
	parent   types.Header
	present  types.Parameters
	entries  mapState
	template types.Header
}

// judge returns the rule that an encoded transaction breaks, or 0, and the transaction if it decodes.
func (p *place) judge(encoded []byte) (rule int, tx *types.Tx, err error) {
	tx, err = types.DecodeTx(encoded)
	if err != nil {
		return 1, nil, nil
	}
	run := exec.Begin(p.network, p.present, p.entries, p.template, exec.Machine{})
	verified := types.VerifyWitnesses(p.network, []*types.Tx{tx})[0]
	if verified == nil {
		return 18, tx, nil
	}
	if _, err = run.Apply(verified); err == nil {
		return 0, tx, nil
	}
	if rule = ruleOf(err, tx.Signed(), run.GasLeft()); rule == 0 {
		return 0, tx, fmt.Errorf("the node is at fault: %w", err)
	}
	return rule, tx, nil
}

func orNothing(text string, ok bool) []byte {
	if !ok {
		return nil
	}
	return []byte(text)
}

// derived returns the digest of the values that the judge derives from a decoded transaction.
func (p *place) derived(tx *types.Tx) [32]byte {
	signed, id := tx.Signed(), tx.ID()
	payer, digest := types.PayerHash(id), tx.WitnessDigest()
	claim := signed.Witness.Claim(signed.Sender)
	claims := claim[:]
	if signed.Payer != nil && signed.PayerWitness != nil {
		claim := signed.PayerWitness.Claim(*signed.Payer)
		claims = append(claims, claim[:]...)
	}
	parts := [][]byte{id[:], payer[:], digest[:], claims}
	if _, err := signed.FeeCap(); err == nil {
		parts = append(parts, orNothing(signed.Text(p.network)), orNothing(signed.PayerText(p.network)))
	}
	if (signed.Payer == nil) == (signed.PayerWitness == nil) { // rule 8 refuses all others
		leaf := lists.TransactionLeaf(tx).Bytes()
		parts = append(parts, binary.LittleEndian.AppendUint64(nil, uint64(fees.IntrinsicGas(signed))), leaf[:])
	}
	h := sha256.New()
	for _, part := range parts {
		h.Write(binary.LittleEndian.AppendUint64(nil, uint64(len(part))))
		h.Write(part)
	}
	return [32]byte(h.Sum(nil))
}

// chain is a chain from its genesis. It keeps only the last state.
type chain struct {
	place
	tree      tree.Tree
	height    int // number of the head in the judge's list
	engine    *wasm.Engine
	codes     codes
	contracts []deployed
}

func inOrder(n int, do func(int)) {
	for i := range n {
		do(i)
	}
}

// newChain makes block 0.
func newChain(g types.Genesis, engine *wasm.Engine) (*chain, error) {
	result, err := exec.Genesis(g)
	if err != nil {
		return nil, err
	}
	c := &chain{place: place{network: g.Network, entries: mapState{}}, engine: engine, codes: codes{}}
	return c, c.commit(result)
}

// commit makes a block the head.
func (c *chain) commit(result exec.Result) error {
	change, err := c.tree.Prepare(result.Accesses, inOrder)
	if err != nil {
		return err
	}
	c.tree.Commit(change, inOrder)
	c.entries.commit(result.Accesses)
	c.parent = result.Header
	c.parent.StateRoot = change.Root()
	c.present, err = exec.ReadParameters(c.entries)
	return err
}

// refusal is the reason why a block is not valid.
type refusal string

func (r refusal) Error() string { return string(r) }

// judgeBlock judges an encoded block on the head.
func (c *chain) judgeBlock(encoded []byte) (exec.Result, error) {
	signed, txs, err := types.DecodeBlockTxs(encoded)
	if err != nil {
		return exec.Result{}, refusal("encoding")
	}
	header := signed.Header
	template, err := exec.HeaderTemplate(c.parent, c.present, header.Timestamp)
	if err != nil {
		return exec.Result{}, refusal(err.Error())
	}
	known := header
	known.Version, known.ChainID, known.Height, known.Parent = template.Version, template.ChainID, template.Height, template.Parent
	known.Producer, known.GasLimit, known.BaseFee = template.Producer, template.GasLimit, template.BaseFee
	if err := exec.CheckHeader(header, known); err != nil {
		return exec.Result{}, refusal(err.Error())
	}
	if !signed.VerifySeal() {
		return exec.Result{}, refusal("seal")
	}
	run := exec.Begin(c.network, c.present, c.entries, template, c.machine())
	for i, verified := range types.VerifyWitnesses(c.network, txs) {
		if verified == nil {
			return exec.Result{}, refusal(fmt.Sprintf("transaction %d: rule 18", i))
		}
		if _, err := run.Apply(verified); err != nil {
			rule := ruleOf(err, txs[i].Signed(), run.GasLeft())
			if rule == 0 {
				return exec.Result{}, fmt.Errorf("the node is at fault: %w", err)
			}
			return exec.Result{}, refusal(fmt.Sprintf("transaction %d: rule %d", i, rule))
		}
	}
	result, err := run.Finish()
	if err != nil {
		return exec.Result{}, err
	}
	if err := c.root(&result); err != nil {
		return exec.Result{}, err
	}
	if err := exec.CheckHeader(header, result.Header); err != nil {
		return exec.Result{}, refusal(err.Error())
	}
	return result, nil
}

// root computes the state root of an executed block.
func (c *chain) root(result *exec.Result) error {
	change, err := c.tree.Prepare(result.Accesses, inOrder)
	if err != nil {
		return err
	}
	result.Header.StateRoot = change.Root()
	return nil
}

// outcome returns the digest of a block's receipts and accesses.
func outcome(result exec.Result) [32]byte {
	h := sha256.New()
	for _, receipt := range result.Receipts {
		h.Write(receipt.Encode())
	}
	digest := types.DigestAccesses(result.Accesses)
	h.Write(digest[:])
	return [32]byte(h.Sum(nil))
}
