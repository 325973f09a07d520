package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/types"
)

// ErrNobody is returned for an account that is neither a valid public key nor a contract: coins sent to it are lost.
var ErrNobody = errors.New("nobody can have this key, and it is no contract: look for a typing error")

// CheckRecipient returns [ErrNobody] if nobody can ever spend from an account. Half of all 32-byte values are such
// accounts, and so are half of the hex keys with a wrong digit; addresses have a checksum.
func (c *Client) CheckRecipient(ctx context.Context, account types.Account) error {
	if types.IsKey(account) {
		return nil
	}
	var b Batch
	answer := AskRecipient(&b, account)
	if err := b.Send(ctx, c); err != nil {
		return err
	}
	return answer()
}

// AskRecipient adds the check of [Client.CheckRecipient] to a batch. The function it returns reads the result once the
// batch has been sent.
func AskRecipient(b *Batch, account types.Account) func() error {
	if types.IsKey(account) {
		return func() error { return nil }
	}
	call := Add(b, api.GetContract, api.ContractParams{Contract: types.ContractID(account)})
	return func() error {
		found, err := call.Result()
		if err == nil && found == nil {
			return fmt.Errorf("%s: %w", account, ErrNobody)
		}
		return err
	}
}

// Transfer returns a payload that moves an amount to an account.
func Transfer(to types.Account, amount types.Amount) types.Payload {
	return types.Transfer{To: to, Amount: amount}
}

// Configure returns a payload that replaces the chain's parameters. Only the current producer may send it.
func Configure(parameters types.Parameters) types.Payload {
	return types.Configure{Parameters: parameters}
}

// Deploy returns a payload that stores a contract's WASM code under a name and runs its init function. args is passed
// to it encoded as JSON, or nothing if nil. The contract receives value.
func Deploy(name string, code []byte, args any, value types.Amount) (types.Payload, error) {
	encoded, err := encodeArgs(args)
	return types.Deploy{Amount: value, Name: name, Code: code, InitArgs: encoded}, err
}

// Call returns a payload that runs a contract's function. args is passed to it encoded as JSON, or nothing if nil. The
// contract receives value.
func Call(contract types.ContractID, function string, args any, value types.Amount) (types.Payload, error) {
	encoded, err := encodeArgs(args)
	return types.Call{Amount: value, Contract: contract, Function: function, Args: encoded}, err
}

func encodeArgs(args any) ([]byte, error) {
	if args == nil {
		return nil, nil
	}
	encoded, err := json.Marshal(args)
	if err != nil {
		return nil, fmt.Errorf("encode the arguments: %w", err)
	}
	return encoded, nil
}

// TxFields holds optional fields of a transaction. The client asks the node for the nil ones.
type TxFields struct {
	Nonce    *uint64       // default: the nonce after the sender's executable transactions
	GasLimit *types.Gas    // default: from svc_estimateGas
	MaxFee   *types.Amount // per gas, in smallest units; default: from svc_gasPrice
	Priority *types.Amount // per gas, in smallest units; default: from svc_gasPrice, at most MaxFee

	// GasMargin is added to the estimate of svc_estimateGas, for a call that may use more by the time it is included.
	// Unused gas is refunded.
	GasMargin types.Gas
}

// Build returns a transaction ready to be signed. Fields that are nil come from the node: the sender's nonce, the fees
// and the gas limit. The nonce also follows the transactions that this client has sent within the last minute. Build
// returns [api.ErrCannotPay], with the amounts in the error's data, if the sender's balance does not cover value + gas
// limit × max fee.
func (c *Client) Build(
	ctx context.Context, from types.Account, payload types.Payload, fields TxFields,
) (types.Transaction, error) {
	chainID, err := c.ChainID(ctx)
	if err != nil {
		return types.Transaction{}, err
	}
	sender := from.String()
	var balanceCall, nonceCall Pending[api.Quantity]
	var priceCall Pending[api.GasPriceInfo]
	err = c.latest(ctx, func(b *Batch) {
		balanceCall = Add(b, api.GetBalance, api.GetBalanceParams{Account: sender})
		nonceCall = Add(b, api.GetTransactionCount, api.GetTransactionCountParams{Account: sender, Block: api.Pending()})
		priceCall = Add(b, api.GasPrice, api.NoParams{})
	})
	if err != nil {
		return types.Transaction{}, err
	}
	balance, err := balanceCall.Result()
	if err != nil {
		return types.Transaction{}, err
	}
	nonce, err := nonceCall.Result()
	if err != nil {
		return types.Transaction{}, err
	}
	price, err := priceCall.Result()
	if err != nil {
		return types.Transaction{}, err
	}
	tx := types.Transaction{
		Version: types.TransactionVersion, ChainID: chainID, Sender: from, Nonce: c.nonceAfter(from, uint64(nonce)),
		Payload: payload,
	}
	if fields.Nonce != nil {
		tx.Nonce = *fields.Nonce
	}
	if tx.MaxFeePerGas, tx.MaxPriorityFeePerGas, err = fields.fees(price); err != nil {
		return types.Transaction{}, err
	}
	// Check the value first: the node would refuse to estimate a transfer that the sender cannot pay, with another
	// error.
	if types.Amount(balance) < payload.Value() {
		return types.Transaction{}, cannotPay(types.Amount(balance), payload.Value())
	}
	if tx.GasLimit, err = c.gasLimit(ctx, tx, fields); err != nil {
		return types.Transaction{}, err
	}
	cost, err := tx.Cost()
	if err != nil {
		return types.Transaction{}, fmt.Errorf("the cost of the transaction: %w", err)
	}
	if types.Amount(balance) < cost {
		return types.Transaction{}, cannotPay(types.Amount(balance), cost)
	}
	return tx, nil
}

// Outbid returns the lowest fee per gas with which a replacement may outbid a fee of the transaction it replaces: 10 %
// more, rounded up (docs/applications.md). It returns an error on overflow.
func Outbid(fee types.Amount) (types.Amount, error) {
	tenth := fee / 10
	if fee%10 != 0 {
		tenth++
	}
	return fee.Add(tenth)
}

// fees returns the max fee and the priority fee: those given, or the node's suggestion. The default max fee is the
// priority fee plus twice the base fee.
func (f TxFields) fees(price api.GasPriceInfo) (maxFee, priority types.Amount, err error) {
	maxFee, priority = types.Amount(price.SuggestedMaxFee), types.Amount(price.SuggestedPriorityFee)
	switch {
	case f.MaxFee != nil && f.Priority != nil:
		return *f.MaxFee, *f.Priority, nil
	case f.MaxFee != nil:
		return *f.MaxFee, min(priority, *f.MaxFee), nil
	case f.Priority != nil:
		base := types.Amount(price.BaseFee)
		if maxFee, err = base.Add(base); err == nil {
			maxFee, err = maxFee.Add(*f.Priority)
		}
		return maxFee, *f.Priority, err
	}
	return maxFee, priority, nil
}

func (c *Client) gasLimit(ctx context.Context, tx types.Transaction, fields TxFields) (types.Gas, error) {
	if fields.GasLimit != nil {
		return *fields.GasLimit, nil
	}
	gas, err := c.EstimateGas(ctx, tx)
	return gas + min(fields.GasMargin, math.MaxUint64-gas), err
}

// cannotPay returns [api.ErrCannotPay] with the amounts.
func cannotPay(balance, required types.Amount) error {
	message := fmt.Sprintf("the sender's balance is %d smallest units, and the transaction can cost %d", balance, required)
	return &Error{Code: api.ErrCannotPay.Code, Message: message, Data: map[string]any{
		"reason": api.ErrCannotPay.Data["reason"], "balance": api.Quantity(balance), "needed": api.Quantity(required),
	}}
}

// Funds holds the amounts of an [api.ErrCannotPay], in smallest units.
type Funds struct {
	Balance  types.Amount // sender's balance after the latest block
	Reserved types.Amount // part of Balance reserved for earlier pending transactions
	Pending  uint64       // number of those transactions
	Needed   types.Amount // maximum cost of the transaction
}

// Missing returns the amount that the sender lacks for the transaction to be accepted.
func (f Funds) Missing() types.Amount {
	free := f.Balance - min(f.Balance, f.Reserved)
	return f.Needed - min(f.Needed, free)
}

// Shortfall returns the amounts of an [api.ErrCannotPay]. ok is false for another error, or one without them.
func Shortfall(err error) (f Funds, ok bool) {
	var refusal *Error
	if !errors.Is(err, api.ErrCannotPay) || !errors.As(err, &refusal) {
		return f, false
	}
	has, known := quantityOf(refusal.Data["balance"])
	wants, both := quantityOf(refusal.Data["needed"])
	reserved, _ := quantityOf(refusal.Data["reserved"]) // absent from errors of this package
	f = Funds{Balance: types.Amount(has), Reserved: types.Amount(reserved), Needed: types.Amount(wants)}
	if pending, is := refusal.Data["pending"].(json.Number); is {
		f.Pending, _ = strconv.ParseUint(string(pending), 10, 64)
	}
	return f, known && both
}

// quantityOf reads a quantity in an error's data, whether set by this package or by a node.
func quantityOf(value any) (api.Quantity, bool) {
	if text, is := value.(string); is {
		var q api.Quantity
		err := q.UnmarshalText([]byte(text))
		return q, err == nil
	}
	q, is := value.(api.Quantity)
	return q, is
}
