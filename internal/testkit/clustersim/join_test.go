package clustersim

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/cairn-chain/cairn/internal/engine/cluster"
)

// A member that is added follows the first snapshot that it is sent: one from before it was added would not name it.
func TestAddedMemberFollowsItsFirstSnapshot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(Setup{Seed: 1, Members: 3})
		defer w.close()
		if err := w.begin(); err != nil {
			t.Fatal(err)
		}
		w.sending = true
		for _, c := range w.clients {
			w.after(w.upTo(time.Second), c.act)
		}
		w.runUntil(20 * time.Second) // the log is cut by then
		for range 5 {                // at several moments of a block
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
