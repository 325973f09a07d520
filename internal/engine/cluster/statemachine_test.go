package cluster

import (
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/cairn-chain/cairn/types"
)

var genesis = Head{0, types.BlockHash{0xee}}

// The outcomes of entries, one after the other.
func TestOrder(t *testing.T) {
	first := block(t, 1, genesis.Hash, 10)
	second := block(t, 2, first.Header.Hash(), 11)
	third := block(t, 3, second.Header.Hash(), 12)
	fourth := block(t, 4, third.Header.Hash(), 13)
	naming := func(b Block, since uint64) Block { return Block{Header: b.Header, Names: []byte{}, Since: since} }
	at := func(index uint64, b Block) Proposal { return Proposal{index, b} }
	o := StartStateMachine(4, genesis)
	for i, step := range []struct {
		entry Entry
		want  Outcome
	}{
		5:  {nil, None},
		6:  {release(t, "producer", at(5, first)), Stale}, // a release without a proposal
		7:  {block(t, 2, genesis.Hash, 10), Stale},        // a proposal of another height
		8:  {block(t, 1, types.BlockHash{1}, 10), Stale},  // a proposal after another block
		9:  {first, Decided},
		10: {block(t, 1, genesis.Hash, 12), Stale}, // a second proposal beside the first
		11: {TxBatch{}, None},
		12: {release(t, "producer", at(10, first)), Stale}, // a release of another entry
		13: {release(t, "producer", at(9, first)), Released},
		14: {release(t, "producer", at(9, first)), Stale}, // the same release again
		15: {first, Stale},
		16: {second, Decided},
		17: {release(t, "producer", at(16, second)), Released},
		18: {naming(third, 16), Stale}, // entries that another member may have cut off
		19: {naming(third, 17), Decided},
		20: {nil, None}, // the log is not cut while there is a proposal
		21: {release(t, "producer", at(19, third)), Released},
		22: {nil, None}, // a change of members
		23: {naming(fourth, 21), Stale},
		24: {naming(fourth, 22), Decided},
	} {
		if i < 5 {
			continue
		}
		got, err := o.Apply(uint64(i), step.entry)
		if err != nil || got != step.want {
			t.Errorf("entry %d: %d, %v; want %d", i, got, err, step.want)
		}
		if c := o.Proposal(); (c != nil) != (i >= 9 && i < 13 || i == 16 || i == 19 || i == 20 || i == 24) {
			t.Errorf("after entry %d the proposal is %+v", i, c)
		}
	}
	if want := (Head{3, third.Header.Hash()}); o.Head() != want || o.Applied() != 24 || o.Base() != 22 {
		t.Errorf("the head is %+v after entry %d, want %+v", o.Head(), o.Applied(), want)
	}
}

func TestOrderRefuses(t *testing.T) {
	first := block(t, 1, genesis.Hash, 10)
	proposal := Proposal{5, first}
	good := release(t, "producer", proposal)
	changed := func(change func(*Release)) Release {
		r := good
		change(&r)
		return r
	}
	for name, r := range map[string]Release{
		"another height":    changed(func(r *Release) { r.Height++ }),
		"another hash":      changed(func(r *Release) { r.Hash[0]++ }),
		"another signature": changed(func(r *Release) { r.Signature[0]++ }),
		"another signer":    release(t, "alice", proposal),
	} {
		o := StartStateMachine(4, genesis)
		if _, err := o.Apply(5, first); err != nil {
			t.Fatal(err)
		}
		if _, err := o.Apply(6, r); !errors.Is(err, ErrForged) {
			t.Errorf("%s: %v", name, err)
		}
		if o.Head() != genesis || o.Proposal() == nil || o.Applied() != 5 {
			t.Errorf("%s: the order has changed", name)
		}
		if got, err := o.Apply(6, good); err != nil || got != Released {
			t.Errorf("%s: then the good one: %d, %v", name, got, err)
		}
	}
	o := StartStateMachine(4, genesis)
	for _, index := range []uint64{0, 4, 6} {
		if _, err := o.Apply(index, nil); err == nil {
			t.Errorf("entry %d was applied after 4", index)
		}
	}
}

// machines are members, each of which has applied a part of one log and may believe that it leads.
type machines struct {
	t      *testing.T
	dice   *rand.Rand
	log    []Entry
	orders []*StateMachine
	signed map[types.Height]types.BlockHash
	double bool // whether two blocks of a height were signed
	hasty  bool // the bug: a leader signs its own proposal before it is decided
}

func (m *machines) sign(c Proposal) Release {
	r := release(m.t, "producer", c)
	if hash, ok := m.signed[r.Height]; ok && hash != r.Hash {
		m.double = true
	}
	m.signed[r.Height] = r.Hash
	return r
}

// lead lets a member propose according to its part of the log: the proposal is next in the log, or lost.
func (m *machines) lead(o *StateMachine) {
	if c := o.Proposal(); c != nil {
		m.propose(m.sign(*c))
		return
	}
	b := block(m.t, o.Head().Height+1, o.Head().Hash, uint64(m.dice.IntN(1000)))
	if m.hasty {
		m.sign(Proposal{0, b})
	}
	m.propose(b)
}

func (m *machines) propose(e Entry) {
	switch m.dice.IntN(6) {
	case 0: // lost
	case 1: // an earlier proposal comes again
		m.log = append(m.log, e, m.log[m.dice.IntN(len(m.log))])
	default:
		m.log = append(m.log, e)
	}
}

// run lets members apply and lead at random.
func (m *machines) run(steps int) {
	m.log = []Entry{nil}
	m.signed = make(map[types.Height]types.BlockHash)
	for range 3 {
		m.orders = append(m.orders, StartStateMachine(0, genesis))
	}
	for range steps {
		o := m.orders[m.dice.IntN(len(m.orders))]
		if m.dice.IntN(3) == 0 {
			m.lead(o)
			continue
		}
		for n := m.dice.IntN(5); n > 0 && o.Applied() < uint64(len(m.log)); n-- {
			if _, err := o.Apply(o.Applied()+1, m.log[o.Applied()]); err != nil {
				m.t.Fatal(err)
			}
		}
	}
}

// Members are at any point of the log, and any of them believes that it leads. No two blocks of one height are signed,
// members that applied the same entries have the same state, and blocks follow one another. A leader that signs an
// undecided block is detected at once.
func TestOneSignatureOfAHeight(t *testing.T) {
	for seed := range uint64(20) {
		m := &machines{t: t, dice: rand.New(rand.NewPCG(seed, 1))}
		m.run(300)
		if m.double {
			t.Errorf("seed %d: two blocks of a height are signed", seed)
		}
		var reached types.Height
		for _, o := range m.orders {
			for o.Applied() < uint64(len(m.log)) {
				if _, err := o.Apply(o.Applied()+1, m.log[o.Applied()]); err != nil {
					t.Fatal(err)
				}
			}
			reached = o.Head().Height
			if first := m.orders[0]; o.Head() != first.Head() || o.Head().Hash != m.signed[reached] {
				t.Errorf("seed %d: heads %+v and %+v; signed %s", seed, o.Head(), first.Head(), m.signed[reached])
			}
		}
		if reached < 5 {
			t.Errorf("seed %d: only %d blocks", seed, reached)
		}
	}
	for seed := range uint64(10) {
		m := &machines{t: t, dice: rand.New(rand.NewPCG(seed, 1)), hasty: true}
		if m.run(300); m.double {
			return
		}
	}
	t.Error("a leader that signs what is not decided is not found in ten seeds")
}
