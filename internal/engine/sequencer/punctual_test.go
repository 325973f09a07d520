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
		{10 * time.Second, 10}, // the first without a look at the clock, then one a second
		{time.Second, 1},
		{0, 1}, // progress, however slow the machine is
	} {
		clock, all := &slowClock{}, &endless{}
		batch := &punctual{Transactions: all, clock: clock, end: clock.now.Add(test.interval)}
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
