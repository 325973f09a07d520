package contracttest

import (
	"context"
	"encoding/json"

	"github.com/cairn-chain/cairn/abi"
	"github.com/cairn-chain/cairn/client/conformance"
	"github.com/cairn-chain/cairn/client/nep11"
	"github.com/cairn-chain/cairn/client/nep20"
	"github.com/cairn-chain/cairn/types"
)

// CheckToken tests the contract against NEP-20; holder has at least [nep20.MinHolding] units of it, and is its owner
// where mint is to be tested. The chain is as it was before, but for the gas report.
func (k *Contract) CheckToken(holder Account) conformance.Report {
	k.chain.t.Helper()
	return k.check(holder, nep20.Check)
}

// CheckNFT tests the contract against NEP-11; holder has a token of it, and may mint where that is to be tested. The
// chain is as it was before, but for the gas report.
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
	report, err := check(context.Background(), token{k, accounts}, k.ID, conformance.Accounts{
		Holder: holder.Account, A: a.Account, B: b.Account,
	}, nil)
	k.chain.must(err)
	return report
}

// token is a contract as a check sees it.
type token struct {
	*Contract
	accounts map[types.Account]Account
}

func (t token) ABI(context.Context) (*abi.ABI, error) {
	if len(t.Contract.ABI.Functions) == 0 {
		return nil, nil
	}
	return &t.Contract.ABI, nil
}

func (t token) View(_ context.Context, function string, args []byte) (conformance.Outcome, error) {
	return outcome(t.Contract.View(function, json.RawMessage(args))), nil
}

func (t token) Send(_ context.Context, from types.Account, function string, args []byte) (conformance.Outcome, error) {
	return outcome(t.Call(t.accounts[from], function, json.RawMessage(args))), nil
}

func (t token) Deploy(_ context.Context, from types.Account, code []byte) (types.ContractID, error) {
	t.chain.t.Helper()
	return t.chain.Deploy(t.accounts[from], code, nil).ID, nil
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
