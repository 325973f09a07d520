package cli

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/cairn-chain/cairn/abi"
	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/cli/argument"
	"github.com/cairn-chain/cairn/cli/output"
	"github.com/cairn-chain/cairn/client"
	"github.com/cairn-chain/cairn/crypto"
	"github.com/cairn-chain/cairn/types"
)

// submission holds the flags of commands that send a transaction.
type submission struct {
	gasLimit, gasMargin, maxFee, priorityFee, nonce uint64
	noWait, dryRun                                  bool

	traced tracedCall // whether a dry run shows a trace
}

// Flags for the fields of a transaction. The node supplies the fields that are not given.
const (
	gasLimitFlag    = "gas-limit"
	gasMarginFlag   = "gas-margin"
	maxFeeFlag      = "max-fee"
	priorityFeeFlag = "priority-fee"
	nonceFlag       = "nonce"
)

// register declares all flags except --gas-limit, which has another meaning in cairn configure.
func (f *submission) register(command *cobra.Command) {
	f.registerSending(command)
	command.Flags().Uint64Var(&f.nonce, nonceFlag, 0, "the transaction's nonce (default: the sender's next)")
}

// registerSending declares the flags for fees and for the way of sending.
func (f *submission) registerSending(command *cobra.Command) {
	flags := command.Flags()
	flags.Uint64Var(&f.maxFee, maxFeeFlag, 0, "the most to pay per gas, in smallest units (default: as the node suggests)")
	flags.Uint64Var(
		&f.priorityFee, priorityFeeFlag, 0, "of that the most for the fee recipient (default: as the node suggests)",
	)
	flags.BoolVar(&f.noWait, "no-wait", false, "do not wait until the transaction is in a block")
	flags.BoolVar(&f.dryRun, "dry-run", false, "show the transaction, but neither sign nor send it")
	command.MarkFlagsMutuallyExclusive("no-wait", "dry-run")
}

// registerGasLimit declares --gas-limit.
func (f *submission) registerGasLimit(command *cobra.Command) {
	command.Flags().Uint64Var(&f.gasLimit, gasLimitFlag, 0, "the most gas to use (default: as the node estimates)")
	command.Flags().Uint64Var(&f.gasMargin, gasMarginFlag, 0,
		"gas to add to what the node estimates; what is not used is given back")
	command.MarkFlagsMutuallyExclusive(gasLimitFlag, gasMarginFlag)
}

// fields returns the fields given on the command line.
func (f *submission) fields(command *cobra.Command) client.TxFields {
	given := func(name string) bool { return command.Flags().Changed(name) }
	fields := client.TxFields{GasMargin: types.Gas(f.gasMargin)}
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
	ChainID              uint64            `json:"chainId"`
	Type                 string            `json:"type"`
	From                 types.Account     `json:"from"`
	To                   *types.Account    `json:"to,omitempty"`         // transfer: the recipient
	Contract             *types.ContractID `json:"contract,omitempty"`   // call: the contract; deploy: the new contract
	Function             *string           `json:"function,omitempty"`   // call: the function
	Args                 *string           `json:"args,omitempty"`       // call, deploy: the arguments in JSON
	Parameters           *types.Parameters `json:"parameters,omitempty"` // configure: the new parameters
	Value                api.Quantity      `json:"value"`
	Nonce                api.Quantity      `json:"nonce"`
	GasLimit             api.Quantity      `json:"gasLimit"`
	MaxFeePerGas         api.Quantity      `json:"maxFeePerGas"`
	MaxPriorityFeePerGas api.Quantity      `json:"maxPriorityFeePerGas"`
	MaxCost              api.Quantity      `json:"maxCost"`              // value + gasLimit × maxFeePerGas
	Unsigned             api.Data          `json:"unsigned"`             // bincode(Transaction)
	LikelyGas            api.Quantity      `json:"likelyGas,omitempty"`  // gas that it would use now
	LikelyCost           api.Quantity      `json:"likelyCost,omitempty"` // value + likelyGas × the current price
	Trace                *readTrace        `json:"trace,omitempty"`
}

// acceptedTransaction is the result of sending without waiting.
type acceptedTransaction struct {
	TransactionHash types.TxID `json:"transactionHash"`
}

// includedTransaction is the result of a transaction that was awaited: its receipt, and its effect on the sender's
// balance.
type includedTransaction struct {
	api.Receipt
	Fee     api.Quantity  `json:"fee"`     // gasUsed × effectiveGasPrice
	Balance *api.Quantity `json:"balance"` // the sender's, after the latest block; null if the node did not return it
}

// submit builds a transaction, signs it with the key returned by key, sends it, and waits for its receipt if the flags
// say so. It writes the command's result.
func (f *submission) submit(
	ctx context.Context, s *session, command *cobra.Command, from types.Account, payload types.Payload,
	key func() (crypto.PrivateKey, error),
) error {
	receipt, err := f.send(ctx, s, command, from, payload, key)
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

// send is like submit, but returns the receipt, also of a failed transaction. If the flags say not to wait, it writes
// the command's result and returns nil.
func (f *submission) send(
	ctx context.Context, s *session, command *cobra.Command, from types.Account, payload types.Payload,
	key func() (crypto.PrivateKey, error),
) (*api.Receipt, error) {
	return f.sendWith(ctx, s, from, payload, f.fields(command), key)
}

// sendWith is like send, with explicit fields.
func (f *submission) sendWith(
	ctx context.Context, s *session, from types.Account, payload types.Payload, fields client.TxFields,
	key func() (crypto.PrivateKey, error),
) (*api.Receipt, error) {
	building, cancel := s.patience(ctx)
	defer cancel()
	tx, err := s.client.Build(building, from, payload, fields)
	if err != nil {
		return nil, err
	}
	if f.dryRun {
		return nil, f.planned(ctx, s, tx)
	}
	private, err := key()
	if err != nil {
		return nil, err
	}
	sending, cancel := s.patience(ctx)
	defer cancel()
	signed, err := s.post(sending, client.NewSigner(private), tx, fields)
	if err != nil {
		return nil, err
	}
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

// post signs and sends a transaction. If another program used the nonce meanwhile, post retries with the next nonce,
// unless the user chose it. That cannot send twice, as the node refused the first transaction.
func (s *session) post(
	ctx context.Context, signer client.Signer, tx types.Transaction, fields client.TxFields,
) (types.SignedTransaction, error) {
	for {
		signed, err := signer.Sign(tx)
		if err != nil {
			return signed, err
		}
		_, err = s.client.Send(ctx, signed)
		used := errors.Is(err, api.ErrNonceTooLow) || errors.Is(err, api.ErrReplacementUnderpriced)
		if !used || fields.Nonce != nil {
			return signed, s.mayBeIn(ctx, err, signed.ID(), "the node may have taken it")
		}
		next, building := s.client.Build(ctx, tx.Sender, tx.Payload, fields)
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
const acceptedAlready = "the node has taken it"

// mayBeIn adds to a connection error that the transaction may be in a block nevertheless. Without a connection, a
// transaction that the node had not acknowledged was not sent.
func (s *session) mayBeIn(ctx context.Context, err error, id types.TxID, known string) error {
	var dial *net.OpError
	var status *client.StatusError
	if !errors.Is(err, client.ErrUnreachable) || errors.As(err, &status) ||
		errors.As(err, &dial) && dial.Op == "dial" && known != acceptedAlready {
		return err
	}
	text := fmt.Sprintf("%s; %s, and it may get into a block: look with cairn tx %s before you send again",
		s.explain(ctx, err), known, id)
	return output.WithData(explained{text, err}, map[string]any{"hash": id})
}

// planOf describes a transaction for people. declared is the ABI of the contract that it calls or deploys, or nil if
// unknown.
func planOf(tx types.Transaction, declared *abi.ABI) (plannedTransaction, error) {
	cost, err := tx.Cost()
	if err != nil {
		return plannedTransaction{}, err
	}
	plan := plannedTransaction{
		ChainID:              tx.ChainID,
		Type:                 tx.Payload.Kind().String(),
		From:                 tx.Sender,
		Value:                api.Quantity(tx.Payload.Value()),
		Nonce:                api.Quantity(tx.Nonce),
		GasLimit:             api.Quantity(tx.GasLimit),
		MaxFeePerGas:         api.Quantity(tx.MaxFeePerGas),
		MaxPriorityFeePerGas: api.Quantity(tx.MaxPriorityFeePerGas),
		MaxCost:              api.Quantity(cost),
		Unsigned:             tx.Encode(),
	}
	switch payload := tx.Payload.(type) {
	case types.Transfer:
		plan.To = &payload.To
	case types.Configure:
		plan.Parameters = &payload.Parameters
	case types.Deploy:
		plan.Contract = new(types.NewContractID(tx.Sender, tx.Nonce))
		plan.Args = new(argumentsText(declared, abi.InitFunction, payload.InitArgs))
	case types.Call:
		plan.Contract, plan.Function = &payload.Contract, &payload.Function
		plan.Args = new(argumentsText(declared, payload.Function, payload.Args))
	}
	return plan, nil
}

// planned writes the result of a dry run.
func (f *submission) planned(ctx context.Context, s *session, tx types.Transaction) error {
	ctx, cancel := s.patience(ctx)
	defer cancel()
	var declared *abi.ABI
	var err error
	switch payload := tx.Payload.(type) {
	case types.Call:
		if declared, err = s.client.ContractABI(ctx, payload.Contract); err != nil {
			return err
		}
	case types.Deploy:
		if its, err := s.abiOf(ctx, payload.Code); err == nil { // without an ABI the arguments are shown unchanged
			declared = &its
		}
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
	plan.LikelyGas, plan.LikelyCost = trace.GasUsed, api.Quantity(costs.Likely)
	return s.Result(plan, func(t *output.Text) {
		plan.people(t)
		if plan.Trace != nil {
			t.Line("\n%s", s.traceText(*plan.Trace))
		}
	})
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
		fields = append(fields,
			output.Field{Name: "New version", Value: c.Version}, output.Field{Name: "New gas limit", Value: c.GasLimit},
			output.Field{Name: "New target", Value: fmt.Sprintf("%d bps", c.TargetBPS)},
			output.Field{
				Name: "New base fee's bounds", Value: fmt.Sprintf("%d to %d units per gas", c.MinBaseFee, c.MaxBaseFee),
			},
			output.Field{
				Name: "New producer", Value: c.Producer,
			}, output.Field{Name: "New fee recipient", Value: c.FeeRecipient})
	}
	fields = append(fields,
		output.Field{Name: "Value", Value: coins(p.Value)}, output.Field{Name: "Nonce", Value: uint64(p.Nonce)},
		output.Field{
			Name: "Gas limit", Value: uint64(p.GasLimit),
		}, output.Field{Name: "Max fee", Value: perGas(p.MaxFeePerGas)},
		output.Field{Name: "Priority fee", Value: perGas(p.MaxPriorityFeePerGas)},
		output.Field{Name: "Costs at most", Value: coins(p.MaxCost)})
	if p.LikelyGas > 0 {
		fields = append(fields, output.Field{
			Name: "Costs likely", Value: fmt.Sprintf("%s, of %d gas", coins(p.LikelyCost), uint64(p.LikelyGas)),
		})
	}
	t.Fields(fields...)
}

// include adds a transaction's effect on its sender to its receipt.
func (s *session) include(ctx context.Context, receipt api.Receipt) (includedTransaction, error) {
	fee, err := feeOf(receipt)
	if err != nil {
		return includedTransaction{}, err
	}
	result := includedTransaction{Receipt: receipt, Fee: fee}
	ctx, cancel := s.patience(ctx)
	defer cancel()
	balance, err := s.client.Balance(ctx, receipt.From, api.Latest())
	if err != nil {
		// The transaction is done, so later errors are only warnings.
		s.Note("Warning: the new balance is not known: %v", err)
	} else {
		result.Balance = (*api.Quantity)(&balance)
	}
	return result, nil
}

func (i includedTransaction) fields() []output.Field {
	fields := append(receiptFields(i.Receipt), output.Field{Name: "Fee", Value: coins(i.Fee)})
	if i.Balance != nil {
		fields = append(fields, output.Field{Name: "New balance", Value: coins(*i.Balance)})
	}
	return fields
}

// feeOf returns the cost of a transaction's gas.
func feeOf(receipt api.Receipt) (api.Quantity, error) {
	fee, err := types.Gas(receipt.GasUsed).Cost(types.Amount(receipt.EffectiveGasPrice))
	return api.Quantity(fee), err
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
