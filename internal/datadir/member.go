package datadir

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"time"

	"github.com/cairn-chain/cairn/internal/emergency"
	"github.com/cairn-chain/cairn/internal/engine/cluster"
	"github.com/cairn-chain/cairn/internal/engine/pause"
	"github.com/cairn-chain/cairn/internal/p2p"
	"github.com/cairn-chain/cairn/internal/storage/kv"
	"github.com/cairn-chain/cairn/internal/storage/raftlog"
	"github.com/cairn-chain/cairn/types"
)

// Membership is a new member's name and addresses.
type Membership struct {
	Name    string
	Address string // host:port of its link
	RPC     string // base URL of its JSON-RPC; may be empty
}

// InitCluster starts a cluster with the directory's chain. The directory becomes its only member, which has the
// producer's key. The cluster begins after the head. A directory in which no node has run yet begins with its genesis
// file.
func (d *Dir) InitCluster(m Membership) (p2p.Pin, error) {
	if err := d.notMember(); err != nil {
		return p2p.Pin{}, err
	}
	if err := d.begin(); err != nil {
		return p2p.Pin{}, err
	}
	if d.lost != nil {
		return p2p.Pin{}, d.lost
	}
	identity, err := d.makeIdentity()
	if err != nil {
		return p2p.Pin{}, err
	}
	head := d.store.Head().Header
	pin := identity.Pin()
	return pin, cluster.Create(d.logPaths(), cluster.NewCluster(), cluster.Place{
		Head: cluster.Head{Height: head.Height, Hash: head.Hash()},
		Time: uint64(time.Now().UnixMilli()),
		Members: []cluster.Record{{
			ID:      pin.Member(),
			Name:    m.Name,
			Address: m.Address,
			RPC:     m.RPC,
			Pin:     pin,
			Keyed:   true,
		}},
	})
}

// begin starts the chain of a directory that has a genesis file and no chain.
func (d *Dir) begin() error {
	if d.Genesis() != nil {
		return nil
	}
	genesis, err := ReadGenesis(d.file(GenesisFile), d.path, nil)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w, nor a %s: %s", ErrNoChain, GenesisFile, d.path)
	}
	if err != nil {
		return err
	}
	_, closing, err := d.offline(Chain{Genesis: &genesis})
	return errors.Join(err, closing())
}

// join is the member that a directory which is about to join a cluster contacts first.
type join struct {
	Peer string `json:"peer"` // host:port
	Pin  string `json:"pin"`
}

// JoinCluster prepares the directory to join a cluster through the member peer, and returns the pin to add to the
// cluster. The directory need not have a chain yet.
func (d *Dir) JoinCluster(peer p2p.Peer) (p2p.Pin, error) {
	if err := d.notMember(); err != nil {
		return p2p.Pin{}, err
	}
	content, err := json.Marshal(join{peer.Address, peer.Pin.String()})
	if err != nil {
		return p2p.Pin{}, err
	}
	if err := (kv.FS{}).WriteFile(d.file(joinFile), append(content, '\n')); err != nil {
		return p2p.Pin{}, err
	}
	identity, err := d.makeIdentity()
	return identity.Pin(), err
}

// joining returns the member that a directory without a log contacts first.
func (d *Dir) joining() (p2p.Peer, error) {
	content, err := readBounded(d.file(joinFile), 1<<10)
	if errors.Is(err, fs.ErrNotExist) {
		return p2p.Peer{}, fmt.Errorf("%w: cairn cluster init or cairn cluster join did not finish", ErrNoMember)
	}
	if err != nil {
		return p2p.Peer{}, err
	}
	var j join
	err = json.Unmarshal(content, &j)
	pin, pinErr := p2p.ParsePin(j.Pin)
	if err = errors.Join(err, pinErr); err != nil {
		return p2p.Peer{}, emergency.DamagedPlace(d.file(joinFile), err)
	}
	return p2p.Peer{Address: j.Peer, Pin: pin}, nil
}

// notMember refuses a directory that belongs to a cluster, or is about to join one.
func (d *Dir) notMember() error {
	if d.path == "" {
		return errors.New("a chain in memory cannot belong to a cluster")
	}
	if _, err := d.Store(); err != nil {
		return err
	}
	log, err := d.MemberLog()
	if errors.Is(err, raftlog.ErrNone) {
		if _, err := os.Stat(d.file(joinFile)); err == nil {
			return fmt.Errorf("%w: it is about to join a cluster; remove %s to start over", ErrMember, d.file(joinFile))
		}
		return nil
	}
	if err == nil {
		err = log.Close()
	}
	return errors.Join(ErrMember, err)
}

func (d *Dir) logPaths() cluster.Paths {
	return cluster.Paths{DB: d.db, Files: kv.FS{}, Votes: d.file(votesFile)}
}

// MemberLog opens the log of the directory's member. The caller must close it. MemberLog returns raftlog.ErrNone if
// there is no log, as before a new member has received the list of members.
func (d *Dir) MemberLog() (*raftlog.Log, error) {
	if _, err := d.Store(); err != nil {
		return nil, err
	}
	return raftlog.Open(d.db, kv.FS{}, d.file(votesFile))
}

// MemberState is the state of a member's log and chain.
type MemberState struct {
	Cluster string       `json:"cluster"`
	Term    uint64       `json:"term"`
	Index   uint64       `json:"index"` // index of the last entry
	Head    cluster.Head `json:"head"`  // head of the chain
}

// MemberState returns the state of the directory's member.
func (d *Dir) MemberState() (s MemberState, err error) {
	if _, err := d.readPlace(); err != nil {
		return s, err
	}
	log, err := d.MemberLog()
	if err != nil {
		return s, err
	}
	hard, _, err := log.InitialState()
	if err != nil {
		return s, errors.Join(err, log.Close())
	}
	head := d.store.Head().Header
	s = MemberState{
		Cluster: fmt.Sprintf("%x", log.Member().Cluster), Term: hard.GetTerm(),
		Head: cluster.Head{Height: head.Height, Hash: head.Hash()},
	}
	s.Index, err = log.LastIndex()
	return s, errors.Join(err, log.Close())
}

// RecoverCluster starts a new cluster with the directory's member as its only one, from everything in its log. Later
// decisions of the other members are lost, and these must never run again.
func (d *Dir) RecoverCluster() error {
	if _, err := d.readPlace(); err != nil {
		return err
	}
	log, err := d.MemberLog()
	if err != nil {
		return err
	}
	return errors.Join(cluster.Recover(log, d.store.Head().Header.Height), log.Close())
}

// joinPause is the time between two requests of a member that the cluster has not added yet.
const joinPause = time.Second

// Joining is the information that [Dir.Join] needs about this member.
type Joining struct {
	Genesis types.Genesis
	Program string
	Keys    []types.PublicKey // keys that it makes blocks with; none for a member that only votes
	LockDir string            // directory of the keys' sign states; empty for the data directory
	Waits   func(reason string)
}

// Join makes the log of a directory that is about to join a cluster. It asks a known member for the list of members,
// and retries until the cluster has added this member or ctx ends. It returns at once on an error that waiting does not
// resolve: a final *p2p.Refusal, or an emergency about its key. For a directory that has a log, Join only checks the
// keys.
func (d *Dir) Join(ctx context.Context, j Joining) error {
	if _, err := d.readPlace(); err != nil {
		return err
	}
	log, err := d.MemberLog()
	if err == nil {
		return errors.Join(d.checkKeys(ctx, log, j), log.Close())
	}
	if !errors.Is(err, raftlog.ErrNone) {
		return err
	}
	peer, err := d.joining()
	if err != nil {
		return err
	}
	identity, hello, err := d.introduce(j)
	if err != nil {
		return err
	}
	for logged := ""; ; {
		asking, cancel := context.WithTimeout(ctx, 10*joinPause)
		other, encoded, err := p2p.AskMembers(asking, identity, peer, hello)
		cancel()
		refusal := new(p2p.Refusal)
		switch {
		case err == nil && len(j.Keys) > 0 && !slices.Contains(j.Keys, other.Producer):
			return emergency.WrongProducerKey(other.Producer, j.Keys[0])
		case err == nil:
			return d.joined(hello.Chain, other.Cluster, identity.Pin(), encoded)
		case errors.As(err, &refusal) && refusal.Cause.Final():
			return fmt.Errorf("the member at %s: %w", peer.Address, err)
		}
		reason := fmt.Sprintf("waiting to be added to the cluster by the member at %s: %v", peer.Address, err)
		if j.Waits(reason); logged != err.Error() {
			d.options.Log.Warn(reason)
			logged = err.Error()
		}
		if err := pause.For(ctx, joinPause); err != nil {
			return fmt.Errorf("this member was not added to its cluster: %w", err)
		}
	}
}

// introduce returns the greeting with which a member contacts another one at its start.
func (d *Dir) introduce(j Joining) (identity p2p.Identity, hello p2p.Hello, err error) {
	identity, p, err := d.readIdentity()
	if err != nil {
		return identity, hello, err
	}
	hello = p2p.Hello{Boot: p.boot, Kinds: cluster.Kinds, Program: j.Program}
	hello.Chain, err = GenesisHash(j.Genesis)
	return identity, hello, err
}

// checkKeys refuses a start if none of the keys is or was the chain's producer key. It asks this directory, and the
// first other member that answers and has at least as many blocks.
func (d *Dir) checkKeys(ctx context.Context, log *raftlog.Log, j Joining) error {
	head := d.store.Head().Header
	known := slices.Contains(j.Keys, head.Producer) || slices.Contains(j.Keys, j.Genesis.Parameters.Producer)
	for _, key := range j.Keys {
		lock, err := d.KeyLock(key, j.LockDir)
		if err != nil {
			return err
		}
		known = known || lock.Last().Height > 0
		if err := lock.Close(); err != nil {
			return err
		}
	}
	if known || len(j.Keys) == 0 {
		return nil
	}
	identity, hello, err := d.introduce(j)
	if err != nil {
		return err
	}
	hard, _, err := log.InitialState() // the log is complete
	if err != nil {
		return err
	}
	hello.Term = hard.GetTerm()
	if hello.LastIndex, err = log.LastIndex(); err != nil {
		return err
	}
	records, err := cluster.Members(log)
	if err != nil {
		return err
	}
	for _, r := range records {
		if p2p.Pin(r.Pin) == identity.Pin() {
			continue
		}
		asking, cancel := context.WithTimeout(ctx, joinPause)
		other, _, err := p2p.AskMembers(asking, identity, p2p.Peer{Address: r.Address, Pin: r.Pin, Name: r.Name}, hello)
		cancel()
		if err != nil || other.Height < head.Height {
			continue // a refusal is handled when the member runs
		}
		if !slices.Contains(j.Keys, other.Producer) {
			return emergency.WrongProducerKey(other.Producer, j.Keys[0])
		}
		return nil
	}
	if len(records) == 1 { // this member is the only one
		return emergency.WrongProducerKey(head.Producer, j.Keys[0])
	}
	return nil
}

// joined makes the log of a member from the list of members that it has received.
func (d *Dir) joined(genesis types.BlockHash, name [16]byte, self p2p.Pin, encoded []byte) error {
	place, err := cluster.DecodePlace(encoded)
	if err != nil {
		return err
	}
	place.Head = cluster.Head{Hash: genesis}
	return cluster.Prepare(d.logPaths(), name, self.Member(), place)
}
