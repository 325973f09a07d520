package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/types"
)

// ErrNobody is returned for an account that is not a key and that the chain does not know.
var ErrNobody = errors.New("neither a valid key nor a known account: check for a typing error")

// CheckRecipient returns [ErrNobody] for an account that is not a valid public key and has no coins, no contract and no
// transactions. Half of the hex keys with a wrong digit are such accounts, but so are half of the policy accounts that
// nobody has used yet, so call it only for an account that was given in hex. Addresses have a checksum.
func (c *Client) CheckRecipient(ctx context.Context, account types.Account) error {
	if types.IsKey(account) {
		return nil
	}
	found, err := c.Account(ctx, account, api.Latest())
	if err == nil && !found.Contract && found.Balance == 0 && found.Nonce == 0 {
		return fmt.Errorf("%s: %w", account, ErrNobody)
	}
	return err
}

// TxFields holds optional fields of a transaction. If one of the first four is nil, the client asks the node for it.
type TxFields struct {
	Nonce    *uint64       // default: the nonce after the sender's executable transactions
	GasLimit *types.Gas    // default: from svc_estimateGas
	MaxFee   *types.Amount // per gas, in smallest units; default: from svc_gasPrice
	Priority *types.Amount // per gas, in smallest units; default: from svc_gasPrice, at most MaxFee

	// GasMargin is added to the estimate of svc_estimateGas, for a call that may use more by the time it is included.
	// Unused gas is refunded.
	GasMargin types.Gas

	// Payer pays the fee in the sender's place; nil: nobody does.
	Payer Party
	// ValidUntil is the timestamp, in milliseconds, of the last block that may include the transaction; nil: see
	// ValidFor.
	ValidUntil *uint64
	// ValidFor is the time from now to ValidUntil; 0: without end, or 5 minutes with a payer. With a payer it is at
	// most [MaxSponsored].
	ValidFor time.Duration
}

// sponsoredTime is the time for which a transaction with a payer is valid unless the caller chooses another.
const sponsoredTime = 5 * time.Minute

// Build returns a transaction ready to be signed. Fields that are nil come from the node: the sender's nonce, the fees
// and the gas limit. The nonce also follows the transactions that this client has sent within the last minute. Build
// returns [api.ErrCannotPay], with the amounts in the error's data, if the sender's balance does not cover the amount
// that the transaction moves plus gas limit × max fee. It returns [api.ErrPayerCannotPay] if a payer's balance does not
// cover the fee.
func (c *Client) Build(ctx context.Context, from Party, action Action, fields TxFields) (types.Transaction, error) {
	chainID, err := c.ChainID(ctx)
	if err != nil {
		return types.Transaction{}, err
	}
	found, err := c.askFields(ctx, from, fields)
	if err != nil {
		return types.Transaction{}, err
	}
	sender := from.Account()
	tx := types.Transaction{
		ChainID: chainID, Sender: sender, Nonce: c.nonceAfter(sender, found.nonce), Target: action.Target,
		Value: action.Value, Payload: action.Payload,
	}
	if fields.Nonce != nil {
		tx.Nonce = *fields.Nonce
	}
	if tx.MaxFeePerGas, tx.MaxPriorityFeePerGas, err = fields.fees(found.price); err != nil {
		return types.Transaction{}, err
	}
	if tx.ValidUntil, err = fields.validUntil(found.now); err != nil {
		return types.Transaction{}, err
	}
	if fields.Payer != nil {
		tx.Payer = new(fields.Payer.Account())
		if err := checkSponsored(tx, found.now); err != nil {
			return types.Transaction{}, err
		}
	}
	amount, err := tx.Amount()
	if err != nil {
		return types.Transaction{}, fmt.Errorf("the amount of the transaction: %w", err)
	}
	// Check the value first: the node would refuse to estimate a transfer that the sender cannot pay, with another
	// error.
	if found.balance < amount {
		return types.Transaction{}, cannotPay(api.ErrCannotPay, found.balance, amount)
	}
	if tx.GasLimit, err = c.gasLimit(ctx, tx, from, fields); err != nil {
		return types.Transaction{}, err
	}
	return tx, found.checkFunds(tx, amount)
}

// state is the part of the chain's state that [Client.Build] needs.
type state struct {
	balance, payerBalance types.Amount
	nonce                 uint64
	price                 api.GasPriceInfo
	now                   uint64 // milliseconds: the present, and at least the head's timestamp
}

func (c *Client) askFields(ctx context.Context, from Party, fields TxFields) (found state, err error) {
	sender := from.Account().String()
	timed := fields.Payer != nil || fields.ValidFor != 0
	var balanceCall, nonceCall, payerCall Pending[api.Quantity]
	var priceCall Pending[api.GasPriceInfo]
	var headCall Pending[*api.Block]
	err = c.latest(ctx, func(b *Batch) {
		balanceCall = Add(b, api.GetBalance, api.GetBalanceParams{Account: sender})
		nonceCall = Add(b, api.GetTransactionCount, api.GetTransactionCountParams{Account: sender, Block: api.Pending()})
		priceCall = Add(b, api.GasPrice, api.NoParams{})
		if fields.Payer != nil {
			payerCall = Add(b, api.GetBalance, api.GetBalanceParams{Account: fields.Payer.Account().String()})
		}
		if timed {
			headCall = Add(b, api.GetBlockByNumber, api.GetBlockByNumberParams{Block: api.Latest(), HeadersOnly: true})
		}
	})
	if err != nil {
		return found, err
	}
	balance, err := balanceCall.Result()
	if err != nil {
		return found, err
	}
	nonce, err := nonceCall.Result()
	if err != nil {
		return found, err
	}
	if found.price, err = priceCall.Result(); err != nil {
		return found, err
	}
	found.balance, found.nonce = types.Amount(balance), uint64(nonce)
	if fields.Payer != nil {
		balance, err := payerCall.Result()
		if err != nil {
			return found, err
		}
		found.payerBalance = types.Amount(balance)
	}
	if timed {
		head, err := headCall.Result()
		if err != nil {
			return found, err
		}
		found.now = milliseconds(time.Now())
		if head != nil {
			found.now = max(found.now, head.TimestampMs)
		}
	}
	return found, nil
}

// checkFunds checks that the accounts can pay for a complete transaction.
func (s state) checkFunds(tx types.Transaction, amount types.Amount) error {
	fee, err := tx.FeeCap()
	if err != nil {
		return fmt.Errorf("the cost of the transaction: %w", err)
	}
	if tx.Payer != nil {
		if s.payerBalance < fee {
			return cannotPay(api.ErrPayerCannotPay, s.payerBalance, fee)
		}
		return nil
	}
	cost, err := fee.Add(amount)
	if err != nil {
		return fmt.Errorf("the cost of the transaction: %w", err)
	}
	if s.balance < cost {
		return cannotPay(api.ErrCannotPay, s.balance, cost)
	}
	return nil
}

// validUntil returns the transaction's valid_until.
func (f TxFields) validUntil(now uint64) (*uint64, error) {
	lasts := f.ValidFor
	switch {
	case f.ValidUntil != nil:
		return f.ValidUntil, nil
	case lasts < 0:
		return nil, fmt.Errorf("a transaction cannot be valid for %v", lasts)
	case lasts == 0 && f.Payer == nil:
		return nil, nil
	case lasts == 0:
		lasts = sponsoredTime
	}
	return new(now + uint64(lasts.Milliseconds())), nil
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

func (c *Client) gasLimit(
	ctx context.Context, tx types.Transaction, from Party, fields TxFields,
) (types.Gas, error) {
	if fields.GasLimit != nil {
		return *fields.GasLimit, nil
	}
	gas, err := c.EstimateGas(ctx, tx, from, fields.Payer)
	return gas + min(fields.GasMargin, math.MaxUint64-gas), err
}

// cannotPay returns [api.ErrCannotPay] or [api.ErrPayerCannotPay] with the amounts.
func cannotPay(refusal *Error, balance, required types.Amount) error {
	who := "sender"
	if refusal == api.ErrPayerCannotPay {
		who = "payer"
	}
	message := fmt.Sprintf("insufficient balance: the %s has %d smallest units, and the transaction can cost %d", who, balance, required)
	return &Error{Code: refusal.Code, Message: message, Data: map[string]any{
		"reason": refusal.Data["reason"], "balance": api.Quantity(balance), "needed": api.Quantity(required),
	}}
}

// Funds holds the amounts of an [api.ErrCannotPay] or [api.ErrPayerCannotPay], in smallest units.
type Funds struct {
	Balance  types.Amount // balance of the sender or payer after the latest block
	Reserved types.Amount // part of Balance reserved for earlier pending transactions
	Pending  uint64       // number of those transactions
	Needed   types.Amount // maximum cost of the transaction to the account
}

// Missing returns the amount that the account lacks for the transaction to be accepted.
func (f Funds) Missing() types.Amount {
	free := f.Balance - min(f.Balance, f.Reserved)
	return f.Needed - min(f.Needed, free)
}

// Shortfall returns the amounts of an [api.ErrCannotPay] or [api.ErrPayerCannotPay]. ok is false for another error, or
// one without them.
func Shortfall(err error) (f Funds, ok bool) {
	var refusal *Error
	if !errors.Is(err, api.ErrCannotPay) && !errors.Is(err, api.ErrPayerCannotPay) || !errors.As(err, &refusal) {
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
