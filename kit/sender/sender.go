package sender

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/client"
	"github.com/cairn-chain/cairn/types"
)

const (
	// maxJobs is how many jobs may be queued or open at a time; who sends more waits.
	maxJobs = 4096
	// maxID bounds an ID in bytes.
	maxID = 256
)

// Sender sends the transactions of one account for many callers at once: all its methods are safe for concurrent use.
// There must be one only of an account, else they displace each other's transactions.
type Sender struct {
	client  *client.Client
	signer  client.Signer
	chainID uint64
	options Options
	journal Journal

	places chan struct{} // one for each job
	wake   chan struct{} // something is to be done
	ctx    context.Context
	cancel context.CancelFunc
	ended  chan struct{}
	book
}

// book has the jobs of a sender, for callers and the pump.
type book struct {
	mu       sync.Mutex
	queue    []*job
	unwanted []*job          // to be cancelled
	jobs     map[string]*job // queued or open
	finished map[string]done
	closed   error // why nothing is sent any more
}

// Open makes the sender of a signer's account, and takes up what the journal has open. It fails with the node's error
// if that cannot be asked for its chain, and with the journal's.
func Open(ctx context.Context, c *client.Client, signer client.Signer, options Options) (*Sender, error) {
	var b client.Batch
	chainCall, infoCall := client.Add(&b, api.ChainID, api.NoParams{}), client.Add(&b, api.GetNodeInfo, api.NoParams{})
	if err := b.Send(ctx, c); err != nil {
		return nil, err
	}
	var err error
	chainID, info := take(&err, chainCall), take(&err, infoCall)
	if err != nil {
		return nil, err
	}
	if options.Journal == nil {
		options.Journal = &Memory{}
	}
	if options.Clock == nil {
		options.Clock = realClock{}
	}
	if options.Poll == 0 {
		options.Poll = 500 * time.Millisecond
	}
	entries, err := options.Journal.Open(Scope{Genesis: info.GenesisHash, Account: signer.Account()})
	if err != nil {
		return nil, err
	}
	s := &Sender{
		client:  c,
		signer:  signer,
		chainID: uint64(chainID),
		options: options,
		journal: options.Journal,
		places:  make(chan struct{}, maxJobs),
		wake:    make(chan struct{}, 1),
		ended:   make(chan struct{}),
		book:    book{jobs: make(map[string]*job)},
	}
	p, err := newPump(s, entries)
	if err != nil {
		return nil, errors.Join(err, options.Journal.Close())
	}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	go p.run()
	return s, nil
}

// Account is the account whose transactions it sends.
func (s *Sender) Account() types.Account { return s.signer.Account() }

// Send queues a payload; how it goes on is to be asked of what it returns. With an ID that was sent before it gives
// that job back, also after a crash if the journal is durable. It waits while 4,096 jobs are under way, until the
// context ends. It fails with [ErrConflict], [ErrBadID], [ErrClosed] and the context's error, and then nothing was
// queued.
func (s *Sender) Send(ctx context.Context, payload types.Payload, how Job) (*Sent, error) {
	return s.enqueue(ctx, how, digestOf(payload), func(j *job) { j.payload = payload })
}

// SendAll sweeps the account to the last unit, once what was sent before it is in blocks; what comes after it waits. If
// another creates the recipient's entry in the meantime, the gas that this would have cost is left, and is swept by a
// second transfer before the job ends; its receipt is that of the first. Errors are those of Send; [ErrInsufficientForFee] is told by what it returns.
func (s *Sender) SendAll(ctx context.Context, to types.Account, how Job) (*Sent, error) {
	return s.enqueue(ctx, how, sweepDigest(to), func(j *job) { j.sweep = &to })
}

func (s *Sender) enqueue(ctx context.Context, how Job, digest types.Digest, set func(*job)) (*Sent, error) {
	if len(how.ID) > maxID || !utf8.ValidString(how.ID) || strings.HasPrefix(how.ID, ownIDs) {
		return nil, ErrBadID
	}
	if sent, err := s.known(how, digest); sent != nil || err != nil {
		return sent, err
	}
	select {
	case s.places <- struct{}{}:
	case <-s.ended:
		return nil, s.why()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	id := how.ID
	if id == "" {
		id = ownIDs + rand.Text()
	}
	j := newJob(id, digest, nil, how)
	set(j)
	j.placed = true
	s.mu.Lock()
	sent, err := s.knownLocked(how, digest) // another may have sent it meanwhile
	if sent == nil && err == nil {
		s.jobs[id] = j
		s.queue = append(s.queue, j)
		sent = &Sent{s: s, id: id, job: j}
		s.poke()
	} else {
		<-s.places
	}
	s.mu.Unlock()
	return sent, err
}

// known is the job of an ID that was sent before; nil for a new one.
func (s *Sender) known(how Job, digest types.Digest) (*Sent, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.knownLocked(how, digest)
}

func (s *Sender) knownLocked(how Job, digest types.Digest) (*Sent, error) {
	if s.closed != nil {
		return nil, s.closed
	}
	j, d := s.jobs[how.ID], s.finished[how.ID]
	switch {
	case how.ID == "" || j == nil && d.hash.IsZero():
		return nil, nil
	case j != nil && j.digest != digest, j == nil && d.digest != digest:
		return nil, fmt.Errorf("%q: %w", how.ID, ErrConflict)
	case j != nil:
		j.said = how // what was said of a job from the journal is not in it
		return &Sent{s: s, id: how.ID, job: j}, nil
	}
	return &Sent{s: s, id: how.ID, done: d}, nil
}

// Forget forgets the jobs that were done in blocks before a height, and returns how many those were: an ID of theirs
// would be paid again. Without it the sender remembers, in about 200 bytes, each job that has an ID.
func (s *Sender) Forget(before types.Height) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	had := len(s.finished)
	maps.DeleteFunc(s.finished, func(_ string, d done) bool { return d.height < before })
	s.poke()
	return had - len(s.finished)
}

// Close stops. What is open stays in the journal, where the next sender takes it up; who waits for it here is told
// [ErrClosed]. The error is that of the journal, also one that has stopped the sender before.
func (s *Sender) Close() error {
	s.stop(ErrClosed)
	<-s.ended
	if err := s.why(); !errors.Is(err, ErrClosed) {
		return err
	}
	return nil
}

func (s *Sender) stop(why error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed == nil {
		s.closed = why
	}
	s.cancel()
	s.poke()
}

func (s *Sender) why() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closed
}

// poke wakes the pump.
func (s *Sender) poke() {
	select {
	case s.wake <- struct{}{}:
	default: // it will wake anyway
	}
}

// said is how a job's caller wants it sent.
func (s *Sender) said(j *job) Job {
	s.mu.Lock()
	defer s.mu.Unlock()
	return j.said
}

// cap is the most that a job may pay per gas; 0: there is no bound.
func (s *Sender) cap(j *job) types.Amount {
	said := s.said(j).MaxFee
	if said == 0 || s.options.MaxFee != 0 && s.options.MaxFee < said {
		return s.options.MaxFee
	}
	return said
}

// unwant asks to cancel a job.
func (s *Sender) unwant(j *job) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed == nil && s.jobs[j.id] == j && !slices.Contains(s.unwanted, j) {
		s.unwanted = append(s.unwanted, j)
		s.poke()
	}
}

// drop takes a job that has ended out of what is under way; with what remains of it, if it is to be remembered.
func (s *Sender) drop(j *job, d *done) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.jobs, j.id)
	if d != nil && !j.own() {
		s.finished[j.id] = *d
	}
	if j.placed {
		<-s.places
	}
}
