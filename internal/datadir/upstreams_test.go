package datadir

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cairn-chain/cairn/internal/reload"
)

// newCertificate returns a self-signed certificate for 127.0.0.1, and its PEM.
func newCertificate(t *testing.T) (tls.Certificate, []byte) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key},
		pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

// The authority and the key of an upstream may change while the node runs: the next connection uses the new ones. A
// certificate for another name is refused, whoever signed it.
func TestUpstreamFilesAreReadAgain(t *testing.T) {
	dir := t.TempDir()
	u := Upstreams{CAFile: filepath.Join(dir, "ca"), KeyFile: filepath.Join(dir, "key"),
		Files: reload.NewSet(slog.New(slog.DiscardHandler))}
	var certificate atomic.Pointer[tls.Certificate]
	change := func(key string) {
		t.Helper()
		next, authority := newCertificate(t)
		certificate.Store(&next)
		if err := errors.Join(os.WriteFile(u.CAFile, authority, 0o600), os.WriteFile(u.KeyFile, []byte(key), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	change("first")
	var sent atomic.Pointer[string]
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		sent.Store(new(r.Header.Get("Authorization")))
	}))
	server.TLS = &tls.Config{GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
		return certificate.Load(), nil
	}}
	server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelDebug)
	server.StartTLS()
	defer server.Close()
	server.TLS.Certificates = nil
	u.URLs = []string{server.URL}
	nodes, err := u.nodes()
	if err != nil {
		t.Fatal(err)
	}
	defer nodes[0].Close()
	reached := func() (error, bool) {
		nodes[0].Close() // each request has its own connection
		_, err := nodes[0].Header(t.Context(), 0)
		var refused *tls.CertificateVerificationError
		return err, !errors.As(err, &refused)
	}
	if err, trusted := reached(); !trusted || *sent.Load() != "Bearer first" {
		t.Fatalf("got %v, want an answer to the key first", err)
	}
	change("second")
	if err, trusted := reached(); trusted {
		t.Errorf("got %v, want a certificate that is not trusted", err)
	}
	u.Files.Reload()
	if err, trusted := reached(); !trusted || *sent.Load() != "Bearer second" {
		t.Errorf("got %v with %q, want an answer to the key second", err, *sent.Load())
	}
	roots, err := reload.Watch(u.Files, u.roots, u.CAFile)
	if err != nil {
		t.Fatal(err)
	}
	if connection, err := tls.Dial("tcp", server.Listener.Addr().String(), trusting(roots, "localhost")); err == nil {
		_ = connection.Close()
		t.Error("got a connection, want the certificate of another name to be refused")
	}
}
