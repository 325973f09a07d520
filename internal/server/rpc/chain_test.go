package rpc

import (
	"errors"
	"strings"
	"testing"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/internal/proof/poseidon"
	"github.com/cairn-chain/cairn/internal/protocol/state"
	"github.com/cairn-chain/cairn/internal/protocol/tree"
	"github.com/cairn-chain/cairn/internal/storage/chain"
	"github.com/cairn-chain/cairn/jsonrpc"
	"github.com/cairn-chain/cairn/types"
)

func TestBalanceOfEveryFormOfAccount(t *testing.T) {
	c := newTestChain(t)
	digits := strings.TrimPrefix(account(alice).String(), "0x")
	for _, form := range []string{
		types.Regtest.Address(account(alice)), strings.ToUpper(types.Regtest.Address(account(alice))),
		digits, "0x" + digits, strings.ToUpper(digits), "02" + digits, "0x03" + digits,
	} {
		if got := call[string](c, "svc_getBalance", form); got != "0x174876e800" {
			t.Errorf("%s: got %s, want 0x174876e800", form, got)
		}
	}
	if got := call[string](c, "svc_getBalance", types.Account{7: 7}); got != "0x0" {
		t.Errorf("an account never touched has %s, want 0x0", got)
	}
	if got := call[string](c, "svc_getTransactionCount", types.Account{7: 7}); got != "0x0" {
		t.Errorf("an account never touched has nonce %s, want 0x0", got)
	}
}

func TestWhatIsNoAccount(t *testing.T) {
	c := newTestChain(t)
	address := types.Regtest.Address(account(alice))
	damaged := address[:len(address)-1] + "q"
	if damaged == address {
		damaged = address[:len(address)-1] + "p"
	}
	for _, method := range []string{
		"svc_getBalance", "svc_getTransactionCount", "svc_getTransactionsByAddress", "svc_getAccountProof",
	} {
		for _, network := range []types.Network{types.Mainnet, types.Testnet} {
			data := c.refused(api.ErrWrongNetwork, method, network.Address(account(alice)))
			if data["expectedPrefix"] != "bcrt" || data["param"] != "account" {
				t.Errorf("%s: got %v", method, data)
			}
		}
		for _, bad := range []any{"", "0x", "alice", damaged, strings.Repeat("0", 63), strings.Repeat("g", 64),
			"04" + strings.Repeat("0", 64), "bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4", 5, nil, []string{address}} {
			if data := c.refused(invalid, method, bad); data["param"] != "account" {
				t.Errorf("%s of %v: got %v", method, bad, data)
			}
		}
		c.refused(invalid, method)
	}
}

func TestResolveAddress(t *testing.T) {
	c := newTestChain(t)
	for _, network := range types.Networks() {
		if got := call[api.ResolvedAddress](
			c, "svc_resolveAddress", network.Address(account(bob)),
		); got.PublicKey != account(bob) {
			t.Errorf("%s: got %v", network, got)
		}
	}
	for _, bad := range []any{"", account(bob), "bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4", 1} {
		if data := c.refused(invalid, "svc_resolveAddress", bad); data["param"] != "address" {
			t.Errorf("%v: got %v", bad, data)
		}
	}
}

func TestStateOfEarlierBlocks(t *testing.T) {
	c := newTestChain(t)
	for nonce := range uint64(3) {
		c.include(c.sign(alice, nonce, transfer(account(bob), 1)))
	}
	start := uint64(1000 * types.CoinUnits)
	for height, ref := range []any{"earliest", "0x1", 2, "latest"} {
		if got := call[api.Quantity](c, "svc_getBalance", account(bob), ref); uint64(got) != start+uint64(height) {
			t.Errorf("at %v: balance %d", ref, got)
		}
		if got := call[api.Quantity](c, "svc_getTransactionCount", account(alice), ref); uint64(got) != uint64(height) {
			t.Errorf("at %v: nonce %d", ref, got)
		}
	}
	for _, method := range []string{"svc_getBalance", "svc_getTransactionCount"} {
		if data := c.refused(api.ErrAboveHead, method, account(bob), "0x4"); data["max"] != 3.0 || data["param"] != "block" {
			t.Errorf("%s above the head: got %v", method, data)
		}
		for _, bad := range []any{"newest", "4", "0x04", -1, 1.5, true, "pending "} {
			if data := c.refused(invalid, method, account(bob), bad); data["param"] != "block" {
				t.Errorf("%s at %v: got %v", method, bad, data)
			}
		}
	}
	c.refused(invalid, "svc_getBalance", account(bob), "pending")
}

func TestPendingNonce(t *testing.T) {
	c := newTestChain(t)
	for _, nonce := range []uint64{0, 1, 3} { // number 3 is held, not executable
		call[types.TxID](
			c, "svc_sendRawTransaction", api.Data(c.sign(alice, nonce, transfer(account(bob), 1)).Encode()),
		)
	}
	if got := call[string](c, "svc_getTransactionCount", account(alice), "pending"); got != "0x2" {
		t.Errorf("pending: got %s, want 0x2", got)
	}
	if got := call[string](c, "svc_getTransactionCount", account(alice)); got != "0x0" {
		t.Errorf("latest: got %s, want 0x0", got)
	}
}

func TestPrunedState(t *testing.T) {
	c := startTestChain(t, types.Regtest, 5, chain.Options{Retention: 2}, jsonrpc.Options{})
	for range 5 {
		c.include()
	}
	check(t, c.store.Prune(t.Context()))
	oldest := float64(c.store.OldestHeight())
	if oldest < 1 {
		t.Fatal("nothing was pruned")
	}
	for _, call := range [][]any{
		{"svc_getBalance", account(bob), 0}, {"svc_getTransactionCount", account(bob), 0}, {"svc_getBlockByNumber", 0},
		{"svc_getBlocks", map[string]any{"from_height": 0, "to_height": 5}},
	} {
		if data := c.refused(api.ErrPruned, call[0].(string), call[1:]...); data["oldestHeight"] != oldest {
			t.Errorf("%v: got %v", call, data)
		}
	}
	if info := call[api.NodeInfo](c, "svc_getNodeInfo"); float64(info.OldestHeight) != oldest {
		t.Errorf("node information says %d", info.OldestHeight)
	}
	if history := call[api.FeeHistory](c, "svc_getFeeHistory", 100); float64(history.OldestBlock) != oldest {
		t.Errorf("fee history begins at %d", history.OldestBlock)
	}
}

func TestProofsVerify(t *testing.T) {
	s := newScenario(t)
	for _, a := range []types.Account{account(alice), account(bob), s.newcomer, {5: 5}, {6: 6}, {7: 7}, {8: 8}} {
		proof := call[api.AccountProof](s.testChain, "svc_getAccountProof", a)
		verifyProof(t, proof)
		if string(proof.Key) != string(state.AccountKey(a)) {
			t.Errorf("the key of %s is %s", a, proof.Key)
		}
	}
	p := call[api.ParametersInfo](s.testChain, "svc_getParameters")
	verifyProof(t, *p.Proof)
	if p.Proof.StateRoot != s.store.Head().Header.StateRoot || p.Height != p.Proof.Height || p.MaxBaseFee != 2_000_000 {
		t.Errorf("got %+v", p)
	}
}

// verifyProof checks a proof as a client would, from its JSON alone.
func verifyProof(t testing.TB, p api.AccountProof) {
	t.Helper()
	proof := tree.MerkleProof{}
	for _, sibling := range p.Siblings {
		proof.Siblings = append(proof.Siblings, must(poseidon.ParseDigest(sibling))(t))
	}
	proof.End.Kind = map[api.ProofEndType]tree.EndKind{
		api.EndLeaf: tree.EndLeaf, api.EndEmpty: tree.EndEmpty, api.EndOther: tree.EndOther,
	}[p.End.Type]
	if p.End.Type == api.EndOther {
		proof.End.Path = must(poseidon.ParseDigest([32]byte(*p.End.Path)))(t)
		proof.End.ValueHash = must(poseidon.ParseDigest([32]byte(*p.End.ValueHash)))(t)
	}
	var value []byte
	if p.Value != nil {
		value = *p.Value
	}
	check(t, proof.Verify(p.StateRoot, p.Key, value))
	if err := proof.Verify(p.StateRoot, p.Key, append(value, 1)); !errors.Is(err, tree.ErrMerkleProof) {
		t.Errorf("another value verifies too: error %v, want %v", err, tree.ErrMerkleProof)
	}
}

func TestHaltedNodeSaysSo(t *testing.T) {
	c := newTestChain(t)
	if got := call[api.SyncStatus](c, "svc_getSyncStatus"); !got.Synced {
		t.Errorf("a producer says %+v", got)
	}
	c.state, c.reason = api.StateHalted, "disk full"
	if got := call[api.SyncStatus](c, "svc_getSyncStatus"); got.State != api.StateHalted || got.Reason == nil ||
		*got.Reason != "disk full" || got.Synced {
		t.Errorf("got %+v", got)
	}
}

func TestGenesisRoundTrip(t *testing.T) {
	c := newTestChain(t)
	info := call[api.GenesisInfo](c, "svc_getGenesis")
	decoded := must(types.DecodeGenesis(info.Raw))(t)
	if decoded.Digest() != info.Genesis.Digest() || info.Hash != must(c.store.Header(0))(t).Header.Hash() {
		t.Errorf("got %+v", info)
	}
}

func FuzzAccount(f *testing.F) {
	for _, s := range []string{"", "0x", types.Regtest.Address(account(alice)), types.Mainnet.Address(account(alice)),
		account(bob).String(),
		"02" + strings.Repeat("ab", 32)} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		a, err := parseAccount(types.Regtest, s)
		if err != nil {
			if !errors.Is(err, invalid) {
				t.Errorf("%q: error %v, want %v", s, err, invalid)
			}
			return
		}
		if again, err := parseAccount(types.Regtest, a.String()); err != nil || again != a {
			t.Errorf("%q became %s, error %v", s, a, err)
		}
	})
}
