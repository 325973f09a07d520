package exec

import (
	"bytes"
	"errors"
	"slices"
	"testing"

	"github.com/cairn-chain/cairn/internal/protocol/state"
	"github.com/cairn-chain/cairn/internal/protocol/vm"
	"github.com/cairn-chain/cairn/internal/testkit/wasmgen"
	"github.com/cairn-chain/cairn/types"
)

// outcome checks the result of a block's only transaction.
func (c *testChain) outcome(r Result, reason Reason, output string) {
	c.t.Helper()
	got := r.Receipts[0]
	if r.Reasons[0] != reason || string(got.Output) != output {
		c.t.Fatalf("ended %q with %q, want %q with %q", r.Reasons[0], got.Output, reason, output)
	}
	if (got.Status == types.StatusSuccess) != (reason == Success) {
		c.t.Fatalf("status %d of %q", got.Status, reason)
	}
}

func (c *testChain) stored(id types.ContractID, key string) string {
	return string(c.state[string(state.StorageKey(id, []byte(key)))])
}

func (c *testChain) coins(id types.ContractID) types.Amount {
	return c.state.account(c.t, types.Account(id)).Balance
}

func TestOutcomes(t *testing.T) {
	c, e := withMachine(t)
	id := c.deploy(e, "outcomes", 0, map[string]script{
		"returns": func(g *guest) { g.write("k", "v"); g.emit("E", "d"); g.answer("first"); g.answer("last") },
		"reverts": func(g *guest) {
			g.write("r", "v")
			g.emit("E", "d")
			p, n := g.text(0, "why")
			g.call(vm.Revert, p, n)
		},
		"traps":    func(g *guest) { g.write("t", "v"); g.answer("lost"); g.trap() },
		"spends":   func(g *guest) { g.answer("lost"); g.call(vm.SHA256, 0, 1<<31, 0) },
		"overflow": func(g *guest) { panic(ended{exit: vm.StackOverflow}) },
		"_hidden":  func(g *guest) {},
	})
	for _, tc := range []struct {
		function string
		reason   Reason
		output   string
		all      bool // uses up all gas
		logs     int
	}{
		{"returns", Success, "last", false, 1},
		{"reverts", Reverted, "why", false, 0},
		{"traps", Trap, "", true, 0},
		{"spends", OutOfGas, "", true, 0},
		{"overflow", StackOverflow, "", true, 0},
		{"_hidden", NoSuchFunction, "", false, 0},
		{"init", NoSuchFunction, "", false, 0},
		{"nowhere", NoSuchFunction, "", false, 0},
	} {
		t.Run(tc.function, func(t *testing.T) {
			before := c.coins(id)
			result := c.runWith(id, tc.function, 9)
			c.outcome(result, tc.reason, tc.output)
			r := result.Receipts[0]
			if (r.GasUsed == 100_000_000) != tc.all || len(r.Logs) != tc.logs {
				t.Errorf("used %d gas, %d logs", r.GasUsed, len(r.Logs))
			}
			moved := c.coins(id) - before
			if tc.reason == Success != (moved == 9) {
				t.Errorf("%d coins moved", moved)
			}
		})
	}
	if c.stored(id, "k") != "v" || c.stored(id, "r") != "" || c.stored(id, "t") != "" {
		t.Error("the storage is not what the successful call left")
	}
}

func TestDeploy(t *testing.T) {
	c, e := withMachine(t)
	code := e.code("with init", 3, map[string]script{"init": func(g *guest) {
		g.call(vm.ArgsRead, 0)
		g.write("args", string(g.memory[:g.call(vm.ArgsLen)]))
		g.answer("made with %d", g.call(vm.Value))
	}})
	id := types.NewContractID(account(alice), 0)
	price := types.Gas(66_000+16*(1+4)+1_000*len(code)) + 100_000 + (800_000 + 45_000 + 2_000*2 + 10*4) +
		(11_000 + 4 + 3*3_000)
	deploy := func(args string, edits ...func(*types.Transaction)) Result {
		p := types.Deploy{Name: "n", Code: code, InitArgs: []byte(args)}
		return c.block(c.transfer(alice, append([]func(*types.Transaction){func(tx *types.Transaction) {
			deploying(5, p).in(tx)
			tx.GasLimit = 10_000_000
		}}, edits...)...))
	}
	result := deploy("args")
	c.outcome(result, Success, "made with 5")
	r := result.Receipts[0]
	// The body is one empty function, of 2 bytes, 1 branch and 4 slots, and the gas of init itself.
	inside := types.Gas(130+1) + 130 + (12_000 + 12*4 + 64*4 + 2 + 100_000) + 130 + (130 + 12*11 + 3)
	if *r.Contract != id || r.GasUsed != price+inside || c.stored(id, "args") != "args" || c.coins(id) != 5 {
		t.Errorf(
			"contract %s, used %d, want %d; stored %q, %d coins", r.Contract, r.GasUsed, price+inside,
			c.stored(id, "args"), c.coins(id),
		)
	}
	record, err := state.DecodeContract(c.state[string(state.ContractKey(id))])
	if want := (state.Contract{CodeHash: record.CodeHash, Deployer: account(alice), Height: 1, Name: "n"}); err != nil ||
		record != want {
		t.Errorf("record %+v, want %+v, error %v", record, want, err)
	}
	t.Run("what fails leaves nothing", func(t *testing.T) {
		result := deploy("args", func(tx *types.Transaction) { tx.GasLimit = price + inside - 1 })
		c.outcome(result, OutOfGas, "")
		failed := types.NewContractID(account(alice), 1)
		if result.Receipts[0].Contract != nil || len(result.Codes) != 0 || c.coins(failed) != 0 ||
			c.stored(failed, "args") != "" ||
			len(c.state[string(state.ContractKey(failed))]) != 0 {
			t.Error("something is left")
		}
		if c.state.account(t, account(alice)).Nonce != 2 {
			t.Error("the nonce was not used")
		}
	})
	t.Run("arguments without init", func(t *testing.T) {
		plain := e.code("plain", 1, map[string]script{"f": func(*guest) {}})
		result := c.block(c.action(alice, 10_000_000, with(types.Deploy{Code: plain, InitArgs: []byte{1}})))
		c.outcome(result, ModuleRefused, "")
	})
	t.Run("visible in its own block", func(t *testing.T) {
		code := e.code("same block", 1, map[string]script{"f": func(g *guest) { g.answer("here") }})
		nonce := c.state.account(t, account(alice)).Nonce
		next := func(tx *types.Transaction) {
			tx.Nonce, tx.GasLimit = nonce+1, 10_000_000
			calling(types.NewContractID(account(alice), nonce), "f", 0).in(tx)
		}
		result := c.block(c.action(alice, 10_000_000, with(types.Deploy{Code: code})), c.transfer(alice, next))
		if string(result.Receipts[1].Output) != "here" {
			t.Errorf("ended %q", result.Reasons[1])
		}
	})
}

// TestInstantiate: a contract with the code of another one pays for its bytes and its init, but not for compiling.
func TestInstantiate(t *testing.T) {
	c, e := withMachine(t)
	code := e.code("template", 3, map[string]script{
		"init": func(g *guest) { g.write("made", "yes") }, "f": func(g *guest) { g.answer("%s", g.read("made")) },
	})
	first := types.NewContractID(account(alice), 0)
	c.outcome(c.block(c.action(alice, 10_000_000, with(types.Deploy{Code: code}))), Success, "")
	compiled := len(e.compiled)

	id := types.NewContractID(account(alice), 1)
	made := instantiating(first, 5, types.Instantiate{Name: "n", InitArgs: []byte("{}")})
	result := c.block(c.action(alice, 10_000_000, made))
	c.outcome(result, Success, "")
	want := types.Gas(16_000+16*3) + 100_000 + 130_000 + (11_000 + 2 + 3*3_000) + (12_000 + 12*4 + 64*3 + 2 + 100_000)
	if got := result.Receipts[0].GasUsed; got != want || len(e.compiled) != compiled || len(result.Codes) != 0 {
		t.Errorf("got %d gas, %d codes compiled, %d codes of the block; want %d, %d, 0",
			got, len(e.compiled), len(result.Codes), want, compiled)
	}
	lists := listed(result)
	for _, key := range [][]byte{state.ContractKey(first), state.ContractKey(id), state.AccountKey(types.Account(id))} {
		if !slices.Contains(lists, string(key)) {
			t.Errorf("does not list %x", key)
		}
	}
	if len(result.Loaded) != 1 || *result.Receipts[0].Contract != id || c.coins(id) != 5 || len(result.Receipts[0].Logs) != 0 {
		t.Errorf("loaded %d codes, made %s with %d coins", len(result.Loaded), result.Receipts[0].Contract, c.coins(id))
	}
	record, err := state.DecodeContract(c.state[string(state.ContractKey(id))])
	source, _ := state.DecodeContract(c.state[string(state.ContractKey(first))])
	if wanted := (state.Contract{
		CodeHash: source.CodeHash, Deployer: account(alice), Height: 2, Name: "n",
	}); err != nil || record != wanted {
		t.Errorf("got %+v, %v; want %+v", record, err, wanted)
	}
	c.outcome(c.run(id, "f"), Success, "yes")

	for name, tc := range map[string]struct {
		template types.ContractID
		want     Reason
	}{
		"of nothing":     {types.ContractID{9}, NoSuchContract},
		"of an instance": {id, Success},
	} {
		t.Run(name, func(t *testing.T) {
			next := c.action(alice, 10_000_000, instantiating(tc.template, 0, types.Instantiate{}))
			c.outcome(c.block(next), tc.want, "")
		})
	}
	t.Run("arguments without init", func(t *testing.T) {
		plain := c.deploy(e, "plain", 0, map[string]script{"f": func(*guest) {}})
		made := instantiating(plain, 0, types.Instantiate{InitArgs: []byte{1}})
		c.outcome(c.block(c.action(alice, 10_000_000, made)), ModuleRefused, "")
		c.outcome(c.block(c.action(alice, 10_000_000, instantiating(plain, 0, types.Instantiate{}))), Success, "")
	})
	t.Run("in the block of the first", func(t *testing.T) {
		code := e.code("together", 1, map[string]script{"f": func(g *guest) { g.answer("here") }})
		nonce := c.state.account(t, account(alice)).Nonce
		next := func(tx *types.Transaction) {
			tx.Nonce, tx.GasLimit = nonce+1, 10_000_000
			instantiating(types.NewContractID(account(alice), nonce), 0, types.Instantiate{}).in(tx)
		}
		result := c.block(c.action(alice, 10_000_000, with(types.Deploy{Code: code})), c.transfer(alice, next))
		if result.Reasons[1] != Success || len(result.Codes) != 1 {
			t.Errorf("got %q and %d codes, want success and 1", result.Reasons[1], len(result.Codes))
		}
	})
	t.Run("each gas limit", func(t *testing.T) { // a failure of any step undoes everything
		nonce := c.state.account(t, account(alice)).Nonce
		id := types.NewContractID(account(alice), nonce)
		for limit := types.Gas(16_048); limit < want; limit += 1_013 {
			run := c.begin()
			receipt, err := run.Apply(c.action(alice, limit, made))
			if err != nil || receipt.Status != types.StatusFailed || receipt.GasUsed != limit || receipt.Contract != nil {
				t.Fatalf("with %d gas: got %+v, error %v, want Status %v and GasUsed %v and Contract nil",
					limit, receipt, err, types.StatusFailed, limit)
			}
			result, err := run.Finish()
			if err != nil {
				t.Fatal(err)
			}
			for _, a := range types.Writes(result.Accesses) {
				if string(a.Key) == string(state.ContractKey(id)) || string(a.Key) == string(state.AccountKey(types.Account(id))) {
					t.Fatalf("with %d gas it leaves %x", limit, a.Key)
				}
			}
		}
	})
}

// TestCausesOfTraps: the argument that a host function refuses is reported, with the limit of a length.
func TestCausesOfTraps(t *testing.T) {
	const outside, long = 2 << 16, 1 << 16
	causes := map[string]struct {
		trap script
		want vm.Cause
	}{
		"return_data outside": {func(g *guest) { g.call(vm.ReturnData, outside, 1) }, vm.OutOfBounds},
		"return_data":         {func(g *guest) { g.call(vm.ReturnData, 0, long+1) }, vm.Cause{Name: "result_size", Limit: 65_536}},
		"revert":              {func(g *guest) { g.call(vm.Revert, 0, long+1) }, vm.Cause{Name: "result_size", Limit: 65_536}},
		"args_read":           {func(g *guest) { g.call(vm.Caller, outside) }, vm.OutOfBounds},
		"storage_read":        {func(g *guest) { g.call(vm.StorageRead, 0, 257, 0, 0) }, vm.Cause{Name: "key_size", Limit: 256}},
		"storage_write":       {func(g *guest) { g.call(vm.StorageWrite, 0, 1, 0, 16_385) }, vm.Cause{Name: "value_size", Limit: 16_384}},
		"storage_delete":      {func(g *guest) { g.call(vm.StorageDelete, 0, 257) }, vm.Cause{Name: "key_size", Limit: 256}},
		"an empty value":      {func(g *guest) { g.call(vm.StorageWrite, 0, 1, outside+1, 0) }, vm.OutOfBounds},
		"call":                {func(g *guest) { g.call(vm.Call, 0, 0, 65, 0, 0, 0, 0) }, vm.Cause{Name: "function_size", Limit: 64}},
		"call with arguments": {func(g *guest) { g.call(vm.Call, 0, 0, 1, 0, long+1, 0, 0) }, vm.Cause{Name: "arguments_size", Limit: 65_536}},
		"call of no name":     {func(g *guest) { g.put(0, []byte{0xff}); g.call(vm.Call, 0, 0, 1, 0, 0, 0, 0) }, vm.InvalidUTF8},
		"emit":                {func(g *guest) { g.call(vm.Emit, 0, 65, 0, 0, 0, 0) }, vm.Cause{Name: "event_name_size", Limit: 64}},
		"emit of much":        {func(g *guest) { g.call(vm.Emit, 0, 1, 0, 0, 0, 16_385) }, vm.Cause{Name: "event_data_size", Limit: 16_384}},
		"emit of topics":      {func(g *guest) { g.call(vm.Emit, 0, 1, 0, 4, 0, 0) }, vm.TooManyTopics},
		"sha256":              {func(g *guest) { g.call(vm.SHA256, 0, 1, outside) }, vm.OutOfBounds},
		"ecdsa_recover":       {func(g *guest) { g.call(vm.ECDSARecover, 0, 0, outside) }, vm.OutOfBounds},
		"debug":               {func(g *guest) { g.call(vm.Debug, 0, 1_025) }, vm.Cause{Name: "debug_size", Limit: 1_024}},
	}
	scripts := map[string]script{}
	for name, tc := range causes {
		scripts[name] = tc.trap
	}
	c, e := withMachine(t)
	id := c.deploy(e, "causes", 0, scripts)
	for name, tc := range causes {
		got, err := c.simulate(account(alice), 10_000_000, calling(id, name, 0), false)
		if err != nil {
			t.Fatal(err)
		}
		if got.Reason != Trap || got.Cause != tc.want {
			t.Errorf("%s: got %q, %+v; want %q, %+v", name, got.Reason, got.Cause, Trap, tc.want)
		}
	}
}

// TestTooManyLogs: a call whose log finds no room reverts with a reason, and its unused gas is refunded.
func TestTooManyLogs(t *testing.T) {
	c, e := withMachine(t)
	emit := func(n int) script {
		return func(g *guest) {
			for range n {
				g.emit("E", "")
			}
		}
	}
	pay := func(g *guest) {
		for range types.MaxTransactionLogs + 1 {
			g.call(vm.Transfer, 0, 1)
		}
	}
	inner := c.deploy(e, "inner", 0, map[string]script{"one": emit(1)})
	id := c.deploy(e, "many", 0, map[string]script{
		"most": emit(types.MaxTransactionLogs), "more": emit(types.MaxTransactionLogs + 1), "pays": pay,
		"nested": func(g *guest) {
			emit(types.MaxTransactionLogs)(g)
			g.answer("%d %s", g.nested(inner, "one", 0, ""), g.result())
		},
	})
	c.outcome(c.run(id, "most"), Success, "")
	for _, function := range []string{"more", "pays"} {
		result := c.runWith(id, function, 10_000)
		c.outcome(result, Reverted, "too many logs")
		if used := result.Receipts[0].GasUsed; used > 20_000_000 || len(result.Receipts[0].Logs) != 0 {
			t.Errorf("%s: got %d gas and %d logs, want less than the limit and none", function, used, len(result.Receipts[0].Logs))
		}
	}
	c.outcome(c.run(id, "nested"), Success, "1 too many logs")
}

func TestNestedCalls(t *testing.T) {
	c, e := withMachine(t)
	var inner, outer types.ContractID
	inner = c.deploy(e, "inner", 0, map[string]script{
		"echo": func(g *guest) {
			g.call(vm.ArgsRead, 0)
			g.write("caller", "set")
			g.emit("Echo", "")
			g.call(vm.Caller, 0x600)
			own := types.Account(g.memory[0x600:0x620]) == types.Account(outer)
			g.answer("%s %d %v", g.memory[:g.call(vm.ArgsLen)], g.call(vm.Value), own)
		},
		"revert": func(g *guest) {
			g.write("undone", "1")
			g.emit("Undone", "")
			p, n := g.text(0, "no")
			g.call(vm.Revert, p, n)
		},
		"trap":   func(g *guest) { g.write("undone", "1"); g.trap() },
		"back":   func(g *guest) { g.answer("%d", g.nested(outer, "ping", 0, "")) },
		"gas":    func(g *guest) { g.answer("%d", g.call(vm.GasLeft)) },
		"views":  func(g *guest) { g.answer("%d", g.call(vm.IsView)) },
		"writes": func(g *guest) { g.write("view", "1") },
	})
	outer = c.deploy(e, "outer", 1_000, map[string]script{
		"echo":   func(g *guest) { g.answer("%d %s", g.nested(inner, "echo", 3, "hi"), g.result()) },
		"revert": func(g *guest) { g.answer("%d %s", g.nested(inner, "revert", 3, ""), g.result()); g.write("goes", "on") },
		"trap":   func(g *guest) { g.answer("%d %q", g.nested(inner, "trap", 3, ""), g.result()); g.write("goes", "on") },
		"none":   func(g *guest) { g.answer("%d", g.nested(types.ContractID{9}, "f", 0, "")) },
		"nofn":   func(g *guest) { g.answer("%d", g.nested(inner, "f", 0, "")) },
		"poor":   func(g *guest) { g.answer("%d", g.nested(inner, "echo", 1<<50, "")) },
		"back":   func(g *guest) { g.answer("%d %s", g.nested(inner, "back", 0, ""), g.result()) },
		"self":   func(g *guest) { g.answer("%d", g.nested(outer, "ping", 0, "")) },
		"ping":   func(g *guest) { g.answer("pong") },
		"buffer": func(g *guest) {
			g.nested(inner, "echo", 0, "")
			g.nested(inner, "f", 0, "")
			g.answer("%q", g.result())
		},
		"gas": func(g *guest) {
			f, n := g.text(0x100, "gas")
			before := g.call(vm.GasLeft)
			code := g.call(vm.Call, g.put(0x80, inner[:]), f, n, 0, 0, 0, 12_345)
			g.answer("%d %s %v", code, g.result(), before > g.call(vm.GasLeft))
		},
		"view": func(g *guest) {
			f, n := g.text(0x100, "views")
			code := g.call(vm.CallView, g.put(0x80, inner[:]), f, n, 0, 0, 1<<60)
			first := g.result()
			f, n = g.text(0x100, "writes")
			g.answer("%d %s, %d", code, first, g.call(vm.CallView, g.put(0x80, inner[:]), f, n, 0, 0, 1<<20))
		},
	})
	paid := types.Log{Name: types.NativeTransfer, Topics: [][32]byte{outer, inner}, Data: le64(3)}
	for _, tc := range []struct {
		function, output string
		logs             []types.Log
	}{
		{"echo", "0 hi 3 true", []types.Log{paid, {Contract: inner, Name: "Echo", Data: []byte{}}}},
		{"revert", "1 no", nil},
		{"trap", `2 ""`, nil},
		{"none", "3", nil},
		{"nofn", "4", nil},
		{"poor", "5", nil},
		{"back", "0 6", nil},
		{"self", "6", nil},
		{"buffer", `""`, []types.Log{{Contract: inner, Name: "Echo", Data: []byte{}}}},
		{"gas", "0 12215 true", nil},
		{"view", "0 1, 2", nil},
	} {
		t.Run(tc.function, func(t *testing.T) {
			supply := c.supply()
			result := c.run(outer, tc.function)
			c.outcome(result, Success, tc.output)
			same := func(a, b types.Log) bool {
				return a.Contract == b.Contract && a.Name == b.Name && slices.Equal(a.Topics, b.Topics) &&
					bytes.Equal(a.Data, b.Data)
			}
			if !slices.EqualFunc(result.Receipts[0].Logs, tc.logs, same) {
				t.Errorf("logs %+v", result.Receipts[0].Logs)
			}
			if c.supply() != supply {
				t.Error("the supply changed")
			}
		})
	}
	if c.stored(inner, "undone") != "" || c.stored(inner, "view") != "" || c.stored(outer, "goes") != "on" ||
		c.coins(inner) != 3 {
		t.Error("the state is not what the calls that succeeded left")
	}
}

// TestOneSixtyFourthStays forwards all gas at each of 32 levels: each level keeps ⌊L/64⌋, and the 33rd call is refused.
func TestOneSixtyFourthStays(t *testing.T) {
	c, e := withMachine(t)
	var id types.ContractID
	var depth int
	var codes []uint64
	id = c.deploy(e, "recursive", 0, map[string]script{
		"_reentrant": func(*guest) {},
		"down": func(g *guest) {
			depth++
			if g.gas.Left < 1_000_000 {
				t.Error("too little gas for the test")
			}
			code := g.nested(id, "down", 0, "")
			codes = append(codes, code)
		},
	})
	c.outcome(c.run(id, "down"), Success, "")
	if depth != maxCallDepth || codes[0] != codeLimits || slices.Max(codes[1:]) != 0 {
		t.Errorf("depth %d, codes %v", depth, codes)
	}
}

func TestTransactionLimits(t *testing.T) {
	c, e := withMachine(t)
	big := repeat(16 << 10)
	id := c.deploy(e, "floods", 1_000, map[string]script{
		"logs":      func(g *guest) { emitTimes(g, 1_024, "") },
		"one more":  func(g *guest) { emitTimes(g, 1_025, "") },
		"bytes":     func(g *guest) { emitTimes(g, 16, big) },
		"byte more": func(g *guest) { emitTimes(g, 16, big); g.call(vm.Emit, 0, 1, 0, 0, 0, 0) },
		"payment after a thousand logs": func(g *guest) {
			emitTimes(g, 1_024, "")
			g.call(vm.Transfer, 0, 1)
		},
	})
	for _, function := range []string{"logs", "bytes"} {
		c.outcome(c.run(id, function), Success, "")
	}
	for _, function := range []string{"one more", "byte more", "payment after a thousand logs"} {
		c.outcome(c.run(id, function), Reverted, "too many logs")
	}
}

func emitTimes(g *guest, n int, data string) {
	for range n {
		p, length := g.text(0x8000, data)
		g.call(vm.Emit, 0, 0, 0, 0, p, length)
	}
}

// TestLivePages has contracts with 250 pages call each other: four fit at a time, and contracts that have returned do
// not count.
func TestLivePages(t *testing.T) {
	c, e := withMachine(t)
	var id types.ContractID
	var codes []uint64
	deep := func(g *guest) { codes = append(codes, g.nested(id, "deep", 0, "")) }
	code := e.code("large", 16, map[string]script{
		"_reentrant": func(*guest) {},
		"deep":       deep,
		"wide": func(g *guest) {
			for range 20 {
				codes = append(codes, g.nested(id, "leaf", 0, ""))
			}
		},
		"leaf": func(*guest) {},
		"grow": func(g *guest) {
			first := g.host.Grow(g.memory, 6)
			g.answer("%v %v", first, g.host.Grow(g.memory, 256))
		},
	})
	result := c.block(c.action(alice, 400_000_000, with(types.Deploy{Code: code})))
	id = *result.Receipts[0].Contract
	c.outcome(c.run(id, "deep"), Success, "")
	if !slices.Equal(codes, append([]uint64{codeLimits}, make([]uint64, 15)...)) {
		t.Errorf("deep: got %v", codes)
	}
	codes = nil
	c.outcome(c.run(id, "wide"), Success, "")
	if !slices.Equal(codes, make([]uint64, 20)) {
		t.Errorf("wide: got %v", codes)
	}
	c.outcome(c.run(id, "grow"), Success, "true false")
}

// TestViews: in view context every function that changes the state traps, with its own cause.
func TestViews(t *testing.T) {
	c, e := withMachine(t)
	id := c.deploy(e, "views", 1_000, map[string]script{
		"reads":    func(g *guest) { g.answer("%s%d", g.read("nothing"), g.call(vm.IsView)) },
		"writes":   func(g *guest) { g.write("k", "v") },
		"deletes":  func(g *guest) { g.call(vm.StorageDelete, 0, 1) },
		"emits":    func(g *guest) { g.emit("E", "") },
		"pays":     func(g *guest) { g.call(vm.Transfer, 0, 0) },
		"endows":   func(g *guest) { g.nested(types.ContractID{}, "f", 1, "") },
		"calls":    func(g *guest) { g.answer("%d", g.nested(types.ContractID{}, "f", 0, "")) },
		"traps":    func(g *guest) { g.call(vm.Emit, 0, 0, 0, types.MaxLogTopics+1, 0, 0) },
		"_private": func(*guest) {},
	})
	for function, want := range map[string]Outcome{
		"reads":    {Output: []byte("1")},
		"writes":   {Reason: ViewWroteState},
		"deletes":  {Reason: ViewWroteState},
		"emits":    {Reason: ViewWroteState},
		"pays":     {Reason: ViewWroteState},
		"endows":   {Reason: ViewWroteState},
		"traps":    {Reason: Trap},
		"calls":    {Output: []byte("3")},
		"_private": {Reason: NoSuchFunction},
	} {
		got, err := c.simulate(types.Account{}, 1_000_000, calling(id, function, 0), true)
		if err != nil || got.Reason != want.Reason || string(got.Output) != string(want.Output) {
			t.Errorf("%s: got %+v, error %v", function, got, err)
		}
		if want.Reason == ViewWroteState && got.GasUsed != 1_000_000 {
			t.Errorf("%s used %d gas: a trap takes all", function, got.GasUsed)
		}
	}
}

// TestEngineFaultsAreNoReceipts has the engine fail, and then the reading of codes.
func TestEngineFaultsAreNoReceipts(t *testing.T) {
	c, e := withMachine(t)
	id := c.deploy(e, "faulty", 0, map[string]script{"f": func(*guest) { panic(ended{err: errors.New("broken")}) }})
	call := c.action(alice, 1_000_000, calling(id, "f", 0))
	if _, err := c.begin().Apply(call); err == nil || IsInvalid(err) {
		t.Errorf("an engine's fault gave %v", err)
	}
	other := wasmgen.Contract(1, 1)
	for hash := range e.codes {
		e.codes[hash] = other.Encode()
	}
	clear(e.modules)
	if _, err := c.begin().Apply(call); err == nil || IsInvalid(err) {
		t.Errorf("a code of another hash gave %v", err)
	}
}
