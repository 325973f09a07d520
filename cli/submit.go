package cli

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/cairn-chain/cairn/abi"
	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/cli/argument"
	"github.com/cairn-chain/cairn/cli/output"
	"github.com/cairn-chain/cairn/client"
	"github.com/cairn-chain/cairn/types"
)

// submission holds the flags of commands that send a transaction.
type submission struct {
	gasLimit, gasMargin, maxFee, priorityFee, nonce uint64
	noWait, dryRun                                  bool
	payer                                           string
	validFor                                        time.Duration
	draft                                           string // file

	traced tracedCall // whether a dry run shows a trace
}

// Flags for the fields of a transaction. The node supplies the fields that are not given.
const (
	gasLimitFlag    = "gas-limit"
	gasMarginFlag   = "gas-margin"
	maxFeeFlag      = "max-fee"
	priorityFeeFlag = "priority-fee"
	nonceFlag       = "nonce"
	payerFlag       = "payer"
	validForFlag    = "valid-for"
	draftFlag       = "draft"
)

// register declares all flags except --gas-limit, which has another meaning in cairn configure.
func (f *submission) register(a *app, command *cobra.Command) {
	f.registerSending(a, command)
	command.Flags().Uint64Var(&f.nonce, nonceFlag, 0, "nonce of the transaction (default: the sender's next)")
}

// registerSending declares the flags for fees and for the way of sending.
func (f *submission) registerSending(a *app, command *cobra.Command) {
	flags := command.Flags()
	flags.Uint64Var(&f.maxFee, maxFeeFlag, 0, "maximum fee per gas, in smallest units (default: suggested by the node)")
	flags.Uint64Var(
		&f.priorityFee, priorityFeeFlag, 0, "maximum priority fee per gas for the fee recipient, part of the max fee "+
			"(default: suggested by the node)",
	)
	flags.BoolVar(&f.noWait, "no-wait", false, "do not wait for inclusion in a block")
	flags.BoolVar(&f.dryRun, "dry-run", false, "show the transaction, but neither sign nor send it")
	flags.StringVar(&f.payer, payerFlag, "", "account that pays the fee (default: the sender)")
	flags.DurationVar(&f.validFor, validForFlag, 0,
		"how long the transaction stays valid for inclusion in a block (default: no limit; with --payer 5m, at most "+
			"10m)")
	flags.StringVar(&f.draft, draftFlag, "",
		"file to write the unsigned transaction to, for its signers (cairn tx sign FILE); the nonce is fixed")
	command.MarkFlagsMutuallyExclusive("no-wait", "dry-run", draftFlag)
	a.completeAccount(command, payerFlag)
}

// check refuses values of flags that make no sense.
func (f *submission) check() error {
	switch {
	case f.validFor < 0:
		return output.Usage(fmt.Errorf("--%s must be positive", validForFlag))
	case f.payer != "" && f.validFor > client.MaxSponsored:
		return output.Usage(fmt.Errorf("--%s: %w", validForFlag, client.ErrSponsoredTooLong))
	}
	return nil
}

// registerGasLimit declares --gas-limit.
func (f *submission) registerGasLimit(command *cobra.Command) {
	command.Flags().Uint64Var(&f.gasLimit, gasLimitFlag, 0, "gas limit (default: estimated by the node)")
	command.Flags().Uint64Var(&f.gasMargin, gasMarginFlag, 0,
		"gas to add to the node's estimate; unused gas is refunded")
	command.MarkFlagsMutuallyExclusive(gasLimitFlag, gasMarginFlag)
}

// fields returns the fields given on the command line.
func (f *submission) fields(command *cobra.Command) client.TxFields {
	given := func(name string) bool { return command.Flags().Changed(name) }
	fields := client.TxFields{GasMargin: types.Gas(f.gasMargin), ValidFor: f.validFor}
	if given(nonceFlag) {
		fields.Nonce = &f.nonce
	}
	if given(maxFeeFlag) {
		fields.MaxFee = (*types.Amount)(&f.maxFee)
	}
	if given(priorityFeeFlag) {
		fields.Priority = (*types.Amount)(&f.priorityFee)
	}
	if f.gasLimit != 0 {
		fields.GasLimit = (*types.Gas)(&f.gasLimit)
	}
	return fields
}

// plannedTransaction is the result of a dry run.
type plannedTransaction struct {
	Hash                 types.TxID        `json:"hash"` // which the sender signs
	ChainID              uint64            `json:"chainId"`
	Type                 string            `json:"type"`
	From                 types.Account     `json:"from"`
	To                   *types.Account    `json:"to,omitempty"`         // transfer: the recipient
	Memo                 api.Data          `json:"memo,omitempty"`       // transfer: the memo
	Steps                uint64            `json:"steps,omitempty"`      // batch: the number of steps
	Policy               *string           `json:"policy,omitempty"`     // set_policy: the new policy's hash, or "own"
	Recovery             bool              `json:"recovery,omitempty"`   // set_policy: whether it holds after a delay only
	Contract             *types.ContractID `json:"contract,omitempty"`   // call: the contract; deploy, instantiate: the new one
	Template             *types.ContractID `json:"template,omitempty"`   // instantiate: the contract whose code it gets
	Function             *string           `json:"function,omitempty"`   // call: the function
	Args                 *string           `json:"args,omitempty"`       // call, deploy: the arguments in JSON
	Parameters           *types.Parameters `json:"parameters,omitempty"` // configure: the new parameters
	Value                api.Quantity      `json:"value"`
	Nonce                api.Quantity      `json:"nonce"`
	GasLimit             api.Quantity      `json:"gasLimit"`
	MaxFeePerGas         api.Quantity      `json:"maxFeePerGas"`
	MaxPriorityFeePerGas api.Quantity      `json:"maxPriorityFeePerGas"`
	Payer                *types.Account    `json:"payer,omitempty"`      // pays the fee
	ValidUntil           *uint64           `json:"validUntil,omitempty"` // milliseconds
	MaxCost              api.Quantity      `json:"maxCost"`              // value + gasLimit × maxFeePerGas
	Unsigned             api.Data          `json:"unsigned"`             // the unsigned form
	LikelyGas            api.Quantity      `json:"likelyGas,omitempty"`  // gas that it would use now
	LikelyCost           api.Quantity      `json:"likelyCost,omitempty"` // value + likelyGas × the current price
	Trace                *readTrace        `json:"trace,omitempty"`

	payer string // the payer's address; empty without one
}

// acceptedTransaction is the result of sending without waiting.
type acceptedTransaction struct {
	TransactionHash types.TxID `json:"transactionHash"`
}

// includedTransaction is the result of a transaction that was awaited: its receipt, and its effect on the sender's
// balance.
type includedTransaction struct {
	api.Receipt
	Balance *api.Quantity `json:"balance"` // the sender's, after the latest block; null if the node did not return it

	payer string // the payer's address; empty without one
}

// submit builds a transaction of an account, signs it, sends it, and waits for its receipt if the flags say so. It writes
// the command's result.
func (f *submission) submit(
	ctx context.Context, s *session, command *cobra.Command, from argument.Account, action client.Action,
) error {
	receipt, err := f.send(ctx, s, command, from, action)
	if receipt == nil || err != nil {
		return err
	}
	return s.included(ctx, *receipt)
}

// included writes the result of a transaction in a block. A failed transaction is an error.
func (s *session) included(ctx context.Context, receipt api.Receipt) error {
	if err := client.Failure(receipt); err != nil {
		return err
	}
	included, err := s.include(ctx, receipt)
	if err != nil {
		return err
	}
	return s.Result(included, func(t *output.Text) { t.Fields(included.fields()...) })
}

// send is like submit, but returns the receipt, also of a failed transaction. If the flags say not to wait or not to
// send, it writes the command's result and returns nil.
func (f *submission) send(
	ctx context.Context, s *session, command *cobra.Command, from argument.Account, action client.Action,
) (*api.Receipt, error) {
	return f.sendWith(ctx, s, from, action, f.fields(command))
}

// sendWith is like send, with explicit fields.
func (f *submission) sendWith(
	ctx context.Context, s *session, from argument.Account, action client.Action, fields client.TxFields,
) (*api.Receipt, error) {
	sender, payer, err := f.signatories(ctx, s, from)
	if err != nil {
		return nil, err
	}
	if payer != nil {
		fields.Payer = payer.party()
	}
	building, cancel := s.patience(ctx)
	defer cancel()
	tx, err := s.client.Build(building, sender.party(), action, fields)
	if err != nil {
		return nil, err
	}
	switch {
	case f.dryRun:
		return nil, f.planned(ctx, s, tx)
	case f.draft != "":
		return nil, s.writeDraft(f.draft, tx, sender, payer)
	}
	keys, err := s.unlock(ctx, sender, payer, action.Payload)
	if err != nil {
		return nil, err
	}
	sending, cancel := s.patience(ctx)
	defer cancel()
	signed, err := s.post(sending, keys, tx, fields)
	if err != nil {
		return nil, err
	}
	return f.await(ctx, sending, s, signed)
}

// await waits for the receipt of a transaction that was sent, if the flags say so. Otherwise it writes the command's
// result and returns nil.
func (f *submission) await(
	ctx, sending context.Context, s *session, signed types.SignedTransaction,
) (*api.Receipt, error) {
	if f.noWait {
		return nil, s.accepted(signed.ID())
	}
	s.Note("Sent transaction %s", signed.ID())
	stop := s.Spin(s.terminal, "Waiting for a block")
	receipt, err := s.client.SendAndWait(sending, signed)
	stop()
	if err != nil {
		return nil, s.mayBeIn(ctx, err, signed.ID(), acceptedAlready)
	}
	return &receipt, nil
}

// signatories returns who signs: the sender, and the payer of --payer if there is one.
func (f *submission) signatories(
	ctx context.Context, s *session, from argument.Account,
) (sender signatory, payer *signatory, err error) {
	if err := f.check(); err != nil {
		return sender, nil, err
	}
	ctx, cancel := s.patience(ctx)
	defer cancel()
	if sender, err = s.signatory(ctx, from); err != nil || f.payer == "" {
		return sender, nil, err
	}
	account, err := s.account(f.payer)
	if err != nil {
		return sender, nil, err
	}
	paying, err := s.signatory(ctx, account)
	if err != nil {
		return sender, nil, err
	}
	return sender, &paying, output.Usage(account.On(paying.chain))
}

// signers are the unlocked keys of a transaction.
type signers struct {
	sender, payer client.Signer // payer: nil without one
}

// unlock unlocks the keys that sign a payload.
func (s *session) unlock(
	ctx context.Context, sender signatory, payer *signatory, payload types.Payload,
) (keys signers, err error) {
	if keys.sender, err = s.signer(ctx, sender, payload, client.AsSender); err == nil && payer != nil {
		keys.payer, err = s.signer(ctx, *payer, payload, client.AsPayer)
	}
	return keys, err
}

// unlock is [session.unlock] for an account and the payer of --payer.
func (f *submission) unlock(
	ctx context.Context, s *session, from argument.Account, payload types.Payload,
) (signers, error) {
	sender, payer, err := f.signatories(ctx, s, from)
	if err != nil {
		return signers{}, err
	}
	return s.unlock(ctx, sender, payer, payload)
}

// sign signs a transaction as its sender and payer.
func (k signers) sign(ctx context.Context, tx types.Transaction) (types.SignedTransaction, error) {
	signed, err := client.Sign(ctx, k.sender, tx)
	if err != nil || k.payer == nil {
		return signed, err
	}
	now := time.Now()
	if tx.ValidUntil != nil { // Build has bounded it, by the chain's time where that is ahead
		now = time.UnixMilli(int64(*tx.ValidUntil)).Add(-client.MaxSponsored)
	}
	return client.Sponsor(ctx, k.payer, signed, now)
}

// post signs and sends a transaction. If another program used the nonce meanwhile, be it for the same transaction, post
// retries with the next nonce, unless the user chose it. That cannot send twice: the node refused this transaction, and
// the client repeats no request that may have reached a node.
func (s *session) post(
	ctx context.Context, keys signers, tx types.Transaction, fields client.TxFields,
) (types.SignedTransaction, error) {
	for {
		signed, err := keys.sign(ctx, tx)
		if err != nil {
			return signed, err
		}
		_, err = s.client.Send(ctx, signed)
		used := errors.Is(err, api.ErrNonceTooLow) || errors.Is(err, api.ErrReplacementUnderpriced) ||
			errors.Is(err, api.ErrAlreadyKnown)
		if !used || fields.Nonce != nil {
			return signed, s.mayBeIn(ctx, err, signed.ID(), "the node may have accepted it")
		}
		next, building := s.client.Build(ctx, keys.sender, client.ActionOf(tx), fields)
		if building != nil {
			return signed, building
		}
		if next.Nonce == tx.Nonce {
			return signed, err // the node's answers contradict each other
		}
		tx = next
	}
}

// accepted writes the result of a transaction that is not awaited.
func (s *session) accepted(id types.TxID) error {
	return s.Result(acceptedTransaction{id}, func(t *output.Text) {
		t.Fields(output.Field{Name: "Transaction", Value: id})
	})
}

// acceptedAlready describes a transaction that the node acknowledged.
const acceptedAlready = "the node has accepted it"

// mayBeIn adds to a connection error that the transaction may be in a block nevertheless. Without a connection, a
// transaction that the node had not acknowledged was not sent.
func (s *session) mayBeIn(ctx context.Context, err error, id types.TxID, known string) error {
	var dial *net.OpError
	var status *client.StatusError
	if !errors.Is(err, client.ErrUnreachable) || errors.As(err, &status) ||
		errors.As(err, &dial) && dial.Op == "dial" && known != acceptedAlready {
		return err
	}
	text := fmt.Sprintf("%s; %s, and it may still be included in a block: check with cairn tx %s before you send again",
		s.explain(ctx, err), known, id)
	return output.WithData(explained{text, err}, map[string]any{"hash": id})
}

// planOf describes a transaction for people. declared is the ABI of the contract that it calls or makes, or nil if
// unknown.
func planOf(tx types.Transaction, declared *abi.ABI) (plannedTransaction, error) {
	amount, err := tx.Amount()
	if err != nil {
		return plannedTransaction{}, err
	}
	fee, err := tx.FeeCap()
	if err != nil {
		return plannedTransaction{}, err
	}
	cost, err := amount.Add(fee)
	if err != nil {
		return plannedTransaction{}, err
	}
	plan := plannedTransaction{
		Hash:                 tx.Hash(),
		ChainID:              tx.ChainID,
		Type:                 tx.Payload.Kind().String(),
		From:                 tx.Sender,
		Value:                api.Quantity(amount),
		Nonce:                api.Quantity(tx.Nonce),
		GasLimit:             api.Quantity(tx.GasLimit),
		MaxFeePerGas:         api.Quantity(tx.MaxFeePerGas),
		MaxPriorityFeePerGas: api.Quantity(tx.MaxPriorityFeePerGas),
		Payer:                tx.Payer,
		ValidUntil:           tx.ValidUntil,
		MaxCost:              api.Quantity(cost),
		Unsigned:             tx.EncodeUnsigned(),
	}
	switch payload := tx.Payload.(type) {
	case types.Transfer:
		plan.To = &tx.Target
		if payload.Memo != nil {
			plan.Memo = payload.Memo[:]
		}
	case types.Batch:
		plan.Steps = uint64(len(payload.Steps))
	case types.SetPolicy:
		plan.Policy, plan.Recovery = new(policyName(payload.Policy)), payload.Recovery
	case types.Configure:
		plan.Parameters = &payload.Parameters
	case types.Deploy:
		plan.Contract = new(types.NewContractID(tx.Sender, tx.Nonce))
		plan.Args = new(argumentsText(declared, abi.InitFunction, payload.InitArgs))
	case types.Instantiate:
		plan.Contract, plan.Template = new(types.NewContractID(tx.Sender, tx.Nonce)), new(types.ContractID(tx.Target))
		plan.Args = new(argumentsText(declared, abi.InitFunction, payload.InitArgs))
	case types.Call:
		plan.Contract, plan.Function = new(types.ContractID(tx.Target)), &payload.Function
		plan.Args = new(argumentsText(declared, payload.Function, payload.Args))
	}
	return plan, nil
}

// policyName names a policy by its hash; without one the account is its own authority.
func policyName(policy *types.Policy) string {
	if policy == nil {
		return ownPolicy
	}
	return policy.Hash().String()
}

// ownPolicy names the state in which an account is its own authority: its key, or the policy whose hash it is, signs.
const ownPolicy = "own"

// planned writes the result of a dry run.
func (f *submission) planned(ctx context.Context, s *session, tx types.Transaction) error {
	ctx, cancel := s.patience(ctx)
	defer cancel()
	declared, err := s.abiOfTransaction(ctx, tx)
	if err != nil {
		return err
	}
	plan, err := planOf(tx, declared)
	if err != nil {
		return err
	}
	trace, err := s.traceUnsent(ctx, tx, false, f.traced.sources, f.traced.log)
	if err != nil {
		return err
	}
	if f.traced.wanted {
		plan.Trace = trace
	}
	price, err := s.client.GasPrice(ctx)
	if err != nil {
		return err
	}
	costs, err := client.CostsOf(tx, types.Gas(trace.GasUsed), types.Amount(price.BaseFee))
	if err != nil {
		return err
	}
	likely, err := costs.Amount.Add(costs.LikelyFee)
	if err != nil {
		return err
	}
	plan.payer = s.address(ctx, plan.Payer)
	plan.LikelyGas, plan.LikelyCost = trace.GasUsed, api.Quantity(likely)
	return s.Result(plan, func(t *output.Text) {
		plan.people(t)
		if plan.Trace != nil {
			t.Line("\n%s", s.traceText(*plan.Trace))
		}
	})
}

// abiOfTransaction returns the ABI of the contract that a transaction calls or makes; nil if there is none.
func (s *session) abiOfTransaction(ctx context.Context, tx types.Transaction) (*abi.ABI, error) {
	switch payload := tx.Payload.(type) {
	case types.Call, types.Instantiate:
		return s.client.ContractABI(ctx, types.ContractID(tx.Target))
	case types.Deploy:
		if its, err := abi.FromCode(payload.Code); err == nil { // without an ABI the arguments are shown unchanged
			return &its, nil
		}
	}
	return nil, nil
}

// argumentsText formats a function's arguments as JSON by the ABI. If they do not fit it, they are made printable.
func argumentsText(declared *abi.ABI, function string, args []byte) string {
	if declared != nil {
		if f, ok := declared.Function(function); ok && len(args) > 0 {
			if decoded, err := declared.DecodeArguments(f.Args, args); err == nil {
				return string(decoded)
			}
		}
	}
	return readable(args)
}

func (p plannedTransaction) people(t *output.Text) {
	fields := []output.Field{
		{Name: "Type", Value: p.Type}, {Name: "Chain id", Value: p.ChainID}, {Name: "From", Value: p.From},
	}
	if p.To != nil {
		fields = append(fields, output.Field{Name: "To", Value: *p.To})
	}
	if p.Memo != nil {
		fields = append(fields, output.Field{Name: "Memo", Value: memoText(&p.Memo)})
	}
	if p.Steps > 0 {
		fields = append(fields, output.Field{Name: "Steps", Value: p.Steps})
	}
	if p.Policy != nil {
		fields = append(fields, output.Field{Name: "New policy", Value: *p.Policy})
	}
	if p.Template != nil {
		fields = append(fields, output.Field{Name: "Template", Value: *p.Template})
	}
	if p.Contract != nil {
		fields = append(fields, output.Field{Name: "Contract", Value: *p.Contract})
	}
	if p.Function != nil {
		fields = append(fields, output.Field{Name: "Function", Value: oneLine(*p.Function)})
	}
	if p.Args != nil {
		fields = append(fields, output.Field{Name: "Arguments", Value: *p.Args})
	}
	if c := p.Parameters; c != nil {
		for _, field := range parameterFields(*c) {
			field.Name = "New " + strings.ToLower(field.Name[:1]) + field.Name[1:]
			fields = append(fields, field)
		}
	}
	fields = append(fields,
		output.Field{Name: "Value", Value: coins(p.Value)}, output.Field{Name: "Nonce", Value: uint64(p.Nonce)},
		output.Field{
			Name: "Gas limit", Value: uint64(p.GasLimit),
		}, output.Field{Name: "Max fee", Value: perGas(p.MaxFeePerGas)},
		output.Field{Name: "Priority fee", Value: perGas(p.MaxPriorityFeePerGas)},
		output.Field{Name: "Costs at most", Value: coins(p.MaxCost)})
	if p.Payer != nil {
		fields = append(fields, output.Field{Name: "Fee paid by", Value: p.payer})
	}
	if p.ValidUntil != nil {
		fields = append(fields, output.Field{Name: "Valid until", Value: millisecondTime(*p.ValidUntil)})
	}
	if p.LikelyGas > 0 {
		fields = append(fields, output.Field{
			Name: "Costs likely", Value: fmt.Sprintf("%s, of %d gas", coins(p.LikelyCost), uint64(p.LikelyGas)),
		})
	}
	t.Fields(fields...)
}

// include adds a transaction's effect on its sender to its receipt.
func (s *session) include(ctx context.Context, receipt api.Receipt) (includedTransaction, error) {
	result := includedTransaction{Receipt: receipt}
	ctx, cancel := s.patience(ctx)
	defer cancel()
	result.payer = s.address(ctx, receipt.Payer)
	balance, err := s.client.Balance(ctx, receipt.From, api.Latest())
	if err != nil {
		// The transaction is done, so later errors are only warnings.
		s.Note("Warning: cannot read the new balance: %v", err)
	} else {
		result.Balance = (*api.Quantity)(&balance)
	}
	return result, nil
}

func (i includedTransaction) fields() []output.Field {
	fields := append(receiptFields(i.Receipt), feeField(i.Receipt, i.payer))
	if i.Balance != nil {
		fields = append(fields, output.Field{Name: "New balance", Value: coins(*i.Balance)})
	}
	return fields
}

// feeField describes what a transaction's gas cost, and which address paid it if not the sender.
func feeField(receipt api.Receipt, payer string) output.Field {
	if payer != "" {
		return output.Field{Name: "Fee", Value: fmt.Sprintf("%s, paid by %s", coins(receipt.Fee), payer)}
	}
	return output.Field{Name: "Fee", Value: coins(receipt.Fee)}
}

// millisecondTime formats a time of the chain.
func millisecondTime(ms uint64) string {
	if ms > types.MaxTime {
		return fmt.Sprintf("%d ms", ms)
	}
	return time.UnixMilli(int64(ms)).UTC().Format("2006-01-02 15:04:05.000 UTC")
}

func receiptFields(receipt api.Receipt) []output.Field {
	status := api.StatusFailed
	if client.Failure(receipt) == nil {
		status = api.StatusSuccess
	}
	return []output.Field{
		{Name: "Status", Value: status}, {Name: "Transaction", Value: receipt.TransactionHash},
		{Name: "Block", Value: receipt.BlockHeight}, {Name: "Gas used", Value: uint64(receipt.GasUsed)},
		{Name: "Gas price", Value: perGas(receipt.EffectiveGasPrice)},
	}
}

// coins formats an amount.
func coins[Q ~uint64](amount Q) string {
	if types.Amount(amount) == types.CoinUnits {
		return "1 coin"
	}
	return argument.FormatAmount(types.Amount(amount)) + " coins"
}

// perGas formats a price.
func perGas[Q ~uint64](price Q) string {
	if price == 1 {
		return "1 unit per gas"
	}
	return strconv.FormatUint(uint64(price), 10) + " units per gas"
}
