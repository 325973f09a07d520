package role

import (
	"testing"
	"time"

	"github.com/cairn-chain/cairn/internal/engine/cluster"
)

// The log says who leads, and how this member saw that come about.
func TestLeaderIsTold(t *testing.T) {
	status := cluster.Status{ID: 3, Term: 7, Leader: 2}
	for id, name := range map[uint64]string{1: "a", 2: "b", 3: "c"} {
		status.Peers = append(status.Peers, cluster.Peer{Record: cluster.Record{ID: id, Name: name}})
	}
	for want, change := range map[string]cluster.Change{
		"leader elected: b, term 7": {},
		"leader elected: b, term 7: failover, because a was silent for 0.5 s":                       {From: 1, Silent: 540 * time.Millisecond},
		"leader elected: b, term 7: a transferred leadership":                                       {From: 1, Silent: time.Millisecond, Handed: true},
		"leader elected: b, term 7: failover, because the other members did not hear from this one": {From: 3, Silent: 2 * time.Second},
	} {
		status.Change = change
		if got := new(member).leaderFact(status).Text; got != want {
			t.Errorf("%+v: %q, want %q", change, got, want)
		}
	}
}

// The verdict counts the voters that the cluster needs for blocks, and does not leave that to the reader.
func TestVerdict(t *testing.T) {
	for want, q := range map[string]quorum{
		"2 of 5 voters reachable, quorum is 3: no quorum, so no blocks are produced": {5, 2, 3},
		"3 of 5 voters reachable, quorum is 3":                                       {5, 3, 3},
	} {
		if got := q.verdict(); got != want {
			t.Errorf("%+v: %q, want %q", q, got, want)
		}
	}
}
