package role

import (
	"context"
	"errors"
	"fmt"

	"github.com/cairn-chain/cairn/internal/emergency"
	"github.com/cairn-chain/cairn/internal/engine/cluster"
	"github.com/cairn-chain/cairn/internal/p2p"
	"github.com/cairn-chain/cairn/internal/server/members"
	"github.com/cairn-chain/cairn/types"
)

// The following methods implement [members.Cluster].

// Status returns the member's view of its cluster.
func (m *member) Status() members.Status {
	status, peers := m.service.Status(), m.link.Peers()
	state, reason := m.State()
	q := m.quorum()
	s := members.Status{
		Verdict:  m.verdict(),
		Voters:   q.voters,
		Reached:  q.reached,
		Needed:   q.needed,
		Cluster:  fmt.Sprintf("%x", m.log.Member().Cluster),
		Self:     nameOf(status, status.ID),
		State:    string(state),
		Reason:   reason,
		Leader:   nameOf(status, status.Leader),
		Term:     status.Term,
		Applied:  status.Applied,
		Last:     status.Last,
		LogBytes: status.Bytes,
		Height:   uint64(m.Store.Head().Header.Height),
		Members:  make([]members.Member, len(status.Peers)),
	}
	for i, p := range status.Peers {
		listed := members.Member{
			ID:      fmt.Sprintf("%x", p.ID),
			Name:    p.Name,
			Address: p.Address,
			RPC:     p.RPC,
			Pin:     p2p.Pin(p.Pin).String(),
			Voter:   p.Voter,
			Key:     p.Keyed,
		}
		if p.ID == status.ID {
			listed.Reached, listed.Reported, listed.Applied = true, true, status.Applied
			listed.Starts, listed.Unfit, listed.Program = startsOf(m.boot), status.Unfit, m.Program
		} else {
			known := peers[p.ID]
			listed.Reached, listed.Fault, listed.ClockOffsetMS = known.Connected, known.Fault, known.Offset.Milliseconds()
			listed.Reported, listed.Applied = known.Reported(), known.Report.Applied
			listed.Starts, listed.Unfit, listed.Program = startsOf(known.Hello.Boot), known.Report.Unfit, known.Hello.Program
		}
		if listed.Reported {
			listed.Lag = status.Last - min(status.Last, listed.Applied)
		}
		s.Members[i] = listed
	}
	return s
}

// startsOf returns the number of starts of a member's node. The first boot only made the directory a member's.
func startsOf(boot uint64) uint64 { return boot - min(boot, 1) }

// verdict returns a summary of the cluster: whether blocks are made, and the reason if not.
func (m *member) verdict() string {
	status, q := m.service.Status(), m.quorum()
	verdict := q.verdict()
	switch leader := nameOf(status, status.Leader); {
	case q.reached < q.needed:
	case leader == "":
		verdict += ": no leader, so no blocks are produced"
	case status.Leads && status.Holding != "":
		verdict += ": no blocks are produced: " + status.Holding
	case !status.Leads && m.link.Peers()[status.Leader].Report.Unfit != "":
		verdict += fmt.Sprintf(": %s is the leader, but reports: %s", leader, m.link.Peers()[status.Leader].Report.Unfit)
	default:
		verdict += fmt.Sprintf(": %s is the leader, and produces the blocks", leader)
	}
	return verdict
}

// Add adds a member.
func (m *member) Add(ctx context.Context, a members.Addition) error {
	pin, err := p2p.ParsePin(a.Pin)
	if err != nil {
		return err
	}
	if err := m.checkProducer(a); err != nil {
		return err
	}
	return m.leading(m.service.Add(ctx, cluster.Record{
		ID:      pin.Member(),
		Name:    a.Name,
		Address: a.Address,
		RPC:     a.RPC,
		Pin:     pin,
		Keyed:   !a.NoKey,
	}))
}

// checkProducer refuses a new member that names another producer's key than the chain's.
func (m *member) checkProducer(a members.Addition) error {
	if a.Producer == "" {
		return nil
	}
	var found types.PublicKey
	if err := found.UnmarshalText([]byte(a.Producer)); err != nil {
		return fmt.Errorf("the producer's key: %w", err)
	}
	if is := m.Ledger.Tip().Parameters.Producer; found != is {
		return fmt.Errorf("cannot add %s: %w", a.Name, emergency.WrongProducerKey(is, found))
	}
	return nil
}

// Remove removes a member.
func (m *member) Remove(ctx context.Context, name string) error {
	id, err := m.named(name)
	if err != nil {
		return err
	}
	return m.leading(m.service.Remove(ctx, id))
}

// Transfer makes a member the leader. For an empty name it chooses the one with the most up-to-date log.
func (m *member) Transfer(ctx context.Context, name string) error {
	var id uint64
	if name != "" {
		var err error
		if id, err = m.named(name); err != nil {
			return err
		}
	}
	if status := m.service.Status(); status.Leads && id == status.ID {
		return nil
	}
	return m.leading(m.transfer(ctx, id))
}

// named returns the id of the member with the given name.
func (m *member) named(name string) (uint64, error) {
	for _, p := range m.service.Status().Peers {
		if p.Name == name {
			return p.ID, nil
		}
	}
	return 0, fmt.Errorf("%w: %s", cluster.ErrUnknownMember, name)
}

// leading adds the name of the leader to an error of a change that only the leader can make.
func (m *member) leading(err error) error {
	if err == nil {
		return nil
	}
	status := m.service.Status()
	switch leader := nameOf(status, status.Leader); {
	case status.Leads || !errors.Is(err, cluster.ErrNotLeader):
		return err
	case leader == "":
		return fmt.Errorf("%w, and there is no leader: see cairn cluster status", err)
	default:
		return fmt.Errorf("%w: %s is the leader; use its admin address", err, leader)
	}
}
