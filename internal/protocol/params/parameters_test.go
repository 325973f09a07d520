package params_test

import (
	"errors"
	"math"
	"math/big"
	"testing"

	"github.com/cairn-chain/cairn/crypto/bip340"
	"github.com/cairn-chain/cairn/internal/protocol/params"
	"github.com/cairn-chain/cairn/types"
	"pgregory.net/rapid"
)

// producer is the x coordinate of secp256k1's generator.
func producer(t rapid.TB) types.PublicKey {
	t.Helper()
	key, err := types.ParseBytes32[types.PublicKey]("79be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798")
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// modulusPlusOne is 1, an x coordinate of the curve, with the field's modulus added.
func modulusPlusOne(t *testing.T) types.PublicKey {
	t.Helper()
	key, err := types.ParseBytes32[types.PublicKey]("fffffffffffffffffffffffffffffffffffffffffffffffffffffffefffffc30")
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func TestDefault(t *testing.T) {
	key := producer(t)
	p := params.Default(key)
	want := types.Parameters{
		Version:      1,
		GasLimit:     1_000_000_000,
		TargetBPS:    5_000,
		MinBaseFee:   10,
		MaxBaseFee:   1_000_000,
		Producer:     key,
		FeeRecipient: types.Account(key),
	}
	if p != want {
		t.Errorf("got %+v, want %+v", p, want)
	}
	if err := params.Check(p); err != nil {
		t.Error(err)
	}
}

// Each bound, at its edge and one beyond.
func TestCheck(t *testing.T) {
	tests := []struct {
		name      string
		good, bad func(*types.Parameters)
		want      error
	}{
		{
			"smallest gas limit", func(p *types.Parameters) { p.GasLimit = 1_000_000 },
			func(p *types.Parameters) { p.GasLimit = 999_999 }, params.ErrGasLimit,
		},
		{
			"largest gas limit", func(p *types.Parameters) { p.GasLimit = 1 << 40 },
			func(p *types.Parameters) { p.GasLimit = 1<<40 + 1 }, params.ErrGasLimit,
		},
		{
			"gas limit of all bits", func(*types.Parameters) {},
			func(p *types.Parameters) { p.GasLimit, p.TargetBPS = math.MaxUint64, math.MaxUint16 }, params.ErrGasLimit,
		},
		{
			"smallest share", func(p *types.Parameters) { p.TargetBPS = 1 },
			func(p *types.Parameters) { p.TargetBPS = 0 }, params.ErrTarget,
		},
		{
			"largest share", func(p *types.Parameters) { p.TargetBPS = 9_999 },
			func(p *types.Parameters) { p.TargetBPS = 10_000 }, params.ErrTarget,
		},
		{
			"smallest target by its share", func(p *types.Parameters) { p.GasLimit, p.TargetBPS = 1_000_000, 210 },
			func(p *types.Parameters) { p.GasLimit, p.TargetBPS = 1_000_000, 209 }, params.ErrTarget,
		},
		{
			"smallest target by its limit", func(p *types.Parameters) { p.GasLimit, p.TargetBPS = 210_000_000, 1 },
			func(p *types.Parameters) { p.GasLimit, p.TargetBPS = 209_999_999, 1 }, params.ErrTarget,
		},
		{
			"smallest base fee", func(p *types.Parameters) { p.MinBaseFee = 8 },
			func(p *types.Parameters) { p.MinBaseFee = 7 }, params.ErrBaseFees,
		},
		{
			"order of base fees", func(p *types.Parameters) { p.MinBaseFee, p.MaxBaseFee = 50, 50 },
			func(p *types.Parameters) { p.MinBaseFee, p.MaxBaseFee = 51, 50 }, params.ErrBaseFees,
		},
		{
			"largest base fee", func(p *types.Parameters) { p.MaxBaseFee = 1<<53 - 1 },
			func(p *types.Parameters) { p.MaxBaseFee = 1 << 53 }, params.ErrBaseFees,
		},
		{
			"producer on the curve", func(*types.Parameters) {},
			func(p *types.Parameters) { p.Producer = types.PublicKey{} }, params.ErrProducer,
		},
		{
			"producer below the field's modulus", func(p *types.Parameters) { p.Producer = types.PublicKey{31: 1} },
			func(p *types.Parameters) { p.Producer = modulusPlusOne(t) }, params.ErrProducer,
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			good, bad := params.Default(producer(t)), params.Default(producer(t))
			test.good(&good)
			if err := params.Check(good); err != nil {
				t.Errorf("%+v: %v", good, err)
			}
			test.bad(&bad)
			if err := params.Check(bad); !errors.Is(err, test.want) {
				t.Errorf("%+v: got %v, want %v", bad, err, test.want)
			}
		})
	}
}

// The recipient of fees may be anything, also what is no key.
func TestCheckFeeRecipient(t *testing.T) {
	p := params.Default(producer(t))
	p.FeeRecipient = types.Account{}
	if err := params.Check(p); err != nil || bip340.IsXOnly(p.FeeRecipient) {
		t.Errorf("the zero account as recipient: %v", err)
	}
}

func TestCheckChange(t *testing.T) {
	tests := []struct {
		present, next uint32
		want          error
	}{
		{1, 1, nil},
		{1, 2, nil},
		{2, 3, nil},
		{1, 0, params.ErrVersion},
		{1, 3, params.ErrVersion},
		{2, 1, params.ErrVersion},
		{math.MaxUint32 - 1, math.MaxUint32, nil},
		{math.MaxUint32, 0, params.ErrVersion},
	}
	for _, test := range tests {
		present, next := params.Default(producer(t)), params.Default(producer(t))
		present.Version, next.Version = test.present, test.next
		if err := params.CheckChange(present, next); !errors.Is(err, test.want) {
			t.Errorf("%d after %d: got %v, want %v", test.next, test.present, err, test.want)
		}
		next.GasLimit = 0
		if err := params.CheckChange(present, next); err == nil {
			t.Error("a change to parameters that are not valid is allowed")
		}
	}
}

func TestKnown(t *testing.T) {
	for version, want := range map[uint32]bool{0: false, 1: true, 2: false, math.MaxUint32: false} {
		if params.Known(version) != want {
			t.Errorf("version %d: known is %v", version, !want)
		}
	}
}

func TestTarget(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.Uint64().Draw(t, "gas limit")
		bps := rapid.Uint16Range(0, 9_999).Draw(t, "target_bps")
		want := new(big.Int).SetUint64(limit)
		want.Mul(want, big.NewInt(int64(bps))).Div(want, big.NewInt(10_000))
		if got := params.Target(types.Gas(limit), bps); uint64(got) != want.Uint64() || !want.IsUint64() {
			t.Fatalf("%d × %d bps: got %d, want %d", limit, bps, got, want)
		}
	})
}
