package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/cli/argument"
	"github.com/cairn-chain/cairn/cli/keystore"
	"github.com/cairn-chain/cairn/cli/output"
	"github.com/cairn-chain/cairn/client"
	"github.com/cairn-chain/cairn/types"
)

// signatory is an account that signs a transaction, with the policy that is in force for it.
type signatory struct {
	argument.Account
	policy *types.Policy // nil: the account's own key signs
	chain  argument.Chain
}

// signatory asks the node who signs for an account. A policy that neither the node nor the keystore knows is an error.
func (s *session) signatory(ctx context.Context, account argument.Account) (signatory, error) {
	chain, err := s.chain(ctx)
	if err != nil {
		return signatory{}, err
	}
	found, err := s.client.Account(ctx, account.ID, api.Latest())
	if err != nil {
		return signatory{}, err
	}
	who := signatory{Account: account, chain: chain}
	authority, policy := found.Authority, found.Policy
	if r := found.Recovery; r != nil && r.From <= uint64(max(time.Now().UnixMilli(), 0)) {
		authority, policy = r.Authority, r.Policy // in force with the next block
	}
	if who.policy = s.policyOf(authority, account.Policy, policy); who.policy == nil && authority != account.ID {
		return who, fmt.Errorf("the policy %s signs for %s, but is not in the keystore: import it with cairn account "+
			"policy import",
			chain.Network.Address(authority), account.Text)
	}
	return who, nil
}

// policyOf returns the policy with a hash: one of those given, or one of the keystore; nil if there is none.
func (s *session) policyOf(hash types.Account, given ...*types.Policy) *types.Policy {
	for _, policy := range given {
		if policy != nil && policy.Hash() == hash {
			return policy
		}
	}
	entries, _, err := s.store.List()
	if err != nil {
		return nil // without a keystore there are no policies
	}
	for _, entry := range entries {
		if !entry.Kind.HasPolicy() || entry.Account != hash {
			continue
		}
		if policy, err := entry.ReadPolicy(); err == nil {
			return &policy
		}
	}
	return nil
}

// party returns the account as one that may sign elsewhere.
func (w signatory) party() client.Party {
	switch {
	case w.policy != nil:
		return client.PolicyAccount{ID: w.ID, Policy: *w.policy}
	case w.CanSign() == nil:
		return heldKey{client.KeyAccount(w.ID)}
	}
	return client.KeyAccount(w.ID)
}

// heldKey is an account whose own key is here, and signs as keys do.
type heldKey struct{ client.KeyAccount }

// Sample implements [client.Party].
func (heldKey) Sample(types.Payload, client.Role) types.Witness { return types.WitnessKey{} }

// errSignElsewhere is returned if too few of the signers have keys here.
var errSignElsewhere = errors.New("not enough of the policy's signers have keys in this keystore: write the " +
	"transaction to a file with --draft FILE, and have the others sign it with cairn tx sign FILE")

// signer unlocks the keys that sign a payload for the account in a role.
func (s *session) signer(
	ctx context.Context, who signatory, payload types.Payload, role client.Role,
) (client.Signer, error) {
	if who.policy == nil {
		if err := who.CanSign(); err != nil {
			return nil, output.Usage(err)
		}
		secret, err := s.secret(ctx, who.Account)
		return client.NewSigner(secret.Key), err
	}
	rule := client.RuleFor(*who.policy, payload, role)
	if rule.Threshold == 0 {
		return nil, output.Usage(fmt.Errorf("the policy of %s has no recovery", who.Text))
	}
	holders := s.holders(rule, who.chain)
	if len(holders) < int(rule.Threshold) {
		return nil, errSignElsewhere
	}
	var cosigners []client.Cosigner
	for _, holder := range holders[:rule.Threshold] {
		cosigner, err := s.cosigner(ctx, holder)
		if err != nil {
			return nil, err
		}
		cosigners = append(cosigners, cosigner)
	}
	return client.NewPolicySigner(who.chain.Network, client.PolicyAccount{ID: who.ID, Policy: *who.policy}, cosigners...)
}

// holders returns the accounts with a private key here that are signers of a rule, in its order.
func (s *session) holders(rule types.Rule, chain argument.Chain) (holders []argument.Account) {
	known := make(map[types.Signer]argument.Account)
	names := []string{}
	if entries, _, err := s.store.List(); err == nil {
		for _, entry := range entries {
			names = append(names, entry.Name)
		}
	}
	if chain.ID == api.DevelopmentChainID {
		names = append(names, argument.DevelopmentNames()...)
	}
	for _, name := range names {
		account, err := argument.ParseAccount(s.store, name)
		if err != nil {
			continue // unreadable entries hold nothing
		}
		if signer, ok := signerOf(account); ok {
			known[signer] = account
		}
	}
	for _, signer := range rule.Signers {
		if holder, ok := known[signer]; ok {
			holders = append(holders, holder)
		}
	}
	return holders
}

// signerOf returns an account with a private key as a signer of policies.
func signerOf(account argument.Account) (types.Signer, bool) {
	switch {
	case account.IsKey():
		return types.SignerKey{Key: types.PublicKey(account.ID)}, true
	case account.Kind == keystore.KindP256:
		return account.Policy.Owner.Signers[0], true
	}
	return nil, false
}

// cosigner unlocks the key of an account that is a signer of policies.
func (s *session) cosigner(ctx context.Context, holder argument.Account) (client.Cosigner, error) {
	secret, err := s.secret(ctx, holder)
	if err != nil {
		return nil, err
	}
	if secret.P256 != nil {
		return client.NewP256Signer(secret.P256)
	}
	return client.NewSigner(secret.Key), nil
}

// secret unlocks the key of an account.
func (s *session) secret(ctx context.Context, account argument.Account) (keystore.Secret, error) {
	return account.Secret(s.store, func(name string) (string, error) { return s.password(ctx, name) })
}

// ownKey unlocks the key of an account that signs for itself, for commands that need the key.
func (s *session) ownKey(ctx context.Context, account argument.Account) (client.KeySigner, error) {
	if !account.IsKey() {
		return client.KeySigner{}, output.Usage(fmt.Errorf("%s is signed for by a policy, but this command needs an "+
			"account with a key", account.Text))
	}
	secret, err := s.secret(ctx, account)
	return client.NewSigner(secret.Key), err
}

// cairnOnly warns of an address that is not known to be a key's.
const cairnOnly = "for Cairn only: bitcoins sent to the address of a policy or contract are lost forever"

// describeSigner describes a signer of a policy in a line.
func (s *session) describeSigner(network types.Network, signer types.Signer) string {
	switch signer := signer.(type) {
	case types.SignerKey:
		address := network.Address(types.Account(signer.Key))
		if name := s.nameOf(types.Account(signer.Key)); name != "" {
			return fmt.Sprintf("key %s (%s)", address, name)
		}
		return "key " + address
	case types.SignerP256:
		hash := client.SinglePolicy(signer).Hash()
		if name := s.nameOf(hash); name != "" {
			return fmt.Sprintf("P-256 key 0x%x (%s)", signer.Point, name)
		}
		return fmt.Sprintf("P-256 key 0x%x", signer.Point)
	case types.SignerPasskey:
		if signer.Verified {
			return fmt.Sprintf("passkey 0x%x, with user verification", signer.Point)
		}
		return fmt.Sprintf("passkey 0x%x", signer.Point)
	}
	return "unknown"
}

// origin reports whether an account is known here to be a key's, or a policy's hash. It may have another authority since.
func (s *session) origin(account argument.Account) (isKey, isPolicy bool) {
	if name := s.nameOf(account.ID); name != "" && account.Name == "" {
		if named, err := argument.ParseAccount(s.store, name); err == nil {
			account = named
		}
	}
	return account.IsKey(), s.policyOf(account.ID, account.Policy) != nil
}

// nameOf returns the name of an account in the keystore or among the development accounts, or "".
func (s *session) nameOf(account types.Account) string {
	if name := s.known().Replace(account.String()); name != account.String() {
		return name
	}
	return ""
}
