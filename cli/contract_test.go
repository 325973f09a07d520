package cli

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/cairn-chain/cairn/abi"
	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/cli/submit"
	"github.com/cairn-chain/cairn/cli/tracing"
	"github.com/cairn-chain/cairn/jsonrpc"
	"github.com/cairn-chain/cairn/types"
)

// goldCode is a module whose custom section contains the hash of its source.
const goldCode = "\x00asm\x01\x00\x00\x00\x00\x2e\x0ccairn_source\x01" + "0123456789abcdef0123456789abcdef"

// goldABI is the ABI of a token with additional functions, one for each kind of parameter.
const goldABI = `{"functions":[
	{"name":"init","mode":"init","args":[{"name":"owner","type":"account"},{"name":"cap","type":"u64?"}]},
	{"name":"balanceOf","mode":"read","args":[{"name":"address","type":"account"}],"returns":"u64"},
	{"name":"transfer","mode":"write","args":[{"name":"to","type":"account"},{"name":"amount","type":"u64"}],"returns":"bool"},
	{"name":"transferFrom","mode":"write","args":[{"name":"from","type":"account"},{"name":"to","type":"account"},{"name":"amount","type":"u64"}],"returns":"bool"},
	{"name":"pay","mode":"write","args":[{"name":"list","type":"account[]"},{"name":"urgent","type":"bool"},{"name":"memo","type":"string?"}]},
	{"name":"approve","mode":"write","args":[{"name":"spender","type":"account"},{"name":"amount","type":"u64"}],"returns":"bool"},
	{"name":"stop","mode":"write","payable":true,"args":[]}],
	"events":[{"name":"Transfer","args":[{"name":"from","type":"account"},{"name":"to","type":"account"},{"name":"amount","type":"u64"}]},
	{"name":"Noted","args":[{"name":"by","type":"account"},{"name":"memo","type":"string"}]}],
	"errors":[{"name":"TooLow","code":2,"fields":[{"name":"have","type":"u64"}]}]}`

// The node's contracts: one with an ABI and one without.
var gold, bare = hash("c0"), hash("c1")

// goldModule is a module that carries the ABI.
func goldModule() string {
	section := "\x09cairn_abi" + goldABI
	return "\x00asm\x01\x00\x00\x00\x00" + string([]byte{byte(len(section)&0x7F | 0x80),
		byte(len(section) >> 7)}) + section
}

// contractAnswers changes the node's answers about contracts.
type contractAnswers struct {
	trace  func(*api.Trace)
	places int    // number of requests for places
	abi    string // of the contract that has one; empty: goldABI
}

// contracts are the methods about contracts. A view call returns its arguments.
func (n *fakeNode) contracts() []jsonrpc.Method {
	noContract := func(id types.ContractID) error {
		if id[0] != 0xC0 && id[0] != 0xC1 {
			return api.ErrNoContract
		}
		return nil
	}
	contract := api.Contract{ID: types.ContractID{0xC0}, Name: "Gold", DeployedAt: 3, CodeSize: 900, Cursor: "next"}
	event := api.Event{EventName: "Transfer", ContractID: contract.ID, BlockHeight: 5, Data: []byte(`{"amount":5}`),
		Cursor: "next"}
	return []jsonrpc.Method{
		method(api.GetContractABI, func(p api.ContractParams) (*abi.ABI, error) {
			var declared abi.ABI
			if p.Contract[0] != 0xC0 {
				return nil, noContract(p.Contract)
			}
			return &declared, json.Unmarshal([]byte(cmp.Or(n.abi, goldABI)), &declared)
		}),
		method(api.GetContract, func(p api.ContractParams) (*api.Contract, error) {
			if noContract(p.Contract) != nil {
				return nil, nil
			}
			return &contract, nil
		}),
		method(api.GetContractCode, func(p api.ContractParams) (api.Data, error) {
			return api.Data(goldCode), noContract(p.Contract)
		}),
		method(api.ListContracts, func(p api.ListContractsParams) ([]api.Contract, error) {
			return make([]api.Contract, *p.Limit-1, *p.Limit), nil
		}),
		method(api.ViewCall, func(p api.ViewCallParams) (api.Data, error) {
			if p.Function == "fails" {
				return nil, jsonrpc.NewError(api.CodeExecutionFailed,
					"the execution failed: "+api.FailureText("reverted", []byte("too poor")), "reason", "reverted", "revertData",
					api.Data("too poor"))
			}
			if p.Function == "allowance" {
				return []byte(`"150"`), noContract(p.Contract)
			}
			return fmt.Appendf(nil, `{"function":%q,"args":%q}`, p.Function, p.Args), noContract(p.Contract)
		}),
		method(api.BatchViewCall, func(p api.BatchViewCallParams) ([]api.ViewResult, error) {
			if p.Calls[0].Contract[0] != 0xC0 {
				return []api.ViewResult{{Error: api.ErrNoContract}, {Error: api.ErrNoContract}}, nil
			}
			return []api.ViewResult{{Success: true, Result: []byte("2")}, {Success: true, Result: []byte(`"GLD"`)}}, nil
		}),
		method(api.GetTokenBalance, func(api.GetTokenBalanceParams) (api.TokenBalance, error) {
			return api.TokenBalance{Balance: 12345}, nil
		}),
		method(api.GetTokenHolders, func(p api.GetTokenHoldersParams) ([]api.TokenHolder, error) {
			return []api.TokenHolder{{Address: types.Account{7}, Balance: 500, Cursor: "next"}}, nil
		}),
		method(api.GetEvents, func(p api.GetEventsParams) ([]api.Event, error) {
			f := p.Filter
			if f.ContractID != nil && (*f.FromBlock != 2 || *f.ToBlock != 9 || *f.EventName != "Transfer" ||
				f.Cursor != "seen") {
				return nil, fmt.Errorf("the filter is %+v", f)
			}
			return []api.Event{event}, nil
		}),
		method(api.TraceTransaction, func(p api.TraceParams) (*api.Trace, error) {
			if p.Hash.IsZero() {
				return nil, nil
			}
			if p.Places {
				n.places++
			}
			trace := sampleTrace()
			if n.trace != nil {
				n.trace(trace)
			}
			return trace, nil
		}),
	}
}

func sampleTrace() *api.Trace {
	reverted := "reverted"
	return &api.Trace{GasUsed: 90_000, Status: api.StatusSuccess, Truncated: true,
		Parts: map[string]api.Quantity{"intrinsic": 50_000}, Root: &api.TraceCall{
			Parts:    map[string]api.Quantity{"instructions": 7_991},
			BelowGas: 9,
			Contract: types.ContractID{0xC0},
			Function: "transfer",
			Args:     []byte(`{"amount":5}`),
			Gas:      80_000,
			GasUsed:  40_000,
			Output:   []byte("true"),
			Value:    150_000_000,
			HostGas:  map[string]api.Quantity{"emit": 2_000, "storage_write": 30_000},
			Storage:  []api.TraceWrite{{Key: []byte("supply"), New: []byte{0, 1}}},
			Events:   []api.TraceEvent{{Name: "Transfer", Data: []byte("{}")}},
			Debug:    []string{"here"},
			Calls: []api.TraceCall{{
				Contract: types.ContractID{0xC1},
				Function: "hook",
				View:     true,
				Gas:      9,
				GasUsed:  9,
				Error:    &reverted,
				Output:   []byte("no"),
			}},
		}}
}

// calls are the payload of the one transaction that the node got.
func onlyCall(t *testing.T, n *fakeNode) types.Call {
	t.Helper()
	call, ok := n.onlySent(t).Payload.(types.Call)
	if !ok {
		t.Fatalf("sent %+v", n.onlySent(t))
	}
	return call
}

func TestCallTakesParametersAsFlags(t *testing.T) {
	dev1, alice := developmentAccount(t, "dev1"), "0xf9308a019258c31049344f85f89d5229b531c845836f99b08601f113bce036f9"
	for _, test := range []struct{ words, function, args string }{
		{"transfer --to dev1 --amount 5", "transfer", fmt.Sprintf(`{"to":%q,"amount":5}`, dev1)},
		{"transfer --amount=18446744073709551615 --to alice", "transfer",
			fmt.Sprintf(`{"to":%q,"amount":"18446744073709551615"}`, alice)},
		{"--no-wait transferFrom --arg-from alice --to dev1 --amount 5", "transferFrom",
			fmt.Sprintf(`{"from":%q,"to":%q,"amount":5}`, alice, dev1)},
		{"pay --list alice,dev1 --urgent true", "pay", fmt.Sprintf(`{"list":[%q,%q],"urgent":true,"memo":null}`, alice,
			dev1)},
		{"pay --list= --urgent false --memo --x", "pay", `{"list":[],"urgent":false,"memo":"--x"}`},
		{`transfer --args {"amount":5,"to":"alice"}`, "transfer", fmt.Sprintf(`{"to":%q,"amount":5}`, alice)},
		{"stop --value 1.5", "stop", ""},
	} {
		node := startNode(t)
		o := newDesk(t, node).run(t, append([]string{"call", "--from", "dev0", gold}, strings.Fields(test.words)...)...)
		if o.exit != 0 {
			t.Errorf("%s: got %+v", test.words, o)
			continue
		}
		call, tx := onlyCall(t, node), node.onlySent(t)
		if tx.Target.String() != gold || call.Function != test.function || string(call.Args) != test.args ||
			(tx.Value != 0) != (test.function == "stop") {
			t.Errorf("%s: called %s with %s and %d", test.words, call.Function, call.Args, tx.Value)
		}
	}
}

// TestTraceOfWhatIsNotSent: views and dry runs print a trace on request, and a dry run prints its cost.
func TestTraceOfWhatIsNotSent(t *testing.T) {
	d := newDesk(t, startNode(t))
	view := result[printedCall](t, d.run(t, "call", gold, "balanceOf", "--address", "dev1", "--trace", "--json"))
	if view.Trace == nil || view.Trace.GasUsed != 20_000 {
		t.Errorf("a view: got the trace %+v, want one of 20000 gas", view.Trace)
	}
	approve := []string{"call", gold, "approve", "--spender", "dev1", "--amount", "5", "--from", "dev0", "--dry-run"}
	for _, traced := range []bool{false, true} {
		words := approve
		if traced {
			words = append(slices.Clone(approve), "--trace")
		}
		plan := result[submit.Plan](t, d.run(t, append(words, "--json")...))
		if got := plan.Trace != nil; got != traced || plan.LikelyGas != 20_000 || plan.LikelyCost == 0 || plan.LikelyCost >= plan.MaxCost {
			t.Errorf("traced %t: got %+v, want its likely cost below the bound", traced, plan)
		}
		if o := d.run(t, words...); !strings.Contains(o.out, "Costs likely") ||
			strings.Contains(o.out, "20000 gas; no contract ran") != traced {
			t.Errorf("traced %t: got %q", traced, o.out)
		}
	}
}

// TestPlansShowArguments: a dry run shows the arguments by the ABI, whichever form they are sent in.
func TestPlansShowArguments(t *testing.T) {
	node := startNode(t)
	o := newDesk(t, node).run(t,
		"call", gold, "approve", "--spender", "dev1", "--amount", "5", "--from", "dev0", "--dry-run", "--json")
	want := fmt.Sprintf(`{"spender":%q,"amount":5}`, developmentAccount(t, "dev1"))
	if plan := result[submit.Plan](t, o); plan.Args == nil || *plan.Args != want {
		t.Errorf("%s", o.out)
	}
}

func TestCallReads(t *testing.T) {
	node := startNode(t)
	desk := newDesk(t, node)
	asked := `{"address":"` + developmentAccount(t, "dev1").String() + `"}`
	view := result[printedCall](t, desk.run(t, "call", gold, "balanceOf", "--address", "dev1", "--json"))
	var answer struct{ Function, Args string }
	if err := json.Unmarshal(view.Result, &answer); err != nil || answer.Function != "balanceOf" || answer.Args != asked {
		t.Errorf("got %s, error %v", view.Result, err)
	}
	// Without an ABI, arguments are passed on as the caller writes them.
	if o := desk.run(t, "call", bare, "f", "--view", "--args", "[1]"); o.exit != 0 || !strings.Contains(o.out, `"args":"[1]"`) {
		t.Errorf("got %+v", o)
	}
	o := desk.run(t, "call", bare, "fails", "--view", "--json")
	if d := o.document(t); d.Error.Code != api.CodeExecutionFailed ||
		!strings.HasSuffix(d.Error.Message, "reverted: too poor") {
		t.Errorf("%+v", d.Error)
	}
	if len(node.sent) != 0 {
		t.Error("a view call sent a transaction")
	}
	if o := desk.run(t, "call", bare, "f", "--from", "dev0"); o.exit != 0 || onlyCall(t, node).Function != "f" {
		t.Errorf("got %+v", o)
	}
}

func TestCallShowsWhatItDid(t *testing.T) {
	node := startNode(t)
	node.receipt = func(r *api.Receipt) {
		r.ReturnData = []byte("true")
		r.Logs = []api.Log{{EventName: "Transfer", Data: []byte(`{"amount":5}`)}}
	}
	words := []string{"call", gold, "stop", "--from", "dev0", "--trace"}
	o := newDesk(t, node).run(t, words...)
	for _, want := range []string{"Result       true", "Transfer  0x00", `{"amount":5}`, "call 0xc0"} {
		if !strings.Contains(o.out, want) {
			t.Errorf("%q is not in %s", want, o.out)
		}
	}
	node = startNode(t)
	if got := result[printedCall](t, newDesk(t, node).run(t, append(words, "--json")...)); got.Trace == nil ||
		got.Trace.GasUsed != 90_000 {
		t.Errorf("got %+v", got)
	}
}

func TestTraceText(t *testing.T) {
	node := startNode(t)
	desk := newDesk(t, node)
	if o := desk.run(t, "keys", "alias", "gold", gold); o.exit != 0 {
		t.Fatalf("got %+v, want exit code 0", o)
	}
	o := desk.run(t, "tx", "trace", hash("02"))
	zero := hash("00")
	want := `success, 90000 gas (intrinsic 50000, calls below 40000)
call gold.transfer({"amount":5}) by ` + zero + ` with 1.5 coins
  gas 40000 of 80000 (storage_write() 30000, instructions 7991, emit() 2000, calls below 9)
  storage supply: nothing → 0x0001
  event Transfer {}
  debug here
  view ` + bare + `.hook() by ` + zero + `
    gas 9 of 9
    failed: reverted: no
  returned true
(the trace is truncated)
`
	if o.out != want {
		t.Errorf("got\n%s\nwant\n%s", o.out, want)
	}
}

// TestTraceNamesNoRawBytes has an account's bytes alone, among others and as an argument: only the last is named.
func TestTraceNamesNoRawBytes(t *testing.T) {
	node := startNode(t)
	desk := newDesk(t, node)
	if o := desk.run(t, "keys", "alias", "gold", gold); o.exit != 0 {
		t.Fatalf("got %+v, want exit code 0", o)
	}
	id := types.ContractID{0xC0}
	if gold != id.String() {
		t.Fatalf("gold is %s, want %s", gold, id.String())
	}
	node.trace = func(trace *api.Trace) {
		trace.Root.Args = []byte(`{"to":"` + gold + `","amount":5}`)
		trace.Root.Output = id[:]
		trace.Root.Storage = []api.TraceWrite{{Key: append(id[:], 1), New: []byte(gold + "00")}}
	}
	o := desk.run(t, "tx", "trace", hash("02"))
	for _, want := range []string{
		`call gold.transfer({"to":"gold","amount":5})`,
		"returned " + gold + "\n",
		"storage " + gold + "01: nothing → " + gold + "00\n",
	} {
		if !strings.Contains(o.out, want) {
			t.Errorf("%q is not in %s", want, o.out)
		}
	}
}

// TestTraceHasItsOwnLinesOnly: text chosen by a contract cannot begin a line of the trace.
func TestTraceHasItsOwnLinesOnly(t *testing.T) {
	node := startNode(t)
	desk := newDesk(t, node)
	node.trace = func(trace *api.Trace) {
		trace.Root.Function = "transfer\n  returned true"
		trace.Root.Debug = []string{"here\n  returned true"}
		trace.Root.Events = []api.TraceEvent{{Name: "Sold\n  returned true", Data: []byte("{}")}}
		trace.Root.Output = nil
	}
	o := desk.run(t, "tx", "trace", hash("02"))
	if o.exit != 0 || strings.Contains(o.out, "\n  returned true") || strings.Count(o.out, `\n  returned true`) != 3 {
		t.Errorf("got %+v", o)
	}
}

// TestTraceReadsWhatIsBinary has arguments, a result, an error and an event in the binary form that the ABI describes.
// A text that looks like a named account is not replaced by the name.
func TestTraceReadsWhatIsBinary(t *testing.T) {
	node := startNode(t)
	desk := newDesk(t, node)
	if o := desk.run(t, "keys", "alias", "gold", gold); o.exit != 0 {
		t.Fatalf("got %+v, want exit code 0", o)
	}
	id := types.ContractID{0xC0}
	reverted := "reverted"
	node.trace = func(trace *api.Trace) {
		trace.Root.Args = append(append([]byte{1}, id[:]...), 5, 0, 0, 0, 0, 0, 0, 0)
		trace.Root.Output = []byte{1, 1}
		trace.Root.Storage = []api.TraceWrite{
			{Key: append([]byte("\x07balance"), id[:]...), New: id[:]}, {Key: []byte("owner\x00\x05")},
			{Key: []byte("\x06supply")}, {Key: []byte("\x06sup")}, {Key: []byte("plain")},
		}
		trace.Root.Events = []api.TraceEvent{{Name: "Noted", Data: []byte(`{"by":"` + gold + `","memo":"` + gold + `"}`)}}
		trace.Root.Calls[0].Contract, trace.Root.Calls[0].Function = id, "transfer"
		trace.Root.Calls[0].Args = append([]byte{1}, id[:]...) // not an amount, which the ABI requires
		trace.Root.Calls[0].Error, trace.Root.Calls[0].Output = &reverted, []byte{1, 2, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0}
	}
	o := desk.run(t, "tx", "trace", hash("02"))
	for _, want := range []string{
		`call gold.transfer({"to":"gold","amount":5})`,
		"\n  returned true\n",
		`event Noted {"by":"gold","memo":"` + gold + `"}`,
		"view gold.transfer(0x01c0",
		"storage balance[" + gold + "]: nothing → " + gold + "\n", "storage owner[0x05]: ", "storage supply: ",
		"storage 0x06737570: ", "storage plain: ",
		`failed: reverted: TooLow {"have":7}`,
	} {
		if !strings.Contains(o.out, want) {
			t.Errorf("%q is not in %s", want, o.out)
		}
	}
	got := result[tracing.Trace](t, desk.run(t, "tx", "trace", hash("02"), "--json"))
	if d := got.Root.Decoded; d == nil || string(d.Args) != `{"to":"`+gold+`","amount":5}` || string(d.Result) != "true" ||
		got.Root.GasUsed != 40_000 {
		t.Errorf("got %+v", got.Root)
	}
	if d := got.Root.Calls[0].Decoded; d == nil || d.Args != nil || d.Error == nil || d.Error.Name != "TooLow" {
		t.Errorf("got %+v", got.Root.Calls[0])
	}
}

func TestHelpOfAFunction(t *testing.T) {
	desk := newDesk(t, startNode(t))
	o := desk.run(t, "call", gold, "transferFrom", "--help")
	for _, want := range []string{"transferFrom(from account, to account, amount u64) bool", "--arg-from account",
		"--amount u64"} {
		if o.exit != 0 || !strings.Contains(o.out, want) {
			t.Errorf("%q is not in %+v", want, o)
		}
	}
	if o := desk.run(t, "call", "--help"); o.exit != 0 || !strings.Contains(o.out, "--trace") {
		t.Errorf("got %+v, want exit code 0 and %q", o, "--trace")
	}
}

// The error of a mistyped call lists the contract's functions, or the function's arguments.
func TestCallWithAParameterAsAWordNamesTheHelp(t *testing.T) {
	o := newDesk(t, startNode(t)).run(t, "call", "gold", "transfer", "5", "--from", "dev0")
	if o.exit != 2 || !strings.Contains(o.err, "parameters are flags, see cairn call gold transfer --help") {
		t.Errorf("exit code %d, want 2: %s, and %q",
			o.exit, o.err, "parameters are flags, see cairn call gold transfer --help")
	}
}

func TestMistypedCallNamesWhatThereIs(t *testing.T) {
	desk := newDesk(t, startNode(t))
	for _, test := range []struct {
		words []string
		says  string
	}{
		{[]string{"call", gold}, "no function given: the contract has balanceOf, transfer, "},
		{[]string{"call", bare}, "no function given, and the contract's code contains no ABI"},
		{[]string{"call", gold, "transfer", "--too", "dev1"},
			"unknown flag: --too; the function is transfer(to account, amount u64) bool"},
	} {
		if o := desk.run(t, test.words...); o.exit != 2 || !strings.Contains(o.err, test.says) {
			t.Errorf("%q: got %+v, want exit code 2 and %q", test.words, o, test.says)
		}
	}
}

// The error of a failed call says how to trace the call.
func TestFailedCallPointsAtItsTrace(t *testing.T) {
	reason := "out_of_gas"
	node := startNode(t)
	node.receipt = func(r *api.Receipt) { r.Status, r.Error = 0, &reason }
	if o := newDesk(t, node).run(t, "call", gold, "stop", "--from", "dev0"); o.exit != 1 ||
		!strings.Contains(o.err, "cairn tx trace 0x") {
		t.Errorf("got %+v", o)
	}
	desk := newDesk(t, node)
	deploy := []string{"deploy", desk.write(t, "gold.wasm", goldModule()), "--from", "dev0", "--args", `{"owner":"dev1"}`}
	if o := desk.run(t, deploy...); o.exit != 1 || !strings.Contains(o.err, "cairn tx trace 0x") {
		t.Errorf("of a deploy: got %+v, want exit code 1 and %q", o, "cairn tx trace 0x")
	}
}

// TestFailedCallHasItsTrace: for programs, which do not read notes, the error contains the trace.
func TestFailedCallHasItsTrace(t *testing.T) {
	reason := "out_of_gas"
	node := startNode(t)
	node.receipt = func(r *api.Receipt) { r.Status, r.Error = 0, &reason }
	o := newDesk(t, node).run(t, "call", gold, "stop", "--from", "dev0", "--trace", "--json")
	told := o.document(t).Error
	trace, ok := told.Data["trace"].(map[string]any)
	if o.exit != 1 || strings.Contains(o.err, "call 0xc0") || !ok ||
		trace["gasUsed"] != "0x15f90" || told.Data["reason"] != reason {
		t.Errorf("got %+v", o)
	}
}

func TestCallCompletes(t *testing.T) {
	desk := newDesk(t, startNode(t))
	for _, test := range []struct{ words, want string }{
		{"call|", "alice\t"}, {"call|" + gold + "|", "transfer\ttransfer(to account"},
		{"call|" + gold + "|transfer|", "--amount\tu64"},
		{"call|" + gold + "|transfer|--to|", "alice\t"}, {"call|" + gold + "|transferFrom|--", "--arg-from\taccount"},
	} {
		o := desk.run(t, append([]string{"__complete"}, strings.Split(test.words, "|")...)...)
		if o.exit != 0 || !strings.Contains(o.out, test.want) {
			t.Errorf("%s: got %+v, want exit code 0 and %q", test.words, o, test.want)
		}
	}
}

func TestDeploy(t *testing.T) {
	node := startNode(t)
	node.receipt = func(r *api.Receipt) { r.ContractAddress = &types.ContractID{0xC0} }
	desk := newDesk(t, node)
	path := desk.write(t, "gold.wasm", goldModule())
	o := desk.run(t, "deploy", path, "--from", "dev0", "--name", "Gold", "--alias", "gold", "--args", `{"owner":"dev1"}`,
		"--value", "7u", "--json")
	got := result[struct {
		Alias           string
		ContractAddress *types.ContractID
	}](t, o)
	deploy, ok := node.onlySent(t).Payload.(types.Deploy)
	args := fmt.Sprintf(`{"owner":%q,"cap":null}`, developmentAccount(t, "dev1"))
	if !ok || deploy.Name != "Gold" || node.onlySent(t).Value != 7 || string(deploy.Code) != goldModule() ||
		string(deploy.InitArgs) != args {
		t.Errorf("deployed %+v", deploy)
	}
	if got.Alias != "gold" || got.ContractAddress == nil || got.ContractAddress.String() != gold {
		t.Errorf("%s", o.out)
	}
	// The alias now names the contract, and cannot be given to another.
	if o := desk.run(t, "contract", "show", "gold"); o.exit != 0 ||
		!strings.Contains(o.out, "write, accepts coins  stop()") ||
		!strings.Contains(o.out, "transfer(to account, amount u64) bool") {
		t.Errorf("got %+v", o)
	}
	if o := desk.run(t, "deploy", path, "--from", "dev0", "--alias", "gold", "--args", `{"owner":"dev1"}`); o.exit != 2 ||
		!strings.Contains(o.err, "already in use") {
		t.Errorf("got %+v", o)
	}
	// If the chain is replaced, the alias is free for a contract of the new chain.
	node.genesis = types.BlockHash{7}
	if o := desk.run(t, "contract", "show", "gold"); o.exit != 2 {
		t.Errorf("got %+v, want a contract of another chain refused", o)
	}
	for _, want := range []int{0, 2} {
		if o := desk.run(t, "deploy", path, "--from", "dev0", "--alias", "gold", "--args", `{"owner":"dev1"}`); o.exit != want {
			t.Errorf("got %+v, want exit code %d", o, want)
		}
	}
	if o := desk.run(t, "contract", "show", "gold"); o.exit != 0 {
		t.Errorf("got %+v, want the contract that was deployed last", o)
	}
}

func TestTokenCommands(t *testing.T) {
	for _, test := range []struct{ command, function, args string }{
		{"transfer " + gold + " dev1 1.5", "transfer", `{"amount":150,"to":"DEV1"}`},
		{"approve " + gold + " dev1 7u", "approve", `{"amount":7,"spender":"DEV1"}`},
	} {
		node := startNode(t)
		o := newDesk(t, node).run(t, append([]string{"token", "--json"}, strings.Fields(test.command+" --from dev0")...)...)
		if o.exit != 0 {
			t.Errorf("%s: got %+v", test.command, o)
			continue
		}
		call := onlyCall(t, node)
		args := strings.ReplaceAll(test.args, "DEV1", developmentAccount(t, "dev1").String())
		if call.Function != test.function || string(call.Args) != args || node.onlySent(t).Target.String() != gold {
			t.Errorf("%s: %s with %s", test.command, call.Function, call.Args)
		}
	}
}

func TestTokenDeploy(t *testing.T) {
	abi := strings.ReplaceAll(goldABI, `[{"name":"owner","type":"account"},{"name":"cap","type":"u64?"}]`,
		`[{"name":"name","type":"string"},{"name":"symbol","type":"string"},{"name":"decimals","type":"u8"},{"name":"initialSupply","type":"u64"}]`)
	section := "\x09cairn_abi" + abi
	node := startNode(t)
	node.receipt = func(r *api.Receipt) { r.ContractAddress = &types.ContractID{0xC0} }
	desk := newDesk(t, node)
	path := desk.write(t, "token.wasm", "\x00asm\x01\x00\x00\x00\x00"+string([]byte{byte(len(section)&0x7F | 0x80),
		byte(len(section) >> 7)})+section)
	o := desk.run(t, "token", "deploy", path, "--name", "Gold", "--symbol", "GLD", "--decimals", "2", "--supply",
		"1000.5", "--from", "dev0")
	deploy, _ := node.onlySent(t).Payload.(types.Deploy)
	if want := `{"name":"Gold","symbol":"GLD","decimals":2,"initialSupply":100050}`; o.exit != 0 ||
		string(deploy.InitArgs) != want || deploy.Name != "Gold" {
		t.Errorf("%+v, deployed with %s", o, deploy.InitArgs)
	}
}
