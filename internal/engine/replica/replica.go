package replica

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/cairn-chain/cairn/internal/emergency"
	"github.com/cairn-chain/cairn/internal/engine/ledger"
	"github.com/cairn-chain/cairn/internal/engine/pause"
	"github.com/cairn-chain/cairn/types"
)

const (
	// maxAhead bounds how far a block's timestamp may be ahead of the clock. A block beyond it is held back
	// (docs/protocol.md, "Blocks").
	maxAhead = 15 * time.Second
	// probeInterval is the time between two probes of each upstream.
	probeInterval = 2 * time.Second
	probeTime     = 10 * time.Second
	// shortestPoll and longestPoll bound the time between two polls for the next block if the upstream does not push.
	// pushedPoll is the time if it does.
	shortestPoll = 50 * time.Millisecond
	longestPoll  = time.Second
	pushedPoll   = 5 * time.Second
	// reconnectAfter is the time before an upstream whose connection broke is asked to push again. watchAgain applies
	// to one that does not push, or whose connections do not last.
	reconnectAfter = time.Second
	watchAgain     = 15 * time.Second
)

// Config is the configuration of a replica.
type Config struct {
	Importer Importer
	Sources  []Source // in order of preference
	// HaltFile records why the replica halted, with the evidence; "" records nothing. While the file exists the replica
	// stays halted; the operator moves it away after looking into it.
	HaltFile string
	Log      *slog.Logger
	// OnBlocks is called in the replica's loop for all blocks once they are on disk. Each call gets the blocks, at
	// least one, that joined the chain together. An error ends the replica.
	OnBlocks func([]ledger.Block) error
	// OnProducer, unless nil, is called with the key that an upstream makes blocks with, and the height of its newest
	// block. An error ends the replica.
	OnProducer func(types.PublicKey, types.Height) error
	// Wall returns the wall-clock time, which block timestamps are checked against. It may jump. If nil, it is
	// time.Now.
	Wall func() time.Time
	// Jitter randomises a waiting time, so that many replicas do not ask at once. It must be safe for concurrent use.
	// If nil, it returns a random time between half and one and a half of its argument.
	Jitter func(time.Duration) time.Duration
}

// Replica follows a chain. It is safe for concurrent use.
type Replica struct {
	config    Config
	ledger    Importer
	genesis   types.BlockHash
	upstreams []*upstream
	pace      pace

	mu      sync.Mutex // guards the fields below
	halt    *Halt
	holding string    // why a block is held back
	pushed  bool      // whether the upstream in use pushes new blocks
	began   time.Time // when following the current or last upstream began
}

// jittered returns a random time between half and one and a half of d.
func jittered(d time.Duration) time.Duration { return d/2 + rand.N(d) }

// New returns a replica; Run starts it. A replica that has halted before stays halted.
func New(config Config) (*Replica, error) {
	if len(config.Sources) == 0 {
		return nil, errors.New("a replica needs an upstream")
	}
	genesis, err := config.Importer.Header(0)
	if err != nil {
		return nil, fmt.Errorf("block 0, which names the chain: %w", err)
	}
	if config.Jitter == nil {
		config.Jitter = jittered
	}
	if config.Wall == nil {
		config.Wall = time.Now
	}
	r := &Replica{config: config, ledger: config.Importer, genesis: genesis.Header.Hash()}
	for _, s := range config.Sources {
		r.upstreams = append(r.upstreams, newUpstream(s, config.Jitter))
	}
	if config.HaltFile != "" {
		r.halt, err = ReadHalt(config.HaltFile)
	}
	return r, err
}

// Close closes the connections to the upstreams.
func (r *Replica) Close() {
	for _, u := range r.upstreams {
		u.Close()
	}
}

// Run follows the chain until ctx ends. An error is a fault of this node, never of an upstream or the producer.
func (r *Replica) Run(ctx context.Context) error {
	if h := r.Halt(); h != nil {
		r.config.Log.Error(emergency.StillHalted(filepath.Base(r.config.HaltFile), h.Reason, h.Height).Error(),
			"reason", h.Reason, "height", h.Height, "error", h.Message)
	}
	for ctx.Err() == nil {
		if h := r.Halt(); h != nil && h.Reason == UnknownVersion {
			r.awaitCheckable(ctx)
			continue
		} else if h != nil {
			<-ctx.Done()
			break
		}
		u, err := r.choose(ctx)
		if err == nil {
			err = r.follow(ctx, u)
		}
		if local, ok := errors.AsType[*localFault](err); ok {
			return local.error
		}
	}
	return nil
}

// choose returns the upstream to follow: among those that answer and follow this chain, the first one that did not lie
// and is not far behind another. It waits until there is one, ctx ends or the replica halts.
func (r *Replica) choose(ctx context.Context) (*upstream, error) {
	for ctx.Err() == nil && r.Halt() == nil {
		now := time.Now()
		var asked []*upstream
		next := now.Add(LongestBackoff)
		for _, u := range r.upstreams {
			switch s := u.rank(); {
			case !s.retryAt.After(now):
				asked = append(asked, u)
			case s.retryAt.Before(next):
				next = s.retryAt
			}
		}
		good, err := r.probe(ctx, asked)
		if err != nil {
			return nil, err
		}
		if u := r.best(good); u != nil {
			return u, nil
		}
		if len(asked) > 0 {
			continue // each has just failed, and its retry time is set
		}
		if err := pause.For(ctx, time.Until(next)); err != nil {
			return nil, err
		}
	}
	return nil, errHalted
}

// probe asks upstreams for their heads, and returns those that answered correctly. An error ends the session: the
// replica has halted, or has a fault of its own.
func (r *Replica) probe(ctx context.Context, asked []*upstream) ([]*upstream, error) {
	errs := make([]error, len(asked))
	var group sync.WaitGroup
	for i, u := range asked {
		group.Go(func() { errs[i] = r.probeOne(ctx, u) })
	}
	group.Wait()
	var good []*upstream
	for i, u := range asked {
		switch err := errs[i]; {
		case err == nil:
			good = append(good, u)
		case isOwn(err):
			return nil, err
		case ctx.Err() == nil:
			r.blame(u, err)
		}
	}
	return good, ctx.Err()
}

// isOwn reports whether an error is not an upstream's: the replica has halted, or has a fault of its own.
func isOwn(err error) bool {
	return errors.Is(err, errHalted) || errors.As(err, new(*localFault))
}

// probeOne asks an upstream for its head, and checks that it follows this chain.
func (r *Replica) probeOne(ctx context.Context, u *upstream) error {
	ctx, cancel := context.WithTimeout(ctx, probeTime)
	defer cancel()
	tip := r.ledger.Tip()
	p, err := u.Probe(ctx, tip.Header.Header.Height)
	if err != nil {
		return err
	}
	if p.Genesis != r.genesis {
		return Faulty(OtherChain, "its chain has the genesis hash %s, but this one has %s", p.Genesis, r.genesis)
	}
	if p.Producing != nil && r.config.OnProducer != nil { // before anyone can conclude that there is nothing newer
		if err := r.config.OnProducer(*p.Producing, p.Head); err != nil {
			return &localFault{err}
		}
	}
	if u.recordProbe(p) {
		r.config.Log.Warn("an upstream is reachable again", "upstream", u.Name(), "height", p.Head)
	}
	if p.Header != nil && p.Header.Header.Hash() != tip.Hash {
		return r.judgeFork(ctx, u)
	}
	return nil
}

// best returns the first upstream that did not lie recently and is not far behind another such one. If there is none,
// it returns the first that did not lie, else the first. It returns nil if good is empty.
func (r *Replica) best(good []*upstream) *upstream {
	var head types.Height
	for _, u := range good {
		if s := u.rank(); !s.lied {
			head = max(head, s.head)
		}
	}
	var second *upstream
	for _, u := range good {
		s := u.rank()
		if !s.lied && s.head+muchBehind >= head {
			return u
		}
		if second == nil || second.rank().lied && !s.lied {
			second = u
		}
	}
	return second
}

// blame records and logs an upstream's failure.
func (r *Replica) blame(u *upstream, err error) {
	cause := u.failed(err)
	r.config.Log.Warn("an upstream failed", "upstream", u.Name(), "cause", string(cause), "error", plain(err),
		"advice", cause.remedy())
}

// follow takes blocks from one upstream until it fails, the replica halts or ctx ends, and returns the reason. If the
// upstream failed, follow has blamed it.
func (r *Replica) follow(ctx context.Context, u *upstream) error {
	r.pace.begin()
	r.beginSession()
	u.use(true)
	defer u.use(false)
	defer r.setPushed(false)
	f := newFetcher(u, r.ledger.Network(), r.ledger.Tip().Header.Header.Height+1, r.pollInterval)
	group, session := errgroup.WithContext(ctx)
	group.Go(func() error { return f.run(session) })
	group.Go(func() error { return r.watch(session, u, f) })
	group.Go(func() error { return r.supervise(session, u, f) })
	group.Go(func() error { return r.importAll(session, u, f) })
	err := group.Wait()
	r.setHolding("")
	if errors.Is(err, ledger.ErrOtherParent) {
		if fork := r.judgeFork(ctx, u); fork != nil {
			err = fork
		} else { // it has our head, but gives another block after it
			err = Faulty(Lied, "%w", err)
		}
	}
	var fault *FaultError
	if errors.As(err, &fault) && fault.Cause == Pruned { // the fault may refer to a block requested ahead
		err = Faulty(Pruned, "it has pruned block %d", r.ledger.Tip().Header.Header.Height+1)
	}
	if ctx.Err() == nil && !isOwn(err) && !errors.Is(err, errAgain) {
		r.blame(u, err)
	}
	return err
}

func (r *Replica) beginSession() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.began = time.Now()
}

// session returns the time at which the replica began to follow the current or last upstream, or last lost contact with
// an upstream, whichever is later.
func (r *Replica) session() time.Time {
	r.mu.Lock()
	latest := r.began
	r.mu.Unlock()
	for _, u := range r.upstreams {
		if at := u.lastInterruption(); at.After(latest) {
			latest = at
		}
	}
	return latest
}

// localFault is an error of this node, not of an upstream.
type localFault struct{ error }

// watch subscribes to the upstream's new blocks, and resubscribes when that ends. Polling continues meanwhile.
func (r *Replica) watch(ctx context.Context, u *upstream, f *fetcher) error {
	for {
		began := time.Now()
		err := u.Watch(ctx, func(h types.Height) {
			r.setPushed(true)
			u.recordBlock(h)
			f.moved()
		})
		r.setPushed(false)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		again := watchAgain
		if refusal(err) == nil {
			u.interrupted()
			if time.Since(began) >= watchAgain {
				again = reconnectAfter
			}
		}
		r.config.Log.Debug("cannot subscribe to the upstream: polling it instead", "upstream", u.Name(), "error", plain(err))
		if err := pause.For(ctx, again); err != nil {
			return err
		}
	}
}

// supervise probes all upstreams periodically. It leaves the upstream in use when that fails, or has nothing new while
// another one is far ahead of it.
func (r *Replica) supervise(ctx context.Context, u *upstream, f *fetcher) error {
	failed := 0
	for {
		if err := pause.For(ctx, r.config.Jitter(probeInterval)); err != nil {
			return err
		}
		now := time.Now()
		var others []*upstream
		for _, other := range r.upstreams {
			if other != u && !other.rank().retryAt.After(now) {
				others = append(others, other)
			}
		}
		err := r.probeOne(ctx, u)
		switch failed++; {
		case err == nil:
			if failed > 1 {
				u.interrupted()
			}
			failed = 0
			f.moved()
		case ctx.Err() != nil:
			return ctx.Err()
		case failed == attempts || isOwn(err) || errors.As(err, new(*FaultError)):
			return err
		}
		good, err := r.probe(ctx, others)
		if err != nil {
			return err
		}
		for _, other := range good {
			s := other.rank()
			if head := r.ledger.Tip().Header.Header.Height; !s.lied && s.head > u.newest()+muchBehind && u.newest() <= head {
				return Faulty(Behind, "it has %d blocks, but %s has %d", u.newest(), other.Name(), s.head)
			}
		}
	}
}
