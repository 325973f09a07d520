package contract

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/cairn-chain/cairn/abi"
	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/cli/argument"
	"github.com/cairn-chain/cairn/cli/invoke"
	"github.com/cairn-chain/cairn/cli/output"
	"github.com/cairn-chain/cairn/cli/session"
	"github.com/cairn-chain/cairn/cli/submit"
	"github.com/cairn-chain/cairn/client"
	"github.com/cairn-chain/cairn/crypto"
	"github.com/cairn-chain/cairn/kit/conformance"
	"github.com/cairn-chain/cairn/kit/contractbuild"
	"github.com/cairn-chain/cairn/kit/nep11"
	"github.com/cairn-chain/cairn/kit/nep20"
	"github.com/cairn-chain/cairn/types"
)

// tokenReport is the result of cairn token check.
type tokenReport struct {
	conformance.Report
	Standard string `json:"standard"`
	Conforms bool   `json:"conforms"`
	// CanChange is whether the token's code can replace itself: then the result of the check may not hold later.
	CanChange bool `json:"canChange"`
}

// standard is a token standard to check.
type standard struct {
	name  string
	check func(
		context.Context, conformance.Chain, types.ContractID, conformance.Accounts, func(conformance.Result),
	) (conformance.Report, error)
}

// standards maps the values of --standard to the supported standards.
var standards = map[string]standard{"nep20": {"NEP-20", nep20.Check}, "nep11": {"NEP-11", nep11.Check}}

// standardOf returns the requested standard. The default is NEP-11 if the token's ABI has ownerOf, otherwise NEP-20.
func standardOf(ctx context.Context, s *session.Session, id types.ContractID, asked string) (standard, error) {
	if asked == "" {
		declared, err := s.Client.ContractABI(ctx, id)
		if err != nil {
			return standard{}, err
		}
		asked = "nep20"
		if declared != nil {
			if _, ok := declared.Function("ownerOf"); ok {
				asked = "nep11"
			}
		}
	}
	chosen, ok := standards[asked]
	if !ok {
		return standard{}, output.Usage(fmt.Errorf("unknown standard %q: use nep20 or nep11", asked))
	}
	return chosen, nil
}

func newTokenCheck(a *session.App) *cobra.Command {
	var fund, asked string
	command := a.CompleteNames(a.Define(&cobra.Command{
		Use:   "check TOKEN",
		Short: "Test a token's conformance to its standard, NEP-20 or NEP-11",
		Long: `Test a deployed token against the NEP-20 standard: its functions and events,
conservation of the supply, the rules of allowances, overflow, the zero account, and
transfers to oneself. Up to half of the sender's tokens move between accounts that own
nothing else, so that hidden fees show. On a development chain all of them move, time
advances, a contract receives tokens, and every other function of the token is called:
none may take other accounts' tokens, or block transfers. A contract with the function
ownerOf is tested against NEP-11 (non-fungible tokens): who may move a token, approvals,
paged lists, IDs, mint and burn, and notification of receiving contracts.

--from must hold at least 100 smallest units of the token, or one NEP-11 token; mint is
tested if --from is the token's owner. Two new test accounts take part. A development
chain is reverted afterwards; on other chains the remaining tokens and coins are sent
back by transactions, and gas is spent. Exit code 1 if the token breaks a rule.`,
		Example: "  cairn token check gold --from dev0\n  cairn token check gold --from dev0 --json",
		Args:    invoke.Exactly("TOKEN"),
	}, session.SenderSettings, func(ctx context.Context, s *session.Session, _ *cobra.Command, args []string) error {
		amount, err := argument.ParseAmount(fund)
		if err != nil {
			return output.Usage(err)
		}
		from, err := submit.Sender(s, false)
		if err != nil {
			return err
		}
		id, chain, err := s.Contract(ctx, args[0])
		if err != nil {
			return err
		}
		if err := from.On(chain); err != nil {
			return output.Usage(err)
		}
		holder, err := submit.OwnKey(ctx, s, from)
		if err != nil {
			return err
		}
		held, err := standardOf(ctx, s, id, asked)
		if err != nil {
			return err
		}
		code, err := s.Client.ContractCode(ctx, id)
		if err != nil {
			return err
		}
		canChange, err := contractbuild.CanChange(code)
		if err != nil {
			return fmt.Errorf("the token's code: %w", err)
		}
		report, err := checkToken(ctx, s, held, checked{id, chain, holder, amount})
		if err != nil {
			return err
		}
		breaks := fmt.Errorf("the token does not conform to %s", held.name)
		if !report.Conforms() && s.JSON() {
			return output.WithData(breaks, map[string]any{"token": report.Token, "results": report.Results})
		}
		if err := s.Result(tokenReport{
			report, held.name, report.Conforms(), canChange,
		}, func(t *output.Text) { printReport(t, report, canChange) }); err != nil {
			return err
		}
		if !report.Conforms() {
			return breaks
		}
		return nil
	}))
	command.Flags().StringVar(&asked, "standard", "", "nep20 or nep11 (default: detected from the token's functions)")
	invoke.CompleteChoice(command, "standard", slices.Sorted(maps.Keys(standards))...)
	command.Flags().StringVar(&fund, "fund", "1", "coins for the gas of each of the two test accounts")
	return command
}

func printReport(t *output.Text, report conformance.Report, canChange bool) {
	words := map[conformance.Verdict]string{conformance.Pass: "ok", conformance.Fail: "FAIL", conformance.LeftOut: "-"}
	rows := make([][]any, len(report.Results))
	for i, r := range report.Results {
		says := r.Says
		if r.Detail != "" {
			says += "\n" + r.Detail
		}
		rows[i] = []any{words[r.Verdict], r.Rule, says}
	}
	t.Table([]string{"", "Rule", "It says"}, rows)
	t.Line(
		"\n%d rules kept, %d broken, %d left out", report.Count(conformance.Pass), report.Count(conformance.Fail),
		report.Count(conformance.LeftOut),
	)
	if canChange {
		t.Line("The code can replace itself (replace_code): these results need not hold later.")
	}
}

// checkedToken is a token on a node as a check sees it.
type checkedToken struct {
	*session.Session
	id          types.ContractID
	development bool // each transaction gets a block of its own
	signers     map[types.Account]client.Signer
	last        types.TxID // latest included call
}

// checked holds the inputs of a check.
type checked struct {
	id     types.ContractID
	chain  argument.Chain
	holder client.Signer
	fund   types.Amount // amount for each of the two accounts
}

// checkToken runs the check with two new accounts, and restores the chain as far as possible.
func checkToken(
	ctx context.Context, s *session.Session, held standard, c checked,
) (report conformance.Report, err error) {
	holder := c.holder.Account()
	t := &checkedToken{
		Session: s, id: c.id, development: c.chain.ID == api.DevelopmentChainID,
		signers: map[types.Account]client.Signer{holder: c.holder},
	}
	accounts := conformance.Accounts{Holder: holder}
	for _, account := range []*types.Account{&accounts.A, &accounts.B} {
		signer, err := newSigner()
		if err != nil {
			return report, err
		}
		*account = signer.Account()
		t.signers[signer.Account()] = signer
	}
	if t.development {
		snapshot, err := s.Client.Dev().Snapshot(ctx)
		if err != nil {
			return report, err
		}
		defer func() { err = errors.Join(err, s.Client.Dev().Revert(context.WithoutCancel(ctx), snapshot)) }()
	} else {
		defer func() { err = errors.Join(err, t.giveBack(context.WithoutCancel(ctx), held, accounts)) }()
	}
	for _, account := range []types.Account{accounts.A, accounts.B} {
		if _, err := t.send(ctx, holder, client.Transfer(account, c.fund), client.TxFields{}); err != nil {
			return report, err
		}
	}
	done := 0
	describe, stop := s.Live(s.Terminal)
	defer stop()
	return held.check(ctx, t, c.id, accounts, func(r conformance.Result) {
		done++
		describe(fmt.Sprintf("%d rules tested", done))
	})
}

// newSigner returns a new key known only to this process.
func newSigner() (client.Signer, error) {
	var seed [32]byte
	_, _ = rand.Read(seed[:]) // never fails (crypto/rand)
	key, err := crypto.NewPrivateKey(seed)
	return client.NewSigner(key), err
}

// giveBack returns the tokens and coins of the two accounts to the holder.
func (t *checkedToken) giveBack(ctx context.Context, held standard, accounts conformance.Accounts) error {
	var failures []error
	for _, from := range []types.Account{accounts.A, accounts.B} {
		give := t.giveTokensBack
		if held.name == standards["nep11"].name {
			give = t.giveItemsBack
		}
		failures = append(failures, give(ctx, from, accounts.Holder), t.giveCoinsBack(ctx, from, accounts.Holder))
	}
	return errors.Join(failures...)
}

func (t *checkedToken) giveTokensBack(ctx context.Context, from, to types.Account) error {
	balance, err := t.Client.TokenBalance(ctx, t.id, from, api.Latest())
	if err != nil || balance.Balance == 0 {
		return err
	}
	give, err := client.Call(t.id, "transfer", map[string]any{"to": to, "amount": abi.Uint64(balance.Balance)}, 0)
	if err != nil {
		return err
	}
	_, err = t.send(ctx, from, give, client.TxFields{})
	return err
}

// giveItemsBack is like giveTokensBack, for non-fungible tokens. It finds none if the contract does not list tokens.
func (t *checkedToken) giveItemsBack(ctx context.Context, from, to types.Account) error {
	args, err := json.Marshal(map[string]any{"owner": from, "start": 0, "count": 10})
	if err != nil {
		return err
	}
	listed, err := t.View(ctx, "tokensOf", args)
	if err != nil || !listed.OK {
		return err
	}
	var items []string
	if err := json.Unmarshal(listed.Output, &items); err != nil {
		return fmt.Errorf("tokensOf returned %q: %w", listed.Output, err)
	}
	for _, item := range items {
		give, err := client.Call(t.id, "transfer", map[string]any{"to": to, "tokenId": item}, 0)
		if err != nil {
			return err
		}
		if _, err := t.send(ctx, from, give, client.TxFields{}); err != nil {
			return err
		}
	}
	return nil
}

// giveCoinsBack sends the balance less the gas of the transfer.
func (t *checkedToken) giveCoinsBack(ctx context.Context, from, to types.Account) error {
	balance, err := t.Client.Balance(ctx, from, api.Latest())
	if err != nil || balance == 0 {
		return err
	}
	price, err := t.Client.GasPrice(ctx)
	if err != nil {
		return err
	}
	gas, fee := types.Gas(transferGas), types.Amount(price.SuggestedMaxFee)
	cost, err := gas.Cost(fee)
	if err != nil || balance <= cost {
		return err
	}
	_, err = t.send(ctx, from, client.Transfer(to, balance-cost), client.TxFields{GasLimit: &gas, MaxFee: &fee})
	return err
}

// transferGas is the gas of a transfer to an existing account (docs/protocol.md, "Gas schedule").
const transferGas = 10_000

// send sends a transaction and waits for its receipt.
func (t *checkedToken) send(
	ctx context.Context, from types.Account, action client.Action, fields client.TxFields,
) (api.Receipt, error) {
	ctx, cancel := t.Patience(ctx)
	defer cancel()
	tx, err := t.Client.Build(ctx, t.signers[from], action, fields)
	if err != nil {
		return api.Receipt{}, err
	}
	signed, err := client.Sign(ctx, t.signers[from], tx)
	if err != nil {
		return api.Receipt{}, err
	}
	if !t.development {
		return t.Client.SendAndWait(ctx, signed)
	}
	id, err := t.Client.Send(ctx, signed)
	if err != nil {
		return api.Receipt{}, err
	}
	if _, err := t.Client.Dev().Mine(ctx, 1); err != nil {
		return api.Receipt{}, err
	}
	return t.Client.WaitReceipt(ctx, id)
}

// ABI implements [conformance.Chain].
func (t *checkedToken) ABI(ctx context.Context) (*abi.ABI, error) {
	return t.Client.ContractABI(ctx, t.id)
}

// View implements [conformance.Chain].
func (t *checkedToken) View(ctx context.Context, function string, args []byte) (conformance.Outcome, error) {
	result, err := t.Client.View(ctx, t.id, function, args, api.Latest())
	if err != nil {
		return failed(err)
	}
	return conformance.Outcome{OK: true, Output: result}, nil
}

// Send implements [conformance.Chain]. It does not send a call whose gas estimate fails.
func (t *checkedToken) Send(
	ctx context.Context, from types.Account, function string, args []byte,
) (conformance.Outcome, error) {
	receipt, err := t.send(ctx, from, client.CallEncoded(t.id, function, args, 0), client.TxFields{})
	if err == nil {
		err = client.Failure(receipt)
	}
	if err != nil {
		return failed(err)
	}
	t.last = receipt.TransactionHash
	o := conformance.Outcome{OK: true, Output: receipt.ReturnData}
	for _, log := range receipt.Logs {
		l := conformance.Log{Contract: log.Address, Name: log.EventName, Data: log.Data}
		for _, topic := range log.Topics[min(1, len(log.Topics)):] {
			if len(topic) != len(types.Digest{}) {
				return o, fmt.Errorf("the node gave a topic of %d bytes", len(topic))
			}
			l.Topics = append(l.Topics, types.Digest(topic))
		}
		o.Logs = append(o.Logs, l)
	}
	return o, nil
}

// Deploy implements [conformance.Chain].
func (t *checkedToken) Deploy(ctx context.Context, from types.Account, code []byte) (id types.ContractID, err error) {
	if !t.development {
		return id, conformance.NotTested("it needs a test contract, which would stay on the chain: run the check on " +
			"a development chain")
	}
	deploy, err := client.Deploy("", code, nil, 0)
	if err != nil {
		return id, err
	}
	receipt, err := t.send(ctx, from, deploy, client.TxFields{})
	if err == nil {
		err = client.Failure(receipt)
	}
	if err != nil || receipt.ContractAddress == nil {
		return id, errors.Join(errors.New("the test contract was not deployed"), err)
	}
	return *receipt.ContractAddress, nil
}

// TakesBack implements [conformance.Chain].
func (t *checkedToken) TakesBack() bool { return t.development }

// Aside implements [conformance.Chain].
func (t *checkedToken) Aside(ctx context.Context, f func() error) (err error) {
	if !t.development {
		return f()
	}
	snapshot, err := t.Client.Dev().Snapshot(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, t.Client.Dev().Revert(context.WithoutCancel(ctx), snapshot)) }()
	return f()
}

// Pass implements [conformance.Chain].
func (t *checkedToken) Pass(ctx context.Context, by time.Duration) error {
	if !t.development {
		return conformance.NotTested("only a development chain can advance its time")
	}
	if _, err := t.Client.Dev().IncreaseTime(ctx, by); err != nil {
		return err
	}
	_, err := t.Client.Dev().Mine(ctx, 1)
	return err
}

// Called implements [conformance.Chain].
func (t *checkedToken) Called(ctx context.Context) (bool, error) {
	made, err := t.Client.Trace(ctx, t.last)
	var refused *client.Error
	if errors.As(err, &refused) || err == nil && made == nil {
		return false, conformance.NotTested("the node has no trace of the transaction")
	}
	if err != nil {
		return false, err
	}
	return made.Root != nil && made.Root.HostGas["call"] > 0, nil // a failed attempt costs gas too
}

// failed converts an execution error to an outcome, and returns any other error unchanged.
func failed(err error) (conformance.Outcome, error) {
	var answer *client.Error
	if !errors.As(err, &answer) || answer.Code != api.CodeExecutionFailed {
		return conformance.Outcome{}, err
	}
	var data struct {
		Reason     string   `json:"reason"`
		RevertData api.Data `json:"revertData"`
	}
	text, err := json.Marshal(answer.Data)
	if err == nil {
		err = json.Unmarshal(text, &data)
	}
	return conformance.Outcome{Reason: data.Reason, Output: data.RevertData}, err
}
