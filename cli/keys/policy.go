package keys

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/cli/argument"
	"github.com/cairn-chain/cairn/cli/invoke"
	"github.com/cairn-chain/cairn/cli/keystore"
	"github.com/cairn-chain/cairn/cli/output"
	"github.com/cairn-chain/cairn/cli/session"
	"github.com/cairn-chain/cairn/cli/show"
	"github.com/cairn-chain/cairn/cli/submit"
	"github.com/cairn-chain/cairn/client"
	"github.com/cairn-chain/cairn/types"
)

func newPolicy(a *session.App) *cobra.Command {
	group := invoke.NewGroup(&cobra.Command{
		Use:   "policy",
		Short: "Use several keys for an account (multisig), replace keys, and recover an account",
		Long: `Use several keys for an account (multisig), replace keys, and recover an account.

A policy requires m of n signers. It may have a recovery: a second rule whose signers
can replace the policy after a delay. The hash of a policy is an account, and any
account can set a policy. Signers are keys, P-256 keys and passkeys.

Keep the encoded policy: until it signs for the first time the chain has only its hash,
and without the policy the account is lost.`,
		Example: `  cairn account policy new treasury --signer alice --signer bob --signer carol --threshold 2
  cairn send treasury 100 --from alice
  cairn send bob 5 --from treasury --draft payment.json`,
	})
	group.AddCommand(
		newPolicyNew(a), newPolicyImport(a), newPolicyShow(a), newPolicySet(a), newPolicyRecover(a), newPolicyCancel(a),
	)
	return group
}

// policyView is a policy as a result.
type policyView struct {
	Name    string        `json:"name,omitempty"`
	Account types.Account `json:"account"`
	Address string        `json:"address"`
	Policy  types.Policy  `json:"policy"`
	Encoded api.Data      `json:"encoded"` // keep it: nobody can sign without it
}

// viewPolicy describes a policy on a network.
func viewPolicy(name string, network types.Network, policy types.Policy) policyView {
	hash := policy.Hash()
	return policyView{
		Name: name, Account: hash, Address: network.Address(hash), Policy: policy, Encoded: policy.Encode(),
	}
}

func printPolicy(s *session.Session, t *output.Text, network types.Network, v policyView) {
	fields := []output.Field{}
	if v.Name != "" {
		fields = append(fields, output.Field{Name: "Name", Value: v.Name})
	}
	t.Fields(append(fields, output.Field{Name: "Address", Value: v.Address}, output.Field{Name: "Account", Value: v.Account},
		output.Field{Name: "Encoded", Value: v.Encoded.String()})...)
	ruleLines(s, t, network, "Owner", v.Policy.Owner)
	if r := v.Policy.Recovery; r != nil {
		ruleLines(s, t, network, "Recovery", r.Rule)
		t.Line("  after %s", time.Duration(r.Delay)*time.Millisecond)
	}
	t.Line("\nThe address is %s.", cairnOnly)
}

// ruleLines shows every signer of a rule.
func ruleLines(s *session.Session, t *output.Text, network types.Network, name string, rule types.Rule) {
	t.Line("\n%s: %d of %d", name, rule.Threshold, len(rule.Signers))
	for _, signer := range rule.Signers {
		t.Line("  %s", submit.DescribeSigner(s, network, signer))
	}
}

// policyFlags are the flags of a new policy.
type policyFlags struct {
	signers, recoverySigners     []string
	threshold, recoveryThreshold int
	delay                        time.Duration
	number                       uint64
}

func (f *policyFlags) register(a *session.App, command *cobra.Command) {
	flags := command.Flags()
	flags.StringArrayVar(&f.signers, "signer", nil, "signer: account or name of a key, name of a P-256 key, p256:HEX "+
		"or passkey:HEX with the point's 128 digits; passkey:HEX:verified requires user verification; repeat for "+
		"each signer")
	flags.IntVar(&f.threshold, "threshold", 1, "number of signers that must sign")
	flags.StringArrayVar(&f.recoverySigners, "recovery-signer", nil, "recovery signer, who can replace the policy "+
		"after --delay; repeat for each signer")
	flags.IntVar(&f.recoveryThreshold, "recovery-threshold", 1, "number of recovery signers that must sign")
	flags.DurationVar(&f.delay, "delay", 7*24*time.Hour, "delay of a recovery, during which the owners can stop it")
	flags.Uint64Var(&f.number, "number", 0, "number that gives the same signers a different account")
	a.CompleteAccount(command, "signer", "recovery-signer")
	_ = command.MarkFlagRequired("signer") // fails only for a flag that does not exist
}

// policy returns the policy of the flags.
func (f *policyFlags) policy(s *session.Session) (policy types.Policy, err error) {
	policy.Number = f.number
	if policy.Owner, err = rule(s, f.threshold, f.signers); err != nil || len(f.recoverySigners) == 0 {
		return policy, err
	}
	if f.delay < time.Millisecond {
		return policy, errors.New("--delay must be at least a millisecond")
	}
	rule, err := rule(s, f.recoveryThreshold, f.recoverySigners)
	policy.Recovery = &types.Recovery{Rule: rule, Delay: uint64(f.delay.Milliseconds())}
	if err == nil {
		err = policy.Check()
	}
	return policy, err
}

func rule(s *session.Session, threshold int, texts []string) (types.Rule, error) {
	signers := make([]types.Signer, len(texts))
	for i, text := range texts {
		var err error
		if signers[i], err = parseSigner(s, text); err != nil {
			return types.Rule{}, err
		}
	}
	return client.NewRule(threshold, signers...)
}

// parseSigner reads a signer of a policy.
func parseSigner(s *session.Session, text string) (types.Signer, error) {
	kind, rest, pointed := strings.Cut(text, ":")
	if !pointed {
		account, err := s.Account(text)
		if err != nil {
			return nil, err
		}
		if signer, ok := submit.SignerOf(account); ok {
			return signer, nil
		}
		if account.Policy != nil || !types.IsKey(account.ID) {
			return nil, fmt.Errorf("%s is not a key: only keys and passkeys can be signers of a policy", text)
		}
		return types.SignerKey{Key: types.PublicKey(account.ID)}, nil
	}
	digits, word, more := strings.Cut(rest, ":")
	raw, err := hex.DecodeString(strings.TrimPrefix(digits, "0x"))
	var point [64]byte
	switch {
	case err != nil || len(raw) != len(point):
		return nil, fmt.Errorf("%q: a point must have 128 hex digits: x, then y", text)
	case kind == "p256" && !more:
		return types.SignerP256{Point: [64]byte(raw)}, nil
	case kind == "passkey" && (!more || word == "verified"):
		return types.SignerPasskey{Point: [64]byte(raw), Verified: more}, nil
	}
	return nil, fmt.Errorf("%q is not a signer: use an account, p256:HEX, passkey:HEX or passkey:HEX:verified", text)
}

func newPolicyNew(a *session.App) *cobra.Command {
	var flags policyFlags
	command := a.Define(&cobra.Command{
		Use:   "new NAME",
		Short: "Create a policy, and store it in the keystore under a name",
		Long: `Create a policy, store it in the keystore under a name, and show its address. NAME then
stands for the account with that address in all commands.

Have each new signer sign something once before you add it to a policy: a key that
nobody holds makes the rule stricter than it looks.`,
		Example: `  cairn account policy new treasury --signer alice --signer bob --signer carol --threshold 2
  cairn account policy new savings --signer phone --recovery-signer alice --delay 168h`,
		Args: invoke.Exactly("NAME"),
	}, []string{"network"}, func(_ context.Context, s *session.Session, _ *cobra.Command, args []string) error {
		if err := keystore.CheckName(args[0]); err != nil {
			return output.Usage(err)
		}
		policy, err := flags.policy(s)
		if err != nil {
			return output.Usage(err)
		}
		return keepPolicy(s, args[0], policy)
	})
	flags.register(a, command)
	return command
}

// keepPolicy stores a policy, and only then shows its address.
func keepPolicy(s *session.Session, name string, policy types.Policy) error {
	network := types.Network(s.Settings.Network)
	if _, err := s.Store.AddPolicy(name, network, policy); err != nil {
		return err
	}
	view := viewPolicy(name, network, policy)
	s.Note("Keep a copy of the encoded policy in another place: without it nobody can sign for the account.")
	return s.Result(view, func(t *output.Text) { printPolicy(s, t, network, view) })
}

func newPolicyImport(a *session.App) *cobra.Command {
	return a.Define(&cobra.Command{
		Use:   "import NAME ENCODED",
		Short: "Import a policy that somebody else created",
		Long: `Import a policy that somebody else created, and store it under a name. ENCODED is the
encoded policy in hex, as printed by "cairn account policy show". A signer needs the
policy to see which account it signs for.`,
		Example: "  cairn account policy import treasury 0x0000…",
		Args:    invoke.Exactly("NAME", "ENCODED"),
	}, []string{"network"}, func(_ context.Context, s *session.Session, _ *cobra.Command, args []string) error {
		if err := keystore.CheckName(args[0]); err != nil {
			return output.Usage(err)
		}
		raw, err := hex.DecodeString(strings.TrimPrefix(args[1], "0x"))
		if err != nil {
			return output.Usage(errors.New("an encoded policy must be hex"))
		}
		policy, err := types.DecodePolicy(raw)
		if err != nil {
			return output.Usage(fmt.Errorf("not an encoded policy: %w", err))
		}
		return output.Usage(keepPolicy(s, args[0], policy))
	})
}

func newPolicyShow(a *session.App) *cobra.Command {
	return a.CompleteNames(a.Define(&cobra.Command{
		Use:   "show ACCOUNT",
		Short: "Show a policy in the keystore, or the policy of an account",
		Long: `Show a policy in the keystore with all its signers, or the current policy of an account.
The node knows an account's policy once it has signed a transaction.`,
		Example: "  cairn account policy show treasury\n  cairn account policy show bcrt1p…",
		Args:    invoke.Exactly("ACCOUNT"),
	}, session.NodeSettings, func(ctx context.Context, s *session.Session, _ *cobra.Command, args []string) error {
		account, err := s.Account(args[0])
		if err != nil {
			return err
		}
		network := account.Network
		policy := account.Policy
		if policy == nil {
			asking, cancel := s.Patience(ctx)
			defer cancel()
			who, err := submit.SignatoryOf(asking, s, account)
			if err != nil {
				return err
			}
			if who.Policy == nil {
				return fmt.Errorf("%s has no policy known here: its own key signs for it", args[0])
			}
			network, policy = who.Chain.Network, who.Policy
		}
		view := viewPolicy(account.Name, network, *policy)
		return s.Result(view, func(t *output.Text) { printPolicy(s, t, network, view) })
	}))
}

// newAuthority reads the argument that names an account's new policy. It returns nil for "own", the account's own key.
func newAuthority(s *session.Session, text string) (*types.Policy, error) {
	if text == show.OwnPolicy {
		return nil, nil
	}
	account, err := s.Account(text)
	if err != nil {
		return nil, err
	}
	if account.Policy == nil {
		return nil, fmt.Errorf("%s is not a policy in the keystore: create one with cairn account policy new", text)
	}
	return account.Policy, nil
}

// checkOwn returns an error if an account is to be its own authority, and is neither a key nor a policy that is known.
func checkOwn(s *session.Session, from argument.Account, policy *types.Policy) error {
	if policy != nil || types.IsKey(from.ID) || submit.PolicyOf(s, from.ID, from.Policy) != nil {
		return nil
	}
	return fmt.Errorf("%s is not a key, and the policy with this hash is not in the keystore: import it with cairn "+
		"account policy import",
		from.Text)
}

// setPolicy sends a change of who signs for an account, after it has shown every signer.
func setPolicy(
	ctx context.Context, s *session.Session, command *cobra.Command, flags *submit.Flags, from argument.Account,
	action client.Action, yes bool,
) error {
	if err := submit.OnChain(ctx, s, from); err != nil {
		return err
	}
	asking, cancel := s.Patience(ctx)
	defer cancel()
	chain, err := s.Chain(asking)
	if err != nil {
		return err
	}
	set, ok := action.Payload.(types.SetPolicy)
	if !ok {
		return errors.New("this transaction does not change a policy")
	}
	s.Note("%s", changeText(s, chain.Network, from, set))
	if !flags.DryRun && flags.Draft == "" {
		if err := s.Confirm(ctx, yes, from.Text, "These sign for "+from.Text+" from then on."); err != nil {
			return err
		}
	}
	return flags.Submit(ctx, s, command, from, action)
}

// changeText describes the new signers of an account.
func changeText(s *session.Session, network types.Network, from argument.Account, set types.SetPolicy) string {
	var text strings.Builder
	fmt.Fprintf(&text, "For %s ", network.Address(from.ID))
	policy := set.Policy
	if policy == nil {
		if policy = submit.PolicyOf(s, from.ID, from.Policy); policy == nil {
			text.WriteString("only its own key will sign.")
			return text.String()
		}
		text.WriteString("the policy with this hash signs again: ")
	}
	rules := []struct {
		name string
		rule types.Rule
	}{{"must sign", policy.Owner}}
	if r := policy.Recovery; r != nil {
		rules = append(rules, struct {
			name string
			rule types.Rule
		}{fmt.Sprintf("can replace them after %s", time.Duration(r.Delay)*time.Millisecond), r.Rule})
	}
	for i, r := range rules {
		if i > 0 {
			text.WriteString("\nand ")
		}
		fmt.Fprintf(&text, "%d of these %s:", r.rule.Threshold, r.name)
		for _, signer := range r.rule.Signers {
			fmt.Fprintf(&text, "\n  %s", submit.DescribeSigner(s, network, signer))
		}
	}
	return text.String()
}

func newPolicySet(a *session.App) *cobra.Command {
	var flags submit.Flags
	var yes bool
	command := a.Define(&cobra.Command{
		Use:   "set POLICY|own",
		Short: "Set the policy of an account, or return to its original signer",
		Long: `Set a policy of the keystore for the account of --from or, with "own", return to the
account's original signer: its own key, or the policy with this hash. The address stays
the same. The command shows all signers, and asks for confirmation. A pending recovery
is cancelled.`,
		Example: `  cairn account policy set treasury --from alice
  cairn account policy set own --from alice`,
		Args: invoke.Exactly("POLICY|own"),
	}, session.SenderSettings, func(
		ctx context.Context, s *session.Session, command *cobra.Command, args []string,
	) error {
		policy, err := newAuthority(s, args[0])
		if err != nil {
			return output.Usage(err)
		}
		from, err := submit.Sender(s, flags.Unsigned())
		if err != nil {
			return err
		}
		if err := checkOwn(s, from, policy); err != nil {
			return output.Usage(err)
		}
		return setPolicy(ctx, s, command, &flags, from, client.SetPolicy(policy), yes)
	})
	command.Flags().BoolVar(&yes, "yes", false, "do not ask for confirmation")
	flags.Register(a, command)
	flags.RegisterGasLimit(command)
	return command
}

func newPolicyRecover(a *session.App) *cobra.Command {
	var flags submit.Flags
	var yes bool
	command := a.Define(&cobra.Command{
		Use:   "recover POLICY|own",
		Short: "Start the recovery of an account whose signers are lost",
		Long: `Start the recovery of the account of --from: its recovery signers replace its policy.
The new policy or, with "own", the account's original signer takes effect after the
delay; until then the owners can stop it with cairn account policy cancel. Another
account must pay the fee, because recovery keys cannot spend the account's coins.`,
		Example: "  cairn account policy recover rescued --from treasury --payer alice",
		Args:    invoke.Exactly("POLICY|own"),
	}, session.SenderSettings, func(
		ctx context.Context, s *session.Session, command *cobra.Command, args []string,
	) error {
		if flags.Payer == "" {
			return output.Usage(fmt.Errorf("another account must pay for a recovery: give --%s", submit.PayerFlag))
		}
		policy, err := newAuthority(s, args[0])
		if err != nil {
			return output.Usage(err)
		}
		from, err := submit.Sender(s, true)
		if err != nil {
			return err
		}
		if err := checkOwn(s, from, policy); err != nil {
			return output.Usage(err)
		}
		return setPolicy(ctx, s, command, &flags, from, client.Recover(policy), yes)
	})
	command.Flags().BoolVar(&yes, "yes", false, "do not ask for confirmation")
	flags.Register(a, command)
	flags.RegisterGasLimit(command)
	return command
}

func newPolicyCancel(a *session.App) *cobra.Command {
	var flags submit.Flags
	var yes bool
	command := a.Define(&cobra.Command{
		Use:   "cancel",
		Short: "Cancel a pending recovery",
		Long: `Cancel a pending recovery of the account of --from, by a transaction that sets the
current policy again. The transaction must be in a block before the recovery takes
effect.`,
		Example: "  cairn account policy cancel --from treasury",
		Args:    invoke.Exactly(),
	}, session.SenderSettings, func(ctx context.Context, s *session.Session, command *cobra.Command, _ []string) error {
		from, err := submit.Sender(s, flags.Unsigned())
		if err != nil {
			return err
		}
		asking, cancel := s.Patience(ctx)
		defer cancel()
		found, err := s.Client.Account(asking, from.ID, api.Latest())
		if err != nil {
			return err
		}
		if found.Recovery == nil {
			return fmt.Errorf("%s has no pending recovery", from.Text)
		}
		who, err := submit.SignatoryOf(asking, s, from)
		if err != nil {
			return err
		}
		policy := who.Policy
		if found.Authority == from.ID && from.Policy == nil {
			policy = nil // the account is its own authority
		}
		return setPolicy(ctx, s, command, &flags, from, client.SetPolicy(policy), yes)
	})
	command.Flags().BoolVar(&yes, "yes", false, "do not ask for confirmation")
	flags.Register(a, command)
	flags.RegisterGasLimit(command)
	return command
}

// recoveryText describes a recovery that is under way.
func recoveryText(network types.Network, r *api.PendingRecovery, account types.Account) string {
	to := network.Address(r.Authority)
	if r.Authority == account {
		to = "who signed first"
	}
	if r.From <= uint64(max(time.Now().UnixMilli(), 0)) {
		return fmt.Sprintf("to %s, in force since %s", to, show.MillisecondTime(r.From))
	}
	return fmt.Sprintf("to %s, from %s on; to stop it: cairn account policy cancel", to, show.MillisecondTime(r.From))
}

// signers describes who signs for an account.
func (v accountView) signers(network types.Network) string {
	switch {
	case v.Contract:
		return "its code"
	case v.Policy != nil:
		return fmt.Sprintf("%d of %s, by policy %s", v.Policy.Owner.Threshold,
			plural(len(v.Policy.Owner.Signers), "signer"), network.Address(v.Authority))
	case v.Authority != v.Account:
		return "policy " + network.Address(v.Authority)
	case v.isKey:
		return "its own key"
	case !types.IsKey(v.Account):
		return "the policy with this hash, which is unknown here"
	}
	return "its own key, or the policy with this hash"
}

func plural(n int, one string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + one + "s"
}
