package front

import (
	"crypto/tls"
	"errors"
	"fmt"
	"os"

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
		// The answer to this message takes a quarter of a millisecond.
		GetConfigForClient: func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
			hello.Conn.(*stream).enter()
			return nil, nil
		},
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return certificate.Get(), nil },
	}
}
