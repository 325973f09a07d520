package admission_test

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cairn-chain/cairn/internal/server/admission"
)

// work is a context with a turn of a client.
type work struct {
	context.Context
	turn admission.Turn
}

func (w *work) Value(key any) any {
	if key == (admission.TurnKey{}) {
		return &w.turn
	}
	return w.Context.Value(key)
}

func workOf(ctx context.Context, client int) *work {
	place := netip.AddrFrom4([4]byte{198, 51, 100, byte(client)})
	return &work{ctx, admission.Turn{Client: admission.Client{Place: place}}}
}

// held returns the number of turns that run or wait.
func held(s admission.Stats) int {
	return s.Short.Running + s.Short.Waiting + s.Long.Running + s.Long.Waiting
}

// pass lets the bubble's time pass, as work does.
func pass(d time.Duration) { <-time.After(d) }

// order records the order of events.
type order struct {
	mu     sync.Mutex
	events []string
}

func (o *order) note(format string, args ...any) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.events = append(o.events, fmt.Sprintf(format, args...))
}

// TestTurnsGoRoundByClient lets one client request a hundred turns before another requests one.
func TestTurnsGoRoundByClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lane := admission.New(1).Short().Kind(1, 0) // one at a time
		var all sync.WaitGroup
		var o order
		ask := func(client, turns int) {
			for range turns {
				all.Go(func() {
					if err := lane.Run(workOf(t.Context(), client), func() { o.note("%d", client); pass(time.Millisecond) }); err != nil {
						t.Errorf("client %d: got %v, want no error", client, err)
					}
				})
				synctest.Wait()
			}
		}
		ask(1, 100)
		ask(2, 1)
		ask(3, 3)
		all.Wait()
		got := strings.Join(o.events, "")
		if want := "1231313"; got[:7] != want || len(got) != 104 {
			t.Errorf("turns went %s… (%d), want %s… (104)", got[:7], len(got), want)
		}
	})
}

// TestNewClientsDoNotStarveOthers: for each turn that ends a new client comes, while another waits for its second turn.
func TestNewClientsDoNotStarveOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lane := admission.New(1).Short().Kind(1, 0)
		const turn, atOnce, news = 10 * time.Millisecond, 4, 100
		var all sync.WaitGroup
		var o order
		ask := func(client int, name string) {
			all.Go(func() {
				if err := lane.Run(workOf(t.Context(), client), func() { o.note("%s", name); pass(turn) }); err != nil {
					t.Errorf("client %d: got %v, want no error", client, err)
				}
			})
			synctest.Wait()
		}
		for range 2 {
			ask(0, "first")
		}
		for client := range news {
			ask(1+client, "new")
			if client >= atOnce {
				pass(turn)
			}
		}
		all.Wait()
		second := 1 + slices.Index(o.events[1:], "first")
		if second > 4*atOnce {
			t.Errorf("the second turn is number %d of %d, want one of the first %d", second, len(o.events), 4*atOnce)
		}
	})
}

// TestDelayedTurnsAreNotCharged: a client whose turn of short work took a second, because others had the processor,
// does not have to wait that long afterwards.
func TestDelayedTurnsAreNotCharged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lane := admission.New(1).Short().Kind(1, 0)
		const turn = time.Millisecond
		ctx, end := context.WithCancel(t.Context())
		var all sync.WaitGroup
		for client := range 10 {
			for range 2 {
				all.Go(func() {
					for ctx.Err() == nil {
						_ = lane.Run(workOf(ctx, 1+client), func() { pass(turn) })
					}
				})
			}
		}
		if err := lane.Run(workOf(ctx, 0), func() { pass(time.Second) }); err != nil {
			t.Fatal(err)
		}
		asked := time.Now()
		if err := lane.Run(workOf(ctx, 0), func() {}); err != nil {
			t.Fatal(err)
		}
		if waited, most := time.Since(asked), 4*10*turn; waited > most {
			t.Errorf("the next turn came after %s, want at most %s", waited, most)
		}
		end()
		all.Wait()
	})
}

// TestClientsPayForWhatTheyUse compares the processor time of clients whose turns differ by a factor of ten.
func TestClientsPayForWhatTheyUse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lane := admission.New(1).Short().Kind(1, 0)
		ctx, end := context.WithCancel(t.Context())
		var all sync.WaitGroup
		var used [2]atomic.Int64
		for client, turn := range []time.Duration{200 * time.Microsecond, 2 * time.Millisecond} {
			for range 3 {
				all.Go(func() {
					for ctx.Err() == nil {
						_ = lane.Run(workOf(ctx, client), func() { pass(turn); used[client].Add(int64(turn)) })
					}
				})
			}
		}
		pass(10 * time.Second)
		end()
		all.Wait()
		light, heavy := time.Duration(used[0].Load()), time.Duration(used[1].Load())
		if difference := (light - heavy).Abs(); difference > 4*time.Millisecond {
			t.Errorf("clients used %s and %s, want as much up to two turns", light, heavy)
		}
	})
}

// TestShortWorkDoesNotWaitForLongWork fills the places of long work, and those of short work with work that turns out
// to be long.
func TestShortWorkDoesNotWaitForLongWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := admission.New(2)
		ctx, end := context.WithCancel(t.Context())
		var all sync.WaitGroup
		for client := range 64 {
			lane, slice := s.Short(), 100*time.Microsecond
			if client%2 == 0 {
				lane, slice = s.Long(), 20*time.Millisecond
			}
			all.Go(func() {
				w := workOf(ctx, client)
				_ = lane.Run(w, func() {
					for err := error(nil); err == nil; err = admission.Yield(w) {
						pass(slice)
					}
				})
			})
		}
		pass(time.Second)
		for range 10 {
			began := time.Now()
			if err := s.Short().Run(workOf(ctx, 200), func() {}); err != nil {
				t.Errorf("short work: got %v, want no error", err)
			}
			if waited := time.Since(began); waited > 0 {
				t.Errorf("short work waited %s for long work, want none", waited)
			}
		}
		if got := s.Stats(); got.Long.Running != 1 || got.Short.Running != 0 {
			t.Errorf("%+v run, want 1 long piece of work at a time on two cores", got)
		}
		end()
		all.Wait()
		if got := s.Stats(); held(got) != 0 {
			t.Errorf("%+v is held when all is done, want nothing", got)
		}
	})
}

// TestRequestsOfAClientEndInTheirOrder lets a client request more long work than can run at a time.
func TestRequestsOfAClientEndInTheirOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := admission.New(1)
		var o order
		var all sync.WaitGroup
		other, end := context.WithCancel(t.Context())
		all.Go(func() { // the one that makes way for each slice
			for other.Err() == nil {
				_ = s.Long().Run(workOf(other, 2), func() { pass(time.Millisecond) })
			}
		})
		synctest.Wait()
		var asked sync.WaitGroup
		for request := range 3 {
			asked.Go(func() {
				w := workOf(t.Context(), 1)
				_ = s.Long().Run(w, func() {
					for range 4 {
						pass(10 * time.Millisecond)
						if err := admission.Yield(w); err != nil {
							t.Errorf("got %v, want no error", err)
						}
					}
					o.note("%d", request)
				})
			})
			synctest.Wait()
		}
		asked.Wait()
		end()
		all.Wait()
		if want := []string{"0", "1", "2"}; !slices.Equal(o.events, want) {
			t.Errorf("requests ended in the order %v, want %v", o.events, want)
		}
	})
}

// TestLargeWork lets many clients begin work that holds much memory. Only a few hold it at a time, and they end one
// after the other.
func TestLargeWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const clients, pieces, atATime = 8, 3, 2
		s := admission.New(4)
		var mu sync.Mutex
		have, most := map[int]int{}, 0
		hold := func(client, pieces int) {
			mu.Lock()
			defer mu.Unlock()
			if have[client] += pieces; have[client] > 1 {
				t.Errorf("client %d has %d pieces, want 1", client, have[client])
			}
			if have[client] == 0 {
				delete(have, client)
			}
			most = max(most, len(have))
		}
		var all sync.WaitGroup
		for client := range clients {
			for range pieces {
				all.Go(func() {
					w := workOf(t.Context(), client)
					err := s.Short().Run(w, func() {
						for range 2 { // the second time, it gets its place
							if err := admission.Large(w); err != nil {
								t.Errorf("got %v, want no error", err)
							}
						}
						hold(client, 1)
						for range 100 {
							pass(time.Millisecond)
							if err := admission.Yield(w); err != nil {
								t.Errorf("got %v, want no error", err)
							}
						}
						hold(client, -1)
					})
					if err != nil {
						t.Errorf("got %v, want no error", err)
					}
				})
			}
		}
		all.Wait()
		if most != atATime {
			t.Errorf("got %d large pieces at a time, want %d", most, atATime)
		}
		if got := held(s.Stats()); got != 0 {
			t.Errorf("got %d turns at the end, want 0", got)
		}
	})
}

// TestHeavyWorkMakesWay begins as short work and then declares itself long.
func TestHeavyWorkMakesWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := admission.New(1)
		var o order
		var all sync.WaitGroup
		all.Go(func() {
			_ = s.Long().Run(workOf(t.Context(), 1), func() { pass(time.Second); o.note("long") })
		})
		synctest.Wait()
		all.Go(func() {
			w := workOf(t.Context(), 2)
			err := s.Short().Run(w, func() {
				o.note("begun")
				if err := admission.Heavy(w); err != nil {
					t.Errorf("got %v, want no error", err)
				}
				o.note("heavy")
			})
			if err != nil {
				t.Errorf("got %v, want no error", err)
			}
		})
		all.Wait()
		if want := []string{"begun", "long", "heavy"}; !slices.Equal(o.events, want) {
			t.Errorf("got %v, want %v", o.events, want)
		}
	})
}

// TestWorkOfAClientThatHasGone: waiting work is dropped at once, and running work at its next check.
func TestWorkOfAClientThatHasGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := admission.New(1)
		var gone atomic.Bool
		client := func(n int) *work {
			w := workOf(t.Context(), n)
			w.turn.Waiter = waiter{gone: gone.Load}
			return w
		}
		var all sync.WaitGroup
		var made atomic.Int64
		all.Go(func() {
			w := client(1)
			_ = s.Long().Run(w, func() {
				for {
					pass(time.Millisecond)
					if err := admission.Yield(w); err != nil {
						if !errors.Is(err, admission.ErrGone) {
							t.Errorf("running work: got %v, want ErrGone", err)
						}
						return
					}
				}
			})
		})
		synctest.Wait()
		for range 64 {
			all.Go(func() {
				if err := s.Long().Run(client(2), func() { made.Add(1) }); !errors.Is(err, admission.ErrGone) {
					t.Errorf("waiting work: got %v, want ErrGone", err)
				}
			})
		}
		synctest.Wait()
		gone.Store(true)
		all.Wait()
		if made.Load() != 0 {
			t.Errorf("%d pieces of work were done for nobody, want none", made.Load())
		}
		if got := s.Stats(); got.Dropped != 65 || held(got) != 0 {
			t.Errorf("got %+v, want 65 dropped and nothing held", got)
		}
	})
}

// TestWaitingLooksSeldom: a turn that waits long checks at growing intervals whether its client has gone.
func TestWaitingLooksSeldom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := admission.New(1)
		var all sync.WaitGroup
		all.Go(func() { _ = s.Long().Run(workOf(t.Context(), 1), func() { pass(time.Minute) }) })
		synctest.Wait()
		var looked atomic.Int64
		for range 100 {
			w := workOf(t.Context(), 2)
			w.turn.Waiter = waiter{gone: func() bool { looked.Add(1); return false }}
			all.Go(func() { _ = s.Long().Run(w, func() {}) })
		}
		all.Wait()
		if got := looked.Load(); got < 100*10 || got > 100*40 {
			t.Errorf("100 turns looked %d times in a minute, want 10 to 40 each", got)
		}
	})
}

// TestReserve keeps one core free while blocks are made.
func TestReserve(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := admission.New(2)
		ctx, end := context.WithCancel(t.Context())
		var all sync.WaitGroup
		var running, most atomic.Int64
		for client := range 20 {
			all.Go(func() {
				for ctx.Err() == nil {
					_ = s.Short().Run(workOf(ctx, client), func() {
						most.Store(max(most.Load(), running.Add(1)))
						pass(time.Millisecond)
						running.Add(-1)
					})
				}
			})
		}
		for _, step := range []struct {
			reserved int
			want     int64
		}{{0, 4}, {1, 1}, {2, 1}, {0, 4}} {
			for range step.reserved {
				s.Reserve(true)
			}
			pass(10 * time.Millisecond) // running work continues to its end
			most.Store(0)
			pass(100 * time.Millisecond)
			if got := most.Load(); got != step.want {
				t.Errorf("%d reserved: %d pieces of work ran at a time, want %d", step.reserved, got, step.want)
			}
			for range step.reserved {
				s.Reserve(false)
			}
		}
		end()
		all.Wait()
	})
}

// TestKindsAreBounded checks the limits on work of one kind, in total and per client.
func TestKindsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := admission.New(8)
		lane := s.Long().Kind(3, 2)
		var all sync.WaitGroup
		begun := map[int]int{}
		var mu sync.Mutex
		for _, client := range []int{1, 1, 1, 1, 2, 2} {
			all.Go(func() {
				_ = lane.Run(workOf(t.Context(), client), func() {
					mu.Lock()
					begun[client]++
					mu.Unlock()
					pass(time.Second)
				})
			})
			synctest.Wait()
		}
		if begun[1] != 2 || begun[2] != 1 || lane.Running() != 3 {
			t.Errorf("%v have begun, want 2 of client 1 and 1 of client 2", begun)
		}
		if lane.TryRun(workOf(t.Context(), 3), func(context.Context) { t.Error("it was done beyond the bound") }) {
			t.Error("a turn beyond the bound was given")
		}
		short, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		if err := lane.Enter(workOf(short, 3)); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v, want that its time is up", err)
		}
		all.Wait()
		helped := false
		ok := lane.TryRun(workOf(t.Context(), 3), func(ctx context.Context) { helped = admission.Yield(ctx) == nil })
		if !ok || !helped || lane.Running() != 0 {
			t.Errorf("got %v, %v and %d running, want a turn and its end", ok, helped, lane.Running())
		}
	})
}

// TestWaitHoldsNoPlace waits for something during a turn.
func TestWaitHoldsNoPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := admission.New(1)
		w := workOf(t.Context(), 1)
		err := s.Long().Run(w, func() {
			err := admission.Wait(w, func() error {
				if got := s.Stats(); held(got) != 0 {
					t.Errorf("%+v is held while something else is waited for, want nothing", got)
				}
				return s.Long().Run(workOf(t.Context(), 2), func() {})
			})
			if got := s.Stats(); err != nil || got.Long.Running != 1 {
				t.Errorf("got %v and %+v, want a turn again", err, got)
			}
			failed := errors.New("failed")
			if err := admission.Wait(w, func() error { return failed }); !errors.Is(err, failed) {
				t.Errorf("got %v, want %v", err, failed)
			}
		})
		if got := s.Stats(); err != nil || held(got) != 0 {
			t.Errorf("got %v and %+v, want nothing held", err, got)
		}
	})
}

// TestLongWorkIsCharged charges the processor time of long work, but not the time that passes while short work waits
// for the processor.
func TestLongWorkIsCharged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := admission.New(1)
		w := workOf(t.Context(), 1)
		var charged []time.Duration
		w.turn.Waiter = waiter{used: func(used time.Duration) { charged = append(charged, used) }}
		_ = s.Short().Run(w, func() {
			pass(3 * time.Millisecond)
			if err := admission.Yield(w); err != nil {
				t.Errorf("got %v, want no error", err)
			}
		})
		if len(charged) != 1 || charged[0] <= 0 || charged[0] > time.Second {
			t.Errorf("charged %v, want what long work took of the processor alone", charged)
		}
	})
}

// BenchmarkShort measures the cost of a turn.
func BenchmarkShort(b *testing.B) {
	lane := admission.New(2).Short()
	w := workOf(b.Context(), 1)
	for b.Loop() {
		if err := lane.Enter(w); err != nil {
			b.Fatal(err)
		}
		lane.Leave(w)
	}
}

func BenchmarkLong(b *testing.B) {
	lane := admission.New(2).Long()
	w := workOf(b.Context(), 1)
	for b.Loop() {
		if err := lane.Enter(w); err != nil {
			b.Fatal(err)
		}
		lane.Leave(w)
	}
}

func BenchmarkYield(b *testing.B) {
	lane := admission.New(2).Short()
	w := workOf(b.Context(), 1)
	if err := lane.Enter(w); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if err := lane.Yield(w); err != nil {
			b.Fatal(err)
		}
	}
}

// waiter is a client that waits for a turn in a test.
type waiter struct {
	gone func() bool
	used func(time.Duration)
}

func (w waiter) Gone() bool { return w.gone != nil && w.gone() }

func (w waiter) Used(used time.Duration) {
	if w.used != nil {
		w.used(used)
	}
}
