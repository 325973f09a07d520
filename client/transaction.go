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

// ErrNobody: an account is neither a key that somebody may have nor a contract: what is sent to it is lost.
var ErrNobody = errors.New("nobody can have this key, and it is no contract: look for a typing error")

// CheckRecipient fails with [ErrNobody] if nobody can ever use what an account is sent. Half of all values of 32 bytes
// are such accounts, and so is half of the keys in hex with a wrong digit; addresses have a checksum.
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

// AskRecipient is [Client.CheckRecipient] as a part of a batch: what it returns reads the answer.
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

// Transfer is the payload that moves an amount to an account.
func Transfer(to types.Account, amount types.Amount) types.Payload {
	return types.Transfer{To: to, Amount: amount}
}

// Configure is the payload that replaces the chain's parameters; only the producer in force may send it.
func Configure(parameters types.Parameters) types.Payload {
	return types.Configure{Parameters: parameters}
}

// Deploy is the payload that stores a contract's WASM code under a name and runs its init function with args. What args
// encode to as JSON is handed over, or nothing if they are nil. Value goes to the contract.
func Deploy(name string, code []byte, args any, value types.Amount) (types.Payload, error) {
	encoded, err := encodeArgs(args)
	return types.Deploy{Amount: value, Name: name, Code: code, InitArgs: encoded}, err
}

// Call is the payload that runs a contract's function with args: what they encode to as JSON, or nothing when they are
// nil. Value goes to the contract.
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

// TxFields are the fields of a transaction that the node is asked for where they are nil.
type TxFields struct {
	Nonce    *uint64       // else the one after the sender's executable transactions
	GasLimit *types.Gas    // else svc_estimateGas
	MaxFee   *types.Amount // per gas, in smallest units; else svc_gasPrice
	Priority *types.Amount // per gas, in smallest units; else svc_gasPrice, at most MaxFee

	// GasMargin is added to what svc_estimateGas says, for a call that may do more by the time it is in a block: what is
	// not used is given back.
	GasMargin types.Gas
}

// Build makes a transaction that is ready to be signed, with the sender's nonce, fees and gas limit from the node where
// fields leaves them out. The nonce comes after those that this client has sent within a minute, too. It fails with
// [api.ErrCannotPay], and the figures in the error's data, when the sender's balance does not cover value + gas limit ×
// max fee.
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
	// The value first: the node would refuse to estimate what the sender cannot pay, with another error.
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

// Outbid is the least that a replacement of a transaction pays in the place of one of its fees per gas: a tenth more,
// rounded up (docs/applications.md). It fails where that overflows.
func Outbid(fee types.Amount) (types.Amount, error) {
	tenth := fee / 10
	if fee%10 != 0 {
		tenth++
	}
	return fee.Add(tenth)
}

// fees are the max fee and the priority fee: those given, the others from the node's suggestion. The max fee holds the
// priority fee and, if it is not given, twice the base fee.
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

// cannotPay is [api.ErrCannotPay] with the figures.
func cannotPay(balance, required types.Amount) error {
	message := fmt.Sprintf("the sender's balance is %d smallest units, and the transaction can cost %d", balance, required)
	return &Error{Code: api.ErrCannotPay.Code, Message: message, Data: map[string]any{
		"reason": api.ErrCannotPay.Data["reason"], "balance": api.Quantity(balance), "needed": api.Quantity(required),
	}}
}

// Funds are the amounts of an [api.ErrCannotPay], in smallest units.
type Funds struct {
	Balance  types.Amount // of the sender, after the latest block
	Reserved types.Amount // of that, by earlier pending transactions
	Pending  uint64       // how many those are
	Needed   types.Amount // what the transaction may take
}

// Missing is what the sender must get before the transaction is taken.
func (f Funds) Missing() types.Amount {
	free := f.Balance - min(f.Balance, f.Reserved)
	return f.Needed - min(f.Needed, free)
}

// Shortfall reads the amounts of an [api.ErrCannotPay]. It is not ok for another error, or one without them.
func Shortfall(err error) (f Funds, ok bool) {
	var refusal *Error
	if !errors.Is(err, api.ErrCannotPay) || !errors.As(err, &refusal) {
		return f, false
	}
	has, known := quantityOf(refusal.Data["balance"])
	wants, both := quantityOf(refusal.Data["needed"])
	reserved, _ := quantityOf(refusal.Data["reserved"]) // none of what this package refuses
	f = Funds{Balance: types.Amount(has), Reserved: types.Amount(reserved), Needed: types.Amount(wants)}
	if pending, is := refusal.Data["pending"].(json.Number); is {
		f.Pending, _ = strconv.ParseUint(string(pending), 10, 64)
	}
	return f, known && both
}

// quantityOf reads a quantity in an error's data: what this package wrote, or a node.
func quantityOf(value any) (api.Quantity, bool) {
	if text, is := value.(string); is {
		var q api.Quantity
		err := q.UnmarshalText([]byte(text))
		return q, err == nil
	}
	q, is := value.(api.Quantity)
	return q, is
}
