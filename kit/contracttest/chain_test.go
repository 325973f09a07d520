package contracttest_test

import (
	"encoding/binary"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/cairn-chain/cairn/internal/testkit/wasmgen"
	"github.com/cairn-chain/cairn/kit/contracttest"
	"github.com/cairn-chain/cairn/types"
)

// counter is a contract that counts to 9. The count is stored under the key "k". Its memory has the key at 0, the count
// at 16, the return value at 32 and the text "no" at 40.
func counter() []byte {
	m := Contract(1, 1)
	imports := map[string]uint32{}
	add := func(name string, params string, result byte) {
		values := map[rune]byte{'i': I32}
		var types []byte
		for _, p := range params {
			types = append(types, values[p])
		}
		imports[name] = uint32(len(m.Imports))
		m.Imports = append(m.Imports, ImportFunction("cairn", name, m.AddType(types, result)))
	}
	add("storage_read", "iiii", I32)
	add("storage_write", "iiii", 0)
	add("return_data", "ii", 0)
	add("revert", "ii", 0)
	add("debug", "ii", 0)
	add("block_time", "", I64)
	procedure := m.AddType(nil, 0)
	i32 := func(v int64) []byte { return Const(I32, v) }
	call := func(name string, args ...int64) (code []byte) {
		for _, a := range args {
			code = append(code, i32(a)...)
		}
		return append(code, Call(imports[name])...)
	}
	// Adds to the value at 16 in memory and stores it at to.
	plus := func(n, to int64) []byte {
		return Concat(i32(to), i32(16), Op(I64Load, 3, 0), Const(I64, n), []byte{I64Add}, Op(I64Store, 3, 0))
	}
	read := append(call("storage_read", 0, 1, 16, 8), Drop)
	for name, code := range map[string][]byte{
		"increment": Concat(read, plus(1, 16), call("storage_write", 0, 1, 16, 8)),
		"get":       Concat(read, plus('0', 32), call("return_data", 32, 1)),
		"fail":      Concat(call("storage_write", 0, 1, 40, 2), call("debug", 40, 2), call("revert", 40, 2)),
		"stop":      {Unreachable},
		"time":      Concat(i32(32), call("block_time"), Op(I64Store, 3, 0), call("return_data", 32, 8)),
	} {
		m.Export(name, FunctionKind, m.AddFunction(procedure, nil, code...))
	}
	m.Data = append(m.Data, Data(0, "k"), Data(40, "no"))
	return append(m.Encode(), Section(0, append(Name("cairn_abi"),
		`{"functions":[{"name":"get","mode":"read","returns":"u64"}]}`...))...)
}

func count(t *testing.T, k *contracttest.Contract) (n int) {
	t.Helper()
	k.View("get", nil).Decode(t, &n)
	return n
}

func TestContract(t *testing.T) {
	chain := contracttest.New(t)
	alice, bob := chain.Account("alice"), chain.Account("bob")
	if alice.Account == bob.Account || chain.Balance(alice.Account) != contracttest.Funds {
		t.Errorf("alice %s, bob %s", alice, bob)
	}
	k := chain.Deploy(alice, counter(), nil, contracttest.Options{Name: "counter", Value: 7})
	if chain.Height() != 1 || chain.Balance(k.Account()) != 7 || len(k.ABI.Functions) != 1 {
		t.Errorf("height %d, contract %+v", chain.Height(), k)
	}
	for range 3 {
		k.Call(bob, "increment", nil).Must(t)
	}
	if n := count(t, k); n != 3 || chain.Height() != 4 {
		t.Errorf("count %d at height %d", n, chain.Height())
	}
	if stored := k.Storage([]byte("k")); len(stored) != 8 || stored[0] != 3 {
		t.Errorf("stored %x", stored)
	}
	if left := chain.Balance(bob.Account); left >= contracttest.Funds {
		t.Errorf("bob paid nothing for gas, %d left", left)
	}
}

func TestFailures(t *testing.T) {
	chain := contracttest.New(t)
	alice := chain.Account("alice")
	k := chain.Deploy(alice, counter(), nil)
	r := k.Call(alice, "fail", nil)
	r.Reverts(t, "no")
	if len(r.Debug) != 1 || r.Debug[0] != "no" || k.Storage([]byte("k")) != nil {
		t.Errorf("%+v, stored %x", r, k.Storage([]byte("k")))
	}
	for function, reason := range map[string]string{"stop": "trap", "none": "no_such_function"} {
		if r := k.Call(alice, function, nil); r.OK || r.Reason != reason || !strings.Contains(r.Err().Error(), reason) {
			t.Errorf("%s: got %+v", function, r)
		}
	}
	if r := k.Call(alice, "increment", nil, contracttest.Options{Gas: 50_000}); r.Reason != "out_of_gas" ||
		r.GasUsed != 50_000 {
		t.Errorf("got %+v", r)
	}
	if r := k.View("increment", nil); r.OK {
		t.Error("a view call wrote")
	}
	if k, r := chain.TryDeploy(alice, []byte("no module"), nil); k != nil || r.Reason != "module_refused" ||
		r.Detail == "" {
		t.Errorf("got %+v", r)
	}
}

func TestTimeAndSnapshots(t *testing.T) {
	chain := contracttest.New(t)
	alice := chain.Account("alice")
	k := chain.Deploy(alice, counter(), nil)
	before := chain.Snapshot()
	for range 2 {
		k.Call(alice, "increment", nil).Must(t)
		chain.Advance(time.Hour)
		now := binary.LittleEndian.Uint64(k.Call(alice, "time", nil).Must(t).Output)
		if now != contracttest.GenesisTime+1+1+3601 || now != chain.Time() {
			t.Errorf("time %d, the block's %d", now, chain.Time())
		}
		chain.Mine(2)
		if chain.Height() != 5 || count(t, k) != 1 {
			t.Errorf("height %d, count %d", chain.Height(), count(t, k))
		}
		chain.Revert(before)
		if chain.Height() != 1 || count(t, k) != 0 {
			t.Errorf("back at height %d, count %d", chain.Height(), count(t, k))
		}
	}
}

// TestTheSameChain: the chain does not depend on when or where a test runs.
func TestTheSameChain(t *testing.T) {
	run := func() (ids []types.ContractID, gas []contracttest.GasUse) {
		chain := contracttest.New(t)
		k := chain.Deploy(chain.Account("alice"), counter(), nil)
		k.Call(chain.Account("bob"), "increment", nil).Must(t)
		return []types.ContractID{k.ID}, chain.Gas()
	}
	ids, gas := run()
	again, gasAgain := run()
	if !slices.Equal(ids, again) || !slices.Equal(gas, gasAgain) {
		t.Errorf("%s %+v, then %s %+v", ids, gas, again, gasAgain)
	}
}

func TestGasReport(t *testing.T) {
	chain := contracttest.New(t)
	alice := chain.Account("alice")
	k := chain.Deploy(alice, counter(), nil, contracttest.Options{Name: "counter"})
	first := k.Call(alice, "increment", nil).Must(t).GasUsed
	second := k.Call(alice, "increment", nil).Must(t).GasUsed
	k.Call(alice, "fail", nil)
	uses := chain.Gas()
	if len(uses) != 3 || uses[1].Failed != 1 || uses[1].Average() != 0 {
		t.Fatalf("got %+v, want 3 uses and Failed 1 and Average 0", uses)
	}
	u := uses[2]
	if u.Function != "increment" || u.Calls != 2 || u.Most != first || u.Least != second ||
		u.Average() != (first+second)/2 || first <= second {
		t.Errorf("%+v, used %d and %d", u, first, second)
	}
	if lines := strings.Split(chain.GasReport(), "\n"); len(lines) != 5 ||
		!strings.HasPrefix(lines[3], "counter   increment  2      0") {
		t.Errorf("%s", chain.GasReport())
	}
}

// TestNoToken: the kit finds that the counter is not a token.
func TestNoToken(t *testing.T) {
	chain := contracttest.New(t)
	alice := chain.Account("alice")
	report := chain.Deploy(alice, counter(), nil).CheckToken(alice)
	if report.Conforms() || report.Results[0].Rule != "interface" ||
		!strings.Contains(report.Results[0].Detail, "there is no name() string") {
		t.Errorf("got %+v", report)
	}
	if chain.Height() != 1 {
		t.Errorf("the chain is at height %d after the check, want 1", chain.Height())
	}
}
