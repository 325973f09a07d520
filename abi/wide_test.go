package abi

import (
	"errors"
	"math/big"
	"testing"
)

func TestWideIntegers(t *testing.T) {
	for _, text := range []string{
		"0", "1", "18446744073709551615", "18446744073709551616", "170141183460469231731687303715884105727",
	} {
		v, _ := new(big.Int).SetString(text, 10)
		u, err := Uint128Of(v)
		if err != nil || u.String() != text {
			t.Errorf("%s is %s, error %v", text, u, err)
		}
		for _, v := range []*big.Int{v, new(big.Int).Neg(v), new(big.Int).Not(v)} {
			if i, err := Int128Of(v); err != nil || i.Big().Cmp(v) != 0 {
				t.Errorf("%s is %s, error %v, want Cmp 0", v, i, err)
			}
		}
	}
	over := new(big.Int).Lsh(big.NewInt(1), 128)
	for _, v := range []*big.Int{nil, over, big.NewInt(-1)} {
		if u, err := Uint128Of(v); !errors.Is(err, ErrArgument) {
			t.Errorf("%v is %s", v, u)
		}
	}
	half := new(big.Int).Lsh(big.NewInt(1), 127)
	for _, v := range []*big.Int{nil, half, new(big.Int).Sub(new(big.Int).Neg(half), big.NewInt(1))} {
		if i, err := Int128Of(v); !errors.Is(err, ErrArgument) {
			t.Errorf("%v is %s", v, i)
		}
	}
}
