package cluster

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"go.etcd.io/raft/v3"
	"go.etcd.io/raft/v3/raftpb"

	"github.com/cairn-chain/cairn/internal/engine/mempool"
	"github.com/cairn-chain/cairn/types"
)

const (
	// maxEvents bounds the queued events. Further raft messages are dropped; raft sends them again.
	maxEvents = 4096
	// callTime bounds a call to another member, and blocksTime one for blocks, of which each may have 32 MiB.
	callTime   = 5 * time.Second
	blocksTime = 20 * time.Second
	// blockBytes bounds the blocks of one answer, in bytes. A larger block comes alone.
	blockBytes = 8 << 20
)

// ErrEnded is returned by a service that has ended.
var ErrEnded = errors.New("this member has ended")

// Service runs a member on the machine's clock, with its own goroutines. Its methods are safe for concurrent use.
type Service struct {
	member *Member
	events chan Event
	ended  chan struct{} // closed when Run returns
	status atomic.Pointer[Status]
	moved  chan struct{} // holds a value after the leader, the term or the members changed
	facts  atomic.Pointer[Facts]

	// Fields of Run.
	ctx      context.Context
	link     Link
	gathered []Event
	workers  [Anyone]chan func() Event
	beside   sync.WaitGroup
}

// NewService opens the member of a log. The caller must then call [Service.Run].
func NewService(c Config) (*Service, error) {
	s := &Service{events: make(chan Event, maxEvents), ended: make(chan struct{}), moved: make(chan struct{}, 1)}
	for i := range s.workers {
		s.workers[i] = make(chan func() Event, maxEvents)
	}
	var err error
	if s.member, err = Open(c, serviceEnv{s}); err != nil {
		return nil, err
	}
	return s, s.publish()
}

// Run runs the member until ctx ends, and then returns nil, or until the member fails: see [Member.Step]. It may be
// called only once.
func (s *Service) Run(ctx context.Context, link Link) error {
	defer close(s.ended)
	defer s.beside.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s.ctx, s.link = ctx, link
	for _, w := range s.workers {
		s.beside.Go(func() { s.work(w) })
	}
	tick := time.NewTicker(TickTime)
	defer tick.Stop()
	block := time.NewTimer(0)
	defer block.Stop()
	for {
		if wait, waits := s.member.untilDue(); waits {
			block.Reset(wait)
		} else {
			block.Stop()
		}
		e := Tick()
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		case <-block.C:
			e = func(*Member) error { return nil }
		case e = <-s.events:
		}
		if err := s.member.Step(s.gather(e)...); err != nil {
			return err
		}
		if err := s.publish(); err != nil {
			return err
		}
	}
}

// maxStep bounds the events of one step.
const maxStep = 256

// gather returns an event together with those that are already queued.
func (s *Service) gather(e Event) []Event {
	events := append(s.gathered[:0], e)
	for len(events) < maxStep {
		select {
		case e := <-s.events:
			events = append(events, e)
			continue
		default:
		}
		break
	}
	s.gathered = events
	return events
}

// work runs a worker's tasks in order.
func (s *Service) work(queue chan func() Event) {
	for {
		select {
		case <-s.ctx.Done():
			return
		case do := <-queue:
			s.enqueue(do())
		}
	}
}

// enqueue queues an event, unless the member ends.
func (s *Service) enqueue(e Event) {
	select {
	case s.events <- e:
	case <-s.ctx.Done():
	}
}

// publish updates the status and facts that other goroutines read.
func (s *Service) publish() error {
	status := s.member.Status()
	same := func(a, b Peer) bool { return a.Record == b.Record }
	if before := s.status.Swap(&status); before == nil || before.Leader != status.Leader || before.Term != status.Term ||
		!slices.EqualFunc(before.Peers, status.Peers, same) {
		select {
		case s.moved <- struct{}{}:
		default:
		}
	}
	facts, err := s.member.facts()
	s.facts.Store(&facts)
	return err
}

// Status returns the member's current status.
func (s *Service) Status() Status { return *s.status.Load() }

// Moved returns a channel that receives a value after the leader, the term or the members of [Service.Status] changed.
// It is for one receiver.
func (s *Service) Moved() <-chan struct{} { return s.moved }

// Facts returns the member's contribution to its Hello.
func (s *Service) Facts() Facts { return *s.facts.Load() }

// Deliver passes a message from another member to this one. The link must have verified the sender. It does not block:
// the message is dropped if the event queue is full.
func (s *Service) Deliver(message *raftpb.Message) {
	select {
	case s.events <- Received(message):
	default:
	}
}

// Unreachable reports that messages to a member may be lost. It does not block.
func (s *Service) Unreachable(id uint64) {
	select {
	case s.events <- func(m *Member) error {
		m.raw.ReportUnreachable(id)
		m.raw.ReportSnapshot(id, raft.SnapshotFailure)
		return nil
	}:
	default:
	}
}

// AddMany adds transactions like [mempool.Pool.AddMany], whichever member leads. When it returns, those without an
// error are on the disks of a majority, and in this member's pool or chain. The errors are the pool's, [ErrBusy],
// [ErrHolds], [ErrNoLeader] and [ErrEnded]. After the last two the transactions may still be decided.
func (s *Service) AddMany(ctx context.Context, encoded [][]byte, source string) []mempool.Result {
	results, answer, err := s.send(ctx, encoded, source, false)
	if err == nil {
		err = answer.Refused
	}
	if err == nil {
		return results
	}
	results = make([]mempool.Result, len(encoded))
	for i, b := range encoded {
		tx, malformed := types.DecodeTx(b)
		if results[i].Err = err; malformed == nil {
			results[i].Tx = tx
		}
	}
	return results
}

// Serve takes transactions that another member forwarded, if this one leads.
func (s *Service) Serve(ctx context.Context, from string, encoded [][]byte) Answer {
	_, answer, err := s.send(ctx, encoded, from, true)
	if err != nil {
		return Answer{Refused: ErrNotLeader}
	}
	return answer
}

func (s *Service) send(ctx context.Context, encoded [][]byte, source string, handedOn bool) ([]mempool.Result, Answer,
	error) {
	type reply struct {
		results []mempool.Result
		answer  Answer
	}
	answers := make(chan reply, 1)
	event := Sent(encoded, source, handedOn, func(r []mempool.Result, a Answer) { answers <- reply{r, a} })
	if err := s.ask(ctx, event); err != nil {
		return nil, Answer{}, err
	}
	select {
	case t := <-answers:
		return t.results, t.answer, nil
	case <-ctx.Done():
		return nil, Answer{}, ctx.Err()
	case <-s.ended:
		return nil, Answer{}, ErrEnded
	}
}

func (s *Service) ask(ctx context.Context, e Event) error {
	select {
	case s.events <- e:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-s.ended:
		return ErrEnded
	}
}

// request submits a request, and waits for its outcome.
func (s *Service) request(ctx context.Context, event func(reply func(error)) Event) error {
	replies := make(chan error, 1)
	if err := s.ask(ctx, event(func(err error) { replies <- err })); err != nil {
		return err
	}
	select {
	case err := <-replies:
		return err
	case <-ctx.Done():
		return ctx.Err()
	case <-s.ended:
		return ErrEnded
	}
}

// Add adds a member: see [Add].
func (s *Service) Add(ctx context.Context, r Record) error {
	return s.request(ctx, func(reply func(error)) Event { return Add(r, reply) })
}

// Remove removes a member: see [Remove].
func (s *Service) Remove(ctx context.Context, id uint64) error {
	return s.request(ctx, func(reply func(error)) Event { return Remove(id, reply) })
}

// Transfer hands leadership over: see [Transfer].
func (s *Service) Transfer(ctx context.Context, to uint64) error {
	return s.request(ctx, func(reply func(error)) Event { return Transfer(to, reply) })
}

// ServeBlocks returns the released blocks of the given heights, as many as one frame holds.
func (s *Service) ServeBlocks(from, to types.Height) ([][]byte, error) {
	return BlocksOf(s.member.Ledger, from, to, blockBytes)
}

// ServePending returns a snapshot of the pool for another member.
func (s *Service) ServePending() (Pending, error) {
	return PendingOf(s.Status().Applied, s.member.Pool, s.member.Ledger)
}

// serviceEnv implements Env with the service.
type serviceEnv struct{ *Service }

func (serviceEnv) Now() time.Time                    { return time.Now() }
func (serviceEnv) Wall() time.Time                   { return time.Now() }
func (o serviceEnv) Unfit() map[uint64]string        { return o.link.Unfit() }
func (o serviceEnv) Send(messages []*raftpb.Message) { o.link.Send(messages) }

// Offsets knows no other clocks before Run.
func (o serviceEnv) Offsets() (map[uint64]time.Duration, time.Duration) {
	if o.link == nil {
		return nil, 0
	}
	return o.link.Offsets()
}

func (o serviceEnv) Context() context.Context { return o.ctx }

// Do runs work on a worker, or on a new goroutine for Anyone.
func (o serviceEnv) Do(w Worker, work func() Event) {
	if w == Anyone {
		o.beside.Go(func() { o.enqueue(work()) })
		return
	}
	o.workers[w] <- work
}

func (o serviceEnv) Forward(to uint64, encoded [][]byte, done func(Answer, error) Event) {
	call(o, callTime, func(ctx context.Context) (Answer, error) { return o.link.Forward(ctx, to, encoded) }, done)
}

func (o serviceEnv) Blocks(of uint64, from, to types.Height, done func([][]byte, error) Event) {
	call(o, blocksTime, func(ctx context.Context) ([][]byte, error) { return o.link.Blocks(ctx, of, from, to) }, done)
}

func (o serviceEnv) Pending(of uint64, done func(Pending, error) Event) {
	call(o, callTime, func(ctx context.Context) (Pending, error) { return o.link.Pending(ctx, of) }, done)
}

// call calls another member on a new goroutine.
func call[T any](o serviceEnv, limit time.Duration, ask func(context.Context) (T, error), done func(T, error) Event) {
	o.Do(Anyone, func() Event {
		ctx, cancel := context.WithTimeout(o.ctx, limit)
		defer cancel()
		return done(ask(ctx))
	})
}
