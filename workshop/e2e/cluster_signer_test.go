package e2e

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cairn-chain/cairn/types"
	"github.com/cairn-chain/cairn/workshop/internal/program"
)

// signedCluster is a cluster whose members all use one signer.
type signedCluster struct {
	*clusterOfNodes
	signer, address string // the signer's directory and address
	clients         []string
}

// newSignedCluster makes a cluster of three whose members have the key, and then moves the key to a signer.
func newSignedCluster(t *testing.T, l *load) *signedCluster {
	t.Helper()
	c := newClusterOfNodes(t, l, "--block-time", "200ms", "--prove", "off")
	l.chainID = chainIDOf(t, c.clientOf(c.nodes["a"]))
	c.join("b", "a")
	c.join("c", "a")
	s := &signedCluster{clusterOfNodes: c, signer: filepath.Join(t.TempDir(), "signer"), address: freeAddress(t)}
	u := newUser(t)
	var made struct{ Pin, Producer string }
	u.succeeds(&made, "signer", "init", "--data-dir", s.signer,
		"--genesis", filepath.Join(c.dirs["a"], "genesis.json"), "--protocol-key", filepath.Join(c.dirs["a"], "protocol.key"))
	for name, node := range c.nodes {
		if err := node.Stop(); err != nil {
			t.Fatal(err)
		}
		var known struct{ Pin string }
		u.succeeds(&known, "signer", "link", "--data-dir", c.dirs[name])
		s.clients = append(s.clients, "--client", known.Pin)
		if err := os.Remove(filepath.Join(c.dirs[name], "protocol.key")); err != nil {
			t.Fatal(err)
		}
	}
	c.flags = append(c.flags, "--signer", s.address, "--signer-pin", made.Pin, "--signer-producer", made.Producer)
	return s
}

// startSigner starts the signer, and returns when its address is reachable.
func (s *signedCluster) startSigner() *program.Process {
	s.t.Helper()
	log := filepath.Join(s.t.TempDir(), "log")
	args := []string{buildBinary(s.t), "signer", "run", "--data-dir", s.signer, "--listen", s.address, "--admin-addr", "127.0.0.1:0"}
	p, err := program.Start(program.Command{Args: append(args, s.clients...), Env: environment(), Log: log})
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(p.Kill)
	s.await("the signer", func() bool {
		text, err := os.ReadFile(log)
		if err != nil {
			s.t.Fatal(err)
		}
		return strings.Contains(string(text), "signed last")
	})
	return p
}

// goesOn waits for blocks after the highest that a member has.
func (s *signedCluster) goesOn(of string) {
	s.t.Helper()
	height, err := s.clientOf(s.nodes[of]).BlockNumber(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}
	s.awaitHeight(s.nodes[of], height+3)
}

// TestClusterOnOneSigner has three members on one signer, under load. The signer, the leader, and both at once are
// killed, and restarted in either order; the whole cluster is started before its signer. Blocks continue each time, no
// height has two, and no acknowledged transaction is lost.
func TestClusterOnOneSigner(t *testing.T) {
	t.Parallel()
	l := newLoad(64)
	s := newSignedCluster(t, l)
	for name := range s.dirs {
		s.start(name) // the member starts without its signer
	}
	signer := s.startSigner()
	s.goesOn("a")
	loading, stop := context.WithCancel(t.Context())
	defer stop()
	sent := make(chan error, loadConnections)
	for i := range loadConnections {
		go func() { sent <- l.connection(loading, s.nodes["c"].RPC, i) }()
	}
	s.await("some are acknowledged", func() bool { return l.acknowledged() > 100 })
	for round, order := range []string{"signer", "both, the signer first", "both, the leader first"} {
		leader := s.leader("c")
		signer.Kill()
		if order != "signer" && leader != "c" { // c takes the load
			s.kill(leader)
		}
		s.await("the cluster says that it has no signer", func() bool {
			for name := range s.nodes {
				if strings.Contains(s.status(name).Reason, "signer cannot be reached") {
					return true
				}
			}
			return false
		})
		if order == "both, the leader first" && s.nodes[leader] == nil {
			s.start(leader)
		}
		signer = s.startSigner()
		if s.nodes[leader] == nil {
			s.start(leader)
		}
		s.goesOn("c")
		t.Logf("round %d, %s: %d acknowledged", round, order, l.acknowledged())
	}
	stop()
	for range loadConnections {
		if err := <-sent; err != nil {
			t.Fatal(err)
		}
	}
	for name := range s.nodes {
		s.checkIncluded(l, name)
	}
	s.checkOneHeader(types.Height(s.status("c").Height))
}
