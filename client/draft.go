package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/types"
)

// Draft is a transaction that several signers sign one after the other, with the signatures so far. They pass it on as
// a JSON file. Each signature in it was verified when it was added or read.
type Draft struct {
	Network     types.Network
	Transaction types.Transaction
	Sender      Signatures
	Payer       Signatures // empty without a payer
}

// Signatures holds one account's signatures so far: the witness of a key account, or a policy and the proofs of its
// signers.
type Signatures struct {
	Witness types.Witness // of a key account: a [types.WitnessKey] or [types.WitnessText]; nil: none yet
	Policy  *types.Policy // nil for a key account
	Proofs  []types.Proof // ascending by signer
}

// NewDraft returns a draft without signatures of a transaction on a network's chain. The policy of its sender or payer
// is nil for a key account.
func NewDraft(network types.Network, tx types.Transaction, sender, payer *types.Policy) (*Draft, error) {
	d := &Draft{
		Network: network, Transaction: tx, Sender: Signatures{Policy: sender}, Payer: Signatures{Policy: payer},
	}
	return d, d.check()
}

// ErrBadDraft is returned for a malformed or inconsistent draft.
var ErrBadDraft = errors.New("bad draft of a transaction")

// maxDraftBytes is the maximum size of a draft's JSON: the transaction and its witnesses in hex, and the names.
const maxDraftBytes = 2*types.MaxTransactionBytes + 4096

// draftFormat identifies the format of a draft's JSON.
const draftFormat = "cairn-draft/1"

// draftJSON is the JSON of a [Draft]. All bytes are encodings of docs/protocol.md.
type draftJSON struct {
	Format      string          `json:"format"`
	Network     types.Network   `json:"network"`
	Transaction api.Data        `json:"transaction"` // the unsigned form
	Sender      signaturesJSON  `json:"sender"`
	Payer       *signaturesJSON `json:"payer,omitempty"`
}

type signaturesJSON struct {
	Policy  api.Data   `json:"policy,omitempty"`  // Policy
	Proofs  []api.Data `json:"proofs,omitempty"`  // each a Proof
	Witness api.Data   `json:"witness,omitempty"` // Witness
}

// MarshalJSON implements [json.Marshaler].
func (d *Draft) MarshalJSON() ([]byte, error) {
	text := draftJSON{
		Format: draftFormat, Network: d.Network, Transaction: d.Transaction.EncodeUnsigned(), Sender: d.Sender.json(),
	}
	if d.Transaction.Payer != nil {
		text.Payer = new(d.Payer.json())
	}
	return json.Marshal(text)
}

func (s Signatures) json() (text signaturesJSON) {
	if s.Policy != nil {
		text.Policy = s.Policy.Encode()
	}
	for _, proof := range s.Proofs {
		text.Proofs = append(text.Proofs, proof.Encode())
	}
	if s.Witness != nil {
		text.Witness = types.EncodeWitness(s.Witness)
	}
	return text
}

// ParseDraft reads a draft's JSON and verifies the signatures in it. It returns [ErrBadDraft] or [ErrEvidence].
func ParseDraft(text []byte) (*Draft, error) {
	if len(text) > maxDraftBytes {
		return nil, fmt.Errorf("%w: it has more than %d bytes", ErrBadDraft, maxDraftBytes)
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	var read draftJSON
	if err := decoder.Decode(&read); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrBadDraft, err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%w: there is extra data after the JSON", ErrBadDraft)
	}
	switch {
	case read.Format != draftFormat:
		return nil, fmt.Errorf("%w: its format is %q, but this program supports %q", ErrBadDraft, read.Format, draftFormat)
	case read.Network.Prefix() == "":
		return nil, fmt.Errorf("%w: the network %q is unknown", ErrBadDraft, read.Network)
	}
	d := &Draft{Network: read.Network}
	var err error
	if d.Transaction, err = types.DecodeUnsigned(read.Transaction); err != nil {
		return nil, fmt.Errorf("%w: the transaction: %w", ErrBadDraft, err)
	}
	if d.Sender, err = read.Sender.decode(); err == nil && read.Payer != nil {
		d.Payer, err = read.Payer.decode()
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrBadDraft, err)
	}
	return d, d.check()
}

func (text signaturesJSON) decode() (s Signatures, err error) {
	if text.Policy != nil {
		policy, err := types.DecodePolicy(text.Policy)
		if err != nil {
			return s, err
		}
		s.Policy = &policy
	}
	for _, encoded := range text.Proofs {
		proof, err := types.DecodeProof(encoded)
		if err != nil {
			return s, err
		}
		s.Proofs = append(s.Proofs, proof)
	}
	if text.Witness != nil {
		s.Witness, err = types.DecodeWitness(text.Witness)
	}
	return s, err
}

// check checks the form and all signatures of the draft.
func (d *Draft) check() error {
	tx := d.Transaction
	if tx.Payer == nil && (d.Payer.Policy != nil || d.Payer.Witness != nil || d.Payer.Proofs != nil) {
		return fmt.Errorf("%w: it has signatures of a payer but no payer", ErrBadDraft)
	}
	for _, role := range d.roles() {
		s := d.of(role)
		switch w := s.Witness.(type) {
		case nil:
		case types.WitnessKey:
			if err := d.holds(role, types.EvidenceKey(w)); err != nil {
				return err
			}
		case types.WitnessText:
			if err := d.holds(role, types.EvidenceText(w)); err != nil {
				return err
			}
		default:
			return fmt.Errorf("%w: the %s's policy and proofs do not stand apart", ErrBadDraft, role)
		}
		if s.Policy == nil {
			if len(s.Proofs) > 0 {
				return fmt.Errorf("%w: it has the %s's proofs without the policy", ErrBadDraft, role)
			}
			continue
		}
		if s.Witness != nil {
			return fmt.Errorf("%w: it has both a policy of the %s and a witness", ErrBadDraft, role)
		}
		if err := d.checkProofs(role, *s.Policy, s.Proofs); err != nil {
			return err
		}
	}
	return nil
}

// roles returns the roles that must sign.
func (d *Draft) roles() []Role {
	if d.Transaction.Payer == nil {
		return []Role{AsSender}
	}
	return []Role{AsSender, AsPayer}
}

func (d *Draft) of(role Role) *Signatures {
	if role == AsPayer {
		return &d.Payer
	}
	return &d.Sender
}

// Account returns the account that signs in a role, which must be one of the transaction's.
func (d *Draft) Account(role Role) (types.Account, error) {
	switch {
	case role == AsSender:
		return d.Transaction.Sender, nil
	case d.Transaction.Payer == nil:
		return types.Account{}, fmt.Errorf("%w: it has no payer", ErrBadDraft)
	}
	return *d.Transaction.Payer, nil
}

// holds checks the evidence of a key account.
func (d *Draft) holds(role Role, evidence types.Evidence) error {
	account, err := d.Account(role)
	if err != nil {
		return err
	}
	what := StatementOf(d.Transaction, role)
	if !what.holds(d.Network, types.SignerKey{Key: types.PublicKey(account)}, evidence) {
		return fmt.Errorf("%w: the %s's", ErrEvidence, role)
	}
	return nil
}

func (d *Draft) checkProofs(role Role, policy types.Policy, proofs []types.Proof) error {
	if err := policy.Check(); err != nil {
		return fmt.Errorf("%w: the %s's policy: %w", ErrBadDraft, role, err)
	}
	rule := RuleFor(policy, d.Transaction.Payload, role)
	if rule.Threshold == 0 {
		return fmt.Errorf("%w: the policy in force has no recovery", ErrBadDraft)
	}
	what := StatementOf(d.Transaction, role)
	for i, proof := range proofs {
		switch {
		case i > 0 && proofs[i-1].Signer >= proof.Signer:
			return fmt.Errorf("%w: the %s's proofs do not ascend", ErrBadDraft, role)
		case int(proof.Signer) >= len(rule.Signers):
			return fmt.Errorf("%w: the %s's rule has no signer %d", ErrBadDraft, role, proof.Signer)
		case !what.holds(d.Network, rule.Signers[proof.Signer], proof.Evidence):
			return fmt.Errorf("%w: the evidence of signer %d of the %s's policy", ErrEvidence, proof.Signer, role)
		}
	}
	return nil
}

// Rule returns the rule that signs in a role. For a key account it is the account's key alone.
func (d *Draft) Rule(role Role) (types.Rule, error) {
	account, err := d.Account(role)
	if err != nil {
		return types.Rule{}, err
	}
	if policy := d.of(role).Policy; policy != nil {
		return RuleFor(*policy, d.Transaction.Payload, role), nil
	}
	return types.Rule{Threshold: 1, Signers: []types.Signer{types.SignerKey{Key: types.PublicKey(account)}}}, nil
}

// Missing returns the number of signatures that a role still needs, and the signers that can give them.
func (d *Draft) Missing(role Role) (count int, from []types.Signer, err error) {
	rule, err := d.Rule(role)
	if err != nil {
		return 0, nil, err
	}
	s := d.of(role)
	if s.Witness != nil {
		return 0, nil, nil
	}
	count = max(int(rule.Threshold)-len(s.Proofs), 0)
	if count == 0 {
		return 0, nil, nil
	}
	for i, signer := range rule.Signers {
		if !slices.ContainsFunc(s.Proofs, func(p types.Proof) bool { return int(p.Signer) == i }) {
			from = append(from, signer)
		}
	}
	return count, from, nil
}

// Sign adds the signature of a cosigner in a role. The key of a key account is its only cosigner. It returns
// [ErrNotSigner] or [ErrEvidence].
func (d *Draft) Sign(ctx context.Context, role Role, cosigner Cosigner) error {
	rule, err := d.Rule(role)
	if err != nil {
		return err
	}
	proof, err := prove(ctx, d.Network, StatementOf(d.Transaction, role), rule, cosigner)
	if err != nil {
		return err
	}
	d.add(role, proof)
	return nil
}

// Attach adds a Bitcoin wallet's signature of the text (see [ParseTextSignature]). key belongs to a cosigner or is the
// account itself.
func (d *Draft) Attach(role Role, key types.PublicKey, signature string) error {
	given := func(context.Context, types.Account, string) (string, error) { return signature, nil }
	return d.Sign(context.Background(), role, NewTextSigner(d.Network, types.Account(key), given))
}

// Text returns the text that wallets show and sign in a role.
func (d *Draft) Text(role Role) (string, error) {
	return StatementOf(d.Transaction, role).Text(d.Network)
}

func (d *Draft) add(role Role, proof types.Proof) {
	s := d.of(role)
	if s.Policy == nil {
		switch e := proof.Evidence.(type) {
		case types.EvidenceKey:
			s.Witness = types.WitnessKey(e)
		case types.EvidenceText:
			s.Witness = types.WitnessText(e)
		}
		return
	}
	s.Proofs = slices.DeleteFunc(s.Proofs, func(p types.Proof) bool { return p.Signer == proof.Signer })
	s.Proofs = sortedProofs(append(s.Proofs, proof))
}

// Merge adds the signatures of another draft of the same transaction.
func (d *Draft) Merge(other *Draft) error {
	if d.Network != other.Network || d.Transaction.Hash() != other.Transaction.Hash() {
		return fmt.Errorf("%w: they belong to different transactions", ErrBadDraft)
	}
	for _, role := range d.roles() {
		mine, others := d.of(role), other.of(role)
		if (mine.Policy == nil) != (others.Policy == nil) ||
			mine.Policy != nil && mine.Policy.Hash() != others.Policy.Hash() {
			return fmt.Errorf("%w: they have different policies of the %s", ErrBadDraft, role)
		}
		if mine.Witness == nil {
			mine.Witness = others.Witness
		}
		for _, proof := range others.Proofs {
			d.add(role, proof)
		}
	}
	return nil
}

// Signed returns the transaction with its witnesses. It returns [ErrMissingProofs] if signatures of the sender are
// missing. If signatures of the payer are missing, PayerWitness is nil, and [Sponsor] can add it.
func (d *Draft) Signed() (types.SignedTransaction, error) {
	signed := types.SignedTransaction{Transaction: d.Transaction}
	for _, role := range d.roles() {
		witness, err := d.witness(role)
		switch {
		case role == AsPayer && errors.Is(err, ErrMissingProofs):
		case err != nil:
			return signed, err
		case role == AsPayer:
			signed.PayerWitness = witness
		default:
			signed.Witness = witness
		}
	}
	return signed, nil
}

// witness returns the witness of a role from the signatures so far.
func (d *Draft) witness(role Role) (types.Witness, error) {
	missing, _, err := d.Missing(role)
	if err != nil {
		return nil, err
	}
	if missing > 0 {
		return nil, fmt.Errorf("%w: for the %s, %d more", ErrMissingProofs, role, missing)
	}
	s := d.of(role)
	if s.Policy == nil {
		return s.Witness, nil
	}
	rule := RuleFor(*s.Policy, d.Transaction.Payload, role)
	return types.WitnessPolicy{Policy: *s.Policy, Proofs: s.Proofs[:rule.Threshold]}, nil
}
