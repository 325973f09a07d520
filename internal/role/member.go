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
	"github.com/cairn-chain/cairn/internal/server/admin"
	"github.com/cairn-chain/cairn/internal/server/members"
	"github.com/cairn-chain/cairn/internal/server/telemetry"
	"github.com/cairn-chain/cairn/internal/storage/raftlog"
	"github.com/cairn-chain/cairn/types"
)

// Member is a node that is one of the machines of a cluster.
type Member struct {
	Production                   // without a key it votes, and hands leadership on
	NextKey    sequencer.Signer  // of the next producer, nil where none is coming
	Addr       string            // where the other members reach this one
	MaxLag     uint64            // blocks behind beyond which the node is not ready
	HandOn     datadir.Upstreams // who gets what is pending once the chain names another producer; may have no URL
}

// Open implements [Config].
func (c Member) Open(parts Parts) (Role, error) {
	m := &member{
		base: &base{Parts: parts}, config: c, refused: make(chan error, 1), met: make(map[uint64]bool),
	}
	return opened(m, m.open())
}

// member is a [Member] that is open. Other members ask it as a [p2p.Handler], an operator as a [members.Cluster].
type member struct {
	*base
	config    Member
	identity  p2p.Identity
	boot      uint64
	log       *raftlog.Log
	clock     *cluster.Clock
	keys      []memberKey // the producer's, and the next one's; none of a member that only votes
	service   *cluster.Service
	link      *p2p.Link
	listener  net.Listener
	diverged  atomic.Pointer[cluster.Diverged] // why it takes no further part
	elections elections
	leases    *leases
	met       map[uint64]bool // who was reached, as the log was told
	refused   chan error      // has a value once another member has refused this one for good
}

// memberKey is a key to make blocks with, and the lock that holds what it signed.
type memberKey struct {
	sequencer.Signer
	lock *datadir.KeyLock
}

// open opens the log before the pool, which goes by the log's time.
func (m *member) open() error {
	if err := m.openLog(); err != nil {
		return err
	}
	if err := m.openKeys(); err != nil {
		return err
	}
	m.Mempool.Moment, m.Mempool.Cluster = m.clock.Now, m.log.Member().Cluster
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

// openKeys opens the keys' locks. Other members sign with the keys, too: the cluster decides what the locks hold.
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

// openService makes what runs the member, and listens.
func (m *member) openService() (err error) {
	config := cluster.Config{
		Log:       m.log,
		Ledger:    m.Maker,
		Pool:      m.pool,
		Clock:     m.clock,
		Picker:    sequencer.NewPicker(m.Maker, m.pool, m.Book, systemClock{}),
		BlockTime: m.config.BlockTime,
		OnBlock:   observeBlocks(m.Telemetry, m.interval),
		OnTxBatch: m.Telemetry.Histogram("cluster_commit_seconds",
			"Time from the proposal of transactions by this leader until they were decided and applied here."),
		OnRelease: m.Telemetry.Histogram("cluster_release_seconds",
			"Time from the proposal of a block by this leader until it was decided, signed and released here."),
		Unable: m.unable,
		Logger: m.Log,
	}
	m.observe(config.Picker, m.config.OnDebug)
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

// sign signs a header that the cluster has decided. The key's lock holds it before anyone is told: a second wall
// against two blocks of a height, behind the log.
func (m *member) sign(h types.Header) (types.Signature, error) {
	i := slices.IndexFunc(m.keys, func(k memberKey) bool { return k.PublicKey() == h.Producer })
	if i < 0 {
		return types.Signature{}, fmt.Errorf("this member has no key of the producer %s", types.Account(h.Producer))
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

// leastFree is the space on the disk below which a member leaves the making of blocks to others, before it ends.
const leastFree = 16 << 20

// unable is why this machine cannot make blocks, empty if it can.
func (m *member) unable() string {
	if reason := m.unsigned(); reason != "" {
		return reason
	}
	if m.pool.Failing() != nil { // the log says why
		return "the mempool's journal cannot be written"
	}
	if size, free, err := machine.Disk(m.Dir.Path()); err == nil && size > 0 && free < leastFree {
		return "the disk is full"
	}
	return ""
}

// interval is the time between the blocks that this node makes, 0 while another one does.
func (m *member) interval() time.Duration {
	if !m.service.Status().Leads {
		return 0
	}
	return m.config.BlockTime
}

// hello is what the member says of itself when it connects.
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

// membersInterval is the time between two looks at whether the members are others.
const membersInterval = 50 * time.Millisecond

// Run takes part in the cluster until ctx ends. A member that came to something else than the others goes on serving
// what it has, and takes no further part.
func (m *member) Run(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	ended := make(chan struct{})
	m.link.SetPeers(peersOf(m.service.Status())) // before one of them comes
	group.Go(func() error { return m.link.Serve(m.listener) })
	group.Go(func() error {
		defer close(ended)
		err := m.service.Run(ctx, memberLink{m.link})
		if errors.Is(err, cluster.ErrRemoved) {
			return m.end(&p2p.Refusal{Cause: p2p.CauseRemoved, Told: true, Height: m.Store.Head().Header.Height})
		}
		if diverged := new(cluster.Diverged); errors.As(err, &diverged) {
			m.diverged.Store(diverged)
			m.Log.Error("this member takes no further part", "error", emergency.Disagreed(err.Error(), err))
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

// end is the error with which a member ends that is refused for good. Where its disk must not run again, that is kept.
func (m *member) end(r *p2p.Refusal) error {
	if r.Cause != p2p.CauseRemoved && r.Cause != p2p.CauseRecovered {
		return r
	}
	return errors.Join(r, m.Dir.EndMember(r.Error()))
}

// keepEvidence keeps what an operator may compare with the other members.
func (m *member) keepEvidence(d *cluster.Diverged) error {
	path := m.Dir.HaltFile()
	if path == "" {
		return nil
	}
	height := m.Store.Head().Header.Height + 1
	if err := replica.Disagreed(d, height, d.Block).Write(path); err != nil {
		return fmt.Errorf("keep the evidence of a member that came to something else: %w", err)
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

// HandOver has another member lead before this one stops, if it leads: a planned stop is to be noticed by nobody.
func (m *member) HandOver(ctx context.Context) {
	m.Enter("another member to lead")
	if status := m.service.Status(); !status.Leads || len(status.Peers) < 2 {
		return
	}
	if err := m.transfer(ctx, 0); err != nil {
		m.Log.Warn("leadership was not handed on before the end", "error", err)
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

// Close implements [Role].
func (m *member) Close() error {
	errs := []error{m.close()}
	if m.link != nil {
		m.link.Close()
	}
	if m.listener != nil {
		_ = m.listener.Close() // Serve has closed it already if the member ran
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

// handOn hands what is pending on to the producer after this cluster, which the upstreams are or lead to. Once the
// chain names another key, no block of the cluster's will have it. Each member does so, as but one may be left.
func (m *member) handOn(ctx context.Context) error {
	if len(m.config.HandOn.URLs) == 0 || m.config.Key == nil {
		return nil // who has no key cannot tell whose turn it is
	}
	sources, err := m.config.HandOn.Sources()
	if err != nil {
		return err
	}
	holds := func() bool { return m.service.Status().Barred != "" }
	replica.HandOn(ctx, m.pool, sources, holds, m.Log)
	for _, s := range sources {
		s.Close()
	}
	return nil
}

// probeInterval is the time between two attempts to reach a signer that failed when this member led.
const probeInterval = 5 * time.Second

// probeSigner has a member that does not lead notice that the signer is back, until ctx ends.
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
