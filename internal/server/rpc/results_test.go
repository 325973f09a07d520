package rpc

import (
	"bytes"
	"encoding/json"
	"flag"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/jsonrpc"
	"github.com/cairn-chain/cairn/types"
)

var update = flag.Bool("update", false, "write the golden files anew")

// scenario is a chain with a transaction of every kind and outcome.
type scenario struct {
	*testChain
	transfer, failedTransfer, deploy, call, configure, pending types.SignedTransaction
	newcomer                                                   types.Account
}

func newScenario(t testing.TB) *scenario {
	s := &scenario{testChain: newTestChain(t), newcomer: types.Account{0: 0xee, 31: 1}}
	s.transfer = s.sign(alice, 0, transfer(account(bob), 5*types.CoinUnits))
	s.include(s.transfer, s.sign(bob, 0, transfer(s.newcomer, 7)))

	unfunded := s.draft(alice, 1, transfer(types.Account{31: 9}, 7))
	unfunded.GasLimit = 10_000 // too little to make an account
	s.failedTransfer = s.signed(alice, unfunded)
	deploy := s.draft(alice, 2, action{types.Deploy{Name: "counter", Code: []byte{0, 'a', 's', 'm'}, InitArgs: []byte(`{"n":1}`)}, types.Account{}, 3})
	deploy.GasLimit = 1_000_000
	s.deploy = s.signed(alice, deploy)
	s.call = s.sign(bob, 1, calling(types.NewContractID(account(alice), 2), 0, types.Call{Function: "add", Args: []byte(`{"n":2}`)}))
	s.include(s.failedTransfer, s.deploy, s.call)

	changed := s.ledger.Tip().Parameters
	changed.MaxBaseFee *= 2
	s.configure = s.sign(admin, 0, types.Configure{Parameters: changed})
	s.include(s.configure)
	s.include()
	s.pending = s.sign(alice, 3, transfer(account(bob), 1))
	s.post("svc_sendRawTransaction", api.Data(s.pending.Encode()))
	return s
}

// example is one successful call of a method.
type example struct {
	name   string // of the golden file
	method string
	params []any
	on     *testChain // nil: the scenario's
}

func (s *scenario) examples() []example {
	encoded := func(tx types.SignedTransaction) string { return api.Data(tx.Encode()).String() }
	notSigned := unsigned(s.draft(alice, 3, transfer(account(bob), 1))).String()
	head := s.store.HeadHash()
	examples := []example{
		{name: "blockNumber", method: "svc_blockNumber", params: nil},
		{name: "getBalance", method: "svc_getBalance", params: []any{account(bob)}},
		{name: "getTransactionCount", method: "svc_getTransactionCount", params: []any{account(alice), "pending"}},
		{name: "resolveAddress", method: "svc_resolveAddress", params: []any{types.Mainnet.Address(account(alice))}},
		{name: "getNodeInfo", method: "svc_getNodeInfo", params: nil},
		{name: "getSyncStatus", method: "svc_getSyncStatus", params: nil},
		{name: "chainId", method: "svc_chainId", params: nil},
		{name: "getGenesis", method: "svc_getGenesis", params: nil},
		{name: "getParameters", method: "svc_getParameters", params: nil},
		{name: "getAccountProof", method: "svc_getAccountProof", params: []any{account(alice)}},
		{name: "getAccountProof_absent", method: "svc_getAccountProof", params: []any{types.Account{5: 5}}},
		{name: "getBlockByNumber", method: "svc_getBlockByNumber", params: []any{"0x2"}},
		{name: "getBlockByNumber_full", method: "svc_getBlockByNumber", params: []any{2, true}},
		{name: "getBlockByNumber_genesis", method: "svc_getBlockByNumber", params: []any{"earliest"}},
		{name: "getBlockByHash", method: "svc_getBlockByHash", params: []any{head}},
		{name: "getTransactionByHash", method: "svc_getTransactionByHash", params: []any{s.transfer.ID()}},
		{name: "getTransactionByHash_pending", method: "svc_getTransactionByHash", params: []any{s.pending.ID()}},
		{name: "getTransactionByHash_deploy", method: "svc_getTransactionByHash", params: []any{s.deploy.ID()}},
		{name: "getTransactionByHash_call", method: "svc_getTransactionByHash", params: []any{s.call.ID()}},
		{name: "getTransactionByHash_configure", method: "svc_getTransactionByHash", params: []any{s.configure.ID()}},
		{name: "getTransactionReceipt", method: "svc_getTransactionReceipt", params: []any{s.transfer.ID()}},
		{name: "getTransactionReceipt_failed", method: "svc_getTransactionReceipt", params: []any{s.failedTransfer.ID()}},
		{name: "getTransactionStatus", method: "svc_getTransactionStatus", params: []any{s.failedTransfer.ID()}},
		{
			name:   "getTransactionsByAddress",
			method: "svc_getTransactionsByAddress",
			params: []any{account(bob), map[string]any{"limit": 2}},
		},
		{name: "getBlockTransactions", method: "svc_getBlockTransactions", params: []any{1, map[string]any{"limit": 2}}},
		{name: "getBlockReceipts", method: "svc_getBlockReceipts", params: []any{1, map[string]any{"limit": 2}}},
		{name: "listRecentTransactions", method: "svc_listRecentTransactions", params: []any{2}},
		{
			name:   "getBlocks",
			method: "svc_getBlocks",
			params: []any{map[string]any{"from_height": 0, "to_height": 1, "include_transactions": true}},
		},
		{name: "getBlocks_headers", method: "svc_getBlocks", params: []any{map[string]any{"from_height": 1, "to_height": 1}}},
		{
			name:   "sendRawTransaction",
			method: "svc_sendRawTransaction",
			params: []any{encoded(s.sign(bob, 2, transfer(account(alice), 1)))},
		},
		{name: "sendRawTransactionSync", method: "svc_sendRawTransactionSync", params: []any{encoded(s.transfer)}},
		{name: "call", method: "svc_call", params: []any{notSigned}},
		{name: "traceCall", method: "svc_traceCall", params: []any{notSigned}},
		{name: "estimateGas", method: "svc_estimateGas", params: []any{notSigned}},
		{name: "gasPrice", method: "svc_gasPrice", params: nil},
		{
			name:   "getPendingTransactions",
			method: "svc_getPendingTransactions",
			params: []any{map[string]any{"sender": account(alice)}},
		},
		{name: "getTransactionByNonce", method: "svc_getTransactionByNonce", params: []any{account(alice), "0x2"}},
		{
			name:   "getPayments",
			method: "svc_getPayments",
			params: []any{map[string]any{"accounts": []any{account(bob)}, "order": "desc", "limit": 2}},
		},
		{name: "getMempoolStats", method: "svc_getMempoolStats", params: nil},
		{name: "getFeeMarket", method: "svc_getFeeMarket", params: nil},
		{name: "getFeeHistory", method: "svc_getFeeHistory", params: []any{3}},
		{name: "getStateSnapshot", method: "svc_getStateSnapshot", params: nil},
		{name: "getStateSnapshot_early", method: "svc_getStateSnapshot", params: []any{1}},
		{name: "discover", method: "rpc.discover", params: nil},
		{name: "dev_setBlockTime", method: "dev_setBlockTime", params: []any{nil}},
		{name: "dev_increaseTime", method: "dev_increaseTime", params: []any{60}},
		{name: "dev_setNextBlockTime", method: "dev_setNextBlockTime", params: []any{genesisTime + 1000}},
		{name: "dev_snapshot", method: "dev_snapshot", params: nil},
		{name: "dev_fund", method: "dev_fund", params: []any{account(bob), "0x5"}},
		{name: "dev_mine", method: "dev_mine", params: []any{2}},
		{name: "dev_revert", method: "dev_revert", params: []any{"0x1"}},
	}
	for i := range examples {
		examples[i].on = s.testChain
	}
	return slices.Concat(
		examples, newTokenScenario(s.t).examples(), newPolicyScenario(s.t).examples(), proofExamples(s.t),
	)
}

func TestGoldenResults(t *testing.T) {
	s := newScenario(t)
	for _, e := range s.examples() {
		result, failure := e.on.post(e.method, e.params...)
		if failure != nil {
			t.Errorf("%s: %v %v", e.name, failure, failure.Data)
			continue
		}
		if e.method == "rpc.discover" {
			continue // its example is in package api, and the tests below check the document
		}
		var pretty bytes.Buffer
		check(t, json.Indent(&pretty, result, "", "  "))
		pretty.WriteByte('\n')
		file := filepath.Join("testdata", e.name+".json")
		if *update {
			check(t, os.WriteFile(file, pretty.Bytes(), 0o644))
		}
		if want := must(os.ReadFile(file))(t); !bytes.Equal(pretty.Bytes(), want) {
			t.Errorf("%s: got\n%s\nwant\n%s", e.name, pretty.Bytes(), want)
		}
	}
}

// TestResultsAreAsDeclared: all results match the OpenRPC document.
func TestResultsAreAsDeclared(t *testing.T) {
	s := newScenario(t)
	declared := discover(s.testChain)
	called := map[string]bool{"svc_subscribe": true, "svc_unsubscribe": true} // on /ws only: package push tests them
	for _, e := range s.examples() {
		called[e.method] = true
		result, failure := e.on.post(e.method, e.params...)
		if failure != nil {
			t.Errorf("%s: error %v", e.name, failure)
			continue
		}
		if err := declared.Validate(decodeNumbers(t, result), declared.Methods[e.method].Result.Schema, e.name); err != nil {
			t.Error(err)
		}
	}
	// Tested in package push: over HTTP they do not exist.
	for name, param := range map[string]string{"svc_subscribe": "newBlocks", "svc_unsubscribe": "0x1"} {
		s.refused(&jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound}, name, param)
		called[name] = true
	}
	for name := range declared.Methods {
		if !called[name] {
			t.Errorf("%s is declared and has no example", name)
		}
	}
}

// The members of results that the specification lists, by JSON type; "hex" is a string that begins with 0x.
var specified = map[string]map[string]string{
	"blockNumber":         {"": "hex"},
	"getBalance":          {"": "hex"},
	"getTransactionCount": {"": "hex"},
	"resolveAddress":      {"pubkey": "hex"},
	"getNodeInfo": {"version": "string", "network": "string", "mode": "string", "block_height": "number",
		"protocol_public_key": "string", "peer_count": "number"},
	"getSyncStatus": {"mode": "string", "synced": "boolean", "local_height": "number", "primary_height": "number",
		"blocks_behind": "number", "sync_rate_blocks_per_sec": "number"},
	"getBlockByNumber": {"height": "number", "hash": "hex", "timestamp": "number", "txCount": "number", "stateRoot": "hex",
		"transactions": "array"},
	"getBlockByHash": {"height": "number", "hash": "hex", "timestamp": "number", "txCount": "number", "stateRoot": "hex",
		"transactions": "array"},
	"getTransactionByHash": {
		"hash":        "hex",
		"from":        "hex",
		"to":          "hex",
		"value":       "hex",
		"gasLimit":    "hex",
		"gasPrice":    "hex",
		"nonce":       "hex",
		"blockHeight": "number",
		"blockHash":   "hex",
		"status":      "string",
	},
	"getTransactionByHash_pending": {"hash": "hex", "blockHeight": "null", "blockHash": "null", "status": "string"},
	"getTransactionReceipt": {"transactionHash": "hex", "blockHeight": "number", "blockHash": "hex", "status": "hex",
		"gasUsed": "hex", "contractAddress": "null", "logs": "array"},
	"getTransactionsByAddress": {"": "array"},
	"getBlockTransactions":     {"": "array"},
	"getBlockReceipts":         {"": "array"},
	"listRecentTransactions":   {"": "array"},
	"getBlocks":                {"": "array"},
	"sendRawTransaction":       {"": "hex"},
	"call":                     {"": "hex"},
	"estimateGas":              {"": "hex"},
	"viewCall":                 {"": "hex"},
	"batchViewCall":            {"": "array"},
	"getStorageAt":             {"": "hex"},
	"getEvents":                {"": "array"},
	"listContracts":            {"": "array"},
	"getTokenHolders":          {"": "array"},
	"getTokenBalance":          {"balance": "hex", "balanceDecimal": "number"},
	"gasPrice":                 {"base_fee": "hex", "suggested_priority_fee": "hex", "suggested_max_fee": "hex"},
	"getMempoolStats": {"pending_count": "number", "total_gas": "number", "backpressure_active": "boolean",
		"oldest_tx_age_secs": "number", "held_count": "number", "classes": "array"},
	"getFeeMarket": {"base_fee": "number", "utilization": "number", "target_utilization": "number",
		"min_base_fee": "number",
		"max_base_fee": "number"},
}

func TestResultsAreAsSpecified(t *testing.T) {
	s := newScenario(t)
	for _, e := range s.examples() {
		members, ok := specified[e.name]
		if !ok {
			continue
		}
		result, failure := e.on.post(e.method, e.params...)
		if failure != nil {
			t.Errorf("%s: error %v", e.name, failure)
			continue
		}
		value := decodeNumbers(t, result)
		for name, want := range members {
			member := value
			if name != "" {
				member = value.(map[string]any)[name]
			}
			if got := jsonType(member); got != want {
				t.Errorf("%s.%s is %s (%v), specified is %s", e.name, name, got, member, want)
			}
		}
	}
}

func jsonType(value any) string {
	switch v := value.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case json.Number:
		return "number"
	case []any:
		return "array"
	case map[string]any:
		return "object"
	case string:
		if strings.HasPrefix(v, "0x") {
			return "hex"
		}
	}
	return "string"
}

func TestDocumentIsTheDispatchTable(t *testing.T) {
	s := newTestChain(t)
	document := call[api.Document](s, "rpc.discover")
	if len(document.Methods) != len(s.server.methods()) {
		t.Errorf("%d methods of %d are declared", len(document.Methods), len(s.server.methods()))
	}
	for _, m := range s.server.methods() {
		i := slices.IndexFunc(document.Methods, func(d api.DocumentMethod) bool { return d.Name == m.handler.Name() })
		if i < 0 {
			t.Errorf("%s is not declared", m.handler.Name())
			continue
		}
		declared := document.Methods[i].Params
		taken := m.handler.Params()
		same := slices.EqualFunc(declared, taken, func(d api.ContentDescriptor, p jsonrpc.ParamInfo) bool {
			return d.Name == p.Name && d.Required == !p.Optional
		})
		if !same || m.handler.Result() != m.declaration.Result {
			t.Errorf("%s takes %v, declared are %v", m.handler.Name(), taken, declared)
		}
	}
	for _, d := range api.Declarations() {
		if !slices.ContainsFunc(document.Methods, func(m api.DocumentMethod) bool { return m.Name == d.Name }) {
			t.Errorf("%s is declared in package api and not served", d.Name)
		}
	}
}

func TestFractionsAreNumbers(t *testing.T) {
	// An empty block with a gas limit: no ratio may become NaN.
	market := call[api.FeeMarket](newTestChain(t), "svc_getFeeMarket")
	if market.Utilization != 0 || math.IsNaN(market.TargetUtilization.Float()) ||
		market.TargetUtilization.String() != "0.5" {
		t.Errorf("got %+v", market)
	}
}
