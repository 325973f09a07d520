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
	proxy  bool // its X-Forwarded-For is trusted
}

// client is the sender of a request.
type client struct {
	place  netip.Addr
	source string
	free   bool   // exempt from limits: a program on this machine
	key    *key   // or nil
	origin string // value of Access-Control-Allow-Origin in the answer, or empty
}

// limited reports whether the client has a key with a rate of its own.
func (c *client) limited() bool { return c.key != nil && c.key.rate.PerSecond > 0 }

// refusal is the answer to a request that is not admitted.
type refusal struct {
	status   int
	sentence string
	name     string // an additional field, or empty
	value    string
	count    *atomic.Uint64 // or nil
}

// counted increments the refusal's counter.
func (r *refusal) counted() {
	if r.count != nil {
		r.count.Add(1)
	}
}

// ends reports whether the connection must end with the refusal, even if unread bytes remain.
func (r *refusal) ends() bool { return r.status == 413 || r.status == 503 }

// errBusy refuses a request if no memory is available for its body. The ticket counts it.
var errBusy = refusal{
	503, "The server is busy: it has no memory for a request of that size. Try again later.", "Retry-After", memorySeconds, nil,
}

// drainSeconds is the Retry-After, in seconds, of a server that is full or shutting down.
const drainSeconds = "5"

// gate decides which requests are admitted.
type gate struct {
	maxBody   int // limit in bytes
	origins   []string
	proxies   []netip.Prefix
	keys      *reload.Files[keys]
	jwtSecret *reload.Files[[]byte]
	buckets   *buckets // nil if addresses have no limit
	hosts     Hosts
	named     bool // the settings list hosts
	checkHost bool
	counts    *counts
}

// newGate returns a gate. It reads the files of keys and secrets that config names.
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

// setHosts enables the check of Host names if the settings list some, or if only this machine can reach the listener.
func (g *gate) setHosts(address net.Addr) {
	at, err := netip.ParseAddrPort(address.String())
	local := err == nil && at.Addr().Unmap().IsLoopback()
	g.checkHost = local || g.named
}

// peerOf returns the peer at an address with a port.
func (g *gate) peerOf(address string) peer {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return peer{source: address} // a transport without addresses
	}
	p := place(at.Addr())
	return peer{place: p, source: sourceText(p), local: at.Addr().Unmap().IsLoopback(), proxy: g.isProxy(at.Addr())}
}

// admit decides whether a request is answered. Both paths call it once for each request, before the body is read.
func (s *Server) admit(h *preamble, p *peer, now time.Time) (client, *refusal) {
	c := s.clientOf(h, p)
	c.origin = s.allowOrigin(h.origin)
	if s.draining.Load() {
		return c, &refusal{503, "The server is shutting down.", "Retry-After", drainSeconds, &s.counts.draining}
	}
	refused := s.check(&c, h, now)
	return c, refused
}

// check returns the reason to refuse a client's request, or nil. It sets the client's key.
func (g *gate) check(c *client, h *preamble, now time.Time) *refusal {
	switch {
	case g.checkHost && !g.hosts.Allow(string(h.host)):
		return &refusal{403, "This server does not accept that Host header: see --allowed-host.", "", "", &g.counts.forbiddenHost}
	case h.upgrade && !g.sameOrigin(h, c.origin):
		return &refusal{403, "Web pages of that origin may not connect.", "", "", &g.counts.forbiddenOrigin}
	}
	known, authorized := g.authorize(h.authorization, now)
	c.key = known
	if wait := g.take(*c, now); wait > 0 {
		seconds := strconv.FormatInt(int64((wait+time.Second-1)/time.Second), 10)
		return &refusal{429, "Too many calls.", "Retry-After", seconds, &g.counts.rateLimited}
	}
	switch {
	case !authorized:
		return &refusal{401, "An API key or a token is required.", "WWW-Authenticate", "Bearer", &g.counts.unauthorized}
	case h.length > int64(g.maxBody):
		return &refusal{413, "The request is larger than " + strconv.Itoa(g.maxBody) + " bytes.", "", "", &g.counts.tooLarge}
	}
	return nil
}

// clientOf returns the client behind the peer: the peer itself or, if that is a trusted proxy, the last address of
// X-Forwarded-For that is no trusted proxy. If a proxy names nobody, or something other than an address, all clients
// behind it share one limit.
func (g *gate) clientOf(h *preamble, p *peer) client {
	c := client{place: p.place, source: p.source, free: p.local && !p.proxy}
	if !p.proxy || len(h.forwarded) == 0 {
		return c
	}
	hops := strings.Split(string(h.forwarded), ",")
	for _, hop := range slices.Backward(hops) {
		address, ok := parseHop(strings.Trim(hop, " \t"))
		if !ok {
			break // an unreadable entry makes those before it untrustworthy too
		}
		c.place = place(address)
		c.source = sourceText(c.place)
		if !g.isProxy(address) {
			break
		}
	}
	return c
}

// parseHop parses an address as proxies write it, with or without brackets and a port.
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

// sourceText formats a place: an IPv4 address, or an IPv6 network.
func sourceText(place netip.Addr) string {
	if place.Is6() {
		return place.String() + "/64"
	}
	return place.String()
}

// authorize looks up the API key or checks the token of an Authorization field, and reports whether either is valid. It
// returns the key if there is one.
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

// take takes one call from the client's rate, or returns how long to wait for one.
func (g *gate) take(c client, now time.Time) time.Duration { return g.cost(c, now, 1) }

// owes returns how long the client must wait until it has a call left.
func (g *gate) owes(c client, now time.Time) time.Duration { return g.cost(c, now, 0) }

// cost takes calls from the client's rate if at least one is left; otherwise it returns how long to wait for one.
func (g *gate) cost(c client, now time.Time, calls float64) time.Duration {
	switch {
	case c.limited():
		return c.key.take(now, calls)
	case g.limits(c):
		return g.buckets.take(c.place, now, calls)
	}
	return 0
}

// spend charges a body's calls beyond the one that take took.
func (g *gate) spend(c client, calls int) {
	switch {
	case c.limited():
		c.key.spend(float64(calls))
	case g.limits(c):
		g.buckets.spend(c.place, float64(calls))
	}
}

func (g *gate) limits(c client) bool { return g.buckets != nil && !c.free }

// allowOrigin returns the value of Access-Control-Allow-Origin for an origin, or "" if the origin is not allowed.
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

// varies reports whether answers depend on the request's origin. Then every answer must say so to caches, whether or
// not its origin is allowed.
func (g *gate) varies() bool { return len(g.origins) > 0 }

// sameOrigin reports whether a request may open a WebSocket, to which browsers do not apply CORS. Pages of this very
// host and of allowed origins may, and so may clients that are not browsers.
func (g *gate) sameOrigin(h *preamble, allowed string) bool {
	if len(h.origin) == 0 || allowed != "" {
		return true
	}
	origin, err := url.Parse(string(h.origin))
	return err == nil && origin.Host != "" && strings.EqualFold(origin.Host, string(h.host))
}
