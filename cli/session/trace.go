package session

import (
	"strings"

	"github.com/cairn-chain/cairn/cli/argument"
)

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
