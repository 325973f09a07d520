package main

import (
	"math/rand/v2"
	"time"

	"github.com/cairn-chain/cairn/workshop/internal/hunt"
)

// found is a candidate with its score.
type found struct {
	genes hunt.Genes
	score hunt.Score
	fault string // reason why it could not be measured; empty: none
}

// beats reports whether a climb continues from f: it is worse for a node than other, or could not be measured.
func (f found) beats(other found) bool { return f.fault != "" || f.score.Value > other.score.Value }

// climber measures candidates in child processes.
type climber struct {
	*rand.Rand
	end      time.Time
	unit     float64
	process  *process
	measured int
	used     time.Duration // processor time of the processes that have ended
}

const (
	stale  = 25 // candidates without progress after which a climb ends
	few    = 3  // runs, of which the least time counts
	record = 5  // runs to confirm a record
)

// climb climbs from genes, new ones or a record's, to worse ones, and returns the last.
func (c *climber) climb(o hunt.Objective, records []hunt.Genes) found {
	start := hunt.Fresh(c.Rand, o.Kinds[c.IntN(len(o.Kinds))])
	if len(records) > 0 && c.IntN(2) == 0 {
		start = records[c.IntN(len(records))]
	}
	best := c.measure(o, start, few)
	for failed := 0; failed < stale && time.Now().Before(c.end) && best.fault == ""; failed++ {
		next := c.measure(o, best.genes.Mutate(c.Rand), few)
		if next.beats(best) && o.Timed { // measure again, as other work may have slowed down the machine
			if again := c.measure(o, next.genes, few); again.fault != "" || again.score.Value < next.score.Value {
				next = again
			}
		}
		if next.beats(best) {
			best, failed = next, 0
		}
	}
	if best.fault != "" {
		return best
	}
	return c.confirmed(o, best.genes)
}

// confirmed measures genes again, as required for a record.
func (c *climber) confirmed(o hunt.Objective, g hunt.Genes) found { return c.measure(o, g, record) }

// measure requests a score from a process. A candidate that the rules refuse has no score; one that ends the process is
// a finding.
func (c *climber) measure(o hunt.Objective, g hunt.Genes, runs int) found {
	if !o.Timed {
		runs = 1
	}
	c.measured++
	if c.process == nil || c.process.asked >= 200 {
		c.stop()
		process, err := start()
		if err != nil {
			return found{g, hunt.Score{}, err.Error()}
		}
		c.process = process
	}
	score, err := c.process.measure(o.Name, g, runs)
	if err != nil {
		c.stop()
		return found{g, hunt.Score{}, err.Error()}
	}
	return found{genes: g, score: score}
}

func (c *climber) stop() {
	if c.process != nil {
		c.used += c.process.kill()
		c.process = nil
	}
}
