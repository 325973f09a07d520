package role

import (
	"fmt"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/internal/emergency"
	"github.com/cairn-chain/cairn/internal/engine/cluster"
	"github.com/cairn-chain/cairn/internal/server/rpc"
	"github.com/cairn-chain/cairn/types"
)

// behind is how many blocks another member has that this one has not.
func (m *member) behind() uint64 {
	head := m.Store.Head().Header.Height
	highest := head
	for _, p := range m.link.Peers() {
		highest = max(highest, p.Report.Height)
	}
	return uint64(highest - head)
}

// Condition is what the member does about new blocks. It is ready if it leads, or hears a leader and is near enough to
// it to be asked.
func (m *member) Condition() Condition {
	status, behind := m.service.Status(), m.behind()
	diverged := m.diverged.Load()
	switch {
	case diverged != nil:
		return Condition{api.StateHalted, emergency.Disagreed(diverged.Error(), diverged).Error(), false}
	case status.Leads && status.Holding != "":
		return Condition{api.StateHolding, status.Holding, false}
	case status.Leads:
		return Condition{api.StateProducing, "", true}
	case status.Leader == 0:
		return Condition{api.StateSyncing, emergency.NoLeader(m.quorum().verdict()).Error(), false}
	case behind > m.config.MaxLag:
		most := m.config.MaxLag
		return Condition{api.StateSyncing, fmt.Sprintf("%d blocks behind, at most %d are allowed", behind, most), false}
	case status.Barred != "" && len(m.keys) > 0: // who has no key votes, as others produce
		return Condition{api.StateFollowing, status.Barred, false}
	case behind > 1:
		return Condition{api.StateSyncing, "", true}
	case len(m.keys) > 0: // it may have a reason not to lead
		return Condition{api.StateFollowing, status.Unfit, true}
	}
	return Condition{api.StateFollowing, "", true}
}

// quorum is how many voters there are, are reached with this member, and are needed.
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

// verdict is what follows for the making of blocks.
func (q quorum) verdict() string {
	counted := fmt.Sprintf("%d of %d voters reached, %d needed", q.reached, q.voters, q.needed)
	if q.reached < q.needed {
		return counted + ": no blocks are made"
	}
	return counted
}

// leads tells whether this member leads, for who asks for the leader alone.
func (m *member) leads() (bool, string) {
	status := m.service.Status()
	if !status.Leads || m.diverged.Load() != nil {
		return false, fmt.Sprintf("the leader is %s", nameOf(status, status.Leader))
	}
	return true, ""
}

// nameOf is the name of a member, empty of none.
func nameOf(s cluster.Status, id uint64) string {
	for _, p := range s.Peers {
		if p.ID == id {
			return p.Name
		}
	}
	return ""
}

// Mode is that of a primary for the leader, which makes the blocks, and that of a replica for the others.
func (m *member) Mode() api.Mode {
	if m.service.Status().Leads {
		return api.ModePrimary
	}
	return api.ModeReplica
}

// State is what the member does about new blocks, and why not.
func (m *member) State() (api.SyncState, string) { return m.Condition().told() }

// PeerCount is the number of members that are reached.
func (m *member) PeerCount() (count uint64) {
	for _, p := range m.link.Peers() {
		if p.Connected {
			count++
		}
	}
	return count
}

// SyncStatus is how far a member is that does not lead.
func (m *member) SyncStatus() api.SyncStatus {
	state, reason := m.State()
	head, behind := m.Store.Head().Header.Height, m.behind()
	status := api.SyncStatus{
		Synced:      behind == 0 && m.service.Status().Leader != 0,
		LocalHeight: head,
		State:       state,
		Upstreams:   []api.Upstream{},
	}
	if status.Synced || behind > 0 { // else nobody says what there is
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

// Primary is where the leader's JSON-RPC is, if its record says so, or its name.
func (m *member) Primary() string {
	status := m.service.Status()
	for _, p := range status.Peers {
		if p.ID == status.Leader && p.RPC != "" {
			return p.RPC
		}
	}
	return nameOf(status, status.Leader)
}

// Halted is the cause for which the member takes no more blocks.
func (m *member) Halted() string {
	if m.diverged.Load() != nil {
		return "diverged"
	}
	return ""
}

// Cluster is what clients are told of the cluster.
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
