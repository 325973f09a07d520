package admin

import (
	"net"
	"net/http"
	"slices"
	"sync"
)

// Connections bounds a server's open connections. At the limit, a new connection displaces one of the host that has the
// most: the one that has waited longest without a whole request. If all connections of that host have a whole request,
// any of them is displaced, or the new connection itself if it is from the same host.
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

// displace closes a connection so that by may stay, or by itself. The caller must hold mu.
func (c *Connections) displace(by net.Conn) {
	counts, most := make(map[string]int), host(by)
	for conn := range c.open {
		counts[host(conn)]++
	}
	for h, count := range counts {
		if count > counts[most] {
			most = h
		}
	}
	of := func(conn net.Conn) bool { return conn != by && host(conn) == most }
	i := slices.IndexFunc(c.waiting, of)
	switch {
	case i >= 0:
		by = c.waiting[i]
	case host(by) != most:
		for conn := range c.open {
			if of(conn) {
				by = conn
				break
			}
		}
	case len(c.waiting) > 0 && counts[host(c.waiting[0])] == counts[most]:
		by = c.waiting[0]
	}
	c.waiting = slices.DeleteFunc(c.waiting, func(w net.Conn) bool { return w == by })
	delete(c.open, by)
	_ = by.Close() // its handler notices
}

func host(conn net.Conn) string {
	host, _, _ := net.SplitHostPort(conn.RemoteAddr().String()) // empty for a transport without ports
	return host
}
