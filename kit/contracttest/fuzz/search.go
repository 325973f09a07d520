package fuzz

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/cairn-chain/cairn/abi"
	"github.com/cairn-chain/cairn/kit/contracttest"
	"github.com/cairn-chain/cairn/types"
)

// Config configures a search. Zero values select the defaults.
type Config struct {
	Seed  uint64        // seed of the random choices; default 1
	Calls int           // number of calls after which the search ends; default 20,000
	Time  time.Duration // duration after which the search ends, instead of Calls; 0 uses Calls
	Depth int           // greatest number of moves in a sequence; default 32
	// Corpus is a directory of sequences, which are played first and kept; empty means none. [Run] defaults to
	// testdata/fuzz/ followed by the test's name.
	Corpus string
	// FailOnTrap also treats a call that traps, panics or runs out of gas as a failure, even if its caller handles it:
	// a contract should refuse calls with a reason. Calls of the adversary are exempt.
	FailOnTrap bool
}

// Defaults of [Config].
const (
	DefaultCalls = 20_000
	DefaultDepth = 32
)

// corpusSize bounds the number of sequences kept for mutation.
const corpusSize = 256

// search is a search in progress.
type search struct {
	Config
	world  *World
	rand   *rand.Rand
	seen   *dictionary
	corpus [][]Move
	news   map[string]bool // behaviour seen before, and pairs of functions that succeeded
	calls  int
	report Report
	until  time.Time // zero: limited by Calls
	all    bool      // whether to continue after a fault of the code
	known  map[string]bool
	faults []*Failure // faults found, with all
}

// Search creates a world and searches for a failure; it returns nil if it finds none. It ends the test if the setup is
// invalid.
func Search(t testing.TB, c Config, setup func(*World)) (Report, *Failure) {
	t.Helper()
	report, failures := searchFor(t, c, setup, false)
	if len(failures) == 0 {
		return report, nil
	}
	return report, failures[0]
}

// SearchAll is like [Search], but continues after a fault of the code ([Config].FailOnTrap). It returns one failure for
// each function and kind of fault, then the violated invariant that ended the search, if any.
func SearchAll(t testing.TB, c Config, setup func(*World)) (Report, []*Failure) {
	t.Helper()
	return searchFor(t, c, setup, true)
}

func searchFor(t testing.TB, c Config, setup func(*World), all bool) (Report, []*Failure) {
	t.Helper()
	if c.Seed == 0 {
		c.Seed = 1
	}
	if c.Calls == 0 {
		c.Calls = DefaultCalls
	}
	if c.Depth == 0 {
		c.Depth = DefaultDepth
	}
	w := newWorld(t, setup)
	w.failOnTrap = c.FailOnTrap
	s := &search{
		Config: c,
		world:  w,
		rand:   rand.New(rand.NewPCG(c.Seed, 0)),
		seen:   newDictionary(w),
		news:   map[string]bool{},
		report: newReport(w),
		all:    all,
		known:  map[string]bool{},
	}
	if c.Time > 0 {
		s.until = time.Now().Add(c.Time)
	}
	if f := w.begin(&s.calls).broken(); f != nil {
		t.Fatalf("the invariant %q does not hold after the setup: %v", f.Invariant, f.Err)
	}
	s.lookAround()
	found := s.run()
	s.report.Calls = s.calls
	failures := s.faults
	if found != nil {
		found.Calls = s.calls
		failures = append(failures, found)
	}
	for i, failure := range failures {
		failure.Seed = c.Seed
		failures[i] = w.shrink(failure, s.known)
	}
	if err := s.keep(failures); err != nil && len(failures) == 0 {
		t.Fatal(err)
	} else if err != nil {
		t.Logf("what failed is not kept: %v", err) // the failure is still reported
	}
	return s.report, failures
}

// passedOver records a fault of the code and reports whether to continue after it, which is only so with all.
func (s *search) passedOver(f *Failure) bool {
	if !s.all || f.fault == "" {
		return false
	}
	s.known[f.fault] = true
	f.Calls, f.Moves = s.calls, cloneMoves(f.Moves)
	s.faults = append(s.faults, f)
	return true
}

// run plays the corpus, then generates sequences until one fails or the search ends.
func (s *search) run() *Failure {
	for _, moves := range s.kept() {
		f, err := s.world.replay(moves, &s.calls, s.known)
		if err != nil {
			s.world.T.Logf("a sequence of %s is passed over: %v", s.Corpus, err)
			continue
		}
		if f != nil && s.passedOver(f) {
			continue
		}
		if f != nil {
			return f
		}
		s.remember(moves)
	}
	for !s.over() {
		if f := s.sequence(); f != nil {
			return f
		}
	}
	return nil
}

func (s *search) over() bool {
	if s.until.IsZero() {
		return s.calls >= s.Calls
	}
	return !time.Now().Before(s.until)
}

// sequence plays one sequence: half of them extend one kept earlier.
func (s *search) sequence() *Failure {
	p := s.world.begin(&s.calls)
	g := generator{s.rand, s.world, s.seen, p.stage.Time}
	var next, moves []Move
	if len(s.corpus) > 0 && s.rand.IntN(2) == 0 {
		kept := pick(s.rand, s.corpus)
		next = kept[:1+s.rand.IntN(len(kept))]
	}
	last := ""
	var openings []Move // of commitments made in this sequence
	for range len(next) + 1 + s.rand.IntN(s.Depth) {
		var m Move
		if len(next) > 0 {
			m, next = next[0], next[1:]
		} else if len(openings) > 0 && s.rand.IntN(3) == 0 {
			m = pick(s.rand, openings)
		} else {
			m = g.move()
		}
		opening, commits := s.seen.opening(m.Args)
		if commits && s.rand.IntN(4) > 0 {
			m.From = opening.From // a commitment is often of its sender too
		}
		// Rarely repeat a call known to run out of gas: it takes as long as all other calls together.
		if s.known[m.To+"."+m.Call+" out_of_gas"] && s.rand.IntN(64) > 0 {
			continue
		}
		r, err := p.move(m)
		if err != nil {
			s.world.T.Fatalf("a move that was made cannot be played, %+v: %v", m, err)
		}
		if r.OK {
			moves = append(moves, m)
		}
		if m.Call == "" {
			continue
		}
		if commits && r.OK {
			openings = append(openings, opening)
		}
		if _, ok := s.world.contracts[m.To]; ok {
			s.seen.computed(m, r.Digests)
		}
		if f := s.judge(p, m, r, moves); f != nil && !s.passedOver(f) {
			return f
		}
		if isNew := s.happened(m, r, last); isNew && r.OK {
			s.remember(moves)
		}
		if r.OK {
			last = m.To + "." + m.Call
			s.learn(m, r)
		}
	}
	return nil
}

// judge returns the failure that a call caused, with its moves, or nil.
func (s *search) judge(p *play, m Move, r contracttest.Result, moves []Move) *Failure {
	f := p.judge(r, s.known)
	if f == nil {
		return nil
	}
	if f.Moves = moves; !r.OK {
		f.Moves = append(slices.Clone(moves), m)
	}
	return f
}

// happened counts a call and reports whether its behaviour is new.
func (s *search) happened(m Move, r contracttest.Result, last string) bool {
	function := m.To + "." + m.Call
	s.report.count(function, r.OK, s.world.reason(m.To, r))
	if a := s.world.adversary; a != nil {
		for _, inner := range r.Inner {
			if inner.Caller == s.world.named.accounts[a.name] {
				called := a.name + " → " + s.world.named.names[types.Account(inner.Contract)] + "." + inner.Function
				s.report.count(called, inner.Reason == "", inner.Reason)
			}
		}
	}
	key := function + " " + r.Reason
	if r.OK {
		key = last + " " + function
	} else if len(r.Output) <= 64 {
		key += string(r.Output)
	}
	if s.news[key] {
		return false
	}
	s.news[key] = true
	return true
}

// remember keeps a sequence for later mutation.
func (s *search) remember(moves []Move) {
	if len(moves) == 0 {
		return
	}
	moves = cloneMoves(moves)
	if len(s.corpus) < corpusSize {
		s.corpus = append(s.corpus, moves)
	} else {
		s.corpus[s.rand.IntN(corpusSize)] = moves
	}
}

// learn collects values from a successful call: always at first, later from a sample.
func (s *search) learn(m Move, r contracttest.Result) {
	k, ok := s.world.contracts[m.To]
	if !ok || s.report.Functions[m.To+"."+m.Call].Succeeded > 64 && s.rand.IntN(8) > 0 {
		return
	}
	f, _ := k.ABI.Function(m.Call)
	for _, p := range f.Args {
		s.seen.took(p, m.Args[p.Name])
		s.seen.value(m.Args[p.Name])
	}
	s.learnResult(k, f, r)
	for _, e := range r.Events {
		s.seen.json(e.Data)
	}
}

func (s *search) learnResult(k *contracttest.Contract, f abi.Function, r contracttest.Result) {
	result, err := k.ABI.Result(f, r.Output)
	if err != nil {
		return // does not match the ABI: nothing to learn
	}
	s.seen.json(result)
	if f.Returns.String() != string(abi.Account) {
		return
	}
	var account string
	if json.Unmarshal(result, &account) == nil {
		s.seen.account(s.world, account)
	}
}

// lookAround learns from the contracts' read functions after the setup: those without parameters, and those with one
// account, called for each.
func (s *search) lookAround() {
	stage := s.world.Chain.Rehearse()
	for _, contract := range sortedKeys(s.world.contracts) {
		k := s.world.contracts[contract]
		for _, f := range k.ABI.Functions {
			if f.Mode != abi.Read {
				continue
			}
			var given []string
			switch {
			case len(f.Args) == 0:
				given = []string{""}
			case len(f.Args) == 1 && f.Args[0].Type.String() == string(abi.Account):
				for _, n := range s.world.named.order {
					given = append(given, fmt.Sprintf(`{"%s":"%s"}`, f.Args[0].Name, s.world.named.accounts[n]))
				}
			}
			for _, args := range given {
				if r := stage.View(k.ID, f.Name, []byte(args)); r.OK {
					s.learnResult(k, f, r)
				}
			}
		}
	}
}
