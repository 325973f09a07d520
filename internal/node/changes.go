package node

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/internal/engine/ledger"
	"github.com/cairn-chain/cairn/internal/protocol/params"
	"github.com/cairn-chain/cairn/internal/role"
)

// proofsLag is the number of unproven blocks at which a warning is logged, the same as for the alert CairnProofsBehind.
const proofsLag = 120

// changes logs each change in the node's status and metrics once.
type changes struct {
	log    *slog.Logger
	logged map[string]string // last state seen or logged, by subject
	since  map[string]news   // new states that have not lasted long enough, by subject
}

// news is a new state and the time when it was first seen.
type news struct {
	is string
	at time.Time
}

func newChanges(log *slog.Logger) *changes {
	return &changes{log: log, logged: make(map[string]string), since: make(map[string]news)}
}

// observe compares a fact with its last state, and logs a change that has lasted long enough.
func (c *changes) observe(f role.Fact, now time.Time) {
	plain := f.Is
	if plain == "" {
		plain = strings.Map(func(r rune) rune {
			if r >= '0' && r <= '9' {
				return -1
			}
			return r
		}, f.Text)
	}
	before, known := c.logged[f.Of]
	if known && before == plain {
		delete(c.since, f.Of)
		return
	}
	if waits, there := c.since[f.Of]; !there || waits.is != plain {
		waits = news{plain, now}
		c.since[f.Of] = waits
	}
	if now.Sub(c.since[f.Of].at) < f.Stays {
		return
	}
	delete(c.since, f.Of)
	c.logged[f.Of] = plain
	if f.Text != "" && (known || !f.Usual) {
		c.log.Log(context.Background(), f.Level, f.Text)
	}
}

// tellChanges logs changes until ctx ends.
func (n *Node) tellChanges(ctx context.Context) error {
	c := newChanges(n.config.Log)
	ticker := time.NewTicker(role.LookInterval)
	defer ticker.Stop()
	last := time.Now()
	for {
		now := time.Now()
		if stood := now.Sub(last); stood > role.SettleTime {
			c.log.Warn(fmt.Sprintf("this process was stalled for %.1f s: it was suspended, or the machine is "+
				"overloaded",
				stood.Seconds()))
		}
		last = now
		for _, f := range n.facts() {
			c.observe(f, now)
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// facts returns the facts whose changes an operator should know.
func (n *Node) facts() []role.Fact {
	pressed := role.Fact{Of: "pressure", Text: "the mempool has free capacity again", Usual: true, Stays: role.SettleTime}
	if n.role.Pool().Stats().BackPressure {
		pressed.Text, pressed.Level = "the mempool is nearly full: refusing transactions with low fees", slog.LevelWarn
	}
	quarantined := role.Fact{Of: "quarantine", Text: "the quarantine is empty", Usual: true}
	if count := n.book.Stats().Quarantined; count > 0 {
		quarantined.Text = fmt.Sprintf("%s in quarantine: run cairn quarantine list", plural(count, "code is", "codes are"))
		quarantined.Level = slog.LevelWarn
	}
	return append(n.role.Facts(), pressed, quarantined, n.proofsFact(), n.prunedFact(),
		upgradeFact(n.ledger.Tip(), time.Now()))
}

func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// proofsFact returns whether proofs keep up with the blocks.
func (n *Node) proofsFact() role.Fact {
	f := role.Fact{Of: "proofs", Text: "proofs have caught up with the blocks", Usual: true, Stays: role.SettleTime}
	if n.config.Proofs.Off {
		return f
	}
	lag, err := n.queue.Lag()
	if state, _ := n.role.State(); err == nil && lag > proofsLag && state != api.StateSyncing {
		f.Text, f.Level = fmt.Sprintf("proving lags behind: %d blocks await proof; check that a prover is running", lag), slog.LevelWarn
	}
	return f
}

// upgradeFact returns the upgrade of the protocol that the chain announces or has.
func upgradeFact(tip *ledger.Tip, now time.Time) role.Fact {
	f := role.Fact{Of: "upgrade", Is: "none", Text: "the announced protocol upgrade was cancelled", Usual: true}
	u := tip.Parameters.Upgrade
	if u == nil {
		return f
	}
	from := time.UnixMilli(int64(u.From)).UTC()
	f.Usual = false
	f.Is = fmt.Sprintf("version %d from %d", u.Version, u.From)
	f.Text = fmt.Sprintf("protocol upgrade: version %d takes effect at %s UTC, and this node supports it", u.Version, from.Format(time.DateTime))
	switch {
	case !params.Known(u.Version):
		f.Level = slog.LevelWarn
		f.Text = fmt.Sprintf("protocol upgrade: version %d takes effect at %s UTC, but this node does not support "+
			"it: install a newer program before then", u.Version, from.Format(time.DateTime))
	case !now.Before(from):
		f.Is, f.Text = f.Is+", begun", fmt.Sprintf("protocol upgrade: version %d is in effect", u.Version)
	}
	return f
}

// prunedFact returns whether the retention has deleted blocks.
func (n *Node) prunedFact() role.Fact {
	if oldest := n.store.OldestHeight(); oldest > 0 && n.dir.Options().Chain.Retention > 0 {
		return role.Fact{Of: "pruned", Text: fmt.Sprintf("pruning: blocks before %d are deleted (--retention), from "+
			"now on with each new block",
			oldest), Usual: true}
	}
	return role.Fact{Of: "pruned", Usual: true}
}
