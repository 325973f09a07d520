package sender

import (
	"context"
	"math"
	"slices"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/client"
	"github.com/cairn-chain/cairn/internal/protocol/fees"
	"github.com/cairn-chain/cairn/internal/protocol/params"
	"github.com/cairn-chain/cairn/types"
)

// terms are the contents of a transaction besides its nonce.
type terms struct {
	action           client.Action
	gasLimit         types.Gas
	maxFee, priority types.Amount
}

// prices holds the node's suggested prices.
type prices struct {
	base, maxFee, priority types.Amount
}

func pricesOf(failed *error, p client.Pending[api.GasPriceInfo]) prices {
	info := take(failed, p)
	return prices{
		types.Amount(info.BaseFee), types.Amount(info.SuggestedMaxFee), types.Amount(info.SuggestedPriorityFee),
	}
}

// take returns a call's result, and keeps the first error of several calls in failed.
func take[R any](failed *error, p client.Pending[R]) R {
	result, err := p.Result()
	if *failed == nil {
		*failed = err
	}
	return result
}

// prepared is a job with its terms, or with the error for which it cannot be sent.
type prepared struct {
	terms
	err error
}

// prepare determines fees and gas for all of the jobs, or for the first ones.
func (p *pump) prepare(ctx context.Context, jobs []*job) ([]prepared, error) {
	var b client.Batch
	priceCall := client.Add(&b, api.GasPrice, api.NoParams{})
	gas := make([]func() (types.Gas, error), len(jobs))
	for i, j := range jobs {
		gas[i] = p.askGas(&b, j)
	}
	if err := p.ask(ctx, &b); err != nil {
		return nil, err
	}
	var err error
	now := pricesOf(&err, priceCall)
	if err != nil {
		return nil, err
	}
	found := make([]prepared, len(jobs))
	for i, j := range jobs {
		t := terms{action: j.action, maxFee: now.maxFee, priority: now.priority}
		t.gasLimit, err = gas[i]()
		switch {
		case err == nil:
			found[i].terms = t.capped(p.s.cap(j))
		case reasonOf(err) == "" || slices.Contains(later, reasonOf(err)) || reasonOf(err) == reasonOf(api.ErrTimeUp):
			if i == 0 {
				return nil, err
			}
			p.holdTill = p.now() + max(holdTime, retryAfter(err))
			return found[:i], nil // continue with the jobs before it; later ones keep their order
		default:
			found[i].err = err
		}
	}
	return found, nil
}

// askGas adds a query for a job's gas limit to a batch. The returned function reads the result.
func (p *pump) askGas(b *client.Batch, j *job) func() (types.Gas, error) {
	known := func(gas types.Gas) func() (types.Gas, error) {
		return func() (types.Gas, error) { return gas, nil }
	}
	said := p.s.said(j)
	if said.GasLimit != 0 {
		return known(said.GasLimit)
	}
	payload := j.action.Payload
	_, isTransfer := payload.(types.Transfer)
	switch kind := payload.Kind(); {
	case kind == types.KindConfigure, kind == types.KindSetPolicy, isTransfer && j.action.Value == 0:
		return known(p.intrinsicGas(payload))
	case isTransfer:
		nonce := client.Add(b, api.GetTransactionCount, api.GetTransactionCountParams{Account: j.action.Target.String()})
		return func() (types.Gas, error) {
			// An account that has sent a transaction keeps its entry forever; a balance alone may be gone by the
			// transfer's block. Unused gas is refunded.
			sent, err := nonce.Result()
			return p.transferGas(payload, sent > 0), err
		}
	}
	tx := types.Transaction{
		ChainID: p.s.chainID, Sender: p.s.Account(), Target: j.action.Target, Value: j.action.Value, Payload: payload,
	}
	var payer client.Party
	if p.s.options.Payer != nil {
		payer, tx.Payer = p.s.options.Payer, new(p.s.options.Payer.Account())
	}
	estimate := client.Add(b, api.EstimateGas, api.RawTransactionParams{
		Transaction: client.EncodeForEstimate(tx, p.s.signer, payer),
	})
	return func() (types.Gas, error) {
		gas, err := estimate.Result()
		return types.Gas(gas) + min(said.GasMargin, math.MaxUint64-types.Gas(gas)), err
	}
}

// intrinsicGas returns the gas that a transaction of the account uses before its payload runs.
func (p *pump) intrinsicGas(payload types.Payload) types.Gas {
	signed := types.SignedTransaction{
		Transaction: types.Transaction{Payload: payload}, Witness: p.s.signer.Sample(payload, client.AsSender),
	}
	var gas types.Gas
	if payer := p.s.options.Payer; payer != nil {
		signed.Payer, signed.PayerWitness = new(payer.Account()), payer.Sample(payload, client.AsPayer)
		if p.slots.base == 0 {
			gas = params.Prices.NewAccount // the account may have no entry
		}
	}
	return gas + fees.IntrinsicGas(&signed)
}

// transferGas returns the gas limit of a transfer to an account that has an entry in the state, or may have none.
func (p *pump) transferGas(payload types.Payload, hasEntry bool) types.Gas {
	gas := p.intrinsicGas(payload)
	if !hasEntry {
		gas += params.Prices.NewAccount
	}
	return gas
}

// capped returns the terms with fees per gas limited to a cap; 0 means none.
func (t terms) capped(limit types.Amount) terms {
	if limit != 0 {
		t.maxFee = min(t.maxFee, limit)
	}
	t.priority = min(t.priority, t.maxFee)
	return t
}

// more returns the fee for a replacement: 10 % more, or the suggested fee if that is higher.
func more(fee, suggested types.Amount) (types.Amount, error) {
	raised, err := client.Outbid(fee)
	return max(raised, suggested), err
}

// raised returns the terms of a replacement. ok is false if its fee exceeds the limit.
func raised(old types.Transaction, now prices, limit types.Amount) (t terms, ok bool) {
	maxFee, err := more(old.MaxFeePerGas, now.maxFee)
	if err != nil || limit != 0 && maxFee > limit {
		return terms{}, false
	}
	priority, err := more(old.MaxPriorityFeePerGas, now.priority)
	return terms{client.ActionOf(old), old.GasLimit, maxFee, min(priority, maxFee)}, err == nil
}

// sweepPrice returns a sweep's price per gas: the base fee after one maximal increase, plus the suggested priority fee.
func sweepPrice(now prices) (types.Amount, error) {
	eighth := now.base / 8
	if now.base%8 != 0 {
		eighth++
	}
	price, err := now.base.Add(eighth)
	if err != nil {
		return 0, err
	}
	return price.Add(now.priority)
}

// sweep returns the terms that leave a zero balance. Max fee and priority fee are equal, so the price per gas does not
// depend on the base fee, and the value is the balance minus gas × price, or with a payer the balance. It returns
// [*InsufficientForFee].
func (p *pump) sweep(ctx context.Context, j *job) (terms, error) {
	var first client.Batch
	heightCall := client.Add(&first, api.BlockNumber, api.NoParams{})
	if err := p.ask(ctx, &first); err != nil {
		return terms{}, err
	}
	var err error
	height := take(&err, heightCall)
	if err != nil {
		return terms{}, err
	}
	at, to := api.AtHeight(types.Height(height)), j.sweep.String()
	var b client.Batch
	balanceCall := client.Add(&b, api.GetBalance, api.GetBalanceParams{Account: p.s.Account().String(), Block: at})
	nonceCall := client.Add(&b, api.GetTransactionCount, api.GetTransactionCountParams{
		Account: to, Block: api.NonceRef{Block: at},
	})
	hadCall := client.Add(&b, api.GetBalance, api.GetBalanceParams{Account: to, Block: at})
	priceCall := client.Add(&b, api.GasPrice, api.NoParams{})
	if err := p.ask(ctx, &b); err != nil {
		return terms{}, err
	}
	balance, nonce, had := take(&err, balanceCall), take(&err, nonceCall), take(&err, hadCall)
	now := pricesOf(&err, priceCall)
	if err != nil {
		return terms{}, err
	}
	price, err := sweepPrice(now)
	if err != nil {
		return terms{}, err
	}
	if limit := p.s.cap(j); limit != 0 {
		price = min(price, limit)
	}
	gas := p.transferGas(types.Transfer{}, nonce > 0 || had > 0)
	fee := types.Amount(0)
	if p.s.options.Payer == nil {
		fee, err = gas.Cost(price)
	}
	if err != nil || types.Amount(balance) <= fee {
		return terms{}, &InsufficientForFee{Balance: types.Amount(balance), Needed: fee}
	}
	return terms{client.Transfer(*j.sweep, types.Amount(balance)-fee), gas, price, price}, nil
}

// sweepAgain returns a sweep's replacement, which takes the higher fee from the value unless there is a payer. ok is
// false if the balance is too low or the price exceeds the limit.
func sweepAgain(old types.Transaction, now prices, limit types.Amount) (t terms, ok bool) {
	wanted, err := sweepPrice(now)
	if err != nil {
		return terms{}, false
	}
	price, err := more(old.MaxFeePerGas, wanted)
	if err != nil || limit != 0 && price > limit {
		return terms{}, false
	}
	action := client.ActionOf(old)
	if old.Payer == nil {
		extra, err := old.GasLimit.Cost(price - old.MaxFeePerGas)
		if err != nil || action.Value <= extra {
			return terms{}, false
		}
		action.Value -= extra
	}
	return terms{action, old.GasLimit, price, price}, true
}
