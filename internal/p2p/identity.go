// Package p2p connects the members of a cluster over TLS 1.3. Each member has its own key, and there is no certificate
// authority. Each member dials three connections to each other member. Before a Hello is accepted, a frame must be no
// longer than a Hello, which bounds the work that a stranger can cause.
package p2p

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/binary"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"time"
)

// Pin identifies a member's key: the SHA-256 of its certificate's SubjectPublicKeyInfo.
type Pin [sha256.Size]byte

// String returns the pin in hex.
func (p Pin) String() string { return hex.EncodeToString(p[:]) }

// ParsePin parses the result of String.
func ParsePin(s string) (p Pin, err error) {
	b, err := hex.DecodeString(s)
	if err != nil || len(b) != len(p) {
		return p, fmt.Errorf("a pin must be %d hex digits, not %q", 2*len(p), s)
	}
	return Pin(b), nil
}

// Member returns the id of the member with this pin. Each member's directory gets a new key, so an id is never reused.
// It is never zero.
func (p Pin) Member() uint64 { return max(1, binary.BigEndian.Uint64(p[:])) }

// Identity is a member's key with a self-signed certificate.
type Identity struct {
	certificate tls.Certificate
	pin         Pin
}

// Pin returns the pin of the identity's key.
func (i Identity) Pin() Pin { return i.pin }

// errNoKey is returned for a file without a member's key.
var errNoKey = errors.New("it does not contain an Ed25519 key (PKCS #8 in PEM)")

const pemKey = "PRIVATE KEY"

// NewKey generates a member's key, encoded as PKCS #8 in PEM.
func NewKey() ([]byte, error) {
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, err
	}
	encoded, err := x509.MarshalPKCS8PrivateKey(key)
	return pem.EncodeToMemory(&pem.Block{Type: pemKey, Bytes: encoded}), err
}

// ReadIdentity returns the identity of a key that [NewKey] generated.
func ReadIdentity(key []byte) (Identity, error) {
	block, rest := pem.Decode(key)
	if block == nil || block.Type != pemKey || len(rest) > 0 {
		return Identity{}, errNoKey
	}
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	private, ok := parsed.(ed25519.PrivateKey)
	if err != nil || !ok {
		return Identity{}, errNoKey
	}
	// Peers check only the key: a pin does not expire.
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1),
		Subject:      pkix.Name{CommonName: "cairn member"},
		NotBefore:    time.Unix(0, 0),
		NotAfter:     time.Date(9999, time.December, 31, 23, 59, 59, 0, time.UTC),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		return Identity{}, err
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		return Identity{}, err
	}
	return Identity{tls.Certificate{Certificate: [][]byte{der}, PrivateKey: private, Leaf: leaf}, pinOf(leaf)}, nil
}

func pinOf(c *x509.Certificate) Pin { return sha256.Sum256(c.RawSubjectPublicKeyInfo) }

// channel is the purpose of a connection. Each has its own ALPN protocol name.
type channel int

const (
	order channel = iota // MsgApp and MsgSnap, which must stay in order
	pulse                // other raft messages, which must not wait behind those
	calls                // calls and their answers
	channels
)

var protocols = [channels]string{"cairn-order/2", "cairn-pulse/2", "cairn-calls/2"}

// TLS returns the configuration of either end of a connection outside a cluster, with its own ALPN protocol name. A
// dialing end gives the pin that it expects; a listening end gives nil, and checks [PinOf] itself.
func (i Identity) TLS(pin *Pin, name string) *tls.Config { return i.config(pin, name) }

// PinOf returns the peer's pin after a completed handshake.
func PinOf(s tls.ConnectionState) Pin { return pinOf(s.PeerCertificates[0]) }

// config returns the TLS configuration of either end. A dialing end gives the pin that it expects; a listening one
// gives nil, and checks the peer's key with its Hello.
func (i Identity) config(pin *Pin, names ...string) *tls.Config {
	return &tls.Config{
		MinVersion:             tls.VersionTLS13,
		Certificates:           []tls.Certificate{i.certificate},
		ClientAuth:             tls.RequireAnyClientCert,
		InsecureSkipVerify:     true, // there is no authority: VerifyConnection checks the pin
		NextProtos:             names,
		SessionTicketsDisabled: true,
		VerifyConnection: func(s tls.ConnectionState) error {
			if len(s.PeerCertificates) != 1 || s.NegotiatedProtocol == "" {
				return &Refusal{Cause: CausePin, Told: pin != nil}
			}
			if pin != nil && pinOf(s.PeerCertificates[0]) != *pin {
				return &Refusal{Cause: CausePin, Told: true}
			}
			return nil
		},
	}
}
