// Package p2p carries what the members of a cluster tell one another, over TLS 1.3 with a key of each member's own and
// no authority. There are three connections from each member to each other. What a stranger can make a member do is
// bounded by a Hello: before it nothing is read that is longer. Whose key is not known is not told why he is refused.
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

// Pin is what a member is known by: the SHA-256 of its certificate's SubjectPublicKeyInfo.
type Pin [sha256.Size]byte

// String is the pin in hex.
func (p Pin) String() string { return hex.EncodeToString(p[:]) }

// ParsePin reads what String gives.
func ParsePin(s string) (p Pin, err error) {
	b, err := hex.DecodeString(s)
	if err != nil || len(b) != len(p) {
		return p, fmt.Errorf("a pin is %d hex digits, not %q", 2*len(p), s)
	}
	return Pin(b), nil
}

// Member is the id of the member with this pin. A key is made with each member's directory and never again, so an id is
// not used twice; it is never zero.
func (p Pin) Member() uint64 { return max(1, binary.BigEndian.Uint64(p[:])) }

// Identity is a member's key, and a certificate that it made itself.
type Identity struct {
	certificate tls.Certificate
	pin         Pin
}

// Pin is what the others know the member by.
func (i Identity) Pin() Pin { return i.pin }

// errNoKey is the error of a file that holds no member's key.
var errNoKey = errors.New("it holds no Ed25519 key as PKCS #8 in PEM")

const pemKey = "PRIVATE KEY"

// NewKey makes a member's key, as PEM of PKCS #8.
func NewKey() ([]byte, error) {
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, err
	}
	encoded, err := x509.MarshalPKCS8PrivateKey(key)
	return pem.EncodeToMemory(&pem.Block{Type: pemKey, Bytes: encoded}), err
}

// ReadIdentity makes the identity of what [NewKey] gave.
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
	// Nobody looks at anything in it except the key: a pin does not expire.
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

// channel is what a connection is for. Each has the name of its protocol in TLS (ALPN).
type channel int

const (
	order channel = iota // MsgApp and MsgSnap, which must stay in order
	pulse                // raft's other messages, which must not wait behind them
	calls                // requests and their answers
	channels
)

var protocols = [channels]string{"cairn-order/1", "cairn-pulse/1", "cairn-calls/1"}

// TLS is the configuration of either end of a link for something else than a cluster, which has a name of its own in
// TLS (ALPN). pin is that of the one that is dialed; nil where the end listens, which judges by [PinOf].
func (i Identity) TLS(pin *Pin, name string) *tls.Config { return i.config(pin, name) }

// PinOf is the pin of the other end of a connection whose handshake is over.
func PinOf(s tls.ConnectionState) Pin { return pinOf(s.PeerCertificates[0]) }

// config is that of both ends. Whose key the other end has is judged by its Hello, on a listening member; pin is that
// of the member that is dialed.
func (i Identity) config(pin *Pin, names ...string) *tls.Config {
	return &tls.Config{
		MinVersion:             tls.VersionTLS13,
		Certificates:           []tls.Certificate{i.certificate},
		ClientAuth:             tls.RequireAnyClientCert,
		InsecureSkipVerify:     true, // no authority vouches for anyone: VerifyConnection compares the pin
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
