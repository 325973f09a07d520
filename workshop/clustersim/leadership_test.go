package clustersim

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cairn-chain/cairn/internal/engine/cluster"
)

// terms is the highest term that a member knows.
func (w *simulation) terms() (highest uint64) {
	for _, m := range w.machines {
		if m.process != nil {
			highest = max(highest, m.process.member.Status().Term)
		}
	}
	return highest
}

// longestGap runs for a time and returns the longest time without a block.
func (w *simulation) longestGap(d time.Duration) (longest time.Duration) {
	last := w.now
	for end := w.now + d; w.now < end; {
		w.runUntil(w.now + 10*time.Millisecond)
		if w.book.last > last {
			longest, last = max(longest, w.book.last-last), w.book.last
		}
	}
	return max(longest, w.now-last)
}

// Whatever prevents a leader from working, another member leads within 2 s, makes blocks, and stays the leader. The
// first one does not lead again before it can work.
func TestLeaderThatCannotHandsOn(t *testing.T) {
	for name, test := range map[string]struct{ begin, end func(*machine) }{
		"what its machine lacks": {func(m *machine) { m.unable = "the disk is full" }, func(m *machine) { m.unable = "" }},
		"its signer":             {func(m *machine) { m.unsigned = true }, func(m *machine) { m.unsigned = false }},
		"its clock":              {func(m *machine) { m.offset = 10 * time.Minute }, func(m *machine) { m.offset = 0 }},
		"its clock, behind":      {func(m *machine) { m.offset = -10 * time.Minute }, func(m *machine) { m.offset = 0 }},
		"its key":                {func(m *machine) { m.astray = true; m.restart(m) }, func(m *machine) { m.astray = false; m.restart(m) }},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := ready(t)
				defer w.close()
				bad := w.leader().machine
				before := w.terms()
				test.begin(bad)
				if gap := w.longestGap(20 * time.Second); gap > 2*time.Second {
					t.Errorf("there was no block for %v, at most 2 s are allowed", gap)
				}
				if l := w.leader(); l == nil || l.machine == bad {
					t.Fatalf("%s leads still", bad.record.Name)
				}
				if terms := w.terms() - before; terms > 2 {
					t.Errorf("there were %d terms, one is needed", terms)
				}
				// A member whose signer hangs does not ask it again, and has no reason then.
				if reason := bad.process.member.Status().Unfit; reason == "" && name != "its signer" {
					t.Error("its status does not say why it does not lead")
				} else if reason != "" {
					var told error
					w.leader().step(cluster.Transfer(bad.record.ID, func(err error) { told = err }))
					w.runUntil(w.now + time.Second)
					if !errors.Is(told, cluster.ErrUnfit) {
						t.Errorf("leadership for a member that cannot make blocks: %v, want %v", told, cluster.ErrUnfit)
					}
				}
				test.end(bad)
				w.runUntil(w.now + 3*time.Second)
				var told error
				w.leader().step(cluster.Transfer(bad.record.ID, func(err error) { told = err }))
				w.runUntil(w.now + 3*time.Second)
				if l := w.leader(); told != nil || l == nil || l.machine != bad {
					t.Errorf("once it can, leadership does not go to it: error %v", told)
				}
				if len(w.report.Violations) > 0 {
					t.Errorf("%v", w.report.Violations)
				}
			})
		})
	}
}

// While no member can make blocks, one of them leads and keeps the leadership. It makes blocks as soon as it can.
func TestNobodyCan(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := ready(t)
		defer w.close()
		for _, m := range w.machines {
			m.unable = "the disk is full"
		}
		w.runUntil(w.now + time.Second)
		before := w.terms()
		w.runUntil(w.now + 30*time.Second)
		if terms := w.terms() - before; terms > 0 {
			t.Errorf("leadership was handed on %d times among members that cannot make blocks", terms)
		}
		w.restart(w.leader().machine)
		w.runUntil(w.now + 5*time.Second)
		if w.leader() == nil {
			t.Error("no member leads, as none can make blocks")
		}
		for _, m := range w.machines {
			m.unable = ""
		}
		last := w.book.last
		w.runUntil(w.now + time.Second)
		if w.book.last == last {
			t.Error("no block is made though all can")
		}
	})
}

// If one of three members cannot make blocks, the other two still survive the loss of the leader.
func TestWhoCannotStandsBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for range 5 {
			w := ready(t)
			leader := w.leader().machine
			var bad *machine
			for _, m := range w.machines {
				if m != leader {
					bad = m
				}
			}
			bad.unable = "the disk is full"
			w.runUntil(w.now + time.Second)
			leader.gone = true
			leader.process.die(false)
			leader.process.bury()
			if gap := w.longestGap(10 * time.Second); gap > 3*time.Second {
				t.Errorf("there was no block for %v after the leader's end, at most 3 s are allowed", gap)
			}
			if l := w.leader(); l == nil || l.machine == bad {
				t.Error("the member leads that cannot make blocks")
			}
			w.close()
		}
	})
}

// Members report how the present leader came to lead: the previous leader, and whether that one handed leadership over
// or fell silent.
func TestHowALeaderCame(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := ready(t)
		defer w.close()
		first := w.leader().machine
		w.transfer()
		w.runUntil(w.now + 3*time.Second)
		second := w.leader().machine
		for _, m := range w.machines {
			if c := m.process.member.Status().Change; c.From != first.record.ID || !c.Handed {
				t.Errorf("%s says %+v, and %x handed leadership on", m.record.Name, c, first.record.ID)
			}
		}
		second.gone = true
		second.process.die(false)
		second.process.bury()
		w.runUntil(w.now + 3*time.Second)
		for _, m := range w.machines {
			if m == second {
				continue
			}
			c := m.process.member.Status().Change
			if c.From != second.record.ID || c.Handed || c.Silent < 400*time.Millisecond || c.Silent > 3*time.Second {
				t.Errorf("%s says %+v, and %x ended", m.record.Name, c, second.record.ID)
			}
		}
	})
}
