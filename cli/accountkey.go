package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/cairn-chain/cairn/cli/output"
	"github.com/cairn-chain/cairn/types"
	"github.com/cairn-chain/cairn/wallet"
)

func (a *app) newKeysAccountKey() *cobra.Command {
	return a.completeNames(a.define(&cobra.Command{
		Use:   "account-key NAME",
		Short: "Show the extended public key of a key's account, which gives its addresses",
		Long: `Show the extended public key of a key's account, xpub… or tpub… (BIP-32). "cairn keys addresses" and both SDKs make the
account's addresses of it, so that a server which hands out addresses needs no mnemonic.

Do not publish it: whoever has it knows all addresses, and with a single private key of the account has every one.`,
		Example: "  cairn keys account-key alice",
		Args:    exactly("NAME"),
	}, []string{"password-file"}, func(ctx context.Context, s *session, _ *cobra.Command, args []string) error {
		entry, err := s.store.Find(args[0])
		if err != nil {
			return err
		}
		if entry.Path == "" {
			return fmt.Errorf("%s has no mnemonic, and so no account of several keys", entry.Name)
		}
		password, err := s.password(ctx, entry.Name)
		if err != nil {
			return err
		}
		secret, err := s.store.Unlock(entry.Name, password)
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

func (a *app) newKeysAddresses() *cobra.Command {
	var from, count uint64
	command := a.define(&cobra.Command{
		Use:   "addresses ACCOUNT-KEY",
		Short: "List the addresses of an account by its extended public key",
		Long: `List the addresses of an account by its extended public key, without any secret: those of the keys at
m/86'/coin'/0'/0/INDEX. xpub… is of the mainnet; of tpub… --network says whether testnet or regtest is meant.`,
		Example: "  cairn keys addresses tpubDDfvzhdVV4unsoKt5aE6dcsNsfeWbTgmLZPi8LQDYU2xixrYemMfWJ3BaVneH3u7DBQePdTwhpybaKRU95pi6PMUtLPBJLVQRpzEnjfjZzX --count 3",
		Args:    exactly("ACCOUNT-KEY"),
	}, []string{"network"}, func(_ context.Context, s *session, _ *cobra.Command, args []string) error {
		account, err := wallet.ParseAccount(args[0])
		if err != nil {
			return output.Usage(err)
		}
		network := types.Network(s.settings.Network)
		if account.Mainnet() {
			network = types.Mainnet
		} else if network == types.Mainnet {
			return output.Usage(fmt.Errorf("the key is of testnet or regtest: give --network"))
		}
		if count == 0 || count > maxAddresses {
			return output.Usage(fmt.Errorf("--count is 1 to %d", maxAddresses))
		}
		if from > maxIndex-count {
			return output.Usage(fmt.Errorf("an index is below %d", uint64(maxIndex)))
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
	command.Flags().Uint64Var(&from, "from", 0, "the index of the first")
	command.Flags().Uint64Var(&count, "count", 10, fmt.Sprintf("how many, at most %d", maxAddresses))
	return command
}
