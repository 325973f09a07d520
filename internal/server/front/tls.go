package front

import "crypto/tls"

// tlsConfig is TLS 1.2 or later with a certificate from files, which are read again when they change.
func tlsConfig(config Config) (*tls.Config, error) {
	certificate, err := watch(config.Log, func() (tls.Certificate, error) {
		return tls.LoadX509KeyPair(config.CertificateFile, config.KeyFile)
	}, config.CertificateFile, config.KeyFile)
	if err != nil {
		return nil, err
	}
	return &tls.Config{
		MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"},
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return certificate.get(), nil },
	}, nil
}
