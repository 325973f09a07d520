package e2e

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/types"
)

// copyGas is more than the gas of a deploy of existing code, and far less than the gas of its bytes.
const copyGas = 300_000

// TestCopies deploys a contract by naming another one with the same code. Each has its own storage. A replica without
// state follows from genesis, and one that begins after the first deploy gets the code from its upstream.
func TestCopies(t *testing.T) {
	t.Parallel()
	primary := startDev(t, "--ephemeral", "--block-time", "0", "--proof-bits", "100")
	u, c := newUser(t).of(primary), connect(t, primary)
	info, err := c.NodeInfo(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	follow := func(more ...string) *process {
		return start(t, append([]string{"node", "--data-dir", filepath.Join(t.TempDir(), "replica"), "--mode", "replica",
			"--verify", "stateless", "--upstream", primary.RPC, "--proof-bits", "100",
			"--genesis-hash", info.GenesisHash.String()}, more...)...)
	}
	fromGenesis := follow()
	var first, second, third, last receipt
	u.succeeds(&first, "deploy", "../../contracts/wasm/counter.wasm", "--name", "first", "--alias", "first", "--from", "dev0")
	empty, err := c.Dev().Mine(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	block, err := c.BlockByNumber(t.Context(), api.AtHeight(empty), false)
	if err != nil {
		t.Fatal(err)
	}
	late := follow("--trusted-header", fmt.Sprintf("%d:%s", empty, block.Hash))
	u.succeeds(&second, "deploy", "first", "--name", "second", "--alias", "second", "--from", "dev1")
	u.succeeds(&third, "deploy", second.ContractAddress.String(), "--name", "third", "--alias", "third", "--from", "dev0")
	for _, r := range []receipt{second, third} {
		if r.GasUsed > copyGas || first.GasUsed < 10*copyGas {
			t.Errorf("a copy took %d gas, want at most %d; the code itself took %d", r.GasUsed, copyGas, first.GasUsed)
		}
	}
	u.succeeds(nil, "call", "second", "add", "--amount", "3", "--from", "dev2")
	u.succeeds(&last, "call", "third", "add", "--amount", "4", "--from", "dev2")
	for name, want := range map[string]string{"first": "0", "second": "3", "third": "4"} {
		if r := u.run("call", name, "count"); r.code != exitDone || strings.TrimSpace(r.stdout) != want {
			t.Errorf("%s: got %s, want %s", name, r, want)
		}
	}
	hashOf := func(id *types.ContractID) types.CodeHash {
		found, err := c.Contract(t.Context(), *id)
		if err != nil || found == nil {
			t.Fatalf("contract %s: got %+v, error %v", id, found, err)
		}
		return found.CodeHash
	}
	if a, b := hashOf(first.ContractAddress), hashOf(third.ContractAddress); a != b {
		t.Errorf("the code of a copy: got %s, want %s", b, a)
	}
	for missing, says := range map[string]string{
		"dev3": "no such contract", types.ContractID{9}.String(): "no such contract", "nothing.wasm": "nothing.wasm",
	} {
		if r := u.run("deploy", missing, "--name", "x", "--from", "dev0"); r.code == exitDone || !strings.Contains(r.stderr, says) {
			t.Errorf("a copy of %s: got %s, want a failure that says %q", missing, r, says)
		}
	}
	awaitBlock(t, fromGenesis, primary, last.BlockHeight)
	awaitBlocks(t, late, primary, empty, last.BlockHeight)
	for _, node := range []*process{fromGenesis, late} {
		got, err := connect(t, node).Receipt(t.Context(), last.TransactionHash)
		if err != nil || got == nil || got.Status != 1 || len(got.Logs) != 1 {
			t.Errorf("the last call at a node without state: got %+v, %v, want success with a log", got, err)
		}
	}
}
