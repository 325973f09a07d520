package client

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/types"
)

// TestMethodsOnTheWire compares the call of each typed method with the expected text, and decodes the answer.
func TestMethodsOnTheWire(t *testing.T) {
	const zero = `"0x0000000000000000000000000000000000000000000000000000000000000000"`
	signed := signedTransfer(t)
	raw := `"` + api.Data(signed.Encode()).String() + `"`
	unsigned := `"` + api.Data(signed.Transaction.EncodeUnsigned()).String() + `"`
	tests := []struct {
		name   string
		call   func(*Client) (any, error)
		method string
		params string
		answer string
		want   string // the result, formatted by fmt; "" for an object
	}{
		{
			"BlockNumber", func(c *Client) (any, error) { return c.BlockNumber(t.Context()) }, "svc_blockNumber", `[]`,
			`"0x11"`, "17",
		},
		{"ChainID", func(c *Client) (any, error) { return c.ChainID(t.Context()) }, "svc_chainId", `[]`, `"0x7a69"`, "31337"},
		{"Balance", func(c *Client) (any, error) { return c.Balance(t.Context(), types.Account{}, api.Latest()) },
			"svc_getBalance", `[` + zero + `]`, `"0x5"`, "5"},
		{"Balance of old", func(c *Client) (any, error) { return c.Balance(t.Context(), types.Account{}, api.AtHeight(10)) },
			"svc_getBalance", `[` + zero + `,"0xa"]`, `"0x5"`, "5"},
		{"Nonce", func(c *Client) (any, error) { return c.Nonce(t.Context(), types.Account{}, api.NonceRef{}) },
			"svc_getTransactionCount", `[` + zero + `]`, `"0x3"`, "3"},
		{"pending Nonce", func(c *Client) (any, error) { return c.Nonce(t.Context(), types.Account{}, api.Pending()) },
			"svc_getTransactionCount", `[` + zero + `,"pending"]`, `"0x4"`, "4"},
		{"ResolveAddress", func(c *Client) (any, error) { return c.ResolveAddress(t.Context(), "bcrt1x") },
			"svc_resolveAddress", `["bcrt1x"]`, `{"pubkey":` + zero + `}`, types.Account{}.String()},
		{"NodeInfo", func(c *Client) (any, error) { return c.NodeInfo(t.Context()) }, "svc_getNodeInfo", `[]`, `{}`, ""},
		{
			"SyncStatus", func(c *Client) (any, error) { return c.SyncStatus(t.Context()) }, "svc_getSyncStatus", `[]`, `{}`, "",
		},
		{"Genesis", func(c *Client) (any, error) { return c.Genesis(t.Context()) }, "svc_getGenesis", `[]`, `{}`, ""},
		{
			"Parameters", func(c *Client) (any, error) { return c.Parameters(t.Context()) }, "svc_getParameters", `[]`, `{}`, "",
		},
		{"AccountProof", func(c *Client) (any, error) { return c.AccountProof(t.Context(), types.Account{}, api.Latest()) },
			"svc_getAccountProof", `[` + zero + `]`, `{}`, ""},
		{"Account", func(c *Client) (any, error) { return c.Account(t.Context(), types.Account{}, api.Latest()) },
			"svc_getAccount", `[` + zero + `]`, `{}`, ""},
		{"Account of old", func(c *Client) (any, error) { return c.Account(t.Context(), types.Account{}, api.AtHeight(3)) },
			"svc_getAccount", `[` + zero + `,"0x3"]`, `{}`, ""},
		{"Headers", func(c *Client) (any, error) { return c.Headers(t.Context(), 3, 5, true) },
			"svc_getHeaders", `[{"from_height":3,"to_height":5,"proven":true}]`, `[]`, "[]"},
		{"InclusionProof", func(c *Client) (any, error) { return c.InclusionProof(t.Context(), types.TxID{}) },
			"svc_getInclusionProof", `[` + zero + `]`, `null`, "<nil>"},
		{
			"Proof", func(c *Client) (any, error) { return c.Proof(t.Context(), api.AtHeight(3)) }, "svc_getProof", `["0x3"]`,
			`{}`, "",
		},
		{"VerifyProof", func(c *Client) (any, error) { return c.VerifyProof(t.Context(), api.Latest(), []byte{1}) },
			"svc_verifyProof", `["latest","0x01"]`, `{}`, ""},
		{"AccessList", func(c *Client) (any, error) { return c.AccessList(t.Context(), api.AtHeight(3), "") },
			"svc_getAccessList", `["0x3"]`, `{}`, ""},
		{"AccessList, a later page", func(c *Client) (any, error) { return c.AccessList(t.Context(), api.AtHeight(3), "9") },
			"svc_getAccessList", `["0x3","9"]`, `{}`, ""},
		{"AccountProof of old", func(c *Client) (any, error) {
			return c.AccountProof(t.Context(), types.Account{}, api.AtHeight(3))
		},
			"svc_getAccountProof", `[` + zero + `,"0x3"]`, `{}`, ""},
		{"GasPrice", func(c *Client) (any, error) { return c.GasPrice(t.Context()) }, "svc_gasPrice", `[]`, `{}`, ""},
		{"FeeMarket", func(c *Client) (any, error) { return c.FeeMarket(t.Context()) }, "svc_getFeeMarket", `[]`, `{}`, ""},
		{
			"FeeHistory", func(c *Client) (any, error) { return c.FeeHistory(t.Context(), 5) }, "svc_getFeeHistory", `[5]`,
			`{}`, "",
		},
		{"FeeHistory with percentiles", func(c *Client) (any, error) { return c.FeeHistory(t.Context(), 5, 50) },
			"svc_getFeeHistory", `[5,[50]]`, `{}`, ""},
		{
			"MempoolStats", func(c *Client) (any, error) { return c.MempoolStats(t.Context()) }, "svc_getMempoolStats", `[]`,
			`{}`, "",
		},
		{"PendingTransactions", func(c *Client) (any, error) {
			return c.PendingTransactions(t.Context(), api.PendingFilter{Sender: types.Account{}.String()})
		},
			"svc_getPendingTransactions", `[{"sender":` + zero + `}]`, `[]`, ""},
		{"TransactionByNonce", func(c *Client) (any, error) { return c.TransactionByNonce(t.Context(), types.Account{}, 5) },
			"svc_getTransactionByNonce", `[` + zero + `,"0x5"]`, `null`, "<nil>"},
		{"BlockByNumber", func(c *Client) (any, error) { return c.BlockByNumber(t.Context(), api.Latest(), true) },
			"svc_getBlockByNumber", `["latest",true]`, `null`, "<nil>"},
		{"BlockByHash", func(c *Client) (any, error) { return c.BlockByHash(t.Context(), types.BlockHash{}, false) },
			"svc_getBlockByHash", `[` + zero + `]`, `null`, "<nil>"},
		{"Blocks", func(c *Client) (any, error) { return c.Blocks(t.Context(), 3, 5, true) },
			"svc_getBlocks", `[{"from_height":3,"to_height":5,"include_transactions":true}]`, `[]`, "[]"},
		{"Transaction", func(c *Client) (any, error) { return c.Transaction(t.Context(), types.TxID{}) },
			"svc_getTransactionByHash", `[` + zero + `]`, `null`, "<nil>"},
		{"Receipt", func(c *Client) (any, error) { return c.Receipt(t.Context(), types.TxID{}) },
			"svc_getTransactionReceipt", `[` + zero + `]`, `null`, "<nil>"},
		{"TransactionStatus", func(c *Client) (any, error) { return c.TransactionStatus(t.Context(), types.TxID{}) },
			"svc_getTransactionStatus", `[` + zero + `]`, `{}`, ""},
		{"TransactionsOf", func(c *Client) (any, error) { return c.TransactionsOf(t.Context(), types.Account{}, 7, "x") },
			"svc_getTransactionsByAddress", `[` + zero + `,{"limit":7,"cursor":"x"}]`, `[]`, "[]"},
		{"RecentTransactions", func(c *Client) (any, error) { return c.RecentTransactions(t.Context(), 7) },
			"svc_listRecentTransactions", `[7]`, `[]`, "[]"},
		{"RecentTransactions, none", func(c *Client) (any, error) { return c.RecentTransactions(t.Context(), 0) },
			"svc_listRecentTransactions", `[0]`, `[]`, "[]"},
		{"BlockTransactions", func(c *Client) (any, error) {
			return c.BlockTransactions(t.Context(), api.AtHeight(3), 50, 7)
		}, "svc_getBlockTransactions", `["0x3",{"from":50,"limit":7}]`, `[]`, "[]"},
		{"BlockReceipts", func(c *Client) (any, error) {
			return c.BlockReceipts(t.Context(), api.AtHeight(3), 50, 7)
		}, "svc_getBlockReceipts", `["0x3",{"from":50,"limit":7}]`, `[]`, "[]"},
		{"Run", func(c *Client) (any, error) { return c.Run(t.Context(), signed.Transaction) },
			"svc_call", `[` + unsigned + `]`, `"0x0102"`, "[1 2]"},
		{"EstimateGas", func(c *Client) (any, error) { return c.EstimateGas(t.Context(), signed.Transaction, signer(t), nil) },
			"svc_estimateGas", `[` + unsigned + `]`, `"0x5208"`, "21000"},
		{"Send", func(c *Client) (any, error) { return c.Send(t.Context(), signed) },
			"svc_sendRawTransaction", `[` + raw + `]`, zero, types.TxID{}.String()},
		{"View", func(c *Client) (any, error) {
			return c.View(t.Context(), types.ContractID{}, "f", []byte("{}"), api.Latest())
		},
			"svc_viewCall", `[` + zero + `,"f","0x7b7d"]`, `"0x0102"`, "[1 2]"},
		{"View of old", func(c *Client) (any, error) {
			return c.View(t.Context(), types.ContractID{}, "f", nil, api.AtHeight(3))
		},
			"svc_viewCall", `[` + zero + `,"f",null,"0x3"]`, `"0x"`, "[]"},
		{"Views", func(c *Client) (any, error) { return c.Views(t.Context(), []api.ViewCallItem{{Function: "f"}}) },
			"svc_batchViewCall", `[[{"contract_id":` + zero + `,"function":"f"}]]`, `[]`, "[]"},
		{"ViewProof", func(c *Client) (any, error) {
			return c.ViewProof(t.Context(), types.ContractID{}, "f", []byte{7}, api.AtHeight(3), types.CodeHash{})
		}, "svc_getViewProof", `[` + zero + `,"f","0x07","0x3",[` + zero + `]]`, `{}`, ""},
		{"StorageAt", func(c *Client) (any, error) {
			return c.StorageAt(t.Context(), types.ContractID{}, []byte{7}, api.Latest())
		},
			"svc_getStorageAt", `[` + zero + `,"0x07"]`, `"0x01"`, "[1]"},
		{"StateProof", func(c *Client) (any, error) { return c.StateProof(t.Context(), []byte{0, 1}, api.AtHeight(3)) },
			"svc_getStateProof", `["0x0001","0x3"]`, `{}`, ""},
		{"StorageProof", func(c *Client) (any, error) {
			return c.StorageProof(t.Context(), types.ContractID{}, []byte{7}, api.AtHeight(3))
		},
			"svc_getStorageProof", `[` + zero + `,"0x07","0x3"]`, `{}`, ""},
		{"Contracts", func(c *Client) (any, error) { return c.Contracts(t.Context(), 5, "x") },
			"svc_listContracts", `[5,"x"]`, `[]`, "[]"},
		{"Contract", func(c *Client) (any, error) { return c.Contract(t.Context(), types.ContractID{}) },
			"svc_getContract", `[` + zero + `]`, `null`, "<nil>"},
		{"ContractABI", func(c *Client) (any, error) { return c.ContractABI(t.Context(), types.ContractID{}) },
			"svc_getContractAbi", `[` + zero + `]`, `null`, "<nil>"},
		{"ContractCode", func(c *Client) (any, error) { return c.ContractCode(t.Context(), types.ContractID{}) },
			"svc_getContractCode", `[` + zero + `]`, `"0x0061"`, "[0 97]"},
		{"Code", func(c *Client) (any, error) { return c.Code(t.Context(), types.CodeHash{}) },
			"svc_getCode", `[` + zero + `]`, `"0x0061"`, "[0 97]"},
		{"Events", func(c *Client) (any, error) {
			return c.Events(t.Context(), api.EventFilter{EventName: new("Transfer"), Cursor: "x"})
		},
			"svc_getEvents", `[{"event_name":"Transfer","cursor":"x"}]`, `[]`, "[]"},
		{"PaymentPage", func(c *Client) (any, error) {
			return c.PaymentPage(t.Context(), api.PaymentFilter{Accounts: []string{"a"}, Order: api.OrderDescending})
		}, "svc_getPayments", `[{"accounts":["a"],"order":"desc"}]`, `{}`, ""},
		{"TokenBalance", func(c *Client) (any, error) {
			return c.TokenBalance(t.Context(), types.ContractID{}, types.Account{}, api.Latest())
		}, "svc_getTokenBalance", `[` + zero + `,` + zero + `]`, `{"balance":"0x10","balanceDecimal":1.6}`, "{0x10 1.6}"},
		{"TokenHolders", func(c *Client) (any, error) { return c.TokenHolders(t.Context(), types.ContractID{}, 5, "x") },
			"svc_getTokenHolders", `[` + zero + `,{"limit":5,"cursor":"x"}]`, `[]`, "[]"},
		{"Trace", func(c *Client) (any, error) { return c.Trace(t.Context(), types.TxID{}) },
			"svc_traceTransaction", `[` + zero + `]`, `null`, "<nil>"},
		{"TraceWithPlaces", func(c *Client) (any, error) { return c.TraceWithPlaces(t.Context(), types.TxID{}) },
			"svc_traceTransaction", `[` + zero + `,true]`, `null`, "<nil>"},
		{"Mine", func(c *Client) (any, error) { return c.Dev().Mine(t.Context(), 2) }, "dev_mine", `[2]`, `"0x9"`, "9"},
		{"SetBlockTime", func(c *Client) (any, error) {
			return nil, c.Dev().SetBlockTime(t.Context(), 1500*time.Millisecond)
		},
			"dev_setBlockTime", `[1500]`, `true`, "<nil>"},
		{
			"SetManual", func(c *Client) (any, error) { return nil, c.Dev().SetManual(t.Context()) }, "dev_setBlockTime",
			`[null]`, `true`, "<nil>",
		},
		{"IncreaseTime", func(c *Client) (any, error) { return c.Dev().IncreaseTime(t.Context(), time.Minute) },
			"dev_increaseTime", `[60]`, `90`, "1m30s"},
		{"SetNextBlockTime", func(c *Client) (any, error) { return nil, c.Dev().SetNextBlockTime(t.Context(), 99) },
			"dev_setNextBlockTime", `[99]`, `true`, "<nil>"},
		{
			"Snapshot", func(c *Client) (any, error) { return c.Dev().Snapshot(t.Context()) }, "dev_snapshot", `[]`, `"0x1"`,
			"1",
		},
		{
			"Revert", func(c *Client) (any, error) { return nil, c.Dev().Revert(t.Context(), 16) }, "dev_revert", `["0x10"]`,
			`true`, "<nil>",
		},
		{"Fund", func(c *Client) (any, error) { return c.Dev().Fund(t.Context(), types.Account{}, 255) },
			"dev_fund", `[` + zero + `,"0xff"]`, zero, types.TxID{}.String()},
		{"Raw", func(c *Client) (any, error) {
			var result json.Number
			err := c.Raw(t.Context(), "any", []any{1, "a"}, &result)
			return result, err
		}, "any", `[1,"a"]`, `9007199254740993`, "9007199254740993"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var request struct {
				ID     json.RawMessage
				Method string
				Params json.RawMessage
			}
			node := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if err := json.NewDecoder(r.Body).Decode(&request); err != nil {
					t.Error(err)
				}
				w.Header().Set("Content-Type", "application/json")
				fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, request.ID, test.answer)
			}))
			defer node.Close()
			c, err := New(node.URL)
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			result, err := test.call(c)
			if err != nil {
				t.Fatal(err)
			}
			if request.Method != test.method || string(request.Params) != test.params {
				t.Errorf("called %s %s, want %s %s", request.Method, request.Params, test.method, test.params)
			}
			if got := fmt.Sprint(result); test.want != "" && got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}
