package sequencer

import (
	"slices"
	"testing"
	"time"

	"github.com/cairn-chain/cairn/crypto"
	"github.com/cairn-chain/cairn/internal/engine/ledger"
	"github.com/cairn-chain/cairn/internal/engine/wasm"
	"github.com/cairn-chain/cairn/internal/protocol/vm"
	"github.com/cairn-chain/cairn/internal/testkit/wasmgen"
	"github.com/cairn-chain/cairn/types"
)

// handClock advances by step each time it is read, and otherwise stands still.
type handClock struct {
	now  time.Time
	step time.Duration
}

func (c *handClock) Now() time.Time {
	c.now = c.now.Add(c.step)
	return c.now
}

func (*handClock) After(time.Duration) <-chan time.Time { return nil }
func (c *handClock) Wall() time.Time {
	return time.Unix(1_700_000_000, 0).Add(c.now.Sub(time.Time{}))
}

// contractFixture is an engine over a chain with a contract that runs until its gas is used up. Blocks are made by
// hand.
type contractFixture struct {
	*Solo
	t       *testing.T
	clock   *handClock
	endless action
	told    []told
}

// told holds the arguments of a call of OnSkipped.
type told struct {
	id     types.TxID
	reason SkipReason
}

func withContract(t *testing.T, blockTime time.Duration) *contractFixture {
	t.Helper()
	machine, err := wasm.New(wasm.Options{})
	if err != nil {
		t.Fatal(err)
	}
	f := withMachine(t, machine, new(handClock), blockTime)
	t.Cleanup(func() {
		if err := machine.Close(); err != nil {
			t.Error(err)
		}
	})
	f.send(alice, 0, 1, deploy("endless", wasmgen.Hostile(false).Encode()))
	f.block(f.sent(alice))
	f.endless = call(types.NewContractID(types.Account(alice.PublicKey()), 0), "loop")
	return f
}

func withMachine(t *testing.T, machine vm.Engine, clock *handClock, blockTime time.Duration) *contractFixture {
	t.Helper()
	s, end := open(t, machine, clock, blockTime)
	f := &contractFixture{Solo: s, t: t, clock: clock}
	t.Cleanup(func() {
		if err := end(); err != nil {
			t.Error(err)
		}
	})
	f.OnSkipped = func(l Skipped) { f.told = append(f.told, told{l.Tx.ID(), l.Reason}) }
	return f
}

func (f *contractFixture) send(k crypto.PrivateKey, nonce uint64, tip types.Amount, payload action) types.TxID {
	f.t.Helper()
	return f.sendGas(k, nonce, tip, 100_000_000, payload)
}

func (f *contractFixture) sendGas(
	k crypto.PrivateKey, nonce uint64, tip types.Amount, gas types.Gas, payload action,
) types.TxID {
	f.t.Helper()
	signed, err := types.Sign(types.Transaction{
		ChainID:              7,
		Sender:               k.PublicKey(),
		Nonce:                nonce,
		GasLimit:             gas,
		MaxFeePerGas:         100,
		MaxPriorityFeePerGas: tip,
		Target:               payload.target, Value: payload.value, Payload: payload.Payload,
	}, k, [32]byte{})
	if err != nil {
		f.t.Fatal(err)
	}
	id, err := f.pool.Add(f.t.Context(), signed.Encode(), "")
	if err != nil {
		f.t.Fatal(err)
	}
	return id
}

// sent returns the first pending transaction of an account.
func (f *contractFixture) sent(k crypto.PrivateKey) types.TxID {
	return f.pool.BySender(k.PublicKey())[0].Tx.ID()
}

// block makes a block, which must have these transactions.
func (f *contractFixture) block(want ...types.TxID) ledger.Block {
	f.t.Helper()
	block, err := f.produce(f.best())
	if err != nil {
		f.t.Fatal(err)
	}
	if !slices.Equal(types.IDs(block.Included), want) {
		f.t.Fatalf("block %d has %v, want %v", block.Header.Header.Height, types.IDs(block.Included), want)
	}
	return block
}

func (f *contractFixture) tell(want ...told) {
	f.t.Helper()
	if !slices.Equal(f.told, want) {
		f.t.Fatalf("told of %v, want %v", f.told, want)
	}
	f.told = nil
}

// A transaction that exceeds its full time is dropped without effects. Its sender and its code must wait, and so must
// the sender's later transactions. The block continues with other transactions.
func TestSlowTransactionIsDropped(t *testing.T) {
	for _, blockTime := range []time.Duration{Manual, time.Second, 8 * time.Second} {
		f := withContract(t, blockTime)
		slow := f.send(alice, 1, 5, f.endless)
		later := f.send(alice, 2, 5, payment)
		other := f.send(producerKey, 0, 1, payment)
		before := f.ledger.Tip().Header.Header

		f.clock.step = f.newBatch(f.best(), f.BlockTime()).time / 16
		f.block(other)
		f.tell(told{slow, Deferred})
		stalled := f.block().Header.Header
		f.tell(told{slow, Overran})
		if stalled.GasUsed != 0 || stalled.Height != before.Height+2 {
			t.Errorf("%v: the block without transactions has the header %+v", blockTime, stalled)
		}
		if _, pending := f.pool.Get(slow); pending {
			t.Errorf("%v: the slow transaction is pending", blockTime)
		}

		f.clock.step = 0
		instead := f.send(alice, 1, 1, payment)
		f.block() // alice waits
		f.clock.now = f.clock.now.Add(time.Minute)
		f.block(instead, later)
		f.tell()
		if count := f.pool.Stats().Count; count != 0 {
			t.Errorf("%v: %d transactions are pending, want 0", blockTime, count)
		}
	}
}

// If each transaction gets its own block at once, each has its full time.
func TestSlowTransactionIsDroppedAtOnce(t *testing.T) {
	f := withContract(t, Instant)
	slow := f.send(alice, 1, 5, f.endless)
	f.clock.step = time.Second
	if made, err := f.instant(); err != nil || !made {
		t.Fatal(made, err)
	}
	f.tell(told{slow, Overran})
	f.clock.step = 0
	f.send(alice, 1, 5, payment)
	if made, err := f.instant(); err != nil || made {
		t.Fatalf("a block of a transaction whose sender waits: got %v, error %v", made, err)
	}
}

// A transaction that finds too little time left does not make the block late, and is the first in the next one.
func TestTransactionThatWasLateComesFirst(t *testing.T) {
	f := withContract(t, 8*time.Second)
	early := f.send(producerKey, 0, 9, payment)
	late := f.send(alice, 1, 5, f.endless)
	after := f.send(alice, 2, 5, payment)
	cheap := f.send(others[0], 0, 1, payment)
	f.clock.step = time.Second
	f.block(early, cheap)
	f.tell(told{late, Deferred})

	dearer := f.send(producerKey, 1, 9, payment)
	f.clock.step = 0
	f.block(late, dearer, after)
	f.tell()
}

// The other transactions have the block's time in addition to one that had its full time, included or not.
func TestBlockGoesOnAfterATransactionWithAllItsTime(t *testing.T) {
	for name, step := range map[string]time.Duration{"included": 300 * time.Millisecond, "dropped": time.Second} {
		f, engine, calls := withFakes(t, time.Second, 1)
		engine.steps = 4
		engine.step[codeHash(variant(0))] = step
		slow := f.send(others[0], 0, 9, calls[0])
		first := f.send(others[1], 0, 1, payment)
		f.block(first)
		second := f.send(others[1], 1, 1, payment)
		if name == "included" {
			f.block(slow, second)
			f.tell(told{slow, Deferred})
		} else {
			f.block(second)
			f.tell(told{slow, Deferred}, told{slow, Overran})
		}
	}
}
