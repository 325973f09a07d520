package sequencer

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cairn-chain/cairn/crypto"
	"github.com/cairn-chain/cairn/internal/engine/ledger"
	"github.com/cairn-chain/cairn/internal/engine/mempool"
	"github.com/cairn-chain/cairn/internal/engine/quarantine"
	"github.com/cairn-chain/cairn/internal/protocol/params"
	"github.com/cairn-chain/cairn/internal/protocol/state"
	"github.com/cairn-chain/cairn/internal/protocol/vm"
	"github.com/cairn-chain/cairn/internal/storage/chain"
	"github.com/cairn-chain/cairn/internal/storage/kv"
	"github.com/cairn-chain/cairn/internal/testkit/testchain"
	"github.com/cairn-chain/cairn/types"
)

// bubbleClock is the clock of a synctest bubble: time passes when all goroutines wait. Its time of day may jump.
type bubbleClock struct{ jumped atomic.Int64 } // shift of the clock in nanoseconds

func (*bubbleClock) Now() time.Time                         { return time.Now() }
func (*bubbleClock) After(d time.Duration) <-chan time.Time { return time.After(d) }
func (c *bubbleClock) Wall() time.Time                      { return time.Now().Add(time.Duration(c.jumped.Load())) }
func (c *bubbleClock) jump(d time.Duration)                 { c.jumped.Add(int64(d)) }

func key(name string) crypto.PrivateKey { return testchain.Key(name) }

var alice, producerKey = key("alice"), key("producer")

// others are accounts that the genesis funds too.
var others = func() (keys []crypto.PrivateKey) {
	for i := range 24 {
		keys = append(keys, key(fmt.Sprint("other ", i)))
	}
	return keys
}()

// fixture is a running engine over a chain in memory.
type fixture struct {
	*Solo
	t     *testing.T
	wall  *bubbleClock
	nonce map[types.Account]uint64
	stop  func() error
}

// open makes an engine on a new in-memory chain, and a function that closes it.
func open(t *testing.T, machine vm.Engine, clock Clock, blockTime time.Duration) (s *Solo, end func() error) {
	t.Helper()
	db, err := kv.Open("db", kv.Options{FS: kv.Memory()})
	if err != nil {
		t.Fatal(err)
	}
	store, err := chain.Open(db, chain.Options{Schedule: params.Prices.Digest()})
	if err != nil {
		t.Fatal(err)
	}
	g := testchain.Genesis(producerKey, 1_000*types.CoinUnits, append([]crypto.PrivateKey{alice, producerKey}, others...)...)
	g.Time, g.Parameters = uint64(clock.Wall().UnixMilli()), parameters(producerKey.PublicKey())
	book, err := quarantine.Open(quarantine.Options{Now: clock.Wall})
	if err != nil {
		t.Fatal(err)
	}
	if machine != nil {
		machine = book.Deny(machine)
	}
	l, err := ledger.Open(store, &g, nil, machine)
	if err != nil {
		t.Fatal(err)
	}
	pool, err := mempool.New(mempool.Options{}, mempool.HeadOf(l))
	if err != nil {
		t.Fatal(err)
	}
	return New(l, pool, book, Local(producerKey), clock, blockTime), func() error {
		return errors.Join(pool.Close(), store.Close(), db.Close())
	}
}

// start runs an engine in the current bubble. Its clock begins at the bubble's time.
func start(t *testing.T, blockTime time.Duration) *fixture {
	t.Helper()
	wall := new(bubbleClock)
	s, end := open(t, nil, wall, blockTime)
	f := &fixture{Solo: s, t: t, wall: wall, nonce: map[types.Account]uint64{}}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- f.Run(ctx) }()
	f.stop = sync.OnceValue(func() error {
		cancel()
		return errors.Join(<-ended, end())
	})
	return f
}

func (f *fixture) height() types.Height { return f.ledger.Tip().Header.Header.Height }
func (f *fixture) timestamp() uint64    { return f.ledger.Tip().Header.Header.Timestamp }

// pass lets the bubble's time pass, without real waiting.
func (*fixture) pass(d time.Duration) { <-time.After(d) }

func (f *fixture) send(k crypto.PrivateKey, payload action) {
	f.t.Helper()
	sender := types.Account(k.PublicKey())
	signed, err := types.Sign(types.Transaction{
		ChainID:              7,
		Sender:               sender,
		Nonce:                f.nonce[sender],
		GasLimit:             200_000,
		MaxFeePerGas:         100,
		MaxPriorityFeePerGas: 1,
		Target:               payload.target, Value: payload.value, Payload: payload.Payload,
	}, k, [32]byte{})
	if err != nil {
		f.t.Fatal(err)
	}
	if _, err := f.pool.Add(f.t.Context(), signed.Encode(), ""); err != nil {
		f.t.Fatal(err)
	}
	f.nonce[sender]++
}

func (f *fixture) expect(what string, got, want any) {
	f.t.Helper()
	if got != want {
		f.t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

// in runs a test in a bubble with an engine of the given block time.
func in(t *testing.T, blockTime time.Duration, test func(*fixture)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		f := start(t, blockTime)
		test(f)
		if err := f.stop(); err != nil {
			t.Error(err)
		}
	})
}

// action is a payload with its target and value.
type action struct {
	types.Payload
	target types.Account
	value  types.Amount
}

var payment = action{types.Transfer{}, types.Account{1}, 5}

func deploy(name string, code []byte) action {
	return action{Payload: types.Deploy{Name: name, Code: code}}
}

func call(contract types.ContractID, function string, args ...byte) action {
	return action{Payload: types.Call{Function: function, Args: args}, target: types.Account(contract)}
}

func configure(p types.Parameters) action { return action{Payload: types.Configure{Parameters: p}} }

// parameters returns the parameters of the tests' genesis, with another producer.
func parameters(producer types.PublicKey) types.Parameters {
	p := params.Default(producer)
	p.Admin, p.Notice = types.Account(producerKey.PublicKey()), 0
	return p
}

func TestIntervalMakesABlockEachTime(t *testing.T) {
	in(t, time.Second, func(f *fixture) {
		begin := f.timestamp()
		f.send(alice, payment)
		f.send(alice, payment)
		f.pass(3*time.Second + time.Millisecond)
		synctest.Wait()
		f.expect("height", f.height(), types.Height(3))
		f.expect("timestamp", f.timestamp(), begin+3_000)
		f.expect("pending", f.pool.Stats().Count, 0)
	})
}

func TestInstantMakesABlockForEachTransaction(t *testing.T) {
	in(t, Instant, func(f *fixture) {
		synctest.Wait()
		f.expect("height without transactions", f.height(), types.Height(0))
		for range 3 {
			f.send(alice, payment)
		}
		synctest.Wait()
		f.expect("height", f.height(), types.Height(3))
	})
}

// TestInstantEndsWithWhatIsNotValid: a pool with a wrong record of an account offers a transaction that no block can
// include. The engine does not try it forever.
func TestInstantEndsWithWhatIsNotValid(t *testing.T) {
	in(t, Manual, func(f *fixture) {
		wrong := mempool.HeadOf(f.ledger)
		wrong.Account = func(types.Account) (state.Account, error) {
			return state.Account{Nonce: 5, Balance: 1_000 * types.CoinUnits}, nil
		}
		f.nonce[types.Account(alice.PublicKey())] = 5
		if err := f.between(f.t.Context(), func() error {
			f.OnBlock = func(b ledger.Block) {
				if b.Header.Header.Height > 3 { // its outcome is known
					f.SetBlockTime(Manual)
				}
			}
			return f.pool.Reload(wrong)
		}); err != nil {
			f.t.Fatal(err)
		}
		f.send(alice, payment)
		f.SetBlockTime(Instant)
		synctest.Wait()
		f.expect("height", f.height(), types.Height(1))
		f.expect("pending", f.pool.Stats().Count, 0)
	})
}

func TestManualMakesBlocksWhenAsked(t *testing.T) {
	in(t, Manual, func(f *fixture) {
		f.send(alice, payment)
		f.pass(time.Hour)
		synctest.Wait()
		f.expect("height before", f.height(), types.Height(0))
		if err := f.Mine(f.t.Context(), 2); err != nil {
			f.t.Fatal(err)
		}
		f.expect("height", f.height(), types.Height(2))
		f.expect("pending", f.pool.Stats().Count, 0)
		f.SetBlockTime(time.Second)
		f.pass(2*time.Second + time.Millisecond)
		synctest.Wait()
		f.expect("height after blocks have an interval", f.height(), types.Height(4))
	})
}

func TestTimeTravel(t *testing.T) {
	in(t, Manual, func(f *fixture) {
		mine := func() uint64 {
			f.t.Helper()
			if err := f.Mine(f.t.Context(), 1); err != nil {
				f.t.Fatal(err)
			}
			return f.timestamp()
		}
		begin := mine()
		ahead, err := f.IncreaseTime(100)
		if err != nil || ahead != 100 {
			f.t.Fatal(ahead, err)
		}
		f.expect("the next block's time", f.NextTime(), begin+100_000)
		f.expect("after 100 seconds", mine(), begin+100_000)
		if err := f.SetNextBlockTime(begin/1000 + 500); err != nil {
			f.t.Fatal(err)
		}
		f.expect("the time that is set", f.NextTime(), begin/1000*1000+500_000)
		f.expect("set time", mine(), begin/1000*1000+500_000)
		f.expect("behind it", f.NextTime(), begin/1000*1000+500_000)
		f.pass(10 * time.Second)
		f.expect("time goes on from there", mine(), begin/1000*1000+510_000)
		if err := f.SetNextBlockTime(begin / 1000); !errors.Is(err, ErrTimeInPast) {
			f.t.Errorf("a time before the head's: error %v, want %v", err, ErrTimeInPast)
		}
		if _, err := f.IncreaseTime(1 << 62); err == nil {
			f.t.Error("time was moved beyond what it can hold")
		}
	})
}

func TestSnapshotAndRevert(t *testing.T) {
	in(t, Manual, func(f *fixture) {
		ctx := f.t.Context()
		check := func(err error) {
			f.t.Helper()
			if err != nil {
				f.t.Fatal(err)
			}
		}
		check(f.Mine(ctx, 2))
		first, err := f.Snapshot(ctx)
		check(err)
		_, err = f.IncreaseTime(1_000)
		check(err)
		f.send(alice, payment)
		check(f.Mine(ctx, 3))
		second, err := f.Snapshot(ctx)
		check(err)
		check(f.Revert(ctx, first))
		f.expect("height", f.height(), types.Height(2))
		if err := f.Revert(ctx, second); !errors.Is(err, ErrUnknownSnapshot) {
			f.t.Errorf("a later snapshot is still there: error %v, want %v", err, ErrUnknownSnapshot)
		}
		before := f.timestamp()
		f.nonce[types.Account(alice.PublicKey())] = 0
		f.send(alice, payment)
		check(f.Mine(ctx, 1))
		f.expect("time is back too", f.timestamp(), before)
		f.expect("transactions", f.ledger.Tip().Header.Header.GasUsed, types.Gas(110_000))
	})
}

// TestNoSnapshotHasTheNumberOfOneBeforeARestart begins like a process that continues a chain.
func TestNoSnapshotHasTheNumberOfOneBeforeARestart(t *testing.T) {
	in(t, Manual, func(f *fixture) {
		ctx := f.t.Context()
		if err := f.Mine(ctx, 1); err != nil {
			f.t.Fatal(err)
		}
		before, err := f.Snapshot(ctx)
		if err != nil {
			f.t.Fatal(err)
		}
		f.Solo.lastSnapshot, f.Solo.taken = 0, nil
		f.Continue()
		after, err := f.Snapshot(ctx)
		if err != nil || after == before {
			f.t.Errorf("a snapshot after a restart: got number %d, %v; want another than %d", after, err, before)
		}
		if err := f.Revert(ctx, before); !errors.Is(err, ErrUnknownSnapshot) {
			f.t.Errorf("back to a snapshot from before a restart: got %v, want %v", err, ErrUnknownSnapshot)
		}
	})
}

// Transactions that were pending at a snapshot are pending after a revert to it; later ones are not.
func TestRevertTakesLaterTransactionsBack(t *testing.T) {
	in(t, Manual, func(f *fixture) {
		f.send(alice, payment)
		before := f.pool.Pending(10)[0].Tx.ID()
		id, err := f.Snapshot(f.t.Context())
		if err != nil {
			f.t.Fatal(err)
		}
		f.send(alice, payment)
		f.nonce[types.Account(alice.PublicKey())] += 2
		f.send(alice, payment) // held
		f.send(producerKey, configure(parameters(producerKey.PublicKey())))
		if err := f.Revert(f.t.Context(), id); err != nil {
			f.t.Fatal(err)
		}
		pending := f.pool.Pending(10)
		if len(pending) != 1 || pending[0].Tx.ID() != before {
			f.t.Errorf("%d are pending", len(pending))
		}
	})
}

func TestProductionEndsWithHandover(t *testing.T) {
	in(t, Instant, func(f *fixture) {
		next := parameters(alice.PublicKey())
		f.send(producerKey, configure(next))
		synctest.Wait()
		f.expect("state", f.Status().State, Holding)
		for _, key := range []crypto.PrivateKey{alice, producerKey} {
			f.expect("named in the reason", strings.Contains(f.Status().Reason, types.Account(key.PublicKey()).String()), true)
		}
		f.send(alice, payment)
		synctest.Wait()
		f.expect("height", f.height(), types.Height(1))
		if err := f.Mine(f.t.Context(), 1); !errors.Is(err, ErrNotProducing) {
			f.t.Errorf("got %v, want %v", err, ErrNotProducing)
		}
	})
}

// An engine halts in order before the first block of a version that it does not know, and makes blocks up to that
// point. An engine that knows the version continues, with the version in the header.
func TestUpgrade(t *testing.T) {
	for _, known := range []bool{false, true} {
		for _, blockTime := range []time.Duration{time.Second, Instant} {
			t.Run(fmt.Sprint(known, blockTime), func(t *testing.T) {
				if known {
					_, forget := params.Learn()
					defer forget()
				}
				in(t, blockTime, func(f *fixture) {
					next := parameters(producerKey.PublicKey())
					begin := f.timestamp()
					next.Upgrade = &types.Upgrade{Version: params.Version + 1, From: begin + 5_500}
					f.send(producerKey, configure(next))
					f.pass(5_499 * time.Millisecond)
					synctest.Wait()
					f.expect("state before", f.Status().State, Producing)
					before := f.height()
					f.pass(10 * time.Second)
					if blockTime == Instant {
						f.send(alice, payment)
					}
					synctest.Wait()
					if !known {
						f.expect("state", f.Status().State, Halted)
						f.expect("height", f.height(), before)
						if err := f.Mine(f.t.Context(), 1); !errors.Is(err, ErrNotProducing) {
							f.t.Errorf("got %v, want %v", err, ErrNotProducing)
						}
						return
					}
					f.expect("state", f.Status().State, Producing)
					f.expect("more blocks", f.height() > before, true)
					f.expect("version", f.ledger.Tip().Header.Header.Version, params.Version+1)
				})
			})
		}
	}
}

// An upgrade that is cancelled in time halts no node.
func TestUpgradeIsCancelled(t *testing.T) {
	in(t, time.Second, func(f *fixture) {
		next := parameters(producerKey.PublicKey())
		next.Upgrade = &types.Upgrade{Version: params.Version + 1, From: f.timestamp() + 5_500}
		f.send(producerKey, configure(next))
		f.pass(2500 * time.Millisecond)
		next.Upgrade = nil
		f.send(producerKey, configure(next))
		f.pass(10 * time.Second)
		synctest.Wait()
		f.expect("state", f.Status().State, Producing)
		f.expect("version", f.ledger.Tip().Header.Header.Version, params.Version)
		f.expect("height", f.height(), types.Height(12))
	})
}

// TestTheTimeOfDayJumps moves the time of day forward and back, even by more than the elapsed time: blocks still come
// each second, and their times never go back.
func TestTheTimeOfDayJumps(t *testing.T) {
	in(t, time.Second, func(f *fixture) {
		f.pass(time.Second / 2)
		begin := f.timestamp()
		for _, step := range []struct {
			jump time.Duration
			want uint64 // of the tenth block after it, after begin
		}{
			{0, 10_000},
			{time.Hour, 3_620_000},
			{-time.Hour, 3_620_000},                  // until the clock is back at that time
			{2 * time.Hour, 7_240_000},               // 40 blocks after begin
			{-3 * time.Hour, 7_240_000},              // before the genesis
			{-100 * 365 * 24 * time.Hour, 7_240_000}, // before 1970
			{100*365*24*time.Hour + time.Hour, 7_240_000},
			{2 * time.Hour, 7_280_000},
		} {
			f.wall.jump(step.jump)
			height, last := f.height(), f.timestamp()
			f.send(alice, payment)
			for i := range types.Height(10) {
				f.pass(time.Second)
				synctest.Wait()
				f.expect("height", f.height(), height+i+1)
				if f.timestamp() < last {
					t.Fatalf(
						"after a jump of %v: block %d has the time %d, and the one before has %d", step.jump,
						f.height(), f.timestamp(), last,
					)
				}
				last = f.timestamp()
			}
			f.expect("timestamp", last-begin, step.want)
			f.expect("pending", f.pool.Stats().Count, 0)
		}
	})
}
