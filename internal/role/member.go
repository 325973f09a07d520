package role

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/cairn-chain/cairn/internal/accept"
	"github.com/cairn-chain/cairn/internal/datadir"
	"github.com/cairn-chain/cairn/internal/emergency"
	"github.com/cairn-chain/cairn/internal/engine/cluster"
	"github.com/cairn-chain/cairn/internal/engine/mempool"
	"github.com/cairn-chain/cairn/internal/engine/pause"
	"github.com/cairn-chain/cairn/internal/engine/replica"
	"github.com/cairn-chain/cairn/internal/engine/sequencer"
	"github.com/cairn-chain/cairn/internal/machine"
	"github.com/cairn-chain/cairn/internal/p2p"
	"github.com/cairn-chain/cairn/internal/protocol/exec"
	"github.com/cairn-chain/cairn/internal/server/admin"
	"github.com/cairn-chain/cairn/internal/server/members"
	"github.com/cairn-chain/cairn/internal/server/telemetry"
	"github.com/cairn-chain/cairn/internal/storage/raftlog"
	"github.com/cairn-chain/cairn/types"
)

// Member is the configuration of a node that is a member of a cluster.
type Member struct {
	Production                   // a member without a key votes and hands leadership on
	NextKey    sequencer.Signer  // key of the next producer, or nil
	Addr       string            // address of this member for the others
	MaxLag     uint64            // blocks behind beyond which the node is not ready
	Drain      datadir.Upstreams // get the pending transactions once the chain names another producer; may have no URL
}

// Open implements [Config].
func (c Member) Open(parts Parts) (Role, error) {
	m := &member{
		base: &base{Parts: parts}, config: c, refused: make(chan error, 1), met: make(map[uint64]bool),
	}
	return opened(m, m.open())
}

// member is an open [Member]. It serves other members as a [p2p.Handler] and the operator as a [members.Cluster].
type member struct {
	*base
	config    Member
	identity  p2p.Identity
	boot      uint64
	log       *raftlog.Log
	clock     *cluster.Clock
	keys      []memberKey // the producer's and the next one's; none for a member that only votes
	service   *cluster.Service
	link      *p2p.Link
	listener  net.Listener
	diverged  atomic.Pointer[cluster.Diverged] // reason to take no further part
	outdated  atomic.Pointer[error]            // the same for an unknown protocol version
	elections atomic.Uint64                    // leaders that this member has heard of
	leases    *leases
	met       map[uint64]bool // members that were reached before, for the log
	refused   chan error      // receives an error once another member has refused this one for good
}

// memberKey is a key to make blocks with, and its sign state.
type memberKey struct {
	sequencer.Signer
	lock *datadir.KeyLock
}

// open opens the log before the pool, which uses the log's clock.
func (m *member) open() error {
	if err := m.openLog(); err != nil {
		return err
	}
	if err := m.openKeys(); err != nil {
		return err
	}
	m.Mempool.Clock, m.Mempool.Cluster = m.clock.Now, m.log.Member().Cluster
	m.Mempool.HeadAt = func(h types.Height) (mempool.Head, error) { return mempool.HeadAt(m.Maker, h) }
	m.Mempool.Journal = m.Dir.Journal()
	if err := m.openPool(); err != nil {
		return err
	}
	if err := m.openService(); err != nil {
		return err
	}
	m.leases = newLeases(m.identity.Pin().Member(), m.alive)
	m.Proofs.Share(m.mayProve)
	telemetry.Register(m.Telemetry, func() *member { return m }, clusterMetrics()...)
	return nil
}

func (m *member) openLog() (err error) {
	if m.identity, m.boot, err = m.Dir.Identity(); err != nil {
		return err
	}
	if m.log, err = m.Dir.MemberLog(); err != nil {
		return err
	}
	m.clock, err = cluster.OpenClock(m.log)
	return err
}

// openKeys opens the sign states of the keys. Other members sign with the same keys: the cluster decides on the signed
// blocks.
func (m *member) openKeys() error {
	for _, key := range []sequencer.Signer{m.config.Key, m.config.NextKey} {
		if key == nil {
			continue
		}
		lock, err := m.Dir.KeyLock(key.PublicKey(), m.config.LockDir)
		if err != nil {
			return err
		}
		lock.Share()
		m.keys = append(m.keys, memberKey{key, lock})
	}
	if m.config.Key == nil {
		return nil
	}
	return m.signs(m.config.Key)
}

// openService makes the cluster service and the link, and opens the listener.
func (m *member) openService() (err error) {
	config := cluster.Config{
		Log:       m.log,
		Ledger:    m.Maker,
		Pool:      m.pool,
		Clock:     m.clock,
		Selector:  sequencer.NewSelector(m.Maker, m.pool, m.Book, systemClock{}),
		BlockTime: m.config.BlockTime,
		OnBlock:   observeBlocks(m.Telemetry, m.interval),
		OnTxBatch: m.Telemetry.Histogram("cluster_commit_seconds",
			"Time from this leader's proposal of transactions to their commit and application."),
		OnRelease: m.Telemetry.Histogram("cluster_release_seconds",
			"Time from this leader's proposal of a block to its commit, signature and release."),
		Unable: m.unable,
		Logger: m.Log,
	}
	m.observe(config.Selector, m.config.OnDebug)
	for _, key := range m.keys {
		config.Producers, config.Sign = append(config.Producers, key.PublicKey()), m.sign
	}
	if m.service, err = cluster.NewService(config); err != nil {
		return err
	}
	m.link = p2p.New(p2p.Config{
		Identity: m.identity,
		Handler:  m,
		Hello:    m.hello,
		Required: cluster.Kinds,
		Past: func() ([]cluster.Gone, []cluster.Former) {
			status := m.service.Status()
			return status.Gone, status.Former
		},
		Log: m.Log,
	})
	m.listener, err = accept.Listen(m.config.Addr, "--cluster-addr", m.Log)
	return err
}

// sign signs a header that the cluster has decided. It records the header in the key's sign state before anyone
// receives the signature. After the log, this is a second protection against a double-sign.
func (m *member) sign(h types.Header) (types.Signature, error) {
	i := slices.IndexFunc(m.keys, func(k memberKey) bool { return k.PublicKey() == h.Producer })
	if i < 0 {
		return types.Signature{}, fmt.Errorf("this member does not have the key of the producer %s", types.Account(h.Producer))
	}
	key := m.keys[i]
	if err := key.lock.Check(h); err != nil {
		return types.Signature{}, err
	}
	signature, err := key.Sign(context.Background(), h) // a signer's client waits for seconds at most
	if err != nil {
		return types.Signature{}, err
	}
	return signature, key.lock.Record(h)
}

// leastFree is the free disk space in bytes below which a member leaves the making of blocks to others. A full disk
// would end it.
const leastFree = 16 << 20

// unable returns the reason why this machine cannot make blocks, or "".
func (m *member) unable() string {
	if reason := m.unsigned(); reason != "" {
		return reason
	}
	if m.pool.Failing() != nil { // the log has the reason
		return "cannot write the mempool journal"
	}
	if size, free, err := machine.Disk(m.Dir.Path()); err == nil && size > 0 && free < leastFree {
		return "the disk is full"
	}
	return ""
}

// interval returns the time between the blocks that this node makes, or 0 while another one makes them.
func (m *member) interval() time.Duration {
	if !m.service.Status().Leads {
		return 0
	}
	return m.config.BlockTime
}

// hello returns the greeting that the member sends when it connects.
func (m *member) hello() p2p.Hello {
	facts, tip := m.service.Facts(), m.Ledger.Tip()
	return p2p.Hello{
		Height:    tip.Header.Header.Height,
		Producer:  tip.Parameters.Producer,
		Chain:     facts.Chain,
		Cluster:   facts.Cluster,
		Boot:      m.boot,
		Term:      facts.Term,
		LastIndex: facts.Last,
		Kinds:     facts.Kinds,
		Pool:      facts.Pool,
		Program:   m.Program,
	}
}

// Run takes part in the cluster until ctx ends. A member whose result differs from the others', or that does not know
// the version of the next block, continues to serve, and takes no further part in the cluster.
func (m *member) Run(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	ended := make(chan struct{})
	m.link.SetPeers(peersOf(m.service.Status())) // before one of them connects
	group.Go(func() error { return m.link.Serve(m.listener) })
	group.Go(func() error {
		defer close(ended)
		err := m.service.Run(ctx, memberLink{m.link})
		if errors.Is(err, cluster.ErrRemoved) {
			return m.end(&p2p.Refusal{Cause: p2p.CauseRemoved, Told: true, Height: m.Store.Head().Header.Height})
		}
		if errors.Is(err, exec.ErrUnknownVersion) {
			m.outdated.Store(&err)
			m.Log.Error("this member has stopped participating in the cluster", "error", m.outdatedReason())
			return nil
		}
		if diverged, ok := errors.AsType[*cluster.Diverged](err); ok {
			m.diverged.Store(diverged)
			m.Log.Error("this member has stopped participating in the cluster", "error", emergency.Disagreed(err.Error(), err))
			return m.keepEvidence(diverged)
		}
		return err
	})
	group.Go(func() error {
		select {
		case err := <-m.refused:
			return err
		case <-ctx.Done():
			return nil
		}
	})
	group.Go(func() error { return m.gatherProofs(ctx) })
	group.Go(func() error { return m.drain(ctx) })
	group.Go(func() error { return m.probeSigner(ctx) })
	group.Go(func() error {
		defer m.link.Close()
		var term uint64 // of the last leader
		for {
			status := m.service.Status()
			if status.Leader != 0 && status.Term > term {
				term = status.Term
				m.elections.Add(1)
			}
			m.link.SetPeers(peersOf(status))
			select {
			case <-m.service.Moved():
			case <-ended:
				return nil
			case <-ctx.Done():
				return nil
			}
		}
	})
	return group.Wait()
}

// end returns the error for a member that is refused for good. It also records in the directory if it must not run
// again.
func (m *member) end(r *p2p.Refusal) error {
	if r.Cause != p2p.CauseRemoved && r.Cause != p2p.CauseRecovered {
		return r
	}
	return errors.Join(r, m.Dir.EndMember(r.Error()))
}

// keepEvidence writes the evidence for a comparison with the other members.
func (m *member) keepEvidence(d *cluster.Diverged) error {
	path := m.Dir.HaltFile()
	if path == "" {
		return nil
	}
	height := m.Store.Head().Header.Height + 1
	if err := replica.Disagreed(d, height, d.Block).Write(path); err != nil {
		return fmt.Errorf("store the evidence of a diverged member: %w", err)
	}
	return nil
}

func peersOf(s cluster.Status) []p2p.Peer {
	peers := make([]p2p.Peer, len(s.Peers))
	for i, p := range s.Peers {
		peers[i] = p2p.Peer{Address: p.Address, Pin: p.Pin, Name: p.Name}
	}
	return peers
}

// HandOver transfers leadership before a leader stops, so that clients do not notice a planned stop.
func (m *member) HandOver(ctx context.Context) {
	m.Enter("transfer of leadership to another member")
	if status := m.service.Status(); !status.Leads || len(status.Peers) < 2 {
		return
	}
	if err := m.transfer(ctx, 0); err != nil {
		m.Log.Warn("shutdown: cannot transfer leadership to another member", "error", err)
	}
}

// transferTime bounds the wait for another member to lead. It normally takes two round trips.
const transferTime = 2 * time.Second

// transfer transfers leadership to a member and waits until another member leads. If to is 0, the member with the most
// up-to-date log is chosen.
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

var errNotTransferred = errors.New("no other member has become leader yet: see cairn cluster status")

// Close implements [Role].
func (m *member) Close() error {
	errs := []error{m.close()}
	if m.link != nil {
		m.link.Close()
	}
	if m.listener != nil {
		_ = m.listener.Close() // Serve has already closed it if the member ran
	}
	for _, key := range m.keys {
		errs = append(errs, key.lock.Close())
	}
	if m.log != nil {
		errs = append(errs, m.log.Close())
	}
	return errors.Join(errs...)
}

// AddMany implements [rpc.Sender].
func (m *member) AddMany(ctx context.Context, encoded [][]byte, source string) []mempool.Result {
	return m.service.AddMany(ctx, encoded, source)
}

// Administer implements [Role].
func (m *member) Administer(config *admin.Config) {
	config.Leads = m.leads
	config.Parts = append(config.Parts, members.Routes(m)...)
}

// drain sends pending transactions to the next producer through the upstreams. Once the chain names another key, the
// cluster's blocks cannot include them. Every member does so, because it may be the last one left.
func (m *member) drain(ctx context.Context) error {
	if len(m.config.Drain.URLs) == 0 || m.config.Key == nil {
		return nil // a member without a key cannot detect the change of the producer
	}
	sources, err := m.config.Drain.Sources()
	if err != nil {
		return err
	}
	holds := func() bool { return m.service.Status().Barred != "" }
	replica.Drain(ctx, m.pool, sources, holds, m.Log)
	for _, s := range sources {
		s.Close()
	}
	return nil
}

// probeInterval is the time between two attempts to reach a signer that failed while this member led.
const probeInterval = 5 * time.Second

// probeSigner checks, while this member does not lead, whether a signer that failed answers again. It runs until ctx
// ends.
func (m *member) probeSigner(ctx context.Context) error {
	if m.signer == nil {
		return nil
	}
	for pause.For(ctx, probeInterval) == nil {
		if !m.service.Status().Leads {
			m.signer.Probe(ctx)
		}
	}
	return nil
}
