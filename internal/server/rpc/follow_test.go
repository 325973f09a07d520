package rpc

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/jsonrpc"
	"github.com/cairn-chain/cairn/types"
)

// following is a node that follows another; a test sets its state.
type following struct {
	status api.SyncStatus
	halted string
}

func (f *following) SyncStatus() api.SyncStatus { return f.status }
func (f *following) Primary() string            { return "http://primary" }
func (f *following) Halted() string             { return f.halted }

// TestHaltedNode serves verified data, and refuses queries of the chain's latest state.
func TestHaltedNode(t *testing.T) {
	c := newTestChain(t)
	c.mine()
	reason := "two blocks"
	f := &following{
		status: api.SyncStatus{State: api.StateHalted, Reason: &reason, LocalHeight: 1, PrimaryHeight: new(types.Height(5)), BlocksBehind: new(uint64(4))},
		halted: "equivocation",
	}
	c.following, c.mode = f, api.ModeReplica
	signed := c.sign(alice, 0, transfer(account(bob), 1))
	latest := []struct {
		method string
		params []any
	}{
		{"svc_getBalance", []any{account(alice)}},
		{"svc_getBalance", []any{account(alice), "latest"}},
		{"svc_getTransactionCount", []any{account(alice)}},
		{"svc_getParameters", nil},
		{"svc_getAccountProof", []any{account(alice)}},
		{"svc_getStateProof", []any{"0x0001"}},
		{"svc_getStorageProof", []any{types.ContractID{1}, "0x"}},
		{"svc_getStorageAt", []any{types.ContractID{1}, "0x"}},
		{"svc_viewCall", []any{types.ContractID{1}, "f", ""}},
		{"svc_call", []any{api.Data(signed.Encode())}},
		{"svc_estimateGas", []any{api.Data(signed.Encode())}},
		{"svc_getTokenBalance", []any{types.ContractID{1}, account(alice)}},
		{"svc_getTokenHolders", []any{types.ContractID{1}}},
	}
	for _, l := range latest {
		data := c.refused(api.ErrHalted, l.method, l.params...)
		if data["cause"] != "equivocation" || fmt.Sprint(data["height"]) != "1" {
			t.Errorf("%s: got %v", l.method, data)
		}
	}
	if got := call[api.Quantity](c, "svc_getBalance", account(alice), "0x1"); got != api.Quantity(1000*types.CoinUnits) {
		t.Errorf("balance at a verified height: got %d", got)
	}
	if block := call[*api.Block](c, "svc_getBlockByNumber", "latest"); block == nil || block.Height != 1 {
		t.Errorf("the last verified block: got %+v", block)
	}
	status := call[api.SyncStatus](c, "svc_getSyncStatus")
	if status.Mode != api.ModeReplica || status.State != api.StateHalted || *status.Reason != reason ||
		status.BlocksBehind == nil || *status.BlocksBehind != 4 {
		t.Errorf("got %+v", status)
	}
	if info := call[api.NodeInfo](c, "svc_getNodeInfo"); info.Primary == nil || *info.Primary != "http://primary" ||
		info.Mode != api.ModeReplica {
		t.Errorf("got %+v", info)
	}
	f.halted = ""
	if got := call[api.Quantity](c, "svc_getBalance", account(alice)); got != api.Quantity(1000*types.CoinUnits) {
		t.Errorf("balance once it goes on: got %d", got)
	}
}

func TestPeerCountCountsFollowers(t *testing.T) {
	c := newTestChain(t)
	count := func() uint64 { return call[api.NodeInfo](c, "svc_getNodeInfo").PeerCount }
	before := count()
	ask := func(follower string) {
		call[[]api.BlockItem](c, "svc_getBlocks", map[string]any{"from_height": 0, "to_height": 9, "follower": follower})
	}
	ask("a")
	ask("b")
	ask("a")
	call[[]api.BlockItem](c, "svc_getBlocks", map[string]any{"from_height": 0, "to_height": 9})
	if got := count() - before; got != 2 {
		t.Errorf("%d followers, want 2", got)
	}
	c.refused(&jsonrpc.Error{Code: jsonrpc.CodeInvalidParams}, "svc_getBlocks", map[string]any{
		"from_height": 0, "to_height": 9, "follower": string(bytes.Repeat([]byte("x"), 65)),
	})
}

func TestFollowersAreForgottenAndBounded(t *testing.T) {
	var f followers
	now := time.Unix(1_000, 0)
	for i := range 2 * maxFollowersPerSource {
		f.saw("one", fmt.Sprint(i), now)
	}
	if got := f.count(now); got != maxFollowersPerSource {
		t.Errorf("%d of one address, want %d", got, maxFollowersPerSource)
	}
	for i := range 2 * maxFollowers {
		f.saw(fmt.Sprint(i), "x", now)
	}
	if got := f.count(now); got != maxFollowers {
		t.Errorf("%d in all, want %d", got, maxFollowers)
	}
	f.saw("one", "0", now.Add(followerTime))
	if got := f.count(now.Add(followerTime + 1)); got != 1 {
		t.Errorf("%d are left, want 1", got)
	}
}
