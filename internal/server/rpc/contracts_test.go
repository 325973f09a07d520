package rpc

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"reflect"
	"slices"
	"testing"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/crypto"
	"github.com/cairn-chain/cairn/internal/protocol/exec"
	"github.com/cairn-chain/cairn/internal/protocol/state"
	"github.com/cairn-chain/cairn/internal/server/request"
	"github.com/cairn-chain/cairn/internal/storage/chain"
	"github.com/cairn-chain/cairn/jsonrpc"
	"github.com/cairn-chain/cairn/types"
)

// tokenScenario is a chain with the reference NEP-20 token, minted to alice, who sent some of it to bob and tried to
// send more than she has.
type tokenScenario struct {
	*testChain
	token                      types.ContractID
	deploy, transfer, overdraw types.SignedTransaction
}

const tokenSupply = 1_000_000_000

func newTokenScenario(t testing.TB) *tokenScenario { return startTokenScenario(t, chain.Options{}) }

func startTokenScenario(t testing.TB, options chain.Options) *tokenScenario {
	c := startTestChain(t, types.Regtest, api.DevelopmentChainID, options, jsonrpc.Options{})
	s := &tokenScenario{testChain: c, token: types.NewContractID(account(alice), 0)}
	code := must(os.ReadFile("../../../contracts/wasm/nep20.wasm"))(t)
	s.deploy = s.costly(alice, 0, 60_000_000, types.Deploy{
		Name: "token", Code: code,
		InitArgs: []byte(`{"name":"Example","symbol":"EX","decimals":6,"initialSupply":1000000000}`),
	})
	s.include(s.deploy)
	s.transfer = s.costly(alice, 1, 2_000_000, s.send(bob, 1_500_000))
	s.overdraw = s.costly(bob, 0, 2_000_000, s.send(alice, tokenSupply))
	s.include(s.transfer, s.overdraw)
	return s
}

// costly signs a transaction with the given gas limit.
func (c *testChain) costly(
	key crypto.PrivateKey, nonce uint64, gas types.Gas, payload types.Payload,
) types.SignedTransaction {
	tx := c.draft(key, nonce, payload)
	tx.GasLimit = gas
	return c.signed(key, tx)
}

// send is a transfer of the token.
func (s *tokenScenario) send(to crypto.PrivateKey, amount uint64) action {
	return calling(s.token, 0, types.Call{Function: "transfer", Args: fmt.Appendf(nil, `{"to":%q,"amount":%d}`, account(to), amount)})
}

func (s *tokenScenario) balanceOf(key crypto.PrivateKey) string {
	return api.Data(balanceOf(nep20Holder, account(key))).String()
}

func (s *tokenScenario) examples() []example {
	alices := account(alice)
	balanceKey := api.Data(append([]byte("\x07balance"), alices[:]...)).String()
	return []example{
		{"viewCall", "svc_viewCall", []any{s.token, "balanceOf", s.balanceOf(bob)}, s.testChain},
		{"viewCall_old", "svc_viewCall", []any{s.token, "balanceOf", s.balanceOf(alice)[2:], 1}, s.testChain},
		{"batchViewCall", "svc_batchViewCall", []any{[]any{
			map[string]any{"contract_id": s.token, "function": "symbol", "args": ""},
			map[string]any{"contract_id": s.token, "function": "transfer", "args": api.Data(s.send(bob, 1).Payload.(types.Call).Args)},
			map[string]any{"contract_id": types.ContractID{9}, "function": "symbol"},
			map[string]any{"contract_id": s.token, "function": "decimals"},
		}}, s.testChain},
		{"getViewProof", "svc_getViewProof", []any{s.token, "balanceOf", s.balanceOf(bob), "latest", []any{
			types.CodeHash(sha256.Sum256(s.deploy.Payload.(types.Deploy).Code)),
		}}, s.testChain},
		{"getStorageAt", "svc_getStorageAt", []any{s.token, balanceKey}, s.testChain},
		{"getStorageProof", "svc_getStorageProof", []any{s.token, balanceKey[2:]}, s.testChain},
		{"getStateProof", "svc_getStateProof", []any{api.Data(state.ContractKey(s.token))}, s.testChain},
		{"getStateProof_absent", "svc_getStateProof", []any{api.Data(state.ContractKey(types.ContractID{9}))}, s.testChain},
		{"listContracts", "svc_listContracts", nil, s.testChain},
		{"getContract", "svc_getContract", []any{s.token}, s.testChain},
		{"getContract_absent", "svc_getContract", []any{types.ContractID{9}}, s.testChain},
		{"getContractAbi", "svc_getContractAbi", []any{s.token}, s.testChain},
		{"getContractCode", "svc_getContractCode", []any{s.token}, s.testChain},
		{"getCode", "svc_getCode", []any{types.CodeHash(sha256.Sum256(s.deploy.Payload.(types.Deploy).Code))}, s.testChain},
		{"getEvents", "svc_getEvents", []any{map[string]any{"contract_id": s.token, "event_name": "Transfer"}}, s.testChain},
		{"getTokenBalance", "svc_getTokenBalance", []any{s.token, account(bob)}, s.testChain},
		{"getTokenHolders", "svc_getTokenHolders", []any{s.token}, s.testChain},
		{"traceTransaction", "svc_traceTransaction", []any{s.transfer.ID()}, s.testChain},
		{"traceTransaction_failed", "svc_traceTransaction", []any{s.overdraw.ID()}, s.testChain},
		{"traceTransaction_places", "svc_traceTransaction", []any{s.overdraw.ID(), true}, s.testChain},
	}
}

func TestReasonOfFailureIsServed(t *testing.T) {
	s := newTokenScenario(t)
	for method, member := range map[string]string{
		"svc_getTransactionReceipt": "error", "svc_getTransactionByHash": "error", "svc_getTransactionStatus": "error",
		"svc_traceTransaction": "error",
	} {
		if got := call[map[string]any](s.testChain, method, s.overdraw.ID())[member]; got != "reverted" {
			t.Errorf("%s says %v, want reverted", method, got)
		}
	}
}

func sum(parts map[string]api.Quantity) (gas api.Quantity) {
	for _, took := range parts {
		gas += took
	}
	return gas
}

// TestTraceIsTheReceipt compares traces with the receipts of the same transactions.
func TestTraceIsTheReceipt(t *testing.T) {
	s := newTokenScenario(t)
	for _, tx := range []types.SignedTransaction{s.deploy, s.transfer, s.overdraw} {
		receipt := call[api.Receipt](s.testChain, "svc_getTransactionReceipt", tx.ID())
		trace := call[api.Trace](s.testChain, "svc_traceTransaction", tx.ID())
		if trace.GasUsed != receipt.GasUsed || trace.Root == nil || trace.Truncated ||
			string(trace.Root.Output) != string(receipt.ReturnData) || trace.Root.GasUsed >= trace.GasUsed {
			t.Fatalf("trace %+v of receipt %+v", trace, receipt)
		}
		for i, event := range trace.Root.Events {
			if receipt.Status == 1 &&
				(event.Name != receipt.Logs[i].EventName || string(event.Data) != string(receipt.Logs[i].Data)) {
				t.Errorf("event %+v, the receipt has %+v", event, receipt.Logs[i])
			}
		}
		own := sum(trace.Parts)
		if own+trace.Root.GasUsed != receipt.GasUsed || trace.Parts["intrinsic"] == 0 {
			t.Errorf("%d gas itself and %d in its call, the receipt has %d", own, trace.Root.GasUsed, receipt.GasUsed)
		}
		if parts := sum(trace.Root.Parts) + sum(trace.Root.HostGas) + trace.Root.BelowGas; parts != trace.Root.GasUsed {
			t.Errorf("the call's parts are %d gas of %d", parts, trace.Root.GasUsed)
		}
		var host api.Quantity
		for _, gas := range trace.Root.HostGas {
			host += gas
		}
		if host == 0 || host >= trace.Root.GasUsed {
			t.Errorf("host functions took %d of %d gas", host, trace.Root.GasUsed)
		}
	}
}

// TestTraceHasPlaces asks for places, which changes nothing else: for calls that fail and that succeed, and for a
// deploy whose init fails, so that no contract has the code.
func TestTraceHasPlaces(t *testing.T) {
	s := newTokenScenario(t)
	code := s.deploy.Payload.(types.Deploy).Code
	// A custom section makes it another code, which no engine knows.
	code = append(slices.Clone(code), 0, 2, 1, 'x')
	failing := s.costly(alice, 2, 60_000_000, types.Deploy{Code: code, InitArgs: []byte(`{}`)})
	before := s.costly(bob, 1, 2_000_000, s.send(alice, tokenSupply)) // this call fails too
	s.include(before, failing)
	for _, tx := range []types.SignedTransaction{s.deploy, s.transfer, s.overdraw, failing} {
		without := call[api.Trace](s.testChain, "svc_traceTransaction", tx.ID())
		with := call[api.Trace](s.testChain, "svc_traceTransaction", tx.ID(), true)
		places := with.Root.StoppedAt
		if failed := with.Error != nil; failed != (len(places) > 0) || len(without.Root.StoppedAt) > 0 {
			t.Errorf("%v: it stopped at %+v", with.Error, places)
		}
		for _, p := range places {
			if p.Offset == 0 || p.Offset >= uint64(len(code)) {
				t.Errorf("offset %d of a code of %d bytes", p.Offset, len(code))
			}
		}
		with.Root.StoppedAt = without.Root.StoppedAt
		if !reflect.DeepEqual(with, without) {
			t.Errorf("with places %+v, without %+v", with, without)
		}
	}
}

func TestEventsInPages(t *testing.T) {
	s := newTokenScenario(t)
	name := sha256.Sum256([]byte("Transfer"))
	from, to := types.Digest(account(alice)), types.Digest(account(bob))
	all := call[[]api.Event](s.testChain, "svc_getEvents", map[string]any{})
	if len(all) != 2 || all[0].BlockHeight != 1 || all[1].BlockHeight != 2 || all[1].TransactionHash != s.transfer.ID() {
		t.Fatalf("got %+v", all)
	}
	for filter, want := range map[string]int{
		fmt.Sprintf(`{"topics":["0x%x",%q,%q]}`, name, from, to):  1,
		fmt.Sprintf(`{"topics":[null,null,%q]}`, from):            1, // minted
		fmt.Sprintf(`{"topics":["0x%x"],"event_name":"x"}`, name): 0,
		fmt.Sprintf(`{"contract_id":%q,"limit":1}`, s.token):      1,
		fmt.Sprintf(`{"cursor":%q}`, all[0].Cursor):               1,
		fmt.Sprintf(`{"cursor":%q}`, all[1].Cursor):               0,
		`{"from_block":2}`:            1,
		`{"to_block":1}`:              1,
		`{"from_block":3,"limit":10}`: 0,
		`{"event_name":"Approval"}`:   0,
	} {
		if got := call[[]api.Event](s.testChain, "svc_getEvents", json.RawMessage(filter)); len(got) != want {
			t.Errorf("%s finds %d, want %d", filter, len(got), want)
		}
	}
	s.refused(invalid, "svc_getEvents", map[string]any{"unknown": 1})
	if data := s.refused(api.ErrOutOfRange, "svc_getEvents", map[string]any{"limit": 0}); data["param"] != "filter" ||
		data["member"] != "limit" {
		t.Errorf("limit 0: got %v", data)
	}
	s.refused(api.ErrBadCursor, "svc_getEvents", map[string]any{"cursor": "x"})
}

func TestTokens(t *testing.T) {
	s := newTokenScenario(t)
	balance := call[api.TokenBalance](s.testChain, "svc_getTokenBalance", s.token, types.Regtest.Address(account(bob)))
	if balance.Balance != 1_500_000 || balance.Decimal.String() != "1.5" {
		t.Errorf("got %+v", balance)
	}
	if old := call[api.TokenBalance](s.testChain, "svc_getTokenBalance", s.token, account(bob), 1); old.Balance != 0 {
		t.Errorf("got %+v before, want Balance 0", old)
	}
	first := call[[]api.TokenHolder](s.testChain, "svc_getTokenHolders", s.token, map[string]any{"limit": 1})
	second := call[[]api.TokenHolder](
		s.testChain, "svc_getTokenHolders", s.token, map[string]any{"cursor": first[0].Cursor},
	)
	third := call[[]api.TokenHolder](
		s.testChain, "svc_getTokenHolders", s.token, map[string]any{"cursor": second[0].Cursor},
	)
	if len(first) != 1 || first[0].Address != account(alice) || first[0].Balance != tokenSupply-1_500_000 ||
		len(second) != 1 || second[0].Address != account(bob) || second[0].Balance != 1_500_000 || len(third) != 0 {
		t.Errorf("got %+v, %+v, %+v", first, second, third)
	}
	s.refused(api.ErrNoContract, "svc_getTokenHolders", types.ContractID{9})
	s.refused(api.ErrNoContract, "svc_getTokenBalance", types.ContractID{9}, account(bob))
	s.refused(api.ErrBadCursor, "svc_getTokenHolders", s.token, map[string]any{"cursor": "00"})
}

// A token of NEP-11 has holders too, although balanceOf has another name for its account.
func TestTokensOfOneEach(t *testing.T) {
	c := startTestChain(t, types.Regtest, api.DevelopmentChainID, chain.Options{}, jsonrpc.Options{})
	nft := types.NewContractID(account(alice), 0)
	code := must(os.ReadFile("../../../contracts/wasm/nft.wasm"))(t)
	c.include(c.costly(alice, 0, 100_000_000, types.Deploy{
		Name: "cats", Code: code, InitArgs: []byte(`{"symbol":"CAT"}`),
	}))
	ask := func(nonce uint64, function, args string, to crypto.PrivateKey) types.SignedTransaction {
		return c.costly(alice, nonce, 2_000_000, calling(nft, 0, types.Call{Function: function, Args: fmt.Appendf(nil, `{"to":%q,`+args, account(to))}))
	}
	c.include(ask(1, "mint", `"tokenId":"0x01","properties":"{}"}`, alice))
	c.include(ask(2, "mint", `"tokenId":"0x02","properties":"{}"}`, alice))
	c.include(ask(3, "transfer", `"tokenId":"0x02","data":null}`, bob))
	holders := call[[]api.TokenHolder](c, "svc_getTokenHolders", nft)
	if len(holders) != 2 || holders[0].Balance != 1 || holders[1].Balance != 1 {
		t.Errorf("held by %+v", holders)
	}
	for _, key := range []crypto.PrivateKey{alice, bob} {
		got := call[api.TokenBalance](c, "svc_getTokenBalance", nft, account(key))
		if got.Balance != 1 || got.Decimal.String() != "1" {
			t.Errorf("%s has %+v", account(key), got)
		}
	}
}

func TestViewCallFailures(t *testing.T) {
	s := newTokenScenario(t)
	s.refused(api.ErrNoContract, "svc_viewCall", types.ContractID{9}, "f", "")
	s.refused(api.ErrExecutionFailed, "svc_viewCall", s.token, "nothing", "")
	if data := s.refused(api.ErrExecutionFailed, "svc_viewCall", s.token, "approve",
		api.Data(fmt.Appendf(
			nil, `{"spender":%q,"amount":1}`, account(bob),
		))); data["reason"] != string(exec.ViewWroteState) {
		t.Errorf("a view that writes fails with %v", data)
	}
	s.refused(api.ErrExecutionFailed, "svc_viewCall", s.token, "balanceOf", "")
	s.refused(api.ErrAboveHead, "svc_viewCall", s.token, "symbol", "", 99)
	s.refused(invalid, "svc_viewCall", s.token, "symbol", "0x0")
	s.refused(api.ErrViewCalls, "svc_batchViewCall", make([]api.ViewCallItem, api.MaxViewCalls+1))
	for member, call := range map[string]map[string]any{
		"contract_id": {"function": "name", "args": ""}, "function": {"contract_id": s.token, "function": nil},
	} {
		if data := s.refused(invalid, "svc_batchViewCall", []any{call}); data["param"] != "calls" ||
			data["member"] != member {
			t.Errorf("a call without %s: got %v", member, data)
		}
	}
	s.refused(api.ErrNoContract, "svc_getContractCode", types.ContractID{9})
	s.refused(api.ErrNoCode, "svc_getCode", types.CodeHash{9})
	s.refused(api.ErrNoContract, "svc_getStorageAt", types.ContractID{9}, "0x")
}

// A call that lacks gas because of the request's other calls is refused with the request's limit, and a call that needs
// more than any call may use with the call's.
func TestCallsOfOneRequestShareItsGas(t *testing.T) {
	s := newTokenScenario(t)
	tx := s.draft(alice, 0, calling(s.token, 0, types.Call{Function: "symbol"}))
	tx.GasLimit = 0 // the most that a call may use
	asked := api.ViewCallParams{Contract: s.token, Function: "symbol"}
	for left, want := range map[types.Gas]map[string]error{
		request.Gas: {"view": nil, "call": nil, "estimate": nil},
		100:         {"view": api.ErrRequestGas, "call": nil, "estimate": api.ErrRequestGas}, // more for the last call
		0:           {"view": api.ErrRequestGas, "call": api.ErrRequestGas, "estimate": api.ErrRequestGas},
	} {
		got := make(map[string]error)
		for name, run := range map[string]func(context.Context) error{
			"view": func(ctx context.Context) error {
				_, err := groupOf[*viewHandlers](s.testChain).viewCall(ctx, asked)
				return err
			},
			"call": func(ctx context.Context) error {
				_, err := groupOf[*submitHandlers](s.testChain).call(ctx, api.RawTransactionParams{Transaction: tx.EncodeUnsigned()})
				return err
			},
			"estimate": func(ctx context.Context) error {
				_, err := groupOf[*submitHandlers](s.testChain).estimateGas(
					ctx, api.RawTransactionParams{Transaction: tx.EncodeUnsigned()})
				return err
			},
		} {
			r := request.New(t.Context())
			r.SpendGas(request.Gas - left)
			got[name] = run(r)
		}
		for name, err := range got {
			if !errors.Is(err, want[name]) {
				t.Errorf("%s with %d gas left in the request: got %v, want %v", name, left, err, want[name])
			}
		}
	}
}

// TestEstimateOfADeploy deploys with the estimated gas. Before that, the chain's own engine, which would store the
// machine code on disk, compiles nothing.
func TestEstimateOfADeploy(t *testing.T) {
	s := newTokenScenario(t)
	code := must(os.ReadFile("../../../contracts/wasm/as-nep20.wasm"))(t)
	args := []byte(`{"name":"Second","symbol":"TWO","decimals":6,"initialSupply":"1000000000"}`)
	draft := s.draft(alice, 2, types.Deploy{Code: code, InitArgs: args})
	before := s.engine.Stats().Compiled
	estimate := call[api.Quantity](s.testChain, "svc_estimateGas", api.Data(draft.EncodeUnsigned()))
	if now, tried := s.engine.Stats().Compiled, s.trials.Stats().Compiled; now != before || tried != 1 {
		t.Errorf("%d modules compiled before, %d now and %d beside", before, now, tried)
	}
	tx := s.costly(alice, 2, types.Gas(estimate), draft.Payload)
	s.include(tx)
	receipt := call[api.Receipt](s.testChain, "svc_getTransactionReceipt", tx.ID())
	if receipt.Status != 1 || 5*estimate > 6*needed(receipt) || s.engine.Stats().Compiled != before+1 {
		t.Errorf(
			"estimated %d, used %d, status %d, %d modules compiled", estimate, receipt.GasUsed, receipt.Status,
			s.engine.Stats().Compiled,
		)
	}
}

// TestEstimateOfACall sends a token transfer with the estimated gas.
func TestEstimateOfACall(t *testing.T) {
	s := newTokenScenario(t)
	draft := s.draft(alice, 2, s.send(poor, 5))
	estimate := call[api.Quantity](s.testChain, "svc_estimateGas", api.Data(draft.EncodeUnsigned()))
	tx := s.costly(alice, 2, types.Gas(estimate), s.send(poor, 5))
	s.include(tx)
	receipt := call[api.Receipt](s.testChain, "svc_getTransactionReceipt", tx.ID())
	if receipt.Status != 1 || 5*estimate > 6*needed(receipt) {
		t.Errorf("estimated %d, used %d, status %d", estimate, receipt.GasUsed, receipt.Status)
	}
}
