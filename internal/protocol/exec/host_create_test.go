package exec

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/cairn-chain/cairn/internal/protocol/state"
	"github.com/cairn-chain/cairn/internal/protocol/vm"
	"github.com/cairn-chain/cairn/types"
)

// outAt is the address to which [guest.create] has the new contract's ID written.
const outAt = 0x6000

// create calls the host function create with all its gas.
func (g *guest) create(template types.ContractID, salt byte, name, args string, value types.Amount) uint64 {
	return g.createWith(template, salt, name, args, value, 1<<62)
}

func (g *guest) createWith(
	template types.ContractID, salt byte, name, args string, value types.Amount, gas uint64,
) uint64 {
	n, nn := g.text(0x100, name)
	a, an := g.text(0x200, args)
	full := [32]byte{salt}
	clear(g.memory[outAt : outAt+32])
	return g.call(vm.Create, g.put(0x80, template[:]), g.put(0x40, full[:]), n, nn, a, an, uint64(value), gas, outAt)
}

// out returns the ID that create wrote.
func (g *guest) out() types.ContractID { return types.ContractID(g.memory[outAt : outAt+32]) }

func (g *guest) replaceCode(template types.ContractID) uint64 {
	return g.call(vm.ReplaceCode, g.put(0x80, template[:]))
}

// instanceID is the ID of a contract that create makes.
func (c *testChain) instanceID(creator, template types.ContractID, salt byte) types.ContractID {
	c.t.Helper()
	return types.NewInstanceID(creator, c.record(template).CodeHash, [32]byte{salt})
}

// record is a contract's record; it must have one.
func (c *testChain) record(id types.ContractID) state.Contract {
	c.t.Helper()
	record, err := state.DecodeContract(c.state[string(state.ContractKey(id))])
	if err != nil {
		c.t.Fatal(err)
	}
	return record
}

func (c *testChain) exists(id types.ContractID) bool {
	return len(c.state[string(state.ContractKey(id))]) > 0
}

// TestCreate has a factory create contracts with and without init, and checks their cost, the coins that they get, and
// the listed keys.
func TestCreate(t *testing.T) {
	c, e := withMachine(t)
	withInit := c.template(e, "with init", 3, map[string]script{
		"init": func(g *guest) {
			g.call(vm.ArgsRead, 0)
			args := string(g.memory[:g.call(vm.ArgsLen)])
			g.call(vm.Caller, 0x600)
			g.write("caller", string(g.memory[0x600:0x620]))
			g.emit("Made", "")
			g.answer("%s %d", args, g.call(vm.Value))
		},
		"f": func(g *guest) { g.answer("%s", g.read("caller")) },
	})
	plain := c.template(e, "plain", 1, map[string]script{"f": func(g *guest) { g.answer("plain") }})
	var told string
	factory := c.deploy(e, "factory", 1_000, map[string]script{
		"init+value": func(g *guest) {
			code := g.create(withInit, 1, "né", "args", 7)
			told = fmt.Sprintf("%d %s", code, g.result())
			g.answer("%s", g.memory[outAt:outAt+32])
		},
		"plain": func(g *guest) {
			told = fmt.Sprintf("%d %q", g.create(plain, 2, "", "", 0), g.result())
			g.answer("%s", g.memory[outAt:outAt+32])
		},
		"calls": func(g *guest) { // it can be called at once, and paid again
			g.create(plain, 3, "", "", 1)
			id := g.out()
			g.answer("%d %s", g.nested(id, "f", 2, ""), g.result())
		},
	})

	t.Run("with init and value", func(t *testing.T) {
		id := c.instanceID(factory, withInit, 1)
		result := c.run(factory, "init+value")
		c.outcome(result, Success, string(id[:]))
		if told != "0 args 7" || c.coins(id) != 7 || c.stored(id, "caller") != string(factory[:]) {
			t.Errorf("told %q, %d coins, caller %x", told, c.coins(id), c.stored(id, "caller"))
		}
		want := state.Contract{
			CodeHash: c.record(withInit).CodeHash, Deployer: types.Account(factory), Height: c.head.Height, Name: "né",
		}
		if got := c.record(id); got != want {
			t.Errorf("record %+v, want %+v", got, want)
		}
		logs := result.Receipts[0].Logs
		if len(logs) != 2 || !IsPayment(&logs[0]) || logs[0].Topics[1] != types.Account(id) || logs[1].Contract != id {
			t.Errorf("logs %+v", logs)
		}
		if result.Receipts[0].Contract != nil || len(result.Codes) != 0 {
			t.Error("a call's receipt names no contract, and brings no code")
		}
		expectKeys(t, result, [][]byte{
			state.SupplyKey(), state.ParametersKey(), state.AccountKey(account(alice)), state.AccountKey(collector),
			state.ContractKey(factory), state.ContractKey(withInit), state.ContractKey(id),
			state.AccountKey(types.Account(factory)), state.AccountKey(types.Account(id)), state.StorageKey(id, []byte("caller")),
		})
	})
	t.Run("without init and value", func(t *testing.T) {
		id := c.instanceID(factory, plain, 2)
		result := c.run(factory, "plain")
		c.outcome(result, Success, string(id[:]))
		price := types.Gas(22_000+130_000) + 96/4
		inside := types.Gas(130+130) + (130 + 12*32 + 8) // result_len, result_read, return_data
		if want := entryPriceOf("plain", 0) + price + inside; told != `0 ""` || result.Receipts[0].GasUsed != want {
			t.Errorf("told %q, %d gas, want %d", told, result.Receipts[0].GasUsed, want)
		}
		if len(result.Receipts[0].Logs) != 0 || len(c.state[string(state.AccountKey(types.Account(id)))]) != 0 {
			t.Error("nothing moved, and there is a log or an account")
		}
		c.outcome(c.run(id, "f"), Success, "plain")
	})
	t.Run("called at once", func(t *testing.T) {
		c.outcome(c.run(factory, "calls"), Success, "0 plain")
		if id := c.instanceID(factory, plain, 3); c.coins(id) != 3 {
			t.Errorf("it has %d coins, want 3", c.coins(id))
		}
	})
}

// template is [testChain.deploy] for code with an init and some pages of memory. Its own init runs as a script too, so
// it must accept any arguments.
func (c *testChain) template(e *scripted, label string, pages uint32, scripts map[string]script) types.ContractID {
	c.t.Helper()
	code := e.code(label, pages, scripts)
	result := c.block(c.action(alice, 400_000_000, with(types.Deploy{Name: label, Code: code})))
	if result.Receipts[0].Contract == nil {
		c.t.Fatalf("deploy of %s: %s", label, result.Reasons[0])
	}
	return *result.Receipts[0].Contract
}

// entryPriceOf returns the gas that a call of a function takes before its code runs.
func entryPriceOf(function string, args int) types.Gas {
	return types.Gas(16_000 + 16*len(function) + 16*args + 11_000 + args + 2*3_000)
}

// TestCreateRefuses provokes each error code of create. A failed creation changes no state, writes no ID, and does not
// end the caller.
func TestCreateRefuses(t *testing.T) {
	c, e := withMachine(t)
	fails := 0 // how the next init fails; 0: it succeeds, as in a deploy
	fussy := c.template(e, "fussy", 1, map[string]script{"init": func(g *guest) {
		switch fails {
		case 1:
			g.write("undone", "1")
			g.emit("Undone", "")
			p, n := g.text(0, "no")
			g.call(vm.Revert, p, n)
		case 2:
			g.write("undone", "1")
			g.trap()
		case 3:
			g.call(vm.SHA256, 0, 1<<31, 0)
		}
	}})
	plain := c.template(e, "plain", 1, map[string]script{"f": func(*guest) {}})
	large := c.template(e, "large", 16, map[string]script{"init": func(*guest) {}})
	var code uint64
	var buffer string
	var written types.ContractID
	try := func(create func(g *guest) uint64) script {
		return func(g *guest) {
			g.nested(types.ContractID{9}, "f", 0, "") // leaves the buffer empty
			code = create(g)
			buffer, written = g.result(), g.out()
			g.write("goes", "on")
		}
	}
	var factory types.ContractID
	scripts := map[string]script{
		"_reentrant": func(*guest) {},
		"none":       try(func(g *guest) uint64 { return g.create(types.ContractID{9}, 0, "", "", 0) }),
		"args":       try(func(g *guest) uint64 { return g.create(plain, 0, "", "x", 0) }),
		"reverts":    try(func(g *guest) uint64 { fails = 1; return g.create(fussy, 0, "", "", 5) }),
		"traps":      try(func(g *guest) uint64 { fails = 2; return g.create(fussy, 0, "", "", 5) }),
		"spends":     try(func(g *guest) uint64 { fails = 3; return g.createWith(fussy, 0, "", "", 5, 200_000) }),
		"no gas":     try(func(g *guest) uint64 { fails = 0; return g.createWith(fussy, 9, "", "", 5, 0) }),
		"poor":       try(func(g *guest) uint64 { return g.create(plain, 0, "", "", 1<<40) }),
		"exists": try(func(g *guest) uint64 {
			if first := g.create(plain, 7, "", "", 0); first != 0 {
				t.Errorf("the first has code %d, want 0", first)
			}
			return g.create(plain, 7, "another name", "", 1)
		}),
	}
	scripts["deep"] = func(g *guest) {
		if g.nested(factory, "deep", 0, "") == codeLimits {
			try(func(g *guest) uint64 { return g.create(plain, 0, "", "", 0) })(g)
		}
	}
	scripts["wide"] = func(g *guest) { // grows until the pages of all active calls are used
		if g.host.Grow(g.memory, 12) {
			if g.nested(factory, "wide", 0, "") == codeLimits {
				try(func(g *guest) uint64 { return g.create(large, 0, "", "", 0) })(g)
			}
			return
		}
		// A template without init takes no memory.
		if first := g.create(plain, 0x30, "", "", 0); first != 0 {
			t.Errorf("without init it has code %d, want 0", first)
		}
		try(func(g *guest) uint64 { return g.create(large, 0, "", "", 0) })(g)
	}
	factory = c.deploy(e, "factory", 1_000, scripts)
	for _, tc := range []struct {
		function string
		code     uint64
		buffer   string
	}{
		{"none", codeNoContract, ""},
		{"args", codeNoFunction, ""},
		{"reverts", codeReverted, "no"},
		{"traps", codeFailed, ""},
		{"spends", codeFailed, ""},
		{"no gas", 0, ""},
		{"poor", codeBalanceTooLow, ""},
		{"exists", codeExists, ""},
		{"deep", codeLimits, ""},
		{"wide", codeLimits, ""},
	} {
		t.Run(tc.function, func(t *testing.T) {
			code, buffer = 99, "not set"
			supply, coins := c.supply(), c.coins(factory)
			result := c.run(factory, tc.function)
			fails = 0
			c.outcome(result, Success, "")
			if code != tc.code || buffer != tc.buffer || c.stored(factory, "goes") != "on" {
				t.Errorf("code %d, buffer %q; want %d, %q", code, buffer, tc.code, tc.buffer)
			}
			if tc.code != 0 {
				made := []types.ContractID{c.instanceID(factory, fussy, 0), c.instanceID(factory, plain, 0), c.instanceID(factory, large, 0)}
				for _, id := range made {
					if c.exists(id) || c.coins(id) != 0 || c.stored(id, "undone") != "" {
						t.Errorf("what failed left contract %s", id)
					}
				}
				if !written.IsZero() || c.coins(factory) != coins || len(result.Receipts[0].Logs) != 0 {
					t.Errorf("it wrote %s, has %d coins of %d, and logged %+v", written, c.coins(factory), coins, result.Receipts[0].Logs)
				}
			}
			if c.supply() != supply {
				t.Error("the supply changed")
			}
		})
	}
	if id := c.instanceID(factory, plain, 7); c.record(id).Name != "" || c.coins(id) != 0 {
		t.Error("the second with a salt changed the first")
	}
}

// TestCreateAtEachGas runs a create at every gas limit on its way to the end: the contract is created completely, or
// not at all.
func TestCreateAtEachGas(t *testing.T) {
	c, e := withMachine(t)
	template := c.template(e, "template", 2, map[string]script{"init": func(g *guest) { g.write("k", "v") }})
	factory := c.deploy(e, "factory", 1_000, map[string]script{
		"f": func(g *guest) { g.answer("%d", g.create(template, 1, "name", "args", 5)) },
	})
	id := c.instanceID(factory, template, 1)
	ends := map[string]int{}
	for limit := entryPriceOf("f", 0); limit < 900_000; limit += 1_009 {
		run := c.begin()
		b := &bill{t: t}
		run.Trace(b)
		receipt, err := run.Apply(c.action(alice, limit, calling(factory, "f", 0)))
		if err != nil {
			t.Fatal(err)
		}
		b.check(receipt.GasUsed)
		result, err := run.Finish()
		if err != nil {
			t.Fatal(err)
		}
		left := map[string]bool{}
		for _, a := range types.Writes(result.Accesses) {
			left[string(a.Key)] = true
		}
		end := string(result.Reasons[0]) + string(receipt.Output)
		ends[end]++
		keys := [][]byte{
			state.ContractKey(id), state.AccountKey(types.Account(id)), state.AccountKey(types.Account(factory)),
			state.StorageKey(id, []byte("k")),
		}
		for _, key := range keys {
			if left[string(key)] != (end == "0") {
				t.Fatalf("with %d gas it ended %q and writes %x: got %v", limit, end, key, left[string(key)])
			}
		}
		if gas := receipt.GasUsed; len(result.Accesses) > 8+int(gas/4_000) {
			t.Errorf("%d gas list %d keys", gas, len(result.Accesses))
		}
	}
	if ends["out_of_gas"] == 0 || ends["2"] == 0 || ends["0"] == 0 {
		t.Errorf("the ends are %v", ends)
	}
}

// TestCreateLists checks that each step of create lists its keys, and none of the later steps'.
func TestCreateLists(t *testing.T) {
	c, e := withMachine(t)
	template := c.template(e, "template", 2, map[string]script{"init": func(*guest) {}})
	factory := c.deploy(e, "factory", 10, map[string]script{
		"f":    func(g *guest) { g.create(template, 1, "", "", 5) },
		"poor": func(g *guest) { g.create(template, 2, "", "", 50) },
		"view": func(g *guest) { g.create(types.ContractID{7}, 2, "", "", 0) },
	})
	one, two := c.instanceID(factory, template, 1), c.instanceID(factory, template, 2)
	entry := entryPriceOf("f", 0)
	create := types.Gas(22_000 + 130_000 + 9_000 + 96/4)
	for name, tc := range map[string]struct {
		function string
		gas      types.Gas
		want     [][]byte
	}{
		"before step 1": {"f", entry + create - 1, nil},
		"before step 9": {"f", entry + create, [][]byte{ // all steps up to 8: the keys are listed before step 9 is paid
			state.ContractKey(template), state.ContractKey(one), state.AccountKey(types.Account(factory)),
			state.AccountKey(types.Account(one)),
		}},
		"too few coins": {"poor", 1_000_000, [][]byte{
			state.ContractKey(template), state.ContractKey(two), state.AccountKey(types.Account(factory)),
		}},
		"no contract": {"view", 1_000_000, [][]byte{state.ContractKey(types.ContractID{7})}},
	} {
		t.Run(name, func(t *testing.T) {
			run := c.begin()
			if _, err := run.Apply(c.action(alice, tc.gas, calling(factory, tc.function, 0))); err != nil {
				t.Fatal(err)
			}
			result, err := run.Finish()
			if err != nil {
				t.Fatal(err)
			}
			expectKeys(t, result, append([][]byte{
				state.SupplyKey(), state.ParametersKey(), state.AccountKey(account(alice)), state.AccountKey(collector),
				state.ContractKey(factory),
			}, tc.want...))
		})
	}
}

// TestCreatorsInOneBlock deploys a template that creates copies of itself, which create more copies, in one block.
func TestCreatorsInOneBlock(t *testing.T) {
	c, e := withMachine(t)
	var self types.ContractID
	code := e.code("seed", 1, map[string]script{
		"init": func(g *guest) { g.write("born", "yes") },
		"sow": func(g *guest) {
			g.answer("%d", g.create(self, 1, "child", "", 0))
			id := g.out()
			if g.nested(id, "sow again", 0, "") != 0 {
				g.trap()
			}
		},
		"sow again": func(g *guest) { g.answer("%d", g.create(self, 1, "grandchild", "", 0)) },
	})
	self = types.NewContractID(account(alice), 0)
	result := c.block(c.action(alice, 10_000_000, with(types.Deploy{Code: code})),
		c.transfer(alice, calling(self, "sow", 0).in, func(tx *types.Transaction) { tx.Nonce, tx.GasLimit = 1, 10_000_000 }))
	if result.Reasons[1] != Success || string(result.Receipts[1].Output) != "0" {
		t.Fatalf("ended %q with %q", result.Reasons[1], result.Receipts[1].Output)
	}
	child := c.instanceID(self, self, 1)
	grandchild := c.instanceID(child, self, 1)
	if len(result.Codes) != 1 || c.record(child).Name != "child" || c.record(grandchild).Deployer != types.Account(child) ||
		c.stored(grandchild, "born") != "yes" {
		t.Errorf("%d codes, child %+v, grandchild %+v", len(result.Codes), c.record(child), c.record(grandchild))
	}
}

// TestInitMayNotReenter: the init of a new contract calls its creator, which is still active.
func TestInitMayNotReenter(t *testing.T) {
	c, e := withMachine(t)
	var factory types.ContractID
	var code uint64
	template := c.template(e, "template", 1, map[string]script{"init": func(g *guest) {
		code = g.nested(factory, "f", 0, "")
	}})
	factory = c.deploy(e, "factory", 0, map[string]script{"f": func(g *guest) { g.create(template, 1, "", "", 0) }})
	c.outcome(c.run(factory, "f"), Success, "")
	if code != codeReentryRefused {
		t.Errorf("code %d, want %d", code, codeReentryRefused)
	}
}

// TestReplaceCode has a contract replace its code while it runs: the call ends with the old code, and later calls run
// the new one.
func TestReplaceCode(t *testing.T) {
	c, e := withMachine(t)
	version := func(n string) script { return func(g *guest) { g.answer("%s %s", n, g.read("kept")) } }
	second := c.template(e, "second", 1, map[string]script{
		"version": version("2"), "init": func(g *guest) { g.write("init", "ran") }, "_reentrant": func(*guest) {},
	})
	var first types.ContractID
	var said string
	other := c.deploy(e, "other", 0, map[string]script{
		"back": func(g *guest) { g.answer("%d %s", g.nested(first, "version", 0, ""), g.result()) },
	})
	first = c.deploy(e, "first", 0, map[string]script{
		"version": version("1"),
		"keep":    func(g *guest) { g.write("kept", "value") },
		"upgrade": func(g *guest) {
			code := g.replaceCode(second)
			// The old code still runs, but a nested call into the contract enters the new code, which allows re-entry.
			said = fmt.Sprintf("%d", code)
			g.nested(other, "back", 0, "")
			said += " " + g.result()
			g.emit("Upgraded", "")
		},
		"none":     func(g *guest) { g.answer("%d", g.replaceCode(types.ContractID{9})) },
		"undone":   func(g *guest) { g.replaceCode(second); p, n := g.text(0, "no"); g.call(vm.Revert, p, n) },
		"floods":   func(g *guest) { emitTimes(g, types.MaxTransactionLogs, ""); g.replaceCode(second) },
		"unchange": func(g *guest) { g.answer("%d", g.replaceCode(first)) },
	})
	before := c.record(first)
	c.outcome(c.run(first, "keep"), Success, "")
	c.outcome(c.run(first, "none"), Success, "3")
	c.outcome(c.run(first, "undone"), Reverted, "no")
	c.outcome(c.run(first, "floods"), Reverted, "too many logs")
	c.outcome(c.run(first, "unchange"), Success, "0")
	c.outcome(c.run(first, "version"), Success, "1 value")
	if c.record(first) != before {
		t.Errorf("record %+v, was %+v", c.record(first), before)
	}
	result := c.run(first, "upgrade")
	c.outcome(result, Success, "")
	if said != "0 0 2 value" {
		t.Errorf("said %q, want \"0 0 2 value\"", said)
	}
	want := before
	want.CodeHash = c.record(second).CodeHash
	if c.record(first) != want {
		t.Errorf("record %+v, want %+v", c.record(first), want)
	}
	logs := result.Receipts[0].Logs
	if len(logs) != 2 || logs[0].Name != types.CodeReplaced || !logs[0].Contract.IsZero() || len(logs[0].Data) != 0 ||
		!slices.Equal(logs[0].Topics, [][32]byte{first, want.CodeHash}) || logs[1].Contract != first {
		t.Errorf("logs %+v", logs)
	}
	c.outcome(c.run(first, "version"), Success, "2 value")
	c.outcome(c.run(first, "upgrade"), NoSuchFunction, "")
	if c.stored(first, "init") != "" {
		t.Error("init ran")
	}
	if len(result.Loaded) != 3 { // the old code, the other contract's, and the new code, which the nested call loads
		t.Errorf("%d codes were loaded", len(result.Loaded))
	}
}

// TestReplacedCodesAreKept: a deployed code remains part of the block if another contract adopted it before the
// deployed contract replaced its own.
func TestReplacedCodesAreKept(t *testing.T) {
	c, e := withMachine(t)
	var template, other types.ContractID
	other = c.deploy(e, "other", 0, map[string]script{"take": func(g *guest) { g.answer("%d", g.replaceCode(template)) }})
	plain := c.deploy(e, "plain", 0, map[string]script{"f": func(*guest) {}})
	code := e.code("passed on", 1, map[string]script{
		"f":     func(g *guest) { g.answer("taken") },
		"leave": func(g *guest) { g.answer("%d", g.replaceCode(plain)) },
	})
	nonce := c.state.account(t, account(alice)).Nonce
	template = types.NewContractID(account(alice), nonce)
	at := func(n uint64, a action) *types.VerifiedTx {
		return c.transfer(alice, a.in, func(tx *types.Transaction) { tx.Nonce, tx.GasLimit = nonce+n, 10_000_000 })
	}
	result := c.block(at(0, with(types.Deploy{Code: code})), at(1, calling(other, "take", 0)), at(2, calling(template, "leave", 0)))
	for i, reason := range result.Reasons {
		if reason != Success {
			t.Fatalf("transaction %d ended %q, want %q", i, reason, Success)
		}
	}
	hash := c.record(other).CodeHash
	if c.record(template).CodeHash != c.record(plain).CodeHash || !bytes.Equal(result.Codes[hash], code) ||
		len(result.Codes) != 1 {
		t.Errorf("%d codes", len(result.Codes))
	}
	c.outcome(c.run(other, "f"), Success, "taken")
}

// TestReplaceCodeInInit: the init of a deploy may replace the code by an existing one.
func TestReplaceCodeInInit(t *testing.T) {
	c, e := withMachine(t)
	plain := c.deploy(e, "plain", 0, map[string]script{"f": func(g *guest) { g.answer("plain") }})
	id := c.template(e, "moves on", 1, map[string]script{"init": func(g *guest) { g.replaceCode(plain) }})
	c.outcome(c.run(id, "f"), Success, "plain")
}

// TestViewsChangeNoContracts: create and replace_code trap in a view, whatever their arguments.
func TestViewsChangeNoContracts(t *testing.T) {
	c, e := withMachine(t)
	id := c.deploy(e, "views", 0, map[string]script{
		"creates":  func(g *guest) { g.create(types.ContractID{9}, 0, "", "", 0) },
		"replaces": func(g *guest) { g.replaceCode(types.ContractID{9}) },
	})
	for _, function := range []string{"creates", "replaces"} {
		got, err := c.simulate(types.Account{}, 1_000_000, calling(id, function, 0), true)
		if err != nil || got.Reason != ViewWroteState || got.GasUsed != 1_000_000 {
			t.Errorf("%s: got %+v, error %v, want Reason %v and GasUsed 1,000,000", function, got, err, ViewWroteState)
		}
	}
}

// TestLoadOfCreate: a transaction that has loaded too much gets code 7, and may create contracts of codes that it has
// already loaded.
func TestLoadOfCreate(t *testing.T) {
	c, e := withMachine(t)
	ids := largeContracts(c, e, 4, 200_000, map[string]script{"f": func(*guest) {}})
	var codes []uint64
	outer := c.deploy(e, "outer", 0, map[string]script{"f": func(g *guest) {
		for i, id := range append(slices.Clone(ids), ids[0]) {
			codes = append(codes, g.create(id, byte(i), "", "", 0))
		}
	}})
	c.outcome(c.run(outer, "f"), Success, "")
	if !slices.Equal(codes, []uint64{0, 0, 0, codeLimits, 0}) {
		t.Errorf("codes %v", codes)
	}
	codes = nil
	steps := batch(calling(ids[0], "f", 0), calling(ids[1], "f", 0), calling(ids[2], "f", 0), calling(ids[0], "f", 0),
		calling(ids[3], "f", 0))
	result := c.block(c.action(alice, 100_000_000, steps))
	c.outcome(result, LoadExceeded, "")
	if used := result.Receipts[0].GasUsed; used > 300_000 {
		t.Errorf("it used %d gas", used)
	}
	if strings.Contains(string(result.Reasons[0]), " ") {
		t.Errorf("reason %q", result.Reasons[0])
	}
}
