package main

import (
	"fmt"
	"net/netip"
	"time"

	"github.com/cairn-chain/cairn/cli/output"
	"github.com/cairn-chain/cairn/internal/node"
	"github.com/cairn-chain/cairn/internal/server/front"
)

// defaultRate is the limit in calls a second of an address that is not loopback. The burst is twice as large.
const defaultRate = 200

// httpSettings are the settings of the HTTP servers. A single address may use a quarter of the memory limit. At the
// lowest limit that is enough for the largest body, compressed, and an answer of its size, as they are counted.
type httpSettings struct {
	TLSCert        string        `setting:"tls-cert" usage:"certificate (PEM) of JSON-RPC over TLS, with --tls-key"`
	TLSKey         string        `setting:"tls-key" usage:"private key (PEM) of the certificate"`
	APIKeyFile     string        `setting:"api-key-file" usage:"file of API keys, one name:key a line; calls without one are refused"`
	JWTSecretFile  string        `setting:"jwt-secret-file" usage:"file with the secret (64 hex digits) of HS256 tokens; calls without one are refused"`
	RateLimit      uint64        `setting:"rate-limit" bounds:"0..1048576" usage:"calls a second that an address may make, twice as many at once; a call that takes more than 1 ms of the processor, or an answer of more than 128 KiB, counts as several; 0: any number"`
	MaxConnections uint64        `setting:"max-connections" bounds:"1..1048576" usage:"connections of JSON-RPC that may be open at a time"`
	PerAddress     uint64        `setting:"max-connections-per-address" bounds:"1..1048576" usage:"connections that one address may have open"`
	RequestMemory  uint64        `setting:"request-memory-mib" bounds:"256..1048576" usage:"MiB of memory that the larger requests and answers may take together; one more waits up to 5 s and is then refused"`
	RequestTime    time.Duration `setting:"request-time" bounds:"1s..1h" usage:"what answering one request may take"`
	SlowReader     time.Duration `setting:"slow-reader-time" bounds:"1s..1h" usage:"how long a subscriber may take to read a message until it is dropped"`
	CORSOrigin     []string      `setting:"cors-origin" usage:"origin whose web pages may call, or *; may be repeated"`
	AllowedHost    []string      `setting:"allowed-host" usage:"name under which the node is called, or *; may be repeated (default: local names where --rpc-addr is local, else any)"`
	Explorer       bool          `setting:"explorer" usage:"serve the block explorer under /explorer/ on the address of JSON-RPC"`
	AdminTokenFile string        `setting:"admin-token-file" usage:"file with the token (64 hex digits) that the admin address asks for before it changes something (default DATA-DIR/admin.token, which is made at the first start)"`
	AdminHost      []string      `setting:"admin-host" usage:"name under which the admin address is called, beside local names and addresses, or *; may be repeated"`
	TrustedProxy   []string      `setting:"trusted-proxy" usage:"address or network of a proxy whose X-Forwarded-For is believed; may be repeated"`
}

func defaultHTTP() httpSettings {
	return httpSettings{
		RateLimit:      defaultRate,
		MaxConnections: 10_000,
		PerAddress:     256,
		RequestMemory:  512,
		RequestTime:    30 * time.Second,
		SlowReader:     20 * time.Second,
	}
}

// serving returns the configuration of a node's two addresses.
func (s httpSettings) serving(rpc, admin string) (node.Serving, error) {
	config, err := s.config()
	return node.Serving{
		RPCAddr:        rpc,
		HTTP:           config,
		SlowReader:     s.SlowReader,
		Explorer:       s.Explorer,
		AdminAddr:      admin,
		AdminTokenFile: s.AdminTokenFile,
	}, err
}

// config checks the settings and returns the configuration.
func (s httpSettings) config() (front.Config, error) {
	proxies := make([]netip.Prefix, len(s.TrustedProxy))
	for i, text := range s.TrustedProxy {
		proxy, err := netip.ParsePrefix(text)
		if address, addressErr := netip.ParseAddr(text); addressErr == nil {
			proxy, err = address.Prefix(address.BitLen())
		}
		if err != nil {
			return front.Config{}, output.Usage(fmt.Errorf("--trusted-proxy: %q is no address and no network", text))
		}
		proxies[i] = proxy
	}
	return front.Config{
		MaxMemory:                int64(s.RequestMemory) << 20,
		MaxConnections:           int(s.MaxConnections),
		MaxConnectionsPerAddress: int(s.PerAddress),
		Budget:                   s.RequestTime,
		Rate:                     front.Rate{PerSecond: float64(s.RateLimit), Burst: 2 * float64(s.RateLimit)},
		CertificateFile:          s.TLSCert,
		KeyFile:                  s.TLSKey,
		APIKeyFile:               s.APIKeyFile,
		JWTSecretFile:            s.JWTSecretFile,
		Origins:                  s.CORSOrigin,
		Hosts:                    s.AllowedHost,
		Proxies:                  proxies,
	}, nil
}
