package admission

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// shortSlice is the slice of short work; longSlice is the slice of long work.
	shortSlice = 2 * time.Millisecond
	longSlice  = 5 * time.Millisecond
	// shortPerCore is the number of short turns per core: one that computes, and one that runs while the first waits
	// for the disk.
	shortPerCore = 2
	// maxLarge bounds the pieces of work that hold much memory, at most a whole block each. If there were more of them
	// than long turns, the rest would hold memory while they only wait.
	maxLarge = 2
	// A waiting turn checks whether its client has gone after firstLook, and then at intervals that double up to lastLook:
	// thousands that wait must not take the processor. A turn also checks when it is granted, so nothing is computed for
	// a client that has gone.
	firstLook, lastLook = 50 * time.Millisecond, 2 * time.Second
)

// Scheduler shares the processor among clients. It is safe for concurrent use.
type Scheduler struct {
	cores   int
	dropped atomic.Uint64

	mu          sync.Mutex // guards the fields below, and the queues
	reserved    int        // pieces of work in progress that take precedence
	short, long *queue
	large       *queue // for long work that holds much memory
	arrivals    *queue // for what clients send, before it is known what that is
}

// New returns a scheduler for a machine with the given number of cores.
func New(cores int) *Scheduler {
	s := &Scheduler{cores: max(1, cores)}
	s.short = s.newQueue(shortSlice, shortPerCore*s.cores)
	s.long = s.newQueue(longSlice, max(1, s.cores-1))
	s.long.metered = true
	s.large = s.newQueue(longSlice, min(maxLarge, s.long.limit))
	s.large.perClient = 1
	s.arrivals = s.newQueue(shortSlice, max(1, s.cores-1))
	return s
}

func (s *Scheduler) newQueue(slice time.Duration, limit int) *queue {
	return &queue{scheduler: s, slice: slice, limit: limit, flows: map[Client]*flow{}}
}

// Reserve keeps a core free of short work while blocks are made or imported: call it with true when that begins and
// with false when it ends. Running turns last to the end of their slice.
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

// Lane runs work of one kind. It implements jsonrpc.Turns. A nil *Lane has no bounds.
type Lane struct {
	scheduler *Scheduler
	class     *queue
	kind      *queue // nil if only the class bounds the work
}

// Short returns the lane for work that mostly takes less than a slice.
func (s *Scheduler) Short() *Lane { return &Lane{scheduler: s, class: s.short} }

// Long returns the lane for longer work.
func (s *Scheduler) Long() *Lane { return &Lane{scheduler: s, class: s.long} }

// Arrivals returns the lane for receiving what clients send.
func (s *Scheduler) Arrivals() *Lane { return &Lane{scheduler: s, class: s.arrivals} }

// Kind returns a lane like l for work that takes much memory. At most count pieces of it may be in progress, and
// perClient of one client; 0: no limit per client.
func (l *Lane) Kind(count, perClient int) *Lane {
	s := l.scheduler
	kind := s.newQueue(l.class.slice, max(1, count))
	kind.perClient = perClient
	return &Lane{scheduler: s, class: l.class, kind: kind}
}

// Enter waits for the turn of ctx, which must not have begun. It fails with the cause of ctx's end, or with [ErrGone].
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

// Yield calls [Yield].
func (l *Lane) Yield(ctx context.Context) error { return Yield(ctx) }

// Run calls f in a turn of ctx, which must not have begun. Its errors are those that Enter returns.
func (l *Lane) Run(ctx context.Context, f func()) error {
	if err := l.Enter(ctx); err != nil {
		return err
	}
	defer l.Leave(ctx)
	f()
	return nil
}

// TryRun calls f if a turn of the client of ctx can begin at once, with a context for use in a goroutine of its own. It
// reports whether it called f.
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

// wait waits for a place in q.
func (s *Scheduler) wait(ctx context.Context, t *Turn, q *queue, c *claim) error {
	s.mu.Lock()
	granted := q.take(c, t.Client)
	s.mu.Unlock()
	if granted {
		return nil
	}
	return s.stay(ctx, t, c)
}

// stay waits until a claim is granted. After an error the claim is neither granted nor waiting.
func (s *Scheduler) stay(ctx context.Context, t *Turn, c *claim) error {
	err := s.granted(ctx, t, c)
	if err == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !c.queue.leave(c) { // it was granted just now
		<-c.granted
		c.queue.give(c, 0)
	}
	return err
}

// granted waits until a claim is granted. It fails if ctx ends or the client goes first.
func (s *Scheduler) granted(ctx context.Context, t *Turn, c *claim) error {
	timer := time.NewTimer(firstLook)
	defer timer.Stop()
	for pause := firstLook; ; {
		select {
		case <-c.granted:
			if !t.gone() {
				return nil
			}
			c.granted <- struct{}{} // stay takes it to give the place back
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-timer.C:
			if !t.gone() {
				pause = min(2*pause, lastLook)
				timer.Reset(pause)
				continue
			}
		}
		s.dropped.Add(1)
		return ErrGone
	}
}

func (t *Turn) gone() bool { return t.Waiter != nil && t.Waiter.Gone() }

// giveBack releases the place of a claim, if it has one.
func (s *Scheduler) giveBack(c *claim, used time.Duration) {
	if c.queue == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	c.queue.give(c, used)
}

// again ends a slice of a turn and waits for the next one, as long work. After an error, of ctx or because the client
// has gone, the turn may have no place, and the work must end.
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

// goOn begins another slice of a turn, as long work.
func (s *Scheduler) goOn(ctx context.Context, t *Turn) error {
	err := s.wait(ctx, t, s.long, &t.class)
	if err == nil {
		t.begin()
	}
	return err
}

// Wait calls f, which waits for something other than a turn. A turn of ctx ends before f and begins again after it, as
// long work. The error is from f, or as [Yield] returns it.
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

// Stats holds a scheduler's numbers.
type Stats struct {
	Arrivals, Short, Long Load
	Dropped               uint64 // pieces of work whose client had gone, since the start
}

// Load holds the present turns of a class, and the time used since the start: processor time for long work, otherwise
// elapsed time.
type Load struct {
	Running, Waiting int
	Used             time.Duration
}

// Stats returns the present numbers.
func (s *Scheduler) Stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	return Stats{
		Arrivals: s.arrivals.load(),
		Short:    s.short.load(),
		Long:     s.long.load(),
		Dropped:  s.dropped.Load(),
	}
}

func (q *queue) load() Load { return Load{q.running, q.waiting, q.used} }

// Running returns the number of present turns of the lane's kind or, if it has none, of its class.
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
