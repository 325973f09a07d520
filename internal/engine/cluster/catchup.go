package cluster

import (
	"errors"
	"fmt"
	"time"

	"go.etcd.io/raft/v3"
	"go.etcd.io/raft/v3/raftpb"

	"github.com/cairn-chain/cairn/internal/engine/ledger"
	"github.com/cairn-chain/cairn/internal/engine/mempool"
	"github.com/cairn-chain/cairn/types"
)

const (
	// fetchPause is between two tries to fetch from another member, giveUpTime how long one is tried without success.
	fetchPause = 500 * time.Millisecond
	giveUpTime = 30 * time.Second
	// leaveTime is how long it is tried while another member leads, which sends a snapshot of its own.
	leaveTime = 2 * time.Second
	// fetchBlocks are asked for at a time; how many come the other member decides.
	fetchBlocks = 512
)

// catching is a snapshot that came, and waits until the chain and the pool are where it is.
type catching struct {
	message *raftpb.Message
	place   Place
	begun   bool     // nothing else is applied meanwhile
	pending *Pending // of the sender, at a block to which the chain is to come
	asking  bool     // an answer is waited for
	asked   time.Time
	got     time.Time // when something came last
}

// catchUp takes a snapshot, which has no data but a place: the blocks until then, and what was pending, are fetched
// from its sender, and only then raft sees it.
func (m *Member) catchUp(message *raftpb.Message) error {
	at, err := DecodePlace(message.GetSnapshot().GetData())
	if err != nil || message.GetTo() != m.self {
		m.Logger.Warn("a snapshot is refused", "from", fmt.Sprintf("%x", message.GetFrom()), "error", err)
		return nil
	}
	if m.catching != nil || message.GetTerm() < m.standing.term ||
		message.GetSnapshot().GetMetadata().GetIndex() <= m.decisions.done {
		if m.catching == nil {
			return m.receive(message) // it says where this member is
		}
		return nil
	}
	m.Logger.Info("the log is behind: blocks are fetched from another member", "to", at.Head.Height)
	m.catching = &catching{message: message, place: at, got: m.world.Now()}
	return m.goOn()
}

// retryCatching goes on with what was waited for.
func (m *Member) retryCatching() {
	c := m.catching
	if c == nil || c.asking || m.world.Now().Sub(c.asked) < fetchPause {
		return
	}
	patience := giveUpTime
	if lead := m.standing.soft.Lead; lead != raft.None && lead != c.message.GetFrom() {
		patience = leaveTime
	}
	if m.world.Now().Sub(c.got) >= patience { // the leader sends another one
		m.giveUp()
		return
	}
	m.world.Do(Anyone, func() Event { return func(m *Member) error { return m.goOn() } })
}

// giveUp leaves a snapshot alone.
func (m *Member) giveUp() {
	if m.catching.begun {
		m.applying.working = false
	}
	m.catching = nil
}

// goOn does the next thing: the pool of the sender is asked for, then the blocks until its head are fetched.
func (m *Member) goOn() error {
	c := m.catching
	switch {
	case c == nil || c.asking:
		return nil
	case c.message.GetSnapshot().GetMetadata().GetIndex() <= m.decisions.done:
		m.giveUp() // the log has come past it: what was pending there would put the pool back
		return m.receive(c.message)
	case !c.begun && (m.applying.working || len(m.applying.messages) > 0):
		return nil // what is being applied comes first; a tick comes back to it
	}
	c.begun, m.applying.working = true, true
	c.asking, c.asked = true, m.world.Now()
	from := c.message.GetFrom()
	if c.pending == nil {
		m.world.Pending(from, func(p Pending, err error) Event {
			return func(m *Member) error { return m.gotPending(c, p, err) }
		})
		return nil
	}
	if height := m.Ledger.Tip().Header.Header.Height; height < c.pending.Head.Height {
		to := min(c.pending.Head.Height, height+fetchBlocks)
		m.world.Blocks(from, height+1, to, func(blocks [][]byte, err error) Event {
			return func(m *Member) error { return m.gotBlocks(c, blocks, err) }
		})
		return nil
	}
	m.world.Do(Applier, func() Event {
		err := m.restore(c.pending)
		return func(m *Member) error {
			if m.catching != c || err != nil {
				return err
			}
			return m.caughtUp(c)
		}
	})
	return nil
}

// gotPending notes the sender's pool.
func (m *Member) gotPending(c *catching, p Pending, err error) error {
	if m.catching != c {
		return nil
	}
	c.asking = false
	// A sender that was started anew has the blocks at once, and what was pending only when it has applied its log.
	if err != nil || p.Head.Height < c.place.Head.Height || p.Applied < c.message.GetSnapshot().GetMetadata().GetIndex() {
		return nil // it is asked again
	}
	c.pending, c.got = &p, m.world.Now()
	return m.goOn()
}

// gotBlocks imports blocks.
func (m *Member) gotBlocks(c *catching, encoded [][]byte, err error) error {
	if m.catching != c {
		return nil
	}
	if err != nil || len(encoded) == 0 {
		c.asking = false
		return nil
	}
	m.world.Do(Applier, func() Event {
		err := m.importAll(encoded)
		return func(m *Member) error {
			if m.catching != c {
				return err
			}
			c.asking, c.got = false, m.world.Now()
			switch {
			case errors.Is(err, ledger.ErrAltered):
				return nil // the sender is asked again
			case err != nil:
				return &Diverged{Index: c.message.GetSnapshot().GetMetadata().GetIndex(), Err: err}
			}
			return m.goOn()
		}
	})
	return nil
}

// importAll imports blocks that another member has released, with all that a replica verifies. The pool stays where the
// log has brought it until it is restored: if that comes to nothing, the log goes on from there.
func (m *Member) importAll(encoded [][]byte) error {
	received, bad := ledger.ReceiveAll(encoded)
	for len(received) > 0 {
		if err := m.Ledger.CheckNext(received[0]); err != nil {
			return err
		}
		blocks, err := m.Ledger.Import(received...)
		if err != nil {
			return err
		}
		for _, b := range blocks {
			if m.OnBlock != nil {
				m.OnBlock(b)
			}
		}
		received = received[len(blocks):]
	}
	return bad
}

// caughtUp hands the snapshot to raft, once the chain and the journal are on disk to where it is.
func (m *Member) caughtUp(c *catching) error {
	index := c.message.GetSnapshot().GetMetadata().GetIndex()
	if err := m.checkKnown(index, c.place.Head.Height, c.place.Head.Hash); err != nil {
		return err
	}
	m.giveUp()
	m.applying.restarting = true
	return m.receive(c.message)
}

// restore takes what the sender's pool holds.
func (m *Member) restore(p *Pending) error {
	taken := make([]mempool.Taken, 0, len(p.Transactions))
	for _, t := range p.Transactions {
		tx, err := types.DecodeTx(t.Encoded)
		if err != nil {
			return err
		}
		taken = append(taken, mempool.Taken{Tx: tx, Added: time.UnixMilli(int64(t.Time))})
	}
	head, err := mempool.HeadAt(m.Ledger, p.Head.Height)
	if err != nil {
		return err
	}
	return m.Pool.Restore(p.Applied, head, taken)
}

// PendingOf is a pool as another member is told of it, with the block that it is at. applied is an entry that this
// member had wholly applied before.
func PendingOf(applied uint64, pool *mempool.Pool, l *ledger.Ledger) (Pending, error) {
	at, all := pool.All()
	header, err := l.Header(at.Height)
	if err != nil {
		return Pending{}, err
	}
	p := Pending{Applied: max(applied, at.Index), Head: Head{at.Height, header.Header.Hash()}}
	for _, t := range all {
		p.Transactions = append(p.Transactions, PendingTransaction{uint64(t.Added.UnixMilli()), t.Tx.Encoded()})
	}
	return p, nil
}

// BlocksOf are the released blocks of some heights, at least one and as many as have so many bytes together.
func BlocksOf(l *ledger.Ledger, from, to types.Height, most int) ([][]byte, error) {
	var encoded [][]byte
	for h := from; h <= min(to, l.Tip().Header.Header.Height); h++ {
		block, err := l.Store().EncodedBlock(h)
		if err != nil {
			return nil, err
		}
		b := block.Bytes
		if most -= len(b); most < 0 && len(encoded) > 0 {
			break
		}
		encoded = append(encoded, b)
	}
	return encoded, nil
}
