package mempool

import (
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cairn-chain/cairn/internal/engine/mempool/journal"
	"github.com/cairn-chain/cairn/types"
)

// Options configure a pool. Zero fields take their defaults.
type Options struct {
	MaxTransactions int           // 200,000
	MaxBytes        int           // total size of encoded transactions: 128 MiB
	Expiry          time.Duration // 3 h
	HeldPerSender   int           // held transactions per sender: 64
	NonceWindow     uint64        // accepted nonces, counted from the account's: 1,024
	PerPayer        int           // transactions for which one account is the payer: 4,096

	// Journal is the path of the file to which accepted transactions are written; empty for no journal.
	Journal string
	// SyncJournal makes Add wait until its transaction is durable. Otherwise it is only written.
	SyncJournal bool

	// Admit, unless nil, is called with each added transaction that the other rules allow. A non-nil error refuses the
	// transaction: it wraps [ErrSetAside] or is a fault of the node. Admit may read state. It must be safe for
	// concurrent use.
	Admit func(*types.Transaction) error

	// OnAccepted, unless nil, is called after a transaction was added. It must not block.
	OnAccepted func(types.TxID)

	Now func() time.Time // time.Now
	// Clock is the clock for arrival and expiry. It defaults to Now. Members of a cluster use the time of their log,
	// so that all decide alike.
	Clock func() time.Time
	// Cluster is the name of that log, under which the journal records the pool's position. HeadAt returns the head at
	// such a position. If it fails, the pool starts at the current head, and validates all transactions again.
	Cluster [16]byte
	HeadAt  func(types.Height) (Head, error)
	FS      journal.FS   // journal.OS{}
	Log     *slog.Logger // discards

	replicated bool          // Clock was set
	network    types.Network // of the head
}

func (o Options) withDefaults() Options {
	setDefault(&o.MaxTransactions, 200_000)
	setDefault(&o.MaxBytes, 128<<20)
	setDefault(&o.Expiry, 3*time.Hour)
	setDefault(&o.HeldPerSender, 64)
	setDefault(&o.NonceWindow, 1024)
	setDefault(&o.PerPayer, 4096)
	if o.Now == nil {
		o.Now = time.Now
	}
	o.replicated = o.Clock != nil
	if !o.replicated {
		o.Clock = o.Now
	}
	if o.FS == nil {
		o.FS = journal.OS{}
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return o
}

func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

// Pool is the set of pending transactions. Its methods are safe for concurrent use.
//
// Its memory is bounded: about 1 KiB for each of MaxTransactions, and MaxBytes for their encodings, each of which is
// held once; queueBytes for the verification queue; and maxSuspects sources and maxFates fates.
//
// Under the lock, an operation costs O(log senders) per transaction that it adds or evicts, on average. A change of an
// account affects at most NonceWindow + HeldPerSender transactions of its own. If it can no longer pay for others, it
// affects as many of each sender of the at most PerPayer transactions that it pays for. A replacement copies the
// pointers of a run and updates its floors.
type Pool struct {
	opts     Options
	verifier *verifier
	counts   *counts
	changed  chan struct{}

	// The file to which accepted transactions are written:
	journal      *journal.Journal // nil without a journal
	journalFails atomic.Bool      // the last append failed
	// writing is read-locked from the write of a transaction to the file until the transaction is in the pool. A
	// rewrite locks it to take its mark: every transaction before the mark is then in the pool, or has left it.
	writing       sync.RWMutex
	rewriting     sync.Mutex    // held during a rewrite
	probing       sync.Mutex    // held while Failing writes its probe file
	rewriteWanted chan struct{} // requests a rewrite

	// The pool's goroutines:
	done    chan struct{} // closed to end them
	ended   sync.WaitGroup
	closing sync.Once

	// A member's position in its cluster's log. The effect of an entry depends on the pool's content, so a member that
	// restarts must begin with exactly the content that its pool had at some position of the log, whatever part of the
	// chain is on disk by then.
	moving sync.Mutex // held while the log moves the pool; guards the fields below. Writing journalHeight needs Pool.mu too
	// appliedIndex is the index of the last entry whose transactions were taken.
	appliedIndex uint64
	// journalHeight is the height at which the journal's transactions were pending. The chain may have lost the last
	// blocks up to it.
	journalHeight types.Height

	mu   sync.Mutex // guards the fields below
	head Head
	// ahead is whether the transactions were pending after a block that the chain has yet to apply again. None leaves
	// before: all rules and limits were applied at that block, and the clock and the accounts are older ones.
	ahead         bool
	generation    uint64        // number of heads so far
	headMoved     chan struct{} // closed when the next head replaces this one
	lastReset     time.Time
	blockInterval time.Duration // time between the last two blocks
	index         index
	usage         usage
	gas           types.Gas // sum of gas limits
	pressure      bool      // see [Stats].BackPressure
	revalidation  revalidation
	fates         fates
	freed         []*sender    // accounts that pay for less than before, until promoteFreed
	gone          []types.TxID // a member's transactions that left without being in a block, not journaled yet
}

// New opens a pool at head, and replays the transactions of its journal that are still valid.
func New(opts Options, head Head) (*Pool, error) {
	return newPool(opts, head, func(txs []*types.Tx) []*types.VerifiedTx {
		return types.VerifyWitnesses(head.Env.Network, txs)
	})
}

func newPool(opts Options, head Head, verify verifyFunc) (*Pool, error) {
	opts = opts.withDefaults()
	opts.network = head.Env.Network
	p := &Pool{
		opts:          opts,
		counts:        newCounts(opts.Now),
		changed:       make(chan struct{}, 1),
		rewriteWanted: make(chan struct{}, 1),
		done:          make(chan struct{}),
		head:          head,
		generation:    1,
		headMoved:     make(chan struct{}),
		index:         newIndex(),
		revalidation:  revalidation{wake: make(chan struct{}, 1)},
	}
	p.verifier = newVerifier(opts.Now, verify, p.add)
	if opts.Journal != "" {
		if err := p.openJournal(); err != nil {
			p.verifier.close()
			return nil, fmt.Errorf("mempool journal %s: %w", opts.Journal, err)
		}
		p.ended.Go(p.rewriteLoop)
	}
	p.ended.Go(p.revalidateLoop)
	return p, nil
}

// Close ends the pool's goroutines and closes its journal. Add then returns [ErrClosed].
func (p *Pool) Close() error {
	var err error
	p.closing.Do(func() {
		p.verifier.close()
		close(p.done)
		p.ended.Wait()
		if p.journal != nil {
			p.writing.Lock()
			defer p.writing.Unlock()
			err = p.journal.Close()
		}
	})
	return err
}

// Changed returns a channel that signals that transactions may have become executable. It is for a single receiver,
// which then calls [Pool.Best]. Signals that were not received yet are merged.
func (p *Pool) Changed() <-chan struct{} { return p.changed }

func (p *Pool) signal() {
	select {
	case p.changed <- struct{}{}:
	default:
	}
}

// Get returns the pending transaction with an ID.
func (p *Pool) Get(id types.TxID) (*types.VerifiedTx, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	e, ok := p.index.byID[id]
	if !ok {
		return nil, false
	}
	return e.tx, true
}

// NextNonce returns the nonce after an account's executable transactions, which its next transaction should have. An
// error is from reading the account.
func (p *Pool) NextNonce(a types.Account) (uint64, error) {
	p.mu.Lock()
	s, ok := p.index.senders[a]
	head := p.head
	if ok {
		next := s.next()
		p.mu.Unlock()
		return next, nil
	}
	p.mu.Unlock()
	account, err := head.Account(a)
	return account.Nonce, err
}

// Pending is a pending transaction for display.
type Pending struct {
	Tx         *types.VerifiedTx
	Added      time.Time
	Executable bool // false: held for an earlier nonce or for more balance
}

// Pending returns at most limit pending transactions, newest first.
func (p *Pool) Pending(limit int) []Pending {
	p.mu.Lock()
	defer p.mu.Unlock()
	list := make([]Pending, 0, min(max(limit, 0), len(p.index.byID)))
	for e := p.index.arrivals.Back(); e != nil && len(list) < limit; e = e.Prev() {
		list = append(list, e.Value.(*entry).pending())
	}
	return list
}

// BySender returns the pending transactions of an account in ascending order of their nonces.
func (p *Pool) BySender(a types.Account) []Pending {
	p.mu.Lock()
	defer p.mu.Unlock()
	s, ok := p.index.senders[a]
	if !ok {
		return nil
	}
	list := make([]Pending, 0, len(s.run)+len(s.held))
	for _, part := range [][]*entry{s.run, s.held} {
		for _, e := range part {
			list = append(list, e.pending())
		}
	}
	return list
}

// Stats describes the pool as a whole.
type Stats struct {
	Count        int
	Held         int           // part of Count that is not executable
	Gas          types.Gas     // sum of gas limits
	Bytes        int           // total size of encoded transactions
	BackPressure bool          // from 90 % of the limits until below 75 %
	Oldest       time.Duration // age of the oldest transaction, or 0
	Journal      error         // why the journal currently refuses appends, or nil
	JournalBytes int64

	// Since the start, without replayed transactions.
	Accepted uint64            // by Add
	Refused  map[string]uint64 // by Add, for every reason
	Classes  []ClassStats      // refusals and evictions for lack of room, for every class

	// Since the start.
	SignaturesGood, SignaturesBad uint64 // verifications, including replayed transactions
	SignatureBatches              uint64 // batches in which they were verified
}

// Stats returns the pool's current numbers.
func (p *Pool) Stats() Stats {
	now := p.opts.Clock()
	p.mu.Lock()
	s := Stats{
		Count:        p.usage.count,
		Held:         p.usage.heldCount,
		Gas:          p.gas,
		Bytes:        p.usage.bytes,
		BackPressure: p.pressure,
	}
	if oldest := p.index.arrivals.Front(); oldest != nil {
		s.Oldest = max(0, now.Sub(oldest.Value.(*entry).added))
	}
	p.mu.Unlock()
	if p.journal != nil {
		s.Journal, s.JournalBytes = p.journal.Err(), p.journal.Size()
	}
	s.Accepted, s.Refused = p.counts.accepted.Load(), p.counts.refusedByReason()
	s.Classes = p.counts.byClass()
	signatures := p.verifier
	s.SignaturesGood, s.SignaturesBad = signatures.good.Load(), signatures.bad.Load()
	s.SignatureBatches = signatures.batches.Load()
	return s
}

// closedAs converts the journal's ErrClosed to the pool's.
func closedAs(err error) error {
	if errors.Is(err, journal.ErrClosed) {
		return ErrClosed
	}
	return fmt.Errorf("%w: %w", ErrJournal, err)
}
