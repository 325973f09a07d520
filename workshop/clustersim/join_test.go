package clustersim

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cairn-chain/cairn/internal/engine/cluster"
	"github.com/cairn-chain/cairn/internal/engine/mempool"
)

// An added member installs the first snapshot that it gets, although a snapshot from before the addition would not name
// it.
func TestAddedMemberFollowsItsFirstSnapshot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newSimulation(Setup{Seed: 1, Members: 3})
		defer w.close()
		if err := w.begin(); err != nil {
			t.Fatal(err)
		}
		w.sending = true
		for _, c := range w.clients {
			w.after(w.upTo(time.Second), c.act)
		}
		w.runUntil(20 * time.Second) // the log is cut by then
		for range 5 {                // at several points of making a block
			w.add()
			added := w.machines[len(w.machines)-1]
			w.runUntil(w.now + 3*time.Second + 70*time.Millisecond)
			if s := added.process.member.Status(); s.Applied+10 < w.leader().member.Status().Applied {
				t.Errorf("%s has applied %d of %d entries", added.record.Name, s.Applied, w.leader().member.Status().Applied)
			}
			w.leader().step(cluster.Remove(added.record.ID, func(err error) {
				if err != nil {
					t.Error(err)
				}
			}))
			w.runUntil(w.now + time.Second)
			added.gone = true
			if added.process != nil {
				added.process.die(true)
				added.process.bury()
			}
		}
		for _, v := range w.report.Violations {
			t.Error(v.Invariant, v.Text)
		}
		if w.report.Caught != 5 {
			t.Errorf("%d snapshots were followed by 5 members", w.report.Caught)
		}
	})
}

// Membership changes that are requested in quick succession are all reported. Raft does not let a leader that has just
// applied one propose the next at once.
func TestChangesInARow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newSimulation(Setup{Seed: 1, Members: 3})
		defer w.close()
		if err := w.begin(); err != nil {
			t.Fatal(err)
		}
		w.sending = true
		for _, c := range w.clients {
			w.after(w.upTo(time.Second), c.act)
		}
		w.runUntil(3 * time.Second)
		leader, told, busy := w.leader(), 0, w.clients[1]
		send := func() {
			busy.sign()
			last := busy.sent[len(busy.sent)-1].Encode()
			leader.step(cluster.Sent([][]byte{last}, "somebody", false, func([]mempool.Result, cluster.Answer) {}))
		}
		leader.slow = 20 * time.Millisecond // so that much is decided at once
		const rounds = 20
		for i := range rounds {
			r := cluster.Record{ID: uint64(1000 + i), Name: fmt.Sprint("absent ", i)}
			var change func(error)
			change = func(err error) {
				if err != nil {
					t.Errorf("change %d: error %v", told, err)
				}
				if told++; told%2 == 1 {
					leader.step(cluster.Remove(r.ID, change))
				}
			}
			for d := range time.Duration(60) { // entries decided together with a change
				w.after(d*time.Millisecond, send)
			}
			w.after(w.upTo(50*time.Millisecond), func() { leader.step(cluster.Add(r, change)) })
			w.runUntil(w.now + time.Second + w.upTo(blockTime))
			if told != 2*(i+1) {
				t.Fatalf("of %d changes %d were told of", 2*(i+1), told)
			}
		}
		for _, v := range w.report.Violations {
			t.Error(v.Invariant, v.Text)
		}
	})
}
