package front

import (
	"crypto/tls"
	"net"
	"net/netip"
	"runtime"
	"testing"

	"github.com/cairn-chain/cairn/internal/server/admission"
)

// A TLS handshake computes in turns of its client, which pays for it, and holds no turn while it waits for the client.
func TestHandshakesTakeTurns(t *testing.T) {
	cert, key := certificate(t, t.TempDir(), 7)
	turns := admission.New(1)
	s := prepare(t, Config{
		CertificateFile: cert, KeyFile: key, Admission: turns, Rate: Rate{PerSecond: 1e-9, Burst: 1000},
	})
	place := netip.MustParseAddr("203.0.113.1")
	ours, theirs := net.Pipe()
	c := &conn{Conn: ours, raw: ours, server: s, peer: peer{place: place}}
	shaken := make(chan bool)
	go func() { shaken <- c.startTLS() }()
	theirEnd := tls.Client(theirs, &tls.Config{InsecureSkipVerify: true})

	other := new(Ticket) // has the only turn when the client's first message arrives
	other.begin(s, client{place: netip.MustParseAddr("198.51.100.1")}, c)
	if err := other.Begin(t.Context()); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error)
	go func() { ended <- theirEnd.Handshake() }()
	for turns.Stats().Long.Waiting == 0 {
		runtime.Gosched()
	}
	other.End()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	if !<-shaken {
		t.Fatal("the server has ended the handshake")
	}
	if long := turns.Stats().Long; long.Running != 0 || long.Used == 0 {
		t.Errorf("after the handshake: %+v", long)
	}
	left := s.buckets.shard(place).byPlace[place].Value.(*addressBucket).tokens
	if left > 999.5 {
		t.Errorf("%v of 1000 calls are left, want 999 or less", left)
	}
	go func() { _, _ = theirEnd.Write([]byte("x")) }()
	if _, err := c.Conn.Read(make([]byte, 1)); err != nil || turns.Stats().Long.Running != 0 {
		t.Errorf("after the handshake: %v, %+v", err, turns.Stats().Long)
	}
}
