package front

import (
	"net/netip"
	"strings"
)

// Hosts is the set of names that a server answers to. It defeats DNS rebinding: a web page whose own name is pointed at
// the server's address after the page was loaded still sends that name.
type Hosts struct {
	names map[string]bool
	any   bool
	local bool
}

// NewHosts returns the set of the given names, each with any port; "*" stands for every name. If local is set,
// localhost, names below it and IP addresses, which cannot be rebound, are allowed too.
func NewHosts(names []string, local bool) Hosts {
	h := Hosts{names: make(map[string]bool, len(names)), local: local}
	for _, name := range names {
		h.any = h.any || name == "*"
		h.names[hostName(name)] = true
	}
	return h
}

// Allow reports whether the server answers to a request's Host. A request without a Host does not come from a browser.
func (h Hosts) Allow(host string) bool {
	if h.any || host == "" {
		return true
	}
	name := hostName(host)
	if h.names[name] {
		return true
	}
	_, err := netip.ParseAddr(name)
	return h.local && (err == nil || name == "localhost" || strings.HasSuffix(name, ".localhost"))
}

// hostName returns a Host without its port, in lower case.
func hostName(host string) string {
	if inside, ok := strings.CutPrefix(host, "["); ok {
		name, _, _ := strings.Cut(inside, "]")
		return strings.ToLower(name)
	}
	name, _, _ := strings.Cut(host, ":")
	return strings.ToLower(name)
}
