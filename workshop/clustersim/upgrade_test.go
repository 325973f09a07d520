package clustersim

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cairn-chain/cairn/internal/protocol/params"
	"github.com/cairn-chain/cairn/types"
)

// TestUpgradeSeeds runs seeds in which a version of the protocol comes into force amid the faults. Members that do not
// know it halt, and continue with a newer program, some after another start with the older one.
func TestUpgradeSeeds(t *testing.T) {
	if testing.Short() {
		t.Skip("slow under the race detector, and has only one goroutine")
	}
	halts := 0
	for i := range *seeds {
		seed := *firstSeed + uint64(i)
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				faults := time.Duration(*seconds) * time.Second
				r, err := Run(Setup{Seed: seed, Members: 3, Faults: faults, Upgrade: 3*time.Second + faults/2})
				if err != nil {
					t.Fatal(err)
				}
				if *seeds == 1 {
					for _, line := range r.Log {
						t.Log(line)
					}
				}
				for _, v := range r.Violations {
					t.Errorf("%s: %s", v.Invariant, v.Text)
				}
				if r.Upgraded < 5 || r.Heights < r.Upgraded+20 {
					t.Errorf("block %d is the first of the new version, %d the last", r.Upgraded, r.Heights)
				}
				halts += r.Halts
			})
		})
	}
	if halts == 0 {
		t.Error("no member has halted")
	}
}

// upgrading is a simulation of three members under load, with an upgrade announced for 6 s after the start. Only some
// members know the new version.
func upgrading(t *testing.T, know ...bool) *simulation {
	t.Helper()
	w := newSimulation(Setup{Seed: 1, Members: 3, Upgrade: 6 * time.Second})
	if err := w.begin(); err != nil {
		w.close()
		t.Fatal(err)
	}
	w.sending = true
	for _, c := range w.clients {
		w.after(w.upTo(time.Second), c.act)
	}
	w.runUntil(2 * time.Second)
	for i, m := range w.machines {
		m.newer = know[i]
		w.restart(m)
		w.runUntil(w.now + 500*time.Millisecond)
	}
	w.announce(w.upgrade())
	w.runUntil(5900 * time.Millisecond)
	if w.report.Halts > 0 || w.leader() == nil || w.now-w.book.last > time.Second {
		t.Fatalf("before the time has come %d members have halted, and the last block is of %v", w.report.Halts, w.book.last)
	}
	return w
}

// settle restarts members that are down, ends the load and checks everything.
func (w *simulation) settle(t *testing.T) *Report {
	t.Helper()
	w.heal()
	w.runUntil(w.now + healing/2)
	w.sending = false
	w.runUntil(w.now + healing/2)
	for range 100 {
		if w.settled() {
			break
		}
		w.runUntil(w.now + 7*time.Millisecond)
	}
	w.end()
	r := w.finish()
	for _, v := range r.Violations {
		t.Errorf("%s: %s", v.Invariant, v.Text)
	}
	return r
}

// A cluster of which most members know a version continues with it at its time. The member that does not know it, which
// may lead until then, ends before the first block of that version, and loses nothing.
func TestMostKnowAVersion(t *testing.T) {
	for _, leads := range []bool{false, true} {
		t.Run(fmt.Sprint("the one that does not leads: ", leads), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := upgrading(t, true, false, true)
				defer w.close()
				old := w.machines[1]
				for w.leader() == nil || leads != (w.leader().machine == old) {
					if w.now > 5950*time.Millisecond {
						t.Skip("leadership was not handed on in time")
					}
					w.transfer()
					w.runUntil(w.now + 10*time.Millisecond)
				}
				if gap := w.longestGap(10 * time.Second); gap > 2*time.Second {
					t.Errorf("there was no block for %v, at most 2 s are allowed", gap)
				}
				if w.report.Halts == 0 {
					t.Error("the member that does not know the version goes on")
				}
				if r := w.settle(t); r.Upgraded == 0 {
					t.Error("there is no block of the new version")
				}
			})
		})
	}
}

// A cluster of which most members do not know a version makes blocks until its time, and then stops. With a newer
// program it continues, with all acknowledged transactions.
func TestFewKnowAVersion(t *testing.T) {
	for _, know := range [][]bool{{false, false, false}, {true, false, false}} {
		t.Run(fmt.Sprint(know), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := upgrading(t, know...)
				defer w.close()
				w.stubborn = true
				w.runUntil(w.now + 20*time.Second)
				from := w.setup.Upgrade
				if late := w.book.last - from; late > time.Second {
					t.Errorf("a block was made %v after the time", late)
				}
				for _, m := range w.machines {
					if m.newer || m.process == nil {
						continue
					}
					if s := m.process.status(); s.Leads && s.Outdated != params.Version+1 {
						t.Errorf("%s leads, and says of the version %d", m.record.Name, s.Outdated)
					}
					if h := m.process.ledger.Tip().Header.Header; h.Version != params.Version {
						t.Errorf("%s has block %d of version %d", m.record.Name, h.Height, h.Version)
					}
				}
				if r := w.settle(t); r.Upgraded == 0 {
					t.Error("there is no block of the new version")
				}
			})
		})
	}
}

// An upgrade that is cancelled in time halts no member.
func TestCancelledUpgrade(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newSimulation(Setup{Seed: 1, Members: 3, Upgrade: 6 * time.Second})
		defer w.close()
		if err := w.begin(); err != nil {
			t.Fatal(err)
		}
		w.sending = true
		for _, c := range w.clients {
			w.after(w.upTo(time.Second), c.act)
		}
		w.runUntil(2 * time.Second)
		w.announce(w.upgrade())
		w.runUntil(4 * time.Second)
		if got := w.leader().ledger.Tip().Parameters.Upgrade; got == nil || *got != *w.upgrade() {
			t.Errorf("announced is %v", got)
		}
		w.announce(nil)
		w.runUntil(12 * time.Second)
		if r := w.settle(t); r.Halts > 0 || r.Upgraded > types.Height(0) {
			t.Errorf("%d halts, and block %d of the new version", r.Halts, r.Upgraded)
		}
	})
}
