package role

import (
	"fmt"
	"log/slog"
	"time"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/internal/engine/cluster"
)

// LookInterval is the time between two looks at the facts.
const LookInterval = 250 * time.Millisecond

// SettleTime is how long what goes up and down by itself must stay before the log tells of it: an election, or a
// signer's round trip.
const SettleTime = time.Second

// Fact is how something is.
type Fact struct {
	Of    string // what it is of
	Is    string // in a word; empty: what its text says, without numbers, which change all the time
	Text  string // what the log is told once it is so; empty: nothing
	Level slog.Level
	Stays time.Duration // how long it must stay so first
	Usual bool          // whether it is so at a start: it is not told then
}

// told is the state with its reason, as clients are told it.
func (c Condition) told() (api.SyncState, string) { return c.State, c.Reason }

// facts tell of the condition.
func (c Condition) facts() []Fact {
	state := Fact{Of: "state", Text: "this node is " + string(c.State), Stays: SettleTime}
	if c.State == api.StateProducing {
		state.Text = "this node makes blocks"
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

// upstreamFact tells where the blocks come from.
func (f *follow) upstreamFact() Fact {
	fact := Fact{Of: "upstream", Text: "no upstream is in use", Level: slog.LevelWarn, Stays: SettleTime}
	for _, u := range f.replica.Status().Upstreams {
		if u.InUse {
			fact.Text, fact.Level = "blocks come from "+u.URL, slog.LevelInfo
		}
	}
	return fact
}

// Facts implements [Role]. Other members have names here.
func (m *member) Facts() []Fact {
	status, peers := m.service.Status(), m.link.Peers()
	facts := []Fact{m.leaderFact(status), goneFact(status)}
	for _, p := range status.Peers {
		known := peers[p.ID]
		f := Fact{Of: "member " + p.Name, Is: "reached", Text: p.Name + " is back"}
		switch {
		case p.ID == status.ID:
			continue
		case known.Connected && !m.met[p.ID]:
			m.met[p.ID] = true
			f.Text = p.Name + " is reached"
		case known.Connected:
		case known.Refused != "":
			f.Is, f.Level, f.Stays = known.Refused, slog.LevelWarn, SettleTime
			f.Text = fmt.Sprintf("%s and this member do not go together: %s", p.Name, known.Refused)
		default:
			f.Is, f.Text, f.Stays = "away", p.Name+" does not answer", LookInterval
		}
		facts = append(facts, f, votesFact(p))
		if unfit := known.Report.Unfit; known.Connected {
			f := Fact{Of: "unfit " + p.Name, Text: p.Name + " can make blocks", Usual: true, Stays: SettleTime}
			if unfit != "" {
				f.Text = fmt.Sprintf("%s says that it cannot make blocks: %s", p.Name, unfit)
			}
			facts = append(facts, f)
		}
	}
	unfit := Fact{Of: "unfit", Text: "this member can make blocks", Usual: true, Stays: SettleTime}
	if status.Unfit != "" {
		unfit.Text = "this member leaves leadership to others: " + status.Unfit
	}
	return append(append(facts, unfit), m.Condition().facts()...)
}

// goneFact tells who was removed last.
func goneFact(s cluster.Status) Fact {
	if len(s.Gone) == 0 {
		return Fact{Of: "gone", Usual: true}
	}
	g := s.Gone[len(s.Gone)-1]
	return Fact{
		Of: "gone", Is: fmt.Sprint(g.ID), Text: fmt.Sprintf("%s was removed at block %d", g.Name, g.Height), Usual: true,
	}
}

// votesFact tells whether a member has a vote.
func votesFact(p cluster.Peer) Fact {
	if p.Voter {
		return Fact{Of: "vote " + p.Name, Text: p.Name + " has a vote", Usual: true}
	}
	return Fact{Of: "vote " + p.Name, Text: p.Name + " was added, and learns what the others know"}
}

// leaderFact tells who leads, and how that came about. That there is no leader for a moment is part of an election.
func (m *member) leaderFact(s cluster.Status) Fact {
	if s.Leader == 0 {
		return Fact{Of: "leader", Text: "no leader is heard of", Stays: 2 * SettleTime}
	}
	name, from := nameOf(s, s.Leader), nameOf(s, s.Change.From)
	f := Fact{Of: "leader", Is: fmt.Sprint(s.Term), Text: fmt.Sprintf("%s leads now, term %d", name, s.Term)}
	switch {
	case from == "":
	case s.Change.Handed:
		f.Text += fmt.Sprintf(": %s handed leadership on", from)
	case s.Change.From == s.ID && s.Leader != s.ID:
		f.Text += ": the others had not heard this member"
	case s.Change.Silent >= cluster.ElectionTime/2: // its ticks, which it counts, may be a little early
		f.Text += fmt.Sprintf(": no word of %s for %.1f s", from, s.Change.Silent.Seconds())
	}
	return f
}
