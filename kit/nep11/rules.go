package nep11

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/cairn-chain/cairn/abi"
	"github.com/cairn-chain/cairn/kit/conformance"
	"github.com/cairn-chain/cairn/types"
)

// maxPage is the greatest length of a page of tokens.
const maxPage = 100

// rules lists the rules in test order: later ones rely on earlier ones.
var rules = []rule{
	{"interface", "the ABI declares the nine functions and the event of the standard", (*checker).declares},
	{"metadata", "symbol is a string, and decimals is 0: a token cannot be divided", (*checker).metadata},
	{"balances", "balanceOf and totalSupply are u64; an account that never had tokens has 0", (*checker).balances},
	{
		"lists", "tokens and tokensOf give each token once, as many as there are, in pages of at most 100",
		(*checker).lists,
	},
	{"properties", "properties are the JSON of an object with a name", (*checker).properties},
	{"unknown_token", "ownerOf reverts for a token that is not there, and for IDs of 0 and 65 bytes", (*checker).unknowns},
	{"arguments", "arguments that are missing, unknown or malformed revert with a reason", (*checker).arguments},
	{"transfer", "the owner moves a token: it returns true and emits Transfer with the amount 1", (*checker).transfer},
	{"transfer_with_data", "a transfer takes bytes for who gets the token", (*checker).transferWithData},
	{"transfer_to_oneself", "a transfer to oneself is one, and changes nothing", (*checker).transferToOneself},
	{"not_the_owner", "who neither owns a token nor is approved for it cannot move it", (*checker).notTheOwner},
	{"no_such_token", "a transfer of a token that is not there reverts with a reason", (*checker).noSuchToken},
	{"view_context", "transfer does not work in view context", (*checker).viewContext},
	{"approve", "who is approved moves the token once; the approval ends with any transfer", (*checker).approve},
	{
		"mint", "a new token comes from the zero account; there are no two of one ID, and IDs have 1 to 64 bytes",
		(*checker).mint,
	},
	{"zero_account", "a transfer to the zero account is refused, or is a burn", (*checker).zeroAccount},
	{"burn", "only the owner burns a token, which is gone then", (*checker).burn},
	{
		"payment", "a contract with onNEP11Payment is notified of what it gets, once, after the event, and may refuse",
		(*checker).payment,
	},
}

// standard lists the mandatory functions.
var standard = []string{
	"symbol() string", "decimals() u32", "totalSupply() u64", "balanceOf(owner account) u64",
	"ownerOf(tokenId bytes) account", "properties(tokenId bytes) string", "tokens(start u32, count u32) bytes[]",
	"tokensOf(owner account, start u32, count u32) bytes[]", "transfer(to account, tokenId bytes, data bytes?) bool",
}

const standardEvent = "Transfer(from account, to account, amount u64, tokenId bytes)"

func (c *checker) declares() error {
	if c.ABI == nil {
		return conformance.Breaks("the contract carries no ABI (custom section %s)", abi.Section)
	}
	var wrong []string
	for _, want := range standard {
		name, _, _ := strings.Cut(want, "(")
		mode := abi.Read
		if name == "transfer" {
			mode = abi.Write
		}
		f, ok := c.ABI.Function(name)
		switch {
		case !ok:
			wrong = append(wrong, "there is no "+want)
		case f.String() != want:
			wrong = append(wrong, f.String()+" should be "+want)
		case f.Mode != mode:
			wrong = append(wrong, name+" should have the mode "+string(mode))
		}
	}
	if e, ok := c.ABI.Event("Transfer"); !ok || e.String() != standardEvent {
		wrong = append(wrong, "the event "+standardEvent+" is not declared so")
	}
	if len(wrong) > 0 {
		return conformance.Breaks("%s", strings.Join(wrong, "; "))
	}
	return nil
}

func (c *checker) metadata() error {
	if _, err := conformance.View[string](c.Calls, "symbol", nil); err != nil {
		return err
	}
	decimals, err := conformance.View[uint32](c.Calls, "decimals", nil)
	if err == nil && decimals != 0 {
		err = conformance.Breaks("decimals is %d", decimals)
	}
	return err
}

func (c *checker) balances() error {
	s, err := c.books()
	switch {
	case err != nil:
		return err
	case s.a != 0 || s.b != 0:
		return conformance.Breaks("new accounts have %d and %d tokens", s.a, s.b)
	case s.holder > s.supply:
		return conformance.Breaks("the holder has %d tokens, and there are %d in all", s.holder, s.supply)
	}
	return nil
}

// list requests a page of all tokens, or of an owner's tokens.
func (c *checker) list(owner *types.Account, start, count uint64) ([]tokenID, error) {
	args, function := object{"start": start, "count": count}, "tokens"
	if owner != nil {
		args["owner"], function = owner, "tokensOf"
	}
	page, err := conformance.View[[]tokenID](c.Calls, function, args)
	if err == nil && len(page) > int(min(count, maxPage)) {
		err = conformance.Breaks("%s gives %d tokens where %d were asked for", function, len(page), count)
	}
	return page, err
}

func (c *checker) lists() error {
	s, err := c.books()
	if err != nil {
		return err
	}
	for _, l := range []struct {
		owner *types.Account
		size  uint64
	}{{nil, s.supply}, {&c.Holder, s.holder}, {&c.A, 0}} {
		page, err := c.list(l.owner, 0, 2*maxPage)
		if err != nil {
			return err
		}
		if uint64(len(page)) != min(l.size, maxPage) {
			return conformance.Breaks("a list of %d tokens begins with %d", l.size, len(page))
		}
		for i, id := range page {
			if slices.ContainsFunc(page[:i], func(other tokenID) bool { return string(other) == string(id) }) {
				return conformance.Breaks("the token %x is twice in a list", []byte(id))
			}
		}
		if beyond, err := c.list(l.owner, l.size, 1); err != nil || len(beyond) > 0 {
			return orBreaks(err, "behind its end a list has tokens")
		}
		if len(page) < 2 {
			continue
		}
		if second, err := c.list(l.owner, 1, 1); err != nil || len(second) != 1 || string(second[0]) != string(page[1]) {
			return orBreaks(err, "a page that begins at 1 does not begin with the second token")
		}
	}
	own, err := c.list(&c.Holder, 0, 1)
	if err != nil {
		return err
	}
	if len(own) == 0 {
		return errNoToken
	}
	c.id = own[0]
	return c.owned(c.id, c.Holder)
}

// orBreaks returns err, or a violation if err is nil.
func orBreaks(err error, what string) error {
	if err != nil {
		return err
	}
	return conformance.Breaks("%s", what)
}

func (c *checker) properties() error {
	text, err := conformance.View[string](c.Calls, "properties", object{"tokenId": c.id})
	if err != nil {
		return err
	}
	var object struct {
		Name *string `json:"name"`
	}
	if err := json.Unmarshal([]byte(text), &object); err != nil || object.Name == nil {
		return conformance.Breaks("the properties are %q", text)
	}
	return nil
}

func (c *checker) unknowns() error {
	for _, id := range []tokenID{unknownID, {}, tooLongID} {
		if err := c.unknown(id); err != nil {
			return err
		}
	}
	return nil
}

func (c *checker) arguments() error {
	id, err := c.id.MarshalText()
	if err != nil {
		return err
	}
	for _, args := range []string{
		``, `{}`, `[]`, `{`, `{"to":"TO"}`, `{"tokenId":"ID"}`, `{"to":"0x01","tokenId":"ID"}`,
		`{"to":"TO","tokenId":1}`, `{"to":"TO","tokenId":"xyz"}`, `{"to":"TO","tokenId":"ID","more":1}`,
		`{"to":"TO","tokenId":"ID","data":5}`, `{"to":"TO","tokenId":"ID","tokenId":"ID"}`, `{"to":"TO","tokenId":"ID"}x`,
	} {
		args = strings.NewReplacer("TO", c.A.String(), "ID", string(id)).Replace(args)
		outcome, err := c.Chain.Send(c.Ctx, c.Holder, "transfer", []byte(args))
		if err != nil {
			return err
		}
		if err := conformance.Refused("transfer", []byte(args), outcome); err != nil {
			return err
		}
	}
	return nil
}

func (c *checker) transfer() error {
	err := c.moves(func(s *books) { s.holder--; s.a++ }, func() error { return c.move(c.Holder, c.Holder, c.A, c.id) })
	if err != nil {
		return err
	}
	if page, err := c.list(&c.A, 0, 2); err != nil || len(page) != 1 || string(page[0]) != string(c.id) {
		return orBreaks(err, "the token is not the only one in the list of who got it")
	}
	return c.moves(func(s *books) { s.holder++; s.a-- }, func() error { return c.move(c.A, c.A, c.Holder, c.id) })
}

func (c *checker) transferWithData() error {
	return c.moves(nothing, func() error {
		for _, way := range [][2]types.Account{{c.Holder, c.A}, {c.A, c.Holder}} {
			args := object{"to": way[1], "tokenId": c.id, "data": "0x0102"}
			if err := c.does(way[0], "transfer", args, transfer{way[0], way[1], c.id}); err != nil {
				return err
			}
		}
		return nil
	})
}

func (c *checker) transferToOneself() error {
	return c.moves(nothing, func() error { return c.move(c.Holder, c.Holder, c.Holder, c.id) })
}

func (c *checker) notTheOwner() error {
	return c.moves(nothing, func() error {
		for _, to := range []types.Account{c.A, c.B, c.Holder} {
			if err := c.Refuses(c.A, "transfer", object{"to": to, "tokenId": c.id}); err != nil {
				return err
			}
		}
		return c.owned(c.id, c.Holder)
	})
}

func (c *checker) noSuchToken() error {
	return c.moves(nothing, func() error {
		for _, id := range []tokenID{unknownID, {}, tooLongID} {
			if err := c.Refuses(c.Holder, "transfer", object{"to": c.A, "tokenId": id}); err != nil {
				return err
			}
		}
		return nil
	})
}

func (c *checker) viewContext() error {
	args, err := json.Marshal(object{"to": c.A, "tokenId": c.id})
	if err != nil {
		return err
	}
	outcome, err := c.Chain.View(c.Ctx, "transfer", args)
	if err == nil && outcome.OK {
		err = conformance.Breaks("a view call of transfer succeeded")
	}
	return err
}

// has reports whether the contract declares an optional function.
func (c *checker) has(want string) bool {
	name, _, _ := strings.Cut(want, "(")
	if c.ABI == nil {
		return false
	}
	f, ok := c.ABI.Function(name)
	return ok && strings.HasPrefix(f.String(), want)
}

func (c *checker) approve() error {
	if !c.has("approve(to account?, tokenId bytes)") {
		return conformance.NotTested("the contract has no approve(to account?, tokenId bytes)")
	}
	if err := c.Refuses(c.A, "approve", object{"to": c.A, "tokenId": c.id}); err != nil {
		return err
	}
	outcome, encoded, err := c.Send(c.Holder, "approve", object{"to": c.A, "tokenId": c.id})
	if err != nil {
		return err
	}
	if !outcome.OK {
		return conformance.Breaks("approve%s failed: %s", encoded, outcome.Why())
	}
	err = c.moves(func(s *books) { s.holder--; s.b++ }, func() error { return c.move(c.A, c.Holder, c.B, c.id) })
	if err != nil {
		return err
	}
	return c.moves(func(s *books) { s.holder++; s.b-- }, func() error {
		if err := c.Refuses(c.A, "transfer", object{"to": c.A, "tokenId": c.id}); err != nil {
			return err
		}
		if err := c.move(c.B, c.B, c.Holder, c.id); err != nil {
			return err
		}
		return c.Refuses(c.A, "transfer", object{"to": c.A, "tokenId": c.id})
	})
}
