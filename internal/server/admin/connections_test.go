package admin

import (
	"net"
	"net/http"
	"testing"
)

// closing is a connection that notes whether it was closed.
type closing struct {
	net.Conn
	host   string
	closed bool
}

func (c *closing) RemoteAddr() net.Addr { return &net.TCPAddr{IP: net.ParseIP(c.host), Port: 1} }

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
		all[i] = &closing{host: "198.51.100.1"}
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
	expect(1, 2) // connection 0 is idle for a shorter time
	add(5)
	expect(1, 2, 3)
	c.Note(all[0], http.StateActive)
	c.Note(all[4], http.StateActive)
	c.Note(all[5], http.StateActive)
	add(6)
	expect(1, 2, 3, 6) // no other connection makes way
	c.Note(all[5], http.StateClosed)
	add(7)
	expect(1, 2, 3, 6)
}

// A host that keeps all connections busy cannot keep other hosts out.
func TestACrowdMakesWay(t *testing.T) {
	c := NewConnections(3)
	var crowd []*closing
	add := func(host string) *closing {
		conn := &closing{host: host}
		c.Note(conn, http.StateNew)
		return conn
	}
	for range 3 {
		conn := add("198.51.100.1")
		c.Note(conn, http.StateActive)
		crowd = append(crowd, conn)
	}
	if late := add("198.51.100.1"); !late.closed {
		t.Error("a fourth connection of the same host stays")
	}
	other := add("203.0.113.1")
	closed := 0
	for _, conn := range crowd {
		if conn.closed {
			closed++
		}
	}
	if other.closed || closed != 1 {
		t.Errorf("another host's connection is closed: %t; %d of the crowd are, want 1", other.closed, closed)
	}
	if late := add("198.51.100.1"); !late.closed || other.closed {
		t.Error("the crowd displaces another host")
	}
}
