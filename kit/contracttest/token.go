package contracttest

import (
	"context"
	"encoding/json"
	"time"

	"github.com/cairn-chain/cairn/abi"
	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/kit/conformance"
	"github.com/cairn-chain/cairn/kit/nep11"
	"github.com/cairn-chain/cairn/kit/nep20"
	"github.com/cairn-chain/cairn/types"
)

// CheckToken tests the contract against NEP-20. holder must own at least [nep20.MinHolding] units, and must be the
// token's owner for a test of mint. The chain is restored afterwards, except for the gas report.
func (k *Contract) CheckToken(holder Account) conformance.Report {
	k.chain.t.Helper()
	return k.check(holder, nep20.Check)
}

// CheckNFT tests the contract against NEP-11. holder must own a token, and must be allowed to mint for a test of mint.
// The chain is restored afterwards, except for the gas report.
func (k *Contract) CheckNFT(holder Account) conformance.Report {
	k.chain.t.Helper()
	return k.check(holder, nep11.Check)
}

func (k *Contract) check(holder Account, check func(
	context.Context, conformance.Chain, types.ContractID, conformance.Accounts, func(conformance.Result),
) (conformance.Report, error)) conformance.Report {
	k.chain.t.Helper()
	before := k.chain.Snapshot()
	defer k.chain.Revert(before)
	a, b := k.chain.Account("nep20 a"), k.chain.Account("nep20 b")
	accounts := map[types.Account]Account{holder.Account: holder, a.Account: a, b.Account: b}
	report, err := check(context.Background(), &token{Contract: k, accounts: accounts}, k.ID, conformance.Accounts{
		Holder: holder.Account, A: a.Account, B: b.Account,
	}, nil)
	k.chain.must(err)
	return report
}

// token adapts a contract to a check.
type token struct {
	*Contract
	accounts map[types.Account]Account
	last     *api.Trace // trace of the latest transaction
}

func (t *token) ABI(context.Context) (*abi.ABI, error) {
	if len(t.Contract.ABI.Functions) == 0 {
		return nil, nil
	}
	return &t.Contract.ABI, nil
}

func (t *token) View(_ context.Context, function string, args []byte) (conformance.Outcome, error) {
	return outcome(t.Contract.View(function, json.RawMessage(args))), nil
}

func (t *token) Send(_ context.Context, from types.Account, function string, args []byte) (conformance.Outcome, error) {
	result := t.Call(t.accounts[from], function, json.RawMessage(args))
	t.last = result.Trace
	return outcome(result), nil
}

func (t *token) Deploy(_ context.Context, from types.Account, code []byte) (types.ContractID, error) {
	t.chain.t.Helper()
	return t.chain.Deploy(t.accounts[from], code, nil).ID, nil
}

func (t *token) TakesBack() bool { return true }

func (t *token) Aside(_ context.Context, f func() error) error {
	before := t.chain.Snapshot()
	defer t.chain.Revert(before)
	return f()
}

func (t *token) Pass(_ context.Context, by time.Duration) error {
	t.chain.Advance(by)
	t.chain.Mine(1)
	return nil
}

func (t *token) Called(context.Context) (bool, error) {
	return t.last.Root != nil && t.last.Root.HostGas["call"] > 0, nil // a failed attempt costs gas too
}

func outcome(r Result) conformance.Outcome {
	o := conformance.Outcome{OK: r.OK, Output: r.Output, Reason: r.Reason}
	for _, e := range r.Events {
		log := conformance.Log{Contract: e.Contract, Name: e.Name, Data: e.Data}
		for _, topic := range e.Topics {
			log.Topics = append(log.Topics, types.Digest(topic))
		}
		o.Logs = append(o.Logs, log)
	}
	return o
}
