package exec

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/cairn-chain/cairn/internal/protocol/fees"
	"github.com/cairn-chain/cairn/internal/protocol/params"
	"github.com/cairn-chain/cairn/internal/protocol/state"
	"github.com/cairn-chain/cairn/types"
)

// execute executes a block's transactions in order on the parent's state. header has the timestamp, and the expected
// result: every field but the state root must equal the derived one. p are the parameters in the parent's state. The
// signature is not checked here.
func execute(p types.Parameters, parent types.Header, reader state.Reader, header types.Header,
	txs []*types.VerifiedTx, machine Machine) (Result, error) {
	template, err := HeaderTemplate(parent, p, header.Timestamp)
	if err != nil {
		return Result{}, err
	}
	run := Begin(types.Regtest, p, reader, template, machine)
	for i, tx := range txs {
		if _, err := run.Apply(tx); err != nil {
			return Result{}, fmt.Errorf("transaction %d: %w", i, err)
		}
	}
	result, err := run.Finish()
	if err != nil {
		return Result{}, err
	}
	header.StateRoot = result.Header.StateRoot // the root, which only the state tree can derive
	return result, CheckHeader(header, result.Header)
}

// TestExecuteDerivesTheHeader corrupts each field of a valid header in turn.
func TestExecuteDerivesTheHeader(t *testing.T) {
	c := newTestChain(t)
	parent, p := c.head, c.params
	committed := mapState{}
	for k, v := range c.state {
		committed[k] = v
	}
	txs := []*types.VerifiedTx{c.transfer(alice), c.transfer(bob)}
	built := c.block(txs...)
	for _, tc := range []struct {
		name string
		edit func(*types.Header)
		want string
	}{
		{"valid", func(*types.Header) {}, ""},
		{"the state root is the tree's", func(h *types.Header) { h.StateRoot[0]++ }, ""},
		{"version", func(h *types.Header) { h.Version++ }, "version"},
		{"chain", func(h *types.Header) { h.ChainID++ }, "chain_id"},
		{"height", func(h *types.Header) { h.Height++ }, "height"},
		{"parent", func(h *types.Header) { h.Parent[0]++ }, "parent"},
		{"timestamp", func(h *types.Header) { h.Timestamp = parent.Timestamp - 1 }, "timestamp"},
		{"producer", func(h *types.Header) { h.Producer[0]++ }, "producer"},
		{"transactions_root", func(h *types.Header) { h.TransactionsRoot[0]++ }, "transactions_root"},
		{"receipts_root", func(h *types.Header) { h.ReceiptsRoot[0]++ }, "receipts_root"},
		{"gas_used", func(h *types.Header) { h.GasUsed++ }, "gas_used"},
		{"gas_limit", func(h *types.Header) { h.GasLimit++ }, "gas_limit"},
		{"base_fee", func(h *types.Header) { h.BaseFee++ }, "base_fee"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			header := built.Header
			tc.edit(&header)
			result, err := execute(p, parent, committed, header, txs, Machine{})
			if tc.want == "" {
				if err != nil || !reflect.DeepEqual(result, built) {
					t.Errorf("executing again gives %+v, error %v", result, err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want an error that names %s", err, tc.want)
			}
		})
	}
	if _, err := execute(p, parent, committed, built.Header, txs[:1], Machine{}); !errors.Is(err, ErrHeader) {
		t.Errorf("a transaction left out: error %v, want %v", err, ErrHeader)
	}
	if _, err := execute(p, parent, committed, built.Header, []*types.VerifiedTx{
		txs[1], txs[0],
	}, Machine{}); !errors.Is(err, ErrHeader) {
		t.Errorf("another order: error %v", err)
	}
	if _, err := execute(
		p, parent, committed, built.Header, append(txs, txs[0]), Machine{},
	); !errors.Is(err, ErrNonceTooLow) {
		t.Errorf("a transaction twice: error %v", err)
	}
}

func TestSeedRefuses(t *testing.T) {
	c := newTestChain(t)
	if _, err := HeaderTemplate(c.head, c.params, c.head.Timestamp-1); !errors.Is(err, ErrTimestamp) {
		t.Errorf("time before the parent's: error %v, want %v", err, ErrTimestamp)
	}
	if _, err := HeaderTemplate(c.head, c.params, c.head.Timestamp); err != nil {
		t.Errorf("the parent's time: error %v", err)
	}
	if _, err := HeaderTemplate(c.head, c.params, types.MaxTime); err != nil {
		t.Errorf("the end of the year 9999: error %v", err)
	}
	if _, err := HeaderTemplate(c.head, c.params, types.MaxTime+1); !errors.Is(err, ErrTimestamp) {
		t.Errorf("time after the year 9999: error %v, want %v", err, ErrTimestamp)
	}
	from := c.head.Timestamp + 5
	c.params.Upgrade = &types.Upgrade{Version: 9, From: from}
	if h, err := HeaderTemplate(c.head, c.params, from-1); err != nil || h.Version != params.Version {
		t.Errorf("before an upgrade: got %d, want %d, error %v", h.Version, params.Version, err)
	}
	if _, err := HeaderTemplate(c.head, c.params, from); !errors.Is(err, ErrUnknownVersion) {
		t.Errorf("an unknown version: error %v, want %v", err, ErrUnknownVersion)
	}
}

func TestFaultsOfTheStateAreNotInvalidity(t *testing.T) {
	c := newTestChain(t)
	tx := c.transfer(alice)
	template, err := HeaderTemplate(c.head, c.params, c.head.Timestamp)
	if err != nil {
		t.Fatal(err)
	}
	broken := errors.New("disk")
	_, err = Begin(types.Regtest, c.params, failingState{broken}, template, Machine{}).Apply(tx)
	if !errors.Is(err, broken) || IsInvalid(err) {
		t.Errorf("got %v", err)
	}
}

type failingState struct{ err error }

func (f failingState) Get([]byte) ([]byte, error) { return nil, f.err }

// TestGenesisValidity has one corrupting case for each rule.
func TestGenesisValidity(t *testing.T) {
	for _, tc := range []struct {
		name string
		edit func(*types.Genesis)
		ok   bool
	}{
		{"valid", func(*types.Genesis) {}, true},
		{"no allocations", func(g *types.Genesis) { g.Allocations = nil }, true},
		{"network", func(g *types.Genesis) { g.Network = "devnet" }, false},
		{"version", func(g *types.Genesis) { g.Parameters.Version = 3 }, false},
		{"time", func(g *types.Genesis) { g.Time = types.MaxTime + 1 }, false},
		{"upgrade", func(g *types.Genesis) { g.Parameters.Upgrade = &types.Upgrade{Version: 3} }, false},
		{"parameters", func(g *types.Genesis) { g.Parameters.MinBaseFee = 0 }, false},
		{"base fee low", func(g *types.Genesis) { g.BaseFee = 9 }, false},
		{"base fee high", func(g *types.Genesis) { g.BaseFee = 1_000_001 }, false},
		{"order", func(g *types.Genesis) { g.Allocations[0], g.Allocations[1] = g.Allocations[1], g.Allocations[0] }, false},
		{"twice", func(g *types.Genesis) { g.Allocations[1] = g.Allocations[0] }, false},
		{"allocation of 0", func(g *types.Genesis) { g.Allocations[0].Balance = 0 }, false},
		{
			"sum is 2^64", func(g *types.Genesis) { g.Allocations[0].Balance = math.MaxUint64 - 3_000*types.CoinUnits + 1 },
			false,
		},
		{
			"sum is 2^64 − 1", func(g *types.Genesis) { g.Allocations[0].Balance = math.MaxUint64 - 3_000*types.CoinUnits },
			true,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			g := testGenesis()
			tc.edit(&g)
			_, err := Genesis(g)
			if (err == nil) != tc.ok || !tc.ok && !errors.Is(err, ErrGenesis) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestBaseFeeFollowsUse(t *testing.T) {
	c := newTestChain(t)
	half := types.Header{BaseFee: 10, GasUsed: 500_000_000, GasLimit: 1_000_000_000}
	p := c.params
	for _, tc := range []struct {
		name      string
		base      types.Amount
		used      types.Gas
		low, high types.Amount
		want      types.Amount
	}{
		{"at the target", 10, 500_000_000, 10, 1_000_000, 10},
		{"nothing used, at the bound", 10, 0, 10, 1_000_000, 10},
		{"nothing used", 10, 0, 8, 1_000_000, 9},
		{"full", 100, 1_000_000_000, 10, 1_000_000, 112},
		{"just over moves by one", 10, 500_000_001, 10, 1_000_000, 11},
		{"full, at the bound", 1_000_000, 1_000_000_000, 10, 1_000_000, 1_000_000},
		{"the lower bound rose", 10, 500_000_000, 50, 1_000_000, 50},
		{"the largest", 1<<53 - 1, 1_000_000_000, 10, 1<<53 - 1, 1<<53 - 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			header := half
			header.BaseFee, header.GasUsed = tc.base, tc.used
			p.MinBaseFee, p.MaxBaseFee = tc.low, tc.high
			if got := fees.NextBaseFee(header, p); got != tc.want {
				t.Errorf("got %d, want %d", got, tc.want)
			}
		})
	}
	p.TargetBPS, p.MinBaseFee, p.MaxBaseFee = 1, 8, 1<<53-1
	if got := fees.NextBaseFee(types.Header{BaseFee: 1<<53 - 1, GasUsed: 1 << 40, GasLimit: 1 << 40}, p); got != 1<<53-1 {
		t.Errorf("extreme inputs give %d, want %d", got, 1<<53-1)
	}
}
