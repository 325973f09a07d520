package front

import (
	"net/netip"
	"strings"
)

// Hosts are the names that a server answers to. A web page whose own name was pointed at the server's address after it
// was loaded (DNS rebinding) sends that name and is found out.
type Hosts struct {
	names map[string]bool
	any   bool
	local bool
}

// NewHosts answers to the names, with any port, or to every name where "*" is among them; local adds localhost and
// names under it, and addresses, which cannot be rebound.
func NewHosts(names []string, local bool) Hosts {
	h := Hosts{names: make(map[string]bool, len(names)), local: local}
	for _, name := range names {
		h.any = h.any || name == "*"
		h.names[hostName(name)] = true
	}
	return h
}

// Allow reports whether a request's Host is answered to. One without a Host is of no browser.
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

// hostName is a Host without its port, in lower case.
func hostName(host string) string {
	if inside, ok := strings.CutPrefix(host, "["); ok {
		name, _, _ := strings.Cut(inside, "]")
		return strings.ToLower(name)
	}
	name, _, _ := strings.Cut(host, ":")
	return strings.ToLower(name)
}
