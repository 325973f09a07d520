package keys

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/cairn-chain/cairn/cli/invoke"
	"github.com/cairn-chain/cairn/cli/output"
	"github.com/cairn-chain/cairn/cli/session"
	"github.com/cairn-chain/cairn/types"
	"github.com/cairn-chain/cairn/wallet"
)

func newKeysAccountKey(a *session.App) *cobra.Command {
	return a.CompleteNames(a.Define(&cobra.Command{
		Use:   "account-key NAME",
		Short: "Show an account's extended public key, which derives its addresses",
		Long: `Show the extended public key (BIP-32) of a key's account: xpub… or tpub…. "cairn keys
addresses" and both SDKs derive the account's addresses from it, so a server that hands
out addresses needs no mnemonic.

Do not publish it: it reveals all addresses, and together with any one private key of
the account it reveals every private key.`,
		Example: "  cairn keys account-key alice",
		Args:    invoke.Exactly("NAME"),
	}, []string{"password-file"}, func(ctx context.Context, s *session.Session, _ *cobra.Command, args []string) error {
		entry, err := s.Store.Find(args[0])
		if err != nil {
			return err
		}
		if entry.Path == "" {
			return fmt.Errorf("%s has no mnemonic, so it has no account with several keys", entry.Name)
		}
		password, err := s.Password(ctx, entry.Name)
		if err != nil {
			return err
		}
		secret, err := s.Store.Unlock(entry.Name, password)
		if err != nil {
			return err
		}
		seed, err := wallet.SeedFromMnemonic(secret.Mnemonic, "")
		if err != nil {
			return err
		}
		account, err := wallet.DeriveAccount(seed, entry.Network.CoinType(), 0)
		if err != nil {
			return err
		}
		return s.Result(map[string]string{"name": entry.Name, "account_key": account.String()}, func(t *output.Text) {
			t.Line("%s", account)
		})
	}))
}

// derivedAddress is an item of the result of cairn keys addresses.
type derivedAddress struct {
	Index   uint32        `json:"index"`
	Address string        `json:"address"`
	Account types.Account `json:"account"`
}

const (
	maxAddresses = 10_000  // listed by one command
	maxIndex     = 1 << 31 // bound of non-hardened indexes (BIP-32)
)

func newKeysAddresses(a *session.App) *cobra.Command {
	var from, count uint64
	command := a.Define(&cobra.Command{
		Use:   "addresses ACCOUNT-KEY",
		Short: "List an account's addresses, from its extended public key",
		Long: `List an account's addresses from its extended public key, without any secret: the
addresses of the keys at m/86'/coin'/0'/0/INDEX. An xpub… belongs to mainnet; for a
tpub… use --network to choose testnet or regtest.`,
		Example: "  cairn keys addresses tpubDDfvzhdVV4unsoKt5aE6dcsNsfeWbTgmLZPi8LQDYU2xixrYemMfWJ3BaVneH3u7DBQePdTwhpybaKRU95pi6PMUtLPBJLVQRpzEnjfjZzX --count 3",
		Args:    invoke.Exactly("ACCOUNT-KEY"),
	}, []string{"network"}, func(_ context.Context, s *session.Session, _ *cobra.Command, args []string) error {
		account, err := wallet.ParseAccount(args[0])
		if err != nil {
			return output.Usage(err)
		}
		network := types.Network(s.Settings.Network)
		if account.Mainnet() {
			network = types.Mainnet
		} else if network == types.Mainnet {
			return output.Usage(fmt.Errorf("the key belongs to testnet or regtest: choose one with --network"))
		}
		if count == 0 || count > maxAddresses {
			return output.Usage(fmt.Errorf("--count must be 1 to %d", maxAddresses))
		}
		if from > maxIndex-count {
			return output.Usage(fmt.Errorf("an index must be below %d", uint64(maxIndex)))
		}
		list := make([]derivedAddress, count)
		for i := range list {
			index := uint32(from) + uint32(i)
			key, err := account.Output(0, index)
			if err != nil {
				return err
			}
			list[i] = derivedAddress{index, network.Address(key), key}
		}
		return s.Result(list, func(t *output.Text) {
			rows := make([][]any, len(list))
			for i, one := range list {
				rows[i] = []any{one.Index, one.Address}
			}
			t.Table([]string{"INDEX", "ADDRESS"}, rows)
		})
	})
	command.Flags().Uint64Var(&from, "from", 0, "index of the first address")
	command.Flags().Uint64Var(&count, "count", 10, fmt.Sprintf("number of addresses, at most %d", maxAddresses))
	return command
}
