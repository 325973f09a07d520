package nep20

import (
	"math"

	"github.com/cairn-chain/cairn/abi"
	"github.com/cairn-chain/cairn/kit/conformance"
	"github.com/cairn-chain/cairn/types"
)

// approveOf makes an approval and checks its effect.
func (c *checker) approveOf(owner, spender types.Account, amount uint64) error {
	err := c.does(owner, "approve", object{
		"spender": spender, "amount": abi.Uint64(amount),
	}, approved(owner, spender, amount))
	if err != nil {
		return err
	}
	return c.allows(owner, spender, amount)
}

// allows checks an allowance.
func (c *checker) allows(owner, spender types.Account, want uint64) error {
	got, err := c.allowance(owner, spender)
	if err == nil && got != want {
		err = conformance.Breaks("the allowance is %d, not %d", got, want)
	}
	return err
}

func (c *checker) approve() error {
	return c.moves(nothing, func() error {
		if err := c.allows(c.Holder, c.A, 0); err != nil {
			return err
		}
		// Include more than the owner has, and a reset to zero.
		for _, amount := range []uint64{5, 3, math.MaxUint64, 0} {
			if err := c.approveOf(c.Holder, c.A, amount); err != nil {
				return err
			}
			if err := c.allows(c.A, c.Holder, 0); err != nil {
				return err
			}
		}
		return nil
	})
}

// movedFrom makes a transferFrom and checks its effect.
func (c *checker) movedFrom(spender, from, to types.Account, amount uint64) error {
	return c.does(spender, "transferFrom", object{
		"from": from, "to": to, "amount": abi.Uint64(amount),
	}, transferred(from, to, amount))
}

func (c *checker) transferFrom() error {
	if err := c.approveOf(c.Holder, c.A, 9); err != nil {
		return err
	}
	if err := c.moves(func(s *books) { s.holder -= 4; s.b += 4 }, func() error {
		return c.movedFrom(c.A, c.Holder, c.B, 4)
	}); err != nil {
		return err
	}
	if err := c.allows(c.Holder, c.A, 5); err != nil {
		return err
	}
	// A transfer to the owner keeps the balance but spends the allowance.
	if err := c.moves(nothing, func() error { return c.movedFrom(c.A, c.Holder, c.Holder, 5) }); err != nil {
		return err
	}
	if err := c.allows(c.Holder, c.A, 0); err != nil {
		return err
	}
	return c.transferOf(c.B, c.Holder, 4)
}

func (c *checker) allowanceLimits() error {
	take := func(amount uint64) object { return object{"from": c.B, "to": c.A, "amount": abi.Uint64(amount)} }
	if err := c.transferOf(c.Holder, c.B, 5); err != nil {
		return err
	}
	if err := c.moves(nothing, func() error { return c.Refuses(c.A, "transferFrom", take(1)) }); err != nil {
		return err
	}
	if err := c.approveOf(c.B, c.A, 3); err != nil {
		return err
	}
	if err := c.moves(nothing, func() error { return c.Refuses(c.A, "transferFrom", take(4)) }); err != nil {
		return err
	}
	if err := c.approveOf(c.B, c.A, math.MaxUint64); err != nil {
		return err
	}
	for _, amount := range []uint64{6, math.MaxUint64} {
		if err := c.moves(nothing, func() error { return c.Refuses(c.A, "transferFrom", take(amount)) }); err != nil {
			return err
		}
	}
	// A refused transfer must not spend the allowance.
	if err := c.allows(c.B, c.A, math.MaxUint64); err != nil {
		return err
	}
	if err := c.approveOf(c.B, c.A, 0); err != nil {
		return err
	}
	return c.transferOf(c.B, c.Holder, 5)
}

func (c *checker) allowanceOfOneself() error {
	own := object{"from": c.Holder, "to": c.A, "amount": 1}
	return c.moves(nothing, func() error { return c.Refuses(c.Holder, "transferFrom", own) })
}

func (c *checker) noInfinity() error {
	if err := c.approveOf(c.Holder, c.A, math.MaxUint64); err != nil {
		return err
	}
	if err := c.movedFrom(c.A, c.Holder, c.B, 2); err != nil {
		return err
	}
	if err := c.allows(c.Holder, c.A, math.MaxUint64-2); err != nil {
		return err
	}
	if err := c.approveOf(c.Holder, c.A, 0); err != nil {
		return err
	}
	return c.transferOf(c.B, c.Holder, 2)
}
