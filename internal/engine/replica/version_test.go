package replica

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/cairn-chain/cairn/internal/engine/ledger"
	"github.com/cairn-chain/cairn/internal/protocol/params"
	"github.com/cairn-chain/cairn/internal/testkit/testchain"
	"github.com/cairn-chain/cairn/types"
)

// upgrading is a fixture whose chain announces an upgrade a minute after its start, in block 11.
type upgrading struct {
	*fixture
	from uint64
}

func inUpgrade(t *testing.T, sources int, do func(*upgrading)) {
	t.Helper()
	in(t, 0, sources, func(f *fixture) {
		g := testGenesis()
		g.Parameters.Notice, g.Parameters.Admin = 0, alice.PublicKey()
		f.primary, f.chain = openChain(f.t, g), openChain(f.t, g)
		for _, s := range f.sources {
			s.set(func(s *faultySource) { s.chain = f.primary })
		}
		extend(f.t, f.primary, 10)
		u := &upgrading{f, uint64(time.Now().Add(time.Minute).UnixMilli())}
		p := g.Parameters
		p.Upgrade = &types.Upgrade{Version: params.Version + 1, From: u.from}
		tx := signedTx(10, 100_000, types.Transaction{Payload: types.Configure{Parameters: p}})
		_, err := f.primary.Build(ledger.Batch{
			Time:         f.primary.Tip().Header.Header.Timestamp + 1,
			Transactions: &testchain.List{types.VerifyWitnesses(types.Regtest, types.NewTxs(tx))[0]},
		}, sign)
		check(f.t, err)
		if !f.primary.Tip().Parameters.Equal(p) {
			f.t.Fatal("the upgrade is not announced")
		}
		f.start()
		f.pass(5 * time.Second)
		f.synced()
		do(u)
	})
}

// gives has a source provide blocks of a version after a height, with the given timestamp. Only the beginnings of such
// blocks can be checked.
func (u *upgrading) gives(source int, after types.Height, version uint32, timestamp uint64) {
	head, err := u.primary.Header(after)
	check(u.t, err)
	h := types.Header{
		Version: version, ChainID: 7, Height: after + 1, Parent: head.Header.Hash(), Timestamp: timestamp,
	}
	u.sources[source].set(func(s *faultySource) {
		s.blocks = func(from, to types.Height, answer [][]byte) ([][]byte, error) {
			if from <= h.Height && h.Height <= to {
				answer = append(answer[:min(len(answer), int(h.Height-from))], append(h.Encode()[:60], "anything"...))
			}
			return answer, nil
		}
		s.probe = func(p Probe) Probe {
			p.Head, p.Primary = h.Height, h.Height
			return p
		}
	})
}

func (u *upgrading) honest(source int) {
	u.sources[source].set(func(s *faultySource) { s.blocks, s.probe = nil, nil })
}

// A block of an announced version that the node does not know is held back until the clock reaches the upgrade. Then
// the node halts, and loses nothing. If an upstream gives a block that the node can check, it continues with that one.
func TestUnknownVersion(t *testing.T) {
	inUpgrade(t, 2, func(u *upgrading) {
		for i := range u.sources {
			u.gives(i, 11, params.Version+1, u.from)
		}
		u.pass(20 * time.Second)
		if s := u.Status(); s.State != StateHolding || !strings.Contains(s.Reason, "version 3") || u.height() != 11 {
			u.t.Fatalf("before its time: at %d, %+v", u.height(), s)
		}
		if u.faults(0, Lied)+u.faults(1, Lied) != 0 {
			u.t.Errorf("nobody is known to lie: got %+v", u.Status().Upstreams)
		}

		_, err := u.primary.Build(emptyBatch(u.from-20_000), sign)
		check(u.t, err)
		u.honest(1)
		u.pass(10 * time.Second)
		if u.height() != 12 || u.faults(0, Lied) == 0 || !u.Status().Upstreams[1].InUse {
			u.t.Fatalf("with a block that can be checked: at %d, %+v", u.height(), u.Status().Upstreams)
		}

		for i := range u.sources {
			u.gives(i, 12, params.Version+1, u.from+5)
		}
		u.pass(2 * time.Minute)
		h := u.Halt()
		if h == nil || h.Reason != UnknownVersion || h.Height != 13 || !strings.Contains(h.Message, "version 3") {
			u.t.Fatalf("at its time: halted with %+v", h)
		}
		if s := u.Status(); s.State != StateHalted || u.height() != 12 {
			u.t.Errorf("at %d, %+v", u.height(), s)
		}
		if _, err := os.Stat(u.haltFile); !os.IsNotExist(err) {
			u.t.Errorf("there is evidence against nobody: error %v", err)
		}
		u.start() // once more
		u.pass(time.Minute)
		if h := u.Halt(); h == nil || h.Reason != UnknownVersion {
			u.t.Errorf("started anew, halted with %+v", h)
		}

		// The blocks were forged: the chain has another one, from before the upgrade.
		_, err = u.primary.Build(emptyBatch(u.from-1), sign)
		check(u.t, err)
		u.honest(0)
		u.pass(30 * time.Second)
		if u.Halt() != nil || u.height() != 13 {
			u.t.Errorf("at %d, halted with %+v, log %v", u.height(), u.Halt(), u.Status())
		}
	})
}

// Blocks of a version that the chain has not announced, or with a time before the upgrade, are lies.
func TestVersionsNobodyAnnounced(t *testing.T) {
	for name, c := range map[string]struct {
		version uint32
		early   uint64
	}{
		"a version after the next":    {params.Version + 2, 0},
		"an earlier version":          {params.Version - 1, 0},
		"the next before its time":    {params.Version + 1, 1},
		"the next long before that":   {params.Version + 1, 60_000},
		"a version of all bits, late": {1<<32 - 1, 0},
	} {
		t.Run(name, func(t *testing.T) {
			inUpgrade(t, 2, func(u *upgrading) {
				u.gives(0, 11, c.version, u.from-c.early)
				_, err := u.primary.Build(emptyBatch(u.from-50_000), sign)
				check(u.t, err)
				u.pass(20 * time.Second)
				u.synced()
				if u.faults(0, Lied) == 0 || u.height() != 12 {
					u.t.Errorf("at %d, %+v", u.height(), u.Status().Upstreams)
				}
			})
		})
	}
}

// A producer is at fault if it seals a block of the old version with a time after the upgrade.
func TestOldVersionTooLate(t *testing.T) {
	inUpgrade(t, 1, func(u *upgrading) {
		_, err := u.primary.Build(emptyBatch(u.from-1), sign)
		check(u.t, err)
		u.sources[0].set(func(s *faultySource) {
			s.blocks = at(12, func(b []byte) []byte {
				return resigned(u.t, b, func(block *types.Block) { block.Header.Timestamp++ })
			})
		})
		u.pass(90 * time.Second)
		if h := u.Halt(); h == nil || h.Reason != Diverged || !strings.Contains(h.Message, "version") || u.height() != 11 {
			u.t.Errorf("at %d, halted with %+v", u.height(), h)
		}
	})
}
