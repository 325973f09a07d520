package submit

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/cli/argument"
	"github.com/cairn-chain/cairn/cli/invoke"
	"github.com/cairn-chain/cairn/cli/output"
	"github.com/cairn-chain/cairn/cli/session"
	"github.com/cairn-chain/cairn/client"
	"github.com/cairn-chain/cairn/types"
)

// Drafts returns the commands on a file with a transaction that others sign too, for cairn tx.
func Drafts(a *session.App) []*cobra.Command {
	return []*cobra.Command{newTxSign(a), newTxText(a), newTxAttach(a), newTxMerge(a), newTxSend(a)}
}

// draftView is the result of the commands on a draft.
type draftView struct {
	File     string          `json:"file"`
	Hash     types.TxID      `json:"hash"`
	Network  types.Network   `json:"network"`
	ChainID  uint64          `json:"chainId"`
	Text     []string        `json:"text"`     // lines of what the sender signs
	Missing  []missingProofs `json:"missing"`  // who must still sign
	Complete bool            `json:"complete"` // whether it can be sent
}

// missingProofs is the number of signatures that a role still needs, and the signers that can give them.
type missingProofs struct {
	Role  string   `json:"role"`
	Count int      `json:"count"`
	From  []string `json:"from"`
}

// viewDraft describes a draft.
func viewDraft(s *session.Session, path string, d *client.Draft) (draftView, error) {
	view := draftView{
		File: path, Hash: d.Transaction.Hash(), Network: d.Network, ChainID: d.Transaction.ChainID,
		Missing: []missingProofs{}, Complete: true,
	}
	if text, err := d.Text(client.AsSender); err == nil {
		view.Text = strings.Split(text, "\n")
	}
	for _, role := range rolesOf(d.Transaction) {
		count, from, err := d.Missing(role)
		if err != nil {
			return view, err
		}
		if count == 0 {
			continue
		}
		missing := missingProofs{Role: role.String(), Count: count}
		for _, signer := range from {
			missing.From = append(missing.From, DescribeSigner(s, d.Network, signer))
		}
		view.Missing, view.Complete = append(view.Missing, missing), false
	}
	return view, nil
}

// rolesOf returns the roles that sign a transaction.
func rolesOf(tx types.Transaction) []client.Role {
	if tx.Payer == nil {
		return []client.Role{client.AsSender}
	}
	return []client.Role{client.AsSender, client.AsPayer}
}

func (v draftView) people(t *output.Text) {
	for _, line := range v.Text {
		t.Line("  %s", line)
	}
	t.Line("")
	t.Fields(output.Field{Name: "File", Value: v.File}, output.Field{Name: "Transaction", Value: v.Hash})
	for _, missing := range v.Missing {
		t.Line("\nFor the %s, %d of these must still sign:", missing.Role, missing.Count)
		for _, signer := range missing.From {
			t.Line("  %s", signer)
		}
	}
	if v.Complete {
		t.Line("\nAll signatures are complete. Send it with: cairn tx send %s", v.File)
	}
}

// writeDraft writes an unsigned transaction for its signers.
func writeDraft(s *session.Session, path string, tx types.Transaction, sender Signatory, payer *Signatory) error {
	var payerPolicy *types.Policy
	if payer != nil {
		payerPolicy = payer.Policy
	}
	d, err := client.NewDraft(sender.Chain.Network, tx, sender.Policy, payerPolicy)
	if err != nil {
		return err
	}
	if _, err := os.Stat(path); err == nil {
		return output.Usage(fmt.Errorf("%s already exists: choose another name for --%s", path, DraftFlag))
	}
	if err := saveDraft(path, d); err != nil {
		return err
	}
	return showDraft(s, path, d)
}

// showDraft writes a draft's description as the command's result.
func showDraft(s *session.Session, path string, d *client.Draft) error {
	view, err := viewDraft(s, path, d)
	if err != nil {
		return err
	}
	return s.Result(view, view.people)
}

// saveDraft replaces a draft's file, whole or not at all.
func saveDraft(path string, d *client.Draft) error {
	text, err := json.MarshalIndent(d, "", "  ")
	if err != nil {
		return err
	}
	file, err := os.CreateTemp(filepath.Dir(path), ".draft-*")
	if err != nil {
		return err
	}
	_, err = file.Write(append(text, '\n'))
	err = errors.Join(err, file.Sync(), file.Close())
	if err == nil {
		err = os.Rename(file.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(file.Name()))
	}
	return nil
}

// maxDraftFile bounds the size of a draft's file.
const maxDraftFile = 4 * types.MaxTransactionBytes

// readDraft reads a draft and verifies the signatures in it.
func readDraft(path string) (*client.Draft, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, output.Usage(err)
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, maxDraftFile))
	if err != nil {
		return nil, err
	}
	d, err := client.ParseDraft(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return d, nil
}

func newTxSign(a *session.App) *cobra.Command {
	var yes bool
	command := a.Define(&cobra.Command{
		Use:   "sign FILE [NAME…]",
		Short: "Sign a transaction in a file that needs several signers",
		Long: `Sign a transaction that was written with --draft, and write it back to the file. The
command shows the transaction, and asks for confirmation. Without NAME, all keys in the
keystore that belong to missing signers sign, until there are enough signatures. This
works offline: pass the file on to the next signer, or send it once all signatures are
complete.`,
		Example: `  cairn send bob 5 --from treasury --draft payment.json
  cairn tx sign payment.json alice
  cairn tx send payment.json`,
		Args: invoke.AtLeastOne("FILE"),
	}, []string{"password-file"}, func(ctx context.Context, s *session.Session, _ *cobra.Command, args []string) error {
		d, err := readDraft(args[0])
		if err != nil {
			return err
		}
		if err := showText(s, d); err != nil {
			return err
		}
		if err := s.Confirm(ctx, yes, "sign", "You are about to sign this."); err != nil {
			return err
		}
		if err := signDraft(ctx, s, d, args[1:]); err != nil {
			return err
		}
		if err := saveDraft(args[0], d); err != nil {
			return err
		}
		return showDraft(s, args[0], d)
	})
	command.Flags().BoolVar(&yes, "yes", false, "do not ask for confirmation")
	return command
}

// showText shows people what they sign: the lines that any wallet shows, and the chain.
func showText(s *session.Session, d *client.Draft) error {
	text, err := d.Text(client.AsSender)
	if errors.Is(err, client.ErrNoText) { // keys can sign transactions whose text is too long
		s.Note("The text is too long to be shown: transaction %s of %s", d.Transaction.Hash(),
			d.Network.Address(d.Transaction.Sender))
		return nil
	}
	if err != nil {
		return err
	}
	s.Note("%s", text)
	return nil
}

// signDraft adds signatures of the named keys, or of all keys that can sign.
func signDraft(ctx context.Context, s *session.Session, d *client.Draft, names []string) error {
	chain := argument.Chain{ID: d.Transaction.ChainID, Network: d.Network}
	signed := 0
	for _, role := range rolesOf(d.Transaction) {
		count, from, err := d.Missing(role)
		if err != nil {
			return err
		}
		holders := holders(s, types.Rule{Signers: from}, chain)
		if len(names) > 0 {
			if holders, err = namedHolders(s, names, from); err != nil {
				return err
			}
		}
		for _, holder := range holders[:min(count, len(holders))] {
			cosigner, err := cosigner(ctx, s, holder)
			if err != nil {
				return err
			}
			if err := d.Sign(ctx, role, cosigner); err != nil {
				return err
			}
			signed++
		}
	}
	if signed == 0 {
		return errors.New("no key of a missing signer is in this keystore")
	}
	return nil
}

// namedHolders returns the accounts of names that are among signers.
func namedHolders(s *session.Session, names []string, among []types.Signer) (holders []argument.Account, err error) {
	for _, name := range names {
		account, err := s.Account(name)
		if err != nil {
			return nil, err
		}
		signer, ok := SignerOf(account)
		if !ok {
			return nil, output.Usage(fmt.Errorf("the private key of %s is not in this keystore", name))
		}
		for _, one := range among {
			if one == signer {
				holders = append(holders, account)
			}
		}
	}
	return holders, nil
}

// roleFlag adds the flag that selects the sender's or the payer's signature.
func roleFlag(command *cobra.Command, payer *bool) {
	command.Flags().BoolVar(payer, "as-payer", false, "sign as the fee payer instead of as the sender")
}

func roleOf(payer bool) client.Role {
	if payer {
		return client.AsPayer
	}
	return client.AsSender
}

func newTxText(a *session.App) *cobra.Command {
	var payer bool
	command := a.Define(&cobra.Command{
		Use:   "text FILE",
		Short: "Print the text to sign with a Bitcoin wallet, for a transaction in a file",
		Long: `Print the text that a Bitcoin wallet shows and signs (BIP-322) for a transaction that
was written with --draft. The wallet signs with the taproot address of the sender, or of
a signer of its policy. Add the signature with "cairn tx attach".

The text does not end with a line feed: copy it exactly, or pipe it.`,
		Example: `  cairn send bob 5 --from bcrt1p… --draft payment.json
  cairn tx text payment.json
  cairn tx attach payment.json bcrt1p… AUA…`,
		Args: invoke.Exactly("FILE"),
	}, nil, func(_ context.Context, s *session.Session, _ *cobra.Command, args []string) error {
		d, err := readDraft(args[0])
		if err != nil {
			return err
		}
		role := roleOf(payer)
		account, err := d.Account(role)
		if err != nil {
			return output.Usage(err)
		}
		text, err := d.Text(role)
		if err != nil {
			return err
		}
		result := struct {
			Role    string        `json:"role"`
			Account types.Account `json:"account"`
			Text    string        `json:"text"`
		}{role.String(), account, text}
		return s.Result(result, func(t *output.Text) { t.Raw(text) })
	})
	roleFlag(command, &payer)
	return command
}

func newTxAttach(a *session.App) *cobra.Command {
	var payer bool
	command := a.Define(&cobra.Command{
		Use:   "attach FILE ADDRESS SIGNATURE",
		Short: "Add a Bitcoin wallet's signature to a transaction in a file",
		Long: `Add the signature that a Bitcoin wallet made for the text of "cairn tx text". ADDRESS is
the taproot address that signed: the sender's own, or one of a signer of its policy.
SIGNATURE is base64, with or without the prefix smp; - reads it from standard input. The
signature is verified.`,
		Example: "  cairn tx attach payment.json bcrt1p… AUA…\n  cairn tx attach payment.json alice - < signature.txt",
		Args:    invoke.Exactly("FILE", "ADDRESS", "SIGNATURE"),
	}, nil, func(_ context.Context, s *session.Session, command *cobra.Command, args []string) error {
		d, err := readDraft(args[0])
		if err != nil {
			return err
		}
		account, err := s.Account(args[1])
		if err != nil {
			return err
		}
		signature := args[2]
		if signature == "-" {
			text, err := io.ReadAll(io.LimitReader(command.InOrStdin(), session.MaxSecretFileBytes))
			if err != nil {
				return err
			}
			signature = string(bytes.TrimSpace(text))
		}
		if err := d.Attach(roleOf(payer), types.PublicKey(account.ID), signature); err != nil {
			return err
		}
		if err := saveDraft(args[0], d); err != nil {
			return err
		}
		return showDraft(s, args[0], d)
	})
	roleFlag(command, &payer)
	return command
}

func newTxMerge(a *session.App) *cobra.Command {
	return a.Define(&cobra.Command{
		Use:   "merge FILE FILE…",
		Short: "Merge the signatures from several files of one transaction into the first file",
		Long: `Merge the signatures from several files of one transaction into the first file, after
signers have signed copies of it in parallel.`,
		Example: "  cairn tx merge payment.json from-alice.json from-bob.json",
		Args:    invoke.AtLeastOne("FILE"),
	}, nil, func(_ context.Context, s *session.Session, _ *cobra.Command, args []string) error {
		d, err := readDraft(args[0])
		if err != nil {
			return err
		}
		for _, path := range args[1:] {
			other, err := readDraft(path)
			if err != nil {
				return err
			}
			if err := d.Merge(other); err != nil {
				return fmt.Errorf("%s: %w", path, err)
			}
		}
		if err := saveDraft(args[0], d); err != nil {
			return err
		}
		return showDraft(s, args[0], d)
	})
}

func newTxSend(a *session.App) *cobra.Command {
	var flags Flags
	command := a.Define(&cobra.Command{
		Use:     "send FILE",
		Short:   "Send a completely signed transaction from a file",
		Example: "  cairn tx send payment.json",
		Args:    invoke.Exactly("FILE"),
	}, session.NodeSettings, func(ctx context.Context, s *session.Session, _ *cobra.Command, args []string) error {
		d, err := readDraft(args[0])
		if err != nil {
			return err
		}
		signed, err := d.Signed()
		if err == nil && signed.Payer != nil && signed.PayerWitness == nil {
			err = fmt.Errorf("%w: for the payer", client.ErrMissingProofs)
		}
		if err != nil {
			return fmt.Errorf("%s: %w: cairn tx sign %s", args[0], err, args[0])
		}
		sending, cancel := s.Patience(ctx)
		defer cancel()
		if _, err := s.Client.Send(sending, signed); err != nil && !errors.Is(err, api.ErrAlreadyKnown) {
			return mayBeIn(ctx, s, err, signed.ID(), "the node may have accepted it")
		}
		receipt, err := flags.await(ctx, sending, s, signed)
		if receipt == nil || err != nil {
			return err
		}
		return included(ctx, s, *receipt)
	})
	command.Flags().BoolVar(&flags.noWait, "no-wait", false, "do not wait for inclusion in a block")
	return command
}
