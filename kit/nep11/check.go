// Package nep11 tests a deployed contract against NEP-11, the standard of non-fungible tokens, in its form for
// indivisible tokens (docs/contracts.md, "Tokens of one each"). It only makes calls, and is independent of the
// contract's implementation.
package nep11

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"

	"github.com/cairn-chain/cairn/abi"
	"github.com/cairn-chain/cairn/kit/conformance"
	"github.com/cairn-chain/cairn/types"
)

// zero is the sender of mints and the recipient of burns.
var zero types.Account

// tokenID encodes as bytes in arguments and results.
type tokenID []byte

func (id tokenID) MarshalText() ([]byte, error) { return []byte("0x" + hex.EncodeToString(id)), nil }

func (id *tokenID) UnmarshalText(text []byte) error {
	digits, ok := bytes.CutPrefix(text, []byte("0x"))
	decoded, err := hex.DecodeString(string(digits))
	if !ok || err != nil {
		return errors.New("not bytes in hex")
	}
	*id = decoded
	return nil
}

// IDs that no contract should use. The check mints a token of the first ID if it may.
var (
	testID    = tokenID("cairn: a token of the check")
	unknownID = tokenID("cairn: no such token")
	tooLongID = tokenID(bytes.Repeat([]byte{7}, 65))
)

// errNoToken is returned if the holder has no token.
var errNoToken = errors.New("the holder has no token to test with")

// checker is a check in progress.
type checker struct {
	conformance.Accounts
	*conformance.Calls
	id     tokenID // one of the holder's tokens
	minted bool    // whether the holder has testID
}

type object = conformance.Object

// rule is a requirement of the standard.
type rule struct {
	Name, Says string
	Test       func(*checker) error
}

// Check tests a contract, rule by rule. Holder must own a token, and A and B none; the check returns the tokens that it
// moves. notify, which may be nil, is called with each result. A contract that violates rules is not an error.
func Check(
	ctx context.Context, chain conformance.Chain, contract types.ContractID, accounts conformance.Accounts,
	notify func(conformance.Result),
) (conformance.Report, error) {
	calls, err := conformance.NewCalls(ctx, chain, contract)
	if err != nil {
		return conformance.Report{Token: contract}, err
	}
	return conformance.Run(contract, rules, &checker{Accounts: accounts, Calls: calls}, notify)
}

// books holds the supply and balances that the contract reports.
type books struct{ supply, holder, a, b uint64 }

func (c *checker) books() (s books, err error) {
	supply, err := conformance.View[abi.Uint64](c.Calls, "totalSupply", nil)
	if err != nil {
		return s, err
	}
	s.supply = uint64(supply)
	for owner, to := range map[types.Account]*uint64{c.Holder: &s.holder, c.A: &s.a, c.B: &s.b} {
		balance, err := conformance.View[abi.Uint64](c.Calls, "balanceOf", object{"owner": owner})
		if err != nil {
			return s, err
		}
		*to = uint64(balance)
	}
	return s, nil
}

// moves runs an operation and checks that it changes the books as want does.
func (c *checker) moves(want func(*books), operation func() error) error {
	before, err := c.books()
	if err != nil {
		return err
	}
	if err := operation(); err != nil {
		return err
	}
	after, err := c.books()
	if err != nil {
		return err
	}
	if want(&before); after != before {
		return conformance.Breaks(
			"after it there are %d tokens, of which holder, A and B have %d, %d, %d; not %d: %d, %d, %d",
			after.supply, after.holder, after.a, after.b, before.supply, before.holder, before.a, before.b,
		)
	}
	return nil
}

func nothing(*books) {}

// owned checks a token's owner, also in the owner's list.
func (c *checker) owned(id tokenID, want types.Account) error {
	owner, err := conformance.View[types.Account](c.Calls, "ownerOf", object{"tokenId": id})
	if err != nil {
		return err
	}
	if owner != want {
		return conformance.Breaks("ownerOf says %s, not %s", owner, want)
	}
	return nil
}

// unknown checks that a contract has no record of a token.
func (c *checker) unknown(id tokenID) error {
	args, err := json.Marshal(object{"tokenId": id})
	if err != nil {
		return err
	}
	outcome, err := c.Chain.View(c.Ctx, "ownerOf", args)
	if err != nil {
		return err
	}
	return conformance.Refused("ownerOf", args, outcome)
}

// does calls a function that must succeed and emit exactly one Transfer.
func (c *checker) does(from types.Account, function string, args object, event transfer) error {
	outcome, encoded, err := c.Send(from, function, args)
	switch {
	case err != nil:
		return err
	case !outcome.OK:
		return conformance.Breaks("%s%s failed: %s", function, encoded, outcome.Why())
	case function == "transfer" && string(outcome.Output) != "true":
		return conformance.Breaks("%s%s returned %q, not true", function, encoded, outcome.Output)
	}
	if err := event.only(c.Token, outcome.Logs); err != nil {
		return conformance.Breaks("%s%s: %s", function, encoded, err)
	}
	return nil
}

// move transfers a token from its owner to another account, by a call of the account by.
func (c *checker) move(by, from, to types.Account, id tokenID) error {
	if err := c.does(by, "transfer", object{"to": to, "tokenId": id}, transfer{from, to, id}); err != nil {
		return err
	}
	return c.owned(id, to)
}

// transfer is the event of a token transfer.
type transfer struct {
	from, to types.Account
	id       tokenID
}

// only returns an error unless logs contain exactly this event of the contract. It ignores events of other contracts
// and names.
func (e transfer) only(contract types.ContractID, logs []conformance.Log) error {
	var seen []conformance.Log
	for _, log := range logs {
		if log.Contract == contract && log.Name == "Transfer" {
			seen = append(seen, log)
		}
	}
	if len(seen) != 1 {
		return conformance.Breaks("it must emit one Transfer, and emitted %d", len(seen))
	}
	var got struct {
		From, To types.Account
		Amount   uint64
		TokenID  tokenID
	}
	if err := json.Unmarshal(seen[0].Data, &got); err != nil || got.From != e.from || got.To != e.to || got.Amount != 1 ||
		!bytes.Equal(got.TokenID, e.id) {
		return conformance.Breaks("the event is %s, not of 1 from %s to %s", seen[0].Data, e.from, e.to)
	}
	var one types.Digest
	binary.BigEndian.PutUint64(one[24:], 1)
	want := []types.Digest{types.Digest(e.from), types.Digest(e.to), one}
	for i := range want {
		if len(seen[0].Topics) < len(want) || seen[0].Topics[i] != want[i] {
			return conformance.Breaks("the topics of the event are %v, not from, to and 1", seen[0].Topics)
		}
	}
	return nil
}
