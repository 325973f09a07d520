package types

import (
	"github.com/cairn-chain/cairn/codec"
)

// Witness authorizes a transaction for its sender or payer: [WitnessKey], [WitnessText] or [WitnessPolicy].
type Witness interface {
	// Claim returns the authority that the witness claims for an account. It checks no signature.
	Claim(Account) Account
	encode(*codec.Encoder)
}

// WitnessKey is a BIP-340 signature by the account, as an x-only key, over the message.
type WitnessKey struct{ Signature Signature }

// WitnessText is the signature of a Bitcoin wallet with the account's taproot address over the transaction's text:
// BIP-322 simple, key path.
type WitnessText struct {
	Signature Signature
	Sighash   uint8 // [SighashDefault] or [SighashAll]
}

// Sighash bytes of texts.
const (
	SighashDefault uint8 = 0 // the wallet's signature has 64 bytes
	SighashAll     uint8 = 1 // it has 65, the last of which is 1
)

// WitnessPolicy holds proofs by the signers of a policy.
type WitnessPolicy struct {
	Policy Policy
	Proofs []Proof // ascending by signer
}

// Proof is the evidence of one signer of a rule.
type Proof struct {
	Signer   uint8 // place in the rule's signers, from 0
	Evidence Evidence
}

// Evidence is a signer's signature: [EvidenceKey], [EvidenceText], [EvidenceP256] or [EvidencePasskey].
type Evidence interface {
	encode(*codec.Encoder)
}

// EvidenceKey is a BIP-340 signature over the message.
type EvidenceKey struct{ Signature Signature }

// EvidenceText is a Bitcoin wallet's signature over the text; see [WitnessText].
type EvidenceText struct {
	Signature Signature
	Sighash   uint8
}

// EvidenceP256 is an ECDSA signature over SHA256(message).
type EvidenceP256 struct {
	Signature [64]byte // r ‖ s, big-endian; s is at most half the order
}

// EvidencePasskey is an assertion of WebAuthn with the message as challenge.
type EvidencePasskey struct {
	Authenticator [37]byte // authenticator data
	Client        []byte   // the client data after the challenge, at most [MaxClientBytes]
	Signature     [64]byte // r ‖ s, big-endian; s is at most half the order
}

const (
	witnessKey = iota
	witnessText
	witnessPolicy
	witnessKinds
)

const (
	evidenceKey = iota
	evidenceText
	evidenceP256
	evidencePasskey
	evidenceKinds
)

// Claim returns the account itself.
func (WitnessKey) Claim(a Account) Account { return a }

// Claim returns the account itself.
func (WitnessText) Claim(a Account) Account { return a }

// Claim returns the hash of the policy.
func (w WitnessPolicy) Claim(Account) Account { return w.Policy.Hash() }

func (w WitnessKey) encode(e *codec.Encoder) {
	e.U32(witnessKey)
	e.Fixed(w.Signature[:])
}

func (w WitnessText) encode(e *codec.Encoder) {
	e.U32(witnessText)
	e.Fixed(w.Signature[:])
	e.U8(w.Sighash)
}

func (w WitnessPolicy) encode(e *codec.Encoder) {
	e.U32(witnessPolicy)
	w.Policy.encode(e)
	e.U64(uint64(len(w.Proofs)))
	for _, p := range w.Proofs {
		p.encode(e)
	}
}

func (p Proof) encode(e *codec.Encoder) {
	e.U8(p.Signer)
	p.Evidence.encode(e)
}

func (v EvidenceKey) encode(e *codec.Encoder) {
	e.U32(evidenceKey)
	e.Fixed(v.Signature[:])
}

func (v EvidenceText) encode(e *codec.Encoder) {
	e.U32(evidenceText)
	e.Fixed(v.Signature[:])
	e.U8(v.Sighash)
}

func (v EvidenceP256) encode(e *codec.Encoder) {
	e.U32(evidenceP256)
	e.Fixed(v.Signature[:])
}

func (v EvidencePasskey) encode(e *codec.Encoder) {
	e.U32(evidencePasskey)
	e.Fixed(v.Authenticator[:])
	e.Bytes(v.Client)
	e.Fixed(v.Signature[:])
}

func encodeWitness(e *codec.Encoder, w Witness) { w.encode(e) }

func decodeWitness(d *codec.Decoder) Witness {
	switch d.Variant(witnessKinds) {
	case witnessText:
		var w WitnessText
		d.Fixed(w.Signature[:])
		w.Sighash = d.Variant8(SighashAll + 1)
		return w
	case witnessPolicy:
		w := WitnessPolicy{Policy: decodePolicy(d)}
		n := d.Length(MaxProofs, minProofBytes)
		if n > 0 {
			w.Proofs = make([]Proof, n)
		}
		for i := range w.Proofs {
			w.Proofs[i] = decodeProof(d)
		}
		return w
	default:
		var w WitnessKey
		d.Fixed(w.Signature[:])
		return w
	}
}

func decodeProof(d *codec.Decoder) Proof {
	return Proof{Signer: d.U8(), Evidence: decodeEvidence(d)}
}

func decodeEvidence(d *codec.Decoder) Evidence {
	switch d.Variant(evidenceKinds) {
	case evidenceText:
		var v EvidenceText
		d.Fixed(v.Signature[:])
		v.Sighash = d.Variant8(SighashAll + 1)
		return v
	case evidenceP256:
		var v EvidenceP256
		d.Fixed(v.Signature[:])
		return v
	case evidencePasskey:
		var v EvidencePasskey
		d.Fixed(v.Authenticator[:])
		v.Client = d.Bytes(MaxClientBytes)
		d.Fixed(v.Signature[:])
		return v
	default:
		var v EvidenceKey
		d.Fixed(v.Signature[:])
		return v
	}
}

// EncodeWitness returns bincode(Witness).
func EncodeWitness(w Witness) []byte {
	e := codec.NewEncoder(128)
	w.encode(e)
	return e.Data()
}

// DecodeWitness decodes the output of [EncodeWitness]. Byte fields alias b.
func DecodeWitness(b []byte) (Witness, error) {
	if err := checkTransactionSize(len(b)); err != nil {
		return nil, err
	}
	d := codec.NewDecoder(b)
	w := decodeWitness(d)
	if err := d.Finish(); err != nil {
		return nil, err
	}
	return w, nil
}

// WitnessBytes returns the length of bincode(Witness).
func WitnessBytes(w Witness) int {
	switch w.(type) {
	case WitnessKey:
		return 4 + 64
	case WitnessText:
		return 4 + 64 + 1
	default:
		return len(EncodeWitness(w))
	}
}

// Encode returns bincode(Proof), which a co-signer sends to the proposer of a transaction.
func (p Proof) Encode() []byte {
	e := codec.NewEncoder(128)
	p.encode(e)
	return e.Data()
}

// DecodeProof decodes the output of [Proof.Encode]. Byte fields alias b.
func DecodeProof(b []byte) (Proof, error) {
	if err := checkTransactionSize(len(b)); err != nil {
		return Proof{}, err
	}
	d := codec.NewDecoder(b)
	p := decodeProof(d)
	return p, d.Finish()
}
