package role

import (
	"sync/atomic"
	"time"

	"github.com/cairn-chain/cairn/internal/engine/cluster"
	"github.com/cairn-chain/cairn/internal/p2p"
	"github.com/cairn-chain/cairn/internal/server/telemetry"
)

// elections counts the leaders that a member has heard of.
type elections struct {
	term  uint64 // term of the last leader
	count atomic.Uint64
}

// look counts a new leader in the status. It is not safe for concurrent use.
func (e *elections) look(s cluster.Status) {
	if s.Leader != 0 && s.Term > e.term {
		e.term = s.Term
		e.count.Add(1)
	}
}

// spare returns the number of reached voters, including this member, that could fail without the loss of the majority.
// It is negative without a majority.
func (m *member) spare() int {
	q := m.quorum()
	return q.reached - q.needed
}

// hauntTime is the time after its last refused connection for which a former member, from before the cluster's
// recovery, counts as running.
const hauntTime = 10 * time.Minute

// usedElsewhere reports whether the disk of a former member runs, with the producer's key.
func (m *member) usedElsewhere() bool {
	last := m.link.LastRefused(p2p.CauseRecovered)
	return !last.IsZero() && time.Since(last) < hauntTime
}

// each returns a value for each reached member by its name. The value for this member is 0.
func each[N telemetry.Number](m *member, read func(cluster.Status, cluster.Peer) (N, bool)) map[string]N {
	values := make(map[string]N)
	status := m.service.Status()
	for _, p := range status.Peers {
		if p.ID == status.ID {
			values[p.Name] = 0
		} else if value, known := read(status, p); known {
			values[p.Name] = value
		}
	}
	return values
}

// clusterMetrics returns the metrics of a cluster member.
func clusterMetrics() []telemetry.Metric[*member] {
	status := func(read func(cluster.Status) uint64) func(*member) uint64 {
		return func(m *member) uint64 { return read(m.service.Status()) }
	}
	return []telemetry.Metric[*member]{
		telemetry.Gauge("cluster_leader", "1 while a leader of the cluster is heard of.",
			func(m *member) int { return oneIf(m.service.Status().Leader != 0) }),
		telemetry.Gauge("cluster_leads", "1 while this member leads.",
			func(m *member) int { return oneIf(m.service.Status().Leads) }),
		telemetry.Gauge("cluster_term", "Term of the log; grows with each election.",
			status(func(s cluster.Status) uint64 { return s.Term })),
		telemetry.Gauge("cluster_members", "Members of the cluster.",
			func(m *member) int { return len(m.service.Status().Peers) }),
		telemetry.Gauge("cluster_spare_voters",
			"Voters that are reached and could be lost before there is no majority; negative without one.",
			(*member).spare),
		telemetry.Gauge("cluster_members_reached", "Members that are reached, with this one.",
			func(m *member) uint64 { return m.PeerCount() + 1 }),
		telemetry.Gauge("cluster_idle_seconds", "Time since this member last applied an entry of the log.",
			func(m *member) float64 { return time.Since(m.service.Status().AppliedAt).Seconds() }),
		telemetry.Gauge("cluster_applied_index", "Last entry of the log that was applied.",
			status(func(s cluster.Status) uint64 { return s.Applied })),
		telemetry.Gauge("cluster_log_bytes", "Size of the log.", status(func(s cluster.Status) uint64 { return s.Bytes })),
		telemetry.Gauge("cluster_intake_waiting", "Sends that wait to be decided on.",
			func(m *member) int { return m.service.Status().Waiting }),
		telemetry.Gauge("cluster_diverged",
			"1 if this member came to something else than the others, and takes no further part.",
			func(m *member) int { return oneIf(m.diverged.Load() != nil) }),
		telemetry.Counter("cluster_elections_total", "Leaders that this member has heard of.",
			func(m *member) uint64 { return m.elections.count.Load() }),
		telemetry.Gauges("cluster_member_lag_entries",
			"Entries of this member's log that another has not applied, as far as it is reached.", "member",
			func(m *member) map[string]uint64 {
				peers := m.link.Peers()
				return each(m, func(s cluster.Status, p cluster.Peer) (uint64, bool) {
					known := peers[p.ID]
					return s.Last - min(s.Last, known.Report.Applied), known.Reported()
				})
			}),
		telemetry.Gauges("cluster_clock_offset_seconds",
			"How far another member's clock is ahead of this one's, as far as it is reached.", "member",
			func(m *member) map[string]float64 {
				peers := m.link.Peers()
				return each(m, func(_ cluster.Status, p cluster.Peer) (float64, bool) {
					return peers[p.ID].Offset.Seconds(), peers[p.ID].Reported()
				})
			}),
		telemetry.Counters("cluster_refused_hellos_total", "Connections with members that were refused, by cause.", "cause",
			func(m *member) map[string]uint64 { return m.link.Refused() }),
	}
}
