package node

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/internal/datadir"
	"github.com/cairn-chain/cairn/internal/engine/cluster"
	"github.com/cairn-chain/cairn/internal/engine/cluster/link"
	"github.com/cairn-chain/cairn/internal/engine/replica"
	"github.com/cairn-chain/cairn/internal/engine/sequencer"
	"github.com/cairn-chain/cairn/internal/server/telemetry"
	"github.com/cairn-chain/cairn/internal/storage/raftlog"
	"github.com/cairn-chain/cairn/types"
)

// Cluster is how a node is a member of a cluster.
type Cluster struct {
	Addr   string // where the other members reach this one
	MaxLag uint64 // blocks behind beyond which the node is not ready
}

// member is a node's part in its cluster.
type member struct {
	node      *Node
	identity  link.Identity
	boot      uint64
	log       *raftlog.Log
	clock     *cluster.Clock
	lock      *datadir.KeyLock // nil without a key
	service   *cluster.Service
	link      *link.Link
	listener  net.Listener
	diverged  atomic.Pointer[cluster.Diverged] // why it takes no further part
	elections elections
	leases    *leases
}

// openMember opens the log of a member, before the pool, which goes by the log's time.
func (n *Node) openMember() (err error) {
	if n.config.Cluster == nil {
		return nil
	}
	m := &member{node: n}
	n.member = m
	if m.identity, m.boot, err = n.dir.Identity(); err != nil {
		return err
	}
	if m.log, err = n.dir.MemberLog(); err != nil {
		return err
	}
	if m.clock, err = cluster.OpenClock(m.log); err != nil {
		return err
	}
	if n.config.Key != nil {
		m.lock, err = n.dir.KeyLock(n.config.Key.PublicKey(), n.config.LockDir)
	}
	if m.lock != nil {
		m.lock.Share()
	}
	return err
}

// newMember makes what runs a member.
func (n *Node) newMember() (err error) {
	m := n.member
	config := cluster.Config{
		Log:       m.log,
		Ledger:    n.maker,
		Pool:      n.pool,
		Clock:     m.clock,
		Picker:    sequencer.NewPicker(n.maker, n.pool, n.book, systemClock{}),
		BlockTime: n.config.BlockTime,
		OnBlock:   observeBlocks(n.telemetry, m.blockTime),
		OnIntake: n.telemetry.Histogram("cluster_commit_seconds",
			"Time from the proposal of transactions by this leader until they were decided and applied here."),
		OnRelease: n.telemetry.Histogram("cluster_release_seconds",
			"Time from the proposal of a block by this leader until it was decided, signed and released here."),
		Logger: n.config.Log,
	}
	config.Picker.OnLeftOut, config.Picker.OnDebug, config.Picker.Note = n.observeLeftOut, n.config.OnDebug, n.note
	if n.config.Key != nil {
		config.Producer, config.Sign = n.config.Key.PublicKey(), m.sign
	}
	if m.service, err = cluster.NewService(config); err != nil {
		return err
	}
	m.link = link.New(link.Config{
		Identity: m.identity,
		Handler:  memberHandler{m},
		Hello:    m.hello,
		Required: cluster.Kinds,
		Log:      n.config.Log,
	})
	m.leases = newLeases(m.identity.Pin().Member(), m.alive)
	n.queue.Share(m.mayProve)
	telemetry.Register(n.telemetry, func() *member { return m }, clusterMetrics()...)
	m.listener, err = listen(n.config.Cluster.Addr, "--cluster-addr", n.config.Log)
	return err
}

// sign signs a header that the cluster has decided. The key's lock holds it before anyone is told: a second wall
// against two blocks of a height, behind the log.
func (m *member) sign(h types.Header) (types.Signature, error) {
	if err := m.lock.Check(h); err != nil {
		return types.Signature{}, err
	}
	signature, err := m.node.config.Key.Sign(context.Background(), h) // a signer's client waits for seconds at most
	if err != nil {
		return types.Signature{}, err
	}
	return signature, m.lock.Hold(h)
}

// blockTime is the interval between the blocks that this node makes, 0 while another one does.
func (m *member) blockTime() time.Duration {
	if !m.service.Status().Leads {
		return 0
	}
	return m.node.config.BlockTime
}

// hello is what the member says of itself when it connects.
func (m *member) hello() link.Hello {
	facts := m.service.Facts()
	return link.Hello{
		Chain:     facts.Chain,
		Cluster:   facts.Cluster,
		Boot:      m.boot,
		Term:      facts.Term,
		LastIndex: facts.Last,
		Kinds:     facts.Kinds,
		Pool:      facts.Pool,
		Program:   m.node.config.Build.Version,
	}
}

// membersInterval is the time between two looks at whether the members are others.
const membersInterval = 50 * time.Millisecond

// run takes part in the cluster until ctx ends. A member that came to something else than the others goes on serving
// what it has, and takes no further part.
func (m *member) run(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	ended := make(chan struct{})
	m.link.SetPeers(peersOf(m.service.Status())) // before one of them comes
	group.Go(func() error { return m.link.Serve(m.listener) })
	group.Go(func() error {
		defer close(ended)
		err := m.service.Run(ctx, memberLink{m.link})
		if diverged := new(cluster.Diverged); errors.As(err, &diverged) {
			m.diverged.Store(diverged)
			m.node.config.Log.Error(
				"this member has come to something else than its cluster, and takes no further part", "error", err,
			)
			return m.keepEvidence(diverged)
		}
		return err
	})
	group.Go(func() error { return m.gatherProofs(ctx) })
	group.Go(func() error { return m.handOn(ctx) })
	group.Go(func() error { return m.probeSigner(ctx) })
	group.Go(func() error {
		defer m.link.Close()
		ticker := time.NewTicker(membersInterval)
		defer ticker.Stop()
		for {
			status := m.service.Status()
			m.elections.look(status)
			m.link.SetPeers(peersOf(status))
			select {
			case <-ticker.C:
			case <-ended:
				return nil
			case <-ctx.Done():
				return nil
			}
		}
	})
	return group.Wait()
}

// keepEvidence keeps what an operator may compare with the other members.
func (m *member) keepEvidence(d *cluster.Diverged) error {
	path := m.node.dir.HaltFile()
	if path == "" {
		return nil
	}
	height := m.node.store.Head().Header.Height + 1
	if err := replica.Disagreed(d, height, d.Block).Write(path); err != nil {
		return fmt.Errorf("keep the evidence of a member that came to something else: %w", err)
	}
	return nil
}

func peersOf(s cluster.Status) []link.Peer {
	peers := make([]link.Peer, len(s.Peers))
	for i, p := range s.Peers {
		peers[i] = link.Peer{Address: p.Address, Pin: p.Pin}
	}
	return peers
}

// handOver has another member lead before this one stops, if it leads: a planned stop is to be noticed by nobody.
func (m *member) handOver(ctx context.Context) {
	if status := m.service.Status(); !status.Leads || len(status.Peers) < 2 {
		return
	}
	if err := m.transfer(ctx, 0); err != nil {
		m.node.config.Log.Warn("leadership was not handed on before the end", "error", err)
	}
}

// transferTime is how long another member has to begin to lead. One that is asked does so within two round trips.
const transferTime = 2 * time.Second

// transfer has another member lead, 0 for the one that has most of the log, and waits until one does.
func (m *member) transfer(ctx context.Context, to uint64) error {
	ctx, cancel := context.WithTimeoutCause(ctx, transferTime, errNotTransferred)
	defer cancel()
	if err := m.service.Transfer(ctx, to); err != nil {
		return err
	}
	ticker := time.NewTicker(5 * time.Millisecond)
	defer ticker.Stop()
	for m.service.Status().Leads || m.service.Status().Leader == 0 {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

var errNotTransferred = errors.New("no other member leads yet: look at cairn cluster status")

// close closes what openMember and newMember opened; run has ended.
func (m *member) close() error {
	var errs []error
	if m.link != nil {
		m.link.Close()
	}
	if m.listener != nil {
		_ = m.listener.Close() // Serve has closed it already if the member ran
	}
	if m.lock != nil {
		errs = append(errs, m.lock.Close())
	}
	if m.log != nil {
		errs = append(errs, m.log.Close())
	}
	return errors.Join(errs...)
}

// behind is how many blocks another member has that this one has not.
func (m *member) behind() uint64 {
	head := m.node.store.Head().Header.Height
	highest := head
	for _, p := range m.link.Peers() {
		highest = max(highest, p.Report.Height)
	}
	return uint64(highest - head)
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
func (m *member) State() (api.SyncState, string) {
	c := m.condition()
	return c.state, c.reason
}

// condition is what the member does about new blocks. It is ready if it leads, or hears a leader and is near enough to
// it to be asked.
func (m *member) condition() condition {
	status, behind, lag := m.service.Status(), m.behind(), m.node.config.Cluster.MaxLag
	following := condition{api.StateFollowing, "", behind <= lag}
	if behind > 1 {
		following.state = api.StateSyncing
	}
	if !following.ready {
		following.reason = fmt.Sprintf("%d blocks behind, at most %d are allowed", behind, lag)
	}
	switch diverged := m.diverged.Load(); {
	case diverged != nil:
		return condition{api.StateHalted, diverged.Error(), false}
	case status.Leads && status.Holding != "":
		return condition{api.StateHolding, status.Holding, false}
	case status.Leads && m.node.unsigned() != "":
		return condition{api.StateHolding, m.node.unsigned(), false}
	case status.Leads:
		return condition{api.StateProducing, "", true}
	case status.Holding != "" && m.node.config.Key != nil: // who has no key votes, as others produce
		return condition{following.state, status.Holding, false}
	case status.Leader == 0:
		return condition{api.StateSyncing, "no leader of the cluster is heard of", false}
	}
	return following
}

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
	head, behind := m.node.store.Head().Header.Height, m.behind()
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
