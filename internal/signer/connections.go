package signer

import (
	"net"
	"slices"
	"sync"

	"github.com/cairn-chain/cairn/internal/p2p"
)

// connections holds the open connections: those not yet identified, and one for each node.
type connections struct {
	mu        sync.Mutex
	strangers []net.Conn // not yet identified, oldest first
	nodes     map[p2p.Pin]net.Conn
}

// begin adds a connection that is not yet identified.
func (c *connections) begin(conn net.Conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.strangers = append(c.strangers, conn)
}

// displace closes the oldest connection that is not yet identified.
func (c *connections) displace() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.strangers) > 0 {
		_ = c.strangers[0].Close() // its serve goroutine then ends
		c.strangers = c.strangers[1:]
	}
}

// known returns the number of connected nodes.
func (c *connections) known() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.nodes)
}

// identify marks a connection as a node's, and closes the node's earlier one: the node has reconnected, and the earlier
// connection may have died without notice.
func (c *connections) identify(conn net.Conn, pin p2p.Pin) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.forget(conn)
	if earlier := c.nodes[pin]; earlier != nil {
		_ = earlier.Close() // its serve goroutine then ends
	}
	if c.nodes == nil {
		c.nodes = make(map[p2p.Pin]net.Conn)
	}
	c.nodes[pin] = conn
}

// end removes a closed connection.
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
