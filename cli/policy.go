package cli

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
	"github.com/cairn-chain/cairn/cli/keystore"
	"github.com/cairn-chain/cairn/cli/output"
	"github.com/cairn-chain/cairn/client"
	"github.com/cairn-chain/cairn/types"
)

func (a *app) newPolicy() *cobra.Command {
	group := NewGroup(&cobra.Command{
		Use:   "policy",
		Short: "Let several keys sign for an account, replace keys, and recover an account",
		Long: `Let several keys sign for an account, replace keys, and recover an account.

A policy says which of its signers must sign: m of n, and with a recovery a second rule whose signers may replace the
policy after a delay. Its hash is an account, and any account can set it. Signers are keys, P-256 keys and passkeys.

Keep the encoded policy: the chain has only its hash until it signs for the first time, and without it the account is lost.`,
		Example: `  cairn account policy new treasury --signer alice --signer bob --signer carol --threshold 2
  cairn send treasury 100 --from alice
  cairn send bob 5 --from treasury --draft payment.json`,
	})
	group.AddCommand(
		a.newPolicyNew(), a.newPolicyImport(), a.newPolicyShow(), a.newPolicySet(), a.newPolicyRecover(), a.newPolicyCancel(),
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

func (s *session) policyPeople(t *output.Text, network types.Network, v policyView) {
	fields := []output.Field{}
	if v.Name != "" {
		fields = append(fields, output.Field{Name: "Name", Value: v.Name})
	}
	t.Fields(append(fields, output.Field{Name: "Address", Value: v.Address}, output.Field{Name: "Account", Value: v.Account},
		output.Field{Name: "Encoded", Value: v.Encoded.String()})...)
	s.ruleLines(t, network, "Owner", v.Policy.Owner)
	if r := v.Policy.Recovery; r != nil {
		s.ruleLines(t, network, "Recovery", r.Rule)
		t.Line("  after %s", time.Duration(r.Delay)*time.Millisecond)
	}
	t.Line("\nThe address is %s.", cairnOnly)
}

// ruleLines shows every signer of a rule.
func (s *session) ruleLines(t *output.Text, network types.Network, name string, rule types.Rule) {
	t.Line("\n%s: %d of %d", name, rule.Threshold, len(rule.Signers))
	for _, signer := range rule.Signers {
		t.Line("  %s", s.describeSigner(network, signer))
	}
}

// policyFlags are the flags of a new policy.
type policyFlags struct {
	signers, recoverySigners     []string
	threshold, recoveryThreshold int
	delay                        time.Duration
	number                       uint64
}

func (f *policyFlags) register(a *app, command *cobra.Command) {
	flags := command.Flags()
	flags.StringArrayVar(&f.signers, "signer", nil, "one of those who sign: a key's account or name, a P-256 key's name, "+
		"p256:HEX or passkey:HEX with the point's 128 digits; passkey:HEX:verified demands that the user is verified; repeat it")
	flags.IntVar(&f.threshold, "threshold", 1, "how many of them must sign")
	flags.StringArrayVar(&f.recoverySigners, "recovery-signer", nil, "one of those who can replace the policy after --delay")
	flags.IntVar(&f.recoveryThreshold, "recovery-threshold", 1, "how many of the recovery's signers must sign")
	flags.DurationVar(&f.delay, "delay", 7*24*time.Hour, "time until a recovery holds, in which the owners can stop it")
	flags.Uint64Var(&f.number, "number", 0, "gives the same signers another account")
	a.completeAccount(command, "signer", "recovery-signer")
	_ = command.MarkFlagRequired("signer") // fails only for a flag that does not exist
}

// policy returns the policy of the flags.
func (f *policyFlags) policy(s *session) (policy types.Policy, err error) {
	policy.Number = f.number
	if policy.Owner, err = s.rule(f.threshold, f.signers); err != nil || len(f.recoverySigners) == 0 {
		return policy, err
	}
	if f.delay < time.Millisecond {
		return policy, errors.New("--delay is a time of a millisecond at least")
	}
	rule, err := s.rule(f.recoveryThreshold, f.recoverySigners)
	policy.Recovery = &types.Recovery{Rule: rule, Delay: uint64(f.delay.Milliseconds())}
	if err == nil {
		err = policy.Check()
	}
	return policy, err
}

func (s *session) rule(threshold int, texts []string) (types.Rule, error) {
	signers := make([]types.Signer, len(texts))
	for i, text := range texts {
		var err error
		if signers[i], err = s.parseSigner(text); err != nil {
			return types.Rule{}, err
		}
	}
	return client.NewRule(threshold, signers...)
}

// parseSigner reads a signer of a policy.
func (s *session) parseSigner(text string) (types.Signer, error) {
	kind, rest, pointed := strings.Cut(text, ":")
	if !pointed {
		account, err := s.account(text)
		if err != nil {
			return nil, err
		}
		if signer, ok := signerOf(account); ok {
			return signer, nil
		}
		if account.Policy != nil || !types.IsKey(account.ID) {
			return nil, fmt.Errorf("%s is no key: a policy's signers are keys and passkeys", text)
		}
		return types.SignerKey{Key: types.PublicKey(account.ID)}, nil
	}
	digits, word, more := strings.Cut(rest, ":")
	raw, err := hex.DecodeString(strings.TrimPrefix(digits, "0x"))
	var point [64]byte
	switch {
	case err != nil || len(raw) != len(point):
		return nil, fmt.Errorf("%q: a point has 128 hex digits: x, then y", text)
	case kind == "p256" && !more:
		return types.SignerP256{Point: [64]byte(raw)}, nil
	case kind == "passkey" && (!more || word == "verified"):
		return types.SignerPasskey{Point: [64]byte(raw), Verified: more}, nil
	}
	return nil, fmt.Errorf("%q is no signer: it is an account, p256:HEX, passkey:HEX or passkey:HEX:verified", text)
}

func (a *app) newPolicyNew() *cobra.Command {
	var flags policyFlags
	command := a.define(&cobra.Command{
		Use:   "new NAME",
		Short: "Make a policy, and keep it in the keystore under a name",
		Long: `Make a policy, and keep it in the keystore under a name. Its address is shown once the policy is kept. NAME then
stands for the account whose address it is, everywhere.

Let each new signer sign something once before it gets into a policy: a key that nobody has makes the rule harder than it looks.`,
		Example: `  cairn account policy new treasury --signer alice --signer bob --signer carol --threshold 2
  cairn account policy new savings --signer phone --recovery-signer alice --delay 168h`,
		Args: exactly("NAME"),
	}, []string{"network"}, func(_ context.Context, s *session, _ *cobra.Command, args []string) error {
		if err := keystore.CheckName(args[0]); err != nil {
			return output.Usage(err)
		}
		policy, err := flags.policy(s)
		if err != nil {
			return output.Usage(err)
		}
		return s.keepPolicy(args[0], policy)
	})
	flags.register(a, command)
	return command
}

// keepPolicy stores a policy, and only then shows its address.
func (s *session) keepPolicy(name string, policy types.Policy) error {
	network := types.Network(s.settings.Network)
	if _, err := s.store.AddPolicy(name, network, policy); err != nil {
		return err
	}
	view := viewPolicy(name, network, policy)
	s.Note("Keep the encoded policy at another place too: without it nobody can sign for the account.")
	return s.Result(view, func(t *output.Text) { s.policyPeople(t, network, view) })
}

func (a *app) newPolicyImport() *cobra.Command {
	return a.define(&cobra.Command{
		Use:   "import NAME ENCODED",
		Short: "Keep a policy that somebody else made, under a name",
		Long: `Keep a policy that somebody else made, under a name. ENCODED is what "cairn account policy show" gives, in hex. A
signer needs it to see what it signs for.`,
		Example: "  cairn account policy import treasury 0x0000…",
		Args:    exactly("NAME", "ENCODED"),
	}, []string{"network"}, func(_ context.Context, s *session, _ *cobra.Command, args []string) error {
		if err := keystore.CheckName(args[0]); err != nil {
			return output.Usage(err)
		}
		raw, err := hex.DecodeString(strings.TrimPrefix(args[1], "0x"))
		if err != nil {
			return output.Usage(errors.New("an encoded policy is hex"))
		}
		policy, err := types.DecodePolicy(raw)
		if err != nil {
			return output.Usage(fmt.Errorf("it is no encoded policy: %w", err))
		}
		return output.Usage(s.keepPolicy(args[0], policy))
	})
}

func (a *app) newPolicyShow() *cobra.Command {
	return a.completeNames(a.define(&cobra.Command{
		Use:   "show ACCOUNT",
		Short: "Show a policy of the keystore, or the one that signs for an account",
		Long: `Show a policy of the keystore with every signer, or the one that signs for an account now. The node knows the latter once
it has signed a transaction.`,
		Example: "  cairn account policy show treasury\n  cairn account policy show bcrt1p…",
		Args:    exactly("ACCOUNT"),
	}, nodeSettings, func(ctx context.Context, s *session, _ *cobra.Command, args []string) error {
		account, err := s.account(args[0])
		if err != nil {
			return err
		}
		network := account.Network
		policy := account.Policy
		if policy == nil {
			asking, cancel := s.patience(ctx)
			defer cancel()
			who, err := s.signatory(asking, account)
			if err != nil {
				return err
			}
			if who.policy == nil {
				return fmt.Errorf("no policy signs for %s that is known here: its own key does", args[0])
			}
			network, policy = who.chain.Network, who.policy
		}
		view := viewPolicy(account.Name, network, *policy)
		return s.Result(view, func(t *output.Text) { s.policyPeople(t, network, view) })
	}))
}

// newAuthority reads the argument for who is to sign for an account: a policy's name, or "own", which gives nil.
func (s *session) newAuthority(text string) (*types.Policy, error) {
	if text == ownPolicy {
		return nil, nil
	}
	account, err := s.account(text)
	if err != nil {
		return nil, err
	}
	if account.Policy == nil {
		return nil, fmt.Errorf("%s is no policy of the keystore: cairn account policy new", text)
	}
	return account.Policy, nil
}

// checkOwn returns an error if an account is to be its own authority, and is neither a key nor a policy that is known.
func (s *session) checkOwn(from argument.Account, policy *types.Policy) error {
	if policy != nil || types.IsKey(from.ID) || s.policyOf(from.ID, from.Policy) != nil {
		return nil
	}
	return fmt.Errorf("%s is no key, and the policy whose hash it is is not in the keystore: cairn account policy import",
		from.Text)
}

// setPolicy sends a change of who signs for an account, after it has shown every signer.
func (s *session) setPolicy(
	ctx context.Context, command *cobra.Command, flags *submission, from argument.Account, action client.Action, yes bool,
) error {
	if err := s.onChain(ctx, from); err != nil {
		return err
	}
	asking, cancel := s.patience(ctx)
	defer cancel()
	chain, err := s.chain(asking)
	if err != nil {
		return err
	}
	set, ok := action.Payload.(types.SetPolicy)
	if !ok {
		return errors.New("it is no change of policy")
	}
	s.Note("%s", s.changeText(chain.Network, from, set))
	if !flags.dryRun && flags.draft == "" {
		if err := s.confirm(ctx, yes, from.Text, "These sign for "+from.Text+" from then on."); err != nil {
			return err
		}
	}
	return flags.submit(ctx, s, command, from, action)
}

// changeText shows people who is to sign for an account.
func (s *session) changeText(network types.Network, from argument.Account, set types.SetPolicy) string {
	var text strings.Builder
	fmt.Fprintf(&text, "For %s ", network.Address(from.ID))
	policy := set.Policy
	if policy == nil {
		if policy = s.policyOf(from.ID, from.Policy); policy == nil {
			text.WriteString("its own key alone is to sign.")
			return text.String()
		}
		text.WriteString("the policy whose hash it is signs again: ")
	}
	rules := []struct {
		name string
		rule types.Rule
	}{{"to sign", policy.Owner}}
	if r := policy.Recovery; r != nil {
		rules = append(rules, struct {
			name string
			rule types.Rule
		}{fmt.Sprintf("to replace them after %s", time.Duration(r.Delay)*time.Millisecond), r.Rule})
	}
	for i, r := range rules {
		if i > 0 {
			text.WriteString("\nand ")
		}
		fmt.Fprintf(&text, "%d of these are %s:", r.rule.Threshold, r.name)
		for _, signer := range r.rule.Signers {
			fmt.Fprintf(&text, "\n  %s", s.describeSigner(network, signer))
		}
	}
	return text.String()
}

func (a *app) newPolicySet() *cobra.Command {
	var flags submission
	var yes bool
	command := a.define(&cobra.Command{
		Use:   "set POLICY|own",
		Short: "Let a policy sign for an account from now on, or again who signed first",
		Long: `Let a policy of the keystore sign for the account of --from from now on, or with own again who signed first: the account's
own key, or the policy whose hash it is. The address stays. It shows every signer, and asks. A recovery that is under way ends.`,
		Example: `  cairn account policy set treasury --from alice
  cairn account policy set own --from alice`,
		Args: exactly("POLICY|own"),
	}, senderSettings, func(ctx context.Context, s *session, command *cobra.Command, args []string) error {
		policy, err := s.newAuthority(args[0])
		if err != nil {
			return output.Usage(err)
		}
		from, err := s.sender(flags.unsigned())
		if err != nil {
			return err
		}
		if err := s.checkOwn(from, policy); err != nil {
			return output.Usage(err)
		}
		return s.setPolicy(ctx, command, &flags, from, client.SetPolicy(policy), yes)
	})
	command.Flags().BoolVar(&yes, "yes", false, "do not ask whether it is meant")
	flags.register(a, command)
	flags.registerGasLimit(command)
	return command
}

func (a *app) newPolicyRecover() *cobra.Command {
	var flags submission
	var yes bool
	command := a.define(&cobra.Command{
		Use:   "recover POLICY|own",
		Short: "Begin to replace the policy of an account whose signers are lost",
		Long: `Begin to replace the policy of the account of --from, by the signers of its recovery. The new policy, or with own who
signed first, signs once the delay is over; until then the owners can stop it: cairn account policy cancel. Another account
must pay, as recovery keys cannot spend the account's coins.`,
		Example: "  cairn account policy recover rescued --from treasury --payer alice",
		Args:    exactly("POLICY|own"),
	}, senderSettings, func(ctx context.Context, s *session, command *cobra.Command, args []string) error {
		if flags.payer == "" {
			return output.Usage(fmt.Errorf("another account pays for a recovery: give --%s", payerFlag))
		}
		policy, err := s.newAuthority(args[0])
		if err != nil {
			return output.Usage(err)
		}
		from, err := s.sender(true)
		if err != nil {
			return err
		}
		if err := s.checkOwn(from, policy); err != nil {
			return output.Usage(err)
		}
		return s.setPolicy(ctx, command, &flags, from, client.Recover(policy), yes)
	})
	command.Flags().BoolVar(&yes, "yes", false, "do not ask whether it is meant")
	flags.register(a, command)
	flags.registerGasLimit(command)
	return command
}

func (a *app) newPolicyCancel() *cobra.Command {
	var flags submission
	var yes bool
	command := a.define(&cobra.Command{
		Use:   "cancel",
		Short: "Stop a recovery that is under way",
		Long: `Stop a recovery of the account of --from that is under way, by a transaction that sets the policy in force again. It
must be in a block before the recovery's time.`,
		Example: "  cairn account policy cancel --from treasury",
		Args:    exactly(),
	}, senderSettings, func(ctx context.Context, s *session, command *cobra.Command, _ []string) error {
		from, err := s.sender(flags.unsigned())
		if err != nil {
			return err
		}
		asking, cancel := s.patience(ctx)
		defer cancel()
		found, err := s.client.Account(asking, from.ID, api.Latest())
		if err != nil {
			return err
		}
		if found.Recovery == nil {
			return fmt.Errorf("no recovery of %s is under way", from.Text)
		}
		who, err := s.signatory(asking, from)
		if err != nil {
			return err
		}
		policy := who.policy
		if found.Authority == from.ID && from.Policy == nil {
			policy = nil // the account is its own authority
		}
		return s.setPolicy(ctx, command, &flags, from, client.SetPolicy(policy), yes)
	})
	command.Flags().BoolVar(&yes, "yes", false, "do not ask whether it is meant")
	flags.register(a, command)
	flags.registerGasLimit(command)
	return command
}

// unsigned reports whether the flags say that nothing is signed here.
func (f *submission) unsigned() bool { return f.dryRun || f.draft != "" }

// recoveryText describes a recovery that is under way.
func recoveryText(network types.Network, r *api.PendingRecovery, account types.Account) string {
	to := network.Address(r.Authority)
	if r.Authority == account {
		to = "who signed first"
	}
	if r.From <= uint64(max(time.Now().UnixMilli(), 0)) {
		return fmt.Sprintf("to %s, in force since %s", to, millisecondTime(r.From))
	}
	return fmt.Sprintf("to %s, from %s on: cairn account policy cancel stops it", to, millisecondTime(r.From))
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
		return "the policy whose hash it is, which is not known here"
	}
	return "its own key, or the policy whose hash it is"
}

func plural(n int, one string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + one + "s"
}
