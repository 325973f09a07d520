package params_test

import (
	"errors"
	"math"
	"math/big"
	"slices"
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
		Version:      2,
		GasLimit:     1_000_000_000,
		BlockBytes:   20_971_520,
		TargetBPS:    5_000,
		MinBaseFee:   10,
		MaxBaseFee:   1_000_000,
		Producer:     key,
		FeeRecipient: types.Account(key),
		Admin:        types.Account(key),
		Notice:       604_800_000,
	}
	if !p.Equal(want) {
		t.Errorf("got %+v, want %+v", p, want)
	}
	if err := params.Check(p); err != nil {
		t.Error(err)
	}
}

// bounds checks each bound, at the limit and one beyond.
func bounds(t *testing.T) []bound {
	return []bound{
		{
			"smallest gas limit", func(p *types.Parameters) { p.GasLimit = 3_000_000 },
			func(p *types.Parameters) { p.GasLimit = 2_999_999 }, params.ErrGasLimit,
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
			"fewest block bytes", func(p *types.Parameters) { p.BlockBytes = 1 << 20 },
			func(p *types.Parameters) { p.BlockBytes = 1<<20 - 1 }, params.ErrBlockBytes,
		},
		{
			"most block bytes", func(p *types.Parameters) { p.BlockBytes = 1 << 25 },
			func(p *types.Parameters) { p.BlockBytes = 1<<25 + 1 }, params.ErrBlockBytes,
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
			"smallest target by its share", func(p *types.Parameters) { p.GasLimit, p.TargetBPS = 3_000_000, 34 },
			func(p *types.Parameters) { p.GasLimit, p.TargetBPS = 3_000_000, 33 }, params.ErrTarget,
		},
		{
			"smallest target by its limit", func(p *types.Parameters) { p.GasLimit, p.TargetBPS = 100_000_000, 1 },
			func(p *types.Parameters) { p.GasLimit, p.TargetBPS = 99_999_999, 1 }, params.ErrTarget,
		},
		{
			"smallest base fee", func(p *types.Parameters) { p.MinBaseFee = 1 },
			func(p *types.Parameters) { p.MinBaseFee = 0 }, params.ErrBaseFees,
		},
		{
			"order of base fees", func(p *types.Parameters) { p.MinBaseFee, p.MaxBaseFee = 50, 50 },
			func(p *types.Parameters) { p.MinBaseFee, p.MaxBaseFee = 51, 50 }, params.ErrBaseFees,
		},
		{
			"largest minimum", func(p *types.Parameters) { p.MinBaseFee, p.MaxBaseFee = 1<<40, 1<<53-1 },
			func(p *types.Parameters) { p.MinBaseFee, p.MaxBaseFee = 1<<40+1, 1<<53-1 }, params.ErrBaseFees,
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
		{
			"longest notice", func(p *types.Parameters) { p.Notice = 1 << 40 },
			func(p *types.Parameters) { p.Notice = 1<<40 + 1 }, params.ErrNotice,
		},
		{
			"last time of an upgrade", func(p *types.Parameters) { p.Upgrade = &types.Upgrade{Version: 3, From: types.MaxTime} },
			func(p *types.Parameters) { p.Upgrade = &types.Upgrade{Version: 3, From: types.MaxTime + 1} }, params.ErrUpgrade,
		},
	}
}

type bound struct {
	name      string
	good, bad func(*types.Parameters)
	want      error
}

func TestCheck(t *testing.T) {
	for _, test := range bounds(t) {
		t.Run(test.name, func(t *testing.T) {
			good, bad := params.Default(producer(t)), params.Default(producer(t))
			test.good(&good)
			if err := params.Check(good); err != nil {
				t.Errorf("%+v: error %v", good, err)
			}
			test.bad(&bad)
			if err := params.Check(bad); !errors.Is(err, test.want) {
				t.Errorf("%+v: got %v, want %v", bad, err, test.want)
			}
			if err := params.CheckChange(params.Default(producer(t)), bad, 0); !errors.Is(err, test.want) {
				t.Errorf("a change to %+v: got %v, want %v", bad, err, test.want)
			}
		})
	}
}

// Fee recipient and admin may be any 32 bytes, not only keys.
func TestCheckAccounts(t *testing.T) {
	p := params.Default(producer(t))
	p.FeeRecipient, p.Admin = types.Account{}, types.Account{}
	if err := params.Check(p); err != nil || bip340.IsXOnly(p.FeeRecipient) {
		t.Errorf("the zero account: error %v", err)
	}
}

func TestCheckChange(t *testing.T) {
	const now, notice = 1_000_000, 500
	upgrade := func(version uint32, from uint64) *types.Upgrade { return &types.Upgrade{Version: version, From: from} }
	for _, test := range []struct {
		name          string
		present, next *types.Upgrade
		notice        uint64 // of next
		want          error
	}{
		{"nothing", nil, nil, notice, nil},
		{"a longer notice", nil, nil, notice + 1, nil},
		{"a shorter notice", nil, nil, notice - 1, params.ErrNotice},
		{"announced in time", nil, upgrade(3, now+notice), notice, nil},
		{"announced late", nil, upgrade(3, now+notice-1), notice, params.ErrUpgrade},
		{"announced for the past", nil, upgrade(3, now-1), notice, params.ErrUpgrade},
		{"announced by the old notice", nil, upgrade(3, now+notice), notice + 1, params.ErrUpgrade},
		{"announced by the new notice", nil, upgrade(3, now+notice+1), notice + 1, nil},
		{"the version in force", nil, upgrade(2, now+notice), notice, params.ErrUpgrade},
		{"two versions on", nil, upgrade(4, now+notice), notice, params.ErrUpgrade},
		{"version 0", nil, upgrade(0, now+notice), notice, params.ErrUpgrade},
		{"cancelled", upgrade(3, now+1), nil, notice, nil},
		{"kept", upgrade(3, now+1), upgrade(3, now+1), notice, nil},
		{"kept, with a longer notice", upgrade(3, now+1), upgrade(3, now+1), notice + 1, nil},
		{"brought forward", upgrade(3, now+notice+5), upgrade(3, now+notice-1), notice, params.ErrUpgrade},
		{"brought forward in time", upgrade(3, now+notice+5), upgrade(3, now+notice), notice, nil},
		{"put off", upgrade(3, now+1), upgrade(3, now+notice), notice, nil},
		{"put off for a moment", upgrade(3, now+1), upgrade(3, now+2), notice, params.ErrUpgrade},
		{"announced by an override, kept", upgrade(9, now+1), upgrade(9, now+1), notice, nil},
		{"after its time", upgrade(3, now), upgrade(3, now), notice, params.ErrVersion},
		{"cancelled after its time", upgrade(3, now), nil, notice, params.ErrVersion},
	} {
		t.Run(test.name, func(t *testing.T) {
			present, next := params.Default(producer(t)), params.Default(producer(t))
			present.Notice, present.Upgrade = notice, test.present
			next.Notice, next.Upgrade = test.notice, test.next
			if err := params.CheckChange(present, next, now); !errors.Is(err, test.want) {
				t.Errorf("got %v, want %v", err, test.want)
			}
		})
	}
	for _, version := range []uint32{0, 1, 3} {
		present, next := params.Default(producer(t)), params.Default(producer(t))
		next.Version = version
		if err := params.CheckChange(present, next, now); !errors.Is(err, params.ErrVersion) {
			t.Errorf("version %d: got %v, want %v", version, err, params.ErrVersion)
		}
	}
}

// An upgrade at the last possible time, with the longest notice, causes no overflow.
func TestCheckChangeAtTheEnds(t *testing.T) {
	present, next := params.Default(producer(t)), params.Default(producer(t))
	next.Notice, next.Upgrade = params.MaxNotice, &types.Upgrade{Version: 3, From: types.MaxTime}
	for at, want := range map[uint64]error{
		0: nil, types.MaxTime - params.MaxNotice: nil, types.MaxTime - params.MaxNotice + 1: params.ErrUpgrade,
		types.MaxTime: params.ErrVersion,
	} {
		present.Upgrade = nil
		if at == types.MaxTime { // announced earlier, it is in force
			present.Upgrade = next.Upgrade
		}
		if err := params.CheckChange(present, next, at); !errors.Is(err, want) {
			t.Errorf("at %d: got %v, want %v", at, err, want)
		}
	}
}

func TestKnown(t *testing.T) {
	known := func(want map[uint32]bool) {
		t.Helper()
		for version, want := range want {
			if params.Known(version) != want {
				t.Errorf("version %d: known is %v", version, !want)
			}
		}
	}
	known(map[uint32]bool{0: false, 1: false, 2: true, 3: false, math.MaxUint32: false})
	learnt, forget := params.Learn()
	if learnt != 3 || !slices.Equal(params.Versions(), []uint32{2, 3}) {
		t.Errorf("learnt %d, known are %d", learnt, params.Versions())
	}
	known(map[uint32]bool{1: false, 2: true, 3: true, 4: false})
	forget()
	known(map[uint32]bool{1: false, 2: true, 3: false})
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
