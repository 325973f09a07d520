package submit

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/cli/argument"
	"github.com/cairn-chain/cairn/cli/keystore"
	"github.com/cairn-chain/cairn/cli/output"
	"github.com/cairn-chain/cairn/cli/session"
	"github.com/cairn-chain/cairn/client"
	"github.com/cairn-chain/cairn/types"
)

// Sender returns the sending account. Its key must be available unless nothing is signed.
func Sender(s *session.Session, unsigned bool) (argument.Account, error) {
	if s.Settings.From == "" {
		return argument.Account{}, output.Usage(errors.New("no sender given: use --from"))
	}
	from, err := s.Account(s.Settings.From)
	if err != nil || unsigned {
		return from, err
	}
	return from, output.Usage(from.CanSign())
}

// OnChain checks that accounts are valid on the node's chain; otherwise the error is a usage error.
func OnChain(ctx context.Context, s *session.Session, accounts ...argument.Account) error {
	ctx, cancel := s.Patience(ctx)
	defer cancel()
	chain, err := s.Chain(ctx)
	if err != nil {
		return err
	}
	for _, account := range accounts {
		if err := account.On(chain); err != nil {
			return output.Usage(err)
		}
	}
	return nil
}

// Signatory is an account that signs a transaction, with the policy that is in force for it.
type Signatory struct {
	argument.Account
	Policy *types.Policy // nil: the account's own key signs
	Chain  argument.Chain
}

// SignatoryOf asks the node who signs for an account. A policy that neither the node nor the keystore knows is an error.
func SignatoryOf(ctx context.Context, s *session.Session, account argument.Account) (Signatory, error) {
	chain, err := s.Chain(ctx)
	if err != nil {
		return Signatory{}, err
	}
	found, err := s.Client.Account(ctx, account.ID, api.Latest())
	if err != nil {
		return Signatory{}, err
	}
	who := Signatory{Account: account, Chain: chain}
	authority, policy := found.Authority, found.Policy
	if r := found.Recovery; r != nil && r.From <= uint64(max(time.Now().UnixMilli(), 0)) {
		authority, policy = r.Authority, r.Policy // in force with the next block
	}
	if who.Policy = PolicyOf(s, authority, account.Policy, policy); who.Policy == nil && authority != account.ID {
		return who, fmt.Errorf("the policy %s signs for %s, but is not in the keystore: import it with cairn account "+
			"policy import",
			chain.Network.Address(authority), account.Text)
	}
	return who, nil
}

// PolicyOf returns the policy with a hash: one of those given, or one of the keystore; nil if there is none.
func PolicyOf(s *session.Session, hash types.Account, given ...*types.Policy) *types.Policy {
	for _, policy := range given {
		if policy != nil && policy.Hash() == hash {
			return policy
		}
	}
	entries, _, err := s.Store.List()
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
func (w Signatory) party() client.Party {
	switch {
	case w.Policy != nil:
		return client.PolicyAccount{ID: w.ID, Policy: *w.Policy}
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
func signer(
	ctx context.Context, s *session.Session, who Signatory, payload types.Payload, role client.Role,
) (client.Signer, error) {
	if who.Policy == nil {
		if err := who.CanSign(); err != nil {
			return nil, output.Usage(err)
		}
		secret, err := s.Secret(ctx, who.Account)
		return client.NewSigner(secret.Key), err
	}
	rule := client.RuleFor(*who.Policy, payload, role)
	if rule.Threshold == 0 {
		return nil, output.Usage(fmt.Errorf("the policy of %s has no recovery", who.Text))
	}
	holders := holders(s, rule, who.Chain)
	if len(holders) < int(rule.Threshold) {
		return nil, errSignElsewhere
	}
	var cosigners []client.Cosigner
	for _, holder := range holders[:rule.Threshold] {
		cosigner, err := cosigner(ctx, s, holder)
		if err != nil {
			return nil, err
		}
		cosigners = append(cosigners, cosigner)
	}
	return client.NewPolicySigner(who.Chain.Network, client.PolicyAccount{ID: who.ID, Policy: *who.Policy}, cosigners...)
}

// holders returns the accounts with a private key here that are signers of a rule, in its order.
func holders(s *session.Session, rule types.Rule, chain argument.Chain) (holders []argument.Account) {
	known := make(map[types.Signer]argument.Account)
	names := []string{}
	if entries, _, err := s.Store.List(); err == nil {
		for _, entry := range entries {
			names = append(names, entry.Name)
		}
	}
	if chain.ID == api.DevelopmentChainID {
		names = append(names, argument.DevelopmentNames()...)
	}
	for _, name := range names {
		account, err := argument.ParseAccount(s.Store, name)
		if err != nil {
			continue // unreadable entries hold nothing
		}
		if signer, ok := SignerOf(account); ok {
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

// SignerOf returns an account with a private key as a signer of policies.
func SignerOf(account argument.Account) (types.Signer, bool) {
	switch {
	case account.IsKey():
		return types.SignerKey{Key: types.PublicKey(account.ID)}, true
	case account.Kind == keystore.KindP256:
		return account.Policy.Owner.Signers[0], true
	}
	return nil, false
}

// cosigner unlocks the key of an account that is a signer of policies.
func cosigner(ctx context.Context, s *session.Session, holder argument.Account) (client.Cosigner, error) {
	secret, err := s.Secret(ctx, holder)
	if err != nil {
		return nil, err
	}
	if secret.P256 != nil {
		return client.NewP256Signer(secret.P256)
	}
	return client.NewSigner(secret.Key), nil
}

// OwnKey unlocks the key of an account that signs for itself, for commands that need the key.
func OwnKey(ctx context.Context, s *session.Session, account argument.Account) (client.KeySigner, error) {
	if !account.IsKey() {
		return client.KeySigner{}, output.Usage(fmt.Errorf("%s is signed for by a policy, but this command needs an "+
			"account with a key", account.Text))
	}
	secret, err := s.Secret(ctx, account)
	return client.NewSigner(secret.Key), err
}

// DescribeSigner describes a signer of a policy in a line.
func DescribeSigner(s *session.Session, network types.Network, signer types.Signer) string {
	switch signer := signer.(type) {
	case types.SignerKey:
		address := network.Address(types.Account(signer.Key))
		if name := NameOf(s, types.Account(signer.Key)); name != "" {
			return fmt.Sprintf("key %s (%s)", address, name)
		}
		return "key " + address
	case types.SignerP256:
		hash := client.SinglePolicy(signer).Hash()
		if name := NameOf(s, hash); name != "" {
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

// NameOf returns the name of an account in the keystore or among the development accounts, or "".
func NameOf(s *session.Session, account types.Account) string {
	if name := s.Known().Replace(account.String()); name != account.String() {
		return name
	}
	return ""
}
