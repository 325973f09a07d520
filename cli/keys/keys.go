// Package keys has the commands for keys, accounts and coins.
package keys

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cairn-chain/cairn/cli/invoke"
	"github.com/cairn-chain/cairn/cli/keystore"
	"github.com/cairn-chain/cairn/cli/output"
	"github.com/cairn-chain/cairn/cli/session"
	"github.com/cairn-chain/cairn/types"
	"github.com/cairn-chain/cairn/wallet"
)

// Commands returns the commands of keys, accounts and coins.
func Commands(a *session.App) []*cobra.Command {
	return []*cobra.Command{
		newKeys(a), newAccount(a), newFund(a), newSend(a), newPay(a), newCancel(a),
	}
}

func newKeys(a *session.App) *cobra.Command {
	keys := invoke.NewGroup(&cobra.Command{
		Use:   "keys",
		Short: "Manage encrypted private keys, and names for accounts",
		Example: `  cairn keys new alice
  cairn keys list`,
	})
	keys.AddCommand(newKeysNew(a), newKeysImport(a), newKeysList(a), newKeysShow(a), newKeysExport(a),
		newKeysDelete(a), newKeysAlias(a), newKeysAccountKey(a), newKeysAddresses(a))
	return keys
}

// keyView is an entry of the keystore as a result.
type keyView struct {
	keystore.Entry
	Address string `json:"address"`
}

func viewOf(entry keystore.Entry) keyView { return keyView{Entry: entry, Address: entry.Address()} }

func (v keyView) fields() []output.Field {
	fields := []output.Field{
		{Name: "Name", Value: v.Name}, {Name: "Kind", Value: v.Kind}, {Name: "Address", Value: v.Address},
		{Name: "Account", Value: v.Account}, {Name: "Network", Value: v.Network},
	}
	if v.Policy != "" {
		fields = append(fields, output.Field{Name: "Policy", Value: "0x" + v.Policy})
	}
	if v.Path != "" {
		fields = append(fields, output.Field{Name: "Path", Value: v.Path})
	}
	if v.Chain != nil {
		fields = append(fields,
			output.Field{Name: "Chain id", Value: v.Chain.ID}, output.Field{Name: "Genesis", Value: v.Chain.Genesis})
	}
	return fields
}

func (v keyView) people(t *output.Text) {
	t.Fields(v.fields()...)
	if v.Kind.HasPolicy() {
		t.Line("\nThe address is %s.", cairnOnly)
	}
}

// entropyBytes is the entropy of a BIP-39 mnemonic by its number of words.
var entropyBytes = map[int]int{12: 16, 24: 32}

func newKeysNew(a *session.App) *cobra.Command {
	var words int
	var p256 bool
	command := a.Define(&cobra.Command{
		Use:   "new NAME",
		Short: "Create a key from a new mnemonic, which is shown once",
		Long: `Create a key from a new mnemonic, which is shown once: on standard error, or in the
result with --json.

Write the words down: they are the only backup besides the encrypted file. The key is at
m/86'/coin'/0'/0/0 (BIP-86), so a Bitcoin wallet shows the same address for the words.

With --p256 the key is on the curve P-256, as in hardware security modules, and has no
mnemonic: "cairn keys export" shows the key. It signs for the account of its own policy,
and can be a signer of other policies.`,
		Example: `  cairn keys new alice
  cairn keys new machine --p256
  cairn keys new alice --words 24 --network mainnet --password-file password.txt --json`,
		Args: invoke.Exactly("NAME"),
	}, []string{"network", "password-file"}, func(
		ctx context.Context, s *session.Session, _ *cobra.Command, args []string,
	) error {
		if p256 {
			view, err := addKey(ctx, s, args[0], keystore.NewP256)
			if err != nil {
				return err
			}
			return s.Result(view, view.people)
		}
		bytes, ok := entropyBytes[words]
		if !ok {
			return output.Usage(fmt.Errorf("a mnemonic has 12 or 24 words, not %d", words))
		}
		entropy := make([]byte, bytes)
		_, _ = rand.Read(entropy) // never fails (crypto/rand)
		mnemonic, err := wallet.NewMnemonic(entropy)
		if err != nil {
			return err
		}
		view, err := addKey(ctx, s, args[0], func() (keystore.Secret, error) {
			return keystore.NewSecret(mnemonic, types.Network(s.Settings.Network), 0)
		})
		if err != nil {
			return err
		}
		if !s.JSON() {
			s.Note("The mnemonic of %s, which is shown only this once:\n\n  %s\n", view.Name, mnemonic)
		}
		result := struct {
			keyView
			Mnemonic string `json:"mnemonic"`
		}{view, mnemonic}
		return s.Result(result, view.people)
	})
	command.Flags().IntVar(&words, "words", 12, "length of the mnemonic: 12 or 24")
	command.Flags().BoolVar(&p256, "p256", false, "create a P-256 key")
	command.MarkFlagsMutuallyExclusive("words", "p256")
	return command
}

// addKey stores a key under an unused name. If the name is in use, it asks the user nothing.
func addKey(
	ctx context.Context, s *session.Session, name string, secret func() (keystore.Secret, error),
) (keyView, error) {
	if err := keystore.CheckName(name); err != nil {
		return keyView{}, output.Usage(err)
	}
	if _, err := s.Store.Find(name); !errors.Is(err, keystore.ErrNotFound) {
		return keyView{}, fmt.Errorf("%w: %s", keystore.ErrExists, name)
	}
	made, err := secret()
	if err != nil {
		return keyView{}, err
	}
	password, err := s.NewPassword(ctx, name)
	if err != nil {
		return keyView{}, err
	}
	entry, err := s.Store.AddKey(name, types.Network(s.Settings.Network), made, password)
	return viewOf(entry), err
}

func newKeysImport(a *session.App) *cobra.Command {
	var mnemonicFile, keyFile string
	var index uint32
	var p256 bool
	command := a.Define(&cobra.Command{
		Use:   "import NAME",
		Short: "Import an existing mnemonic or private key",
		Long: `Import an existing key: a BIP-39 mnemonic, from which the key at m/86'/coin'/0'/0/INDEX
(BIP-86) is derived, or a private key of 64 hex digits, which is used unchanged. Without
a file, the command prompts for it.`,
		Example: `  cairn keys import alice
  cairn keys import alice --mnemonic-file words.txt --index 1
  cairn keys import producer --private-key-file protocol.key --password-file password.txt`,
		Args: invoke.Exactly("NAME"),
	}, []string{"network", "password-file"}, func(
		ctx context.Context, s *session.Session, command *cobra.Command, args []string,
	) error {
		view, err := addKey(ctx, s, args[0], func() (keystore.Secret, error) {
			if p256 {
				return p256Of(ctx, s, keyFile)
			}
			return secretOf(ctx, s, mnemonicFile, keyFile, index)
		})
		if err != nil {
			return err
		}
		return s.Result(view, view.people)
	})
	flags := command.Flags()
	flags.StringVar(&mnemonicFile, "mnemonic-file", "", "file with a BIP-39 mnemonic, on one or several lines")
	flags.StringVar(&keyFile, "private-key-file", "", "file whose first line is a private key of 64 hex digits")
	flags.Uint32Var(&index, "index", 0, "index of the mnemonic's key")
	command.MarkFlagsMutuallyExclusive("mnemonic-file", "private-key-file")
	flags.BoolVar(&p256, "p256", false, "the private key is a P-256 key")
	command.MarkFlagsMutuallyExclusive("index", "private-key-file")
	command.MarkFlagsMutuallyExclusive("p256", "mnemonic-file")
	command.MarkFlagsMutuallyExclusive("p256", "index")
	return command
}

// p256Of returns the secret of a P-256 key, from a file or from the user.
func p256Of(ctx context.Context, s *session.Session, keyFile string) (secret keystore.Secret, err error) {
	var text string
	if keyFile != "" {
		text, err = session.ReadSecretFile(keyFile)
	} else if text, err = s.Asker.Secret(ctx, "Private key of P-256: "); err != nil {
		return secret, session.NoTerminal(err, "--private-key-file")
	}
	if err == nil {
		secret, err = keystore.ParseP256(text)
	}
	return secret, output.Usage(err)
}

// secretOf returns the secret of a mnemonic or of a private key: from the file that is given, or else from the user,
// who may enter either.
func secretOf(
	ctx context.Context, s *session.Session, mnemonicFile, keyFile string, index uint32,
) (secret keystore.Secret, err error) {
	var text string
	switch network := types.Network(s.Settings.Network); {
	case mnemonicFile != "":
		if text, err = session.ReadSecrets(mnemonicFile); err == nil {
			secret, err = keystore.NewSecret(text, network, index)
		}
	case keyFile != "":
		if text, err = session.ReadSecretFile(keyFile); err == nil {
			secret.Key, err = keystore.ParsePrivateKey(text)
		}
	default:
		if text, err = s.Asker.Secret(ctx, "Mnemonic or private key: "); err != nil {
			return secret, session.NoTerminal(err, "--mnemonic-file or --private-key-file")
		}
		secret, err = parseSecret(text, network, index)
	}
	return secret, output.Usage(err)
}

// parseSecret parses a private key or a mnemonic. A single word is a private key.
func parseSecret(text string, network types.Network, index uint32) (keystore.Secret, error) {
	if len(strings.Fields(text)) == 1 {
		key, err := keystore.ParsePrivateKey(text)
		return keystore.Secret{Key: key}, err
	}
	return keystore.NewSecret(text, network, index)
}

func newKeysList(a *session.App) *cobra.Command {
	return a.Define(&cobra.Command{
		Use:     "list",
		Short:   "List keys and aliases",
		Example: "  cairn keys list --json",
		Args:    invoke.Exactly(),
	}, nil, func(_ context.Context, s *session.Session, _ *cobra.Command, _ []string) error {
		entries, failures, err := s.Store.List()
		if err != nil {
			return err
		}
		for _, failure := range failures {
			s.Note("Warning: skipped: %v", failure)
		}
		views := make([]keyView, len(entries))
		rows := make([][]any, len(entries))
		for i, entry := range entries {
			views[i] = viewOf(entry)
			rows[i] = []any{entry.Name, entry.Kind, entry.Network, views[i].Address}
		}
		return s.Result(views, func(t *output.Text) { t.Table([]string{"Name", "Kind", "Network", "Address"}, rows) })
	})
}

func newKeysShow(a *session.App) *cobra.Command {
	return a.CompleteNames(a.Define(&cobra.Command{
		Use:     "show NAME",
		Short:   "Show the public data of a key or an alias",
		Example: "  cairn keys show alice",
		Args:    invoke.Exactly("NAME"),
	}, nil, func(_ context.Context, s *session.Session, _ *cobra.Command, args []string) error {
		entry, err := find(s, args[0])
		if err != nil {
			return err
		}
		view := viewOf(entry)
		return s.Result(view, view.people)
	}))
}

// find returns the entry that an argument names. A missing entry is a usage error.
func find(s *session.Session, name string) (keystore.Entry, error) {
	entry, err := s.Store.Find(name)
	if errors.Is(err, keystore.ErrNotFound) || errors.Is(err, keystore.ErrBadName) {
		return keystore.Entry{}, output.Usage(err)
	}
	return entry, err
}

func newKeysExport(a *session.App) *cobra.Command {
	var yes bool
	command := a.CompleteNames(a.Define(&cobra.Command{
		Use:   "export NAME",
		Short: "Show a private key, and its mnemonic if it has one",
		Example: `  cairn keys export alice
  cairn keys export alice --yes --password-file password.txt --json`,
		Args: invoke.Exactly("NAME"),
	}, []string{"password-file"}, func(ctx context.Context, s *session.Session, _ *cobra.Command, args []string) error {
		entry, err := find(s, args[0])
		if err != nil {
			return err
		}
		if !entry.Kind.HasSecret() {
			return output.Usage(fmt.Errorf("%w: %s", keystore.ErrNoKey, entry.Name))
		}
		if err := s.Confirm(ctx, yes, entry.Name, "This shows the private key on the screen."); err != nil {
			return err
		}
		password, err := s.Password(ctx, entry.Name)
		if err != nil {
			return err
		}
		secret, err := s.Store.Unlock(entry.Name, password)
		if err != nil {
			return err
		}
		private, err := secret.PrivateKey()
		if err != nil {
			return err
		}
		result := struct {
			keyView
			PrivateKey string `json:"privateKey"`
			Mnemonic   string `json:"mnemonic,omitempty"`
		}{viewOf(entry), private, secret.Mnemonic}
		return s.Result(result, func(t *output.Text) {
			fields := append(result.fields(), output.Field{Name: "Private key", Value: result.PrivateKey})
			if result.Mnemonic != "" {
				fields = append(fields, output.Field{Name: "Mnemonic", Value: result.Mnemonic})
			}
			t.Fields(fields...)
		})
	}))
	command.Flags().BoolVar(&yes, "yes", false, "do not ask for confirmation")
	return command
}

func newKeysDelete(a *session.App) *cobra.Command {
	var yes bool
	command := a.CompleteNames(a.Define(&cobra.Command{
		Use:     "delete NAME",
		Short:   "Delete a key or an alias for good",
		Example: "  cairn keys delete alice --yes",
		Args:    invoke.Exactly("NAME"),
	}, nil, func(ctx context.Context, s *session.Session, _ *cobra.Command, args []string) error {
		// A damaged one can be deleted.
		if _, err := find(s, args[0]); err != nil && !errors.Is(err, keystore.ErrDamaged) {
			return err
		}
		if err := s.Confirm(ctx, yes, args[0], "Without another copy of its mnemonic or private key, the key is lost "+
			"for good."); err != nil {
			return err
		}
		if err := s.Store.Delete(args[0]); err != nil {
			return err
		}
		return s.Result(map[string]string{"deleted": args[0]}, func(t *output.Text) { t.Line("Deleted %s.", args[0]) })
	}))
	command.Flags().BoolVar(&yes, "yes", false, "do not ask for confirmation")
	return command
}

func newKeysAlias(a *session.App) *cobra.Command {
	return a.Define(&cobra.Command{
		Use:   "alias NAME ACCOUNT",
		Short: "Name an account",
		Example: `  cairn keys alias shop bcrt1p…
  cairn keys alias faucet dev0`,
		Args: invoke.Exactly("NAME", "ACCOUNT"),
	}, []string{"network"}, func(_ context.Context, s *session.Session, _ *cobra.Command, args []string) error {
		if err := keystore.CheckName(args[0]); err != nil {
			return output.Usage(err)
		}
		account, err := s.Account(args[1])
		if err != nil {
			return err
		}
		network := account.Network
		if network == "" {
			network = types.Network(s.Settings.Network)
		}
		entry, err := s.Store.AddAlias(args[0], network, account.ID)
		if err != nil {
			return err
		}
		view := viewOf(entry)
		return s.Result(view, view.people)
	})
}
