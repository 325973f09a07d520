package front

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
	"time"

	"github.com/cairn-chain/cairn/internal/reload"
	"github.com/cairn-chain/cairn/internal/secret"
)

// watchCertificate loads the certificate, and reloads it when its files change.
func watchCertificate(config Config) (*reload.Files[tls.Certificate], error) {
	load := func() (tls.Certificate, error) { return loadCertificate(config.CertificateFile, config.KeyFile) }
	return reload.Watch(config.Files, load, config.CertificateFile, config.KeyFile)
}

// loadCertificate reads a certificate and its key. Only the owner may have permission to read the key's file.
func loadCertificate(certificateFile, keyFile string) (certificate tls.Certificate, err error) {
	public, err := os.ReadFile(certificateFile)
	private, privateErr := secret.Read(keyFile)
	if err = errors.Join(err, privateErr); err == nil {
		certificate, err = tls.X509KeyPair(public, private)
	}
	if err != nil {
		err = fmt.Errorf("certificate %s with key %s: %w", certificateFile, keyFile, err)
	}
	return certificate, err
}

// tlsConfig returns a configuration for TLS 1.2 or later that serves the current certificate.
func tlsConfig(certificate *reload.Files[tls.Certificate]) *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"},
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return certificate.Get(), nil },
	}
}

// startTLS performs the TLS handshake and reports whether it succeeded. The handshake is long work of the peer, which
// pays at least a call for it. A peer without a call left waits.
func (c *conn) startTLS() bool {
	ticket := new(Ticket)
	// Behind a proxy there are many clients.
	ticket.begin(c.server, client{place: c.peer.place, free: c.peer.local || c.peer.proxy}, c)
	defer ticket.Release()
	ctx, cancel := context.WithTimeout(c.server.context, preambleTimeout)
	defer cancel()
	shaking := &handshake{Conn: c.Conn, ctx: ctx, ticket: ticket}
	defer shaking.end()
	secured := tls.Server(shaking, c.server.tls)
	if secured.SetDeadline(c.server.now().Add(preambleTimeout)) != nil || secured.HandshakeContext(ctx) != nil {
		return false
	}
	c.Conn = secured
	return secured.SetDeadline(time.Time{}) == nil
}

// handshake is a connection below TLS. Until the handshake ends, whatever follows a read is in a turn of the client,
// and no turn is held while it waits for the client.
type handshake struct {
	net.Conn
	ctx    context.Context
	ticket *Ticket // nil after the handshake
	turn   bool    // the ticket has a turn
}

// NetConn returns the underlying connection.
func (h *handshake) NetConn() net.Conn { return h.Conn }

// Read implements net.Conn.
func (h *handshake) Read(p []byte) (int, error) {
	if h.ticket == nil {
		return h.Conn.Read(p)
	}
	h.pause()
	n, err := h.Conn.Read(p)
	if err == nil {
		err = h.ticket.Begin(h.ctx)
		h.turn = err == nil
	}
	return n, err
}

// pause ends the turn, if there is one.
func (h *handshake) pause() {
	if h.turn {
		h.turn = false
		h.ticket.End()
	}
}

// end ends the handshake, and charges it.
func (h *handshake) end() {
	h.pause()
	h.ticket.Charge(1)
	h.ticket, h.ctx = nil, nil
}
