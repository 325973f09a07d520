package nep11

import (
	"encoding/json"
	"slices"

	"github.com/cairn-chain/cairn/contracts"
	"github.com/cairn-chain/cairn/kit/conformance"
	"github.com/cairn-chain/cairn/types"
)

// payment is the last rule: the token stays with the contract of the check.
func (c *checker) payment() error {
	receiver, err := c.Chain.Deploy(c.Ctx, c.Holder, contracts.Receiver())
	if err != nil {
		return err
	}
	to := types.Account(receiver)
	err = c.moves(nothing, func() error {
		if err := c.Refuses(c.Holder, "transfer", object{"to": to, "tokenId": c.id, "data": tokenID("no")}); err != nil {
			return err
		}
		return c.owned(c.id, c.Holder)
	})
	if err != nil {
		return err
	}
	data := tokenID{1, 2}
	outcome, encoded, err := c.Send(c.Holder, "transfer", object{"to": to, "tokenId": c.id, "data": data})
	switch {
	case err != nil:
		return err
	case !outcome.OK:
		return conformance.Breaks("transfer%s failed: %s", encoded, outcome.Why())
	}
	if err := (transfer{c.Holder, to, c.id}).only(c.Token, outcome.Logs); err != nil {
		return conformance.Breaks("transfer%s: %s", encoded, err)
	}
	if err := c.checkNotified(receiver, data, outcome.Logs); err != nil {
		return conformance.Breaks("transfer%s: %s", encoded, err)
	}
	return c.owned(c.id, to)
}

// checkNotified returns an error unless the logs show, after the event, exactly one notification of a contract about a
// token of the holder.
func (c *checker) checkNotified(receiver types.ContractID, data tokenID, logs []conformance.Log) error {
	says := func(log conformance.Log) bool { return log.Contract == receiver && log.Name == "Received" }
	first := slices.IndexFunc(logs, says)
	if first < 0 {
		return conformance.Breaks("the contract that got the token was not notified")
	}
	if slices.ContainsFunc(logs[first+1:], says) {
		return conformance.Breaks("the contract that got the token was notified twice")
	}
	moved := func(log conformance.Log) bool { return log.Contract == c.Token && log.Name == "Transfer" }
	if slices.ContainsFunc(logs[first:], moved) {
		return conformance.Breaks("the contract that got the token was notified before the event")
	}
	var got struct {
		Token, From types.Account
		Amount      uint64
		TokenID     tokenID
		Data        *tokenID
	}
	err := json.Unmarshal(logs[first].Data, &got)
	if err != nil || got.Token != types.Account(c.Token) || got.From != c.Holder || got.Amount != 1 ||
		string(got.TokenID) != string(c.id) || got.Data == nil || string(*got.Data) != string(data) {
		return conformance.Breaks("it was notified of %s, not of 1 of the holder's with the data", logs[first].Data)
	}
	return nil
}
