package sender

import (
	"cmp"
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
	// maxJobs bounds the jobs queued or open at a time. Further calls wait.
	maxJobs = 4096
	// maxID bounds the length of an ID in bytes.
	maxID = 256
	// sponsoredTime is the time for which a transaction with a payer is valid unless the options say otherwise.
	sponsoredTime = 5 * time.Minute
)

// Sender sends the transactions of one account. It is safe for concurrent use. An account must have only one Sender, as
// two would displace each other's transactions.
type Sender struct {
	client  *client.Client
	signer  client.Signer
	chainID uint64
	options Options
	journal Journal

	places chan struct{} // a semaphore with one slot per job
	wake   chan struct{} // signals the pump that there is work
	ctx    context.Context
	cancel context.CancelFunc
	ended  chan struct{}

	mu       sync.Mutex // guards the fields below, which callers and the pump share
	queue    []*job
	unwanted []*job          // jobs to cancel
	jobs     map[string]*job // queued or open, by ID
	finished map[string]done
	closed   error // error with which sending stopped
}

// Open returns a sender for a signer's account, and resumes the open jobs of the journal. It returns an error if the
// node cannot be asked for its chain, or if the journal fails.
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
	if options.Payer != nil {
		options.ValidFor = cmp.Or(options.ValidFor, sponsoredTime)
		if options.ValidFor > client.MaxSponsored {
			return nil, client.ErrSponsoredTooLong
		}
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
		jobs:    make(map[string]*job),
	}
	p, err := newPump(s, entries)
	if err != nil {
		return nil, errors.Join(err, options.Journal.Close())
	}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	go p.run()
	return s, nil
}

// Account returns the account of the sender.
func (s *Sender) Account() types.Account { return s.signer.Account() }

// Send queues an action. The returned Sent reports its progress. If the ID was sent before, Send returns that earlier
// job, also after a crash if the journal is durable. It waits while 4,096 jobs are in progress, until the context ends.
// It returns [ErrConflict], [ErrBadID], [ErrClosed] or the context's error if it queued nothing.
func (s *Sender) Send(ctx context.Context, action client.Action, how Job) (*Sent, error) {
	return s.enqueue(ctx, how, digestOf(action), func(j *job) { j.action = action })
}

// SendAll sweeps the account's whole balance once all earlier jobs are in blocks; later jobs wait. If another
// transaction creates the recipient's account meanwhile, the gas for creating it is refunded, and a second transfer
// sweeps the refund before the job ends; the job's receipt is that of the first transfer. With a payer, one transfer
// moves the whole balance. It returns the errors of
// Send; [ErrInsufficientForFee] is reported by the returned Sent.
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
	j := newJob(id, digest, client.Action{}, how)
	set(j)
	j.placed = true
	s.mu.Lock()
	sent, err := s.knownLocked(how, digest) // another caller may have sent it meanwhile
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

// known returns the earlier job with the same ID, or nil for a new one.
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
		j.said = how // the journal does not contain these options
		return &Sent{s: s, id: how.ID, job: j}, nil
	}
	return &Sent{s: s, id: how.ID, done: d}, nil
}

// Forget forgets the jobs done in blocks below a height, and returns their number. A job sent again with a forgotten ID
// is paid again. Without Forget, the sender keeps about 200 bytes per job with an ID.
func (s *Sender) Forget(before types.Height) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	had := len(s.finished)
	maps.DeleteFunc(s.finished, func(_ string, d done) bool { return d.height < before })
	s.poke()
	return had - len(s.finished)
}

// Close stops the sender. Open jobs stay in the journal for the next sender; callers that wait for them get
// [ErrClosed]. It returns an error of the journal, including one that stopped the sender earlier.
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
	default: // already signalled
	}
}

// said returns the options that the caller gave for a job.
func (s *Sender) said(j *job) Job {
	s.mu.Lock()
	defer s.mu.Unlock()
	return j.said
}

// cap returns the bound of a job's fee per gas; 0 means none.
func (s *Sender) cap(j *job) types.Amount {
	said := s.said(j).MaxFee
	if said == 0 || s.options.MaxFee != 0 && s.options.MaxFee < said {
		return s.options.MaxFee
	}
	return said
}

// validFor returns the time for which a job is valid; 0 means without end.
func (s *Sender) validFor(j *job) time.Duration {
	return cmp.Or(s.said(j).ValidFor, s.options.ValidFor)
}

// unwant requests the cancellation of a job.
func (s *Sender) unwant(j *job) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed == nil && s.jobs[j.id] == j && !slices.Contains(s.unwanted, j) {
		s.unwanted = append(s.unwanted, j)
		s.poke()
	}
}

// drop removes an ended job. If d is not nil, it is remembered as done.
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
