package mempool

import (
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/cairn-chain/cairn/internal/engine/mempool/journal"
	"github.com/cairn-chain/cairn/types"
)

// Options are the pool's settings. A zero value takes its default.
type Options struct {
	MaxTransactions int           // 200,000
	MaxBytes        int           // of encoded transactions: 256 MiB
	Expiry          time.Duration // 3 h
	HeldPerSender   int           // held transactions of one sender: 64
	NonceWindow     uint64        // nonces from the account's on that are taken: 1,024

	// Journal is the path of the file that acknowledged transactions are written to; empty for none.
	Journal string
	// SyncJournal makes Add wait until its transaction is durable, not only written.
	SyncJournal bool

	// Admit, unless nil, is asked of each transaction that Add is given and that the other rules allow: its error,
	// which wraps [ErrSetAside] or is the node's fault, refuses it. It may read a state, and is called concurrently.
	Admit func(*types.Transaction) error

	// OnAccepted, unless nil, is told of each transaction that Add takes, once it is in the pool. It must not wait.
	OnAccepted func(types.TxID)

	Now func() time.Time // time.Now
	// Moment is what transactions arrive and expire by. It is Now unless it is set: members of a cluster go by the time
	// of their log, so that all judge alike.
	Moment func() time.Time
	// Cluster is the name of that log, by which the journal says where it has brought the pool. HeadAt is what the pool
	// must know of the head there; with an error the pool begins at the head of now, and judges anew.
	Cluster [16]byte
	HeadAt  func(types.Height) (Head, error)
	FS      journal.FS   // journal.OS{}
	Log     *slog.Logger // discards

	decided bool // whether Moment was set
}

func (o Options) withDefaults() Options {
	setDefault(&o.MaxTransactions, 200_000)
	setDefault(&o.MaxBytes, 256<<20)
	setDefault(&o.Expiry, 3*time.Hour)
	setDefault(&o.HeldPerSender, 64)
	setDefault(&o.NonceWindow, 1024)
	if o.Now == nil {
		o.Now = time.Now
	}
	o.decided = o.Moment != nil
	if !o.decided {
		o.Moment = o.Now
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

// Pool is the set of pending transactions. Its methods may be called concurrently.
//
// Its memory is bounded: about 1 KiB for each of MaxTransactions, and the MaxBytes of their encodings, each of which it
// holds once. The lane that waits for signatures has queueBytes, and maxSuspects sources and maxFates fates are
// remembered.
// Under the lock an operation costs O(log senders) for each transaction that it adds or evicts. A change of account
// costs at most one sender's NonceWindow + HeldPerSender. A replacement copies the pointers of a run and follows its
// floors.
type Pool struct {
	opts     Options
	verifier *verifier
	counts   *counts
	changed  chan struct{}
	journal  journaling
	loops    loops
	decided  decided

	mu      sync.Mutex // guards the fields below
	head    headState
	index   index
	filling filling
	judging judging
	fates   fates
	gone    []types.TxID // that left without being in a block, of which the journal is to be told; of a member's pool
}

// loops are the pool's goroutines.
type loops struct {
	done    chan struct{} // closed when they are to end
	ended   sync.WaitGroup
	closing sync.Once
}

// New opens a pool at head and takes up the transactions of its journal that are still valid.
func New(opts Options, head Head) (*Pool, error) {
	return newPool(opts, head, types.VerifySignatures)
}

func newPool(opts Options, head Head, verify verifyFunc) (*Pool, error) {
	opts = opts.withDefaults()
	p := &Pool{
		opts:     opts,
		verifier: newVerifier(opts.Now, verify),
		counts:   newCounts(opts.Now),
		changed:  make(chan struct{}, 1),
		journal:  journaling{wanted: make(chan struct{}, 1)},
		loops:    loops{done: make(chan struct{})},
		head:     headState{Head: head, generation: 1},
		index:    newIndex(),
		judging:  judging{wake: make(chan struct{}, 1)},
	}
	if opts.Journal != "" {
		if err := p.openJournal(); err != nil {
			p.verifier.close()
			return nil, fmt.Errorf("mempool journal %s: %w", opts.Journal, err)
		}
		p.loops.ended.Go(p.rewriteLoop)
	}
	p.loops.ended.Go(p.judgeLoop)
	return p, nil
}

// Close ends the pool's goroutines and closes its journal. Adding then gives [ErrClosed].
func (p *Pool) Close() error {
	var err error
	p.loops.closing.Do(func() {
		p.verifier.close()
		close(p.loops.done)
		p.loops.ended.Wait()
		if p.journal.file != nil {
			p.journal.writing.Lock()
			defer p.journal.writing.Unlock()
			err = p.journal.file.Close()
		}
	})
	return err
}

// Changed signals that something may have become executable. It is for one receiver, which asks [Pool.Best] then;
// signals that come before the last one is received are one.
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

// NextNonce is the nonce after an account's executable transactions: what its next transaction should carry. An error
// is one of reading the account.
func (p *Pool) NextNonce(a types.Account) (uint64, error) {
	p.mu.Lock()
	s, ok := p.index.senders[a]
	head := p.head.Head
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
	Executable bool // false: held for an earlier nonce, or for more balance
}

// Pending lists the newest pending transactions, newest first, at most limit.
func (p *Pool) Pending(limit int) []Pending {
	p.mu.Lock()
	defer p.mu.Unlock()
	list := make([]Pending, 0, min(max(limit, 0), len(p.index.byID)))
	for e := p.index.arrivals.Back(); e != nil && len(list) < limit; e = e.Prev() {
		list = append(list, e.Value.(*entry).pending())
	}
	return list
}

// BySender lists the pending transactions of an account, ascending by nonce.
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

// Stats describe the pool as a whole.
type Stats struct {
	Count        int
	Held         int           // of Count, not executable
	Gas          types.Gas     // sum of gas limits
	Bytes        int           // of encoded transactions
	BackPressure bool          // from 90 % of the limits on, until under 75 %
	Oldest       time.Duration // age of the oldest transaction, 0 without one
	Journal      error         // why the journal takes nothing at present
	JournalBytes int64

	// Since the start, without the transactions that the journal brought.
	Accepted uint64            // by Add
	Refused  map[string]uint64 // by Add, by a word for the reason; every word is there
	Classes  []ClassStats      // what was refused, or made way, for want of room; every class is there

	// Since the start.
	SignaturesGood, SignaturesBad uint64 // verified, a transaction of the journal too
	SignatureBatches              uint64 // in which they were verified
}

// Stats returns the pool's present numbers.
func (p *Pool) Stats() Stats {
	now := p.opts.Moment()
	p.mu.Lock()
	s := Stats{
		Count:        p.filling.usage.count,
		Held:         p.filling.usage.heldCount,
		Gas:          p.filling.gas,
		Bytes:        p.filling.usage.bytes,
		BackPressure: p.filling.pressure,
	}
	if oldest := p.index.arrivals.Front(); oldest != nil {
		s.Oldest = max(0, now.Sub(oldest.Value.(*entry).added))
	}
	p.mu.Unlock()
	if p.journal.file != nil {
		s.Journal, s.JournalBytes = p.journal.file.Err(), p.journal.file.Size()
	}
	s.Accepted, s.Refused = p.counts.accepted.Load(), p.counts.refusedByReason()
	s.Classes = p.counts.byClass()
	signatures := &p.verifier.counts
	s.SignaturesGood, s.SignaturesBad = signatures.good.Load(), signatures.bad.Load()
	s.SignatureBatches = signatures.batches.Load()
	return s
}

// closedAs turns the journal's word for a closed journal into the pool's.
func closedAs(err error) error {
	if errors.Is(err, journal.ErrClosed) {
		return ErrClosed
	}
	return fmt.Errorf("%w: %w", ErrJournal, err)
}
