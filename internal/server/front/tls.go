package front

import (
	"crypto/tls"
	"fmt"
)

// watchCertificate loads the certificate, and again when its files change.
func watchCertificate(config Config) (*watched[tls.Certificate], error) {
	return watch(config.Log, func() (tls.Certificate, error) {
		certificate, err := tls.LoadX509KeyPair(config.CertificateFile, config.KeyFile)
		if err != nil {
			err = fmt.Errorf("certificate %s with key %s: %w", config.CertificateFile, config.KeyFile, err)
		}
		return certificate, err
	}, config.CertificateFile, config.KeyFile)
}

// tlsConfig is TLS 1.2 or later with a certificate from files.
func tlsConfig(certificate *watched[tls.Certificate]) *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"},
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return certificate.get(), nil },
	}
}
