package e2e

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"testing"
	"time"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/client"
	"github.com/cairn-chain/cairn/proof"
	"github.com/cairn-chain/cairn/types"
)

// maxStatelessBytes bounds the disk space of a replica without state of a short chain: its database begins with some
// megabytes of log, and machine code of contracts is kept.
const maxStatelessBytes = 64 << 20

// awaitBlock waits until a node has the block at a height. That block and all before it must be the primary's.
func awaitBlock(t *testing.T, node, primary *process, height types.Height) {
	t.Helper()
	awaitBlocks(t, node, primary, 0, height)
}

// awaitBlocks is awaitBlock for a node that has no blocks before from.
func awaitBlocks(t *testing.T, node, primary *process, from, height types.Height) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), catchUpTime)
	defer cancel()
	c := connect(t, node)
	for {
		status, err := c.SyncStatus(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if status.State == api.StateHalted {
			t.Fatalf("halted: %s", *status.Reason)
		}
		if status.LocalHeight >= height {
			break
		}
		select {
		case <-time.After(loadPause):
		case <-ctx.Done():
			t.Fatalf("block %d does not come: got %+v", height, status)
		}
	}
	for h := from; h <= height; h++ {
		want, err := connect(t, primary).BlockByNumber(ctx, api.AtHeight(h), false)
		if err != nil {
			t.Fatal(err)
		}
		got, err := c.BlockByNumber(ctx, api.AtHeight(h), false)
		if err != nil || got == nil || got.Hash != want.Hash || got.StateRoot != want.StateRoot {
			t.Fatalf("block %d is %+v, want %+v: %v", h, got, want, err)
		}
	}
}

// TestStatelessReplica has a replica without state follow a primary that proves its blocks: transfers, a token that is
// deployed and used, and a restart. Others follow that replica, from genesis with a restart of their own and from an
// empty block: it has everything that they need, including the token's code.
func TestStatelessReplica(t *testing.T) {
	t.Parallel()
	primary := startDev(t, "--ephemeral", "--block-time", "0")
	u := newUser(t).of(primary)
	info, err := connect(t, primary).NodeInfo(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "replica")
	follow := func(dir string, upstream *process) *process {
		return start(t, "node", "--data-dir", dir, "--mode", "replica", "--verify", "stateless", "--upstream", upstream.RPC,
			"--genesis-hash", info.GenesisHash.String())
	}
	replica := follow(dir, primary)
	var last receipt
	u.succeeds(&last, "send", "dev1", "5", "--from", "dev0")
	u.succeeds(nil, "deploy", "../../contracts/wasm/nep20.wasm", "--from", "dev0", "--alias", "gold",
		"--args", `{"name":"Gold","symbol":"GLD","decimals":2,"initialSupply":100000}`)
	u.succeeds(&last, "call", "gold", "transfer", "--to", "dev3", "--amount", "5", "--from", "dev0")
	awaitBlock(t, replica, primary, last.BlockHeight)
	c := connect(t, replica)
	if own, err := c.NodeInfo(t.Context()); err != nil || own.Verification != api.VerificationStateless ||
		own.GenesisHash != info.GenesisHash {
		t.Errorf("node info %+v, error %v", own, err)
	}
	if got, err := c.Receipt(t.Context(), last.TransactionHash); err != nil || got == nil || got.Status != 1 ||
		len(got.Logs) != 1 {
		t.Errorf("receipt %+v, error %v", got, err)
	}
	if events, err := c.Events(t.Context(), api.EventFilter{}); err != nil || len(events) == 0 {
		t.Errorf("events %+v, error %v", events, err)
	}
	var refused *client.Error
	_, balanceErr := c.Balance(t.Context(), types.Account{1}, api.Latest())
	_, parametersErr := c.Parameters(t.Context())
	_, contractsErr := c.Contracts(t.Context(), 10, "")
	for _, err := range []error{balanceErr, parametersErr, contractsErr} {
		if !errors.As(err, &refused) || refused.Code != api.CodePruned ||
			refused.Data["reason"] != api.ErrNoState.Data["reason"] {
			t.Errorf("state of a node that has none: error %v", err)
		}
	}
	if err := replica.Stop(); err != nil {
		t.Fatal(err)
	}
	u.succeeds(nil, "db", "check", "--data-dir", dir)
	u.succeeds(&last, "call", "gold", "transfer", "--to", "dev4", "--amount", "5", "--from", "dev0")
	replica = follow(dir, primary)
	awaitBlock(t, replica, primary, last.BlockHeight)
	furtherDir := filepath.Join(t.TempDir(), "replica")
	further := follow(furtherDir, replica)
	awaitBlock(t, further, primary, last.BlockHeight)
	if err := further.Stop(); err != nil {
		t.Fatal(err)
	}
	u.succeeds(nil, "db", "check", "--data-dir", furtherDir)
	u.succeeds(&last, "call", "gold", "transfer", "--to", "dev5", "--amount", "5", "--from", "dev0")
	awaitBlock(t, follow(furtherDir, replica), primary, last.BlockHeight)
	// A third one begins at an empty block, with the data of the first one.
	empty, err := connect(t, primary).Dev().Mine(t.Context(), 3)
	if err != nil {
		t.Fatal(err)
	}
	awaitBlock(t, replica, primary, empty)
	block, err := connect(t, replica).BlockByNumber(t.Context(), api.AtHeight(empty), false)
	if err != nil {
		t.Fatal(err)
	}
	late := start(t, "node", "--data-dir", filepath.Join(t.TempDir(), "replica"), "--mode", "replica", "--verify",
		"stateless", "--upstream", replica.RPC,
		"--genesis-hash", info.GenesisHash.String(), "--trusted-header", fmt.Sprintf("%d:%s", empty, block.Hash))
	u.succeeds(&last, "call", "gold", "transfer", "--to", "dev6", "--amount", "5", "--from", "dev0")
	awaitBlocks(t, late, primary, empty, last.BlockHeight)
	var size int64
	err = filepath.WalkDir(dir, func(_ string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		file, err := entry.Info()
		if errors.Is(err, fs.ErrNotExist) { // the database is in use, and replaces files
			return nil
		}
		size += file.Size()
		return err
	})
	if err != nil || size > maxStatelessBytes {
		t.Errorf("the data directory has %d bytes, error %v", size, err)
	}
	t.Logf("%d blocks, the data directory has %d bytes", last.BlockHeight, size)
	for _, wrong := range [][]string{
		{"--mode", "archive", "--verify", "stateless"}, {"--mode", "replica", "--verify", "nothing"},
		{"--mode", "replica", "--verify", "stateless", "--snapshot-interval", "5"},
	} {
		u.fails(exitUsage,
			append([]string{"node", "--data-dir", filepath.Join(t.TempDir(), "x"), "--upstream", primary.RPC, "--genesis-hash",
				info.GenesisHash.String()}, wrong...)...)
	}
}

// TestStatelessFromATrustedHeader has replicas without state begin at blocks whose hashes they are given. Their primary
// no longer has the proofs of earlier blocks. One of them follows another replica.
func TestStatelessFromATrustedHeader(t *testing.T) {
	t.Parallel()
	primary := startDev(t, "--ephemeral", "--block-time", "0", "--proof-bits", "100", "--proof-retention", "4")
	u := newUser(t).of(primary)
	c := connect(t, primary)
	info, err := c.NodeInfo(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var last receipt
	u.succeeds(&last, "deploy", "../../contracts/wasm/nep20.wasm", "--from", "dev0", "--alias", "gold",
		"--args", `{"name":"Gold","symbol":"GLD","decimals":2,"initialSupply":100000}`)
	u.succeeds(&last, "send", "dev1", "5", "--from", "dev0")
	empty, err := c.Dev().Mine(t.Context(), 3)
	if err != nil {
		t.Fatal(err)
	}
	u.succeeds(&last, "call", "gold", "transfer", "--to", "dev3", "--amount", "5", "--from", "dev0")
	provenUpTo(t, primary, last.BlockHeight, last.BlockHeight) // those of the first blocks may be gone already
	if _, err := c.Proof(t.Context(), api.AtHeight(2)); err == nil {
		t.Fatal("the primary has all proofs")
	}
	hashOf := func(h types.Height) types.BlockHash {
		block, err := c.BlockByNumber(t.Context(), api.AtHeight(h), false)
		if err != nil || block == nil {
			t.Fatalf("block %d: got %+v, error %v", h, block, err)
		}
		return block.Hash
	}
	arguments := func(dir string, upstream *process, h types.Height, hash types.BlockHash) []string {
		return []string{"node", "--data-dir", dir, "--mode", "replica", "--verify", "stateless", "--upstream", upstream.RPC,
			"--proof-bits", "100",
			"--genesis-hash", info.GenesisHash.String(), "--trusted-header", fmt.Sprintf("%d:%s", h, hash)}
	}
	dir := filepath.Join(t.TempDir(), "replica")
	atCall := start(t, arguments(dir, primary, last.BlockHeight, hashOf(last.BlockHeight))...)
	awaitBlocks(t, atCall, primary, last.BlockHeight, last.BlockHeight)
	atEmpty := start(t, arguments(filepath.Join(t.TempDir(), "replica"), primary, empty, hashOf(empty))...)
	u.succeeds(&last, "call", "gold", "transfer", "--to", "dev4", "--amount", "5", "--from", "dev0")
	awaitBlocks(t, atEmpty, primary, empty, last.BlockHeight)
	awaitBlocks(t, atCall, primary, last.BlockHeight-1, last.BlockHeight)
	if proof, err := connect(t, atEmpty).Proof(t.Context(), api.AtHeight(last.BlockHeight)); err != nil ||
		proof.BlockHash != hashOf(last.BlockHeight) {
		t.Errorf("a replica's proof: got %+v, error %v", proof, err)
	}
	// A replica with state relays the available proofs, which is all that another one needs from it.
	full := start(t, "node", "--data-dir", filepath.Join(t.TempDir(), "replica"), "--mode", "replica",
		"--upstream", primary.RPC, "--proof-bits", "100",
		"--genesis-hash", info.GenesisHash.String())
	awaitBlock(t, full, primary, last.BlockHeight)
	provenUpTo(t, full, last.BlockHeight, last.BlockHeight)
	u.succeeds(&last, "call", "gold", "transfer", "--to", "dev4", "--amount", "5", "--from", "dev0")
	follower := start(
		t, arguments(filepath.Join(t.TempDir(), "replica"), full, last.BlockHeight, hashOf(last.BlockHeight))...,
	)
	u.succeeds(&last, "send", "dev1", "5", "--from", "dev0")
	awaitBlocks(t, follower, primary, last.BlockHeight-1, last.BlockHeight)
	if err := atCall.Stop(); err != nil {
		t.Fatal(err)
	}
	u.succeeds(nil, "db", "check", "--data-dir", dir)
	other := hashOf(last.BlockHeight)
	u.fails(1, arguments(dir, primary, last.BlockHeight-1, other)...) // it has another block at this height
	u.fails(1, arguments(filepath.Join(t.TempDir(), "x"), primary, last.BlockHeight-1, other)...)
	u.fails(1, arguments(filepath.Join(t.TempDir(), "x"), primary, 2, hashOf(2))...) // the proof no longer exists
	for _, wrong := range []string{"0:" + other.String(), "1", "x:" + other.String(), "1:00"} {
		u.fails(exitUsage, "node", "--data-dir", filepath.Join(t.TempDir(), "x"), "--mode", "replica", "--verify",
			"stateless", "--upstream", primary.RPC,
			"--genesis-hash", info.GenesisHash.String(), "--trusted-header", wrong)
	}
	start(t, arguments(dir, primary, last.BlockHeight-1, hashOf(last.BlockHeight-1))...) // continues where it was
}

// TestProveFromHistory: a chain that was made without proofs is proven from its stored history, in two runs, and a
// replica without state follows it from genesis.
func TestProveFromHistory(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "chain")
	settings := []string{
		"--data-dir", dir, "--block-time", "0", "--prove", "off", "--proof-bits", "100", "--proof-retention", "0",
	}
	primary := startDev(t, settings...)
	u := newUser(t).of(primary)
	var last receipt
	u.succeeds(&last, "send", "dev1", "5", "--from", "dev0")
	u.succeeds(nil, "deploy", "../../contracts/wasm/nep20.wasm", "--from", "dev0", "--alias", "gold",
		"--args", `{"name":"Gold","symbol":"GLD","decimals":2,"initialSupply":5}`)
	u.succeeds(&last, "call", "gold", "transfer", "--to", "dev3", "--amount", "5", "--from", "dev0") // deletes a balance
	prove := func(arguments ...string) []string {
		return append([]string{"db", "prove", "--data-dir", dir, "--proof-bits", "100"}, arguments...)
	}
	u.fails(1, prove()...) // the node is running
	if err := primary.Stop(); err != nil {
		t.Fatal(err)
	}
	for _, round := range []struct {
		arguments []string
		proofs    types.Height
	}{{[]string{"--from", "2", "--to", "2"}, 1}, {nil, last.BlockHeight - 1}, {nil, 0}} {
		var made struct{ Proofs types.Height }
		u.succeeds(&made, prove(round.arguments...)...)
		if made.Proofs != round.proofs {
			t.Errorf("%v: %d proofs were made, want %d", round.arguments, made.Proofs, round.proofs)
		}
	}
	u.fails(1, prove("--from", "99")...)
	file := filepath.Join(t.TempDir(), "all.proof")
	head := fmt.Sprint(last.BlockHeight)
	u.succeeds(nil, prove("--from", "1", "--to", head, "--range", file)...)
	var verdict proof.RangeVerdict
	u.succeeds(&verdict, "proof", "verify", file, "--bits", "100")
	if verdict.FromHeight != 1 || verdict.Height != last.BlockHeight || verdict.Statement != proof.RangeStatement {
		t.Errorf("the range's verdict is %+v", verdict)
	}
	u.fails(1, "proof", "verify", file, "--bits", "100", "--block-hash", verdict.ParentHash.String())
	var cut struct{ From, To types.Height }
	u.succeeds(&cut, prove("--from", "1", "--to", "99", "--range", file)...)
	if cut.From != 1 || cut.To != last.BlockHeight {
		t.Errorf("a range beyond the head is proven from %d to %d, want 1 to %d", cut.From, cut.To, last.BlockHeight)
	}
	u.fails(exitUsage, prove("--proof-bits", "99")...)
	u.succeeds(nil, "db", "check", "--data-dir", dir)
	primary = startDev(t, settings...)
	info, err := connect(t, primary).NodeInfo(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	block, err := connect(t, primary).BlockByNumber(t.Context(), api.AtHeight(last.BlockHeight), false)
	if err != nil || block.Hash != verdict.BlockHash {
		t.Errorf("the range ends with %s, not with %+v, error %v", verdict.BlockHash, block, err)
	}
	replica := start(t, "node", "--data-dir", filepath.Join(t.TempDir(), "replica"), "--mode", "replica", "--verify",
		"stateless",
		"--upstream", primary.RPC, "--proof-bits", "100", "--genesis-hash", info.GenesisHash.String())
	awaitBlock(t, replica, primary, last.BlockHeight)
}
