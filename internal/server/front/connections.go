package front

import (
	"maps"
	"net"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// connections are those that are open, and what is closed to new ones.
type connections struct {
	most, mostOfSite int // open at a time
	draining         atomic.Bool
	running          sync.WaitGroup // their loops, not what net/http runs

	mu       sync.Mutex // guards the fields below, and the standing of every connection
	listener net.Listener
	conns    map[*conn]struct{}
	sites    map[netip.Addr]*site
	idlers   idlers
}

// begin makes room for as many connections as config lets in.
func (all *connections) begin(config Config) {
	all.most, all.mostOfSite = config.MaxConnections, config.MaxConnectionsPerAddress
	all.conns, all.sites = map[*conn]struct{}{}, map[netip.Addr]*site{}
}

// listen notes where connections come from. It is late if the server drains already; if not, end has yet to look for
// the listener.
func (all *connections) listen(at net.Listener) (late bool) {
	all.mu.Lock()
	defer all.mu.Unlock()
	all.listener = at
	return all.draining.Load()
}

// open is how many there are.
func (all *connections) open() int {
	all.mu.Lock()
	defer all.mu.Unlock()
	return len(all.conns)
}

// register enters a connection, instead of a displaced one where there are too many.
func (all *connections) register(c *conn, now time.Time) (displaced *conn, ok bool) {
	place := c.peer.place
	bounded := place.IsValid() && !c.peer.local && !c.peer.proxy
	all.mu.Lock()
	defer all.mu.Unlock()
	if all.draining.Load() {
		return nil, false
	}
	at := all.sites[place]
	crowded := bounded && at != nil && at.open >= all.mostOfSite
	if crowded || len(all.conns) >= all.most {
		of := at
		if !crowded {
			of = nil
		}
		if displaced = all.idlers.longest(of, now); displaced == nil {
			return nil, false
		}
		all.remove(displaced)
		at = all.sites[place] // of which the displaced one may have been the last
	}
	if at == nil {
		at = &site{place: place}
		at.crowd.owner = at
		all.sites[place] = at
	}
	at.open++
	c.site, c.idle.owner = at, c
	all.conns[c] = struct{}{}
	all.idlers.park(c, stateIdle, now)
	all.running.Add(1)
	return displaced, true
}

// remove takes a connection out, if it is in. The lock is held.
func (all *connections) remove(c *conn) {
	if _, open := all.conns[c]; !open {
		return
	}
	delete(all.conns, c)
	all.idlers.unpark(c)
	c.state = stateClosed
	if c.site.open--; c.site.open == 0 {
		delete(all.sites, c.site.place)
	}
}

// forget is the end of a connection.
func (all *connections) forget(c *conn) {
	all.mu.Lock()
	defer all.mu.Unlock()
	all.remove(c)
}

// end closes the listener and returns the idle connections, which begin nothing any more.
func (all *connections) end() (idle []*conn) {
	all.mu.Lock()
	defer all.mu.Unlock()
	if all.listener != nil {
		_ = all.listener.Close() // its owner may have closed it
	}
	for c := range all.conns {
		if c.state == stateIdle {
			c.state = stateClosed
			idle = append(idle, c)
		}
	}
	return idle
}

// left are those that are still open.
func (all *connections) left() []*conn {
	all.mu.Lock()
	defer all.mu.Unlock()
	return slices.Collect(maps.Keys(all.conns))
}
