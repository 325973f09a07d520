package fuzz

import (
	"encoding/json"
	"maps"
	"math/big"
	"slices"

	"github.com/cairn-chain/cairn/types"
)

// Limits of shrinking.
const (
	maxPlays           = 5_000
	maxGas   types.Gas = 100_000_000_000 // a call that runs out of gas takes a whole block's
)

// shrinker reduces a failing sequence while the same invariant fails.
type shrinker struct {
	world *World
	found *Failure
	moves []Move // the current failing sequence, changed in place
	calls int
	until types.Gas       // limit of the gas spent by the world's calls
	known map[string]bool // other faults of the code
}

// shrink returns the smallest failing sequence that it finds.
func (w *World) shrink(found *Failure, known map[string]bool) *Failure {
	s := &shrinker{world: w, found: found, moves: cloneMoves(found.Moves), known: maps.Clone(known), until: w.spent + maxGas}
	delete(s.known, found.fault)
	for changed := true; changed && s.mayPlay(); {
		changed = s.dropMoves()
		changed = s.simplify() || changed
	}
	found.Moves, found.Minimal = s.moves, s.mayPlay()
	return found
}

func (s *shrinker) mayPlay() bool { return s.found.Plays < maxPlays && s.world.spent < s.until }

// fails reports whether the moves still cause the same failure.
func (s *shrinker) fails(moves []Move) bool {
	if !s.mayPlay() {
		return false
	}
	s.found.Plays++
	f, err := s.world.replay(moves, &s.calls, s.known)
	if err != nil || f == nil || f.Invariant != s.found.Invariant || f.fault != s.found.fault {
		return false
	}
	s.found.Err = f.Err
	s.moves = moves[:len(f.Moves)]
	return true
}

// dropMoves drops chunks of moves, from half of them down to one.
func (s *shrinker) dropMoves() (changed bool) {
	for size := max(len(s.moves)/2, 1); size > 0; size /= 2 {
		for at := 0; at+size <= len(s.moves); {
			if s.fails(slices.Delete(slices.Clone(s.moves), at, at+size)) {
				changed = true
			} else {
				at++
			}
		}
	}
	return changed
}

// simplify simplifies the contents of the moves, one at a time.
func (s *shrinker) simplify() (changed bool) {
	for i := 0; i < len(s.moves); i++ {
		changed = s.unwrap(i) || changed
		changed = s.simplifyMove(&s.moves[i], true) || changed
	}
	return changed
}

// unwrap replaces a call through the adversary by direct calls from an actor, if actors may make them.
func (s *shrinker) unwrap(i int) bool {
	m := s.moves[i]
	direct := cloneMoves(m.Script[m.Call].Calls)
	for j := range direct {
		direct[j].From = m.From
		if !s.world.mayCall(direct[j]) {
			return false
		}
	}
	return len(direct) > 0 && s.fails(slices.Concat(s.moves[:i], direct, s.moves[i+1:]))
}

// mayCall reports whether the World lets actors make a move.
func (w *World) mayCall(m Move) bool {
	for key := range m.Args {
		if w.choices[parameter{m.To, m.Call, key}] != nil {
			return false
		}
	}
	return slices.ContainsFunc(w.targets, func(t target) bool { return t.contract == m.To && t.function.Name == m.Call })
}

// try applies change and keeps it if the moves still fail; otherwise it calls undo.
func (s *shrinker) try(change, undo func()) bool {
	change()
	if s.fails(s.moves) {
		return true
	}
	undo()
	return false
}

func (s *shrinker) simplifyMove(m *Move, top bool) (changed bool) {
	for _, n := range []*uint64{&m.Coins, &m.Seconds, &m.Blocks} {
		changed = s.number(new(big.Int).SetUint64(*n), func(v *big.Int) { *n = v.Uint64() }) || changed
	}
	if first := s.world.actors[0]; top && m.Call != "" && m.From != first {
		old := m.From
		changed = s.try(func() { m.From = first }, func() { m.From = old }) || changed
	}
	for _, key := range sortedKeys(m.Args) {
		if top && s.world.choices[parameter{m.To, m.Call, key}] != nil {
			continue // a value set by the author
		}
		changed = s.value(m.Args[key], func(v any) { m.Args[key] = v }) || changed
	}
	for _, key := range sortedKeys(m.Script) {
		act := m.Script[key]
		if s.try(func() { delete(m.Script, key) }, func() { m.Script[key] = act }) {
			changed = true
			continue
		}
		changed = s.act(act, func(a Act) { m.Script[key] = a }) || changed
	}
	return changed
}

// act simplifies the behaviour of an adversary's function.
func (s *shrinker) act(a Act, set func(Act)) (changed bool) {
	for i := 0; i < len(a.Calls); {
		old := a.Calls
		less := slices.Delete(slices.Clone(old), i, i+1)
		if s.try(func() { a.Calls = less; set(a) }, func() { a.Calls = old; set(a) }) {
			changed = true
		} else {
			i++
		}
	}
	changed = s.number(big.NewInt(int64(a.Times)), func(v *big.Int) { a.Times = uint8(v.Uint64()); set(a) }) || changed
	if a.Reverts {
		changed = s.try(func() { a.Reverts = false; set(a) }, func() { a.Reverts = true; set(a) }) || changed
	}
	changed = s.value(a.Returns, func(v any) { a.Returns = v; set(a) }) || changed
	for i := range a.Calls {
		changed = s.simplifyMove(&a.Calls[i], false) || changed
	}
	return changed
}

// value simplifies an argument value.
func (s *shrinker) value(value any, set func(any)) (changed bool) {
	switch v := value.(type) {
	case json.Number:
		n, ok := new(big.Int).SetString(v.String(), 10)
		return ok && s.number(n, func(n *big.Int) { set(json.Number(n.String())) })
	case name:
		first := name(s.world.actors[0])
		return v != first && s.try(func() { set(first) }, func() { set(v) })
	case bool:
		return v && s.try(func() { set(false) }, func() { set(true) })
	case string:
		return len(v) > 2 && s.try(func() { set("0x") }, func() { set(v) }) ||
			v != "" && s.try(func() { set("") }, func() { set(v) })
	case []any:
		for i := 0; i < len(v); {
			less := slices.Delete(slices.Clone(v), i, i+1)
			if s.try(func() { set(less) }, func() { set(v) }) {
				v, changed = less, true
			} else {
				i++
			}
		}
		for i := range v {
			changed = s.value(v[i], func(item any) { v[i] = item }) || changed
		}
	case map[string]any:
		for _, key := range sortedKeys(v) {
			changed = s.value(v[key], func(field any) { v[key] = field }) || changed
		}
	}
	return changed
}

// number simplifies a number: to 0, to 1, or by bisection to one whose predecessor does not fail.
func (s *shrinker) number(n *big.Int, set func(*big.Int)) bool {
	size := new(big.Int).Abs(n)
	if size.Sign() == 0 {
		return false
	}
	to := func(v *big.Int) bool { return s.try(func() { set(v) }, func() { set(n) }) }
	if to(new(big.Int)) {
		return true
	}
	if n.Sign() < 0 && to(size) {
		n = size
	}
	works, changed := n, false
	fails := new(big.Int) // the greatest known not to fail
	for first := true; ; first = false {
		half := new(big.Int).Quo(new(big.Int).Add(fails, works), big.NewInt(2))
		if first {
			half.SetInt64(1)
		}
		if half.Cmp(works) == 0 || half.Cmp(fails) == 0 {
			return changed
		}
		if s.try(func() { set(half) }, func() { set(works) }) {
			works, changed = half, true
		} else {
			fails = half
		}
	}
}

func cloneMoves(moves []Move) []Move {
	clones := slices.Clone(moves)
	for i := range clones {
		m := &clones[i]
		m.Args, _ = cloneValue(m.Args).(map[string]any)
		if m.Script == nil {
			continue
		}
		script := make(map[string]Act, len(m.Script))
		for key, act := range m.Script {
			act.Calls, act.Returns = cloneMoves(act.Calls), cloneValue(act.Returns)
			script[key] = act
		}
		m.Script = script
	}
	return clones
}

func cloneValue(value any) any {
	switch v := value.(type) {
	case []any:
		clone := make([]any, len(v))
		for i := range v {
			clone[i] = cloneValue(v[i])
		}
		return clone
	case map[string]any:
		clone := make(map[string]any, len(v))
		for key := range v {
			clone[key] = cloneValue(v[key])
		}
		return clone
	}
	return value
}
