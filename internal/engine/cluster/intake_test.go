package cluster

import (
	"errors"
	"testing"

	"github.com/cairn-chain/cairn/internal/engine/mempool"
)

// sendsOf is a member that hears of no leader, and what has it take transactions of so many bytes: the answers come
// into told, nil for what waits.
func sendsOf(t *testing.T) (m *Member, take func(size int) *Answer) {
	t.Helper()
	m = &Member{world: still{}}
	return m, func(size int) *Answer {
		var told *Answer
		event := Sent([][]byte{make([]byte, size)}, "somebody", false, func(_ []mempool.Result, a Answer) { told = &a })
		if err := event(m); err != nil {
			t.Fatal(err)
		}
		return told
	}
}

// Sends that have ended take no room, though one from before them waits.
func TestEndedSendsTakeNoRoom(t *testing.T) {
	m, take := sendsOf(t)
	if told := take(1); told != nil {
		t.Fatalf("the first: %v", told.Refused)
	}
	for i := range 3 * maxSends {
		if told := take(1); told != nil {
			t.Fatalf("send %d: %v", i, told.Refused)
		}
		m.sends.all[len(m.sends.all)-1].end(Answer{Refused: ErrHolds})
	}
	if len(m.sends.all) > 100 || m.sends.live.count != 1 {
		t.Errorf("%d sends are kept, %d have not ended", len(m.sends.all), m.sends.live.count)
	}
}

// What waits is bounded by its number and by its bytes.
func TestSendsAreBounded(t *testing.T) {
	_, take := sendsOf(t)
	for range maxSends {
		take(1)
	}
	if told := take(1); told == nil || !errors.Is(told.Refused, ErrBusy) {
		t.Errorf("one too many: %v", told)
	}
	m, take := sendsOf(t)
	const large = 1 << 20
	for range maxSendBytes / large {
		take(large)
	}
	if told := take(1); told == nil || !errors.Is(told.Refused, ErrBusy) {
		t.Errorf("a byte too many: %v", told)
	}
	for _, s := range m.sends.all {
		s.end(Answer{Refused: ErrHolds})
	}
	if take(large) != nil || m.sends.live.bytes != large {
		t.Errorf("once they have ended: %d bytes", m.sends.live.bytes)
	}
}
