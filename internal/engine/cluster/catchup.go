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
	// fetchPause is the interval between retries of a fetch, and giveUpTime the time without progress after which a
	// catch-up is abandoned.
	fetchPause = 500 * time.Millisecond
	giveUpTime = 30 * time.Second
	// leaveTime replaces giveUpTime while another member leads, as the new leader sends its own snapshot.
	leaveTime = 2 * time.Second
	// fetchBlocks is the number of blocks requested at a time. The other member may return fewer.
	fetchBlocks = 512
)

// catching is a received snapshot that waits for the chain and the pool to catch up with it.
type catching struct {
	message *raftpb.Message
	place   Place
	begun   bool     // no entries are applied until the end
	pending *Pending // the sender's pool, at a block up to which the chain is fetched
	asking  bool     // a call is pending
	asked   time.Time
	got     time.Time // when the last data arrived
}

// catchUp starts to catch up with a snapshot, which holds only a place. The blocks up to it and the pending
// transactions are fetched from its sender, and only then is it passed to raft.
func (m *Member) catchUp(message *raftpb.Message) error {
	at, err := DecodePlace(message.GetSnapshot().GetData())
	if err != nil || message.GetTo() != m.self {
		m.Logger.Warn("refused a snapshot from another member", "from", fmt.Sprintf("%x", message.GetFrom()), "error", err)
		return nil
	}
	if m.catching != nil || message.GetTerm() < m.leadership.term ||
		message.GetSnapshot().GetMetadata().GetIndex() <= m.appliedIndex {
		if m.catching == nil {
			return m.receive(message) // raft answers with this member's position
		}
		return nil
	}
	m.Logger.Info("this member's log is too far behind: fetching blocks from another member", "to", at.Head.Height)
	m.catching = &catching{message: message, place: at, got: m.env.Now()}
	return m.nextStep()
}

// retryCatching resumes the catch-up after a failed fetch.
func (m *Member) retryCatching() {
	c := m.catching
	if c == nil || c.asking || m.env.Now().Sub(c.asked) < fetchPause {
		return
	}
	patience := giveUpTime
	if lead := m.leadership.soft.Lead; lead != raft.None && lead != c.message.GetFrom() {
		patience = leaveTime
	}
	if m.env.Now().Sub(c.got) >= patience { // the leader sends another snapshot
		m.abandonSnapshot()
		return
	}
	m.env.Do(Anyone, func() Event { return func(m *Member) error { return m.nextStep() } })
}

// abandonSnapshot abandons the snapshot.
func (m *Member) abandonSnapshot() {
	if m.catching.begun {
		m.applying.working = false
	}
	m.catching = nil
}

// nextStep starts the next step of the catch-up: it requests the sender's pool, then the blocks up to the pool's head,
// and then restores the pool.
func (m *Member) nextStep() error {
	c := m.catching
	switch {
	case c == nil || c.asking:
		return nil
	case c.message.GetSnapshot().GetMetadata().GetIndex() <= m.appliedIndex:
		m.abandonSnapshot() // the log has passed it: restoring the older pool would set this one back
		return m.receive(c.message)
	case !c.begun && (m.applying.working || len(m.applying.messages) > 0):
		return nil // entries that are being applied finish first; a tick resumes
	}
	c.begun, m.applying.working = true, true
	c.asking, c.asked = true, m.env.Now()
	from := c.message.GetFrom()
	if c.pending == nil {
		m.env.Pending(from, func(p Pending, err error) Event {
			return func(m *Member) error { return m.gotPending(c, p, err) }
		})
		return nil
	}
	if height := m.Ledger.Tip().Header.Header.Height; height < c.pending.Head.Height {
		to := min(c.pending.Head.Height, height+fetchBlocks)
		m.env.Blocks(from, height+1, to, func(blocks [][]byte, err error) Event {
			return func(m *Member) error { return m.gotBlocks(c, blocks, err) }
		})
		return nil
	}
	m.env.Do(Applier, func() Event {
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

// gotPending stores the sender's pool.
func (m *Member) gotPending(c *catching, p Pending, err error) error {
	if m.catching != c {
		return nil
	}
	c.asking = false
	// After a restart, the sender has its blocks at once, but its pool is complete only after it has applied its log.
	if err != nil || p.Head.Height < c.place.Head.Height || p.Applied < c.message.GetSnapshot().GetMetadata().GetIndex() {
		return nil // a tick retries
	}
	c.pending, c.got = &p, m.env.Now()
	return m.nextStep()
}

// gotBlocks imports fetched blocks.
func (m *Member) gotBlocks(c *catching, encoded [][]byte, err error) error {
	if m.catching != c {
		return nil
	}
	if err != nil || len(encoded) == 0 {
		c.asking = false
		return nil
	}
	m.env.Do(Applier, func() Event {
		err := m.importAll(encoded)
		return func(m *Member) error {
			if m.catching != c {
				return err
			}
			c.asking, c.got = false, m.env.Now()
			switch {
			case errors.Is(err, ledger.ErrAltered):
				return nil // a tick retries
			case err != nil:
				return diverged(c.message.GetSnapshot().GetMetadata().GetIndex(), nil, err)
			}
			return m.nextStep()
		}
	})
	return nil
}

// importAll imports released blocks from another member, verified as on a replica. It leaves the pool alone until
// restore, so that the log can continue from there if the catch-up is abandoned.
func (m *Member) importAll(encoded [][]byte) error {
	received, bad := ledger.ReceiveAll(m.Ledger.Network(), encoded)
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

// caughtUp passes the snapshot to raft once the chain and the pool have caught up with it.
func (m *Member) caughtUp(c *catching) error {
	index := c.message.GetSnapshot().GetMetadata().GetIndex()
	if err := m.checkKnown(index, c.place.Head.Height, c.place.Head.Hash); err != nil {
		return err
	}
	m.abandonSnapshot()
	m.applying.restarting = true
	return m.receive(c.message)
}

// restore replaces the pool's content by the sender's.
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

// PendingOf returns a snapshot of a pool, with its block, for another member. applied is the index of an entry that
// this member had wholly applied before the call.
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

// BlocksOf returns the encoded released blocks of the given heights: at least one, and as many as have most bytes in
// total.
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
