package rpc

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/crypto"
	"github.com/cairn-chain/cairn/internal/storage/chain"
	"github.com/cairn-chain/cairn/jsonrpc"
	"github.com/cairn-chain/cairn/types"
)

func TestNotFoundIsNull(t *testing.T) {
	c := newTestChain(t)
	absent := types.TxID{1: 1}
	for _, call := range [][]any{
		{"svc_getBlockByNumber", "0x1"}, {"svc_getBlockByNumber", 99}, {"svc_getBlockByHash", types.BlockHash{1: 1}},
		{"svc_getTransactionByHash", absent}, {"svc_getTransactionReceipt", absent},
	} {
		if result, failure := c.post(call[0].(string), call[1:]...); failure != nil || string(result) != "null" {
			t.Errorf("%v: got %s, %v", call, result, failure)
		}
	}
	if got := call[api.TransactionStatus](c, "svc_getTransactionStatus", absent); got.Status != api.StatusUnknown {
		t.Errorf("got %+v, want Status %v", got, api.StatusUnknown)
	}
}

func TestHashParameters(t *testing.T) {
	c := newTestChain(t)
	for _, method := range []string{
		"svc_getBlockByHash", "svc_getTransactionByHash", "svc_getTransactionReceipt", "svc_getTransactionStatus",
	} {
		for _, bad := range []any{"", "0x", "0x12", strings.Repeat("0", 63), strings.Repeat("z", 64), 5, nil} {
			if data := c.refused(invalid, method, bad); data["param"] != "hash" {
				t.Errorf("%s of %v: got %v", method, bad, data)
			}
		}
	}
}

func TestBlocksByNumberAndHashAreTheSame(t *testing.T) {
	s := newScenario(t)
	for height := range types.Height(5) {
		byNumber, _ := s.post("svc_getBlockByNumber", height, true)
		block := call[api.Block](s.testChain, "svc_getBlockByNumber", height, true)
		byHash, _ := s.post("svc_getBlockByHash", block.Hash, true)
		if !bytes.Equal(byNumber, byHash) {
			t.Errorf("block %d: %s and %s", height, byNumber, byHash)
		}
		for i, tx := range block.Transactions.Full {
			single := call[api.Transaction](s.testChain, "svc_getTransactionByHash", tx.Hash)
			if a, b := must(json.Marshal(tx))(t), must(json.Marshal(single))(t); !bytes.Equal(a, b) ||
				int(*tx.TransactionIndex) != i {
				t.Errorf("block %d: %s and %s", height, a, b)
			}
		}
	}
	latest := call[api.Block](s.testChain, "svc_getBlockByNumber", "latest")
	if latest.Height != 4 || latest.Hash != s.store.HeadHash() {
		t.Errorf("latest is %d", latest.Height)
	}
}

func TestTransactionFromPoolToChain(t *testing.T) {
	c := newTestChain(t)
	tx := c.sign(alice, 0, transfer(account(bob), 1))
	id := call[types.TxID](c, "svc_sendRawTransaction", api.Data(tx.Encode()))
	if id != tx.ID() {
		t.Fatalf("got %s, want %s", id, tx.ID())
	}
	pending := call[api.Transaction](c, "svc_getTransactionByHash", id)
	if pending.Status != api.StatusPending || pending.BlockHeight != nil || pending.BlockHash != nil ||
		pending.GasPrice != 100 {
		t.Errorf("got %+v", pending)
	}
	if got := call[*api.Receipt](c, "svc_getTransactionReceipt", id); got != nil {
		t.Errorf("a pending transaction has the receipt %+v", got)
	}
	if got := call[api.TransactionStatus](c, "svc_getTransactionStatus", id); got.Status != api.StatusPending ||
		got.Confirmations != 0 {
		t.Errorf("got %+v", got)
	}
	c.mine()
	c.mine()
	included := call[api.Transaction](c, "svc_getTransactionByHash", id)
	if included.Status != api.StatusSuccess || *included.BlockHeight != 1 || included.GasPrice != 12 {
		t.Errorf("got %+v", included)
	}
	if got := call[api.TransactionStatus](c, "svc_getTransactionStatus", id); got.Status != api.StatusSuccess ||
		got.Confirmations != 2 {
		t.Errorf("got %+v", got)
	}
}

func TestTransactionsByAddressPages(t *testing.T) {
	c := newTestChain(t)
	var want []types.TxID // newest first
	for block := range uint64(4) {
		var txs []types.SignedTransaction
		for i := range uint64(3) {
			tx := c.sign(alice, 3*block+i, transfer(account(bob), types.Amount(i+1)))
			txs = append(txs, tx)
			want = slices.Insert(want, 0, tx.ID())
		}
		c.include(txs...)
	}
	for _, limit := range []int{1, 2, 5, 12, 100} {
		var got []types.TxID
		page := map[string]any{"limit": limit}
		for {
			txs := call[[]api.Transaction](c, "svc_getTransactionsByAddress", account(bob), page)
			if len(txs) > limit {
				t.Fatalf("%d items of at most %d", len(txs), limit)
			}
			if len(txs) == 0 {
				break
			}
			for _, tx := range txs {
				got = append(got, tx.Hash)
			}
			page["cursor"] = txs[len(txs)-1].Cursor
		}
		if !slices.Equal(got, want) {
			t.Errorf("in pages of %d: got %v, want %v", limit, got, want)
		}
	}

	for to, left := range []int{0, 3, 6, 9, 12} {
		page := map[string]any{"limit": 2, "to_block": to}
		for got := want[12-left:]; ; got = got[2:] {
			txs := call[[]api.Transaction](c, "svc_getTransactionsByAddress", account(bob), page)
			if len(txs) != min(len(got), 2) || len(txs) > 0 && txs[0].Hash != got[0] {
				t.Fatalf("up to block %d: got %+v, want the first 2 of %v", to, txs, got)
			}
			if len(txs) < 2 {
				break
			}
			page["cursor"] = txs[1].Cursor
		}
	}
	c.refused(api.ErrAboveHead, "svc_getTransactionsByAddress", account(bob), map[string]any{"to_block": 5})

	first := call[[]api.Transaction](c, "svc_getTransactionsByAddress", account(alice), map[string]any{"limit": 4})
	c.include(c.sign(bob, 0, transfer(account(alice), 1)))
	next := call[[]api.Transaction](
		c, "svc_getTransactionsByAddress", account(alice), map[string]any{"cursor": first[3].Cursor},
	)
	if len(next) != 8 || next[0].Hash != want[4] {
		t.Errorf("a new block moved the cursor: %d items", len(next))
	}
	if got := call[[]api.Transaction](c, "svc_getTransactionsByAddress", types.Account{3: 3}); len(got) != 0 {
		t.Errorf("got %+v", got)
	}
}

func TestLimitsOfLists(t *testing.T) {
	c := newTestChain(t)
	for _, limit := range []any{0, 1001} {
		for _, refusal := range []map[string]any{
			c.refused(api.ErrOutOfRange, "svc_getTransactionsByAddress", account(bob), map[string]any{"limit": limit}),
			c.refused(api.ErrOutOfRange, "svc_getBlockTransactions", 0, map[string]any{"limit": limit}),
			c.refused(api.ErrOutOfRange, "svc_listRecentTransactions", limit),
		} {
			if refusal["min"] != 1.0 || refusal["max"] != 1000.0 {
				t.Errorf("limit %v: got %v", limit, refusal)
			}
		}
	}
	for _, bad := range []any{-1, 1.5, "0x5", true} {
		c.refused(invalid, "svc_listRecentTransactions", bad)
	}
	c.refused(invalid, "svc_getTransactionsByAddress", account(bob), map[string]any{"after": "x"})
	for _, bad := range []string{"0", strings.Repeat("0", 24), strings.Repeat("z", 24), strings.Repeat("1", 26)} {
		c.refused(api.ErrBadCursor, "svc_getTransactionsByAddress", account(bob), map[string]any{"cursor": bad})
	}
}

func TestRecentTransactions(t *testing.T) {
	s := newScenario(t)
	got := call[[]api.Transaction](s.testChain, "svc_listRecentTransactions")
	if len(got) != 6 || got[0].Hash != s.configure.ID() || got[1].Hash != s.call.ID() || got[5].Hash != s.transfer.ID() {
		t.Errorf("got %d items", len(got))
	}
	for _, tx := range got {
		if tx.Hash == s.pending.ID() || tx.Cursor != "" {
			t.Errorf("%s does not belong here", tx.Hash)
		}
	}
}

// TestBlockTransactions reads a block in pages, and compares them with the whole block.
func TestBlockTransactions(t *testing.T) {
	c := newTestChain(t)
	var txs []types.SignedTransaction
	for nonce := range uint64(7) {
		txs = append(txs, c.sign(alice, nonce, transfer(account(bob), 1)))
	}
	c.include(txs...)
	whole := call[api.Block](c, "svc_getBlockByNumber", 1, true)
	for _, size := range []int{1, 3, 7, 1000} {
		var got []api.Transaction
		for {
			page := call[[]api.Transaction](
				c, "svc_getBlockTransactions", 1, map[string]any{"from": len(got), "limit": size},
			)
			if len(page) == 0 {
				break
			}
			if len(page) > size {
				t.Fatalf("%d items on a page of %d", len(page), size)
			}
			got = append(got, page...)
		}
		if !reflect.DeepEqual(got, whole.Transactions.Full) {
			t.Errorf("pages of %d: got %+v, want %+v", size, got, whole.Transactions.Full)
		}
	}
	for _, page := range [][]any{{0}, {2}, {1, map[string]any{"from": 7}}, {1, map[string]any{"from": 1 << 40}}} {
		if got := call[[]api.Transaction](c, "svc_getBlockTransactions", page...); len(got) != 0 {
			t.Errorf("%v: got %+v", page, got)
		}
	}
	c.refused(invalid, "svc_getBlockTransactions", 1, map[string]any{"from": -1})
	head := call[api.Block](c, "svc_getBlockByHash", whole.Hash, false, true)
	if head.TxCount != 7 || len(head.Transactions.Hashes) != 0 || head.Hash != whole.Hash {
		t.Errorf("headers_only: got %+v, want TxCount 7 and 0 hashes and Hash %v", head, whole.Hash)
	}
	if other := call[api.Block](c, "svc_getBlockByNumber", 1, true, true); !reflect.DeepEqual(other, head) {
		t.Errorf("by number: got %+v, want %+v", other, head)
	}
}

// bigCall returns a call with 64 KiB of arguments.
func (c *testChain) bigCall(nonce uint64) types.SignedTransaction {
	tx := c.draft(alice, nonce, types.Call{Function: "f", Args: make([]byte, types.MaxArgsBytes)})
	tx.GasLimit = 2_000_000
	return c.signed(alice, tx)
}

func TestPagesEndAt8MiB(t *testing.T) {
	if testing.Short() {
		t.Skip("slow under the race detector, and has only one goroutine")
	}
	c := newTestChain(t)
	var txs []types.SignedTransaction
	for nonce := range uint64(100) {
		txs = append(txs, c.bigCall(nonce))
	}
	c.include(txs...)
	raw, failure := c.post("svc_getTransactionsByAddress", account(alice), map[string]any{"limit": 1000})
	if failure != nil {
		t.Fatal(failure)
	}
	var page []api.Transaction
	check(t, json.Unmarshal(raw, &page))
	if len(raw) > api.MaxPageBytes || len(page) < 50 || len(page) == 100 {
		t.Errorf("a page of %d items and %d bytes", len(page), len(raw))
	}
	rest := call[[]api.Transaction](c, "svc_getTransactionsByAddress", account(alice), map[string]any{
		"limit": 1000, "cursor": page[len(page)-1].Cursor,
	})
	if len(page)+len(rest) != 100 {
		t.Errorf("%d and %d items", len(page), len(rest))
	}
	// Their block is too large for one answer.
	c.refused(api.ErrResponseSize, "svc_getBlockByNumber", 1, true)
	if got := call[api.Block](c, "svc_getBlockByNumber", 1); len(got.Transactions.Hashes) != 100 {
		t.Errorf("got %d hashes, want 100", len(got.Transactions.Hashes))
	}
}

// TestHeadersOnly compares blocks without their transactions with those that have them.
func TestHeadersOnly(t *testing.T) {
	c := newTestChain(t)
	c.include(c.paying(0, 0), c.paying(1, 0))
	c.include()
	for height, item := range call[[]api.BlockItem](c, "svc_getBlocks", map[string]any{
		"from_height": 0, "to_height": 2, "headers_only": true}) {
		want := call[*api.Block](c, "svc_getBlockByNumber", height)
		if count := uint64(len(want.Transactions.Hashes)); count != item.Block.TxCount || height == 1 && count != 2 {
			t.Errorf("block %d with %d transactions, counted as %d", height, count, item.Block.TxCount)
		}
		want.Transactions = api.BlockTransactions{Hashes: []types.TxID{}}
		if !reflect.DeepEqual(item.Block, want) {
			t.Errorf("without its transactions: %+v, want %+v", item.Block, want)
		}
		pushed, err := c.server.feed.BlockHeader(types.Height(height))
		if err != nil || !reflect.DeepEqual(pushed, want) {
			t.Errorf("pushed: %+v, %v, want %+v", pushed, err, want)
		}
	}
	if none, err := c.server.feed.BlockHeader(3); none != nil || err != nil {
		t.Errorf("above the head: got %+v, error %v", none, err)
	}
}

func TestRangesOfBlocks(t *testing.T) {
	c := newTestChain(t)
	for range 300 {
		c.include()
	}
	for _, tc := range []struct {
		from, to    uint64
		first, last types.Height
		count       int
	}{
		{0, 0, 0, 0, 1}, {5, 7, 5, 7, 3}, {0, 1 << 60, 0, 255, 256}, {200, 400, 200, 300, 101}, {300, 300, 300, 300, 1},
		{301, 400, 0, 0, 0}, {1<<64 - 1, 1<<64 - 1, 0, 0, 0},
	} {
		for _, whole := range []bool{false, true} {
			items := call[[]api.BlockItem](c, "svc_getBlocks", map[string]any{
				"from_height": tc.from, "to_height": tc.to, "include_transactions": whole})
			if len(items) != tc.count {
				t.Errorf("%d to %d: %d blocks, want %d", tc.from, tc.to, len(items), tc.count)
			}
			if len(items) > 0 && (items[0].Block.Height != tc.first || items[len(items)-1].Block.Height != tc.last) {
				t.Errorf("%d to %d: %d to %d", tc.from, tc.to, items[0].Block.Height, items[len(items)-1].Block.Height)
			}
		}
	}
	c.refused(api.ErrOutOfRange, "svc_getBlocks", map[string]any{"from_height": 7, "to_height": 5})
	c.refused(invalid, "svc_getBlocks", map[string]any{"from_height": 1})
	c.refused(invalid, "svc_getBlocks", map[string]any{"from_height": 1, "to_height": 2, "limit": 3})
	c.refused(invalid, "svc_getBlocks", map[string]any{"from_height": "0x1", "to_height": 2})
	c.refused(invalid, "svc_getBlocks", map[string]any{"from_height": -1, "to_height": 2})
	c.refused(invalid, "svc_getBlocks", []any{1, 2})
	for member, half := range map[string]map[string]any{
		"to_height": {"from_height": 1}, "from_height": {"from_height": nil, "to_height": 2},
	} {
		if data := c.refused(invalid, "svc_getBlocks", half); data["param"] != "range" || data["member"] != member {
			t.Errorf("%v: got %v", half, data)
		}
	}
	c.refused(invalid, "svc_getBlocks")
}

func TestRawBlocksAreTheBlocks(t *testing.T) {
	s := newScenario(t)
	whole := call[[]api.BlockItem](s.testChain, "svc_getBlocks", map[string]any{
		"from_height": 0, "to_height": 4, "include_transactions": true,
	})
	headers := call[[]api.BlockItem](s.testChain, "svc_getBlocks", map[string]any{"from_height": 0, "to_height": 4})
	for height := range whole {
		block := must(types.DecodeBlock(whole[height].Raw))(t)
		header := must(types.DecodeSignedHeader(headers[height].Raw))(t)
		if block.Signed() != header || block.Header.Hash() != whole[height].Block.Hash {
			t.Errorf("block %d: %+v and %+v", height, block.Header, header)
		}
		if whole[height].Block.Size != uint64(len(whole[height].Raw)) ||
			headers[height].Block.Size != whole[height].Block.Size {
			t.Errorf(
				"block %d: sizes %d and %d, raw %d", height, whole[height].Block.Size, headers[height].Block.Size,
				len(whole[height].Raw),
			)
		}
		for i, tx := range block.Transactions {
			if whole[height].Block.Transactions.Hashes[i] != tx.ID() {
				t.Errorf("block %d, transaction %d: got %s", height, i, tx.ID())
			}
		}
	}
}

func TestBlocksEndAt16MiB(t *testing.T) {
	if testing.Short() {
		t.Skip("slow under the race detector, and has only one goroutine")
	}
	c := newTestChain(t)
	nonce := uint64(0)
	for range 4 { // of 5 MiB each, 10 MiB in hex
		var txs []types.SignedTransaction
		for range 80 {
			txs = append(txs, c.bigCall(nonce))
			nonce++
		}
		c.include(txs...)
	}
	for from := 1; from <= 4; from++ {
		items := call[[]api.BlockItem](c, "svc_getBlocks", map[string]any{
			"from_height": from, "to_height": 4, "include_transactions": true,
		})
		if len(items) != 1 || int(items[0].Block.Height) != from {
			t.Errorf("from %d: %d blocks", from, len(items))
		}
	}
	if items := call[[]api.BlockItem](c, "svc_getBlocks", map[string]any{
		"from_height": 0, "to_height": 4, "include_transactions": true,
	}); len(items) != 2 {
		t.Errorf("%d blocks", len(items))
	}
	if items := call[[]api.BlockItem](c, "svc_getBlocks", map[string]any{
		"from_height": 0, "to_height": 4,
	}); len(items) != 5 {
		t.Errorf("%d headers", len(items))
	}
}

// loggedChain has receipts with logs, although its transactions run no contracts.
type loggedChain struct {
	*chain.Store
	logs map[int][]types.Log // by the index in block 1
}

func (l loggedChain) Receipts(h types.Height) ([]types.Receipt, error) {
	receipts, err := l.Store.Receipts(h)
	for i := range receipts {
		receipts[i].Logs = l.logs[i]
	}
	return receipts, err
}

func (l loggedChain) Transaction(p chain.Position) (chain.Included, error) {
	i, err := l.Store.Transaction(p)
	i.Receipt.Logs = l.logs[int(p.Index)]
	return i, err
}

func (l loggedChain) FirstLog(p chain.Position) (first uint32, _ error) {
	for i := range int(p.Index) {
		first += uint32(len(l.logs[i]))
	}
	return first, nil
}

func TestLogsOfReceipts(t *testing.T) {
	c := newTestChain(t)
	var txs []types.SignedTransaction
	for nonce := range uint64(3) {
		txs = append(txs, c.sign(alice, nonce, transfer(account(bob), 1)))
	}
	c.include(txs...)
	log := func(name string, topics ...[32]byte) types.Log {
		return types.Log{Contract: types.ContractID{1: 2}, Name: name, Topics: topics, Data: []byte(name + "!")}
	}
	logged := loggedChain{c.store, map[int][]types.Log{
		0: {log("a"), log("b")}, 2: {log("Transfer", [32]byte{1}, [32]byte{2}), log("c")},
	}}
	c.serve(func(config *Config) { config.Chain = logged })
	receipt := call[api.Receipt](c, "svc_getTransactionReceipt", txs[2].ID())
	if len(receipt.Logs) != 2 {
		t.Fatalf("got %+v, want 2 logs", receipt)
	}
	name := sha256.Sum256([]byte("Transfer"))
	got := receipt.Logs[0]
	want := fmt.Sprintf("%v", []api.Data{
		name[:], append([]byte{1}, make([]byte, 31)...), append([]byte{2}, make([]byte, 31)...),
	})
	if fmt.Sprintf("%v", got.Topics) != want || got.LogIndex != 2 || receipt.Logs[1].LogIndex != 3 ||
		got.EventName != "Transfer" || string(got.Data) != "Transfer!" || got.BlockHeight != 1 ||
		got.Address != (types.ContractID{1: 2}) {
		t.Errorf("got %+v", receipt.Logs)
	}
}

// movingChain finds a transaction only at the second look-up: it is included between the two.
type movingChain struct {
	*chain.Store
	asked *int
}

func (m movingChain) FindTransaction(id types.TxID) (chain.Position, error) {
	if *m.asked++; *m.asked == 1 {
		return chain.Position{}, chain.ErrNotFound
	}
	return m.Store.FindTransaction(id)
}

func TestTransactionIncludedWhileItIsLookedFor(t *testing.T) {
	c := newTestChain(t)
	tx := c.sign(alice, 0, transfer(account(bob), 1))
	c.include(tx)
	c.serve(func(config *Config) { config.Chain = movingChain{c.store, new(int)} })
	if got := call[*api.Transaction](c, "svc_getTransactionByHash", tx.ID()); got == nil ||
		got.Status != api.StatusSuccess {
		t.Errorf("got %+v", got)
	}
}

func TestListsStopWithTheirCall(t *testing.T) {
	s := newScenario(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := groupOf[*transactionHandlers](s.testChain).listRecentTransactions(
		ctx, api.ListRecentTransactionsParams{},
	); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if _, err := groupOf[*blockHandlers](s.testChain).getBlocks(
		ctx, api.GetBlocksParams{},
	); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func FuzzCursor(f *testing.F) {
	f.Add("00000000000000010000000101020304")
	f.Add("")
	f.Add(strings.Repeat("F", 32))
	f.Fuzz(func(t *testing.T, s string) {
		p, block, ok := parseCursor(s)
		if again := newCursor(p, types.BlockHash(append(block[:], make([]byte, 28)...))); ok && again != strings.ToLower(s) {
			t.Errorf("%q became %q", s, again)
		}
		if p, ok := parseContractCursor(s); ok && contractCursor(p) != strings.ToLower(s) {
			t.Errorf("%q became %q", s, contractCursor(p))
		}
	})
}

// TestBlocksRawOnly: with raw, the block's other fields are omitted.
func TestBlocksRawOnly(t *testing.T) {
	c := newTestChain(t)
	c.mine()
	for _, whole := range []bool{false, true} {
		asked := map[string]any{"from_height": 0, "to_height": 9, "include_transactions": whole}
		items := call[[]api.BlockItem](c, "svc_getBlocks", asked)
		asked["raw_only"] = true
		raw := call[[]api.BlockItem](c, "svc_getBlocks", asked)
		if len(raw) != 2 || len(items) != 2 {
			t.Fatalf("%d and %d items", len(raw), len(items))
		}
		for i := range raw {
			if raw[i].Block != nil || !bytes.Equal(raw[i].Raw, items[i].Raw) {
				t.Errorf("with transactions %v: item %d is %+v, not %x", whole, i, raw[i], items[i].Raw)
			}
		}
	}
}

// An account that others pay has rows between its own transactions.
func TestTransactionByNonce(t *testing.T) {
	c := newTestChain(t)
	find := func(nonce uint64) *api.Transaction {
		return call[*api.Transaction](c, "svc_getTransactionByNonce", account(alice), api.Quantity(nonce))
	}
	var own []types.SignedTransaction
	for i := range uint64(3) {
		own = append(own, c.sign(alice, i, transfer(account(bob), 1)))
		c.include(own[i], c.sign(bob, i, transfer(account(alice), 1)))
	}
	for i, tx := range own {
		if got := find(uint64(i)); got == nil || got.Hash != tx.ID() || *got.BlockHeight != types.Height(i+1) {
			t.Errorf("nonce %d: got %+v", i, got)
		}
	}
	if got := find(3); got != nil {
		t.Errorf("an unused nonce: got %+v", got)
	}
	if got := call[*api.Transaction](c, "svc_getTransactionByNonce", types.Account{9}, "0x0"); got != nil {
		t.Errorf("an unused account: got %+v", got)
	}
}

// TestPrunedOrUnknown looks for a pruned transaction, on a node that cannot know whether it ever existed.
func TestPrunedOrUnknown(t *testing.T) {
	c := startTestChain(t, types.Regtest, 5, chain.Options{Retention: 2}, jsonrpc.Options{})
	tx := c.sign(alice, 0, transfer(account(bob), 1))
	c.include(tx)
	old := must(c.store.Header(1))(t).Header.Hash()
	look := [][]any{
		{"svc_getTransactionByHash", tx.ID()}, {"svc_getTransactionReceipt", tx.ID()}, {"svc_getTransactionStatus", tx.ID()},
		{"svc_traceTransaction", tx.ID()}, {"svc_getBlockByHash", old},
		{"svc_getTransactionByNonce", account(alice), "0x0"},
	}
	for _, l := range look {
		if result, failure := c.post(l[0].(string), l[1:]...); failure != nil || string(result) == "null" {
			t.Errorf("%v before it is pruned: got %s, %v; want it", l, result, failure)
		}
	}
	for range 4 {
		c.include()
	}
	check(t, c.store.Prune(t.Context()))
	for _, l := range look {
		if data := c.refused(api.ErrPruned, l[0].(string), l[1:]...); data["oldestHeight"] != float64(c.store.OldestHeight()) {
			t.Errorf("%v: got %v, want the oldest height %d", l, data, c.store.OldestHeight())
		}
	}
	waits := c.sign(alice, 1, transfer(account(bob), 1))
	call[types.TxID](c, "svc_sendRawTransaction", encoded(waits))
	for _, l := range [][]any{
		{"svc_getTransactionReceipt", waits.ID()}, {"svc_getTransactionByNonce", account(alice), "0x1"},
		{"svc_getTransactionByNonce", types.Account{9}, "0x0"},
	} { // the results that are certain
		if result, failure := c.post(l[0].(string), l[1:]...); failure != nil || string(result) != "null" {
			t.Errorf("%v: got %s, %v; want null", l, result, failure)
		}
	}
}

func TestPendingTransactions(t *testing.T) {
	c := newTestChain(t)
	send := func(key crypto.PrivateKey, nonce uint64) types.TxID {
		tx := c.sign(key, nonce, transfer(account(bob), 1))
		return call[types.TxID](c, "svc_sendRawTransaction", encoded(tx))
	}
	held, first, other := send(alice, 2), send(alice, 0), send(bob, 0)
	list := func(filter map[string]any) (hashes []types.TxID, executable []bool) {
		for _, p := range call[[]api.PendingTransaction](c, "svc_getPendingTransactions", filter) {
			hashes, executable = append(hashes, p.Hash), append(executable, p.Executable)
		}
		return hashes, executable
	}
	hashes, executable := list(map[string]any{"sender": account(alice)})
	if !slices.Equal(hashes, []types.TxID{first, held}) || !slices.Equal(executable, []bool{true, false}) {
		t.Errorf("of a sender: %v, executable %v", hashes, executable)
	}
	if hashes, _ := list(map[string]any{}); !slices.Equal(hashes, []types.TxID{other, first, held}) {
		t.Errorf("of all: got %v", hashes)
	}
	if hashes, _ := list(map[string]any{
		"sender": account(alice), "limit": 1,
	}); !slices.Equal(hashes, []types.TxID{first}) {
		t.Errorf("a page: got %v", hashes)
	}
	for _, limit := range []int{0, api.MaxPending + 1} {
		c.refused(api.ErrOutOfRange, "svc_getPendingTransactions", map[string]any{"limit": limit})
	}
	c.refused(
		api.ErrWrongNetwork, "svc_getPendingTransactions", map[string]any{"sender": types.Mainnet.Address(account(alice))},
	)
}
