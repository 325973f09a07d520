package role

import (
	"log/slog"
	"time"

	"github.com/cairn-chain/cairn/api"
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
