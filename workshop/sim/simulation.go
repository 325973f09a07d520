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
	nodes   = 3 // a primary, and replicas that follow it and each other
	clients = 3

	blockTime   = 700 * time.Millisecond
	steps       = 70                     // with faults
	longestStep = 800 * time.Millisecond // greatest time between steps
	healing     = 45 * time.Second       // more than the longest back-off, a probe and a hanging request
	// longestHealing exceeds the time for which a replica distrusts an upstream whose responses the network altered.
	// Until then, two replicas that distrust the primary follow each other.
	longestHealing = 2 * time.Minute
)

// Report is the result of a run.
type Report struct {
	Seed       uint64
	Violations []Violation
	Digest     [32]byte // hash of Log: equal digests mean equal runs
	Log        []string // events, in order
	Lied       bool     // whether the producer signed a wrong block
	Halted     int      // replicas that had noticed that at the end
	Heights    types.Height
	Included   int // transactions that a client saw in a block
	Calls      int // successful token calls among them
	Forwarded  int // transactions that a replica forwarded and the primary accepted
	Crashes    int
	Corrupted  int // responses altered by the network
	Lost       int // lost requests and responses
}

// Violation is a violated invariant.
type Violation struct {
	Invariant Invariant
	Text      string
}

// Broke reports whether the run violated an invariant.
func (r *Report) Broke(i Invariant) bool {
	return slices.ContainsFunc(r.Violations, func(v Violation) bool { return v.Invariant == i })
}

// Setup configures a run.
type Setup struct {
	Seed   uint64
	Bug    Bug
	Engine vm.Engine // engine for contracts, created outside of the run's bubble
	Dir    string    // an empty directory
}

// simulation is one run.
type simulation struct {
	setup    Setup
	random   *rand.Rand // used only by the driver
	began    time.Time
	genesis  types.Genesis
	producer crypto.PrivateKey
	nodes    []*node
	clients  []*payer
	sending  sync.WaitGroup // requests of clients in progress
	faulty   atomic.Bool    // whether network and disks have faults
	lies     lies

	mu     sync.Mutex   // guards the fields below, the history of the run
	second *types.Block // second block of the height at which the primary signs two
	log    []event
	report Report
	book   book
}

// event is a logged event.
type event struct {
	at   time.Duration
	text string
}

// Run executes a run. It must be called in a bubble of testing/synctest, whose clock it advances.
func Run(setup Setup) (*Report, error) {
	w := &simulation{
		setup: setup, random: rand.New(rand.NewPCG(setup.Seed, 0)), began: time.Now(), producer: newKey("producer"),
	}
	w.report.Seed, w.book = setup.Seed, newBook()
	w.genesis = types.Genesis{
		ChainID: 7, Network: types.Regtest, Time: uint64(time.Now().UnixMilli()) - 10_000, BaseFee: 10,
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
		panic(err) // the digests of these names are valid keys
	}
	return key
}

// now returns the time since the start of the run.
func (w *simulation) now() time.Duration { return time.Since(w.began) }

// chance returns true with a probability of percent.
func (w *simulation) chance(percent int) bool { return w.random.IntN(100) < percent }

// dice returns a random source that depends on the seed, the time and the purpose, but not on the scheduling of
// goroutines.
func (w *simulation) dice(purpose ...any) *rand.Rand {
	h := fnv.New64a()
	fmt.Fprint(h, w.now(), purpose) // writes to a hash cannot fail
	return rand.New(rand.NewPCG(w.setup.Seed, h.Sum64()))
}

// pass advances the clock, and waits for all due actions.
func (w *simulation) pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

// note adds an event to the log.
func (w *simulation) note(format string, args ...any) {
	e := event{w.now(), fmt.Sprintf(format, args...)}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.log = append(w.log, e)
}

// count increments a count of the report.
func (w *simulation) count(what func(*Report) *int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	*what(&w.report)++
}

// act performs one random action on the nodes from outside.
func (w *simulation) act() {
	for range 1 + w.random.IntN(3) {
		w.clients[w.random.IntN(clients)].act()
		w.pass(time.Millisecond) // otherwise two simultaneous requests race
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

// heal ends all faults and gives the nodes enough time to agree.
func (w *simulation) heal() {
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

// settled reports whether all nodes have reached their required final states.
func (w *simulation) settled() bool {
	for _, n := range w.nodes {
		if n.process == nil || w.unsettled(n.process) != nil {
			return false
		}
	}
	return true
}

// finish completes the report.
func (w *simulation) finish() *Report {
	w.sending.Wait()
	for _, n := range w.nodes {
		n.halt()
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	// Sort the events of one moment, as goroutines ran in no defined order.
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
		fmt.Fprintln(digest, line) // writes to a hash cannot fail
	}
	digest.Sum(r.Digest[:0])
	return r
}
