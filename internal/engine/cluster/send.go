package cluster

import (
	"bytes"
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
	// waitTime is the time limit for a decision on transactions, over all tries.
	waitTime = 5 * time.Second
	// Bounds of the sends in progress: their number, and their transactions' bytes.
	maxSends     = 4096
	maxSendBytes = 64 << 20
	// maxFlying bounds the batches that are not applied yet. Only one of them may be undecided; transactions that
	// arrive meanwhile go into the next one.
	maxFlying = 4
)

// Sent returns the event that transactions were submitted. source is as in [mempool.Pool.AddMany]. reply is called
// once, after this member has applied the log up to the reported results. Transactions that another member forwarded
// are taken only if this member leads.
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
			until:    m.env.Now().Add(waitTime),
			reply: func(r []mempool.Result, a Answer) {
				live.count, live.bytes = live.count-1, live.bytes-size
				for _, one := range r {
					if one.Tx != nil {
						delete(m.sends.forwarded, one.Tx.ID())
					}
				}
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

// send is a submission in progress.
type send struct {
	encoded  [][]byte
	source   string
	handedOn bool
	until    time.Time
	reply    func([]mempool.Result, Answer) // nil after the call

	try     int
	results []mempool.Result
	open    int    // transactions of the current try that have no result yet
	index   uint64 // index up to which this member must have applied the log before it replies
	asked   uint64 // the leader that has not answered yet; 0 if there is none
}

// end calls reply with the outcome.
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

// item is a transaction to be proposed.
type item struct {
	*send
	try      int // the send's try that queued it
	place    int // index in the send
	verified *types.VerifiedTx
}

// inflight is a proposed batch that is not applied yet.
type inflight struct {
	at    time.Time
	term  uint64
	data  []byte
	batch TxBatch
	items []item
}

// sends holds the submissions in progress.
type sends struct {
	live struct{ count, bytes int } // sends that have not ended
	// forwarded holds what was verified for the leader, until its sends end: the log brings it back.
	forwarded map[types.TxID]*types.VerifiedTx

	all       []*send // in order of their time limits; some may have ended
	waiting   []*send // waiting for a leader
	queue     []item  // to be proposed by this leader
	proposed  []*inflight
	flying    map[uint64]*inflight // by index
	last      uint64               // index of the last batch that this leader proposed
	committed uint64               // index of the last decided entry
	gathering gathering
	behind    []*send // complete, but waiting until this member has applied the log up to their index
}

// route passes waiting sends to the leader, or to this member's own pool.
func (s *sends) route(m *Member) {
	waiting := s.waiting
	s.waiting = nil
	for _, send := range waiting {
		switch {
		case send.reply == nil:
		case m.leads() && m.keyBarred() != "" && m.successor() == 0:
			send.end(Answer{Refused: ErrHolds})
		case m.leads() && m.keyBarred() != "": // a leadership transfer is imminent
			s.waiting = append(s.waiting, send)
		case m.leads():
			m.checkSend(send)
		case m.leadership.soft.Lead == m.self:
			s.waiting = append(s.waiting, send)
		case send.handedOn:
			send.end(Answer{Refused: ErrNotLeader})
		case m.leadership.soft.Lead == raft.None:
			s.waiting = append(s.waiting, send)
		default:
			m.forward(send)
		}
	}
}

// requeue queues a send for another try.
func (s *sends) requeue(send *send) {
	send.try++
	s.waiting = append(s.waiting, send)
}

// checkSend asks the pool which transactions of a send may be proposed.
func (m *Member) checkSend(s *send) {
	try := s.try
	m.env.Do(Anyone, func() Event {
		screened := m.Pool.CheckBatch(m.env.Context(), s.encoded, s.source)
		return func(m *Member) error {
			if s.reply == nil || s.try != try {
				return nil
			}
			if !m.leads() {
				m.sends.requeue(s)
				return nil
			}
			s.results, s.open = make([]mempool.Result, len(screened)), 0
			s.index = m.machine.Applied() // the pool may already know entries that are being applied
			for i, r := range screened {
				s.results[i] = mempool.Result{Tx: r.Tx, Err: r.Err}
				if r.Verified != nil {
					s.open++
					m.sends.queue = append(m.sends.queue, item{s, try, i, r.Verified})
				}
			}
			if s.open == 0 {
				m.endAnswered(s)
			}
			return nil
		}
	})
}

// resultError returns the error of a result, or nil if the transaction was refused because an earlier try had it
// accepted.
func (m *Member) resultError(s *send, r mempool.Result) error {
	switch {
	case s.try == 0 || r.Tx == nil:
		return r.Err
	case errors.Is(r.Err, mempool.ErrKnown), errors.Is(r.Err, exec.ErrNonceTooLow):
		if _, pending := m.Pool.Get(r.Tx.ID()); pending { // unless it has expired meanwhile
			return nil
		}
		if _, err := m.Ledger.Store().FindTransaction(r.Tx.ID()); !errors.Is(err, chain.ErrNotFound) {
			return err
		}
	}
	return r.Err
}

// canPropose reports whether a batch of queued transactions may be proposed, apart from [gathering].
func (s *sends) canPropose() bool {
	return len(s.queue) > 0 && len(s.proposed) == 0 && s.last <= s.committed && len(s.flying) < maxFlying
}

// propose proposes a batch of queued transactions, as many as one entry holds.
func (s *sends) propose(m *Member) error {
	if s.canPropose() && m.untilGathered() == 0 {
		n, size := 0, 0
		for n < len(s.queue) && (n == 0 || size+len(s.queue[n].verified.Encoded()) <= MaxTxBatchBytes) {
			size += len(s.queue[n].verified.Encoded())
			n++
		}
		p := &inflight{at: m.env.Now(), term: m.leadership.term, items: s.queue[:n:n]}
		p.batch.Time = uint64(max(0, m.boundedTime().UnixMilli()))
		for _, i := range p.items {
			p.batch.Transactions = append(p.batch.Transactions, i.verified.Tx())
		}
		p.data = Encode(p.batch)
		if err := m.raw.Propose(p.data); errors.Is(err, raft.ErrProposalDropped) {
			return nil // too much is uncommitted, or a transfer is in progress
		} else if err != nil {
			return err
		}
		s.gathering.proposed(s.queuedSends(), len(s.queue), p.at)
		s.queue = s.queue[n:]
		s.proposed = append(s.proposed, p)
	}
	return nil
}

// recordIndexes records the indexes at which proposals were appended to the log.
func (s *sends) recordIndexes(entries []*raftpb.Entry) {
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

// allOwn reports whether all entries between two indexes are batches in flight for which only this member's callers
// wait.
func (s *sends) allOwn(from, to uint64) bool {
	for i := from; i <= to; i++ {
		if p := s.flying[i]; p == nil || slices.ContainsFunc(p.items, func(i item) bool { return i.handedOn }) {
			return false
		}
	}
	return true
}

// requeueUnplaced makes the sends of unplaced transactions wait for the new leader.
func (s *sends) requeueUnplaced() {
	queue := s.queue
	for _, p := range s.proposed {
		queue = append(queue, p.items...)
	}
	s.queue, s.proposed = nil, nil
	s.retry(queue)
}

// retry queues the sends of undecided transactions for another try.
func (s *sends) retry(items []item) {
	for _, i := range items {
		if i.reply != nil && i.try == i.send.try {
			s.requeue(i.send)
		}
	}
}

// batchApplied records the pool's results for a decided batch. There are none if the pool already has the batch from
// another member; the sends are then tried again, which finds their transactions known.
func (s *sends) batchApplied(e *raftpb.Entry, results []mempool.Result) {
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

// entryApplied handles an applied entry: it retries a batch that was expected at the entry's index, and ends the sends
// that waited for the entry.
func (s *sends) entryApplied(m *Member, e *raftpb.Entry) {
	if p := s.flying[e.GetIndex()]; p != nil {
		delete(s.flying, e.GetIndex())
		if p.term != e.GetTerm() {
			s.retry(p.items)
		} else if m.OnTxBatch != nil {
			m.OnTxBatch(m.env.Now().Sub(p.at))
		}
	}
	s.endApplied(m)
}

// endApplied ends the complete sends whose index this member has applied.
func (s *sends) endApplied(m *Member) {
	s.behind = slices.DeleteFunc(s.behind, func(send *send) bool {
		if send.index > m.appliedIndex {
			return false
		}
		for i := range send.results {
			send.results[i].Err = m.resultError(send, send.results[i])
		}
		send.end(Answer{})
		return true
	})
}

// retryLost retries the batches up to an index after a snapshot: it is unknown whether they were decided.
func (s *sends) retryLost(m *Member, index uint64) {
	for _, at := range slices.Sorted(maps.Keys(s.flying)) {
		if at <= index {
			s.retry(s.flying[at].items)
			delete(s.flying, at)
		}
	}
	s.endApplied(m)
}

// expireSends ends the sends that have reached their time limit.
func (m *Member) expireSends() {
	now := m.env.Now()
	m.sends.prune()
	for _, s := range m.sends.all {
		if now.Before(s.until) {
			break
		}
		s.end(Answer{Refused: ErrNoLeader})
	}
}

// prune removes ended sends at the front, or everywhere if most have ended.
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
