package node

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/internal/engine/cluster"
)

// changesInterval is the time between two looks at what the node says of itself.
const changesInterval = 250 * time.Millisecond

// settleTime is how long what goes up and down by itself must stay before the log tells of it: an election, or a
// signer's round trip.
const settleTime = time.Second

// proofsLag is how many blocks the proofs may be behind before the log tells of it, as CairnProofsBehind does.
const proofsLag = 120

// changes tells the log, once each, of changes in what the node's status and metrics show.
type changes struct {
	log   *slog.Logger
	told  map[string]string // how it was when the log was told last, by what it is of
	since map[string]news   // what is not told yet, as it must stay first
}

// news is how something was seen to be from a time on.
type news struct {
	is string
	at time.Time
}

// fact is how something is.
type fact struct {
	of    string // what it is of
	is    string // in a word; empty: what its text says, without numbers, which change all the time
	text  string // what the log is told once it is so; empty: nothing
	level slog.Level
	stays time.Duration // how long it must stay so first
	usual bool          // whether it is so at a start: it is not told then
}

func newChanges(log *slog.Logger) *changes {
	return &changes{log: log, told: make(map[string]string), since: make(map[string]news)}
}

// look is told how something is at a time, and tells the log if that is new.
func (c *changes) look(f fact, now time.Time) {
	plain := f.is
	if plain == "" {
		plain = strings.Map(func(r rune) rune {
			if r >= '0' && r <= '9' {
				return -1
			}
			return r
		}, f.text)
	}
	before, known := c.told[f.of]
	if known && before == plain {
		delete(c.since, f.of)
		return
	}
	if waits, there := c.since[f.of]; !there || waits.is != plain {
		waits = news{plain, now}
		c.since[f.of] = waits
	}
	if now.Sub(c.since[f.of].at) < f.stays {
		return
	}
	delete(c.since, f.of)
	c.told[f.of] = plain
	if f.text != "" && (known || !f.usual) {
		c.log.Log(context.Background(), f.level, f.text)
	}
}

// tellChanges tells the log of changes until ctx ends.
func (n *Node) tellChanges(ctx context.Context) error {
	c := newChanges(n.config.Log)
	ticker := time.NewTicker(changesInterval)
	defer ticker.Stop()
	last := time.Now()
	for {
		now := time.Now()
		if stood := now.Sub(last); stood > settleTime {
			c.log.Warn(fmt.Sprintf("this process stood still for %.1f s: was it stopped, or its machine overloaded?",
				stood.Seconds()))
		}
		last = now
		for _, f := range n.facts() {
			c.look(f, now)
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// facts are how things are that an operator wants to know of when they change.
func (n *Node) facts() []fact {
	var facts []fact
	if n.member != nil {
		facts = n.member.facts()
	}
	state, reason := self{n}.State()
	facts = append(facts, stateFact(state, reason), readyFact(n.ready()))
	if n.replica != nil && !n.produces.Load() {
		from := "no upstream is in use"
		level := slog.LevelWarn
		for _, u := range n.replica.Status().Upstreams {
			if u.InUse {
				from, level = "blocks come from "+u.URL, slog.LevelInfo
			}
		}
		facts = append(facts, fact{of: "upstream", text: from, level: level, stays: settleTime})
	}
	pressed := fact{of: "pressure", text: "the mempool has room again", usual: true, stays: settleTime}
	if n.pool.Stats().BackPressure {
		pressed.text, pressed.level = "the mempool is nearly full: cheap transactions are refused", slog.LevelWarn
	}
	quarantined := fact{of: "quarantine", text: "no code is in quarantine", usual: true}
	if count := n.book.Stats().Quarantined; count > 0 {
		quarantined.text = fmt.Sprintf("%s in quarantine: see cairn quarantine list", plural(count, "code is", "codes are"))
		quarantined.level = slog.LevelWarn
	}
	return append(facts, pressed, quarantined, n.proofsFact(), n.prunedFact())
}

func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

func stateFact(state api.SyncState, reason string) fact {
	f := fact{of: "state", text: "this node is " + string(state), stays: settleTime}
	if state == api.StateProducing {
		f.text = "this node makes blocks"
	}
	if state == api.StateHolding || state == api.StateHalted {
		f.level = slog.LevelWarn
	}
	if reason != "" {
		f.text += ": " + reason
	}
	return f
}

func readyFact(ready bool, reason string) fact {
	if ready {
		return fact{of: "ready", text: "this node is ready", stays: settleTime}
	}
	return fact{of: "ready", text: "this node is not ready: " + reason, level: slog.LevelWarn, stays: settleTime}
}

// proofsFact tells whether proofs keep up with the blocks.
func (n *Node) proofsFact() fact {
	f := fact{of: "proofs", text: "proofs keep up with the blocks", usual: true, stays: settleTime}
	lag, err := n.queue.Lag()
	if state, _ := (self{n}).State(); err == nil && lag > proofsLag && !n.config.Proofs.Off && state != api.StateSyncing {
		f.text, f.level = fmt.Sprintf("%d blocks wait for a proof: does a prover run?", lag), slog.LevelWarn
	}
	return f
}

// prunedFact tells whether the retention has deleted blocks.
func (n *Node) prunedFact() fact {
	if oldest := n.store.OldestHeight(); oldest > 0 && n.dir.Options().Retention > 0 {
		return fact{of: "pruned", text: fmt.Sprintf("blocks before %d are deleted by the retention, from now on with each block",
			oldest), usual: true}
	}
	return fact{of: "pruned", usual: true}
}

// facts are how a member and its cluster are. Other members have names here.
func (m *member) facts() []fact {
	status, peers := m.service.Status(), m.link.Peers()
	facts := []fact{m.leaderFact(status), goneFact(status)}
	for _, p := range status.Peers {
		known := peers[p.ID]
		f := fact{of: "member " + p.Name, is: "reached", text: p.Name + " is back"}
		switch {
		case p.ID == status.ID:
			continue
		case known.Connected && !m.met[p.ID]:
			m.met[p.ID] = true
			f.text = p.Name + " is reached"
		case known.Connected:
		case known.Refused != "":
			f.is, f.level, f.stays = known.Refused, slog.LevelWarn, settleTime
			f.text = fmt.Sprintf("%s and this member do not go together: %s", p.Name, known.Refused)
		default:
			f.is, f.text, f.stays = "away", p.Name+" does not answer", changesInterval
		}
		facts = append(facts, f, votesFact(p))
		if unfit := known.Report.Unfit; known.Connected {
			f := fact{of: "unfit " + p.Name, text: p.Name + " can make blocks", usual: true, stays: settleTime}
			if unfit != "" {
				f.text = fmt.Sprintf("%s says that it cannot make blocks: %s", p.Name, unfit)
			}
			facts = append(facts, f)
		}
	}
	unfit := fact{of: "unfit", text: "this member can make blocks", usual: true, stays: settleTime}
	if status.Unfit != "" {
		unfit.text = "this member leaves leadership to others: " + status.Unfit
	}
	return append(facts, unfit)
}

// goneFact tells who was removed last.
func goneFact(s cluster.Status) fact {
	if len(s.Gone) == 0 {
		return fact{of: "gone", usual: true}
	}
	g := s.Gone[len(s.Gone)-1]
	return fact{
		of: "gone", is: fmt.Sprint(g.ID), text: fmt.Sprintf("%s was removed at block %d", g.Name, g.Height), usual: true,
	}
}

// votesFact tells whether a member has a vote.
func votesFact(p cluster.Peer) fact {
	if p.Voter {
		return fact{of: "vote " + p.Name, text: p.Name + " has a vote", usual: true}
	}
	return fact{of: "vote " + p.Name, text: p.Name + " was added, and learns what the others know"}
}

// leaderFact tells who leads, and how that came about. That there is no leader for a moment is part of an election.
func (m *member) leaderFact(s cluster.Status) fact {
	if s.Leader == 0 {
		return fact{of: "leader", text: "no leader is heard of", stays: 2 * settleTime}
	}
	name, from := nameOf(s, s.Leader), nameOf(s, s.Change.From)
	f := fact{of: "leader", is: fmt.Sprint(s.Term), text: fmt.Sprintf("%s leads now, term %d", name, s.Term)}
	switch {
	case from == "":
	case s.Change.Handed:
		f.text += fmt.Sprintf(": %s handed leadership on", from)
	case s.Change.From == s.ID && s.Leader != s.ID:
		f.text += ": the others had not heard this member"
	case s.Change.Silent >= cluster.ElectionTime/2: // its ticks, which it counts, may be a little early
		f.text += fmt.Sprintf(": no word of %s for %.1f s", from, s.Change.Silent.Seconds())
	}
	return f
}
