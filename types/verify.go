package types

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"

	"github.com/cairn-chain/cairn/crypto/bip322"
	"github.com/cairn-chain/cairn/crypto/bip340"
	"github.com/cairn-chain/cairn/crypto/p256"
)

// VerifyWitnesses verifies the transactions' witnesses on the calling goroutine: BIP-340 signatures as one batch, those
// over P-256 one by one. The result has an element for each transaction, which is nil unless all of its witnesses hold:
// the sender's, and the payer's exactly if there is a payer. A witness with an invalid policy does not hold.
func VerifyWitnesses(network Network, txs []*Tx) []*VerifiedTx {
	verified := make([]*VerifiedTx, len(txs))
	c := checks{schnorr: make([]bip340.SignedMessage, 0, len(txs)), owners: make([]int, 0, len(txs))}
	for i, tx := range txs {
		if v, ok := c.transaction(i, network, tx); ok {
			verified[i] = v
		}
	}
	for i, ok := range c.run(len(txs)) {
		if !ok {
			verified[i] = nil
		}
	}
	return verified
}

// VerifyMessage reports whether a witness holds for a message to a contract, by the owner rule of a policy. It does not
// look at the authority that the witness claims. The contract is zero for a message outside of contracts.
func VerifyMessage(
	network Network, chainID uint64, contract ContractID, account Account, message []byte, w Witness,
) bool {
	var c checks
	text := func() (string, bool) { return MessageText(network, chainID, contract, account, message), true }
	return c.witness(0, account, w, ownerRule, MessageHash(chainID, contract, account, message), text) && c.run(1)[0]
}

// checks collects signatures to be verified. Everything else about their witnesses has been checked.
type checks struct {
	schnorr []bip340.SignedMessage
	owners  []int // of schnorr: the number of the transaction
	p256    []p256Check
}

type p256Check struct {
	owner            int
	point, signature [64]byte
	digest           [32]byte
}

// transaction adds the signatures of a transaction. It returns false if something else about its witnesses is wrong.
func (c *checks) transaction(owner int, network Network, tx *Tx) (*VerifiedTx, bool) {
	signed := &tx.signed
	if (signed.Payer == nil) != (signed.PayerWitness == nil) {
		return nil, false
	}
	before, beforeP256 := len(c.schnorr), len(c.p256)
	rule := ownerRule
	if p, ok := signed.Payload.(SetPolicy); ok && p.Recovery {
		rule = recoveryRule
	}
	text := func() (string, bool) { return signed.Text(network) }
	v := &VerifiedTx{tx: tx, claim: signed.Witness.Claim(signed.Sender)}
	ok := c.witness(owner, signed.Sender, signed.Witness, rule, tx.id, text)
	if ok && signed.Payer != nil {
		text = func() (string, bool) { return signed.PayerText(network) }
		v.payerClaim = signed.PayerWitness.Claim(*signed.Payer)
		ok = c.witness(owner, *signed.Payer, signed.PayerWitness, ownerRule, PayerHash(tx.id), text)
	}
	if !ok {
		c.schnorr, c.owners, c.p256 = c.schnorr[:before], c.owners[:before], c.p256[:beforeP256]
	}
	return v, ok
}

// ownerRule and recoveryRule return the rule of a policy whose proofs a witness needs; false if the policy has none.
func ownerRule(p *Policy) (Rule, bool) { return p.Owner, true }

func recoveryRule(p *Policy) (Rule, bool) {
	if p.Recovery == nil {
		return Rule{}, false
	}
	return p.Recovery.Rule, true
}

// witness adds the signatures of a witness of an account for a message and its text.
func (c *checks) witness(
	owner int, account Account, w Witness, rule func(*Policy) (Rule, bool), message [32]byte, text func() (string, bool),
) bool {
	switch w := w.(type) {
	case WitnessKey:
		c.addSchnorr(owner, account, message, w.Signature)
		return true
	case WitnessText:
		return c.addText(owner, account, w.Signature, w.Sighash, text)
	case WitnessPolicy:
		if w.Policy.Check() != nil {
			return false
		}
		r, ok := rule(&w.Policy)
		return ok && c.proofs(owner, r, w.Proofs, message, text)
	default:
		return false
	}
}

// proofs adds the signatures of a rule's proofs.
func (c *checks) proofs(owner int, r Rule, proofs []Proof, message [32]byte, text func() (string, bool)) bool {
	if len(proofs) != int(r.Threshold) {
		return false
	}
	for i, p := range proofs {
		if i > 0 && p.Signer <= proofs[i-1].Signer || int(p.Signer) >= len(r.Signers) {
			return false
		}
		if !c.evidence(owner, r.Signers[p.Signer], p.Evidence, message, text) {
			return false
		}
	}
	return true
}

func (c *checks) evidence(owner int, s Signer, e Evidence, message [32]byte, text func() (string, bool)) bool {
	switch s := s.(type) {
	case SignerKey:
		switch e := e.(type) {
		case EvidenceKey:
			c.addSchnorr(owner, s.Key, message, e.Signature)
			return true
		case EvidenceText:
			return c.addText(owner, Account(s.Key), e.Signature, e.Sighash, text)
		}
	case SignerP256:
		if e, ok := e.(EvidenceP256); ok {
			c.p256 = append(c.p256, p256Check{owner, s.Point, e.Signature, sha256.Sum256(message[:])})
			return true
		}
	case SignerPasskey:
		if e, ok := e.(EvidencePasskey); ok && passkeyFits(s, e) {
			c.p256 = append(c.p256, p256Check{owner, s.Point, e.Signature, PasskeyDigest(message, e.Authenticator, e.Client)})
			return true
		}
	}
	return false
}

// Flags of authenticator data (WebAuthn level 3, §6.1).
const (
	passkeyFlags      = 32 // offset of the flags
	flagUserPresent   = 1 << 0
	flagUserVerified  = 1 << 2
	flagAttestedData  = 1 << 6
	flagExtensionData = 1 << 7
)

// passkeyOrigin begins the part of the client data that follows the challenge.
const passkeyOrigin = `","origin":"`

func passkeyFits(s SignerPasskey, e EvidencePasskey) bool {
	flags := e.Authenticator[passkeyFlags]
	need := byte(flagUserPresent)
	if s.Verified {
		need |= flagUserVerified
	}
	return bytes.HasPrefix(e.Client, []byte(passkeyOrigin)) &&
		flags&need == need && flags&(flagAttestedData|flagExtensionData) == 0
}

// PasskeyDigest returns the digest that a passkey signs for a message: SHA256(authenticator ‖ SHA256(clientDataJSON)).
// client is the part of clientDataJSON after the challenge.
func PasskeyDigest(message [32]byte, authenticator [37]byte, client []byte) [32]byte {
	data := make([]byte, 0, 128+len(client))
	data = append(data, `{"type":"webauthn.get","challenge":"`...)
	data = base64.RawURLEncoding.AppendEncode(data, message[:])
	data = append(data, client...)
	digest := sha256.Sum256(data)
	return sha256.Sum256(append(authenticator[:], digest[:]...))
}

func (c *checks) addSchnorr(owner int, key, message [32]byte, signature Signature) {
	c.schnorr = append(c.schnorr, bip340.SignedMessage{PublicKey: key, Message: message, Signature: signature})
	c.owners = append(c.owners, owner)
}

func (c *checks) addText(owner int, key Account, signature Signature, sighash uint8, text func() (string, bool)) bool {
	message, ok := text()
	if !ok || len(message) > MaxTextBytes || sighash > SighashAll {
		return false
	}
	c.addSchnorr(owner, key, bip322.Message(key, message, sighash), signature)
	return true
}

// run verifies the signatures and reports for each owner whether all of its signatures are valid. Signatures over P-256
// are expensive, so they come last and only for owners that have not failed.
func (c *checks) run(owners int) []bool {
	valid := make([]bool, owners)
	for i := range valid {
		valid[i] = true
	}
	for i, ok := range bip340.VerifyBatch(c.schnorr) {
		if !ok {
			valid[c.owners[i]] = false
		}
	}
	for _, check := range c.p256 {
		if valid[check.owner] {
			valid[check.owner] = p256.Verify(check.point, check.signature, check.digest)
		}
	}
	return valid
}

// EvidenceHolds reports whether the evidence of a rule's signer holds for a message. text returns the message's text
// for Bitcoin wallets, or false if there is none.
func EvidenceHolds(s Signer, e Evidence, message [32]byte, text func() (string, bool)) bool {
	var c checks
	return c.evidence(0, s, e, message, text) && c.run(1)[0]
}
