package front

import (
	"crypto/sha256"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/cairn-chain/cairn/internal/reload"
)

// peer is the other end of a connection: a client or a proxy.
type peer struct {
	place  netip.Addr
	source string
	local  bool // on this machine
	proxy  bool // whose X-Forwarded-For is believed
}

// client is whoever a request comes from, after the server has let it in.
type client struct {
	place  netip.Addr
	source string
	free   bool   // of limits: a program on this machine
	key    *key   // or nil
	origin string // that the answer allows to read it, or empty
}

// limited reports whether the client has a key with a rate of its own.
func (c *client) limited() bool { return c.key != nil && c.key.rate.PerSecond > 0 }

// refusal is the answer to a request that is not let in.
type refusal struct {
	status   int
	sentence string
	name     string // of a further field, or empty
	value    string
	count    *atomic.Uint64 // or nil
}

// counted counts the refusal.
func (r *refusal) counted() {
	if r.count != nil {
		r.count.Add(1)
	}
}

// ends reports whether the connection ends with the refusal, whatever is still to be read.
func (r *refusal) ends() bool { return r.status == 413 || r.status == 503 }

// errBusy refuses a request whose body no memory was found for. What counts it is its ticket.
var errBusy = refusal{
	503, "The server is busy: it has no memory for a request of that size at present.", "Retry-After", memorySeconds, nil,
}

// drainSeconds is when a client that meets a closing or full server should try again.
const drainSeconds = "5"

// gate decides which requests are let in.
type gate struct {
	maxBody   int // bytes of a body
	origins   []string
	proxies   []netip.Prefix
	keys      *reload.Files[keys]
	jwtSecret *reload.Files[[]byte]
	buckets   *buckets // nil if addresses have no limit
	hosts     Hosts
	named     bool // the settings name hosts
	checkHost bool
	counts    *counts
}

// newGate reads the files of keys and secrets that config names.
func newGate(config Config, counts *counts) (g gate, err error) {
	g = gate{
		maxBody: config.MaxRequestBytes,
		origins: config.Origins,
		proxies: config.Proxies,
		hosts:   NewHosts(config.Hosts, len(config.Hosts) == 0),
		named:   len(config.Hosts) > 0,
		counts:  counts,
	}
	if file := config.APIKeyFile; file != "" {
		if g.keys, err = reload.Watch(config.Files, func() (keys, error) { return readKeys(file) }, file); err != nil {
			return g, err
		}
	}
	if file := config.JWTSecretFile; file != "" {
		g.jwtSecret, err = reload.Watch(config.Files, func() ([]byte, error) { return readJWTSecret(file) }, file)
		if err != nil {
			return g, err
		}
	}
	if config.Rate.PerSecond > 0 {
		g.buckets = newBuckets(config.Rate)
	}
	return g, nil
}

// setHosts decides whether names are checked: where there are some in the settings, or only this machine can reach the
// listener.
func (g *gate) setHosts(address net.Addr) {
	at, err := netip.ParseAddrPort(address.String())
	local := err == nil && at.Addr().Unmap().IsLoopback()
	g.checkHost = local || g.named
}

// peerOf is who has an address with a port.
func (g *gate) peerOf(address string) peer {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return peer{source: address} // a transport without addresses
	}
	p := place(at.Addr())
	return peer{place: p, source: sourceText(p), local: at.Addr().Unmap().IsLoopback(), proxy: g.isProxy(at.Addr())}
}

// admit decides whether a request is answered. Both ways of answering ask it, once for each request, before its body
// is read.
func (s *Server) admit(h *preamble, p *peer, now time.Time) (client, *refusal) {
	c := s.clientOf(h, p)
	c.origin = s.allowOrigin(h.origin)
	if s.draining.Load() {
		return c, &refusal{503, "The server is shutting down.", "Retry-After", drainSeconds, &s.counts.draining}
	}
	refused := s.check(&c, h, now)
	return c, refused
}

// check is why a client's request is refused; it finds the client's key.
func (g *gate) check(c *client, h *preamble, now time.Time) *refusal {
	switch {
	case g.checkHost && !g.hosts.Allow(string(h.host)):
		return &refusal{403, "This server does not answer to that Host.", "", "", &g.counts.forbiddenHost}
	case h.upgrade && !g.sameOrigin(h, c.origin):
		return &refusal{403, "Pages of that origin may not connect.", "", "", &g.counts.forbiddenOrigin}
	}
	known, authorized := g.authorize(h.authorization, now)
	c.key = known
	if wait := g.take(*c, now); wait > 0 {
		seconds := strconv.FormatInt(int64((wait+time.Second-1)/time.Second), 10)
		return &refusal{429, "Too many calls.", "Retry-After", seconds, &g.counts.rateLimited}
	}
	switch {
	case !authorized:
		return &refusal{401, "An API key or a token is needed.", "WWW-Authenticate", "Bearer", &g.counts.unauthorized}
	case h.length > int64(g.maxBody):
		return &refusal{413, "The request is larger than " + strconv.Itoa(g.maxBody) + " bytes.", "", "", &g.counts.tooLarge}
	}
	return nil
}

// clientOf is the peer, or whom a trusted proxy names: the last address of X-Forwarded-For that is no trusted proxy. If
// a proxy names nobody, or something else than an address, those who come through it are limited together.
func (g *gate) clientOf(h *preamble, p *peer) client {
	c := client{place: p.place, source: p.source, free: p.local && !p.proxy}
	if !p.proxy || len(h.forwarded) == 0 {
		return c
	}
	hops := strings.Split(string(h.forwarded), ",")
	for _, hop := range slices.Backward(hops) {
		address, ok := parseHop(strings.Trim(hop, " \t"))
		if !ok {
			break // whoever wrote this is not believed about those before it either
		}
		c.place = place(address)
		c.source = sourceText(c.place)
		if !g.isProxy(address) {
			break
		}
	}
	return c
}

// parseHop reads an address as proxies write it: with brackets and a port, or without.
func parseHop(text string) (netip.Addr, bool) {
	if at, err := netip.ParseAddrPort(text); err == nil {
		return at.Addr(), true
	}
	if inside, ok := strings.CutPrefix(text, "["); ok {
		text, ok = strings.CutSuffix(inside, "]")
		if !ok {
			return netip.Addr{}, false
		}
	}
	address, err := netip.ParseAddr(text)
	return address, err == nil
}

func (g *gate) isProxy(a netip.Addr) bool {
	a = a.Unmap().WithZone("")
	return slices.ContainsFunc(g.proxies, func(p netip.Prefix) bool { return p.Contains(a) })
}

// sourceText names a place: an IPv4 address, or an IPv6 network.
func sourceText(place netip.Addr) string {
	if place.Is6() {
		return place.String() + "/64"
	}
	return place.String()
}

// authorize finds the API key or the token of an Authorization field. The key is returned if it is one.
func (g *gate) authorize(authorization []byte, now time.Time) (*key, bool) {
	if g.keys == nil && g.jwtSecret == nil {
		return nil, true
	}
	const scheme = "bearer "
	if len(authorization) <= len(scheme) || !is(authorization[:len(scheme)], scheme) {
		return nil, false
	}
	credentials := authorization[len(scheme):]
	if g.keys != nil {
		if k := (*g.keys.Get())[sha256.Sum256(credentials)]; k != nil {
			return k, true
		}
	}
	if g.jwtSecret != nil {
		return nil, checkJWT(string(credentials), *g.jwtSecret.Get(), func() time.Time { return now })
	}
	return nil, false
}

// take takes one call from the client's rate and returns how long it must wait where there is none left.
func (g *gate) take(c client, now time.Time) time.Duration { return g.cost(c, now, 1) }

// owes is how long a client must wait until it has a call left.
func (g *gate) owes(c client, now time.Time) time.Duration { return g.cost(c, now, 0) }

// cost takes so many calls from the client's rate if there is one left.
func (g *gate) cost(c client, now time.Time, calls float64) time.Duration {
	switch {
	case c.limited():
		return c.key.take(now, calls)
	case g.limits(c):
		return g.buckets.take(c.place, now, calls)
	}
	return 0
}

// spend takes what a body costs beyond the call that take took.
func (g *gate) spend(c client, calls int) {
	switch {
	case c.limited():
		c.key.spend(float64(calls))
	case g.limits(c):
		g.buckets.spend(c.place, float64(calls))
	}
}

func (g *gate) limits(c client) bool { return g.buckets != nil && !c.free }

// allowOrigin is what Access-Control-Allow-Origin says to a page of the origin, empty where it says nothing.
func (g *gate) allowOrigin(origin []byte) string {
	if len(origin) == 0 {
		return ""
	}
	for _, allowed := range g.origins {
		if allowed == "*" {
			return "*"
		}
		if allowed == string(origin) {
			return allowed
		}
	}
	return ""
}

// varies reports whether an answer depends on the request's origin. That it is allowed or not, a cache must know of
// every answer.
func (g *gate) varies() bool { return len(g.origins) > 0 }

// sameOrigin reports whether a page may open a WebSocket, to which browsers apply no CORS. A page of this very host
// may, a page of an origin that is allowed, and what is no page.
func (g *gate) sameOrigin(h *preamble, allowed string) bool {
	if len(h.origin) == 0 || allowed != "" {
		return true
	}
	origin, err := url.Parse(string(h.origin))
	return err == nil && origin.Host != "" && strings.EqualFold(origin.Host, string(h.host))
}
