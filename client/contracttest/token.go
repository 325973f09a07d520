package contracttest

import (
	"context"
	"encoding/json"

	"github.com/cairn-chain/cairn/abi"
	"github.com/cairn-chain/cairn/client/nep20"
	"github.com/cairn-chain/cairn/types"
)

// CheckToken tests the contract against NEP-20; holder has at least [nep20.MinHolding] units of it, and is its owner
// where mint is to be tested. The chain is as it was before, but for the gas report.
func (k *Contract) CheckToken(holder Account) nep20.Report {
	k.chain.t.Helper()
	before := k.chain.Snapshot()
	defer k.chain.Revert(before)
	accounts := map[types.Account]Account{}
	for _, a := range []Account{holder, k.chain.Account("nep20 a"), k.chain.Account("nep20 b")} {
		accounts[a.Account] = a
	}
	report, err := nep20.Check(context.Background(), token{k, accounts}, k.ID, nep20.Accounts{
		Holder: holder.Account, A: k.chain.Account("nep20 a").Account, B: k.chain.Account("nep20 b").Account,
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

func (t token) View(_ context.Context, function string, args []byte) (nep20.Outcome, error) {
	return outcome(t.Contract.View(function, json.RawMessage(args))), nil
}

func (t token) Send(_ context.Context, from types.Account, function string, args []byte) (nep20.Outcome, error) {
	return outcome(t.Call(t.accounts[from], function, json.RawMessage(args))), nil
}

func outcome(r Result) nep20.Outcome {
	o := nep20.Outcome{OK: r.OK, Output: r.Output, Reason: r.Reason}
	for _, e := range r.Events {
		log := nep20.Log{Contract: e.Contract, Name: e.Name, Data: e.Data}
		for _, topic := range e.Topics {
			log.Topics = append(log.Topics, types.Digest(topic))
		}
		o.Logs = append(o.Logs, log)
	}
	return o
}
