package admin

import (
	"net"
	"net/http"
	"testing"
)

// closing is a connection that notes whether it was closed.
type closing struct {
	net.Conn
	closed bool
}

func (c *closing) Close() error {
	c.closed = true
	return nil
}

func TestOneMoreConnectionDisplacesTheLongestIdle(t *testing.T) {
	c := NewConnections(3)
	all := make([]*closing, 8)
	closed := func() (which []int) {
		for i, conn := range all {
			if conn != nil && conn.closed {
				which = append(which, i)
			}
		}
		return which
	}
	expect := func(want ...int) {
		t.Helper()
		got := closed()
		if len(got) != len(want) {
			t.Fatalf("closed are %v, want %v", got, want)
		}
		for i := range got {
			if got[i] != want[i] {
				t.Fatalf("closed are %v, want %v", got, want)
			}
		}
	}
	add := func(i int) {
		all[i] = new(closing)
		c.Note(all[i], http.StateNew)
	}
	add(0)
	add(1)
	add(2)
	c.Note(all[0], http.StateActive) // it is served
	expect()
	add(3)
	expect(1) // the first that has sent no request
	c.Note(all[1], http.StateClosed)
	c.Note(all[0], http.StateIdle)
	add(4)
	expect(1, 2) // 0 is idle for a shorter time
	add(5)
	expect(1, 2, 3)
	c.Note(all[0], http.StateActive)
	c.Note(all[4], http.StateActive)
	c.Note(all[5], http.StateActive)
	add(6)
	expect(1, 2, 3, 6) // nobody else makes way
	c.Note(all[5], http.StateClosed)
	add(7)
	expect(1, 2, 3, 6)
}
