package datadir

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/cairn-chain/cairn/internal/engine/cluster"
	"github.com/cairn-chain/cairn/internal/engine/cluster/link"
	"github.com/cairn-chain/cairn/internal/engine/pause"
	"github.com/cairn-chain/cairn/internal/storage/kv"
	"github.com/cairn-chain/cairn/internal/storage/raftlog"
	"github.com/cairn-chain/cairn/types"
)

// Membership is what a new member of a cluster is called, and where the others reach it.
type Membership struct {
	Name    string
	Address string // host:port of its link
	RPC     string // base URL of its JSON-RPC; may be empty
}

// InitCluster makes the chain of the directory that of a cluster of one member, which has its producer's key. The head
// is the block that the cluster begins after. A directory in which no node ran yet begins with its genesis file.
func (d *Dir) InitCluster(m Membership) (link.Pin, error) {
	if err := d.notMember(); err != nil {
		return link.Pin{}, err
	}
	if err := d.begin(); err != nil {
		return link.Pin{}, err
	}
	if d.lost != nil {
		return link.Pin{}, d.lost
	}
	identity, err := d.makeIdentity()
	if err != nil {
		return link.Pin{}, err
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

// begin begins the chain of a directory that has a genesis file and no chain.
func (d *Dir) begin() error {
	if d.Genesis() != nil {
		return nil
	}
	genesis, err := ReadGenesis(d.file(GenesisFile))
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w, nor a %s: %s", ErrNoChain, GenesisFile, d.path)
	}
	if err != nil {
		return err
	}
	_, closing, err := d.offline(Chain{Genesis: &genesis})
	return errors.Join(err, closing())
}

// join is what a directory that is about to join a cluster knows: one member that has it added.
type join struct {
	Peer string `json:"peer"` // host:port
	Pin  string `json:"pin"`
}

// JoinCluster prepares the directory to join a cluster, and returns the pin under which it is to be added. There need
// not be a chain yet. peer is a member.
func (d *Dir) JoinCluster(peer link.Peer) (link.Pin, error) {
	if err := d.notMember(); err != nil {
		return link.Pin{}, err
	}
	content, err := json.Marshal(join{peer.Address, peer.Pin.String()})
	if err != nil {
		return link.Pin{}, err
	}
	if err := (kv.FS{}).WriteFile(d.file(joinFile), append(content, '\n')); err != nil {
		return link.Pin{}, err
	}
	identity, err := d.makeIdentity()
	return identity.Pin(), err
}

// joining is the member that a directory without a log asks first.
func (d *Dir) joining() (link.Peer, error) {
	content, err := readBounded(d.file(joinFile), 1<<10)
	if errors.Is(err, fs.ErrNotExist) {
		return link.Peer{}, fmt.Errorf("%w: it was not made one by cairn cluster init or join to its end", ErrNoMember)
	}
	if err != nil {
		return link.Peer{}, err
	}
	var j join
	if err := json.Unmarshal(content, &j); err != nil {
		return link.Peer{}, fmt.Errorf("%s: %w", d.file(joinFile), err)
	}
	pin, err := link.ParsePin(j.Pin)
	return link.Peer{Address: j.Peer, Pin: pin}, err
}

// notMember refuses a directory that is of a cluster, or had begun to be and has a log.
func (d *Dir) notMember() error {
	if d.path == "" {
		return errors.New("a chain in memory is of no cluster")
	}
	if _, err := d.Store(); err != nil {
		return err
	}
	log, err := d.MemberLog()
	if errors.Is(err, raftlog.ErrNone) {
		if _, err := os.Stat(d.file(joinFile)); err == nil {
			return fmt.Errorf("%w: it is about to join one; remove %s to begin anew", ErrMember, d.file(joinFile))
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

// MemberLog opens the log of the directory's member. The caller closes it. The error is raftlog.ErrNone where there is
// none, as before a member has been told of the others.
func (d *Dir) MemberLog() (*raftlog.Log, error) {
	if _, err := d.Store(); err != nil {
		return nil, err
	}
	return raftlog.Open(d.db, kv.FS{}, d.file(votesFile))
}

// MemberState is how far a member's directory is.
type MemberState struct {
	Cluster string       `json:"cluster"`
	Term    uint64       `json:"term"`
	Index   uint64       `json:"index"` // of the last entry
	Head    cluster.Head `json:"head"`  // of the chain
}

// MemberState tells how far the directory's member is.
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

// RecoverCluster makes the directory's member the only one of a new cluster, with all that its log holds. What the
// others decided beyond that is lost, and none of them may run again.
func (d *Dir) RecoverCluster() error {
	if _, err := d.readPlace(); err != nil {
		return err
	}
	log, err := d.MemberLog()
	if err != nil {
		return err
	}
	return errors.Join(cluster.Recover(log), log.Close())
}

// joinPause is the time between two questions of a member that was not added yet.
const joinPause = time.Second

// Join makes the log of a directory that is about to join a cluster, once that has added it: the member that it knows
// says who the others are. A directory that has a log is left as it is. It waits until it was added, or ctx ends.
func (d *Dir) Join(ctx context.Context, genesis types.Genesis, program string) error {
	if log, err := d.MemberLog(); !errors.Is(err, raftlog.ErrNone) {
		if err == nil {
			err = log.Close()
		}
		return err
	}
	peer, err := d.joining()
	if err != nil {
		return err
	}
	identity, boot, err := d.Identity()
	if err != nil {
		return err
	}
	hello := link.Hello{Boot: boot, Kinds: cluster.Kinds, Program: program}
	if hello.Chain, err = GenesisHash(genesis); err != nil {
		return err
	}
	for told := error(nil); ; {
		asking, cancel := context.WithTimeout(ctx, 10*joinPause)
		name, encoded, err := link.AskMembers(asking, identity, peer, hello)
		cancel()
		if err == nil {
			return d.joined(hello.Chain, name, identity.Pin(), encoded)
		}
		if told == nil || told.Error() != err.Error() {
			d.options.Log.Warn("waiting to be added to the cluster", "member", peer.Address, "error", err)
			told = err
		}
		if err := pause.For(ctx, joinPause); err != nil {
			return fmt.Errorf("this member was not added to its cluster: %w", err)
		}
	}
}

// joined makes the log of a member that was told who the others are.
func (d *Dir) joined(genesis types.BlockHash, name [16]byte, self link.Pin, encoded []byte) error {
	place, err := cluster.DecodePlace(encoded)
	if err != nil {
		return err
	}
	place.Head = cluster.Head{Hash: genesis}
	return cluster.Prepare(d.logPaths(), name, self.Member(), place)
}
