package session

import (
	"context"
	"errors"
	"strings"

	"github.com/cairn-chain/cairn/cli/argument"
	"github.com/cairn-chain/cairn/cli/keystore"
	"github.com/cairn-chain/cairn/cli/output"
	"github.com/cairn-chain/cairn/types"
)

// Chain asks the node for its chain.
func (s *Session) Chain(ctx context.Context) (argument.Chain, error) {
	info, err := s.Client.NodeInfo(ctx)
	return argument.Chain{ID: info.ChainID, Network: info.Network, Genesis: info.GenesisHash}, err
}

// Address returns an account's address on the node's network, or "" without an account. If the node does not answer, it
// returns the account in hex.
func (s *Session) Address(ctx context.Context, account *types.Account) string {
	if account == nil {
		return ""
	}
	chain, err := s.Chain(ctx)
	if err != nil {
		return account.String()
	}
	return chain.Network.Address(*account)
}

// Account parses an account argument. An unknown account is a usage error.
func (s *Session) Account(text string) (argument.Account, error) {
	account, err := argument.ParseAccount(s.Store, text)
	if errors.Is(err, argument.ErrBadAccount) || errors.Is(err, keystore.ErrNoDirectory) {
		err = output.Usage(err)
	}
	return account, err
}

// Contract parses a contract argument, which has the form of an account, and asks the node for its chain.
func (s *Session) Contract(ctx context.Context, text string) (types.ContractID, argument.Chain, error) {
	account, err := s.Account(text)
	if err != nil {
		return types.ContractID{}, argument.Chain{}, err
	}
	chain, err := s.Chain(ctx)
	if err != nil {
		return types.ContractID{}, argument.Chain{}, err
	}
	return types.ContractID(account.ID), chain, output.Usage(account.On(chain))
}

// Naming returns a function that names accounts by the keystore or the development accounts, and otherwise by address.
func (s *Session) Naming(network types.Network) func(types.Account) string {
	known := s.Known()
	return func(account types.Account) string {
		if name := known.Replace(account.String()); name != account.String() {
			return name
		}
		return network.Address(account)
	}
}

// Secret unlocks the key of an account.
func (s *Session) Secret(ctx context.Context, account argument.Account) (keystore.Secret, error) {
	return account.Secret(s.Store, func(name string) (string, error) { return s.Password(ctx, name) })
}

// Known returns a replacer of hex accounts by their names in the keystore or on the development chain.
func (s *Session) Known() *strings.Replacer { return strings.NewReplacer(s.Names()...) }

// Names returns pairs of a hex account and its name.
func (s *Session) Names() []string {
	var pairs []string
	for _, name := range argument.DevelopmentNames() {
		if account, err := argument.ParseAccount(s.Store, name); err == nil {
			pairs = append(pairs, account.ID.String(), name)
		}
	}
	entries, _, err := s.Store.List() // skip unreadable files
	if err == nil {
		for _, entry := range entries {
			pairs = append(pairs, entry.Account.String(), entry.Name)
		}
	}
	return pairs
}
