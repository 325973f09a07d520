package e2e

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/types"
	"github.com/cairn-chain/cairn/workshop/internal/program"
)

// signing is a chain whose producer's key is only at a signer.
type signing struct {
	*clusterOfNodes
	signer, address   string // the signer's directory and address
	signerLog         string // output of the signer that was started last
	pin, producer     string // the signer's
	client, chainData string // the node's pin, and its directory
}

func newSigning(t *testing.T) *signing {
	t.Helper()
	root := t.TempDir()
	s := &signing{
		clusterOfNodes: &clusterOfNodes{t: t},
		signer:         filepath.Join(root, "signer"),
		address:        freeAddress(t),
		chainData:      filepath.Join(root, "chain"),
	}
	u := newUser(t)
	u.succeeds(nil, "init", s.chainData, "--block-time", "100ms")
	key := filepath.Join(s.chainData, "protocol.key")
	var made struct{ Pin, Producer string }
	u.succeeds(&made, "signer", "init", "--data-dir", s.signer,
		"--genesis", filepath.Join(s.chainData, "genesis.json"), "--protocol-key", key)
	var known struct{ Pin string }
	u.succeeds(&known, "signer", "link", "--data-dir", s.chainData)
	s.pin, s.producer, s.client = made.Pin, made.Producer, known.Pin
	if err := os.Remove(key); err != nil {
		t.Fatal(err)
	}
	return s
}

// startSigner starts the signer, and returns when its address is reachable.
func (s *signing) startSigner() *program.Process {
	s.t.Helper()
	log := filepath.Join(s.t.TempDir(), "log")
	s.signerLog = log
	p, err := program.Start(program.Command{
		Args: []string{
			buildBinary(s.t), "signer", "run", "--data-dir", s.signer, "--listen", s.address, "--client", s.client,
			"--admin-addr", "127.0.0.1:0",
		},
		Env: environment(),
		Log: log,
	})
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

func (s *signing) startNode() *process {
	s.t.Helper()
	return start(s.t, "node", "--data-dir", s.chainData, "--prove", "off", "--signer", s.address, "--signer-pin", s.pin,
		"--signer-producer", s.producer)
}

// holds waits until a node holds, and returns the reason. Its metrics and /ready must report it too.
func (s *signing) holds(node *process) (reason string) {
	s.t.Helper()
	s.await("a node that holds", func() bool {
		status, err := s.clientOf(node).SyncStatus(s.t.Context())
		if err != nil {
			s.t.Fatal(err)
		}
		if status.Reason != nil {
			reason = *status.Reason
		}
		return status.State == api.StateHolding
	})
	for path, want := range map[string]int{"/ready": http.StatusServiceUnavailable, "/health": http.StatusOK} {
		answer, err := http.Get(node.Admin + path)
		if err != nil {
			s.t.Fatal(err)
		}
		_ = answer.Body.Close() // only its status counts
		if answer.StatusCode != want {
			s.t.Errorf("%s: %s", path, answer.Status)
		}
	}
	return reason
}

func (s *signing) height(node *process) types.Height {
	s.t.Helper()
	height, err := s.clientOf(node).BlockNumber(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}
	return height
}

// TestSigner has a primary make blocks with a key at a signer. Without the signer it holds, even if both are killed,
// and then continues with the same block. A copy of its directory that lacks blocks makes none.
func TestSigner(t *testing.T) {
	t.Parallel()
	s := newSigning(t)
	signer, node := s.startSigner(), s.startNode()
	s.awaitHeight(node, 3)
	if err := node.Stop(); err != nil {
		t.Fatal(err)
	}
	old := filepath.Join(t.TempDir(), "old")
	if output, err := exec.Command("cp", "-a", s.chainData, old).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, output)
	}
	node = s.startNode()
	s.awaitHeight(node, 8)
	signer.Kill()
	if reason := s.holds(node); !strings.Contains(reason, "the signer cannot be reached") {
		t.Fatal(reason)
	}
	held := s.height(node)
	node.Kill()
	node = s.startNode() // the node starts without its signer, and holds
	s.holds(node)
	if h := s.height(node); h != held {
		t.Fatalf("block %d was made without the signer, want %d", h, held)
	}
	signer = s.startSigner()
	s.awaitHeight(node, held+5)
	s.killAtOnce(node)
	s.chainData = old
	if reason := s.holds(s.startNode()); !strings.Contains(reason, "another block may have been signed") {
		t.Fatal(reason)
	}
	if err := signer.Stop(); err != nil {
		t.Fatal(err)
	}
	s.forgets()
}

// TestTwoProducersOfOneSigner runs a primary and a copy of its directory on one signer. One of them makes all blocks,
// and no height has two. The other one holds and says why; the signer and the first say so, too.
func TestTwoProducersOfOneSigner(t *testing.T) {
	t.Parallel()
	s := newSigning(t)
	s.startSigner()
	node := s.startNode()
	s.awaitHeight(node, 3)
	if err := node.Stop(); err != nil {
		t.Fatal(err)
	}
	copied := filepath.Join(t.TempDir(), "copied")
	if output, err := exec.Command("cp", "-a", s.chainData, copied).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, output)
	}
	goesOn := s.startNode()
	s.chainData = copied
	holding := s.startNode()
	const why = "another block may have been signed at this height: the signer has signed block"
	says := func(node *process) bool {
		status, err := s.clientOf(node).SyncStatus(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return status.State == api.StateHolding && strings.Contains(*status.Reason, why)
	}
	s.await("one of the two holds", func() bool {
		if says(goesOn) {
			goesOn, holding = holding, goesOn
		}
		return says(holding)
	})
	held := s.height(holding)
	s.awaitHeight(goesOn, held+20)
	if h := s.height(holding); h != held {
		t.Errorf("block %d was made beside the other node's", h)
	}
	for height := types.Height(1); height <= held; height++ {
		var hashes [2]types.BlockHash
		for i, node := range []*process{goesOn, holding} {
			block, err := s.clientOf(node).BlockByNumber(t.Context(), api.AtHeight(height), false)
			if err != nil || block == nil {
				t.Fatal(block, err)
			}
			hashes[i] = block.Hash
		}
		if hashes[0] != hashes[1] {
			t.Errorf("two blocks of height %d were signed: got %s", height, hashes)
		}
	}
	for file, want := range map[string]string{
		s.signerLog: "refused to sign a block", goesOn.log: "Another copy of this node may be running",
		holding.log: "this node produces no blocks until its signer signs",
	} {
		text, err := os.ReadFile(file)
		if err != nil || !strings.Contains(string(text), want) {
			t.Errorf("no %q: %v\n%s", want, err, text)
		}
	}
}

// forgets removes the signer's sign state: the signer does not start without an operator's consent.
func (s *signing) forgets() {
	s.t.Helper()
	u := newUser(s.t)
	locks, err := filepath.Glob(filepath.Join(s.signer, "signed-*"))
	if err != nil || len(locks) != 1 {
		s.t.Fatalf("locks %v, error %v, want 1 lock", locks, err)
	}
	if err := os.Remove(locks[0]); err != nil {
		s.t.Fatal(err)
	}
	u.fails(exitUsage, "signer", "run", "--data-dir", s.signer, "--listen", s.address, "--client", s.client)
	u.succeeds(nil, "signer", "unlock", "--data-dir", s.signer)
	if err := s.startSigner().Stop(); err != nil {
		s.t.Fatal(err)
	}
	key := filepath.Join(s.chainData, "protocol.key")
	if err := os.WriteFile(key, []byte("a key"), 0o600); err != nil {
		s.t.Fatal(err)
	}
	u.fails(exitUsage, "node", "--data-dir", s.chainData, "--signer", s.address, "--signer-pin", s.pin,
		"--signer-producer", s.producer)
}

// killAtOnce kills the node repeatedly while it makes blocks: the signer may have signed a block that the chain lacks.
func (s *signing) killAtOnce(node *process) {
	s.t.Helper()
	for range 5 {
		height := s.height(node)
		s.awaitHeight(node, height+2)
		node.Kill()
		node = s.startNode()
		s.awaitHeight(node, height+4)
	}
	node.Kill()
}
