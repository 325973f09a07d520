package role

import (
	"fmt"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/internal/emergency"
	"github.com/cairn-chain/cairn/internal/engine/cluster"
	"github.com/cairn-chain/cairn/internal/engine/replica"
	"github.com/cairn-chain/cairn/internal/server/rpc"
	"github.com/cairn-chain/cairn/types"
)

// behind returns the number of blocks by which this member is behind the others.
func (m *member) behind() uint64 {
	head := m.Store.Head().Header.Height
	highest := head
	for _, p := range m.link.Peers() {
		highest = max(highest, p.Report.Height)
	}
	return uint64(highest - head)
}

// Condition implements [Role]. A member is ready if it leads, or if it hears a leader and is close enough to it to
// serve clients.
func (m *member) Condition() Condition {
	status, behind := m.service.Status(), m.behind()
	diverged := m.diverged.Load()
	switch {
	case diverged != nil:
		return Condition{api.StateHalted, emergency.Disagreed(diverged.Error(), diverged).Error(), false}
	case m.isOutdated():
		return Condition{api.StateHalted, m.outdatedReason(), false}
	case status.Leads && status.Holding != "":
		return Condition{api.StateHolding, status.Holding, false}
	case status.Leads:
		return Condition{api.StateProducing, "", true}
	case status.Leader == 0:
		return Condition{api.StateSyncing, emergency.NoLeader(m.quorum().verdict()).Error(), false}
	case behind > m.config.MaxLag:
		most := m.config.MaxLag
		return Condition{api.StateSyncing, fmt.Sprintf("%d blocks behind (maximum for readiness: %d)", behind, most), false}
	case status.Barred != "" && len(m.keys) > 0: // a member without a key votes on the blocks of others
		return Condition{api.StateFollowing, status.Barred, false}
	case behind > 1:
		return Condition{api.StateSyncing, "", true}
	case len(m.keys) > 0: // it may have a reason not to lead
		return Condition{api.StateFollowing, status.Unfit, true}
	}
	return Condition{api.StateFollowing, "", true}
}

// quorum is the number of voters, of reached voters including this member, and of voters needed.
type quorum struct{ voters, reached, needed int }

func (m *member) quorum() (q quorum) {
	status, peers := m.service.Status(), m.link.Peers()
	for _, p := range status.Peers {
		if !p.Voter {
			continue
		}
		if q.voters++; p.ID == status.ID || peers[p.ID].Connected {
			q.reached++
		}
	}
	q.needed = q.voters/2 + 1
	return q
}

// verdict returns the voters' counts, and whether they prevent new blocks.
func (q quorum) verdict() string {
	counted := fmt.Sprintf("%d of %d voters reachable, quorum is %d", q.reached, q.voters, q.needed)
	if q.reached < q.needed {
		return counted + ": no quorum, so no blocks are produced"
	}
	return counted
}

// leads reports whether this member leads, or the reason why not, for health checks that look for the leader.
func (m *member) leads() (bool, string) {
	status := m.service.Status()
	if !status.Leads || m.diverged.Load() != nil || m.isOutdated() {
		return false, fmt.Sprintf("the leader is %s", nameOf(status, status.Leader))
	}
	return true, ""
}

// nameOf returns the name of a member, or "" if there is none.
func nameOf(s cluster.Status, id uint64) string {
	for _, p := range s.Peers {
		if p.ID == id {
			return p.Name
		}
	}
	return ""
}

// Mode implements [rpc.Node]. The leader makes the blocks, so it is a primary, and the others are replicas.
func (m *member) Mode() api.Mode {
	if m.service.Status().Leads {
		return api.ModePrimary
	}
	return api.ModeReplica
}

// State implements [rpc.Node].
func (m *member) State() (api.SyncState, string) { return m.Condition().state() }

// PeerCount returns the number of reached members.
func (m *member) PeerCount() (count uint64) {
	for _, p := range m.link.Peers() {
		if p.Connected {
			count++
		}
	}
	return count
}

// SyncStatus returns the sync status of a member that does not lead.
func (m *member) SyncStatus() api.SyncStatus {
	state, reason := m.State()
	head, behind := m.Store.Head().Header.Height, m.behind()
	status := api.SyncStatus{
		Synced:      behind == 0 && m.service.Status().Leader != 0,
		LocalHeight: head,
		State:       state,
		Upstreams:   []api.Upstream{},
	}
	if status.Synced || behind > 0 { // otherwise the newest height is unknown
		status.PrimaryHeight, status.BlocksBehind = new(head+types.Height(behind)), &behind
	}
	if reason != "" {
		status.Reason = &reason
	}
	return status
}

// Following implements [rpc.Node].
func (m *member) Following() rpc.Following {
	if m.service.Status().Leads {
		return nil
	}
	return m
}

// ProducerKey implements [rpc.Node].
func (m *member) ProducerKey() (types.PublicKey, bool) {
	if m.config.Key == nil {
		return types.PublicKey{}, false
	}
	return m.config.Key.PublicKey(), true
}

// Primary returns the URL of the leader's JSON-RPC if its record has one, or else its name.
func (m *member) Primary() string {
	status := m.service.Status()
	for _, p := range status.Peers {
		if p.ID == status.Leader && p.RPC != "" {
			return p.RPC
		}
	}
	return nameOf(status, status.Leader)
}

// Halted returns the reason why the member takes no more blocks, or "".
func (m *member) Halted() string {
	switch {
	case m.diverged.Load() != nil:
		return replica.Diverged
	case m.isOutdated():
		return replica.UnknownVersion
	}
	return ""
}

// isOutdated reports whether the member takes no further part because it does not know the version of the next block,
// whether the others have decided that block or the member would make it.
func (m *member) isOutdated() bool {
	status := m.service.Status()
	return m.outdated.Load() != nil || status.Leads && status.Outdated != 0
}

// outdatedReason returns the reason for [member.isOutdated].
func (m *member) outdatedReason() string {
	version, cause := m.service.Status().Outdated, error(nil)
	if err := m.outdated.Load(); err != nil {
		cause = *err
	}
	if u := m.Ledger.Tip().Parameters.Upgrade; version == 0 && u != nil { // by its own clock it is too early
		version = u.Version
	}
	return emergency.UnknownVersion(version, cause).Error()
}

// Cluster returns the cluster's state for clients.
func (m *member) Cluster() *api.Cluster {
	status := m.service.Status()
	c := &api.Cluster{
		Leader: nameOf(status, status.Leader), Term: status.Term, Members: make([]api.ClusterMember, len(status.Peers)),
	}
	for i, p := range status.Peers {
		c.Members[i] = api.ClusterMember{Name: p.Name, URL: p.RPC, Voter: p.Voter}
	}
	return c
}
