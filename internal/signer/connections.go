package signer

import (
	"net"
	"slices"
	"sync"

	"github.com/cairn-chain/cairn/internal/p2p"
)

// connections are those that are open: of strangers, and one of each node.
type connections struct {
	mu        sync.Mutex
	strangers []net.Conn // who has not shown yet who it is, the oldest first
	nodes     map[p2p.Pin]net.Conn
}

// begin notes a stranger.
func (c *connections) begin(conn net.Conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.strangers = append(c.strangers, conn)
}

// displace closes the connection of the oldest stranger.
func (c *connections) displace() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.strangers) > 0 {
		_ = c.strangers[0].Close() // who serves it ends
		c.strangers = c.strangers[1:]
	}
}

// known is how many nodes are connected.
func (c *connections) known() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.nodes)
}

// identify notes that a stranger is a node. An earlier connection of that node is closed: it has come anew, and the other
// may be one whose end nobody tells of.
func (c *connections) identify(conn net.Conn, pin p2p.Pin) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.forget(conn)
	if earlier := c.nodes[pin]; earlier != nil {
		_ = earlier.Close() // who serves it ends
	}
	if c.nodes == nil {
		c.nodes = make(map[p2p.Pin]net.Conn)
	}
	c.nodes[pin] = conn
}

// end forgets a connection that is closed.
func (c *connections) end(conn net.Conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.forget(conn)
	for pin, of := range c.nodes {
		if of == conn {
			delete(c.nodes, pin)
		}
	}
}

func (c *connections) forget(conn net.Conn) {
	c.strangers = slices.DeleteFunc(c.strangers, func(s net.Conn) bool { return s == conn })
}
