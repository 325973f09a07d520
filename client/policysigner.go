package client

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/cairn-chain/cairn/types"
)

// Errors of policies and their signers.
var (
	// ErrMissingProofs is returned if fewer signers signed than the policy requires.
	ErrMissingProofs = errors.New("more of the policy's signers must sign")
	// ErrNotSigner is returned for evidence by a signer that the policy's rule does not have.
	ErrNotSigner = errors.New("it is not one of the signers")
	// ErrEvidence is returned for invalid evidence.
	ErrEvidence = errors.New("the signature is invalid")
)

// Cosigner signs as one of the signers of a policy.
type Cosigner interface {
	// Signer returns the signer in the form that the policy has.
	Signer() types.Signer
	// Evidence signs a statement.
	Evidence(ctx context.Context, what Statement) (types.Evidence, error)
}

// NewRule returns the rule that requires threshold of the signers, ordered as a policy must be. It returns
// [types.ErrBadPolicy] for an impossible threshold, and for two signers with one key, since the chain would count them
// as two.
func NewRule(threshold int, signers ...types.Signer) (types.Rule, error) {
	if threshold < 1 || threshold > len(signers) || len(signers) > types.MaxSigners {
		return types.Rule{}, fmt.Errorf("%w: %d of %d signers, of 1 to %d", types.ErrBadPolicy, threshold, len(signers),
			types.MaxSigners)
	}
	sorted := slices.SortedFunc(slices.Values(signers), func(a, b types.Signer) int {
		return bytes.Compare(types.EncodeSigner(a), types.EncodeSigner(b))
	})
	seen := make(map[string]bool, len(sorted))
	for _, s := range sorted {
		key := keyOf(s)
		if seen[key] {
			return types.Rule{}, fmt.Errorf("%w: duplicate key", types.ErrBadPolicy)
		}
		seen[key] = true
	}
	return types.Rule{Threshold: uint8(threshold), Signers: sorted}, nil
}

// keyOf returns the key of a signer, which identifies two signers with one key.
func keyOf(s types.Signer) string {
	switch s := s.(type) {
	case types.SignerP256:
		return string(s.Point[:])
	case types.SignerPasskey:
		return string(s.Point[:])
	case types.SignerKey:
		return string(s.Key[:])
	}
	return string(types.EncodeSigner(s))
}

// SinglePolicy returns the policy of a single signer, without a recovery. Wallets can derive it again from a passkey
// alone, if that must verify its user.
func SinglePolicy(signer types.Signer) types.Policy {
	return types.Policy{Owner: types.Rule{Threshold: 1, Signers: []types.Signer{signer}}}
}

// PolicyAccount is an account that a policy signs for. Its ID is the policy's hash, unless the account began with
// another authority and set the policy later.
type PolicyAccount struct {
	ID     types.Account
	Policy types.Policy
}

// Account implements [Party].
func (a PolicyAccount) Account() types.Account { return a.ID }

// sampleClient is the length of a passkey's client data in samples. Browsers write 40 to 200 bytes after the challenge.
const sampleClient = 256

// Sample implements [Party]. It assumes that the most expensive signers sign.
func (a PolicyAccount) Sample(payload types.Payload, role Role) types.Witness {
	rule := RuleFor(a.Policy, payload, role)
	proofs := make([]types.Proof, len(rule.Signers))
	for i, s := range rule.Signers {
		proofs[i] = types.Proof{Signer: uint8(i), Evidence: sampleEvidence(s)}
	}
	slices.SortStableFunc(proofs, func(a, b types.Proof) int {
		return cmp.Compare(evidenceRank(b.Evidence), evidenceRank(a.Evidence))
	})
	return types.WitnessPolicy{Policy: a.Policy, Proofs: sortedProofs(proofs[:min(int(rule.Threshold), len(proofs))])}
}

// sampleEvidence returns the largest evidence that a signer is likely to produce.
func sampleEvidence(s types.Signer) types.Evidence {
	switch s.(type) {
	case types.SignerP256:
		return types.EvidenceP256{}
	case types.SignerPasskey:
		return types.EvidencePasskey{Client: make([]byte, sampleClient)}
	default:
		return types.EvidenceText{}
	}
}

// evidenceRank orders evidence by its gas. P-256 costs several times as much as a key, and a passkey's evidence is
// longer.
func evidenceRank(e types.Evidence) int {
	switch e.(type) {
	case types.EvidencePasskey:
		return 2
	case types.EvidenceP256:
		return 1
	default:
		return 0
	}
}

// RuleFor returns the rule of a policy that signs a payload in a role: the recovery's rule for the sender of a
// recovery, otherwise the owner's. It is empty for a recovery if the policy has none.
func RuleFor(policy types.Policy, payload types.Payload, role Role) types.Rule {
	set, is := payload.(types.SetPolicy)
	switch {
	case !is || !set.Recovery || role != AsSender:
		return policy.Owner
	case policy.Recovery == nil:
		return types.Rule{}
	}
	return policy.Recovery.Rule
}

func sortedProofs(proofs []types.Proof) []types.Proof {
	return slices.SortedFunc(slices.Values(proofs), func(a, b types.Proof) int { return cmp.Compare(a.Signer, b.Signer) })
}

// PolicySigner signs for an account by a policy: it asks its cosigners for as many proofs as the rule requires. For
// cosigners elsewhere, see [Draft].
type PolicySigner struct {
	PolicyAccount
	network   types.Network
	cosigners []Cosigner
}

// NewPolicySigner returns the signer of an account on a network by the policy in force for the account. It asks
// cosigners in the given order.
func NewPolicySigner(network types.Network, account PolicyAccount, cosigners ...Cosigner) (PolicySigner, error) {
	if err := account.Policy.Check(); err != nil {
		return PolicySigner{}, err
	}
	return PolicySigner{PolicyAccount: account, network: network, cosigners: cosigners}, nil
}

// Sign implements [Signer]. It returns [ErrMissingProofs] if too few of the cosigners are in the rule that signs.
func (s PolicySigner) Sign(ctx context.Context, tx types.Transaction, role Role) (types.Witness, error) {
	if err := checkRole(tx, role, s.ID); err != nil {
		return nil, err
	}
	return s.witness(ctx, StatementOf(tx, role), RuleFor(s.Policy, tx.Payload, role))
}

// SignMessage implements [Signer].
func (s PolicySigner) SignMessage(ctx context.Context, m Message) (types.Witness, error) {
	if m.Account != s.ID {
		return nil, ErrOtherAccount
	}
	return s.witness(ctx, m.Statement(), s.Policy.Owner)
}

func (s PolicySigner) witness(ctx context.Context, what Statement, rule types.Rule) (types.Witness, error) {
	var proofs []types.Proof
	for _, cosigner := range s.cosigners {
		if len(proofs) == int(rule.Threshold) {
			break
		}
		number, ok := placeOf(rule, cosigner.Signer())
		if !ok || slices.ContainsFunc(proofs, func(p types.Proof) bool { return p.Signer == number }) {
			continue
		}
		proof, err := prove(ctx, s.network, what, rule, cosigner)
		if err != nil {
			return nil, err
		}
		proofs = append(proofs, proof)
	}
	if len(proofs) < int(rule.Threshold) || rule.Threshold == 0 {
		return nil, fmt.Errorf("%w: %d of %d", ErrMissingProofs, len(proofs), rule.Threshold)
	}
	return types.WitnessPolicy{Policy: s.Policy, Proofs: sortedProofs(proofs)}, nil
}

// placeOf returns the index of a signer in a rule.
func placeOf(rule types.Rule, signer types.Signer) (uint8, bool) {
	at := slices.Index(rule.Signers, signer)
	return uint8(max(at, 0)), at >= 0
}

// prove asks a cosigner to sign, and verifies its evidence.
func prove(
	ctx context.Context, network types.Network, what Statement, rule types.Rule, cosigner Cosigner,
) (types.Proof, error) {
	number, ok := placeOf(rule, cosigner.Signer())
	if !ok {
		return types.Proof{}, ErrNotSigner
	}
	evidence, err := cosigner.Evidence(ctx, what)
	if err == nil && !what.holds(network, cosigner.Signer(), evidence) {
		err = ErrEvidence
	}
	return types.Proof{Signer: number, Evidence: evidence}, err
}
