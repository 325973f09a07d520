package clustersim

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"go.etcd.io/raft/v3/raftpb"

	"github.com/cairn-chain/cairn/internal/engine/cluster"
	"github.com/cairn-chain/cairn/internal/engine/ledger"
	"github.com/cairn-chain/cairn/internal/storage/chain"
	"github.com/cairn-chain/cairn/internal/storage/raftlog"
	"github.com/cairn-chain/cairn/types"
)

// Invariant is a property that every run must have.
type Invariant string

// The invariants.
const (
	OneSignature Invariant = "the key signs one block of each height"
	Decided      Invariant = "the key signs nothing that its member has not applied"
	OneVote      Invariant = "a member votes for one member in a term"
	Promised     Invariant = "a member that starts knows what it has promised"
	OneLeader    Invariant = "a term has one leader"
	Acknowledged Invariant = "what a member has acknowledged is in a block or in every pool"
	OwnWrites    Invariant = "what a member has acknowledged is in its own chain or pool"
	Released     Invariant = "a block that was released is never taken back"
	Once         Invariant = "a transaction is in one block"
	Agreement    Invariant = "all members have the same blocks"
	EqualPools   Invariant = "at rest all pools hold the same"
	Convergence  Invariant = "ten seconds after the faults all members have come to the same"
	Bounded      Invariant = "logs do not grow without end"
	InOrder      Invariant = "without faults no entry comes out of order"
	Sound        Invariant = "every store is sound"
	Versions     Invariant = "a block has the version that is in force at its time"
	Running      Invariant = "a member ends only for a fault of its machine, and starts again"
)

// Violation is a violated invariant.
type Violation struct {
	Invariant Invariant
	Text      string
}

// maxEntries bounds the length of a log at the end.
const maxEntries = 400

// book records the observations of a run.
type book struct {
	signed   map[types.Height]types.BlockHash
	released map[types.Height]types.BlockHash
	leaders  map[uint64]uint64        // leader by term
	order    []types.TxID             // in order of acknowledgement
	taken    map[types.TxID]time.Time // time of pool admission, by the log's clock
	votes    map[[2]uint64]uint64     // vote by voter and term
	promises map[uint64]promise       // by member
	last     time.Duration            // time of the latest block's first release
	batches  []time.Duration          // time from proposal by leaders to decision, for transactions
	releases []time.Duration          // time to release, for leaders' blocks
}

// promise is the durable state that a member reported to others in the newest term of its messages.
type promise struct {
	term uint64
	vote uint64 // candidate; 0 if it reported no vote
	last uint64 // last entry of the term's leader that it acknowledged
}

func newBook() book {
	return book{
		signed:   make(map[types.Height]types.BlockHash),
		released: make(map[types.Height]types.BlockHash),
		leaders:  make(map[uint64]uint64),
		taken:    make(map[types.TxID]time.Time),
		votes:    make(map[[2]uint64]uint64),
		promises: make(map[uint64]promise),
	}
}

func (w *simulation) violate(i Invariant, format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	w.note("VIOLATION (%s): %s", i, text)
	w.report.Violations = append(w.report.Violations, Violation{i, text})
}

var errKeyless = errors.New("who has the key is not reached")

// sign signs a header for a member. It first asks the signing lock, which stores the block before the signature is
// used.
func (p *process) sign(h types.Header) (types.Signature, error) {
	if p.keyless || p.unsigned {
		return types.Signature{}, errKeyless
	}
	if err := p.lock.Check(h); err != nil {
		return types.Signature{}, err
	}
	hash := h.Hash()
	signature, err := p.producer.Sign(hash[:], [32]byte{})
	if err != nil {
		return types.Signature{}, err
	}
	if err := p.lock.Record(h); err != nil {
		return types.Signature{}, err
	}
	p.signs(h.Height, hash)
	if applied := p.member.Status().Applied; !p.decided(hash, applied) {
		p.violate(Decided, "%s signs block %d, %s, and has applied %d entries without it",
			p.record.Name, h.Height, hash, applied)
	}
	return signature, nil
}

// decided reports whether a block is in the log at or before the newest applied entry.
func (p *process) decided(hash types.BlockHash, applied uint64) bool {
	for index := applied; ; index-- {
		entries, err := p.log.Entries(index, index+1, 1)
		if err != nil { // the log begins after it
			return false
		}
		if entries[0].GetType() != raftpb.EntryType_EntryNormal || len(entries[0].GetData()) == 0 {
			continue
		}
		entry, err := cluster.Decode(entries[0].GetData())
		if err != nil {
			return false
		}
		if block, ok := entry.(cluster.Block); ok && block.Header.Hash() == hash {
			return true
		}
	}
}

// signs records a signature.
func (p *process) signs(height types.Height, hash types.BlockHash) {
	if before, there := p.book.signed[height]; there && before != hash {
		p.violate(OneSignature, "%s signs block %d, %s, and %s was signed", p.record.Name, height, hash, before)
	}
	p.book.signed[height] = hash
}

// released records a block released by a member.
func (p *process) released(b ledger.Block) {
	if p.dead {
		return
	}
	height := b.Header.Header.Height
	if before, there := p.book.released[height]; there && before != b.Hash {
		p.violate(Released, "%s releases block %d, %s, and %s was released", p.record.Name, height, b.Hash, before)
	} else if !there {
		p.book.last = p.now
		p.note("%s releases block %d, %s, with %d transactions", p.record.Name, height, b.Hash, len(b.Included))
	}
	p.book.released[height] = b.Hash
	p.report.Heights = max(p.report.Heights, height)
}

// votes records a vote of a member.
func (w *simulation) votes(voter, term, proposal uint64) {
	key := [2]uint64{voter, term}
	if before, there := w.book.votes[key]; there && before != proposal {
		w.violate(OneVote, "%x votes for %x and %x in term %d", voter, before, proposal, term)
	}
	w.book.votes[key] = proposal
}

// promises records the durable state that a message reports of its sender.
func (w *simulation) promises(message *raftpb.Message) {
	if message.GetReject() {
		return
	}
	made := w.book.promises[message.GetFrom()]
	if message.GetTerm() > made.term {
		made = promise{term: message.GetTerm()}
	}
	switch message.GetType() {
	case raftpb.MessageType_MsgVoteResp:
		w.votes(message.GetFrom(), message.GetTerm(), message.GetTo())
		made.vote = message.GetTo()
	case raftpb.MessageType_MsgAppResp:
		made.last = max(made.last, message.GetIndex())
	default:
		return
	}
	w.book.promises[message.GetFrom()] = made
}

// remembers checks that a newly opened log has everything that its member promised. Entries of an earlier term may be
// missing, as a later leader may have replaced them.
func (m *machine) remembers(log *raftlog.Log) error {
	hard, _, err := log.InitialState()
	if err != nil {
		return err
	}
	last, err := log.LastIndex()
	if err != nil {
		return err
	}
	made := m.book.promises[m.record.ID]
	if hard.GetTerm() > made.term {
		return nil
	}
	if hard.GetTerm() < made.term || made.vote != 0 && hard.GetVote() != made.vote || last < made.last {
		m.violate(Promised, "%s is in term %d, with its vote for %x and the entries to %d; it promised term %d, %x and %d",
			m.record.Name, hard.GetTerm(), hard.GetVote(), last, made.term, made.vote, made.last)
	}
	return nil
}

// acknowledged records a transaction that a member acknowledged to a client.
func (w *simulation) acknowledged(p *process, id types.TxID) {
	if _, there := w.book.taken[id]; !there {
		w.book.taken[id] = p.takenAt(id)
		w.book.order = append(w.book.order, id)
		w.report.Acknowledged++
	}
	if !p.has(id) {
		w.violate(OwnWrites, "%s has acknowledged %s and does not have it", p.record.Name, id)
	}
}

// takenAt returns when the pool took a transaction, by the log's clock, which determines its age.
func (p *process) takenAt(id types.TxID) time.Time {
	_, pending := p.pool.All()
	for _, t := range pending {
		if t.Tx.ID() == id {
			return t.Added
		}
	}
	return p.times.Now() // a block has it
}

// has reports whether a process has a transaction in its chain or pool.
func (p *process) has(id types.TxID) bool {
	if _, pending := p.pool.Get(id); pending {
		return true
	}
	_, err := p.store.FindTransaction(id)
	if err != nil && !errors.Is(err, chain.ErrNotFound) {
		p.violate(Running, "%s cannot be read: %v", p.record.Name, err)
	}
	return err == nil
}

// observe checks a process after each of its steps.
func (p *process) observe() {
	s := p.member.Status()
	if s.Catching && !p.behind {
		p.report.Caught++
		p.note("%s follows a snapshot", p.record.Name)
	}
	p.behind = s.Catching
	if s.Leader == p.record.ID && s.Term != p.term {
		p.term = s.Term
		p.report.Elections++
		p.note("%s leads in term %d", p.record.Name, s.Term)
		if before, there := p.book.leaders[s.Term]; there && before != p.record.ID {
			p.violate(OneLeader, "%x and %x lead in term %d", before, p.record.ID, s.Term)
		}
		p.book.leaders[s.Term] = p.record.ID
	}
}

// settled reports whether all members have applied the same entries.
func (w *simulation) settled() bool {
	applied := make(map[uint64]bool)
	for _, m := range w.members() {
		if m.process == nil {
			return false
		}
		s := m.process.member.Status()
		applied[s.Applied] = true
		if s.Applied != s.Last || s.Proposal {
			return false
		}
	}
	return len(applied) == 1
}

// end checks everything again after the end of the faults.
func (w *simulation) end() {
	var first *process
	for _, m := range w.machines {
		if m.gone {
			continue
		}
		p := m.process
		if p == nil {
			w.violate(Convergence, "%s is down", m.record.Name)
			continue
		}
		if first == nil {
			first = p
			w.checkChain(p)
		}
		w.checkMember(p, first)
	}
	if w.report.Refused > 0 {
		w.violate(InOrder, "%d messages were refused", w.report.Refused)
	}
}

// checkChain compares a member's blocks with the observations.
func (w *simulation) checkChain(p *process) {
	included := make(map[types.TxID]types.Height)
	head := p.ledger.Tip().Header.Header.Height
	for h := types.Height(0); h <= head; h++ {
		block, err := p.store.Block(h)
		if err != nil {
			w.violate(Sound, "%s: %v", p.record.Name, err)
			return
		}
		for _, tx := range block.Transactions {
			if before, there := included[tx.ID()]; there {
				w.violate(Once, "%s is in blocks %d and %d", tx.ID(), before, h)
			}
			included[tx.ID()] = h
		}
		w.checkVersion(block.Header, included)
	}
	for _, h := range slices.Sorted(maps.Keys(w.book.released)) {
		if header, err := p.ledger.Header(h); err != nil || header.Header.Hash() != w.book.released[h] {
			w.violate(Released, "block %d was %s", h, w.book.released[h])
		}
	}
}

// checkMember compares a member with another one and with the observations.
func (w *simulation) checkMember(p, first *process) {
	name, s, tip := p.record.Name, p.member.Status(), p.ledger.Tip()
	if s.Leader == 0 || tip.Hash != first.ledger.Tip().Hash {
		w.violate(Convergence, "%s is at block %d, %s is at %d; the leader is %x",
			name, tip.Header.Header.Height, first.record.Name, first.ledger.Tip().Header.Header.Height, s.Leader)
	}
	for h := types.Height(0); h <= min(tip.Header.Header.Height, first.ledger.Tip().Header.Header.Height); h++ {
		a, errA := p.ledger.Header(h)
		b, errB := first.ledger.Header(h)
		if errA != nil || errB != nil || a != b {
			w.violate(Agreement, "%s has another block %d than %s", name, h, first.record.Name)
			break
		}
	}
	if w.now-w.book.last > 2*time.Second {
		w.violate(Convergence, "no block was released since %v", w.book.last)
	}
	for _, id := range w.book.order {
		expired := p.times.Now().Sub(w.book.taken[id]) >= expiry
		if !expired && !p.has(id) {
			w.violate(Acknowledged, "%s has lost %s", name, id)
		}
	}
	_, mine := p.pool.All()
	_, others := first.pool.All()
	pending := make(map[types.TxID]time.Time)
	for _, t := range others {
		pending[t.Tx.ID()] = t.Added
	}
	for _, t := range mine {
		if added, there := pending[t.Tx.ID()]; !there || !added.Equal(t.Added) {
			w.violate(EqualPools, "%s holds %s since %v, %s since %v", name, t.Tx.ID(), t.Added, first.record.Name, added)
		}
	}
	if len(mine) != len(others) {
		w.violate(EqualPools, "%s holds %d transactions, %s %d", name, len(mine), first.record.Name, len(others))
	}
	if index, err := p.log.FirstIndex(); err != nil || s.Last+1-index > maxEntries { // 0 for an empty log
		w.violate(Bounded, "%s has the entries %d to %d, %v", name, index, s.Last, err)
	} else if index > 100 {
		w.report.LogCuts++
	}
	report, err := chain.Check(context.Background(), p.store, nil)
	if err != nil || !report.OK() {
		w.violate(Sound, "the store of %s: %v %.2v", name, err, report.Problems)
	}
	w.note("%s ends at block %d", name, tip.Header.Header.Height)
}
