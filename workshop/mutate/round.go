package main

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"github.com/cairn-chain/cairn/internal/engine/wasm"
	"github.com/cairn-chain/cairn/internal/protocol/exec"
	"github.com/cairn-chain/cairn/internal/protocol/params"
	"github.com/cairn-chain/cairn/internal/protocol/state"
	"github.com/cairn-chain/cairn/types"
)

// mutator generates cases and compares the two verdicts on each.
type mutator struct {
	judge  *judge
	cases  int
	blocks int // of a hundred cases
	counts map[string]int
	engine *wasm.Engine
}

// perRound is the number of cases with the same accounts.
const perRound = 1000

// round makes accounts and a chain, and generates cases on them.
func (m *mutator) round(r *rand.Rand, cases int) error {
	w := newWorld(r)
	ofBlocks := perRound * m.blocks / 100
	end := min(cases, m.cases+perRound-ofBlocks)
	p := newPlace(r, w)
	if err := m.tellContext(p); err != nil {
		return err
	}
	maker := &maker{
		world: w, chainID: p.parent.ChainID, network: p.network, present: p.present, baseFee: p.template.BaseFee,
		at: view{p.entries, p.template.Timestamp},
	}
	for m.cases < end {
		var err error
		switch r.IntN(40) {
		case 0:
			err = m.message(r, w, p)
		case 1:
			err = m.signature(r)
		default:
			err = m.transaction(r, p, maker)
		}
		if err != nil {
			return err
		}
	}
	return m.chainRound(r, w, min(cases, m.cases+ofBlocks))
}

// newParameters returns random parameters within the bounds.
func newParameters(r *rand.Rand, w *world) types.Parameters {
	p := params.Default(w.producer.PublicKey())
	p.GasLimit = types.Gas(3_000_000 + r.IntN(60_000_000))
	p.BlockBytes = 1<<20 + uint32(r.IntN(1<<17))
	p.TargetBPS = uint16(1000 + r.IntN(9000))
	p.MinBaseFee = types.Amount(1 + r.IntN(10))
	p.FeeRecipient, p.Admin, p.Notice = w.stranger(r), w.account(r), uint64(r.IntN(3000))
	return p
}

// newPlace returns a state in which accounts have records of all forms.
func newPlace(r *rand.Rand, w *world) *place {
	const now = 1_700_000_000_000
	p := &place{network: pick(r, []types.Network{types.Mainnet, types.Testnet, types.Regtest}), entries: mapState{}}
	p.present = newParameters(r, w)
	if r.IntN(3) == 0 {
		p.present.Upgrade = &types.Upgrade{Version: 3, From: now + 2 + r.Uint64N(10_000)}
	}
	p.parent = types.Header{
		Version: 2, ChainID: edge(r), Height: types.Height(1 + r.IntN(1000)), Timestamp: now, Producer: p.present.Producer,
		GasLimit: p.present.GasLimit, BaseFee: max(p.present.MinBaseFee, types.Amount(r.IntN(100))),
	}
	p.parent.GasUsed = types.Gas(r.Uint64N(uint64(p.parent.GasLimit)))
	template, err := exec.HeaderTemplate(p.parent, p.present, now+1)
	if err != nil {
		panic(err) // an upgrade begins later
	}
	p.template = template
	for _, a := range w.accounts {
		record := newRecord(r, w, a, template.Timestamp)
		if encoded := record.Encode(a); len(encoded) > 0 {
			p.entries[string(state.AccountKey(a))] = encoded
		}
	}
	p.entries[string(state.SupplyKey())] = state.Supply{Supply: 1<<64 - 1}.Encode()
	p.entries[string(state.ParametersKey())] = p.present.Encode()
	return p
}

func newRecord(r *rand.Rand, w *world, a types.Account, t uint64) state.Account {
	record := state.Account{Balance: types.Amount(r.Uint64N(1 << 40)), Nonce: uint64(r.IntN(3))}
	switch r.IntN(10) {
	case 0:
		return state.Account{}
	case 1:
		record.Balance = types.Amount(r.IntN(1000))
	case 2:
		record.Nonce = pick(r, []uint64{1<<64 - 2, 1<<64 - 1, 1 << 63})
	}
	if record.Nonce > 0 && r.IntN(2) == 0 {
		if authority := w.account(r); authority != a {
			record.Authority = &authority
		}
		if r.IntN(2) == 0 {
			record.Pending = &state.Recovery{Next: w.account(r), From: pick(r, []uint64{0, t - 1, t, t + 1, 1<<64 - 1})}
		}
	}
	return record
}

// tellContext sends the judge the context of transactions.
func (m *mutator) tellContext(p *place) error {
	accounts := map[string]string{}
	for key, value := range p.entries {
		if key[0] == 1 {
			accounts[hex.EncodeToString([]byte(key[1:]))] = hex.EncodeToString(value)
		}
	}
	text, err := json.Marshal(map[string]any{
		"chain_id": p.parent.ChainID, "network": p.network, "parameters": p.present, "base_fee": uint64(p.template.BaseFee),
		"timestamp": p.template.Timestamp, "gas_left": uint64(p.present.GasLimit), "bytes_left": p.present.BlockBytes,
		"accounts": accounts,
	})
	if err != nil {
		return err
	}
	answer, err := m.judge.ask("context", string(text))
	if err == nil && answer != "ok" {
		err = fmt.Errorf("the judge does not take %s: %s", text, answer)
	}
	return err
}

// transaction generates a transaction, changes it and compares the verdicts.
func (m *mutator) transaction(r *rand.Rand, p *place, maker *maker) error {
	tx := maker.transaction(r)
	kind := r.IntN(11)
	if kind >= 1 && kind <= 4 {
		for range 1 + r.IntN(2) {
			maker.changeFields(r, &tx)
		}
	}
	signed := maker.signed(r, tx)
	if kind == 4 { // change the gas limit last, and the signatures with it
		signed.GasLimit += types.Gas(pick(r, []uint64{1<<64 - 1, 1, 1 << 40, edge(r)}))
		signed = maker.sign(r, p.network, maker.at, signed.Transaction)
	}
	if kind >= 5 && kind <= 8 {
		maker.changeWitness(r, &signed)
	}
	encoded := signed.Encode()
	if kind >= 9 {
		encoded = changeBytes(r, encoded)
	}
	said, err := m.compare(p, encoded)
	if err != nil {
		return err
	}
	if said == 0 {
		m.counts["transaction, valid, "+tx.Payload.Kind().String()]++
	} else {
		m.counts[fmt.Sprintf("transaction, rule %02d", said)]++
	}
	return nil
}

// compare compares both verdicts on a transaction, and returns the first rule that it breaks, or 0.
func (m *mutator) compare(p *place, encoded []byte) (said int, err error) {
	m.cases++
	rule, tx, err := p.judge(encoded)
	if err != nil {
		return 0, fmt.Errorf("%x: %w", encoded, err)
	}
	answer, err := m.judge.ask("tx", encoded)
	if err != nil {
		return 0, err
	}
	first, digest, _ := strings.Cut(answer, " ")
	if said, err = strconv.Atoi(first); err != nil {
		return 0, fmt.Errorf("%x: the judge says %s", encoded, answer)
	}
	// The order of the rules is not normative: the node may report any broken rule, from the first one on.
	if (rule == 0) != (said == 0) || rule < said || (rule == 1) != (said == 1) {
		return 0, fmt.Errorf("%x: the node says rule %d, the judge %d", encoded, rule, said)
	}
	if said != 1 {
		if own := p.derived(tx); hex.EncodeToString(own[:]) != digest {
			return 0, fmt.Errorf("%x: the node derives %x, the judge %s", encoded, own, digest)
		}
	}
	return said, nil
}

// newGenesis gives coins to most accounts.
func newGenesis(r *rand.Rand, w *world) types.Genesis {
	g := types.Genesis{
		ChainID: edge(r), Network: pick(r, []types.Network{types.Mainnet, types.Testnet, types.Regtest}),
		Time: 1_700_000_000_000, Parameters: newParameters(r, w),
	}
	g.BaseFee = g.Parameters.MinBaseFee + types.Amount(r.IntN(10))
	for _, a := range w.accounts {
		if r.IntN(5) > 0 {
			balance := types.Amount(1 + r.Uint64N(1<<uint(20+r.IntN(30))))
			g.Allocations = append(g.Allocations, types.Allocation{Account: a, Balance: balance})
		}
	}
	slices.SortFunc(g.Allocations, func(a, b types.Allocation) int { return a.Account.Compare(b.Account) })
	return g
}

// chainRound makes a chain, and generates blocks until there are enough cases.
func (m *mutator) chainRound(r *rand.Rand, w *world, end int) error {
	if m.cases >= end {
		return nil
	}
	g, codes := newGenesis(r, w), r.IntN(2) == 0
	if codes {
		g.Parameters.GasLimit += 300_000_000
		for i := range g.Allocations {
			g.Allocations[i].Balance += 1 << 44
		}
	}
	c, err := m.begin(g, codes)
	if err != nil {
		return err
	}
	for m.cases < end {
		if err := m.block(r, w, c); err != nil {
			return err
		}
	}
	return nil
}

// begin starts a chain here and at the judge, sometimes with contracts that run.
func (m *mutator) begin(g types.Genesis, codes bool) (*chain, error) {
	answer, err := m.judge.ask("genesis", g.Encode())
	if err != nil {
		return nil, err
	}
	var engine *wasm.Engine
	if codes {
		engine = m.engine
	}
	c, err := newChain(g, engine)
	if err != nil {
		return nil, err
	}
	hash := c.parent.Hash()
	if want := "ok " + hex.EncodeToString(hash[:]); answer != want {
		return nil, fmt.Errorf("genesis %x: the node says %s, the judge %s", g.Encode(), want, answer)
	}
	return c, nil
}

// compareBlock compares both verdicts on a block. It returns the node's result of a valid block, and the judge's number
// for it.
func (m *mutator) compareBlock(c *chain, encoded []byte) (result exec.Result, number int, err error) {
	m.cases++
	result, own := c.judgeBlock(encoded)
	var refused refusal
	if own != nil && !errors.As(own, &refused) {
		return result, 0, fmt.Errorf("%x: %w", encoded, own)
	}
	answer, err := m.judge.ask("block", c.height, encoded)
	if err != nil {
		return result, 0, err
	}
	word, rest, _ := strings.Cut(answer, " ")
	different := fmt.Errorf("%x on block %d: the node says %v, the judge %s", encoded, c.height, own, answer)
	if word != "ok" {
		if own == nil || !consistent(string(refused), rest) {
			return result, 0, different
		}
		m.counts["block, "+withoutNumber(rest)]++
		return result, 0, nil
	}
	digest := ""
	if _, err := fmt.Sscanf(rest, "%d %s", &number, &digest); err != nil {
		return result, 0, fmt.Errorf("the judge says %s: %w", answer, err)
	}
	if own != nil {
		return result, 0, different
	}
	if want := outcome(result); digest != hex.EncodeToString(want[:]) {
		return result, 0, fmt.Errorf("%w; the node's receipts and accesses are %x", different, want)
	}
	m.counts["block, valid"]++
	for _, reason := range result.Reasons {
		if c.engine != nil && reason != exec.Success {
			m.counts["contract, "+string(reason)]++
		} else if c.engine != nil {
			m.counts["contract, success"]++
		}
	}
	return result, number, nil
}

// consistent reports whether two refusals can be of one block: about the same transaction, and if both name rules, the
// node's rule not before the judge's.
func consistent(node, judge string) bool {
	var i, rule, j, first int
	_, ofNode := fmt.Sscanf(node, "transaction %d: rule %d", &i, &rule)
	_, ofJudge := fmt.Sscanf(judge, "transaction %d: rule %d", &j, &first)
	return (ofNode == nil) == (ofJudge == nil) && i == j && rule >= first
}

func withoutNumber(refusal string) string {
	if _, rule, found := strings.Cut(refusal, ": rule "); found {
		return "rule " + fmt.Sprintf("%02s", rule)
	}
	return refusal
}
