package replica

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cairn-chain/cairn/internal/engine/ledger"
	"github.com/cairn-chain/cairn/internal/protocol/state"
	"github.com/cairn-chain/cairn/internal/protocol/vm"
	"github.com/cairn-chain/cairn/internal/testkit/testchain"
	"github.com/cairn-chain/cairn/internal/testkit/wasmgen"
	"github.com/cairn-chain/cairn/types"
)

// TestEvidence has a producer whose execution credits the recipient with more and charges more gas. The halt names the
// receipt and the state key.
func TestEvidence(t *testing.T) {
	recipient := state.AccountKey(types.Account{9})
	forge := func(accesses []types.Access) []types.Access {
		forged := slices.Clone(accesses)
		for i := range forged {
			if bytes.Equal(forged[i].Key, recipient) {
				forged[i].New = slices.Concat(forged[i].New[:1], []byte{forged[i].New[1] ^ 1}, forged[i].New[2:])
			}
		}
		return forged
	}
	in(t, 30, 1, func(f *fixture) {
		block, err := f.primary.Store().Block(20)
		check(f.t, err)
		receipts, err := f.primary.Store().Receipts(20)
		check(f.t, err)
		f.sources[0].set(func(s *faultySource) {
			s.blocks = at(20, func(b []byte) []byte {
				return resigned(f.t, b, func(block *types.Block) {
					block.Header.StateRoot[0] ^= 1
					block.Header.GasUsed++
				})
			})
			s.accesses = forge
			s.receipts = func(ids []types.TxID) ([]*UnverifiedReceipt, error) {
				if len(ids) != 1 || ids[0] != block.Transactions[0].ID() {
					f.t.Errorf("asked for %v", ids)
				}
				other := &UnverifiedReceipt{Receipt: receipts[0], Raw: json.RawMessage(`{"word": 7}`)}
				other.GasUsed++
				return []*UnverifiedReceipt{other}, nil
			}
		})
		f.start()
		f.pass(5 * time.Second)
		h, err := ReadHalt(f.haltFile)
		if err != nil || h == nil || h.Unexplained != "" {
			f.t.Fatalf("got %+v, error %v", h, err)
		}
		r, w := h.FirstReceipt, h.FirstWrite
		if r == nil || r.Index != 0 || r.Here == nil || r.Here.GasUsed != receipts[0].GasUsed ||
			strings.Join(strings.Fields(string(r.There)), "") != `{"word":7}` {
			f.t.Errorf("first receipt %+v", r)
		}
		if w == nil || !bytes.Equal(w.Key, recipient) || bytes.Equal(w.Here, w.There) || bytes.Equal(w.Before, w.Here) {
			f.t.Errorf("first write %+v", w)
		}
		if h.Derived == nil || h.Derived.StateRoot == h.Headers[0].StateRoot {
			f.t.Errorf("both roots: %+v and %+v", h.Derived, h.Headers)
		}
		block, err = types.DecodeBlock(h.Block)
		if err != nil || block.Header.Hash() != h.Headers[0].Hash {
			f.t.Errorf("the block is another one: error %v", err)
		}
	})
}

func TestSameReceipt(t *testing.T) {
	full := func() types.Receipt {
		return types.Receipt{
			Status: types.StatusSuccess, GasUsed: 7, Contract: &types.ContractID{1}, Output: []byte{2},
			Logs: []types.Log{{Contract: types.ContractID{3}, Name: "n", Topics: [][32]byte{{4}}, Data: []byte{5}}},
		}
	}
	if !sameReceipt(full(), &UnverifiedReceipt{Receipt: full()}) || sameReceipt(full(), nil) {
		t.Error("a receipt is not itself")
	}
	for name, change := range map[string]func(*types.Receipt){
		"status":   func(r *types.Receipt) { r.Status = 0 },
		"gas":      func(r *types.Receipt) { r.GasUsed++ },
		"contract": func(r *types.Receipt) { r.Contract = nil },
		"another":  func(r *types.Receipt) { r.Contract = &types.ContractID{9} },
		"output":   func(r *types.Receipt) { r.Output = nil },
		"no logs":  func(r *types.Receipt) { r.Logs = nil },
		"emitter":  func(r *types.Receipt) { r.Logs[0].Contract[0]++ },
		"name":     func(r *types.Receipt) { r.Logs[0].Name = "m" },
		"data":     func(r *types.Receipt) { r.Logs[0].Data = nil },
		"topics":   func(r *types.Receipt) { r.Logs[0].Topics = nil },
		"topic":    func(r *types.Receipt) { r.Logs[0].Topics[0] = [32]byte{} },
	} {
		other := full()
		change(&other)
		if sameReceipt(full(), &UnverifiedReceipt{Receipt: other}) {
			t.Errorf("another %s is not seen", name)
		}
	}
}

// TestFirstWrite compares writes that only the replica has, only the producer has, and both have.
func TestFirstWrite(t *testing.T) {
	write := func(key, old, changed string) types.Access {
		return types.Access{Key: []byte(key), Old: []byte(old), New: []byte(changed)}
	}
	here := []types.Access{write("a", "1", "2"), write("c", "1", "2")}
	for name, c := range map[string]struct {
		there []types.Access
		want  string // key, before, here, there
	}{
		"the same":      {here, ""},
		"another value": {[]types.Access{here[0], write("c", "1", "3")}, "c 1 2 3"},
		"one less":      {here[1:], "a 1 2 1"},
		"one more":      {[]types.Access{here[0], write("b", "7", "8"), here[1]}, "b 7 7 8"},
		"none":          {nil, "a 1 2 1"},
	} {
		got := ""
		if d := firstDifference(here, c.there); d != nil {
			got = string(d.Key) + " " + string(d.Before) + " " + string(d.Here) + " " + string(d.There)
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// TestEngineFailureHalts has a block that no engine of the replica can execute: the replica halts before it, with the
// block as evidence, and stays halted after a restart.
func TestEngineFailureHalts(t *testing.T) {
	in(t, 30, 1, func(f *fixture) {
		block, err := f.primary.Store().Block(20)
		check(f.t, err)
		f.gate = func(_ Source, h types.Height) error {
			if h == 20 {
				return &ledger.EngineFailure{Claimed: block.Signed(), Err: errors.New("every engine failed")}
			}
			return nil
		}
		f.start()
		f.pass(time.Minute)
		halt := f.Halt()
		if f.height() != 19 || halt == nil || halt.Reason != EngineFailure || halt.Height != 20 ||
			!bytes.Equal(halt.Block, block.Encode()) {
			f.t.Fatalf("at height %d the halt is %+v", f.height(), halt)
		}
		f.gate = nil
		f.start()
		f.pass(time.Minute)
		if again := f.Halt(); f.height() != 19 || again == nil || again.Reason != EngineFailure {
			f.t.Errorf("started anew: height %d, halt %+v", f.height(), again)
		}
	})
}

// ticking is an engine whose calls do nothing for a price. asked counts them.
type ticking struct {
	price uint64
	asked *atomic.Int64
}

func (ticking) Module(_ types.CodeHash, code func() ([]byte, error)) (*vm.Module, error) {
	binary, err := code()
	if err != nil {
		return nil, err
	}
	return vm.Check(binary)
}

func (ticking) Compile(types.CodeHash, *vm.Module) error { return nil }

func (e ticking) Run(_ types.CodeHash, _ *vm.Module, _ string, _ vm.Host, gas *vm.Gas) (vm.Exit, error) {
	e.asked.Add(1)
	gas.Left -= e.price
	return vm.Returned, nil
}

// TestSecondOpinion has a replica whose engine derives different gas than the producer's. The replica continues if
// another engine agrees with the producer, and halts if that one differs too, with the results of both in the evidence.
// Once it has halted, a restart executes nothing.
func TestSecondOpinion(t *testing.T) {
	const right, price = 10, 11
	for _, other := range []uint64{right, 12} {
		synctest.Test(t, func(t *testing.T) {
			f := newFixture(t, 0, 1)
			f.primary = openChainWith(t, testGenesis(), 0, ticking{right, new(atomic.Int64)})
			f.sources[0].chain = f.primary
			var first, second atomic.Int64
			named := func(name string, e vm.Engine) ledger.NamedEngine {
				return ledger.NamedEngine{Name: name, Get: func() (vm.Engine, error) { return e, nil }}
			}
			f.chain.Fallback.Engines = []ledger.NamedEngine{
				named("the engine", ticking{price, &first}), named("another", ticking{other, &second}),
			}
			contract := types.Account(types.NewContractID(alice.PublicKey(), 0))
			for i, tx := range []types.Transaction{
				{Payload: types.Deploy{Name: "hostile", Code: wasmgen.Hostile(false).Encode()}},
				{Target: contract, Payload: types.Call{Function: "recurse"}},
				{Target: types.Account{9}, Value: 1, Payload: types.Transfer{}},
			} {
				tx := types.VerifyWitnesses(types.Regtest, types.NewTxs(signedTx(uint64(i), 10_000_000, tx)))[0]
				_, err := f.primary.Build(ledger.Batch{Time: 1_001 + uint64(i), Transactions: &testchain.List{tx}}, sign)
				check(t, err)
			}
			f.start()
			f.pass(time.Minute)
			if a, b := first.Load(), second.Load(); a != 1 || b != 1 {
				t.Errorf("the engines were asked %d and %d times, want 1 and 1", a, b)
			}
			if other == right {
				f.synced()
				return
			}
			h, err := ReadHalt(f.haltFile)
			check(t, err)
			if f.height() != 1 || h == nil || h.Reason != Diverged || h.Height != 2 || len(h.Engines) != 2 {
				t.Fatalf("at height %d the halt is %+v, want one of block 2 with two engines", f.height(), h)
			}
			if a, b := h.Engines[0], h.Engines[1]; a.Engine != "the engine" || b.Engine != "another" ||
				a.Derived.GasUsed+1 != b.Derived.GasUsed || *b.Derived != *h.Derived || !strings.Contains(a.Error, "gas_used") {
				t.Errorf("the engines came to %+v and %+v", a, b)
			}
			for _, v := range h.Engines {
				if said := v.Engine + " derives " + v.Derived.Hash.String(); f.log.count(said) != 1 {
					t.Errorf("the log has %q %d times, want once", said, f.log.count(said))
				}
			}
			f.start()
			f.pass(time.Minute)
			if a, b := first.Load(), second.Load(); a != 1 || b != 1 || f.Halt() == nil {
				t.Errorf("started anew, the engines were asked %d and %d times, the halt is %+v", a-1, b-1, f.Halt())
			}
		})
	}
}
