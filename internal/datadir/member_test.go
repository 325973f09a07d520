//go:build linux

package datadir_test

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cairn-chain/cairn/crypto"
	"github.com/cairn-chain/cairn/internal/datadir"
	"github.com/cairn-chain/cairn/internal/engine/cluster"
	"github.com/cairn-chain/cairn/internal/p2p"
	"github.com/cairn-chain/cairn/types"
)

// newChainDir is the directory of a producer that has made some blocks.
func newChainDir(t *testing.T) (dir string, height types.Height) {
	t.Helper()
	key, err := crypto.GenerateKey(rand.Reader)
	check(t, err)
	dir = filepath.Join(t.TempDir(), "chain")
	genesis, err := datadir.InitNetwork(dir, datadir.NewNetwork{
		Network: types.Regtest, ChainID: 7, Time: 1_700_000_000_000, Key: key, Admin: key,
	})
	check(t, err)
	return dir, produce(t, dir, genesis, key)
}

func openDir(t *testing.T, dir string) *datadir.Dir {
	t.Helper()
	d, err := datadir.Open(dir, datadir.Options{})
	check(t, err)
	t.Cleanup(func() { check(t, d.Close()) })
	return d
}

func TestAMemberIsMadeOnce(t *testing.T) {
	dir, height := newChainDir(t)
	d := openDir(t, dir)
	pin, err := d.InitCluster(datadir.Membership{Name: "a", Address: "h:1"})
	check(t, err)
	state, err := d.MemberState()
	if err != nil || state.Head.Height != height || state.Index != 2 || state.Term != 1 {
		t.Errorf("a new cluster: got %+v, error %v, want Height %v and Index 2 and Term 1", state, err, height)
	}
	for boot := uint64(2); boot < 4; boot++ {
		identity, got, err := d.Identity()
		if err != nil || got != boot || identity.Pin() != pin {
			t.Errorf("start %d: got %d, %v, error %v", boot, got, identity.Pin(), err)
		}
	}
	if _, err := d.InitCluster(datadir.Membership{Name: "b", Address: "h:2"}); !errors.Is(err, datadir.ErrMember) {
		t.Errorf("a second cluster of the directory: error %v, want %v", err, datadir.ErrMember)
	}
	if _, err := d.JoinCluster(p2p.Peer{Address: "h:1"}); !errors.Is(err, datadir.ErrMember) {
		t.Errorf("a member joins another cluster: error %v, want %v", err, datadir.ErrMember)
	}
	empty := openDir(t, t.TempDir())
	if _, err := empty.InitCluster(datadir.Membership{Name: "a", Address: "h:1"}); !errors.Is(err, datadir.ErrNoChain) {
		t.Errorf("a cluster without a chain: error %v, want %v", err, datadir.ErrNoChain)
	}
	if _, _, err := empty.Identity(); !errors.Is(err, datadir.ErrNoMember) {
		t.Errorf("a directory that is no member's: error %v, want %v", err, datadir.ErrNoMember)
	}
}

// A directory in which no node ran yet becomes a cluster's, beginning with its genesis.
func TestANewDirectoryBecomesAMember(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "chain")
	key, err := crypto.GenerateKey(rand.Reader)
	check(t, err)
	genesis, err := datadir.InitNetwork(dir, datadir.NewNetwork{
		Network: types.Regtest, ChainID: 7, Time: 1_700_000_000_000, Key: key, Admin: key,
	})
	check(t, err)
	d := openDir(t, dir)
	_, err = d.InitCluster(datadir.Membership{Name: "a", Address: "h:1"})
	check(t, err)
	state, err := d.MemberState()
	if err != nil || state.Head.Height != 0 {
		t.Errorf("a new cluster: got %+v, error %v, want Height 0", state, err)
	}
	if got := d.Genesis(); got == nil || got.ChainID != genesis.ChainID {
		t.Errorf("its chain: got %+v", got)
	}
}

// A copy of a directory is refused however it was made, and so is a key that others can read or that belongs to another
// member.
func TestACopiedMemberIsRefused(t *testing.T) {
	dir, _ := newChainDir(t)
	d, err := datadir.Open(dir, datadir.Options{})
	check(t, err)
	_, err = d.InitCluster(datadir.Membership{Name: "a", Address: "h:1"})
	check(t, err)
	check(t, d.Close())
	copied := filepath.Join(t.TempDir(), "copy")
	if out, err := exec.Command("cp", "-a", dir, copied).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	moved := filepath.Join(filepath.Dir(dir), "moved")
	check(t, os.Rename(dir, moved))
	if _, _, err := openDir(t, copied).Identity(); !errors.Is(err, datadir.ErrCopied) {
		t.Errorf("a copy: error %v, want %v", err, datadir.ErrCopied)
	}
	d = openDir(t, moved)
	if _, _, err := d.Identity(); err != nil {
		t.Errorf("the directory under another name: error %v", err)
	}
	key := filepath.Join(moved, "member.key")
	check(t, os.Chmod(key, 0o640))
	if _, _, err := d.Identity(); err == nil || !strings.Contains(err.Error(), "chmod 600") {
		t.Errorf("a key that others can read: error %v, want an error with %q", err, "chmod 600")
	}
	other, err := p2p.NewKey()
	check(t, err)
	check(t, os.Remove(key))
	check(t, os.WriteFile(key, other, 0o600))
	if _, _, err := d.Identity(); err == nil || !strings.Contains(err.Error(), "the key belongs to member") {
		t.Errorf("another member's key: error %v, want an error with %q", err, "the key belongs to member")
	}
}

func TestJoiningIsBegunOnce(t *testing.T) {
	d := openDir(t, t.TempDir())
	pin, err := d.JoinCluster(p2p.Peer{Address: "h:1", Pin: p2p.Pin{1}})
	check(t, err)
	identity, boot, err := d.Identity()
	if err != nil || boot != 2 || identity.Pin() != pin {
		t.Errorf("the new member: got %d, want 2, %v, want %v, error %v", boot, identity.Pin(), pin, err)
	}
	if _, err := d.JoinCluster(p2p.Peer{Address: "h:2"}); !errors.Is(err, datadir.ErrMember) {
		t.Errorf("a second time: error %v, want %v", err, datadir.ErrMember)
	}
}

// The directory of a removed or recovered member is refused with the reason.
func TestEndedMember(t *testing.T) {
	dir, _ := newChainDir(t)
	d := openDir(t, dir)
	_, err := d.InitCluster(datadir.Membership{Name: "a", Address: "h:1"})
	check(t, err)
	check(t, d.EndMember("it was removed at block 7"))
	if _, _, err := d.Identity(); !errors.Is(err, datadir.ErrEnded) || !strings.Contains(err.Error(), "removed at block 7") {
		t.Errorf("a start: %v, want %v", err, datadir.ErrEnded)
	}
	if err := d.RecoverCluster(); !errors.Is(err, datadir.ErrEnded) {
		t.Errorf("a recovery: %v, want %v", err, datadir.ErrEnded)
	}
}

// A recovered directory becomes a cluster of one with a new name, and keeps all its data.
func TestRecover(t *testing.T) {
	dir, height := newChainDir(t)
	d := openDir(t, dir)
	pin, err := d.InitCluster(datadir.Membership{Name: "a", Address: "h:1"})
	check(t, err)
	before, err := d.MemberState()
	check(t, err)
	check(t, d.RecoverCluster())
	after, err := d.MemberState()
	check(t, err)
	if after.Cluster == before.Cluster || after.Index != before.Index || after.Head.Height != height {
		t.Errorf("%+v became %+v", before, after)
	}
	log, err := d.MemberLog()
	check(t, err)
	snapshot, err := log.Snapshot()
	check(t, err)
	place, err := cluster.DecodePlace(snapshot.GetData())
	voters := snapshot.GetMetadata().GetConfState().GetVoters()
	if err != nil || len(place.Members) != 1 || place.Members[0].Pin != pin || len(voters) != 1 ||
		voters[0] != pin.Member() {
		t.Errorf("members %+v, voters %x, error %v", place.Members, voters, err)
	}
	check(t, log.Close())
	if f := place.Former; len(f) != 1 || fmt.Sprintf("%x", f[0].Cluster) != before.Cluster || f[0].Height != height {
		t.Errorf("it remembers %+v, want cluster %s at block %d", f, before.Cluster, height)
	}
	if err := openDir(t, t.TempDir()).RecoverCluster(); !errors.Is(err, datadir.ErrNoMember) {
		t.Errorf("a directory of no cluster: error %v, want %v", err, datadir.ErrNoMember)
	}
}
