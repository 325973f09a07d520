package role

import (
	"fmt"
	"log/slog"
	"time"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/internal/engine/cluster"
)

// LookInterval is the time between two checks of the facts.
const LookInterval = 250 * time.Millisecond

// SettleTime is how long a state must last before it is logged, if it changes by itself, as during an election or a
// signer's round trip.
const SettleTime = time.Second

// Fact is the state of one subject that an operator should know.
type Fact struct {
	Of    string // subject
	Is    string // state in a word; empty: Text without its digits, which change all the time
	Text  string // log message for the change to this state; empty: none
	Level slog.Level
	Stays time.Duration // minimum duration of the state before it is logged
	Usual bool          // not logged if it is the state at the start
}

// state returns the state and its reason in the terms of the API.
func (c Condition) state() (api.SyncState, string) { return c.State, c.Reason }

// facts returns the facts about the condition.
func (c Condition) facts() []Fact {
	state := Fact{Of: "state", Text: "this node is " + string(c.State), Stays: SettleTime}
	if c.State == api.StateProducing {
		state.Text = "this node is producing blocks"
	}
	if c.State == api.StateHolding || c.State == api.StateHalted {
		state.Level = slog.LevelWarn
	}
	if c.Reason != "" {
		state.Text += ": " + c.Reason
	}
	ready := Fact{Of: "ready", Text: "this node is ready", Stays: SettleTime}
	if !c.Ready {
		ready.Text, ready.Level = "this node is not ready: "+c.Reason, slog.LevelWarn
	}
	return []Fact{state, ready}
}

// upstreamFact returns the source of the blocks.
func (f *follow) upstreamFact() Fact {
	fact := Fact{Of: "upstream", Text: "no usable upstream: this node receives no blocks", Level: slog.LevelWarn, Stays: SettleTime}
	for _, u := range f.replica.Status().Upstreams {
		if u.InUse {
			fact.Text, fact.Level = "blocks come from "+u.URL, slog.LevelInfo
		}
	}
	return fact
}

// Facts implements [Role]. Its texts use the members' names.
func (m *member) Facts() []Fact {
	status, peers := m.service.Status(), m.link.Peers()
	facts := []Fact{m.leaderFact(status), goneFact(status)}
	for _, p := range status.Peers {
		known := peers[p.ID]
		f := Fact{Of: "member " + p.Name, Is: "reached", Text: p.Name + " is reachable again"}
		switch {
		case p.ID == status.ID:
			continue
		case known.Connected && !m.met[p.ID]:
			m.met[p.ID] = true
			f.Text = p.Name + " is connected"
		case known.Connected:
		case known.Refused != "":
			f.Is, f.Level, f.Stays = known.Refused, slog.LevelWarn, SettleTime
			f.Text = fmt.Sprintf("refused connection between %s and this member: %s", p.Name, known.Refused)
		default:
			f.Is, f.Text, f.Stays = "away", p.Name+" is unreachable", LookInterval
		}
		facts = append(facts, f, votesFact(p))
		if unfit := known.Report.Unfit; known.Connected {
			f := Fact{Of: "unfit " + p.Name, Text: p.Name + " can make blocks", Usual: true, Stays: SettleTime}
			if unfit != "" {
				f.Text = fmt.Sprintf("%s reports that it cannot make blocks: %s", p.Name, unfit)
			}
			facts = append(facts, f)
		}
	}
	unfit := Fact{Of: "unfit", Text: "this member can make blocks", Usual: true, Stays: SettleTime}
	if status.Unfit != "" {
		unfit.Text = "this member cannot lead: " + status.Unfit
	}
	return append(append(facts, unfit), m.Condition().facts()...)
}

// goneFact returns the member that was removed last.
func goneFact(s cluster.Status) Fact {
	if len(s.Gone) == 0 {
		return Fact{Of: "gone", Usual: true}
	}
	g := s.Gone[len(s.Gone)-1]
	return Fact{
		Of: "gone", Is: fmt.Sprint(g.ID), Text: fmt.Sprintf("%s was removed at block %d", g.Name, g.Height), Usual: true,
	}
}

// votesFact returns whether a member has a vote.
func votesFact(p cluster.Peer) Fact {
	if p.Voter {
		return Fact{Of: "vote " + p.Name, Text: p.Name + " is now a voter", Usual: true}
	}
	return Fact{Of: "vote " + p.Name, Text: p.Name + " was added as a learner: it votes once it has caught up"}
}

// leaderFact returns the leader and the reason of its election. A short time without a leader is part of an election.
func (m *member) leaderFact(s cluster.Status) Fact {
	if s.Leader == 0 {
		return Fact{Of: "leader", Text: "no leader: election in progress, or no quorum", Stays: 2 * SettleTime}
	}
	name, from := nameOf(s, s.Leader), nameOf(s, s.Change.From)
	f := Fact{Of: "leader", Is: fmt.Sprint(s.Term), Text: fmt.Sprintf("leader elected: %s, term %d", name, s.Term)}
	switch {
	case from == "":
	case s.Change.Handed:
		f.Text += fmt.Sprintf(": %s transferred leadership", from)
	case s.Change.From == s.ID && s.Leader != s.ID:
		f.Text += ": failover, because the other members did not hear from this one"
	case s.Change.Silent >= cluster.ElectionTime/2: // the member counts ticks, which may be a little early
		f.Text += fmt.Sprintf(": failover, because %s was silent for %.1f s", from, s.Change.Silent.Seconds())
	}
	return f
}
