package mempool

import (
	"testing"

	"github.com/cairn-chain/cairn/internal/protocol/state"
	"github.com/cairn-chain/cairn/types"
)

// Senders that come and go without an eviction are not remembered until the next one.
func TestNotedSendersAreBounded(t *testing.T) {
	var o evictionOrder
	stays := newSender(types.Account{1}, state.Account{})
	stays.run = []*entry{{sender: stays}}
	o.changed(stays)
	for range 10 * leastNoted {
		s := newSender(types.Account{2}, state.Account{})
		s.run = []*entry{{sender: s}}
		o.changed(s)
		s.run = nil
		o.changed(s)
		if len(o.noted) > leastNoted {
			t.Fatalf("%d senders are noted, want at most %d", len(o.noted), leastNoted)
		}
	}
	o.refresh()
	if got := o.top(byLength); got != stays || len(o.noted) != 0 {
		t.Errorf("got %p first and %d noted, want %p and none", got, len(o.noted), stays)
	}
}
