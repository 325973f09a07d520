package cli

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cairn-chain/cairn/cli/keystore"
	"github.com/cairn-chain/cairn/cli/output"
	"github.com/cairn-chain/cairn/cli/terminal"
	"github.com/cairn-chain/cairn/types"
	"github.com/cairn-chain/cairn/wallet"
)

func (a *app) newKeys() *cobra.Command {
	keys := NewGroup(&cobra.Command{
		Use:   "keys",
		Short: "Manage encrypted private keys, and names for accounts",
		Example: `  cairn keys new alice
  cairn keys list`,
	})
	keys.AddCommand(a.newKeysNew(), a.newKeysImport(), a.newKeysList(), a.newKeysShow(), a.newKeysExport(),
		a.newKeysDelete(), a.newKeysAlias(), a.newKeysAccountKey(), a.newKeysAddresses())
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

func (a *app) newKeysNew() *cobra.Command {
	var words int
	var p256 bool
	command := a.define(&cobra.Command{
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
		Args: exactly("NAME"),
	}, []string{"network", "password-file"}, func(ctx context.Context, s *session, _ *cobra.Command, args []string) error {
		if p256 {
			view, err := s.addKey(ctx, args[0], keystore.NewP256)
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
		view, err := s.addKey(ctx, args[0], func() (keystore.Secret, error) {
			return keystore.NewSecret(mnemonic, types.Network(s.settings.Network), 0)
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

// addKey keeps a key under a name that is free; nothing is asked when it is not.
func (s *session) addKey(ctx context.Context, name string, secret func() (keystore.Secret, error)) (keyView, error) {
	if err := keystore.CheckName(name); err != nil {
		return keyView{}, output.Usage(err)
	}
	if _, err := s.store.Find(name); !errors.Is(err, keystore.ErrNotFound) {
		return keyView{}, fmt.Errorf("%w: %s", keystore.ErrExists, name)
	}
	made, err := secret()
	if err != nil {
		return keyView{}, err
	}
	password, err := s.newPassword(ctx, name)
	if err != nil {
		return keyView{}, err
	}
	entry, err := s.store.AddKey(name, types.Network(s.settings.Network), made, password)
	return viewOf(entry), err
}

func (a *app) newKeysImport() *cobra.Command {
	var mnemonicFile, keyFile string
	var index uint32
	var p256 bool
	command := a.define(&cobra.Command{
		Use:   "import NAME",
		Short: "Import an existing mnemonic or private key",
		Long: `Import an existing key: a BIP-39 mnemonic, from which the key at m/86'/coin'/0'/0/INDEX
(BIP-86) is derived, or a private key of 64 hex digits, which is used unchanged. Without
a file, the command prompts for it.`,
		Example: `  cairn keys import alice
  cairn keys import alice --mnemonic-file words.txt --index 1
  cairn keys import producer --private-key-file protocol.key --password-file password.txt`,
		Args: exactly("NAME"),
	}, []string{"network", "password-file"}, func(
		ctx context.Context, s *session, command *cobra.Command, args []string,
	) error {
		view, err := s.addKey(ctx, args[0], func() (keystore.Secret, error) {
			if p256 {
				return s.p256Of(ctx, keyFile)
			}
			return s.secretOf(ctx, mnemonicFile, keyFile, index)
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

// p256Of is the secret of a key of P-256, in a file or asked for.
func (s *session) p256Of(ctx context.Context, keyFile string) (secret keystore.Secret, err error) {
	var text string
	if keyFile != "" {
		text, err = readSecretFile(keyFile)
	} else if text, err = s.asker.Secret(ctx, "Private key of P-256: "); err != nil {
		return secret, noTerminal(err, "--private-key-file")
	}
	if err == nil {
		secret, err = keystore.ParseP256(text)
	}
	return secret, output.Usage(err)
}

// secretOf is the secret of a mnemonic or of a private key, whichever file is given, or of either, which is asked for.
func (s *session) secretOf(
	ctx context.Context, mnemonicFile, keyFile string, index uint32,
) (secret keystore.Secret, err error) {
	var text string
	switch network := types.Network(s.settings.Network); {
	case mnemonicFile != "":
		if text, err = readSecrets(mnemonicFile); err == nil {
			secret, err = keystore.NewSecret(text, network, index)
		}
	case keyFile != "":
		if text, err = readSecretFile(keyFile); err == nil {
			secret.Key, err = keystore.ParsePrivateKey(text)
		}
	default:
		if text, err = s.asker.Secret(ctx, "Mnemonic or private key: "); err != nil {
			return secret, noTerminal(err, "--mnemonic-file or --private-key-file")
		}
		secret, err = parseSecret(text, network, index)
	}
	return secret, output.Usage(err)
}

// parseSecret tells a private key from a mnemonic: the one is a single word.
func parseSecret(text string, network types.Network, index uint32) (keystore.Secret, error) {
	if len(strings.Fields(text)) == 1 {
		key, err := keystore.ParsePrivateKey(text)
		return keystore.Secret{Key: key}, err
	}
	return keystore.NewSecret(text, network, index)
}

func (a *app) newKeysList() *cobra.Command {
	return a.define(&cobra.Command{
		Use:     "list",
		Short:   "List keys and aliases",
		Example: "  cairn keys list --json",
		Args:    exactly(),
	}, nil, func(_ context.Context, s *session, _ *cobra.Command, _ []string) error {
		entries, failures, err := s.store.List()
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

func (a *app) newKeysShow() *cobra.Command {
	return a.completeNames(a.define(&cobra.Command{
		Use:     "show NAME",
		Short:   "Show the public data of a key or an alias",
		Example: "  cairn keys show alice",
		Args:    exactly("NAME"),
	}, nil, func(_ context.Context, s *session, _ *cobra.Command, args []string) error {
		entry, err := s.find(args[0])
		if err != nil {
			return err
		}
		view := viewOf(entry)
		return s.Result(view, view.people)
	}))
}

// find finds the entry that an argument names; one that does not exist is wrong usage.
func (s *session) find(name string) (keystore.Entry, error) {
	entry, err := s.store.Find(name)
	if errors.Is(err, keystore.ErrNotFound) || errors.Is(err, keystore.ErrBadName) {
		return keystore.Entry{}, output.Usage(err)
	}
	return entry, err
}

// confirm lets a person type the name, unless yes says that it is meant.
func (s *session) confirm(ctx context.Context, yes bool, name, question string) error {
	return confirm(ctx, s.asker, yes, name, question)
}

// Confirm lets the person at a command's terminal type a word, unless yes says that it is meant.
func Confirm(command *cobra.Command, yes bool, word, question string) error {
	return confirm(command.Context(), terminal.New(command.InOrStdin(), command.ErrOrStderr()), yes, word, question)
}

func confirm(ctx context.Context, at asker, yes bool, name, question string) error {
	if yes {
		return nil
	}
	answer, err := at.Line(ctx, question+" Type "+name+" to go on: ")
	if err != nil {
		return noTerminal(err, "--yes")
	}
	if answer != name {
		return errors.New("not confirmed, nothing changed")
	}
	return nil
}

func (a *app) newKeysExport() *cobra.Command {
	var yes bool
	command := a.completeNames(a.define(&cobra.Command{
		Use:   "export NAME",
		Short: "Show a private key, and its mnemonic if it has one",
		Example: `  cairn keys export alice
  cairn keys export alice --yes --password-file password.txt --json`,
		Args: exactly("NAME"),
	}, []string{"password-file"}, func(ctx context.Context, s *session, _ *cobra.Command, args []string) error {
		entry, err := s.find(args[0])
		if err != nil {
			return err
		}
		if !entry.Kind.HasSecret() {
			return output.Usage(fmt.Errorf("%w: %s", keystore.ErrNoKey, entry.Name))
		}
		if err := s.confirm(ctx, yes, entry.Name, "This shows the private key on the screen."); err != nil {
			return err
		}
		password, err := s.password(ctx, entry.Name)
		if err != nil {
			return err
		}
		secret, err := s.store.Unlock(entry.Name, password)
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

func (a *app) newKeysDelete() *cobra.Command {
	var yes bool
	command := a.completeNames(a.define(&cobra.Command{
		Use:     "delete NAME",
		Short:   "Delete a key or an alias for good",
		Example: "  cairn keys delete alice --yes",
		Args:    exactly("NAME"),
	}, nil, func(ctx context.Context, s *session, _ *cobra.Command, args []string) error {
		// A damaged one can be deleted.
		if _, err := s.find(args[0]); err != nil && !errors.Is(err, keystore.ErrDamaged) {
			return err
		}
		if err := s.confirm(ctx, yes, args[0], "Without another copy of its mnemonic or private key, the key is lost "+
			"for good."); err != nil {
			return err
		}
		if err := s.store.Delete(args[0]); err != nil {
			return err
		}
		return s.Result(map[string]string{"deleted": args[0]}, func(t *output.Text) { t.Line("Deleted %s.", args[0]) })
	}))
	command.Flags().BoolVar(&yes, "yes", false, "do not ask for confirmation")
	return command
}

func (a *app) newKeysAlias() *cobra.Command {
	return a.define(&cobra.Command{
		Use:   "alias NAME ACCOUNT",
		Short: "Name an account",
		Example: `  cairn keys alias shop bcrt1p…
  cairn keys alias faucet dev0`,
		Args: exactly("NAME", "ACCOUNT"),
	}, []string{"network"}, func(_ context.Context, s *session, _ *cobra.Command, args []string) error {
		if err := keystore.CheckName(args[0]); err != nil {
			return output.Usage(err)
		}
		account, err := s.account(args[1])
		if err != nil {
			return err
		}
		network := account.Network
		if network == "" {
			network = types.Network(s.settings.Network)
		}
		entry, err := s.store.AddAlias(args[0], network, account.ID)
		if err != nil {
			return err
		}
		view := viewOf(entry)
		return s.Result(view, view.people)
	})
}
