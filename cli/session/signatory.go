package session

import (
	"context"

	"github.com/cairn-chain/cairn/cli/argument"
	"github.com/cairn-chain/cairn/cli/keystore"
)

// Secret unlocks the key of an account.
func (s *Session) Secret(ctx context.Context, account argument.Account) (keystore.Secret, error) {
	return account.Secret(s.Store, func(name string) (string, error) { return s.Password(ctx, name) })
}
