package rpc

import (
	"bytes"
	"context"
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/codec"
	"github.com/cairn-chain/cairn/internal/engine/parallel"
	"github.com/cairn-chain/cairn/internal/engine/proving"
	"github.com/cairn-chain/cairn/internal/protocol/blockproof"
	"github.com/cairn-chain/cairn/internal/storage/chain"
	"github.com/cairn-chain/cairn/jsonrpc"
	"github.com/cairn-chain/cairn/types"
)

// newProvenChain returns a test chain whose blocks get proofs, and its prover.
func newProvenChain(t testing.TB) (*testChain, *proving.Queue, func() types.Height) {
	c := startTestChain(t, types.Regtest, api.DevelopmentChainID, chain.Options{
		WitnessBytes: 1 << 20, ProofRetention: 2,
	}, jsonrpc.Options{})
	queue, ok := c.config.Proofs.(*proving.Queue)
	if !ok {
		t.Fatal("the proofs are not a queue's")
	}
	prover := must(proving.NewProver(100, parallel.Run))(t)
	return c, queue, func() types.Height {
		span, encoded, err := queue.Next(context.Background())
		check(t, err)
		task := must(proving.DecodeTask(encoded))(t)
		check(t, queue.Accept(span, must(prover.Prove(task))(t)))
		return span.Last()
	}
}

// proofExamples are on a chain whose only block is empty, so that its proof is short.
func proofExamples(t testing.TB) []example {
	c, _, prove := newProvenChain(t)
	c.mine()
	prove()
	proof := api.Data(must(c.store.Proof(1))(t))
	return []example{
		{on: c, name: "getProof", method: "svc_getProof", params: []any{"0x1"}},
		{on: c, name: "verifyProof", method: "svc_verifyProof", params: []any{"0x1", proof}},
		{on: c, name: "getAccessList", method: "svc_getAccessList", params: []any{"0x0"}},
	}
}

func (c *testChain) pay(nonce uint64) types.SignedHeader {
	return c.include(c.sign(alice, nonce, transfer(account(bob), 1)))
}

func TestGetProof(t *testing.T) {
	c, queue, prove := newProvenChain(t)
	for nonce := range uint64(3) {
		c.pay(nonce)
	}
	notReady := func(height string, status string, position float64) {
		t.Helper()
		data := c.refused(api.ErrProofNotReady, "svc_getProof", height)
		if data["status"] != status || data["position"] != position {
			t.Errorf("block %s: got %v", height, data)
		}
	}
	notReady("0x1", "queued", 0)
	notReady("0x3", "queued", 2)
	taken, _, err := queue.Next(context.Background())
	check(t, err)
	notReady("0x1", "proving", 0)
	queue.Release(taken)
	if data := c.refused(api.ErrProofNotStored, "svc_getProof", "0x0"); data["status"] != "not_stored" ||
		data["oldest"] != nil {
		t.Errorf("genesis: got %v", data)
	}
	if data := c.refused(api.ErrAboveHead, "svc_getProof", "0x4"); data["max"] != 3.0 {
		t.Errorf("above the head: got %v", data)
	}
	if prove() != 1 {
		t.Error("another block than the first is proven first")
	}
	before, header := must(c.store.Header(0))(t).Header, must(c.store.Header(1))(t).Header
	accesses := must(c.store.Accesses(1))(t)
	proof := call[api.BlockProof](c, "svc_getProof", "0x1")
	want := api.BlockProof{
		Height:         1,
		StateRoot:      header.StateRoot,
		Proof:          proof.Proof,
		Type:           "stark",
		Statement:      "S1",
		SecurityBits:   100,
		StateHashBits:  124,
		PreRoot:        before.StateRoot,
		AccessesDigest: types.DigestAccesses(accesses),
		Circuit:        blockproof.Circuit().Digest(),
		BlockHash:      header.Hash(),
	}
	if !reflect.DeepEqual(proof, want) || !bytes.Equal(proof.Proof, must(c.store.Proof(1))(t)) {
		t.Errorf("%+v, want %+v", proof, want)
	}
	prove()
	prove()
	if data := c.refused(api.ErrProofNotStored, "svc_getProof", "0x1"); data["oldest"] != 2.0 || data["newest"] != 3.0 {
		t.Errorf("a proof that is no longer kept: got %v", data)
	}
	if info := call[api.NodeInfo](c, "svc_getNodeInfo"); info.Proofs == nil ||
		*info.Proofs != (api.ProofRange{Oldest: 2, Newest: 3}) {
		t.Errorf("node info: got %v", info.Proofs)
	}
}

func TestVerifyProof(t *testing.T) {
	c, _, prove := newProvenChain(t)
	c.pay(0)
	c.pay(1)
	prove()
	proof := call[api.BlockProof](c, "svc_getProof", "0x1").Proof
	verdict := call[api.ProofVerdict](c, "svc_verifyProof", "0x1", proof)
	if !verdict.Valid || verdict.SecurityBits != 100 || verdict.Statement != "S1" || verdict.Reason != nil {
		t.Errorf("got %+v", verdict)
	}
	flipped := slices.Clone(proof)
	flipped[len(flipped)-9] ^= 1
	for name, v := range map[string]api.ProofVerdict{
		"a flipped byte":  call[api.ProofVerdict](c, "svc_verifyProof", "0x1", flipped),
		"nothing":         call[api.ProofVerdict](c, "svc_verifyProof", "0x1", "0x"),
		"another block's": call[api.ProofVerdict](c, "svc_verifyProof", "0x2", proof),
		"genesis":         call[api.ProofVerdict](c, "svc_verifyProof", "0x0", proof),
	} {
		if v.Valid || v.SecurityBits != 0 || v.Reason == nil || strings.Contains(*v.Reason, "blockproof") {
			t.Errorf("%s: got %+v", name, v)
		}
	}
	c.refused(api.ErrAboveHead, "svc_verifyProof", "0x3", proof)
	given := groupOf[*proofHandlers](c).verdicts.TryRun(inTurn(t.Context()), func(context.Context) {
		ended, end := context.WithCancel(t.Context())
		end() // a caller that would wait has no time
		body := []byte(`{"jsonrpc":"2.0","id":1,"method":"svc_verifyProof","params":["0x1","0x"]}`)
		if got := string(c.server.Calls().Serve(inTurn(ended), body)); !strings.Contains(got, `"reason":"time"`) {
			t.Errorf("a second verdict is answered with %s, want that it waits", got)
		}
	})
	if !given {
		t.Error("a verdict that was given keeps its turn")
	}
}

func TestGetAccessList(t *testing.T) {
	c, _, _ := newProvenChain(t)
	c.pay(0)
	encoded := types.EncodeAccesses(must(c.store.Accesses(1))(t))
	list := call[api.AccessList](c, "svc_getAccessList", "0x1")
	if list.Height != 1 || !bytes.Equal(list.Data, encoded) || list.Cursor != nil {
		t.Errorf("%+v, want %x", list, encoded)
	}
	if rest := call[api.AccessList](c, "svc_getAccessList", "latest", "10"); !bytes.Equal(rest.Data, encoded[10:]) {
		t.Errorf("from 10 on: got %x", rest.Data)
	}
	for _, cursor := range []string{"0", "-1", "x", "1000000"} {
		c.refused(api.ErrBadCursor, "svc_getAccessList", "0x1", cursor)
	}
	c.refused(api.ErrAboveHead, "svc_getAccessList", "0x2")
}

func TestBinaryDownloads(t *testing.T) {
	c, _, prove := newProvenChain(t)
	c.pay(0)
	prove()
	server := httptest.NewServer(c.server)
	defer server.Close()
	get := func(path, ranges string) (int, []byte) {
		t.Helper()
		request := must(http.NewRequest(http.MethodGet, server.URL+path, nil))(t)
		if ranges != "" {
			request.Header.Set("Range", ranges)
		}
		response := must(http.DefaultClient.Do(request))(t)
		body := must(io.ReadAll(response.Body))(t)
		check(t, response.Body.Close())
		return response.StatusCode, body
	}
	status, encoded := get("/proof/1", "")
	bundle := must(blockproof.DecodeBundle(encoded))(t)
	if bits, err := bundle.Verify(100, blockproof.InOrder); status != 200 || err != nil || bits != 100 {
		t.Errorf("HTTP %d, %d bits, error %v", status, bits, err)
	}
	if bundle.Header != must(c.store.Header(1))(t) || bundle.Parent != must(c.store.Header(0))(t) {
		t.Error("the bundle is of another block")
	}
	if status, part := get("/proof/1", "bytes=100-199"); status != http.StatusPartialContent ||
		!bytes.Equal(part, encoded[100:200]) {
		t.Errorf("a range: HTTP %d, %s", status, hex.EncodeToString(part))
	}
	if status, list := get("/accesses/1", ""); status != 200 || !bytes.Equal(list, types.EncodeAccesses(bundle.Accesses)) {
		t.Errorf("the list: HTTP %d, %d bytes", status, len(list))
	}
	names := strings.Repeat("f", api.MaxFollowerBytes)
	status, blocks := get("/blocks/0-1?follower="+names, "")
	e := codec.NewEncoder(0)
	e.U64(2)
	for h := range types.Height(2) {
		e.Bytes(must(c.store.EncodedBlock(h))(t).Bytes)
	}
	followers := groupOf[*blockHandlers](c).followers.count(time.Now())
	if status != 200 || !bytes.Equal(blocks, e.Data()) || followers != 1 {
		t.Errorf("blocks: HTTP %d, %d bytes, %d followers", status, len(blocks), followers)
	}
	if status, more := get("/blocks/0-99", ""); status != 200 || !bytes.Equal(more, blocks) {
		t.Errorf("blocks to above the head: HTTP %d, %d bytes", status, len(more))
	}
	if status, none := get("/blocks/2-99", ""); status != 200 || !bytes.Equal(none, make([]byte, 8)) {
		t.Errorf("blocks above the head: HTTP %d, %d bytes", status, len(none))
	}
	if status, part := get("/blocks/0-1", "bytes=10-19"); status != http.StatusPartialContent ||
		!bytes.Equal(part, blocks[10:20]) {
		t.Errorf("a range of blocks: HTTP %d, %d bytes", status, len(part))
	}
	c.pay(1)
	const noRange = "the proof is not stored on this node: rangeProofs of svc_getNodeInfo lists the available ranges"
	const noSpan = "the proof is not stored on this node: a range must have 2, 4, 8 … or 4,096 blocks, and end at a multiple of its length"
	const badRange = "The path must end with the heights of the first and the last block, in decimal, such as 1-256."
	for path, want := range map[string]struct {
		status int
		body   string
	}{
		"/proof/0":                       {404, "the proof is not stored on this node: this node has the proofs of blocks 1 to 1"},
		"/proof/2":                       {404, "the proof is not ready yet: the block is queued, 0 blocks come before it"},
		"/proof/3":                       {404, "the chain has no such block yet"},
		"/accesses/3":                    {404, "the chain has no such block yet"},
		"/proof/1-2":                     {404, noRange},
		"/proof/0-1":                     {404, noSpan},
		"/proof/1-4":                     {404, "the chain has no such block yet"},
		"/proof/1-":                      {400, "The path must end with a block's height, in decimal."},
		"/proof/x":                       {400, "The path must end with a block's height, in decimal."},
		"/blocks/1":                      {400, badRange},
		"/blocks/1-":                     {400, badRange},
		"/blocks/2-1":                    {400, badRange},
		"/blocks/0x1-2":                  {400, badRange},
		"/blocks/0-1?follower=f" + names: {400, "A follower's name must have at most 64 bytes."},
		"/accesses/-1":                   {400, "The path must end with a block's height, in decimal."},
	} {
		if status, body := get(path, ""); status != want.status || string(body) != want.body+"\n" {
			t.Errorf("%s: HTTP %d %q, want %v", path, status, body, want)
		}
	}
}
