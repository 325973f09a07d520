package cluster

import "time"

// Under load a leader's batch waits for several sends: most of the cost of an entry, on each member, does not depend on
// its size.
const (
	gatherTime  = 40 * time.Millisecond // most, from the last batch on
	gatherMost  = 500                   // transactions that do not wait for more
	gatherRate  = 2000                  // transactions a second that are load
	gatherPause = 127                   // most batches between two tries with one more send
)

// gathering decides how many sends the next batch waits for. After batches that were complete in time, it tries one more.
// After a vain try it pauses: senders that send again only after the answer would just wait longer.
type gathering struct {
	last   time.Time // time of the last batch
	sends  int       // sends that the next batch waits for
	trying bool      // that is one more than came in time
	pause  int       // batches between the last vain try and the next one
	left   int       // of them
}

// wait returns how long a batch has still to wait.
func (g *gathering) wait(sends, transactions int, now time.Time) time.Duration {
	if sends >= g.sends || transactions >= gatherMost {
		return 0
	}
	return max(0, g.last.Add(gatherTime).Sub(now))
}

// proposed notes a batch.
func (g *gathering) proposed(sends, transactions int, now time.Time) {
	since, trying := now.Sub(g.last), g.trying
	vain := sends < g.sends && transactions < gatherMost
	g.last, g.sends, g.trying = now, sends, false
	switch {
	case vain && trying:
		g.pause = min(2*g.pause+1, gatherPause)
		g.left = g.pause
	case vain:
		g.left = 0
	case time.Duration(transactions)*time.Second < gatherRate*since: // no load
		g.sends = 0
	case g.left > 0:
		g.left--
	default:
		if trying {
			g.pause /= 2
		}
		g.sends, g.trying = sends+1, true
	}
}

// queuedSends returns the number of sends whose transactions are to be proposed.
func (s *sends) queuedSends() (n int) {
	var last *send
	for _, i := range s.queue {
		if i.send != last {
			n, last = n+1, i.send
		}
	}
	return n
}

// untilGathered returns how long the queued transactions have still to wait for others.
func (m *Member) untilGathered() time.Duration {
	return m.sends.gathering.wait(m.sends.queuedSends(), len(m.sends.queue), m.env.Now())
}
