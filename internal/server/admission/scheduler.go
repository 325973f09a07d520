package admission

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// shortSlice is how long a turn may last as short work, longSlice how long before long work of others has its turn.
	shortSlice = 2 * time.Millisecond
	longSlice  = 5 * time.Millisecond
	// shortPerCore is how many short pieces of work compute at a time for each core: one, and one while that one waits
	// for the disk.
	shortPerCore = 2
	// largePieces is how many pieces of work that hold much memory have begun at a time: a whole block each at most.
	largePieces = 2
	// look is how often a turn that waits asks whether its client is still there.
	look = 50 * time.Millisecond
)

// Scheduler shares the processor out. It is safe for concurrent use.
type Scheduler struct {
	cores   int
	dropped atomic.Uint64

	mu          sync.Mutex // guards what follows, and the queues
	reserved    int        // pieces of work that come before all of it
	short, long *queue
	large       *queue // of long work that holds much memory
}

// New returns a scheduler for a machine with so many cores.
func New(cores int) *Scheduler {
	s := &Scheduler{cores: max(1, cores)}
	s.short = s.newQueue(shortSlice, shortPerCore*s.cores)
	s.long = s.newQueue(longSlice, max(1, s.cores-1))
	s.long.metered = true
	s.large = s.newQueue(longSlice, largePieces)
	s.large.perClient = 1
	return s
}

func (s *Scheduler) newQueue(slice time.Duration, limit int) *queue {
	return &queue{scheduler: s, slice: slice, limit: limit, flows: map[Client]*flow{}}
}

// Reserve keeps a core from free work where that begins, until that ends: for making and importing blocks. Turns that
// run go on to the end of their slice.
func (s *Scheduler) Reserve(begins bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if begins {
		s.reserved++
	} else {
		s.reserved--
	}
	s.short.limit = shortPerCore * s.cores
	if s.reserved > 0 {
		s.short.limit = max(1, s.cores-1)
	}
	s.short.next()
}

// Lane is where work of one kind runs: it implements jsonrpc.Turns. A nil *Lane bounds nothing.
type Lane struct {
	scheduler *Scheduler
	class     *queue
	kind      *queue // nil where only the class bounds it
}

// Short is the lane of work that mostly takes less than a slice.
func (s *Scheduler) Short() *Lane { return &Lane{scheduler: s, class: s.short} }

// Long is the lane of work that takes more.
func (s *Scheduler) Long() *Lane { return &Lane{scheduler: s, class: s.long} }

// Kind is the lane l for work that takes so much memory that only count pieces of it may have begun, perClient of them
// for one client; 0: all.
func (l *Lane) Kind(count, perClient int) *Lane {
	s := l.scheduler
	kind := s.newQueue(l.class.slice, max(1, count))
	kind.perClient = perClient
	return &Lane{scheduler: s, class: l.class, kind: kind}
}

// Enter waits until it is the turn of ctx, which has none yet. It fails with the cause why ctx ended, or with [ErrGone].
// Work of a context without a turn is the node's own, and does not wait.
func (l *Lane) Enter(ctx context.Context) error {
	t := turnOf(ctx)
	if l == nil || t == nil {
		return nil
	}
	if l.kind != nil {
		if err := l.scheduler.wait(ctx, t, l.kind, &t.kind); err != nil {
			return err
		}
	}
	if err := l.scheduler.wait(ctx, t, l.class, &t.class); err != nil {
		l.scheduler.giveBack(&t.kind, 0)
		return err
	}
	t.begin()
	return nil
}

// Leave ends the turn of ctx, if it has one.
func (l *Lane) Leave(ctx context.Context) {
	if t := turnOf(ctx); l != nil && t != nil {
		l.leave(t)
	}
}

func (l *Lane) leave(t *Turn) {
	if t.class.queue != nil {
		l.scheduler.giveBack(&t.class, t.end())
	}
	l.scheduler.giveBack(&t.kind, t.used)
	t.used = 0
}

// Yield is [Yield].
func (l *Lane) Yield(ctx context.Context) error { return Yield(ctx) }

// Run calls f in a turn of ctx, which has none yet. The error is that of Enter.
func (l *Lane) Run(ctx context.Context, f func()) error {
	if err := l.Enter(ctx); err != nil {
		return err
	}
	defer l.Leave(ctx)
	f()
	return nil
}

// TryRun calls f, with a context for a goroutine of its own, if a turn of the client of ctx can begin at once. It
// reports whether one could.
func (l *Lane) TryRun(ctx context.Context, f func(context.Context)) bool {
	t := turnOf(ctx)
	if l == nil || t == nil {
		f(ctx)
		return true
	}
	helper := &with{ctx, Turn{Client: t.Client, Waiter: t.Waiter}}
	if !l.scheduler.try(&helper.turn, l) {
		return false
	}
	helper.turn.begin()
	defer l.leave(&helper.turn)
	f(helper)
	return true
}

// try enters a lane without waiting, and reports whether it could.
func (s *Scheduler) try(t *Turn, l *Lane) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if l.kind != nil && !l.kind.try(&t.kind, t.Client) {
		return false
	}
	if l.class.try(&t.class, t.Client) {
		return true
	}
	if l.kind != nil {
		l.kind.give(&t.kind, 0)
	}
	return false
}

// wait waits for a place of q.
func (s *Scheduler) wait(ctx context.Context, t *Turn, q *queue, c *claim) error {
	s.mu.Lock()
	granted := q.take(c, t.Client)
	s.mu.Unlock()
	if granted {
		return nil
	}
	return s.stay(ctx, t, c)
}

// stay waits until a claim has its place. On an error it has none, and waits for none.
func (s *Scheduler) stay(ctx context.Context, t *Turn, c *claim) error {
	err := s.granted(ctx, t, c)
	if err == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !c.queue.leave(c) { // it got the place just now
		<-c.granted
		c.queue.give(c, 0)
	}
	return err
}

// granted waits until a claim is granted. It fails when ctx ends or the client has gone before.
func (s *Scheduler) granted(ctx context.Context, t *Turn, c *claim) error {
	ticker := time.NewTicker(look)
	defer ticker.Stop()
	for {
		select {
		case <-c.granted:
			if !t.gone() {
				return nil
			}
			c.granted <- struct{}{} // for whoever gives the place back
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-ticker.C:
			if !t.gone() {
				continue
			}
		}
		s.dropped.Add(1)
		return ErrGone
	}
}

func (t *Turn) gone() bool { return t.Waiter != nil && t.Waiter.Gone() }

// giveBack gives the place of a claim back, if it has one.
func (s *Scheduler) giveBack(c *claim, used time.Duration) {
	if c.queue == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	c.queue.give(c, used)
}

// again ends a slice of a turn and begins the next, of long work, when it is its turn. After an error of ctx or of its
// client the work ends: it may have no place any more.
func (s *Scheduler) again(ctx context.Context, t *Turn) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if t.gone() {
		s.dropped.Add(1)
		return ErrGone
	}
	used := t.end()
	if t.class.queue != s.long {
		s.giveBack(&t.class, used)
		return s.goOn(ctx, t)
	}
	s.mu.Lock()
	s.long.again(&t.class, used)
	s.mu.Unlock()
	err := s.stay(ctx, t, &t.class)
	if err == nil {
		t.begin()
	}
	return err
}

// goOn begins another slice of a turn, of long work.
func (s *Scheduler) goOn(ctx context.Context, t *Turn) error {
	err := s.wait(ctx, t, s.long, &t.class)
	if err == nil {
		t.begin()
	}
	return err
}

// Wait calls f, which waits for something else than a turn. If ctx has a turn it ends before, and begins again, as long
// work, after f. The error is that of f, or that of [Yield].
func Wait(ctx context.Context, f func() error) error {
	t := turnOf(ctx)
	if t == nil || t.class.queue == nil {
		return f()
	}
	s := t.class.queue.scheduler
	s.giveBack(&t.class, t.end())
	if err := f(); err != nil {
		return err
	}
	return s.goOn(ctx, t)
}

// Stats are a scheduler's numbers.
type Stats struct {
	Short, Long Load
	Dropped     uint64 // pieces of work whose client had gone, ever
}

// Load is what a class has at present, and what it has used, ever: of short work the time that passed, of long work
// processor time.
type Load struct {
	Running, Waiting int
	Used             time.Duration
}

// Stats returns the present numbers.
func (s *Scheduler) Stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	return Stats{
		Short:   s.short.load(),
		Long:    s.long.load(),
		Dropped: s.dropped.Load(),
	}
}

func (q *queue) load() Load { return Load{q.running, q.waiting, q.used} }

// Running is how many turns the lane's kind has at present, or its class where it has none.
func (l *Lane) Running() int {
	if l == nil {
		return 0
	}
	l.scheduler.mu.Lock()
	defer l.scheduler.mu.Unlock()
	if l.kind != nil {
		return l.kind.running
	}
	return l.class.running
}
