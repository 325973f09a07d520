package sequencer

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/cairn-chain/cairn/crypto"
	"github.com/cairn-chain/cairn/internal/engine/ledger"
	"github.com/cairn-chain/cairn/internal/protocol/params"
	"github.com/cairn-chain/cairn/types"
)

// After a fault of the engine, the transaction is left out of the block and the code is quarantined. Others of the same
// block, before and after it, are included, and no transaction that calls the code is tried from then on.
func TestEngineFaultIsNoExit(t *testing.T) {
	f, engine, calls := withFakes(t, time.Second, 2)
	bad := codeHash(variant(0))
	engine.faulty[bad] = true
	before := f.send(others[0], 0, 9, payment)
	faulty := f.send(others[1], 0, 8, calls[0])
	later := f.send(others[1], 1, 8, payment)
	again := f.send(others[2], 0, 7, calls[0])
	good := f.send(others[3], 0, 6, calls[1])
	block := f.block(before, good)
	f.tell(told{faulty, Faulty})
	if engine.calls[bad] != 1 {
		t.Errorf("the code ran %d times, want once", engine.calls[bad])
	}
	for id, want := range map[types.TxID]bool{faulty: false, again: true, later: true} {
		if _, pending := f.pool.Get(id); pending != want {
			t.Errorf("%s is pending: got %v, want %v", id, pending, want)
		}
	}
	if stats := f.book.Stats(); stats.Faults != 1 || stats.Quarantined != 1 || !f.book.Quarantined(bad) {
		t.Errorf("the book has %+v", stats)
	}
	without, withoutEngine, _ := withFakes(t, time.Second, 2)
	without.send(others[0], 0, 9, payment)
	without.send(others[3], 0, 6, calls[1])
	if want := without.block(before, good); want.Header.Header.StateRoot != block.Header.Header.StateRoot ||
		withoutEngine.calls[bad] != 0 {
		t.Errorf("the block has the header %+v, without the faulty ones %+v", block.Header.Header, want.Header.Header)
	}
	instead := f.send(others[1], 0, 8, payment)
	f.block(instead, later)
}

// After faults of three codes the block is closed with its transactions so far; the next block is made as usual.
func TestThreeFaultyCodesCloseTheBlock(t *testing.T) {
	f, engine, calls := withFakes(t, time.Second, 4)
	first := f.send(others[10], 0, 9, payment)
	for i, call := range calls {
		engine.faulty[codeHash(variant(i))] = true
		f.send(others[i], 0, types.Amount(8-i), call)
	}
	last := f.send(others[11], 0, 1, payment)
	f.block(first)
	f.block(last)
	if stats := f.book.Stats(); stats.Quarantined != 4 || len(f.told) != 4 {
		t.Errorf("the book has %+v, told %v", stats, f.told)
	}
}

// After each overrun, the sender's transactions and all calls of the code wait longer.
func TestOverrunIsPenalised(t *testing.T) {
	f, engine, calls := withFakes(t, time.Second, 2)
	engine.steps = 10
	engine.step[codeHash(variant(0))] = time.Second
	wait := time.Minute
	for nonce := range uint64(3) {
		slow := f.send(others[nonce], 0, 9, calls[0])
		f.block()
		f.block()
		f.tell(told{slow, Deferred}, told{slow, Overran})
		other := f.send(others[nonce+10], 0, 9, calls[0]) // the same code, another sender
		own := f.send(others[nonce], 0, 9, payment)       // the same sender, another code
		f.clock.now = f.clock.now.Add(time.Minute - time.Second)
		f.block()
		f.clock.now = f.clock.now.Add(time.Second)
		if wait == time.Minute {
			f.clock.step, engine.steps = 0, 0
			f.block(other, own)
		} else {
			f.block(own) // the sender's first transaction
			f.clock.now = f.clock.now.Add(wait - time.Minute)
			engine.steps = 0
			f.block(other)
		}
		engine.steps = 10
		f.told = nil
		wait *= 2
	}
}

// attacker resends one call that takes far too long, whenever it is gone, and pays more than anybody.
type attacker struct {
	key   crypto.PrivateKey
	nonce uint64
	call  action
	sent  types.TxID
}

// Honest transfers are included within three blocks, and honest calls of a code that keeps pace within a few, whatever
// attackers send. The simulation is seeded, with calls that take any time for their gas, codes on which the engine
// fails, and transactions in any order. No block is empty, and attackers do not get most of the time.
func TestNobodyIsStarved(t *testing.T) {
	for seed := range uint64(4) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { starve(t, rand.New(rand.NewPCG(seed, 0))) })
	}
}

func starve(t *testing.T, random *rand.Rand) {
	const codes, attackers, blocks = 8, 16, 60
	f, engine, calls := withFakes(t, time.Second, codes+1)
	const slowest = 8192 * 50 * time.Microsecond
	engine.steps = 20
	engine.step[codeHash(variant(codes))] = 5 * time.Microsecond // the honest sender's transaction
	for i := range codes {
		// From slightly slow to endless: a call asks twenty times whether to continue.
		engine.step[codeHash(variant(i))] = time.Duration(1+random.IntN(1<<random.IntN(13))) * time.Microsecond * 50
	}
	engine.faulty[codeHash(variant(random.IntN(codes)))] = random.IntN(2) == 0
	attack := make([]*attacker, attackers)
	for i := range attack {
		attack[i] = &attacker{key: others[i], call: calls[random.IntN(codes)]}
	}
	transfers, tokens := &honest{
		key: others[20], payload: payment, within: 3,
	}, &honest{key: others[21], payload: calls[codes], within: 8}
	for n := range blocks {
		for _, a := range attack {
			if _, pending := f.pool.Get(a.sent); !pending {
				a.sent = f.send(a.key, a.nonce, 9, a.call)
			}
		}
		transfers.send(f, n)
		tokens.send(f, n)
		begun := f.clock.now
		block, err := f.produce(f.best())
		if err != nil {
			t.Fatal(err)
		}
		if len(block.Included) == 0 {
			t.Fatalf("block %d is empty", n)
		}
		// The worst case adds up the full time of a transaction (2 s), the block's time, and the delay until the engine
		// checks.
		if took := f.clock.now.Sub(begun); took > 2*time.Second+time.Second+4*slowest {
			t.Fatalf("block %d took %v", n, took)
		}
		for _, a := range attack {
			if slices.Contains(types.IDs(block.Included), a.sent) {
				a.nonce++
			}
		}
		transfers.included(t, block, n)
		tokens.included(t, block, n)
		f.clock.now = begun.Add(max(time.Second, f.clock.now.Sub(begun)))
	}
}

// honest sends one transaction after the other, at the lowest fee.
type honest struct {
	key     crypto.PrivateKey
	payload action
	within  int // blocks
	nonce   uint64
	sent    types.TxID
	since   int
	waits   bool
}

func (h *honest) send(f *contractFixture, block int) {
	if !h.waits {
		h.sent, h.since, h.waits = f.send(h.key, h.nonce, 1, h.payload), block, true
	}
}

func (h *honest) included(t *testing.T, block ledger.Block, n int) {
	t.Helper()
	if slices.Contains(types.IDs(block.Included), h.sent) {
		h.waits = false
		h.nonce++
	} else if n-h.since+1 >= h.within {
		t.Fatalf("%T waits since block %d, now %d", h.payload, h.since, n)
	}
}

// batchOf is a batch of calls.
func batchOf(calls ...action) action {
	var batch types.Batch
	for _, c := range calls {
		batch.Steps = append(batch.Steps, types.Step{Target: c.target, Value: c.value, Action: c.Payload})
	}
	return action{Payload: batch}
}

// If a batch that calls several contracts overruns, nobody knows which one was slow: such batches must wait, but
// others' calls of one of these contracts need not. A batch that calls one contract is like a call.
func TestOverrunOfABatch(t *testing.T) {
	for name, several := range map[string]bool{"several": true, "one": false} {
		f, engine, calls := withFakes(t, time.Second, 3)
		engine.steps = 10
		engine.step[codeHash(variant(0))] = time.Second
		batch := batchOf(payment, calls[0], calls[0])
		if several {
			batch = batchOf(calls[1], calls[0])
		}
		slow := f.send(others[0], 0, 9, batch)
		f.block()
		f.block()
		f.tell(told{slow, Deferred}, told{slow, Overran})
		engine.steps = 0
		innocent := f.send(others[1], 0, 9, calls[1])
		guilty := f.send(others[2], 0, 8, calls[0])
		alike := f.send(others[3], 0, 7, batchOf(calls[2], calls[0]))
		alone := f.send(others[4], 0, 6, batchOf(calls[1], payment))
		f.send(others[0], 0, 5, payment) // the sender must wait
		if several {
			f.block(innocent, guilty, alone)
			f.clock.now = f.clock.now.Add(time.Minute)
			f.block(alike, f.sent(others[0]))
		} else {
			f.block(innocent, alone)
			f.clock.now = f.clock.now.Add(time.Minute)
			f.block(guilty, alike, f.sent(others[0]))
		}
		if t.Failed() {
			t.Fatal(name)
		}
	}
}

// A payer cannot send one slow transaction after the other through new senders: it waits like the sender.
func TestPayerOfAnOverrunWaits(t *testing.T) {
	f, engine, calls := withFakes(t, time.Second, 2)
	engine.steps = 10
	engine.step[codeHash(variant(0))], engine.step[codeHash(variant(1))] = time.Second, time.Second
	slow := f.sponsored(others[0], others[1], calls[0])
	f.block()
	f.block()
	f.tell(told{slow, Deferred}, told{slow, Overran})
	engine.steps = 0
	byPayer := f.sponsored(others[2], others[1], payment)
	own := f.send(others[1], 0, 9, payment)
	bySender := f.sponsored(others[0], others[3], payment)
	free := f.sponsored(others[4], others[3], payment)
	f.block(free)
	f.clock.now = f.clock.now.Add(time.Minute)
	f.block(own, byPayer, bySender)
}

// sponsored sends a first transaction, for which another account pays.
func (f *contractFixture) sponsored(k, payer crypto.PrivateKey, what action) types.TxID {
	f.t.Helper()
	paying := types.Account(payer.PublicKey())
	tx := types.Transaction{
		ChainID: 7, Sender: k.PublicKey(), GasLimit: 100_000_000, MaxFeePerGas: 100, MaxPriorityFeePerGas: 1, Payer: &paying,
		Target: what.target, Value: what.value, Payload: what.Payload,
	}
	signed, err := types.Sign(tx, k, [32]byte{})
	if err != nil {
		f.t.Fatal(err)
	}
	message := types.PayerHash(tx.Hash())
	signature, err := payer.Sign(message[:], [32]byte{})
	if err != nil {
		f.t.Fatal(err)
	}
	signed.PayerWitness = types.WitnessKey{Signature: signature}
	id, err := f.pool.Add(f.t.Context(), signed.Encode(), "")
	if err != nil {
		f.t.Fatal(err)
	}
	return id
}

// A transaction that runs no contract is in round 0 of a crowded block, and a batch is in the round of the slowest
// contract that it calls.
func TestRounds(t *testing.T) {
	f, _, calls := withFakes(t, time.Second, 3)
	now := f.clock.now
	f.paces[types.ContractID(calls[0].target)] = time.Time{} // its code is fast enough
	f.paces[types.ContractID(calls[1].target)] = now.Add(time.Hour)
	batch := f.newBatch(f.best(), f.BlockTime())
	batch.begin = now
	for i, test := range []struct {
		action
		want int
	}{
		{payment, 0},
		{batchOf(payment, payment), 0},
		{calls[0], 1},
		{batchOf(calls[0], payment, calls[0]), 1},
		{calls[2], 2},
		{batchOf(calls[0], calls[2]), 2},
		{deploy("fake", variant(9)), 2},
		{action{types.Instantiate{Name: "fake"}, calls[0].target, 0}, 2},
		{calls[1], 3},
		{batchOf(calls[0], calls[1]), 3},
	} {
		tx, _ := f.pool.Get(f.send(others[i], 0, 1, test.action))
		if got := batch.round(tx); got != test.want || runs(tx) != (test.want > 0) {
			t.Errorf("transaction %d: round %d, want %d", i, got, test.want)
		}
	}
}

// If a block is full by its bytes, the builder does not look at the other pending transactions.
func TestBlockIsFullOfBytes(t *testing.T) {
	f, _, calls := withFakes(t, time.Second, 1)
	next := parameters(producerKey.PublicKey())
	next.BlockBytes = params.MinBlockBytes
	f.block(f.send(producerKey, 0, 9, configure(next)))
	var ids []types.TxID
	big := action{types.Call{Function: "none", Args: make([]byte, types.MaxArgsBytes)}, calls[0].target, 0}
	for i := range 20 {
		ids = append(ids, f.sendGas(others[i], 0, types.Amount(90-i), 2_000_000, big))
	}
	small := f.send(others[20], 0, 1, payment)
	first := f.block(append(slices.Clone(ids[:15]), small)...) // a 16th has no room, but a payment has
	if size := len(types.EncodeBlock(first.Header, first.Included)); size > int(params.MinBlockBytes)+types.SignedHeaderBytes+8 {
		t.Errorf("the block has %d bytes", size)
	}
	f.block(ids[15:]...)
}
