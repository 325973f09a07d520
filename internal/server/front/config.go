package front

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"github.com/cairn-chain/cairn/internal/machine"
	"github.com/cairn-chain/cairn/internal/reload"
	"github.com/cairn-chain/cairn/internal/server/admission"
)

// RPC answers JSON-RPC bodies.
type RPC interface {
	// AppendTo appends the answer to body to dst. It appends nothing for notifications. It may give the beginning of a
	// long answer to sink, part by part, without a turn. If it then returns an error, the answer has no end.
	AppendTo(ctx context.Context, body, dst []byte, sink func(part []byte) error) ([]byte, error)
	// Compress appends the gzipped answer to dst, if compression pays and there is time for it.
	Compress(ctx context.Context, answer, dst []byte) (out []byte, compressed bool)
}

// Config holds a Server's handlers, limits and credentials. A limit of zero stands for its default.
type Config struct {
	RPC      RPC          // answers the plain POST /
	Fallback http.Handler // handles all other requests
	Log      *slog.Logger
	Files    *reload.Set // watches the certificate and key files; nil: the server makes a set of its own
	// shares the processor among clients; nil: the server makes a scheduler of its own
	Admission *admission.Scheduler

	MaxRequestBytes int // size of a body; 5 MiB
	// bytes that the bodies and answers of all requests may hold, not counting FreeBytes of each; 512 MiB
	MaxMemory                int64
	MaxConnections           int           // open at a time; 10,000
	MaxConnectionsPerAddress int           // 256; loopback and proxies have no such limit
	Rate                     Rate          // per address; the zero value: no limit. Loopback has none
	Budget                   time.Duration // time for answering a request; 30 s

	CertificateFile, KeyFile string   // PEM, for TLS; both or none
	APIKeyFile               string   // as the operators' page describes; empty: no keys
	JWTSecretFile            string   // 32 bytes in hex; empty: no tokens
	Origins                  []string // origins that browsers may call from (CORS), or "*"
	// Host names that requests may carry, or "*"; none: local names on a loopback listener, any name elsewhere
	Hosts   []string
	Proxies []netip.Prefix // proxies whose X-Forwarded-For is trusted
}

// Timeouts of a connection.
const (
	preambleTimeout = 10 * time.Second // from the first byte of a request to the end of its preamble; also for TLS
	bodyTimeout     = 10 * time.Second // for a body, extended as its bytes arrive:
	bodyRate        = 128 << 10        // least bytes a second of a body
	idleTimeout     = 2 * time.Minute
	writeTimeout    = 2 * time.Minute // for an answer of up to FreeBytes; a larger one must be read at bodyRate
)

// bodyTime returns how long after the start of a body more of it must arrive, given the bytes received so far. A client
// that sends nothing therefore cannot hold a large body's memory for as long as the whole body might take.
func bodyTime(come int) time.Duration {
	return bodyTimeout + time.Duration(come/bodyRate)*time.Second
}

func (c Config) withDefaults() (Config, error) {
	if c.RPC == nil || c.Fallback == nil {
		return c, errors.New("front: a server needs an RPC and a fallback")
	}
	if err := c.check(); err != nil {
		return c, err
	}
	c.Log = cmp.Or(c.Log, slog.Default())
	if c.Files == nil {
		c.Files = reload.NewSet(c.Log)
	}
	if c.Admission == nil {
		c.Admission = admission.New(machine.Cores())
	}
	c.MaxRequestBytes = cmp.Or(c.MaxRequestBytes, 5<<20)
	c.MaxMemory = cmp.Or(c.MaxMemory, 512<<20)
	c.MaxConnections = cmp.Or(c.MaxConnections, 10_000)
	c.MaxConnectionsPerAddress = cmp.Or(c.MaxConnectionsPerAddress, 256)
	c.Budget = cmp.Or(c.Budget, 30*time.Second)
	return c, nil
}

// check rejects negative limits and settings that contradict each other.
func (c Config) check() error {
	if c.MaxRequestBytes < 0 || c.MaxMemory < 0 || c.MaxConnections < 0 || c.MaxConnectionsPerAddress < 0 ||
		c.Budget < 0 || c.Rate.PerSecond < 0 || c.Rate.Burst < 0 {
		return errors.New("front: a limit is negative")
	}
	if c.Rate.PerSecond > 0 && c.Rate.Burst < 1 {
		return errors.New("front: a rate needs a burst of at least 1")
	}
	if (c.CertificateFile == "") != (c.KeyFile == "") {
		return errors.New("TLS needs both a certificate and its key: --tls-cert and --tls-key")
	}
	for _, origin := range c.Origins {
		if origin != "*" && !strings.Contains(origin, "://") {
			return fmt.Errorf("%q is not an origin such as https://app.example.org", origin)
		}
	}
	return nil
}

// Check reports, without starting a server, whether [New] would accept the settings and the files that they name.
func (c Config) Check() error {
	err := c.check()
	if c.APIKeyFile != "" {
		_, keysErr := readKeys(c.APIKeyFile)
		err = errors.Join(err, keysErr)
	}
	if c.JWTSecretFile != "" {
		_, secretErr := readJWTSecret(c.JWTSecretFile)
		err = errors.Join(err, secretErr)
	}
	if c.CertificateFile != "" && c.KeyFile != "" {
		_, certificateErr := loadCertificate(c.CertificateFile, c.KeyFile)
		err = errors.Join(err, certificateErr)
	}
	return err
}
