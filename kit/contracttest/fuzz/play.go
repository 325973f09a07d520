package fuzz

import (
	"fmt"
	"maps"
	"slices"

	"github.com/cairn-chain/cairn/kit/contracttest"
	"github.com/cairn-chain/cairn/types"
)

// Failure is an invariant that does not hold, and the moves after which it does not.
type Failure struct {
	Invariant string
	Err       error // what the invariant says
	Moves     []Move
	Seed      uint64
	// Calls are how many calls it took to find it, and Plays how often sequences were played to shrink it.
	Calls, Plays int
	Minimal      bool   // shrinking came to its end
	fault        string // which one of the code, of [Config].FailOnTrap
	File         string // that the moves are kept in; empty where there is no corpus
}

// play is a sequence that is being played.
type play struct {
	*World
	stage *contracttest.Rehearsal
	calls *int // that were made, counted for the search
}

func (w *World) begin(calls *int) *play { return &play{w, w.Chain.Rehearse(), calls} }

// broken is the first invariant that does not hold now; nil if they all do.
func (p *play) broken() *Failure {
	v := &View{p.World, p.stage}
	for _, i := range p.invariants {
		if err := v.check(i); err != nil {
			return &Failure{Invariant: i.name, Err: err}
		}
	}
	return nil
}

// move makes a move. An error is a move that cannot be made: a name of it is unknown, or an argument does not fit. That
// a call fails is none.
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

// call is the contract that a move calls, and the arguments as they are sent.
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

// judge is what is wrong after a call: a fault of the code that passed over is to tell of, also where its caller went
// on, else an invariant that does not hold.
func (p *play) judge(r contracttest.Result, known map[string]bool) *Failure {
	if p.failOnTrap {
		for _, f := range r.Faults {
			name, ok := p.named.names[types.Account(f.Contract)]
			if !ok || p.adversary != nil && name == p.adversary.name {
				continue // it may do as it likes
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

// replay plays moves up to the first that breaks something, known faults of the code apart, and gives nil if none does.
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
