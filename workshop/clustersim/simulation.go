package clustersim

import (
	"container/heap"
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"io"
	mathrand "math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/cairn-chain/cairn/crypto"
	"github.com/cairn-chain/cairn/internal/protocol/params"
	"github.com/cairn-chain/cairn/internal/protocol/vm"
	"github.com/cairn-chain/cairn/types"
)

const (
	blockTime = 200 * time.Millisecond
	clients   = 4
	// healing is the time for members to agree after the last fault. Nothing is sent in its second half, so that pools
	// are settled at the end.
	healing = 10 * time.Second
)

// Setup configures a run.
type Setup struct {
	Seed    uint64
	Members int           // 3 or 5
	Faults  time.Duration // duration of the faults, before healing
	Bug     string        // bug planted into the simulation; see bugs
	// Upgrade, if not 0, is when a version of the protocol is in force that only some machines know. It is announced
	// two seconds after the start.
	Upgrade time.Duration
	Engine  vm.Engine // engine for contracts
}

// Report is the result of a run.
type Report struct {
	Seed         uint64
	Violations   []Violation
	Digest       [32]byte // hash of Log: equal digests mean equal runs
	Log          []string // events, in order
	Heights      types.Height
	Acknowledged int // number of transactions
	Elections    int
	Crashes      int          // crashes of machines
	Cuts         int          // cuts of the network
	Lost         int          // lost messages
	Caught       int          // snapshots installed by members
	LogCuts      int          // log compactions
	Refused      int          // entry messages refused by members after the end of the faults
	Changes      int          // membership changes
	Halts        int          // ends of members that did not know the version of a block
	Upgraded     types.Height // first block of the next version
}

// Broke reports whether the run violated an invariant.
func (r *Report) Broke(i Invariant) bool {
	return slices.ContainsFunc(r.Violations, func(v Violation) bool { return v.Invariant == i })
}

// simulation is one run.
type simulation struct {
	agenda

	// The phase of the run:
	faulty   bool // faults occur
	sending  bool // clients send
	keyless  bool // nothing is signed: the signer is unreachable
	stubborn bool // no operator comes: what has ended stays so

	setup    Setup
	random   *mathrand.Rand
	genesis  types.Genesis
	producer crypto.PrivateKey
	machines []*machine
	clients  []*client
	admin    *client // of the chain
	network  network
	wishes   []wish // requests of an operator
	book     book
	report   Report
}

// agenda is the schedule of events.
type agenda struct {
	now      time.Duration // since the start
	queue    queue
	sequence uint64 // of the queue entries
}

// began is the true time at which runs begin.
var began = time.Unix(1_700_000_000, 0)

// happening is a scheduled event.
type happening struct {
	at       time.Duration
	sequence uint64
	do       func()
}

// queue implements heap.Interface.
type queue []happening

func (q queue) Len() int      { return len(q) }
func (q queue) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q queue) Less(i, j int) bool {
	if q[i].at != q[j].at {
		return q[i].at < q[j].at
	}
	return q[i].sequence < q[j].sequence
}
func (q *queue) Push(x any) { *q = append(*q, x.(happening)) }
func (q *queue) Pop() any {
	last := len(*q) - 1
	x := (*q)[last]
	(*q)[last] = happening{}
	*q = (*q)[:last]
	return x
}

// after schedules an event.
func (a *agenda) after(d time.Duration, do func()) {
	a.sequence++
	heap.Push(&a.queue, happening{a.now + max(0, d), a.sequence, do})
}

// runUntil runs all events that are due by a time.
func (a *agenda) runUntil(end time.Duration) {
	for len(a.queue) > 0 && a.queue[0].at <= end {
		next := heap.Pop(&a.queue).(happening)
		a.now = next.at
		next.do()
	}
	a.now = end
}

// newSimulation returns a simulation whose machines are not started yet.
func newSimulation(setup Setup) *simulation {
	w := &simulation{
		setup:    setup,
		random:   mathrand.New(mathrand.NewPCG(setup.Seed, 0)),
		producer: newKey("producer"),
		book:     newBook(),
	}
	w.report.Seed = setup.Seed
	w.network = newNetwork(w)
	w.genesis = types.Genesis{
		ChainID:    7,
		Network:    types.Regtest,
		Time:       uint64(began.UnixMilli()) - 10_000,
		BaseFee:    10,
		Parameters: params.Default(w.producer.PublicKey()),
	}
	for i := range clients {
		c := newClient(w, i)
		w.clients = append(w.clients, c)
		w.fund(c)
	}
	if setup.Upgrade > 0 {
		w.admin = &client{simulation: w, name: "admin", key: newKey("admin")}
		w.genesis.Parameters.Admin, w.genesis.Parameters.Notice = w.admin.key.PublicKey(), 0
		w.fund(w.admin)
	}
	slices.SortFunc(w.genesis.Allocations, func(a, b types.Allocation) int {
		return slices.Compare(a.Account[:], b.Account[:])
	})
	return w
}

// fund gives a client coins at genesis.
func (w *simulation) fund(c *client) {
	w.genesis.Allocations = append(w.genesis.Allocations,
		types.Allocation{Account: c.key.PublicKey(), Balance: 1000 * types.CoinUnits})
}

// Run executes a run.
func Run(setup Setup) (*Report, error) {
	w := newSimulation(setup)
	defer w.close()
	if err := w.begin(); err != nil {
		return nil, err
	}
	w.sending = true
	for _, c := range w.clients {
		w.after(w.upTo(time.Second), c.act)
	}
	if w.admin != nil {
		w.after(2*time.Second, func() { w.announce(w.upgrade()) })
	}
	w.runUntil(3 * time.Second)
	w.faulty = true
	w.after(0, w.act)
	w.runUntil(w.now + setup.Faults)
	w.heal()
	w.runUntil(w.now + healing/2)
	w.sending = false
	w.network.quiet = true
	w.runUntil(w.now + healing/2)
	for range 100 { // a block may be under way
		if w.settled() {
			break
		}
		w.runUntil(w.now + 7*time.Millisecond)
	}
	w.end()
	return w.finish(), nil
}

// upTo returns a random duration below a limit.
func (w *simulation) upTo(d time.Duration) time.Duration {
	return time.Duration(w.random.Int64N(int64(d)))
}

// chance returns true with a probability of percent.
func (w *simulation) chance(percent int) bool { return w.random.IntN(100) < percent }

// note adds a line to the log.
func (w *simulation) note(format string, args ...any) {
	w.report.Log = append(w.report.Log, fmt.Sprintf("%10.4fs %s", w.now.Seconds(), fmt.Sprintf(format, args...)))
}

// finish completes the report.
func (w *simulation) finish() *Report {
	r := &w.report
	w.note("%d blocks, %d acknowledged, %d elections, %d crashes, %d cuts, %d messages lost, %d snapshots, %d logs cut",
		r.Heights, r.Acknowledged, r.Elections, r.Crashes, r.Cuts, r.Lost, r.Caught, r.LogCuts)
	digest := sha256.New()
	for _, line := range r.Log {
		fmt.Fprintln(digest, line) // writes to a hash cannot fail
	}
	digest.Sum(r.Digest[:0])
	return r
}

// close stops all machines.
func (w *simulation) close() {
	for _, m := range w.machines {
		if m.process != nil {
			m.process.close()
		}
	}
}

func newKey(name string) crypto.PrivateKey {
	key, err := crypto.NewPrivateKey(sha256.Sum256([]byte(name)))
	if err != nil {
		panic(err) // the digests of these names are valid keys
	}
	return key
}

// drawing guards crypto/rand.Reader, which is global.
var drawing sync.Mutex

// withRandom calls do while crypto/rand reads from stream.
func withRandom(stream io.Reader, do func()) {
	drawing.Lock()
	defer drawing.Unlock()
	real := rand.Reader
	rand.Reader = stream
	defer func() { rand.Reader = real }()
	do()
}
