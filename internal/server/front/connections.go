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

// connections holds the open connections and the limits on new ones.
type connections struct {
	most, mostOfSite int // limits on open connections
	draining         atomic.Bool
	running          sync.WaitGroup // loops of connections, excluding those in net/http

	mu       sync.Mutex // guards the fields below, and the standing of every connection
	listener net.Listener
	conns    map[*conn]struct{}
	sites    map[netip.Addr]*site
	idlers   idlers
}

// begin sets the limits from config.
func (all *connections) begin(config Config) {
	all.most, all.mostOfSite = config.MaxConnections, config.MaxConnectionsPerAddress
	all.conns, all.sites = map[*conn]struct{}{}, map[netip.Addr]*site{}
}

// listen records the listener, so that end can close it. It reports late if the server already drains; otherwise end
// has not run yet and will find the listener.
func (all *connections) listen(at net.Listener) (late bool) {
	all.mu.Lock()
	defer all.mu.Unlock()
	all.listener = at
	return all.draining.Load()
}

// open returns the number of open connections.
func (all *connections) open() int {
	all.mu.Lock()
	defer all.mu.Unlock()
	return len(all.conns)
}

// register adds a connection. If there are too many, it displaces an idle one and returns that.
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
		at = all.sites[place] // the displaced connection may have been the site's last
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

// remove removes a connection if it is registered. The caller must hold the lock.
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

// forget removes a connection that has ended.
func (all *connections) forget(c *conn) {
	all.mu.Lock()
	defer all.mu.Unlock()
	all.remove(c)
}

// end closes the listener and returns the idle connections, which can begin no further request.
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

// left returns the connections that are still open.
func (all *connections) left() []*conn {
	all.mu.Lock()
	defer all.mu.Unlock()
	return slices.Collect(maps.Keys(all.conns))
}
