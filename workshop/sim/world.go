package sim

import (
	"crypto/sha256"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing/synctest"
	"time"

	"github.com/cairn-chain/cairn/crypto"
	"github.com/cairn-chain/cairn/crypto/bip340"
	"github.com/cairn-chain/cairn/internal/protocol/params"
	"github.com/cairn-chain/cairn/internal/protocol/vm"
	"github.com/cairn-chain/cairn/types"
)

const (
	nodes   = 3 // a primary, and the replicas that follow it and one another
	clients = 3

	blockTime   = 700 * time.Millisecond
	steps       = 70                     // with faults
	longestStep = 800 * time.Millisecond // between two steps
	healing     = 45 * time.Second       // longer than the longest back-off, a probe and a request that hangs
	// longestHealing is longer than a replica distrusts an upstream whose answers the network has changed: two that
	// distrust the primary follow each other until then.
	longestHealing = 2 * time.Minute
)

// Report is what a run came to.
type Report struct {
	Seed       uint64
	Violations []Violation
	Digest     [32]byte // of the log: runs with the same digest were the same
	Log        []string // what happened, in order
	Lied       bool     // whether the producer signed what it must not
	Halted     int      // replicas that have found that out, in the end
	Heights    types.Height
	Included   int // transactions that a client saw in a block
	Calls      int // of these, calls of the token that succeeded
	Forwarded  int // transactions that a replica handed on and the primary took
	Crashes    int
	Corrupted  int // answers that the network changed
	Lost       int // requests and answers that it lost
}

// Violation is an invariant that a run has broken.
type Violation struct {
	Invariant Invariant
	Text      string
}

// Broke reports whether the run has broken the invariant.
func (r *Report) Broke(i Invariant) bool {
	return slices.ContainsFunc(r.Violations, func(v Violation) bool { return v.Invariant == i })
}

// Setup is what a run is made of.
type Setup struct {
	Seed   uint64
	Bug    Bug
	Engine vm.Engine // of the contracts, made outside the run's bubble
	Dir    string    // an empty directory
}

// world is one run.
type world struct {
	setup    Setup
	random   *rand.Rand // of the driver, which alone uses it
	began    time.Time
	genesis  types.Genesis
	producer crypto.PrivateKey
	nodes    []*node
	clients  []*payer
	sending  sync.WaitGroup // the clients' requests
	faulty   atomic.Bool    // whether network and disks fail
	lies     lies
	record
}

// record is what has happened so far.
type record struct {
	mu     sync.Mutex   // guards what follows
	second *types.Block // of the height at which the primary signs two
	log    []event
	report Report
	book   book
}

// event is something that happened.
type event struct {
	at   time.Duration
	text string
}

// Run makes one run. It must be called in a bubble of testing/synctest, whose clock it moves.
func Run(setup Setup) (*Report, error) {
	w := &world{
		setup: setup, random: rand.New(rand.NewPCG(setup.Seed, 0)), began: time.Now(), producer: newKey("producer"),
	}
	w.report.Seed, w.book = setup.Seed, newBook()
	w.genesis = types.Genesis{
		ChainID: 7, Network: types.Regtest, Time: uint64(time.Now().Unix()) - 10, BaseFee: 10,
		Parameters: params.Default(w.producer.PublicKey()),
	}
	for i := range clients {
		c := newPayer(w, i)
		w.clients = append(w.clients, c)
		w.genesis.Allocations = append(w.genesis.Allocations, types.Allocation{
			Account: c.key.PublicKey(), Balance: 1000 * types.CoinUnits,
		})
	}
	slices.SortFunc(w.genesis.Allocations, func(a, b types.Allocation) int {
		return slices.Compare(a.Account[:], b.Account[:])
	})
	w.note("signatures are verified in lanes: %t", bip340.Lanes())
	w.lies = w.drawLies()
	w.report.Lied = w.lies != (lies{})
	for i := range nodes {
		w.nodes = append(w.nodes, newNode(w, i))
	}
	w.faulty.Store(true)
	for _, n := range w.nodes {
		if err := n.start(); err != nil {
			return nil, fmt.Errorf("the first start of %s: %w", n.name, err)
		}
	}
	for range steps {
		w.pass(1 + time.Duration(w.random.Int64N(int64(longestStep))))
		w.check()
		w.act()
		synctest.Wait()
	}
	w.heal()
	w.end()
	return w.finish(), nil
}

func newKey(name string) crypto.PrivateKey {
	key, err := crypto.NewPrivateKey(sha256.Sum256([]byte(name)))
	if err != nil {
		panic(err) // the digests of these names are keys
	}
	return key
}

// now is the time since the run began.
func (w *world) now() time.Duration { return time.Since(w.began) }

// chance is true in so many of a hundred cases.
func (w *world) chance(percent int) bool { return w.random.IntN(100) < percent }

// dice are random numbers that depend on the seed, the moment and what they are for, but not on which goroutine came
// first.
func (w *world) dice(purpose ...any) *rand.Rand {
	h := fnv.New64a()
	fmt.Fprint(h, w.now(), purpose) // a hash takes everything
	return rand.New(rand.NewPCG(w.setup.Seed, h.Sum64()))
}

// pass lets time pass, and everything happen that is due.
func (w *world) pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

// note puts an event into the log.
func (w *world) note(format string, args ...any) {
	e := event{w.now(), fmt.Sprintf(format, args...)}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.log = append(w.log, e)
}

// count counts something in the report.
func (w *world) count(what func(*Report) *int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	*what(&w.report)++
}

// act does one thing that is not of the nodes' own will.
func (w *world) act() {
	for range 1 + w.random.IntN(3) {
		w.clients[w.random.IntN(clients)].act()
		w.pass(time.Millisecond) // else two requests of one moment race
	}
	n := w.nodes[w.random.IntN(nodes)]
	switch {
	case n.process == nil:
		n.restart()
	case w.chance(6):
		n.crash()
	case w.chance(8):
		n.failAt([]faultKind{crashBefore, crashAfter}[w.random.IntN(2)], 1+types.Height(w.random.IntN(2)))
	case w.chance(4):
		n.failAt(diskFails, 1+types.Height(w.random.IntN(2)))
	case w.chance(4):
		n.stop()
	}
}

// heal ends all faults and gives the nodes the time that they need to agree.
func (w *world) heal() {
	w.faulty.Store(false)
	w.note("the faults end")
	for _, n := range w.nodes {
		n.due.Store(nil)
		n.bury()
		if n.process == nil {
			n.restart()
		}
	}
	for range 10 {
		w.pass(healing / 20)
		w.check()
	}
	if p := w.nodes[0].process; p != nil {
		p.solo.SetBlockTime(-1) // no more blocks: there is one head to agree on
	}
	w.pass(healing / 2)
	w.check()
	for waited := time.Duration(0); waited < longestHealing && !w.settled(); waited += healing {
		w.pass(healing)
		w.check()
	}
}

// settled reports whether all nodes are where they must be in the end.
func (w *world) settled() bool {
	for _, n := range w.nodes {
		if n.process == nil || w.unsettled(n.process) != nil {
			return false
		}
	}
	return true
}

// finish puts the report together.
func (w *world) finish() *Report {
	w.sending.Wait()
	for _, n := range w.nodes {
		n.halt()
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	// Goroutines that ran at one moment are in no order.
	slices.SortStableFunc(w.log, func(a, b event) int {
		if a.at != b.at {
			return int(a.at - b.at)
		}
		return strings.Compare(a.text, b.text)
	})
	r := &w.report
	w.log = append(w.log, event{w.now(), fmt.Sprintf("%d blocks, %d transactions included, %d calls, %d handed on, %d "+
		"crashes, %d answers changed, %d messages lost, %d halts",
		r.Heights, r.Included, r.Calls, r.Forwarded, r.Crashes, r.Corrupted, r.Lost, r.Halted)})
	digest := sha256.New()
	for _, e := range w.log {
		line := fmt.Sprintf("%12.6fs %s", e.at.Seconds(), e.text)
		r.Log = append(r.Log, line)
		fmt.Fprintln(digest, line) // a hash takes everything
	}
	digest.Sum(r.Digest[:0])
	return r
}
