package fuzz

import (
	"fmt"
	"maps"
	"slices"

	"github.com/cairn-chain/cairn/kit/contracttest"
	"github.com/cairn-chain/cairn/types"
)

// Failure is a violated invariant, with the moves that lead to the violation.
type Failure struct {
	Invariant string
	Err       error // error of the invariant
	Moves     []Move
	Seed      uint64
	// Calls is the number of calls until it was found, and Plays the number of replays while shrinking it.
	Calls, Plays int
	Minimal      bool   // whether shrinking completed
	fault        string // the fault of the code, under [Config].FailOnTrap
	File         string // file with the moves; empty without a corpus
}

// play is the execution of a sequence.
type play struct {
	*World
	stage *contracttest.Rehearsal
	calls *int // calls made, counted for the search
}

func (w *World) begin(calls *int) *play { return &play{w, w.Chain.Rehearse(), calls} }

// broken returns the first invariant that is violated, or nil.
func (p *play) broken() *Failure {
	v := &View{p.World, p.stage}
	for _, i := range p.invariants {
		if err := v.check(i); err != nil {
			return &Failure{Invariant: i.name, Err: err}
		}
	}
	return nil
}

// move makes a move. It returns an error if the move is invalid: a name is unknown or an argument does not fit. A
// failed call is not an error.
func (p *play) move(m Move) (r contracttest.Result, err error) {
	if m.Call == "" {
		p.stage.Pass(m.Blocks, m.Seconds)
		return contracttest.Result{OK: true}, nil
	}
	from, ok := p.named.accounts[m.From]
	if !ok {
		return r, fmt.Errorf("there is no account %q", m.From)
	}
	id, args, err := p.call(m)
	if err != nil {
		return r, err
	}
	if p.adversary != nil {
		if err := p.adversary.instruct(p, m.Script); err != nil {
			return r, err
		}
	}
	*p.calls++
	r = p.stage.Call(from, id, m.Call, args, types.Amount(m.Coins))
	p.spent += r.GasUsed
	return r, nil
}

// call returns the contract that a move calls, and the encoded arguments.
func (w *World) call(m Move) (id types.ContractID, args []byte, err error) {
	if w.adversary != nil && m.To == w.adversary.name {
		return types.ContractID(w.named.accounts[m.To]), nil, nil
	}
	k, ok := w.contracts[m.To]
	if !ok {
		return id, nil, fmt.Errorf("there is no contract %q", m.To)
	}
	f, ok := k.ABI.Function(m.Call)
	if !ok {
		return id, nil, fmt.Errorf("%s has no function %q", m.To, m.Call)
	}
	args, err = w.arguments(k.ABI, f, m.Args)
	return k.ID, args, err
}

// sound is the invariant of [Config].FailOnTrap.
const sound = "no call traps, panics or runs out of gas"

// judge returns the failure caused by a call: a fault of the code, even if its caller handled it, unless it is known;
// otherwise a violated invariant.
func (p *play) judge(r contracttest.Result, known map[string]bool) *Failure {
	if p.failOnTrap {
		for _, f := range r.Faults {
			name, ok := p.named.names[types.Account(f.Contract)]
			if !ok || p.adversary != nil && name == p.adversary.name {
				continue // its behaviour is arbitrary
			}
			fault := fmt.Sprintf("%s.%s %s", name, f.Function, f.Reason)
			if !known[fault] {
				text := f.Reason
				if f.Text != "" {
					text += fmt.Sprintf(": %q", f.Text)
				}
				return &Failure{Invariant: sound, Err: fmt.Errorf("%s ended by %s", name+"."+f.Function, text), fault: fault}
			}
		}
	}
	if r.OK {
		return p.broken()
	}
	return nil
}

// replay plays moves up to the first failure, ignoring the known faults of the code. It returns nil if there is none.
func (w *World) replay(moves []Move, calls *int, known map[string]bool) (*Failure, error) {
	p := w.begin(calls)
	for i, m := range moves {
		r, err := p.move(m)
		if err != nil {
			return nil, fmt.Errorf("move %d: %w", i, err)
		}
		if m.Call == "" {
			continue
		}
		if f := p.judge(r, known); f != nil {
			f.Moves = moves[:i+1]
			return f, nil
		}
	}
	return nil, nil
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
