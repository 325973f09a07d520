package role

import (
	"time"

	"github.com/cairn-chain/cairn/internal/engine/cluster"
	"github.com/cairn-chain/cairn/internal/p2p"
	"github.com/cairn-chain/cairn/internal/server/telemetry"
)

// spareVoters returns the number of reached voters, including this member, that could fail without the loss of the
// majority. It is negative without a majority.
func (m *member) spareVoters() int {
	q := m.quorum()
	return q.reached - q.needed
}

// formerMemberTime is the time after its last refused connection for which a former member, from before the cluster's
// recovery, counts as running.
const formerMemberTime = 10 * time.Minute

// usedElsewhere reports whether the disk of a former member runs, with the producer's key.
func (m *member) usedElsewhere() bool {
	last := m.link.LastRefused(p2p.CauseRecovered)
	return !last.IsZero() && time.Since(last) < formerMemberTime
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
		telemetry.Gauge("cluster_leader", "1 while the cluster has a leader, as seen by this member.",
			func(m *member) int { return oneIf(m.service.Status().Leader != 0) }),
		telemetry.Gauge("cluster_leads", "1 while this member is the leader.",
			func(m *member) int { return oneIf(m.service.Status().Leads) }),
		telemetry.Gauge("cluster_term", "Raft term; increases with each election.",
			status(func(s cluster.Status) uint64 { return s.Term })),
		telemetry.Gauge("cluster_members", "Members of the cluster.",
			func(m *member) int { return len(m.service.Status().Peers) }),
		telemetry.Gauge("cluster_spare_voters",
			"Reachable voters that the cluster can lose before it loses quorum; negative without quorum.",
			(*member).spareVoters),
		telemetry.Gauge("cluster_members_reached", "Reachable members, including this one.",
			func(m *member) uint64 { return m.PeerCount() + 1 }),
		telemetry.Gauge("cluster_idle_seconds", "Time since this member last applied a log entry.",
			func(m *member) float64 { return time.Since(m.service.Status().AppliedAt).Seconds() }),
		telemetry.Gauge("cluster_applied_index", "Index of the last applied log entry.",
			status(func(s cluster.Status) uint64 { return s.Applied })),
		telemetry.Gauge("cluster_log_bytes", "Size of the Raft log.", status(func(s cluster.Status) uint64 { return s.Bytes })),
		telemetry.Gauge("cluster_intake_waiting", "Transaction batches that await commit.",
			func(m *member) int { return m.service.Status().Waiting }),
		telemetry.Gauge("cluster_diverged",
			"1 if this member's state diverged from the cluster's and it has halted.",
			func(m *member) int { return oneIf(m.diverged.Load() != nil) }),
		telemetry.Counter("cluster_elections_total", "Leader changes seen by this member.",
			func(m *member) uint64 { return m.elections.Load() }),
		telemetry.Gauges("cluster_member_lag_entries",
			"Log entries of this member that another, reachable member has not applied.", "member",
			func(m *member) map[string]uint64 {
				peers := m.link.Peers()
				return each(m, func(s cluster.Status, p cluster.Peer) (uint64, bool) {
					known := peers[p.ID]
					return s.Last - min(s.Last, known.Report.Applied), known.Reported()
				})
			}),
		telemetry.Gauges("cluster_clock_offset_seconds",
			"Clock skew: how far another, reachable member's clock is ahead of this one's.", "member",
			func(m *member) map[string]float64 {
				peers := m.link.Peers()
				return each(m, func(_ cluster.Status, p cluster.Peer) (float64, bool) {
					return peers[p.ID].Offset.Seconds(), peers[p.ID].Reported()
				})
			}),
		telemetry.Counters("cluster_refused_hellos_total", "Refused connections between members, by cause.", "cause",
			func(m *member) map[string]uint64 { return m.link.Refused() }),
	}
}
