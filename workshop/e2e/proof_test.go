package e2e

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/proof"
	"github.com/cairn-chain/cairn/types"
	"github.com/cairn-chain/cairn/workshop/internal/program"
)

// provenUpTo returns once the node has the proofs of all blocks from one to a height. The node must announce each of
// them.
func provenUpTo(t *testing.T, node *process, from, to types.Height) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), checkTime)
	defer cancel()
	next := from
	for notice, err := range connect(t, node).SubscribeProofs(ctx, &from) {
		if err != nil {
			t.Fatal(err)
		}
		if notice.Height != next || notice.Statement != proof.Statement || notice.Size == 0 {
			t.Fatalf("notice %+v, want block %d", notice, next)
		}
		if next++; notice.Height == to {
			return
		}
	}
}

// TestProofs sends coins, deploys and calls on a chain whose node proves its blocks. It verifies every proof offline; a
// changed proof, and that of another block, are refused.
func TestProofs(t *testing.T) {
	t.Parallel()
	node := startDev(t, "--ephemeral", "--block-time", "0")
	u := newUser(t).of(node)
	var last receipt
	u.succeeds(&last, "send", "dev1", "5", "--from", "dev0")
	u.succeeds(&last, "send", "0x"+string(bytes.Repeat([]byte("07"), 32)), "1", "--from", "dev1")
	provenUpTo(t, node, 1, last.BlockHeight)
	dir := t.TempDir()
	c := connect(t, node)
	for height := types.Height(1); height <= last.BlockHeight; height++ {
		file := filepath.Join(dir, strconv.FormatUint(uint64(height), 10))
		var saved struct{ Verdict proof.Verdict }
		u.succeeds(&saved, "proof", "get", strconv.FormatUint(uint64(height), 10), "-o", file)
		block, err := c.BlockByNumber(t.Context(), api.AtHeight(height), false)
		if err != nil {
			t.Fatal(err)
		}
		var verdict proof.Verdict
		u.succeeds(&verdict, "proof", "verify", file, "--bits", "128", "--block-hash", block.Hash.String())
		if verdict != saved.Verdict || verdict.PostRoot != block.StateRoot || verdict.Height != height ||
			verdict.SecurityBits != 128 {
			t.Errorf("block %d: verdict %+v, saved with %+v", height, verdict, saved.Verdict)
		}
		u.fails(1, "proof", "verify", file, "--block-hash", block.ParentHash.String())
		bundle, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		bundle[len(bundle)/2] ^= 1
		if err := os.WriteFile(file, bundle, 0o600); err != nil {
			t.Fatal(err)
		}
		u.fails(1, "proof", "verify", file)
	}
	u.fails(1, "proof", "get", "0")
}

// TestProverElsewhere: blocks wait for a prover that is started later. When that prover is killed, another takes over.
func TestProverElsewhere(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "chain")
	node := startDev(t, "--data-dir", dir, "--block-time", "0", "--prove", "elsewhere", "--proof-bits", "100")
	u := newUser(t).of(node)
	var last receipt
	for range 3 {
		u.succeeds(&last, "send", "dev1", "5", "--from", "dev0")
	}
	c := connect(t, node)
	if _, err := c.Proof(t.Context(), api.AtHeight(1)); err == nil {
		t.Error("a block is proven by nobody")
	}
	startProver := func() *program.Process {
		prover, err := program.Start(program.Command{
			Args: append([]string{buildBinary(t), "prove", "--proof-bits", "100"}, node.AdminFlags()...), Env: environment(),
			Log: filepath.Join(t.TempDir(), "log"), Patience: stopTimeout,
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(prover.Kill)
		return prover
	}
	first := startProver()
	provenUpTo(t, node, 1, last.BlockHeight)
	first.Kill()
	from := last.BlockHeight + 1
	u.succeeds(&last, "send", "dev1", "5", "--from", "dev0")
	second := startProver()
	provenUpTo(t, node, from, last.BlockHeight)
	if err := errors.Join(second.End(os.Interrupt), second.Wait()); err != nil {
		t.Errorf("a prover that is asked to end: error %v", err)
	}
	if err := node.Stop(); err != nil {
		t.Fatal(err)
	}
	again := startDev(t, "--data-dir", dir, "--block-time", "0", "--prove", "off")
	if _, err := connect(t, again).Proof(t.Context(), api.AtHeight(last.BlockHeight)); err != nil {
		t.Errorf("after a restart: error %v", err)
	}
}
