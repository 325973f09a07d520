package cluster

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"testing"

	"go.etcd.io/raft/v3/raftpb"

	"github.com/cairn-chain/cairn/internal/engine/ledger"
	"github.com/cairn-chain/cairn/internal/engine/mempool"
	"github.com/cairn-chain/cairn/internal/protocol/exec"
	"github.com/cairn-chain/cairn/internal/protocol/vm"
	"github.com/cairn-chain/cairn/internal/storage/chain"
	"github.com/cairn-chain/cairn/internal/testkit/testchain"
	"github.com/cairn-chain/cairn/types"
)

// sendsOf returns a member without a leader, and a function that sends it a transaction of the given size and returns
// the answer, or nil if the transaction waits.
func sendsOf(t *testing.T) (m *Member, take func(size int) *Answer) {
	t.Helper()
	m = &Member{env: still{}}
	return m, func(size int) *Answer {
		var told *Answer
		event := Sent([][]byte{make([]byte, size)}, "somebody", false, func(_ []mempool.Result, a Answer) { told = &a })
		if err := event(m); err != nil {
			t.Fatal(err)
		}
		return told
	}
}

// Ended sends take no room, even while an earlier one waits.
func TestEndedSendsTakeNoRoom(t *testing.T) {
	m, take := sendsOf(t)
	if told := take(1); told != nil {
		t.Fatalf("the first: %v", told.Refused)
	}
	for i := range 3 * maxSends {
		if told := take(1); told != nil {
			t.Fatalf("send %d: %v", i, told.Refused)
		}
		m.sends.all[len(m.sends.all)-1].end(Answer{Refused: ErrHolds})
	}
	if len(m.sends.all) > 100 || m.sends.live.count != 1 {
		t.Errorf("%d sends are kept, %d have not ended", len(m.sends.all), m.sends.live.count)
	}
}

// Waiting transactions are bounded by number and by bytes.
func TestSendsAreBounded(t *testing.T) {
	_, take := sendsOf(t)
	for range maxSends {
		take(1)
	}
	if told := take(1); told == nil || !errors.Is(told.Refused, ErrBusy) {
		t.Errorf("one too many: %v", told)
	}
	m, take := sendsOf(t)
	const large = 1 << 20
	for range maxSendBytes / large {
		take(large)
	}
	if told := take(1); told == nil || !errors.Is(told.Refused, ErrBusy) {
		t.Errorf("a byte too many: %v", told)
	}
	for _, s := range m.sends.all {
		s.end(Answer{Refused: ErrHolds})
	}
	if take(large) != nil || m.sends.live.bytes != large {
		t.Errorf("once they have ended: %d bytes", m.sends.live.bytes)
	}
}

// memberOf returns a member with a pool and a new in-memory chain, whose genesis funds the sender of payments.
func memberOf(t *testing.T) *Member { return memberWith(t, nil) }

// memberWith returns a member whose contracts the engine runs.
func memberWith(t *testing.T, engine vm.Engine) *Member {
	t.Helper()
	g := testchain.Genesis(testchain.Key("producer"), types.CoinUnits, testchain.Key("alice"))
	g.Time = 1
	l := testchain.Open(t, g, engine, chain.Options{})
	pool, err := mempool.New(mempool.Options{}, mempool.HeadOf(l))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := pool.Close(); err != nil {
			t.Error(err)
		}
	})
	return &Member{
		Config: Config{Ledger: l, Pool: pool, Clock: new(Clock)},
		sends:  sends{forwarded: make(map[types.TxID]*types.VerifiedTx)},
	}
}

// A resent transaction is refused as known or as used. If that is due to its own earlier try, it is acknowledged as
// long as the pool or the chain has it: it may have expired.
func TestWhatIsSentAgainIsExcusedWhileItIsThere(t *testing.T) {
	m := memberOf(t)
	expect := func(where string, tx *types.Tx, excused bool) {
		t.Helper()
		for _, refusal := range []error{mempool.ErrKnown, exec.ErrNonceTooLow, mempool.ErrFull} {
			for try := range 2 {
				want := refusal
				if excused && try > 0 && refusal != mempool.ErrFull {
					want = nil
				}
				if err := m.resultError(&send{try: try}, mempool.Result{Tx: tx, Err: refusal}); !errors.Is(err, want) {
					t.Errorf("%s, try %d: %v became %v", where, try, refusal, err)
				}
			}
		}
	}
	add := func(tx *types.Tx) {
		t.Helper()
		if _, err := m.Pool.Add(t.Context(), tx.Encoded(), ""); err != nil {
			t.Fatal(err)
		}
	}
	drop := func(tx *types.Tx) {
		t.Helper()
		if err := m.Pool.Drop(tx.ID()); err != nil {
			t.Fatal(err)
		}
	}
	included, ended := payment(t, 0), payment(t, 1)
	expect("nowhere", included, false)
	add(included)
	expect("pending", included, true)

	batch := ledger.Batch{Time: 2, Transactions: m.Pool.Best(0)}
	if _, err := m.Ledger.Build(batch, testchain.Seal(testchain.Key("producer"))); err != nil {
		t.Fatal(err)
	}
	drop(included)
	expect("in a block alone", included, true)

	add(ended)
	drop(ended)
	expect("ended", ended, false)
}

// follower is the Env of a member that forwards to a leader: requested work is done at once.
type follower struct {
	still
	events []Event
	handed [][]byte
	answer Answer
}

func (f *follower) Do(_ Worker, work func() Event) { f.events = append(f.events, work()) }

func (f *follower) Forward(_ uint64, encoded [][]byte, done func(Answer, error) Event) {
	f.handed = append(f.handed, encoded...)
	f.events = append(f.events, done(f.answer, nil))
}

// A member forwards only verified transactions to the leader, because a leader would blame one bad signature on
// everything sent through that member.
func TestMemberVerifiesWhatItHandsOn(t *testing.T) {
	m := memberOf(t)
	refused := errors.New("the leader's refusal")
	env := &follower{answer: Answer{Results: []error{nil, refused}}}
	m.env = env
	m.leadership.soft.Lead = 7
	forged := slices.Clone(payment(t, 1).Encoded())
	forged[len(forged)-2] ^= 1
	first, last := payment(t, 0).Encoded(), payment(t, 2).Encoded()
	var told []mempool.Result
	event := Sent([][]byte{first, forged, {1}, last}, "client", false, func(r []mempool.Result, _ Answer) { told = r })
	for env.events = []Event{event}; len(env.events) > 0; {
		next := env.events[0]
		env.events = env.events[1:]
		if err := next(m); err != nil {
			t.Fatal(err)
		}
	}
	if len(env.handed) != 2 || !bytes.Equal(env.handed[0], first) || !bytes.Equal(env.handed[1], last) {
		t.Errorf("%d transactions are handed on, want the first and the last", len(env.handed))
	}
	wants := []error{nil, mempool.ErrBadSignature, mempool.ErrMalformed, refused}
	if len(told) != len(wants) {
		t.Fatalf("got %d results, want %d", len(told), len(wants))
	}
	for i, want := range wants {
		if !errors.Is(told[i].Err, want) {
			t.Errorf("transaction %d: got error %v, want %v", i, told[i].Err, want)
		}
	}
}

// A member does not verify a forwarded transaction again when the log returns it, and remembers it only until then.
func TestForwardedIsVerifiedOnce(t *testing.T) {
	m := memberOf(t)
	env := &follower{answer: Answer{Index: 1, Results: []error{nil}}}
	m.env, m.machine, m.leadership.soft.Lead = env, StartStateMachine(0, Head{}), 7
	tx, told := payment(t, 0), 0
	run := func() {
		t.Helper()
		for len(env.events) > 0 {
			next := env.events[0]
			env.events = env.events[1:]
			if err := next(m); err != nil {
				t.Fatal(err)
			}
		}
	}
	env.events = []Event{Sent([][]byte{tx.Encoded()}, "client", false, func([]mempool.Result, Answer) { told++ })}
	run()
	forwarded := m.sends.forwarded[tx.ID()]
	if forwarded == nil || told != 0 {
		t.Fatalf("%v is kept, and %d sends have ended before the log has it", forwarded, told)
	}
	entries := []*raftpb.Entry{{Index: new(uint64(1)), Data: Encode(TxBatch{Transactions: []*types.Tx{tx}})}}
	m.applying.messages = []*raftpb.Message{{Entries: entries}}
	if err := m.applyBatches(entries); err != nil {
		t.Fatal(err)
	}
	run()
	if pending, _ := m.Pool.Get(tx.ID()); pending != forwarded || told != 1 || len(m.sends.forwarded) != 0 {
		t.Errorf("pending is %p, forwarded %p; %d sends have ended, %d are kept", pending, forwarded, told,
			len(m.sends.forwarded))
	}
}

// ending is the Env of a member that has ended.
type ending struct{ follower }

func (*ending) Context() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}

// A member ends although its pool is never notified of a block that clients can read.
func TestChecksEndWithTheMember(t *testing.T) {
	m := memberOf(t)
	head := mempool.HeadOf(m.Ledger)
	head.Newest = func() types.Height { return head.Height + 1 }
	pool, err := mempool.New(mempool.Options{}, head)
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	m.Pool = pool
	env := new(ending)
	m.env = env
	m.checkSend(&send{encoded: [][]byte{payment(t, 1<<20).Encoded()}}) // its nonce is too high for the head
	if len(env.events) != 1 {
		t.Errorf("got %d events, want the end of the check", len(env.events))
	}
}
