package role

import (
	"testing"
	"time"

	"github.com/cairn-chain/cairn/types"
)

// TestLeases asks a leader, member 1, for blocks on behalf of three members.
func TestLeases(t *testing.T) {
	boots := map[uint64]uint64{1: 1, 2: 1, 3: 1}
	away := map[uint64]bool{}
	l := newLeases(1, func(member uint64) (uint64, bool) { return boots[member], !away[member] })
	now := time.Unix(1_000_000, 0)
	ask := func(what string, member uint64, h types.Height, old, want bool) {
		t.Helper()
		if got := l.grant(member, h, old, now); got != want {
			t.Errorf("%s: member %d is granted block %d: %v, want %v", what, member, h, got, want)
		}
	}
	ask("a leader whom nobody else asks", 1, 10, false, true)
	ask("a block that the leader proves", 2, 10, false, false)
	ask("a leader whom another one asked", 1, 11, false, false)
	ask("the next block", 2, 11, false, true)
	ask("one block more", 2, 12, false, true)
	ask("the same block again", 2, 11, false, true)
	ask("another's block", 3, 11, false, false)
	ask("a free block", 3, 13, false, true)

	boots[2] = 2
	ask("the block of one that was started anew", 3, 11, false, true)
	away[3] = true
	ask("the block of one that went away", 2, 13, false, false)
	now = now.Add(awayTime - 1)
	ask("the block of one that is away for a short time", 2, 13, false, false)
	now = now.Add(1)
	ask("the block of one that is away", 2, 13, false, true)
	ask("a leader while another one asks", 1, 14, false, false)
	away[2] = true
	ask("a leader whose last follower went away", 1, 14, false, false)
	now = now.Add(awayTime)
	ask("a leader who is alone", 1, 14, false, true)
	ask("a leader who is alone takes what others had", 1, 13, false, true)

	clear(away)
	now = now.Add(leaseTime - 1)
	ask("a block just before its time is over", 2, 14, false, false)
	now = now.Add(1)
	ask("a block whose time is over", 2, 14, false, true)

	now = now.Add(leaseTime)
	ask("an old block", 3, 1, true, true)
	ask("a leader whom others ask for old blocks only", 1, 15, false, true)
}

// TestLeasesAreBounded fills the leader's table of leases.
func TestLeasesAreBounded(t *testing.T) {
	l := newLeases(1, func(uint64) (uint64, bool) { return 1, true })
	now := time.Unix(1_000_000, 0)
	for h := range types.Height(maxLeases) {
		if !l.grant(2, h, false, now) {
			t.Fatalf("block %d is not granted", h)
		}
	}
	if l.grant(2, maxLeases, false, now) || len(l.given) != maxLeases {
		t.Errorf("%d leases are remembered", len(l.given))
	}
	if !l.grant(2, 7, false, now) {
		t.Error("a block is not granted again")
	}
	if !l.grant(2, maxLeases, false, now.Add(leaseTime)) || len(l.given) != 1 {
		t.Errorf("%d leases are remembered after their time", len(l.given))
	}
}
