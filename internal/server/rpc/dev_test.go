package rpc

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/internal/engine/sequencer"
	"github.com/cairn-chain/cairn/internal/storage/chain"
	"github.com/cairn-chain/cairn/jsonrpc"
	"github.com/cairn-chain/cairn/types"
)

func TestDevelopmentMethods(t *testing.T) {
	c := newTestChain(t)
	if got := call[string](c, "dev_mine"); got != "0x1" {
		t.Errorf("mined to %s, want 0x1", got)
	}
	if got := call[string](c, "dev_mine", 3); got != "0x4" {
		t.Errorf("mined to %s, want 0x4", got)
	}
	for _, tc := range []struct {
		milliseconds any
		want         time.Duration
	}{{nil, sequencer.Manual}, {0, sequencer.Instant}, {1500, 1500 * time.Millisecond}} {
		if !call[bool](c, "dev_setBlockTime", tc.milliseconds) || c.interval != tc.want {
			t.Errorf("%v: got %v", tc.milliseconds, c.interval)
		}
	}
	if got := call[int64](c, "dev_increaseTime", 3600); got != 3600 {
		t.Errorf("ahead by %d, want 3600", got)
	}
	call[bool](c, "dev_setNextBlockTime", genesisTime+9999)
	call[string](c, "dev_mine")
	if got := call[api.Block](c, "svc_getBlockByNumber", "latest"); got.Timestamp != genesisTime+9999 {
		t.Errorf("the block's time is %d, want %d", got.Timestamp, genesisTime+9999)
	}
}

func TestSnapshotAndRevert(t *testing.T) {
	c := newTestChain(t)
	id := call[string](c, "dev_snapshot")
	fund := call[types.TxID](c, "dev_fund", types.Regtest.Address(account(poor)), "0xff")
	call[string](c, "dev_mine", 2)
	if got := call[string](c, "svc_getBalance", account(poor)); got != "0x104" {
		t.Errorf("funded to %s, want 0x104", got)
	}
	if !call[bool](c, "dev_revert", id) {
		t.Error("not reverted")
	}
	if got := call[string](c, "svc_blockNumber"); got != "0x0" {
		t.Errorf("reverted to %s, want 0x0", got)
	}
	if got := call[string](c, "svc_getBalance", account(poor)); got != "0x5" {
		t.Errorf("the balance is %s, want 0x5", got)
	}
	if got := call[*api.Receipt](c, "svc_getTransactionReceipt", fund); got != nil {
		t.Errorf("the undone transaction has the receipt %+v", got)
	}
	c.refused(api.ErrNoSnapshot, "dev_revert", id)
}

func TestDevelopmentRefusals(t *testing.T) {
	c := newTestChain(t)
	for _, beyond := range []struct {
		method, param string
		value, max    uint64
	}{
		{"dev_mine", "count", 0, api.MaxMine},
		{"dev_mine", "count", api.MaxMine + 1, api.MaxMine},
		{"dev_setBlockTime", "milliseconds", api.MaxBlockTimeMS + 1, api.MaxBlockTimeMS},
		{"dev_increaseTime", "seconds", tooFarAhead + 1, tooFarAhead},
		{"dev_setNextBlockTime", "time", tooFarAhead + 1, tooFarAhead},
	} {
		data := c.refused(api.ErrOutOfRange, beyond.method, beyond.value)
		if data["param"] != beyond.param || data["max"] != float64(beyond.max) || data["min"] == nil {
			t.Errorf("%s %d: got %v, want param %s and a range to %d", beyond.method, beyond.value, data, beyond.param, beyond.max)
		}
	}
	c.refused(invalid, "dev_setBlockTime")
	c.refused(invalid, "dev_increaseTime", -1)
	c.refused(api.ErrOutOfRange, "dev_setNextBlockTime", genesisTime-1)
	c.refused(api.ErrNoSnapshot, "dev_revert", "0x5")
	c.refused(invalid, "dev_revert", 5)
	c.refused(invalid, "dev_fund", account(bob), "0x0")
	c.refused(invalid, "dev_fund", account(bob), 5)
	c.refused(api.ErrWrongNetwork, "dev_fund", types.Mainnet.Address(account(bob)), "0x1")
}

// TestSimulationsAreInTheNextBlock is for a development chain, whose time can be moved. Elsewhere simulations run at
// the head's time.
func TestSimulationsAreInTheNextBlock(t *testing.T) {
	simulatedAt := func(c *testChain) uint64 {
		draft := types.Transaction{
			ChainID: c.store.Head().Header.ChainID,
			Sender:  account(alice),
			Payload: types.Transfer{},
		}
		m, err := groupOf[*submitHandlers](c).simulate(t.Context(), draft.EncodeUnsigned())
		check(t, err)
		check(t, m.state.Close())
		return m.template.Timestamp
	}
	c := newTestChain(t)
	call[int64](c, "dev_increaseTime", 86_400)
	at := simulatedAt(c)
	call[api.Quantity](c, "dev_mine")
	if head := c.store.Head().Header.Timestamp; at != head || at < genesisTime+86_400 {
		t.Errorf("simulated at %d, the next block has %d", at, head)
	}
	c = startTestChain(t, types.Mainnet, 1, chain.Options{}, jsonrpc.Options{})
	if at, head := simulatedAt(c), c.store.Head().Header.Timestamp; at != head {
		t.Errorf("on a main chain simulated at %d, the head has %d", at, head)
	}
}

func TestNoDevelopmentMethodsElsewhere(t *testing.T) {
	c := startTestChain(t, types.Mainnet, 1, chain.Options{}, jsonrpc.Options{})
	unknown := &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound}
	for _, d := range api.Declarations() {
		if strings.HasPrefix(d.Name, "dev_") {
			c.refused(unknown, d.Name)
		}
	}
	for _, m := range call[api.Document](c, "rpc.discover").Methods {
		if strings.HasPrefix(m.Name, "dev_") {
			t.Errorf("%s is declared", m.Name)
		}
	}
	if _, err := New(Config{
		Chain:     c.store,
		Ledger:    c.ledger,
		Pool:      c.pool,
		Sender:    c.pool,
		Node:      c,
		Developer: c,
	}); err == nil {
		t.Error("a main chain takes the dev_ methods")
	}
}

func TestDocumentOverHTTP(t *testing.T) {
	c := newTestChain(t)
	server := httptest.NewServer(c.server)
	defer server.Close()
	get := func(path string) (int, string, string) {
		response := must(http.Get(server.URL + path))(t)
		body := must(io.ReadAll(response.Body))(t)
		check(t, response.Body.Close())
		return response.StatusCode, response.Header.Get("Content-Type"), string(body)
	}
	discovered, _ := c.post("rpc.discover")
	if status, contentType, body := get("/openrpc.json"); status != 200 || contentType != "application/json" ||
		len(body) == 0 ||
		strings.Join(strings.Fields(body), "") != strings.Join(strings.Fields(string(discovered)), "") {
		t.Errorf("HTTP %d, %s, %d bytes, discovered %d", status, contentType, len(body), len(discovered))
	}
	head := must(http.Head(server.URL + "/openrpc.json"))(t)
	check(t, head.Body.Close())
	again := must(http.NewRequest(http.MethodGet, server.URL+"/openrpc.json", nil))(t)
	again.Header.Set("If-None-Match", head.Header.Get("ETag"))
	unchanged := must(http.DefaultClient.Do(again))(t)
	check(t, unchanged.Body.Close())
	if head.ContentLength < 1000 || unchanged.StatusCode != http.StatusNotModified {
		t.Errorf("HEAD: got %d bytes announced, then HTTP %d; want its length, then HTTP 304",
			head.ContentLength, unchanged.StatusCode)
	}
	if status, _, _ := get("/"); status != http.StatusMethodNotAllowed {
		t.Errorf("GET / is %d, want %d", status, http.StatusMethodNotAllowed)
	}
	if status, _, _ := get("/elsewhere"); status != http.StatusNotFound {
		t.Errorf("GET /elsewhere is %d, want %d", status, http.StatusNotFound)
	}
}
