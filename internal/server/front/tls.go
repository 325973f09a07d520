package front

import "crypto/tls"

// watchCertificate loads the certificate, and again when its files change.
func watchCertificate(config Config) (*watched[tls.Certificate], error) {
	return watch(config.Log, func() (tls.Certificate, error) {
		return tls.LoadX509KeyPair(config.CertificateFile, config.KeyFile)
	}, config.CertificateFile, config.KeyFile)
}

// tlsConfig is TLS 1.2 or later with a certificate from files.
func tlsConfig(certificate *watched[tls.Certificate]) *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"},
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return certificate.get(), nil },
	}
}
