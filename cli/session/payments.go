package session

import (
	"github.com/cairn-chain/cairn/types"
)

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
