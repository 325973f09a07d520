package node

import (
	"bytes"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cairn-chain/cairn/internal/engine/cluster"
)

// A change is told once, whatever its numbers do, and once it has stayed for as long as its kind is to stay.
func TestChangesAreToldOnce(t *testing.T) {
	var lines bytes.Buffer
	c := newChanges(slog.New(slog.NewTextHandler(&lines, nil)))
	began := time.Unix(1_700_000_000, 0)
	for _, seen := range []struct {
		at time.Duration
		fact
	}{
		{0, fact{of: "ready", text: "ready", usual: true}},
		{0, fact{of: "pressure", text: "room again", usual: true}},
		{1, fact{of: "ready", text: "15 blocks behind", stays: 2}},
		{2, fact{of: "ready", text: "16 blocks behind", stays: 2}},
		{3, fact{of: "ready", text: "17 blocks behind", stays: 2}}, // it has stayed so: told
		{4, fact{of: "ready", text: "18 blocks behind", stays: 2}},
		{5, fact{of: "ready", text: "ready", stays: 2}}, // for a moment: not told
		{6, fact{of: "ready", text: "19 blocks behind", stays: 2}},
		{7, fact{of: "pressure", text: "nearly full"}},
		{8, fact{of: "pressure", text: "room again", usual: true}},
		{9, fact{of: "leader", is: "term 1", text: "a leads now, term 1"}},
		{9, fact{of: "leader", is: "term 2", text: "a leads now, term 2"}},
		{9, fact{of: "leader", is: "term 2", text: "a leads again, term 2"}},
	} {
		c.look(seen.fact, began.Add(seen.at))
	}
	var got []string
	for line := range strings.Lines(lines.String()) {
		_, message, _ := strings.Cut(strings.TrimSpace(line), "msg=")
		got = append(got, strings.Trim(message, `"`))
	}
	want := []string{"17 blocks behind", "nearly full", "room again", "a leads now, term 1", "a leads now, term 2"}
	if !slices.Equal(got, want) {
		t.Errorf("the log was told %q, want %q", got, want)
	}
}

// The log says who leads, and how that came about as this member saw it.
func TestLeaderIsTold(t *testing.T) {
	status := cluster.Status{ID: 3, Term: 7, Leader: 2}
	for id, name := range map[uint64]string{1: "a", 2: "b", 3: "c"} {
		status.Peers = append(status.Peers, cluster.Peer{Record: cluster.Record{ID: id, Name: name}})
	}
	for want, change := range map[string]cluster.Change{
		"b leads now, term 7":                                       {},
		"b leads now, term 7: no word of a for 0.5 s":               {From: 1, Silent: 540 * time.Millisecond},
		"b leads now, term 7: a handed leadership on":               {From: 1, Silent: time.Millisecond, Handed: true},
		"b leads now, term 7: the others had not heard this member": {From: 3, Silent: 2 * time.Second},
	} {
		status.Change = change
		if got := new(member).leaderFact(status).text; got != want {
			t.Errorf("%+v: %q, want %q", change, got, want)
		}
	}
}

// What a cluster needs for blocks is counted, not left to the reader.
func TestVerdict(t *testing.T) {
	for want, q := range map[string]quorum{
		"2 of 5 voters reached, 3 needed: no blocks are made": {5, 2, 3},
		"3 of 5 voters reached, 3 needed":                     {5, 3, 3},
	} {
		if got := q.verdict(); got != want {
			t.Errorf("%+v: %q, want %q", q, got, want)
		}
	}
}
