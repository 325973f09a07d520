package main

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// sumsFile has a line for each file of the release, in the format of sha256sum.
const sumsFile = "SHA256SUMS"

// writeSums writes the checksums of all files and, if there is a key, a signature of 64 bytes over the whole file.
func (r *release) writeSums(key string) error {
	entries, err := os.ReadDir(r.out) // in order
	if err != nil {
		return err
	}
	var sums bytes.Buffer
	for _, entry := range entries {
		content, err := os.ReadFile(filepath.Join(r.out, entry.Name()))
		if err != nil {
			return err
		}
		fmt.Fprintf(&sums, "%x  %s\n", sha256.Sum256(content), entry.Name())
	}
	if err := r.writeFile(sumsFile, sums.Bytes(), 0o644); err != nil || key == "" {
		return err
	}
	signer, err := readKey(key)
	if err != nil {
		return fmt.Errorf("%s: %w", key, err)
	}
	public, err := x509.MarshalPKIXPublicKey(signer.Public())
	if err != nil {
		return err
	}
	// As openssl pkey -pubin -outform DER | sha256sum prints for the public key.
	fmt.Printf("signed by the key with the fingerprint %x\n", sha256.Sum256(public))
	return r.writeFile(sumsFile+".sig", ed25519.Sign(signer, sums.Bytes()), 0o644)
}

func readKey(path string) (ed25519.PrivateKey, error) {
	encoded, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	block, _ := pem.Decode(encoded)
	if block == nil {
		return nil, errors.New("it is not PEM")
	}
	key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, err
	}
	signer, ok := key.(ed25519.PrivateKey)
	if !ok {
		return nil, fmt.Errorf("it has a key of type %T, not Ed25519", key)
	}
	return signer, nil
}
