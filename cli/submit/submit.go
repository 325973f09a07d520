// Package submit builds, signs and sends the transactions of commands, and writes and signs drafts of them.
package submit

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/cairn-chain/cairn/abi"
	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/cli/argument"
	"github.com/cairn-chain/cairn/cli/output"
	"github.com/cairn-chain/cairn/cli/session"
	"github.com/cairn-chain/cairn/cli/show"
	"github.com/cairn-chain/cairn/cli/tracing"
	"github.com/cairn-chain/cairn/client"
	"github.com/cairn-chain/cairn/types"
)

// Flags holds the flags of commands that send a transaction.
type Flags struct {
	GasLimit, gasMargin, MaxFee, priorityFee, nonce uint64
	noWait, DryRun                                  bool
	Payer                                           string
	ValidFor                                        time.Duration
	Draft                                           string // file

	Traced tracing.Options // whether a dry run shows a trace
}

// Flags for the fields of a transaction. The node supplies the fields that are not given.
const (
	GasLimitFlag    = "gas-limit"
	gasMarginFlag   = "gas-margin"
	MaxFeeFlag      = "max-fee"
	PriorityFeeFlag = "priority-fee"
	NonceFlag       = "nonce"
	PayerFlag       = "payer"
	ValidForFlag    = "valid-for"
	DraftFlag       = "draft"
)

// Register declares all flags except --gas-limit, which has another meaning in cairn configure.
func (f *Flags) Register(a *session.App, command *cobra.Command) {
	f.RegisterSending(a, command)
	command.Flags().Uint64Var(&f.nonce, NonceFlag, 0, "nonce of the transaction (default: the sender's next)")
}

// RegisterSending declares the flags for fees and for the way of sending.
func (f *Flags) RegisterSending(a *session.App, command *cobra.Command) {
	flags := command.Flags()
	flags.Uint64Var(&f.MaxFee, MaxFeeFlag, 0, "maximum fee per gas, in smallest units (default: suggested by the node)")
	flags.Uint64Var(
		&f.priorityFee, PriorityFeeFlag, 0, "maximum priority fee per gas for the fee recipient, part of the max fee "+
			"(default: suggested by the node)",
	)
	flags.BoolVar(&f.noWait, "no-wait", false, "do not wait for inclusion in a block")
	flags.BoolVar(&f.DryRun, "dry-run", false, "show the transaction, but neither sign nor send it")
	flags.StringVar(&f.Payer, PayerFlag, "", "account that pays the fee (default: the sender)")
	flags.DurationVar(&f.ValidFor, ValidForFlag, 0,
		"how long the transaction stays valid for inclusion in a block (default: no limit; with --payer 5m, at most "+
			"10m)")
	flags.StringVar(&f.Draft, DraftFlag, "",
		"file to write the unsigned transaction to, for its signers (cairn tx sign FILE); the nonce is fixed")
	command.MarkFlagsMutuallyExclusive("no-wait", "dry-run", DraftFlag)
	a.CompleteAccount(command, PayerFlag)
}

// Check refuses values of flags that make no sense.
func (f *Flags) Check() error {
	switch {
	case f.ValidFor < 0:
		return output.Usage(fmt.Errorf("--%s must be positive", ValidForFlag))
	case f.Payer != "" && f.ValidFor > client.MaxSponsored:
		return output.Usage(fmt.Errorf("--%s: %w", ValidForFlag, client.ErrSponsoredTooLong))
	}
	return nil
}

// Unsigned reports whether the flags say that nothing is signed here.
func (f *Flags) Unsigned() bool { return f.DryRun || f.Draft != "" }

// RegisterGasLimit declares --gas-limit.
func (f *Flags) RegisterGasLimit(command *cobra.Command) {
	command.Flags().Uint64Var(&f.GasLimit, GasLimitFlag, 0, "gas limit (default: estimated by the node)")
	command.Flags().Uint64Var(&f.gasMargin, gasMarginFlag, 0,
		"gas to add to the node's estimate; unused gas is refunded")
	command.MarkFlagsMutuallyExclusive(GasLimitFlag, gasMarginFlag)
}

// Fields returns the fields given on the command line.
func (f *Flags) Fields(command *cobra.Command) client.TxFields {
	given := func(name string) bool { return command.Flags().Changed(name) }
	fields := client.TxFields{GasMargin: types.Gas(f.gasMargin), ValidFor: f.ValidFor}
	if given(NonceFlag) {
		fields.Nonce = &f.nonce
	}
	if given(MaxFeeFlag) {
		fields.MaxFee = (*types.Amount)(&f.MaxFee)
	}
	if given(PriorityFeeFlag) {
		fields.Priority = (*types.Amount)(&f.priorityFee)
	}
	if f.GasLimit != 0 {
		fields.GasLimit = (*types.Gas)(&f.GasLimit)
	}
	return fields
}

// Plan is the result of a dry run.
type Plan struct {
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
	Trace                *tracing.Trace    `json:"trace,omitempty"`

	payer string // the payer's address; empty without one
}

// acceptedTransaction is the result of sending without waiting.
type acceptedTransaction struct {
	TransactionHash types.TxID `json:"transactionHash"`
}

// Included is the result of a transaction that was awaited: its receipt, and its effect on the sender's
// balance.
type Included struct {
	api.Receipt
	Balance *api.Quantity `json:"balance"` // the sender's, after the latest block; null if the node did not return it

	payer string // the payer's address; empty without one
}

// Submit builds a transaction of an account, signs it, sends it, and waits for its receipt if the flags say so. It writes
// the command's result.
func (f *Flags) Submit(
	ctx context.Context, s *session.Session, command *cobra.Command, from argument.Account, action client.Action,
) error {
	receipt, err := f.Send(ctx, s, command, from, action)
	if receipt == nil || err != nil {
		return err
	}
	return included(ctx, s, *receipt)
}

// included writes the result of a transaction in a block. A failed transaction is an error.
func included(ctx context.Context, s *session.Session, receipt api.Receipt) error {
	if err := client.Failure(receipt); err != nil {
		return err
	}
	included, err := Include(ctx, s, receipt)
	if err != nil {
		return err
	}
	return s.Result(included, func(t *output.Text) { t.Fields(included.Fields()...) })
}

// Send is like submit, but returns the receipt, also of a failed transaction. If the flags say not to wait or not to
// send, it writes the command's result and returns nil.
func (f *Flags) Send(
	ctx context.Context, s *session.Session, command *cobra.Command, from argument.Account, action client.Action,
) (*api.Receipt, error) {
	return f.SendWith(ctx, s, from, action, f.Fields(command))
}

// SendWith is like send, with explicit fields.
func (f *Flags) SendWith(
	ctx context.Context, s *session.Session, from argument.Account, action client.Action, fields client.TxFields,
) (*api.Receipt, error) {
	sender, payer, err := f.signatories(ctx, s, from)
	if err != nil {
		return nil, err
	}
	if payer != nil {
		fields.Payer = payer.party()
	}
	building, cancel := s.Patience(ctx)
	defer cancel()
	tx, err := s.Client.Build(building, sender.party(), action, fields)
	if err != nil {
		return nil, err
	}
	switch {
	case f.DryRun:
		return nil, f.planned(ctx, s, tx)
	case f.Draft != "":
		return nil, writeDraft(s, f.Draft, tx, sender, payer)
	}
	keys, err := unlock(ctx, s, sender, payer, action.Payload)
	if err != nil {
		return nil, err
	}
	sending, cancel := s.Patience(ctx)
	defer cancel()
	signed, err := post(sending, s, keys, tx, fields)
	if err != nil {
		return nil, err
	}
	return f.await(ctx, sending, s, signed)
}

// await waits for the receipt of a transaction that was sent, if the flags say so. Otherwise it writes the command's
// result and returns nil.
func (f *Flags) await(
	ctx, sending context.Context, s *session.Session, signed types.SignedTransaction,
) (*api.Receipt, error) {
	if f.noWait {
		return nil, accepted(s, signed.ID())
	}
	s.Note("Sent transaction %s", signed.ID())
	stop := s.Spin(s.Terminal, "Waiting for a block")
	receipt, err := s.Client.SendAndWait(sending, signed)
	stop()
	if err != nil {
		return nil, mayBeIn(ctx, s, err, signed.ID(), acceptedAlready)
	}
	return &receipt, nil
}

// signatories returns who signs: the sender, and the payer of --payer if there is one.
func (f *Flags) signatories(
	ctx context.Context, s *session.Session, from argument.Account,
) (sender Signatory, payer *Signatory, err error) {
	if err := f.Check(); err != nil {
		return sender, nil, err
	}
	ctx, cancel := s.Patience(ctx)
	defer cancel()
	if sender, err = SignatoryOf(ctx, s, from); err != nil || f.Payer == "" {
		return sender, nil, err
	}
	account, err := s.Account(f.Payer)
	if err != nil {
		return sender, nil, err
	}
	paying, err := SignatoryOf(ctx, s, account)
	if err != nil {
		return sender, nil, err
	}
	return sender, &paying, output.Usage(account.On(paying.Chain))
}

// Signers are the unlocked keys of a transaction.
type Signers struct {
	Sender, Payer client.Signer // payer: nil without one
}

// unlock unlocks the keys that sign a payload.
func unlock(
	ctx context.Context, s *session.Session, sender Signatory, payer *Signatory, payload types.Payload,
) (keys Signers, err error) {
	if keys.Sender, err = signer(ctx, s, sender, payload, client.AsSender); err == nil && payer != nil {
		keys.Payer, err = signer(ctx, s, *payer, payload, client.AsPayer)
	}
	return keys, err
}

// Unlock unlocks the keys that sign a payload for an account and the payer of --payer.
func (f *Flags) Unlock(
	ctx context.Context, s *session.Session, from argument.Account, payload types.Payload,
) (Signers, error) {
	sender, payer, err := f.signatories(ctx, s, from)
	if err != nil {
		return Signers{}, err
	}
	return unlock(ctx, s, sender, payer, payload)
}

// sign signs a transaction as its sender and payer.
func (k Signers) sign(ctx context.Context, tx types.Transaction) (types.SignedTransaction, error) {
	signed, err := client.Sign(ctx, k.Sender, tx)
	if err != nil || k.Payer == nil {
		return signed, err
	}
	now := time.Now()
	if tx.ValidUntil != nil { // Build has bounded it, by the chain's time where that is ahead
		now = time.UnixMilli(int64(*tx.ValidUntil)).Add(-client.MaxSponsored)
	}
	return client.Sponsor(ctx, k.Payer, signed, now)
}

// post signs and sends a transaction. If another program used the nonce meanwhile, be it for the same transaction, post
// retries with the next nonce, unless the user chose it. That cannot send twice: the node refused this transaction, and
// the client repeats no request that may have reached a node.
func post(
	ctx context.Context, s *session.Session, keys Signers, tx types.Transaction, fields client.TxFields,
) (types.SignedTransaction, error) {
	for {
		signed, err := keys.sign(ctx, tx)
		if err != nil {
			return signed, err
		}
		_, err = s.Client.Send(ctx, signed)
		used := errors.Is(err, api.ErrNonceTooLow) || errors.Is(err, api.ErrReplacementUnderpriced) ||
			errors.Is(err, api.ErrAlreadyKnown)
		if !used || fields.Nonce != nil {
			return signed, mayBeIn(ctx, s, err, signed.ID(), "the node may have accepted it")
		}
		next, building := s.Client.Build(ctx, keys.Sender, client.ActionOf(tx), fields)
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
func accepted(s *session.Session, id types.TxID) error {
	return s.Result(acceptedTransaction{id}, func(t *output.Text) {
		t.Fields(output.Field{Name: "Transaction", Value: id})
	})
}

// acceptedAlready describes a transaction that the node acknowledged.
const acceptedAlready = "the node has accepted it"

// mayBeIn adds to a connection error that the transaction may be in a block nevertheless. Without a connection, a
// transaction that the node had not acknowledged was not sent.
func mayBeIn(ctx context.Context, s *session.Session, err error, id types.TxID, known string) error {
	var dial *net.OpError
	var status *client.StatusError
	if !errors.Is(err, client.ErrUnreachable) || errors.As(err, &status) ||
		errors.As(err, &dial) && dial.Op == "dial" && known != acceptedAlready {
		return err
	}
	text := fmt.Sprintf("%s; %s, and it may still be included in a block: check with cairn tx %s before you send again",
		s.Explain(ctx, err), known, id)
	return output.WithData(session.Reworded(err, text), map[string]any{"hash": id})
}

// PlanOf describes a transaction for people. declared is the ABI of the contract that it calls or makes, or nil if
// unknown.
func PlanOf(tx types.Transaction, declared *abi.ABI) (Plan, error) {
	amount, err := tx.Amount()
	if err != nil {
		return Plan{}, err
	}
	fee, err := tx.FeeCap()
	if err != nil {
		return Plan{}, err
	}
	cost, err := amount.Add(fee)
	if err != nil {
		return Plan{}, err
	}
	plan := Plan{
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
		plan.Policy, plan.Recovery = new(show.PolicyName(payload.Policy)), payload.Recovery
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

// planned writes the result of a dry run.
func (f *Flags) planned(ctx context.Context, s *session.Session, tx types.Transaction) error {
	ctx, cancel := s.Patience(ctx)
	defer cancel()
	declared, err := abiOfTransaction(ctx, s, tx)
	if err != nil {
		return err
	}
	plan, err := PlanOf(tx, declared)
	if err != nil {
		return err
	}
	trace, err := tracing.Unsent(ctx, s, tx, false, f.Traced.Sources, f.Traced.Log)
	if err != nil {
		return err
	}
	if f.Traced.Wanted {
		plan.Trace = trace
	}
	price, err := s.Client.GasPrice(ctx)
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
	plan.payer = s.Address(ctx, plan.Payer)
	plan.LikelyGas, plan.LikelyCost = trace.GasUsed, api.Quantity(likely)
	return s.Result(plan, func(t *output.Text) {
		plan.Print(t)
		if plan.Trace != nil {
			t.Line("\n%s", tracing.Text(s, *plan.Trace))
		}
	})
}

// abiOfTransaction returns the ABI of the contract that a transaction calls or makes; nil if there is none.
func abiOfTransaction(ctx context.Context, s *session.Session, tx types.Transaction) (*abi.ABI, error) {
	switch payload := tx.Payload.(type) {
	case types.Call, types.Instantiate:
		return s.Client.ContractABI(ctx, types.ContractID(tx.Target))
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
	return show.Readable(args)
}

func (p Plan) Print(t *output.Text) {
	fields := []output.Field{
		{Name: "Type", Value: p.Type}, {Name: "Chain id", Value: p.ChainID}, {Name: "From", Value: p.From},
	}
	if p.To != nil {
		fields = append(fields, output.Field{Name: "To", Value: *p.To})
	}
	if p.Memo != nil {
		fields = append(fields, output.Field{Name: "Memo", Value: show.MemoText(&p.Memo)})
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
		fields = append(fields, output.Field{Name: "Function", Value: show.OneLine(*p.Function)})
	}
	if p.Args != nil {
		fields = append(fields, output.Field{Name: "Arguments", Value: *p.Args})
	}
	if c := p.Parameters; c != nil {
		for _, field := range show.ParameterFields(*c) {
			field.Name = "New " + strings.ToLower(field.Name[:1]) + field.Name[1:]
			fields = append(fields, field)
		}
	}
	fields = append(fields,
		output.Field{Name: "Value", Value: show.Coins(p.Value)}, output.Field{Name: "Nonce", Value: uint64(p.Nonce)},
		output.Field{
			Name: "Gas limit", Value: uint64(p.GasLimit),
		}, output.Field{Name: "Max fee", Value: show.PerGas(p.MaxFeePerGas)},
		output.Field{Name: "Priority fee", Value: show.PerGas(p.MaxPriorityFeePerGas)},
		output.Field{Name: "Costs at most", Value: show.Coins(p.MaxCost)})
	if p.Payer != nil {
		fields = append(fields, output.Field{Name: "Fee paid by", Value: p.payer})
	}
	if p.ValidUntil != nil {
		fields = append(fields, output.Field{Name: "Valid until", Value: show.MillisecondTime(*p.ValidUntil)})
	}
	if p.LikelyGas > 0 {
		fields = append(fields, output.Field{
			Name: "Costs likely", Value: fmt.Sprintf("%s, of %d gas", show.Coins(p.LikelyCost), uint64(p.LikelyGas)),
		})
	}
	t.Fields(fields...)
}

// Include adds a transaction's effect on its sender to its receipt.
func Include(ctx context.Context, s *session.Session, receipt api.Receipt) (Included, error) {
	result := Included{Receipt: receipt}
	ctx, cancel := s.Patience(ctx)
	defer cancel()
	result.payer = s.Address(ctx, receipt.Payer)
	balance, err := s.Client.Balance(ctx, receipt.From, api.Latest())
	if err != nil {
		// The transaction is done, so later errors are only warnings.
		s.Note("Warning: cannot read the new balance: %v", err)
	} else {
		result.Balance = (*api.Quantity)(&balance)
	}
	return result, nil
}

func (i Included) Fields() []output.Field {
	fields := append(show.ReceiptFields(i.Receipt), show.FeeField(i.Receipt, i.payer))
	if i.Balance != nil {
		fields = append(fields, output.Field{Name: "New balance", Value: show.Coins(*i.Balance)})
	}
	return fields
}
