package types

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/cairn-chain/cairn/codec"
	"github.com/cairn-chain/cairn/crypto/bip340"
)

var policyTag = bip340.NewTag("cairn/policy/v2")

// Policy says who may sign for an account (docs/protocol.md, "Witnesses").
type Policy struct {
	Number   uint64 // no effect on signing: gives the same signers several accounts
	Owner    Rule
	Recovery *Recovery // nil: none
}

// Recovery says who may replace a policy, in force only after a delay.
type Recovery struct {
	Rule  Rule
	Delay uint64 // milliseconds, 1 to [MaxRecoveryDelay]
}

// Rule asks for the proofs of exactly threshold of its signers.
type Rule struct {
	Threshold uint8
	Signers   []Signer // strictly ascending by their encoding
}

// Signer is one of a rule's signers: [SignerKey], [SignerP256] or [SignerPasskey].
type Signer interface {
	encode(*codec.Encoder)
}

// SignerKey signs by BIP-340, or as a Bitcoin wallet with the key's taproot address.
type SignerKey struct{ Key PublicKey }

// SignerP256 signs by ECDSA over P-256, as security modules and browsers do.
type SignerP256 struct {
	Point [64]byte // x ‖ y, big-endian
}

// SignerPasskey signs with a passkey.
type SignerPasskey struct {
	Point    [64]byte // x ‖ y, big-endian
	Verified bool     // the authenticator must have verified its user
}

const (
	signerKey = iota
	signerP256
	signerPasskey
	signerKinds
)

func (s SignerKey) encode(e *codec.Encoder) {
	e.U32(signerKey)
	e.Fixed(s.Key[:])
}

func (s SignerP256) encode(e *codec.Encoder) {
	e.U32(signerP256)
	e.Fixed(s.Point[:])
}

func (s SignerPasskey) encode(e *codec.Encoder) {
	e.U32(signerPasskey)
	e.Fixed(s.Point[:])
	e.Bool(s.Verified)
}

func decodeSigner(d *codec.Decoder) Signer {
	switch d.Variant(signerKinds) {
	case signerP256:
		var s SignerP256
		d.Fixed(s.Point[:])
		return s
	case signerPasskey:
		var s SignerPasskey
		d.Fixed(s.Point[:])
		s.Verified = d.Bool()
		return s
	default:
		var s SignerKey
		d.Fixed(s.Key[:])
		return s
	}
}

// EncodeSigner returns bincode(Signer), by which the signers of a rule ascend.
func EncodeSigner(s Signer) []byte {
	e := codec.NewEncoder(69)
	s.encode(e)
	return e.Data()
}

func (r Rule) encode(e *codec.Encoder) {
	e.U8(r.Threshold)
	e.U64(uint64(len(r.Signers)))
	for _, s := range r.Signers {
		s.encode(e)
	}
}

func decodeRule(d *codec.Decoder) Rule {
	r := Rule{Threshold: d.U8()}
	n := d.Length(MaxSigners, minSignerBytes)
	if n > 0 {
		r.Signers = make([]Signer, n)
	}
	for i := range r.Signers {
		r.Signers[i] = decodeSigner(d)
	}
	return r
}

func (p Policy) encode(e *codec.Encoder) {
	e.U64(p.Number)
	p.Owner.encode(e)
	e.Option(p.Recovery != nil)
	if p.Recovery != nil {
		p.Recovery.Rule.encode(e)
		e.U64(p.Recovery.Delay)
	}
}

func decodePolicy(d *codec.Decoder) Policy {
	p := Policy{Number: d.U64(), Owner: decodeRule(d)}
	if d.Option() {
		p.Recovery = &Recovery{Rule: decodeRule(d), Delay: d.U64()}
	}
	return p
}

// Encode returns bincode(Policy). Without it, nobody can sign for the policy's account.
func (p Policy) Encode() []byte {
	e := codec.NewEncoder(256)
	p.encode(e)
	return e.Data()
}

// DecodePolicy decodes the output of [Policy.Encode]. It does not check whether the policy is valid.
func DecodePolicy(b []byte) (Policy, error) {
	if err := checkTransactionSize(len(b)); err != nil {
		return Policy{}, err
	}
	d := codec.NewDecoder(b)
	p := decodePolicy(d)
	return p, d.Finish()
}

// Hash returns the policy hash, tagged("cairn/policy/v2", bincode(Policy)): the policy's own account, and the authority
// of every account that has set this policy.
func (p Policy) Hash() Account { return Account(policyTag.Hash(p.Encode())) }

// ErrBadPolicy is returned for a policy that is not valid.
var ErrBadPolicy = errors.New("policy is not valid")

// Check returns an error that wraps [ErrBadPolicy] if the policy is not valid. It does not check that keys and points
// are on their curves: a signer whose key is not can never sign.
func (p Policy) Check() error {
	if err := p.Owner.check("owner"); err != nil {
		return err
	}
	if p.Recovery == nil {
		return nil
	}
	if p.Recovery.Delay < 1 || p.Recovery.Delay > MaxRecoveryDelay {
		return fmt.Errorf("%w: a delay of %d ms, must be 1 to 2^40", ErrBadPolicy, p.Recovery.Delay)
	}
	return p.Recovery.Rule.check("recovery")
}

func (r Rule) check(name string) error {
	if len(r.Signers) > MaxSigners || r.Threshold < 1 || int(r.Threshold) > len(r.Signers) {
		return fmt.Errorf("%w: the %s rule asks for %d of %d signers, at most %d",
			ErrBadPolicy, name, r.Threshold, len(r.Signers), MaxSigners)
	}
	var last []byte
	for i, s := range r.Signers {
		encoded := EncodeSigner(s)
		if i > 0 && bytes.Compare(last, encoded) >= 0 {
			return fmt.Errorf("%w: signers %d and %d of the %s rule do not ascend", ErrBadPolicy, i-1, i, name)
		}
		last = encoded
	}
	return nil
}
