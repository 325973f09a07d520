package keystore

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/cairn-chain/cairn/crypto"
	"github.com/cairn-chain/cairn/types"
	"github.com/cairn-chain/cairn/wallet"
)

// Kind is the kind of an entry.
type Kind string

// The kinds of entries.
const (
	KindKey    Kind = "key"    // a private key, which signs for its own account
	KindP256   Kind = "p256"   // a private key of P-256, which signs for the account of a policy of its own
	KindPolicy Kind = "policy" // a policy, which is public: others' keys sign by it
	KindAlias  Kind = "alias"  // another name for an account
)

// HasSecret reports whether entries of the kind have a private key.
func (k Kind) HasSecret() bool { return k == KindKey || k == KindP256 }

// HasPolicy reports whether entries of the kind have a policy, whose hash is the account.
func (k Kind) HasPolicy() bool { return k == KindP256 || k == KindPolicy }

// Entry is the public part of an entry.
type Entry struct {
	Name    string        `json:"name"`
	Kind    Kind          `json:"kind"`
	Account types.Account `json:"account"`
	Network types.Network `json:"network"`
	// Path is the BIP-32 derivation path of the key; empty for an alias or an imported key.
	Path string `json:"path,omitempty"`
	// Policy is the encoded policy in hex, whose hash is the account; empty for a key or an alias.
	Policy string `json:"policy,omitempty"`
	// Chain is the chain of a contract's name; nil for an account, which is the same on every chain of its network.
	Chain *Chain `json:"chain,omitempty"`
}

// Chain identifies a chain. A development chain that starts again has another genesis.
type Chain struct {
	ID      uint64          `json:"id"`
	Genesis types.BlockHash `json:"genesis"`
}

// Address returns the entry's account as an address of its network.
func (e Entry) Address() string { return e.Network.Address(e.Account) }

// ReadPolicy returns the entry's policy, which must have one.
func (e Entry) ReadPolicy() (types.Policy, error) {
	encoded, err := hex.DecodeString(e.Policy)
	if err != nil {
		return types.Policy{}, err
	}
	policy, err := types.DecodePolicy(encoded)
	if err == nil {
		err = policy.Check()
	}
	if err == nil && policy.Hash() != e.Account {
		err = errors.New("its policy belongs to another account")
	}
	return policy, err
}

// Secret is the encrypted part of an entry.
type Secret struct {
	Key crypto.PrivateKey
	// P256 is the key of an entry of that kind, which has none of the other fields; nil for other kinds.
	P256 *ecdsa.PrivateKey
	// Mnemonic is the BIP-39 sentence from which the key was derived at Path; both are empty for an imported key.
	Mnemonic string
	Path     string
}

// NewSecret derives the key of a BIP-39 mnemonic at m/86'/coin'/0'/0/index, where coin is the network's (BIP-86).
func NewSecret(mnemonic string, network types.Network, index uint32) (Secret, error) {
	seed, err := wallet.SeedFromMnemonic(mnemonic, "")
	if err != nil {
		return Secret{}, err
	}
	key, err := wallet.DeriveBIP86(seed, network.CoinType(), 0, 0, index)
	if err != nil {
		return Secret{}, err
	}
	path := fmt.Sprintf("m/86'/%d'/0'/0/%d", network.CoinType(), index)
	entropy, err := wallet.ParseMnemonic(mnemonic)
	if err != nil {
		return Secret{}, err
	}
	sentence, err := wallet.NewMnemonic(entropy) // in the spelling of the word list
	return Secret{Key: key, Mnemonic: sentence, Path: path}, err
}

// NewP256 makes a key of P-256.
func NewP256() (Secret, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	return Secret{P256: key}, err
}

// ParseP256 parses a private key of P-256, as [ParsePrivateKey] does.
func ParseP256(text string) (Secret, error) {
	raw, err := hex.DecodeString(strings.TrimPrefix(strings.TrimSpace(text), "0x"))
	if err != nil || len(raw) != 32 {
		return Secret{}, errors.New("a private key must be 64 hex digits")
	}
	key, err := ecdsa.ParseRawPrivateKey(elliptic.P256(), raw)
	return Secret{P256: key}, err
}

// policyOf returns the policy with which a key of P-256 alone signs.
func policyOf(key *ecdsa.PrivateKey) (types.Policy, error) {
	encoded, err := key.PublicKey.Bytes() // SEC 1, uncompressed: 04 ‖ x ‖ y
	if err != nil {
		return types.Policy{}, err
	}
	signer := types.SignerP256{Point: [64]byte(encoded[1:])}
	return types.Policy{Owner: types.Rule{Threshold: 1, Signers: []types.Signer{signer}}}, nil
}

// account returns the account that the secret signs for.
func (s Secret) account() (types.Account, error) {
	if s.P256 == nil {
		return s.Key.PublicKey(), nil
	}
	policy, err := policyOf(s.P256)
	return policy.Hash(), err
}

// ParsePrivateKey parses a private key of 64 hex digits, with or without 0x, and with surrounding white space. Errors
// never quote the text.
func ParsePrivateKey(text string) (crypto.PrivateKey, error) {
	raw, err := hex.DecodeString(strings.TrimPrefix(strings.TrimSpace(text), "0x"))
	if err != nil || len(raw) != 32 {
		return crypto.PrivateKey{}, errors.New("a private key must be 64 hex digits")
	}
	return crypto.NewPrivateKey([32]byte(raw))
}

// namePattern excludes the other forms of an account argument: hex keys have 64 digits, addresses more than 32
// characters. Names are lower case, as some file systems ignore case.
var namePattern = regexp.MustCompile(`^[a-z][a-z0-9_-]{0,31}$`)

// developmentName matches the names of development accounts.
var developmentName = regexp.MustCompile(`^dev([0-9]+|admin)$`)

// CheckName returns an error that wraps [ErrBadName] unless name is valid for a key or an account.
func CheckName(name string) error {
	if !namePattern.MatchString(name) {
		return fmt.Errorf("%w: %q must have 1 to 32 characters a-z, 0-9, - and _, beginning with a letter", ErrBadName, name)
	}
	if developmentName.MatchString(name) {
		return fmt.Errorf("%w: %s is the name of a development account", ErrBadName, name)
	}
	return nil
}

// formatVersion is the version of the file format.
const formatVersion = 1

// document is a file of the keystore.
type document struct {
	Version int `json:"version"`
	Entry
	Secret string `json:"secret,omitempty"` // armored age file of a sealedSecret, for a kind that has one
}

// sealedSecret is the plaintext of a document's secret.
type sealedSecret struct {
	PrivateKey string `json:"private_key,omitempty"` // 64 hex digits
	P256       string `json:"p256,omitempty"`        // likewise, of P-256
	Mnemonic   string `json:"mnemonic,omitempty"`
	Path       string `json:"path,omitempty"`
}

// PrivateKey returns the private key as 64 hex digits.
func (s Secret) PrivateKey() (string, error) {
	if s.P256 != nil {
		raw, err := s.P256.Bytes()
		return hex.EncodeToString(raw), err
	}
	raw := s.Key.Bytes()
	return hex.EncodeToString(raw[:]), nil
}

func (s Secret) encode() ([]byte, error) {
	private, err := s.PrivateKey()
	if err != nil {
		return nil, err
	}
	if s.P256 != nil {
		return json.Marshal(sealedSecret{P256: private})
	}
	return json.Marshal(sealedSecret{PrivateKey: private, Mnemonic: s.Mnemonic, Path: s.Path})
}

func decodeSecret(text []byte) (Secret, error) {
	var sealed sealedSecret
	if err := decodeStrict(text, &sealed); err != nil {
		return Secret{}, err
	}
	if sealed.P256 != "" {
		return ParseP256(sealed.P256)
	}
	key, err := ParsePrivateKey(sealed.PrivateKey)
	return Secret{Key: key, Mnemonic: sealed.Mnemonic, Path: sealed.Path}, err
}

func decodeDocument(text []byte, name string) (document, error) {
	var d document
	if err := decodeStrict(text, &d); err != nil {
		return document{}, err
	}
	switch {
	case d.Version != formatVersion:
		return document{}, fmt.Errorf("its format version is %d, but this program supports version %d", d.Version, formatVersion)
	case d.Name != name:
		return document{}, fmt.Errorf("its content has the name %q", d.Name)
	case d.Network.Prefix() == "":
		return document{}, fmt.Errorf("unknown network %q", d.Network)
	case !slices.Contains([]Kind{KindKey, KindP256, KindPolicy, KindAlias}, d.Kind),
		d.Kind.HasSecret() != (d.Secret != ""), d.Kind.HasPolicy() != (d.Policy != ""):
		return document{}, errors.New("it is neither a key nor a policy nor an alias")
	}
	if d.Kind.HasPolicy() {
		if _, err := d.ReadPolicy(); err != nil {
			return document{}, err
		}
	}
	return d, nil
}

// decodeStrict decodes one JSON document, and rejects unknown members and trailing data.
func decodeStrict(text []byte, into any) error {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		return err
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return errors.New("there is extra data after the JSON document")
	}
	return nil
}
