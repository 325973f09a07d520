package node

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

// operator is what an operator's commands do with a member: a members.Cluster.
type operator struct{ *member }

// Status is what the member knows of its cluster.
func (o operator) Status() members.Status {
	status, peers := o.service.Status(), o.link.Peers()
	state, reason := o.State()
	q := o.quorum()
	s := members.Status{
		Verdict:  o.verdict(),
		Voters:   q.voters,
		Reached:  q.reached,
		Needed:   q.needed,
		Cluster:  fmt.Sprintf("%x", o.log.Member().Cluster),
		Self:     nameOf(status, status.ID),
		State:    string(state),
		Reason:   reason,
		Leader:   nameOf(status, status.Leader),
		Term:     status.Term,
		Applied:  status.Applied,
		Last:     status.Last,
		LogBytes: status.Bytes,
		Height:   uint64(o.node.store.Head().Header.Height),
		Members:  make([]members.Member, len(status.Peers)),
	}
	for i, p := range status.Peers {
		m := members.Member{
			ID:      fmt.Sprintf("%x", p.ID),
			Name:    p.Name,
			Address: p.Address,
			RPC:     p.RPC,
			Pin:     p2p.Pin(p.Pin).String(),
			Voter:   p.Voter,
			Key:     p.Keyed,
		}
		if p.ID == status.ID {
			m.Reached, m.Reported, m.Applied = true, true, status.Applied
			m.Starts, m.Unfit, m.Program = startsOf(o.boot), status.Unfit, o.node.config.Build.Version
		} else {
			known := peers[p.ID]
			m.Reached, m.Fault, m.ClockOffsetMS = known.Connected, known.Fault, known.Offset.Milliseconds()
			m.Reported, m.Applied = known.Reported(), known.Report.Applied
			m.Starts, m.Unfit, m.Program = startsOf(known.Hello.Boot), known.Report.Unfit, known.Hello.Program
		}
		if m.Reported {
			m.Lag = status.Last - min(status.Last, m.Applied)
		}
		s.Members[i] = m
	}
	return s
}

// startsOf is how often a member's node was started: the first of its boots made the directory a member's.
func startsOf(boot uint64) uint64 { return boot - min(boot, 1) }

// verdict is what there is to say of the cluster first: whether blocks are made, and what keeps them.
func (o operator) verdict() string {
	status, q := o.service.Status(), o.quorum()
	verdict := q.verdict()
	switch leader := nameOf(status, status.Leader); {
	case q.reached < q.needed:
	case leader == "":
		verdict += ": no leader is heard of, no blocks are made"
	case status.Leads && status.Holding != "":
		verdict += ": no blocks are made, " + status.Holding
	case !status.Leads && o.link.Peers()[status.Leader].Report.Unfit != "":
		verdict += fmt.Sprintf(": %s leads and says: %s", leader, o.link.Peers()[status.Leader].Report.Unfit)
	default:
		verdict += fmt.Sprintf(": %s makes the blocks", leader)
	}
	return verdict
}

// Add adds a member.
func (o operator) Add(ctx context.Context, a members.Addition) error {
	pin, err := p2p.ParsePin(a.Pin)
	if err != nil {
		return err
	}
	if err := o.checkProducer(a); err != nil {
		return err
	}
	return o.leading(o.service.Add(ctx, cluster.Record{
		ID:      pin.Member(),
		Name:    a.Name,
		Address: a.Address,
		RPC:     a.RPC,
		Pin:     pin,
		Keyed:   !a.NoKey,
	}))
}

// checkProducer refuses a member with the key of another producer than the chain's, where it says which it has.
func (o operator) checkProducer(a members.Addition) error {
	if a.Producer == "" {
		return nil
	}
	var found types.PublicKey
	if err := found.UnmarshalText([]byte(a.Producer)); err != nil {
		return fmt.Errorf("the producer's key: %w", err)
	}
	if is := o.node.ledger.Tip().Parameters.Producer; found != is {
		return fmt.Errorf("%s was not added: %w", a.Name, emergency.WrongProducerKey(is, found))
	}
	return nil
}

// Remove removes a member.
func (o operator) Remove(ctx context.Context, name string) error {
	id, err := o.named(name)
	if err != nil {
		return err
	}
	return o.leading(o.service.Remove(ctx, id))
}

// Transfer makes a member the leader; of no name: the one that has most of the log.
func (o operator) Transfer(ctx context.Context, name string) error {
	var id uint64
	if name != "" {
		var err error
		if id, err = o.named(name); err != nil {
			return err
		}
	}
	if status := o.service.Status(); status.Leads && id == status.ID {
		return nil
	}
	return o.leading(o.transfer(ctx, id))
}

// named is the id of a member of a name.
func (o operator) named(name string) (uint64, error) {
	for _, p := range o.service.Status().Peers {
		if p.Name == name {
			return p.ID, nil
		}
	}
	return 0, fmt.Errorf("%w: %s", cluster.ErrUnknownMember, name)
}

// leading says of a change that only a leader makes who that is.
func (o operator) leading(err error) error {
	if err == nil {
		return nil
	}
	status := o.service.Status()
	switch leader := nameOf(status, status.Leader); {
	case status.Leads || !errors.Is(err, cluster.ErrNotLeader):
		return err
	case leader == "":
		return fmt.Errorf("%w, and none is heard of: see cairn cluster status", err)
	default:
		return fmt.Errorf("%w: %s does, ask its admin address", err, leader)
	}
}
