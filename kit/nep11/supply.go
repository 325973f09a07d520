package nep11

import "github.com/cairn-chain/cairn/kit/conformance"

func (c *checker) mint() error {
	if !c.has("mint(to account, tokenId bytes, properties string)") {
		return conformance.NotTested("the contract has no mint(to account, tokenId bytes, properties string)")
	}
	args := func(id tokenID) object {
		return object{"to": c.Holder, "tokenId": id, "properties": `{"name":"a token of the check"}`}
	}
	if err := c.moves(nothing, func() error { return c.Refuses(c.A, "mint", args(testID)) }); err != nil {
		return err
	}
	before, err := c.books()
	if err != nil {
		return err
	}
	outcome, encoded, err := c.Send(c.Holder, "mint", args(testID))
	if err != nil {
		return err
	}
	if !outcome.OK {
		return conformance.NotTested("the holder may not mint: " + outcome.Why())
	}
	c.minted = true
	if err := (transfer{zero, c.Holder, testID}).only(c.Token, outcome.Logs); err != nil {
		return conformance.Breaks("mint%s: %s", encoded, err)
	}
	after, err := c.books()
	if err != nil {
		return err
	}
	if after.supply != before.supply+1 || after.holder != before.holder+1 {
		return conformance.Breaks("after a mint there are %d tokens, and were %d; the holder has %d, and had %d",
			after.supply, before.supply, after.holder, before.holder)
	}
	return c.moves(nothing, func() error {
		for _, id := range []tokenID{testID, {}, tooLongID} {
			if err := c.Refuses(c.Holder, "mint", args(id)); err != nil {
				return err
			}
		}
		return c.owned(testID, c.Holder)
	})
}

func (c *checker) zeroAccount() error {
	if !c.minted {
		return conformance.NotTested("the holder may not mint a token that could be lost by it")
	}
	gone := false
	return c.moves(func(s *books) {
		if gone {
			s.holder, s.supply = s.holder-1, s.supply-1
		}
	}, func() error {
		outcome, encoded, err := c.Send(c.Holder, "transfer", object{"to": zero, "tokenId": testID})
		if err != nil {
			return err
		}
		if !outcome.OK {
			return conformance.Refused("transfer", encoded, outcome)
		}
		gone, c.minted = true, false
		if err := (transfer{c.Holder, zero, testID}).only(c.Token, outcome.Logs); err != nil {
			return conformance.Breaks("transfer%s: %s", encoded, err)
		}
		return c.unknown(testID)
	})
}

func (c *checker) burn() error {
	switch {
	case !c.has("burn(tokenId bytes)"):
		return conformance.NotTested("the contract has no burn(tokenId bytes)")
	case !c.minted:
		return conformance.NotTested("the holder may not mint a token to burn")
	}
	if err := c.moves(nothing, func() error { return c.Refuses(c.A, "burn", object{"tokenId": testID}) }); err != nil {
		return err
	}
	return c.moves(func(s *books) { s.supply--; s.holder-- }, func() error {
		if err := c.does(c.Holder, "burn", object{"tokenId": testID}, transfer{c.Holder, zero, testID}); err != nil {
			return err
		}
		c.minted = false
		return c.unknown(testID)
	})
}
