package cluster

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"go.etcd.io/raft/v3"
	"go.etcd.io/raft/v3/raftpb"

	"github.com/cairn-chain/cairn/internal/engine/mempool"
	"github.com/cairn-chain/cairn/internal/protocol/exec"
	"github.com/cairn-chain/cairn/internal/storage/chain"
	"github.com/cairn-chain/cairn/types"
)

const (
	// waitTime is how long transactions wait until they are decided on, over all tries.
	waitTime = 5 * time.Second
	// Bounds of the sends that are under way: how many, and their transactions' bytes.
	maxSends     = 4096
	maxSendBytes = 64 << 20
	// maxFlying bounds the batches that are not applied. One of these is not decided at a time: what comes meanwhile is
	// the next.
	maxFlying = 4
)

// Sent is the event of transactions that are to be taken. source is as for the pool. reply is told of what became of
// them, once, when this member has applied what it is told of. Those that another member has handed on are taken only
// if this one leads.
func Sent(encoded [][]byte, source string, handedOn bool, reply func([]mempool.Result, Answer)) Event {
	return func(m *Member) error {
		size := 0
		for _, b := range encoded {
			size += len(b)
		}
		live := &m.sends.live
		if live.count >= maxSends || live.bytes+size > maxSendBytes {
			reply(nil, Answer{Refused: ErrBusy})
			return nil
		}
		live.count, live.bytes = live.count+1, live.bytes+size
		s := &send{
			encoded:  encoded,
			source:   source,
			handedOn: handedOn,
			until:    m.world.Now().Add(waitTime),
			reply: func(r []mempool.Result, a Answer) {
				live.count, live.bytes = live.count-1, live.bytes-size
				reply(r, a)
			},
		}
		m.sends.prune()
		m.sends.all = append(m.sends.all, s)
		m.sends.waiting = append(m.sends.waiting, s)
		m.sends.route(m)
		return nil
	}
}

// send is transactions on their way.
type send struct {
	encoded  [][]byte
	source   string
	handedOn bool
	until    time.Time
	reply    func([]mempool.Result, Answer) // nil once it was told

	try     int
	results []mempool.Result
	open    int    // of the present try, without a result
	index   uint64 // up to which this member must have applied, before it tells
	asked   uint64 // the leader that has not answered yet; 0: none
}

// end tells what became of the transactions.
func (s *send) end(a Answer) {
	if s.reply == nil {
		return
	}
	reply := s.reply
	s.reply = nil
	if a.Refused == nil {
		a.Index, a.Results = s.index, make([]error, len(s.results))
		for i, r := range s.results {
			a.Results[i] = r.Err
		}
	}
	reply(s.results, a)
}

// item is one transaction of a send that is to be proposed.
type item struct {
	*send
	try      int // of the send, to which it belongs
	place    int // in the send
	verified *types.VerifiedTx
}

// inflight is a proposed batch that is not decided yet.
type inflight struct {
	at    time.Time
	term  uint64
	data  []byte
	batch TxBatch
	items []item
}

// sends are all that are under way.
type sends struct {
	live struct{ count, bytes int } // of those that have not ended

	all       []*send // by their end; some may have ended
	waiting   []*send // for a leader
	queue     []item  // of a leader, to be proposed
	proposed  []*inflight
	flying    map[uint64]*inflight // by index
	last      uint64               // index of the last that this leader has proposed
	committed uint64               // the last entry that is decided
	behind    []*send              // wait until this member has applied what they are told of
}

// route hands on what waits: to the leader, or to this member's own pool.
func (s *sends) route(m *Member) {
	waiting := s.waiting
	s.waiting = nil
	for _, send := range waiting {
		switch {
		case send.reply == nil:
		case m.leads() && m.barred() != "" && m.successor() == 0:
			send.end(Answer{Refused: ErrHolds})
		case m.leads() && m.barred() != "": // leadership is about to be handed on
			s.waiting = append(s.waiting, send)
		case m.leads():
			m.screen(send)
		case m.standing.soft.Lead == m.self:
			s.waiting = append(s.waiting, send)
		case send.handedOn:
			send.end(Answer{Refused: ErrNotLeader})
		case m.standing.soft.Lead == raft.None:
			s.waiting = append(s.waiting, send)
		default:
			m.forward(send)
		}
	}
}

// again has a send wait for another try.
func (s *sends) again(send *send) {
	send.try++
	s.waiting = append(s.waiting, send)
}

// screen asks the pool what of a send may be proposed.
func (m *Member) screen(s *send) {
	try := s.try
	m.world.Do(Anyone, func() Event {
		screened := m.Pool.Screen(context.Background(), s.encoded, s.source)
		return func(m *Member) error {
			if s.reply == nil || s.try != try {
				return nil
			}
			if !m.leads() {
				m.sends.again(s)
				return nil
			}
			s.results, s.open = make([]mempool.Result, len(screened)), 0
			s.index = m.decisions.machine.Applied() // what the pool knows may be of entries that are being applied
			for i, r := range screened {
				s.results[i] = mempool.Result{Tx: r.Tx, Err: r.Err}
				if r.Verified != nil {
					s.open++
					m.sends.queue = append(m.sends.queue, item{s, try, i, r.Verified})
				}
			}
			if s.open == 0 {
				m.answered(s)
			}
			return nil
		}
	})
}

// excused is the error of a result, and nil for the refusal of a transaction that an earlier try of its send had taken.
func (m *Member) excused(s *send, r mempool.Result) error {
	switch {
	case s.try == 0 || r.Tx == nil:
		return r.Err
	case errors.Is(r.Err, mempool.ErrKnown), errors.Is(r.Err, exec.ErrNonceTooLow):
		if _, pending := m.Pool.Get(r.Tx.ID()); pending { // its age may have ended it meanwhile
			return nil
		}
		if _, err := m.Ledger.Store().FindTransaction(r.Tx.ID()); !errors.Is(err, chain.ErrNotFound) {
			return err
		}
	}
	return r.Err
}

// propose proposes what waits, as much as one entry holds.
func (s *sends) propose(m *Member) error {
	if len(s.queue) > 0 && len(s.proposed) == 0 && s.last <= m.sends.committed && len(s.flying) < maxFlying {
		n, size := 0, 0
		for n < len(s.queue) && (n == 0 || size+len(s.queue[n].verified.Encoded()) <= MaxTxBatchBytes) {
			size += len(s.queue[n].verified.Encoded())
			n++
		}
		p := &inflight{at: m.world.Now(), term: m.standing.term, items: s.queue[:n:n]}
		p.batch.Time = uint64(max(0, m.fairTime().UnixMilli()))
		for _, i := range p.items {
			p.batch.Transactions = append(p.batch.Transactions, i.verified.Tx())
		}
		p.data = Encode(p.batch)
		if err := m.raw.Propose(p.data); errors.Is(err, raft.ErrProposalDropped) {
			return nil // too much is under way, or leadership is being handed on
		} else if err != nil {
			return err
		}
		s.queue = s.queue[n:]
		s.proposed = append(s.proposed, p)
	}
	return nil
}

// placed notes at which index proposals have come into the log.
func (s *sends) placed(entries []*raftpb.Entry) {
	for _, e := range entries {
		if len(s.proposed) == 0 {
			return
		}
		p := s.proposed[0]
		if e.GetTerm() == p.term && bytes.Equal(e.GetData(), p.data) {
			s.flying[e.GetIndex()], s.last = p, e.GetIndex()
			s.proposed = s.proposed[1:]
		}
	}
}

// own tells whether the entries from one to another are batches on their way of which this member's callers alone wait
// to hear.
func (s *sends) own(from, to uint64) bool {
	for i := from; i <= to; i++ {
		if p := s.flying[i]; p == nil || slices.ContainsFunc(p.items, func(i item) bool { return i.handedOn }) {
			return false
		}
	}
	return true
}

// giveBack has what was not proposed wait for the new leader.
func (s *sends) giveBack() {
	queue := s.queue
	for _, p := range s.proposed {
		queue = append(queue, p.items...)
	}
	s.queue, s.proposed = nil, nil
	s.retry(queue)
}

// retry has the sends of transactions that were not decided on wait for another try.
func (s *sends) retry(items []item) {
	for _, i := range items {
		if i.reply != nil && i.try == i.send.try {
			s.again(i.send)
		}
	}
}

// kept notes what the pool said of a decided batch. If it says nothing, having had the batch from another member, the
// sends wait for another try, which finds that their transactions are known.
func (s *sends) kept(e *raftpb.Entry, results []mempool.Result) {
	p := s.flying[e.GetIndex()]
	if p == nil || p.term != e.GetTerm() {
		return
	}
	if results == nil {
		s.retry(p.items)
		return
	}
	for i, item := range p.items {
		if item.try != item.send.try {
			continue
		}
		item.results[item.place].Err = results[i].Err
		item.index = e.GetIndex()
		if item.open--; item.open == 0 {
			s.behind = append(s.behind, item.send)
		}
	}
}

// passed ends what an applied entry decides: sends that waited for it, and a proposal that did not come there.
func (s *sends) passed(m *Member, e *raftpb.Entry) {
	if p := s.flying[e.GetIndex()]; p != nil {
		delete(s.flying, e.GetIndex())
		if p.term != e.GetTerm() {
			s.retry(p.items)
		} else if m.OnTxBatch != nil {
			m.OnTxBatch(m.world.Now().Sub(p.at))
		}
	}
	s.tell(m)
}

// tell ends the sends that this member has applied.
func (s *sends) tell(m *Member) {
	s.behind = slices.DeleteFunc(s.behind, func(send *send) bool {
		if send.index > m.decisions.done {
			return false
		}
		for i := range send.results {
			send.results[i].Err = m.excused(send, send.results[i])
		}
		send.end(Answer{})
		return true
	})
}

// lost has proposals up to an index tried again: whether they came into the log is not known.
func (s *sends) lost(m *Member, index uint64) {
	for _, at := range slices.Sorted(maps.Keys(s.flying)) {
		if at <= index {
			s.retry(s.flying[at].items)
			delete(s.flying, at)
		}
	}
	s.tell(m)
}

// expireSends ends what has waited for too long.
func (m *Member) expireSends() {
	now := m.world.Now()
	m.sends.prune()
	for _, s := range m.sends.all {
		if now.Before(s.until) {
			break
		}
		s.end(Answer{Refused: ErrNoLeader})
	}
}

// prune forgets the sends at the front that have ended, and all that have where they are most.
func (s *sends) prune() {
	n := 0
	for n < len(s.all) && s.all[n].reply == nil {
		n++
	}
	s.all = slices.Delete(s.all, 0, n)
	if len(s.all) > 2*s.live.count+64 {
		s.all = slices.DeleteFunc(s.all, func(one *send) bool { return one.reply == nil })
	}
}
