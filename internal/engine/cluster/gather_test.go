package cluster

import (
	"slices"
	"testing"
	"time"
)

// Batches of independent senders are gathered under load. Senders that wait for an answer before they send again lose
// little by it, and with little load nobody waits.
func TestBatchesAreGathered(t *testing.T) {
	const answer, span = 3 * time.Millisecond, 20 * time.Second
	for _, c := range []struct {
		name         string
		transactions int           // of each send
		every        time.Duration // between independent sends; 0: senders wait for the answer
		senders      int           // that wait
		most         time.Duration // average time between batches
		least        time.Duration
	}{
		{"independent, 4,000 a second", 50, 12500 * time.Microsecond, 0, 41 * time.Millisecond, 30 * time.Millisecond},
		{"independent, 20,000 a second", 100, 5 * time.Millisecond, 0, 26 * time.Millisecond, 24 * time.Millisecond},
		{"independent, large", 500, 5 * time.Millisecond, 0, 5001 * time.Microsecond, 0},
		{"independent, 1,000 a second", 1, time.Millisecond, 0, answer, 0},
		{"independent, single, rare", 50, 100 * time.Millisecond, 0, 100 * time.Millisecond, 0},
		{"a lone one that waits", 50, 0, 1, 3500 * time.Microsecond, 0},
		{"eight that wait", 50, 0, 8, 4 * time.Millisecond, 0},
	} {
		var g gathering
		var due []time.Duration // of the sends to come
		for i := range c.senders {
			due = append(due, time.Duration(i)*100*time.Microsecond)
		}
		if c.every > 0 {
			for at := time.Duration(0); at < span; at += c.every {
				due = append(due, at)
			}
		}
		begun := time.Unix(0, 0)
		batches, sends, free := 0, 0, time.Duration(0) // free: when the last batch is decided
		for now := time.Duration(0); now < span; now += 50 * time.Microsecond {
			for len(due) > 0 && due[0] <= now {
				sends, due = sends+1, due[1:]
			}
			if sends == 0 || now < free || g.wait(sends, sends*c.transactions, begun.Add(now)) > 0 {
				continue
			}
			g.proposed(sends, sends*c.transactions, begun.Add(now))
			batches, free = batches+1, now+answer
			if c.every == 0 {
				for range sends {
					due = append(due, free)
				}
				slices.Sort(due)
			}
			sends = 0
		}
		if average := span / time.Duration(batches); average > c.most || average < c.least {
			t.Errorf("%s: a batch each %v, want %v to %v", c.name, average, c.least, c.most)
		}
	}
}
