package clustersim

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cairn-chain/cairn/internal/engine/cluster"
	"github.com/cairn-chain/cairn/internal/engine/mempool"
)

// A leader reports the time until each of its blocks and batches was decided, and a member the time of the last contact
// with the leader.
func TestTimesOfDecisions(t *testing.T) {
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
		w.runUntil(10 * time.Second)
		// The last block's time may just have been announced, so a follower can release the block before the leader
		// does.
		for until := w.now + 50*time.Millisecond; len(w.book.releases) < len(w.book.released) && w.now < until; {
			w.runUntil(w.now + time.Millisecond)
		}
		if told, released := len(w.book.releases), len(w.book.released); told != released || told < 20 {
			t.Errorf("of %d released blocks the times of %d were told", released, told)
		}
		if len(w.book.batches) < 20 {
			t.Errorf("of %d batches the times were told", len(w.book.batches))
		}
		for _, took := range append(w.book.batches, w.book.releases...) {
			if took <= 0 || took > time.Second { // without faults
				t.Errorf("a decision took %v", took)
			}
		}
		for _, m := range w.machines { // the members are cut off from each other
			w.cutWhere(func(from, _ int) bool { return from == m.index })
		}
		before := w.leader().member.Status().AppliedAt
		w.runUntil(w.now + 90*time.Millisecond)
		for _, m := range w.machines {
			since := m.process.Now().Sub(m.process.member.Status().AppliedAt)
			if since < 80*time.Millisecond || since > 2*time.Second {
				t.Errorf("%s has applied nothing since %v, the leader had at %v", m.record.Name, since, before)
			}
		}
	})
}

// A transfer of leadership delays no block by half an interval or more, whenever it is requested.
func TestTransferDelaysNoBlock(t *testing.T) {
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
		var leaders []string
		last, longest := w.book.last, time.Duration(0)
		for range 30 {
			leaders = append(leaders, w.leader().record.Name)
			w.transfer()
			for end := w.now + time.Second + w.upTo(blockTime); w.now < end; {
				w.runUntil(w.now + time.Millisecond)
				if at := w.book.last; at != last {
					longest, last = max(longest, at-last), at
				}
			}
		}
		if longest > blockTime*3/2 {
			t.Errorf("blocks were %v apart", longest)
		}
		handed := 0
		for i := range leaders[1:] {
			if leaders[i] != leaders[i+1] {
				handed++
			}
		}
		if handed < 29 {
			t.Errorf("of 30 times leadership was handed on %d", handed)
		}
		if len(w.report.Violations) > 0 {
			t.Errorf("%v", w.report.Violations)
		}
	})
}

// ready is a simulation of three members, one of which leads.
func ready(t *testing.T) *simulation {
	t.Helper()
	w := newSimulation(Setup{Seed: 1, Members: 3})
	if err := w.begin(); err != nil {
		w.close()
		t.Fatal(err)
	}
	w.runUntil(3 * time.Second)
	return w
}

// Members whose signer is away hand leadership over from time to time, not as fast as they can. Once the signer is back
// they make blocks.
func TestLeadershipRestsWithoutSigner(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := ready(t)
		defer w.close()
		terms := func() (highest uint64) {
			for _, m := range w.machines {
				highest = max(highest, m.process.member.Status().Term)
			}
			return highest
		}
		const away = 30 * time.Second
		before := terms()
		w.keyless = true
		w.runUntil(w.now + time.Second)
		if terms() == before {
			t.Error("leadership is not handed on at once")
		}
		w.runUntil(w.now + away - time.Second)
		if passed := terms() - before; passed > uint64(2*away/time.Second) {
			t.Errorf("within %v there were %d terms", away, passed)
		}
		last := w.book.last
		w.keyless = false
		w.runUntil(w.now + 3*time.Second)
		if w.book.last == last {
			t.Error("no block is made since the signer is back")
		}
		if len(w.report.Violations) > 0 {
			t.Errorf("%v", w.report.Violations)
		}
	})
}

// The other members show a transaction that the leader has acknowledged within 0.2 s: they hear of it with a heartbeat,
// and hold it for up to three ticks after it was appended.
func TestFollowersShowWhatWasAcknowledged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := ready(t)
		defer w.close()
		p, c := w.leader(), w.clients[1]
		longest := time.Duration(0)
		for range 60 {
			w.runUntil(w.now + w.upTo(blockTime))
			c.sign()
			tx, acknowledged := c.sent[len(c.sent)-1], false
			p.step(cluster.Sent([][]byte{tx.Encode()}, c.name, false, func(r []mempool.Result, _ cluster.Answer) {
				acknowledged = len(r) == 1 && r[0].Err == nil
			}))
			shown := func() bool {
				return !slices.ContainsFunc(w.machines, func(m *machine) bool { return !m.process.has(tx.ID()) })
			}
			for end := w.now + time.Second; !acknowledged && w.now < end; {
				w.runUntil(w.now + time.Millisecond)
			}
			begun := w.now
			for !shown() && w.now < begun+time.Second {
				w.runUntil(w.now + time.Millisecond)
			}
			longest = max(longest, w.now-begun)
		}
		if longest > 200*time.Millisecond || longest < cluster.TickTime {
			t.Errorf("one was shown %v later", longest)
		}
	})
}

// A transaction that a member forwarded to a leader that then falls silent is taken by the next leader. Its sender does
// not wait for the first one's answer.
func TestSendsFollowTheLeader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := ready(t)
		defer w.close()
		leader := w.leader().machine
		for _, m := range w.machines {
			w.network.cut[[2]int{leader.index, m.index}] = true
			w.network.cut[[2]int{m.index, leader.index}] = true
		}
		var answered []time.Duration
		begun := w.now
		for _, m := range w.machines {
			if m == leader {
				continue
			}
			c := w.clients[1+len(answered)]
			c.sign()
			m.process.step(cluster.Sent([][]byte{c.sent[0].Encode()}, c.name, false,
				func(results []mempool.Result, a cluster.Answer) {
					if a.Refused != nil || results[0].Err != nil {
						t.Errorf("%s answers %v, %v after %v", m.record.Name, a.Refused, results, w.now-begun)
					}
					answered = append(answered, w.now-begun)
				}))
		}
		w.runUntil(begun + 10*time.Second)
		if len(answered) != 2 || slices.Max(answered) > 3*time.Second {
			t.Errorf("the answers came after %v", answered)
		}
	})
}
