package fuzz

import (
	"math/rand/v2"
	"slices"

	"github.com/cairn-chain/cairn/abi"
)

// generator makes moves.
type generator struct {
	*rand.Rand
	world *World
	seen  *dictionary
	now   func() uint64 // Unix seconds
}

// move generates a move.
func (g generator) move() Move {
	switch g.IntN(24) {
	case 0:
		waits := append(slices.Clone(soon), g.Uint64N(1<<25))
		if moment, ok := g.moment(); ok && g.IntN(2) == 0 {
			waits = []uint64{moment - 1, moment, moment + 1}
		}
		return Move{Blocks: 1, Seconds: pick(g.Rand, waits)}
	case 1:
		return Move{Blocks: 1 + g.Uint64N(1_000), Seconds: 1}
	}
	from := pick(g.Rand, g.world.actors)
	a := g.world.adversary
	if a != nil && g.IntN(3) == 0 {
		m := Move{From: from, To: a.name, Call: runFunction, Script: g.script()}
		m.Script[runFunction] = g.act(a.functions[0])
		return m
	}
	m := g.call(pick(g.Rand, g.world.targets), true)
	m.From = from
	if a != nil {
		m.Script = g.script()
	}
	return m
}

// farAhead bounds the waiting time of a move, in seconds: ten years.
const farAhead = 10 * 365 * 86_400

// moment interprets a number seen earlier as a future timestamp, such as a deadline, and returns the seconds until
// then.
func (g generator) moment() (seconds uint64, ok bool) {
	var ahead []uint64
	for _, n := range g.seen.numbers {
		if now := g.now(); n.IsUint64() && n.Uint64() > now && n.Uint64()-now <= farAhead {
			ahead = append(ahead, n.Uint64()-now)
		}
	}
	if len(ahead) == 0 {
		return 0, false
	}
	return pick(g.Rand, ahead), true
}

// call generates a call of a function. With chosen, for calls by actors, it respects the values set by [World.Choose].
func (g generator) call(t target, chosen bool) Move {
	var choose = anything
	if chosen {
		choose = func(p string) []any { return g.world.choices[parameter{t.contract, t.function.Name, p}] }
	}
	k := g.world.contracts[t.contract]
	maker := maker{g.Rand, k.ABI, g.seen, g.now()}
	m := Move{To: t.contract, Call: t.function.Name, Args: maker.arguments(t.function.Args, choose)}
	if mayTakeCoins(k.ABI, t.function) && g.IntN(4) > 0 {
		m.Coins = g.coins(maker)
	}
	return m
}

// mayTakeCoins reports whether a function may accept coins. ABIs of version 1 do not say.
func mayTakeCoins(a abi.ABI, f abi.Function) bool {
	return f.Payable || a.Version == 0 && f.Mode == abi.Write
}

// coins returns an amount, usually small, as a call fails if its sender has too few coins.
func (g generator) coins(m maker) uint64 {
	if g.IntN(4) == 0 && len(g.seen.numbers) > 0 {
		if n := pick(g.Rand, g.seen.numbers); n.IsUint64() {
			return n.Uint64()
		}
	}
	return g.Uint64N(1 << (1 + g.UintN(24)))
}

// script generates the behaviour of the adversary's functions when called.
func (g generator) script() map[string]Act {
	script := map[string]Act{}
	for _, f := range g.world.adversary.functions[1:] {
		if g.IntN(2) == 0 || f.Returns != (abi.Type{}) {
			script[f.Name] = g.act(f)
		}
	}
	return script
}

func (g generator) act(f abi.Function) Act {
	a := Act{Times: uint8(1 + g.IntN(2)), Reverts: g.IntN(16) == 0}
	if f.Returns != (abi.Type{}) {
		a.Returns = maker{g.Rand, g.world.adversary.abi, g.seen, g.now()}.make(f.Returns)
	}
	if f.Mode == abi.Read {
		a.Times = 0
		return a
	}
	for range g.IntN(mostActCalls + 1) {
		a.Calls = append(a.Calls, g.call(pick(g.Rand, g.world.callable()), false))
	}
	return a
}

// callable returns the functions that the adversary may call: all that write.
func (w *World) callable() []target {
	if w.writes == nil {
		for _, contract := range sortedKeys(w.contracts) {
			for _, f := range w.contracts[contract].ABI.Functions {
				if f.Mode == abi.Write {
					w.writes = append(w.writes, target{contract, f})
				}
			}
		}
	}
	return w.writes
}
