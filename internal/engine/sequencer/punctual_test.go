package sequencer

import (
	"testing"
	"time"

	"github.com/cairn-chain/cairn/types"
)

// slowClock shows a second more at each look.
type slowClock struct{ now time.Time }

func (c *slowClock) Now() time.Time {
	c.now = c.now.Add(time.Second)
	return c.now
}

func (*slowClock) After(time.Duration) <-chan time.Time { return nil }
func (c *slowClock) Wall() time.Time                    { return c.now }

// endless gives transactions without end.
type endless struct{ given, skipped int }

func (e *endless) Next() *types.VerifiedTx {
	e.given++
	return &types.VerifiedTx{}
}

func (e *endless) SkipSender() { e.skipped++ }

func TestBatchesEndInTime(t *testing.T) {
	for _, test := range []struct {
		interval time.Duration
		want     int // transactions
	}{
		{10 * time.Second, 10}, // one a second
		{time.Second, 1},
		{time.Nanosecond, 1}, // progress, however slow the machine is
		{Instant, int(patience / time.Second)},
		{Manual, int(patience / time.Second)},
	} {
		clock, all := &slowClock{}, &endless{}
		batch := &punctual{Transactions: all, clock: clock, interval: test.interval}
		got := 0
		for batch.Next() != nil {
			got++
			batch.SkipSender()
		}
		if got != test.want || all.given != got || all.skipped != got {
			t.Errorf("%v: %d transactions, %d taken, %d skipped, want %d", test.interval, got, all.given, all.skipped, test.want)
		}
	}
}

func TestTransactionsAreOverdue(t *testing.T) {
	for _, test := range []struct {
		interval time.Duration
		given    int // transactions, a second each
		want     int // times that the last may go on, a second each
	}{
		{10 * time.Second, 1, 9}, // the first has all of the interval
		{10 * time.Second, 2, 8}, // the second what is left
		{10 * time.Second, 10, 0},
		{time.Second, 1, int(patience/time.Second) - 1}, // a short interval is no reason to drop what is not slow
		{2 * time.Second, 2, 0},                         // it comes again
		{Instant, 1, int(patience/time.Second) - 1},
		{Manual, 2, int(patience/time.Second) - 2},
	} {
		batch := &punctual{Transactions: &endless{}, clock: &slowClock{}, interval: test.interval}
		for range test.given {
			if batch.Next() == nil {
				t.Fatalf("%v: the batch ends before transaction %d", test.interval, test.given)
			}
		}
		last, got := batch.last, 0
		for !batch.Overdue() {
			got++
		}
		if got != test.want || batch.overdue != last || batch.alone() != (test.given == 1) {
			t.Errorf("%v: transaction %d may go on %d times, want %d", test.interval, test.given, got, test.want)
		}
	}
}
