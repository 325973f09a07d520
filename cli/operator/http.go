package operator

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
// lowest limit, a quarter is enough for the largest compressed body and an answer of the same size, as charged.
type httpSettings struct {
	TLSCert        string        `setting:"tls-cert" usage:"certificate file (PEM) for JSON-RPC over TLS; needs --tls-key"`
	TLSKey         string        `setting:"tls-key" usage:"private key file (PEM) of the certificate"`
	APIKeyFile     string        `setting:"api-key-file" usage:"file of API keys, one name:key per line; calls without a valid key are refused"`
	JWTSecretFile  string        `setting:"jwt-secret-file" usage:"file with the secret (64 hex digits) for HS256 JWTs; calls without a valid token are refused"`
	RateLimit      uint64        `setting:"rate-limit" bounds:"0..1048576" usage:"rate limit per client address, in calls per second, with a burst of twice as many; a call that takes over 1 ms of processor time or answers with over 128 KiB counts as several; 0: unlimited"`
	MaxConnections uint64        `setting:"max-connections" bounds:"1..1048576" usage:"maximum number of open JSON-RPC connections"`
	PerAddress     uint64        `setting:"max-connections-per-address" bounds:"1..1048576" usage:"maximum number of open connections per client address"`
	RequestMemory  uint64        `setting:"request-memory-mib" bounds:"256..1048576" usage:"MiB of memory shared by large requests and answers; a request that does not fit waits up to 5 s and is then refused"`
	RequestTime    time.Duration `setting:"request-time" bounds:"1s..1h" usage:"time limit for answering a request"`
	SlowReader     time.Duration `setting:"slow-reader-time" bounds:"1s..1h" usage:"time limit for a subscriber to read a message before it is disconnected"`
	CORSOrigin     []string      `setting:"cors-origin" usage:"origin whose web pages may call (CORS), or *; may be repeated"`
	AllowedHost    []string      `setting:"allowed-host" usage:"accepted Host header of requests, or *; may be repeated (default: local names if --rpc-addr is local, otherwise any)"`
	Explorer       bool          `setting:"explorer" usage:"serve the block explorer under /explorer/ on the JSON-RPC address"`
	AdminTokenFile string        `setting:"admin-token-file" usage:"file with the token (64 hex digits) that the admin address requires for changes (default DATA-DIR/admin.token, created at the first start)"`
	AdminHost      []string      `setting:"admin-host" usage:"accepted Host header of admin requests, in addition to local names and addresses, or *; may be repeated"`
	TrustedProxy   []string      `setting:"trusted-proxy" usage:"address or network of a reverse proxy whose X-Forwarded-For header is trusted; may be repeated"`
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
			return front.Config{}, output.Usage(fmt.Errorf("--trusted-proxy: %q is neither an IP address nor a "+
				"network", text))
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
