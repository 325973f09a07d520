package admin

import (
	"net"
	"net/http"
	"slices"
	"sync"
)

// Connections bounds a server's open connections: a new one displaces the connection that has been without a whole
// request for longest. If there is none, the new one is closed.
type Connections struct {
	most int

	mu      sync.Mutex
	open    map[net.Conn]bool
	waiting []net.Conn // connections without a whole request header, the longest waiting first
}

// NewConnections returns a Connections that allows most open connections.
func NewConnections(most int) *Connections {
	return &Connections{most: most, open: make(map[net.Conn]bool)}
}

// Note tracks a connection's state. It serves as [http.Server].ConnState.
func (c *Connections) Note(conn net.Conn, state http.ConnState) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.waiting = slices.DeleteFunc(c.waiting, func(w net.Conn) bool { return w == conn })
	switch state {
	case http.StateNew:
		if c.open[conn] = true; len(c.open) > c.most {
			c.displace(conn)
		}
		if c.open[conn] {
			c.waiting = append(c.waiting, conn)
		}
	case http.StateIdle:
		c.waiting = append(c.waiting, conn)
	case http.StateClosed, http.StateHijacked:
		delete(c.open, conn)
	}
}

// displace closes the longest waiting connection or, if there is none, by. The caller must hold mu.
func (c *Connections) displace(by net.Conn) {
	if len(c.waiting) > 0 {
		by = c.waiting[0]
		c.waiting = c.waiting[1:]
	}
	delete(c.open, by)
	_ = by.Close() // its handler notices
}
