package cluster

import (
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"go.etcd.io/raft/v3"
	"go.etcd.io/raft/v3/raftpb"

	"github.com/cairn-chain/cairn/internal/engine/ledger"
	"github.com/cairn-chain/cairn/internal/protocol/vm"
	"github.com/cairn-chain/cairn/internal/testkit/testchain"
	"github.com/cairn-chain/cairn/internal/testkit/wasmgen"
	"github.com/cairn-chain/cairn/types"
)

// TestCutLeavesWhatRaftReads opens a member whose log has 40 entries in one message. The member has applied all of
// them, but raft knows of only some: the entries after those must stay.
func TestCutLeavesWhatRaftReads(t *testing.T) {
	const last = firstIndex + 40
	for _, c := range []struct {
		heard, at uint64 // 0: the log is not truncated
	}{
		{firstIndex, 0},
		{firstIndex + 1, firstIndex + 1},
		{firstIndex + 20, firstIndex + 20},
		{last, last - 10},
	} {
		log := soloLog(t)
		commit := uint64(last)
		rd := raft.Ready{HardState: &raftpb.HardState{Term: new(uint64(1)), Commit: &commit}}
		m := &Member{Config: Config{Log: log, Compaction: Compaction{Every: 1, Keep: 10}}, appliedIndex: last}
		for index := uint64(firstIndex + 1); index <= last; index++ {
			rd.Entries = append(rd.Entries, &raftpb.Entry{Index: new(index), Term: new(uint64(1))})
			m.checkpoints = append(m.checkpoints, place{index: index})
		}
		if err := log.Save(rd); err != nil {
			t.Fatal(err)
		}
		var err error
		m.raw, err = raft.NewRawNode(&raft.Config{
			ID:              log.Member().ID,
			ElectionTick:    electionTicks,
			HeartbeatTick:   heartbeatTicks,
			Storage:         log,
			Applied:         c.heard,
			MaxSizePerMsg:   maxMessage,
			MaxInflightMsgs: maxMessages,
			Logger:          raftLogger{slog.New(slog.DiscardHandler)},
		})
		if err != nil {
			t.Fatal(err)
		}
		at, long := m.compactAt()
		if at.index != c.at && long || long != (c.at != 0) {
			t.Errorf("raft has heard of %d: cut at %d, %t; want %d", c.heard, at.index, long, c.at)
		}
		if !long {
			continue
		}
		if err := log.Cut(at.index, at.conf, nil); err != nil {
			t.Fatal(err)
		}
		if err := m.raw.Campaign(); err != nil { // it reads the entries that it does not know of
			t.Error(err)
		}
	}
}

// later is an Env whose work is done when the test says so.
type later struct {
	still
	work []func() Event
}

func (l *later) Do(_ Worker, work func() Event) { l.work = append(l.work, work) }

// next does the oldest requested work.
func (l *later) next(m *Member) error {
	event := l.work[0]()
	l.work = l.work[1:]
	return event(m)
}

// TestFetchedProposalIsReleased has the proposal's block arrive from another member during each step. The chain then
// has the block, and there is nothing left to derive or append.
func TestFetchedProposalIsReleased(t *testing.T) {
	for name, c := range map[string]struct {
		step  int // the write before which the chain gets a block
		other bool
	}{
		"before it is derived":                {1, false},
		"after it was derived":                {2, false},
		"another one, before it is derived":   {1, true},
		"another one, after this was derived": {2, true},
	} {
		t.Run(name, func(t *testing.T) {
			m, env := memberOf(t), new(later)
			m.env = env
			batch := func(time uint64) ledger.Batch { return ledger.Batch{Time: time, Transactions: m.Pool.Best(0)} }
			d, err := m.Ledger.Propose(batch(2))
			if err != nil {
				t.Fatal(err)
			}
			fetch := func() error {
				fetched := batch(2)
				if c.other {
					fetched = batch(3)
				}
				_, err := m.Ledger.Build(fetched, func(h types.BlockHash) (types.Signature, error) {
					return testchain.Key("producer").Sign(h[:], [32]byte{})
				})
				return err
			}
			steps := []func() error{
				func() error { return m.decided(&Proposal{1, Block{Header: d.Header(), Encoded: d.Encode()}}) },
				func() error { return env.next(m) },
				func() error {
					r := release(t, "producer", *m.proposal.Proposal)
					m.applying.releasing = &r
					return m.release()
				},
			}
			for _, step := range slices.Insert(steps, c.step, fetch) {
				if err = step(); err != nil {
					break
				}
			}
			if c.other {
				if !errors.As(err, new(*Diverged)) || !errors.Is(err, ErrForged) {
					t.Errorf("the chain has another block: %v", err)
				}
				return
			}
			if err != nil || !m.proposal.known || m.proposal.block != nil || len(env.work) != 1 {
				t.Fatalf("known %t, %d to be done: %v", m.proposal.known, len(env.work), err)
			}
			if env.work[0](); m.Pool.Height() != 1 || m.Ledger.Tip().Header.Header.Height != 1 {
				t.Errorf("the pool is at %d, the chain at %d", m.Pool.Height(), m.Ledger.Tip().Header.Header.Height)
			}
		})
	}
}

// ticking is an engine whose calls do nothing for a price. asked counts them.
type ticking struct {
	price uint64
	asked *int
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
	*e.asked++
	gas.Left -= e.price
	return vm.Returned, nil
}

// TestSecondOpinion has a decided block for which a member's engine derives another header. The member continues if
// another engine derives the decided one. Otherwise the member stops participating, and reports each engine's result.
func TestSecondOpinion(t *testing.T) {
	for name, c := range map[string]struct {
		price  uint64 // in the other engine
		agrees bool
	}{
		"the other comes to what is decided": {10, true},
		"the other does not, either":         {12, false},
	} {
		t.Run(name, func(t *testing.T) {
			var first, second int
			leader := memberWith(t, ticking{10, new(int)})
			m, env := memberWith(t, ticking{10, new(int)}), new(later)
			m.env = env
			named := func(name string, e vm.Engine) ledger.NamedEngine {
				return ledger.NamedEngine{Name: name, Get: func() (vm.Engine, error) { return e, nil }}
			}
			m.Ledger.Fallback.Engines = []ledger.NamedEngine{
				named("the engine", ticking{11, &first}), named("another", ticking{c.price, &second}),
			}
			key := testchain.Key("alice")
			contract := types.Account(types.NewContractID(key.PublicKey(), 0))
			for i, payload := range []types.Payload{
				types.Deploy{Name: "hostile", Code: wasmgen.Hostile(false).Encode()}, types.Call{Function: "recurse"},
			} {
				target := types.Account{}
				if i == 1 {
					target = contract
				}
				tx, err := types.Sign(types.Transaction{
					Target:               target,
					ChainID:              7,
					Sender:               key.PublicKey(),
					Nonce:                uint64(i),
					GasLimit:             5_000_000,
					MaxFeePerGas:         10,
					MaxPriorityFeePerGas: 0,
					Payload:              payload,
				}, key, [32]byte{})
				if err != nil {
					t.Fatal(err)
				}
				if _, err := leader.Pool.Add(t.Context(), tx.Encode(), "somebody"); err != nil {
					t.Fatal(err)
				}
			}
			d, err := leader.Ledger.Propose(ledger.Batch{Time: 2, Transactions: leader.Pool.Best(0)})
			if err != nil {
				t.Fatal(err)
			}
			if err := m.decided(&Proposal{1, Block{Header: d.Header(), Encoded: d.Encode()}}); err != nil {
				t.Fatal(err)
			}
			err = env.next(m)
			if first != 1 || second != 1 {
				t.Errorf("the engines were asked %d and %d times, want 1 and 1", first, second)
			}
			if c.agrees {
				if block := m.proposal.block; err != nil || block == nil || block.Header() != d.Header() {
					t.Errorf("got %+v, %v, want the block that was decided", block, err)
				}
				return
			}
			var invalid *ledger.InvalidBlock
			if !errors.As(err, new(*Diverged)) || !errors.As(err, &invalid) || len(invalid.Verdicts) != 2 {
				t.Fatalf("got %v, want that it has diverged, by two verdicts", err)
			}
			for _, v := range invalid.Verdicts {
				if want := v.Engine + " derives " + v.Derived.Hash().String(); !strings.Contains(err.Error(), want) {
					t.Errorf("got %q, want %q in it", err, want)
				}
			}
		})
	}
}
