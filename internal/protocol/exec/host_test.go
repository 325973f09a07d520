package exec

import (
	"encoding/binary"
	"encoding/hex"
	"slices"
	"strings"
	"testing"

	"github.com/cairn-chain/cairn/internal/protocol/params"
	"github.com/cairn-chain/cairn/internal/protocol/state"
	"github.com/cairn-chain/cairn/internal/protocol/vm"
	"github.com/cairn-chain/cairn/types"
)

// entryPrice is the gas that a call of the test contracts takes before their code runs.
func entryPrice(args int) types.Gas {
	return types.Gas(16_000 + 16*2 + 16*args + 11_000 + args + 2*3_000)
}

// hostCase is a host function with arguments: its total cost, its result, and the keys that it lists.
type hostCase struct {
	name     string
	prepare  func(g *guest) // before the gas is checked
	function vm.Function
	args     []uint64
	price    uint64
	before   uint64 // for a look-up in storage: the part of the price that is paid before it
	answer   uint64 // in stack[0], if it has a result
	memory   string // expected bytes at 0x5000 afterwards, in hex
	lists    []string
}

var (
	kept      = types.Account{1, 2, 3}
	keptText  = string(kept[:])
	storedKey = "stored" // holds "value" in the contract of the host tests
)

func hostCases(self types.ContractID) []hostCase {
	key := func(name string) string { return string(state.StorageKey(self, []byte(name))) }
	put := func(s string) func(*guest) { return func(g *guest) { g.put(0x100, []byte(s)) } }
	return []hostCase{
		{name: "args_len", function: vm.ArgsLen, price: 130, answer: 4},
		{name: "args_read", function: vm.ArgsRead, args: []uint64{0x5000}, price: 130 + 1, memory: "61726773"},
		{name: "return_data", function: vm.ReturnData, args: []uint64{0, 9}, price: 130 + 12*9 + 3},
		{
			name:     "storage_read",
			prepare:  put(storedKey),
			function: vm.StorageRead,
			args:     []uint64{0x100, 6, 0x5000, 100},
			price:    4_000 + 16*6 + 2 + 16*5 + 2,
			before:   4_000 + 16*6 + 2,
			answer:   5,
			memory:   "76616c7565",
			lists:    []string{key(storedKey)},
		},
		{
			name:     "storage_read of a part",
			prepare:  put(storedKey),
			function: vm.StorageRead,
			args:     []uint64{0x100, 6, 0x5000, 2},
			price:    4_000 + 16*6 + 2 + 16*5 + 1,
			before:   4_000 + 16*6 + 2,
			answer:   5,
			memory:   "766100",
			lists:    []string{key(storedKey)},
		},
		{
			name:     "storage_read of nothing",
			prepare:  put("none"),
			function: vm.StorageRead,
			args:     []uint64{0x100, 4, 0x5000, 2},
			price:    4_000 + 16*4 + 1,
			before:   4_000 + 16*4 + 1,
			answer:   none,
			lists:    []string{key("none")},
		},
		{
			name:     "storage_write of a new key",
			prepare:  put("new"),
			function: vm.StorageWrite,
			args:     []uint64{0x100, 3, 0, 10},
			price:    12_000 + 12*3 + 64*10 + 4 + 100_000,
			before:   12_000 + 12*3 + 64*10 + 4,
			lists:    []string{key("new")},
		},
		{
			name:     "storage_write over a value",
			prepare:  put(storedKey),
			function: vm.StorageWrite,
			args:     []uint64{0x100, 6, 0, 1},
			price:    12_000 + 12*6 + 64 + 2 + 16*5,
			before:   12_000 + 12*6 + 64 + 2,
			lists:    []string{key(storedKey)},
		},
		{
			name:     "storage_write of nothing",
			prepare:  put(storedKey),
			function: vm.StorageWrite,
			args:     []uint64{0x100, 6, 0, 0},
			price:    12_000 + 12*6 + 2 + 16*5,
			before:   12_000 + 12*6 + 2,
			lists:    []string{key(storedKey)},
		},
		{
			name:     "storage_delete",
			prepare:  put(storedKey),
			function: vm.StorageDelete,
			args:     []uint64{0x100, 6},
			price:    12_000 + 12*6 + 2 + 16*5,
			before:   12_000 + 12*6 + 2,
			lists:    []string{key(storedKey)},
		},
		{
			name:     "storage_delete of nothing",
			prepare:  put("none"),
			function: vm.StorageDelete,
			args:     []uint64{0x100, 4},
			price:    12_000 + 12*4 + 1,
			before:   12_000 + 12*4 + 1,
			lists:    []string{key("none")},
		},
		{name: "caller", function: vm.Caller, args: []uint64{0x5000}, price: 138, memory: hexOf(account(alice))},
		{name: "sender", function: vm.Sender, args: []uint64{0x5000}, price: 138, memory: hexOf(account(alice))},
		{name: "self", function: vm.Self, args: []uint64{0x5000}, price: 138, memory: hexOf(types.Account(self))},
		{name: "value", function: vm.Value, price: 130, answer: 7},
		{name: "block_height", function: vm.BlockHeight, price: 130, answer: 3},
		{name: "block_time", function: vm.BlockTime, price: 130, answer: 1_003},
		{name: "chain_id", function: vm.ChainID, price: 130, answer: testChainID},
		{name: "gas_left", function: vm.GasLeft, price: 130},
		{name: "is_view", function: vm.IsView, price: 130},
		{
			name:     "balance",
			prepare:  put(keptText),
			function: vm.Balance,
			args:     []uint64{0x100},
			price:    5_008,
			lists:    []string{string(state.AccountKey(kept))},
		},
		{
			name:     "transfer to a new account",
			prepare:  put(keptText),
			function: vm.Transfer,
			args:     []uint64{0x100, 5},
			price:    9_008 + 100_000,
			lists:    []string{string(state.AccountKey(kept))},
		},
		{name: "transfer of nothing", prepare: put(keptText), function: vm.Transfer, args: []uint64{0x100, 0}, price: 9_008},
		{
			name:     "transfer of too much",
			prepare:  put(keptText),
			function: vm.Transfer,
			args:     []uint64{0x100, 1 << 60},
			price:    9_008,
			answer:   codeBalanceTooLow,
		},
		{
			name:     "transfer to itself",
			prepare:  put(string(self[:])),
			function: vm.Transfer,
			args:     []uint64{0x100, 5},
			price:    9_008,
		},
		{
			name:     "code_hash of no contract",
			prepare:  put(keptText),
			function: vm.CodeHash,
			args:     []uint64{0x100, 0x5000},
			price:    5_016,
			lists:    []string{string(state.ContractKey(types.ContractID(kept)))},
		},
		{
			name:     "call of no contract",
			prepare:  put(keptText),
			function: vm.Call,
			args:     []uint64{0x100, 0, 1, 0, 8, 0, 1 << 60},
			price:    22_000 + 8 + 11,
			answer:   codeNoContract,
			lists:    []string{string(state.ContractKey(types.ContractID(kept)))},
		},
		{
			name:     "call with value of no contract",
			prepare:  put(keptText),
			function: vm.Call,
			args:     []uint64{0x100, 0, 1, 0, 0, 1, 0},
			price:    22_000 + 9_000 + 9,
			answer:   codeNoContract,
			lists:    []string{string(state.ContractKey(types.ContractID(kept)))},
		},
		{
			name:     "call_view of no contract",
			prepare:  put(keptText),
			function: vm.CallView,
			args:     []uint64{0x100, 0, 1, 0, 8, 1 << 60},
			price:    22_000 + 8 + 11,
			answer:   codeNoContract,
			lists:    []string{string(state.ContractKey(types.ContractID(kept)))},
		},
		{name: "result_len", function: vm.ResultLen, price: 130},
		{name: "result_read", function: vm.ResultRead, args: []uint64{0}, price: 130},
		{name: "emit", function: vm.Emit, args: []uint64{0, 3, 0, 2, 0, 5}, price: 2_000 + 16*(3+64+5) + 18},
		{
			name:     "sha256",
			prepare:  put("abc"),
			function: vm.SHA256,
			args:     []uint64{0x100, 3, 0x5000},
			price:    500 + 4*3 + 9,
			memory:   "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
		},
		{
			name:     "keccak256",
			prepare:  put("abc"),
			function: vm.Keccak256,
			args:     []uint64{0x100, 3, 0x5000},
			price:    1_100 + 6*3 + 9,
			memory:   "4e03657aea45a94fc7d47ba826c8d667c0d1e6e33a64a036ec44f58fa12d6c45",
		},
		{
			name:     "blake3",
			prepare:  put("abc"),
			function: vm.Blake3,
			args:     []uint64{0x100, 3, 0x5000},
			price:    400 + 2*3 + 9,
			memory:   "6437b3ac38465133ffb63b75273a8db548c558465d79db03fd359c6cd5bd9d85",
		},
		{
			name:     "schnorr_verify of nonsense",
			function: vm.SchnorrVerify,
			args:     []uint64{0, 0, 10, 0},
			price:    270_000 + 6*10 + 27,
		},
		{name: "ecdsa_recover of nonsense", function: vm.ECDSARecover, args: []uint64{0, 0, 0}, price: 350_000 + 41},
		{
			name: "p256_verify of nonsense", function: vm.P256Verify, args: []uint64{0, 0, 0}, price: 300_000 + 40,
		},
		{
			name:     "account_verify of nonsense",
			function: vm.AccountVerify,
			args:     []uint64{0x100, 0, 10, 0, 68},
			prepare:  func(g *guest) { g.put(0, []byte{3}) },
			price:    5_000 + 16*68 + 6*10 + (32+10+68+3)/4,
		},
		{
			name:     "account_verify of a signature that does not hold",
			prepare:  put(keptText),
			function: vm.AccountVerify,
			args:     []uint64{0x100, 0, 10, 0x200, 68},
			price:    5_000 + 16*68 + 6*10 + (32+10+68+3)/4 + 270_000,
			lists:    []string{string(state.AccountKey(kept))},
		},
		{
			name:     "create of no contract",
			prepare:  put(keptText),
			function: vm.Create,
			args:     []uint64{0x100, 0, 0, 3, 0, 8, 0, 1 << 60, 0x5000},
			price:    22_000 + 130_000 + 16*11 + (96+11+3)/4,
			answer:   codeNoContract,
			memory:   "00",
			lists:    []string{string(state.ContractKey(types.ContractID(kept)))},
		},
		{
			name:     "create with value of no contract",
			prepare:  put(keptText),
			function: vm.Create,
			args:     []uint64{0x100, 0, 0, 0, 0, 0, 1, 1 << 60, 0x5000},
			price:    22_000 + 130_000 + 9_000 + 96/4,
			answer:   codeNoContract,
			lists:    []string{string(state.ContractKey(types.ContractID(kept)))},
		},
		{
			name:     "replace_code by no contract",
			prepare:  put(keptText),
			function: vm.ReplaceCode,
			args:     []uint64{0x100},
			price:    20_000 + 8,
			answer:   codeNoContract,
			lists:    []string{string(state.ContractKey(types.ContractID(kept)))},
		},
		{name: "debug", function: vm.Debug, args: []uint64{0, 1_024}, price: 130 + 256},
	}
}

func hexOf(a types.Account) string { return hex.EncodeToString(a[:]) }

// onHostChain runs a script as function "go" of a contract with coins and a stored value, in block 3, and returns the
// block and the contract.
func onHostChain(
	t *testing.T, gas func(entry types.Gas) types.Gas, body func(self types.ContractID) script,
) (Result, types.ContractID) {
	t.Helper()
	c, e := withMachine(t)
	var self types.ContractID
	self = c.deploy(e, "host", 1_000, map[string]script{
		"go":    func(g *guest) { body(self)(g) },
		"store": func(g *guest) { g.write(storedKey, "value") },
	})
	c.run(self, "store")
	call := action{types.Account(self), 7, types.Call{Function: "go", Args: []byte("args")}}
	return c.block(c.action(alice, gas(entryPrice(4)), call)), self
}

// TestHostFunctionsCostTheirPrice runs each host function with exactly the gas that it needs, and with one unit less.
// That is its price or, for a look-up in storage, the price paid before the look-up and the reserve that must remain.
func TestHostFunctionsCostTheirPrice(t *testing.T) {
	covered := map[vm.Function]bool{vm.Revert: true} // it ends the call: see TestOutcomes
	for _, tc := range hostCases(types.ContractID{}) {
		covered[tc.function] = true
		t.Run(tc.name, func(t *testing.T) {
			for _, less := range []types.Gas{0, 1} {
				var answer uint64
				var memory []byte
				var limit, used types.Gas
				gas := func(entry types.Gas) types.Gas {
					needs := tc.price
					if tc.before > 0 {
						needs = tc.before + uint64(schedule.StorageReserve)
					}
					limit, used = entry+types.Gas(needs)-less, entry+types.Gas(tc.price)
					return limit
				}
				result, self := onHostChain(t, gas,
					func(self types.ContractID) script {
						own := caseOf(self, tc.name)
						return func(g *guest) {
							if own.prepare != nil {
								own.prepare(g)
							}
							answer = g.call(tc.function, tc.args...)
							memory = slices.Clone(g.memory[0x5000 : 0x5000+len(tc.memory)/2])
						}
					})
				if less > 0 {
					if result.Reasons[0] != OutOfGas {
						t.Fatalf("with one gas less: %q, want %q", result.Reasons[0], OutOfGas)
					}
					if key := string(state.StorageKey(self, []byte(storedKey))); tc.before > 0 &&
						slices.Contains(listed(result), key) {
						t.Error("with one gas less it lists the key all the same")
					}
					continue
				}
				if result.Reasons[0] != Success {
					t.Fatalf("with what it needs: %q, want %q", result.Reasons[0], Success)
				}
				if got := result.Receipts[0].GasUsed; got != used {
					t.Errorf("used %d of %d, want %d", got, limit, used)
				}
				if vm.Functions[tc.function].Result != 0 && tc.function != vm.GasLeft && answer != tc.answer {
					t.Errorf("answered %d, want %d", answer, tc.answer)
				}
				if hex.EncodeToString(memory) != memoryOf(self, tc) {
					t.Errorf("wrote %x, want %s", memory, memoryOf(self, tc))
				}
				if gas := result.Receipts[0].GasUsed; len(result.Accesses) > params.MostAccesses(gas) ||
					len(types.EncodeAccesses(result.Accesses)) > params.MostListBytes(gas) {
					t.Errorf("%d gas list %d keys", gas, len(result.Accesses))
				}
				for _, key := range caseOf(self, tc.name).lists {
					if !slices.Contains(listed(result), key) {
						t.Errorf("does not list %x", key)
					}
				}
			}
		})
	}
	for f := range vm.Functions {
		if !covered[vm.Function(f)] {
			t.Errorf("%s has no case", vm.Functions[f].Name)
		}
	}
}

func caseOf(self types.ContractID, name string) hostCase {
	cases := hostCases(self)
	return cases[slices.IndexFunc(cases, func(c hostCase) bool { return c.name == name })]
}

func memoryOf(self types.ContractID, tc hostCase) string { return caseOf(self, tc.name).memory }

// TestHostFunctionsRefuseWhatIsOutside passes every range of every function a pointer and a length beyond the memory,
// and every bounded length one more than its limit. All of them trap, and none reads the state.
func TestHostFunctionsRefuseWhatIsOutside(t *testing.T) {
	const end = 2 << 16
	for _, tc := range []struct {
		name     string
		function vm.Function
		args     []uint64
	}{
		{"args_read", vm.ArgsRead, []uint64{end - 3}},
		{"return_data", vm.ReturnData, []uint64{end - 1, 2}},
		{"return_data beyond the limit", vm.ReturnData, []uint64{0, 64<<10 + 1}},
		{"revert", vm.Revert, []uint64{end, 1}},
		{"revert beyond the limit", vm.Revert, []uint64{0, 64<<10 + 1}},
		{"storage_read: key", vm.StorageRead, []uint64{end - 1, 2, 0, 0}},
		{"storage_read: key too long", vm.StorageRead, []uint64{0, 257, 0, 0}},
		{"storage_read: out", vm.StorageRead, []uint64{0, 1, end - 1, 2}},
		{"storage_read: out wraps around", vm.StorageRead, []uint64{0, 1, 8, 1<<32 - 4}},
		{"storage_write: key", vm.StorageWrite, []uint64{end - 1, 2, 0, 1}},
		{"storage_write: key too long", vm.StorageWrite, []uint64{0, 257, 0, 1}},
		{"storage_write: value", vm.StorageWrite, []uint64{0, 1, end - 1, 2}},
		{"storage_write: value too long", vm.StorageWrite, []uint64{0, 1, 0, 16<<10 + 1}},
		{"storage_write: nothing from outside", vm.StorageWrite, []uint64{0, 1, end + 1, 0}},
		{"storage_delete", vm.StorageDelete, []uint64{end - 1, 2}},
		{"storage_delete: key too long", vm.StorageDelete, []uint64{0, 257}},
		{"caller", vm.Caller, []uint64{end - 31}},
		{"sender", vm.Sender, []uint64{end - 31}},
		{"self", vm.Self, []uint64{end - 31}},
		{"balance", vm.Balance, []uint64{end - 31}},
		{"transfer", vm.Transfer, []uint64{end - 31, 1}},
		{"code_hash: account", vm.CodeHash, []uint64{end - 31, 0}},
		{"code_hash: out", vm.CodeHash, []uint64{0, end - 31}},
		{"call: contract", vm.Call, []uint64{end - 31, 0, 0, 0, 0, 0, 0}},
		{"call: function", vm.Call, []uint64{0, end, 1, 0, 0, 0, 0}},
		{"call: function too long", vm.Call, []uint64{0, 0, 65, 0, 0, 0, 0}},
		{"call: arguments", vm.Call, []uint64{0, 0, 0, end, 1, 0, 0}},
		{"call: arguments too long", vm.Call, []uint64{0, 0, 0, 0, 64<<10 + 1, 0, 0}},
		{"call: function is not UTF-8", vm.Call, []uint64{0, 0xff00, 1, 0, 0, 0, 0}},
		{"call_view: contract", vm.CallView, []uint64{end - 31, 0, 0, 0, 0, 0}},
		{"call_view: function is not UTF-8", vm.CallView, []uint64{0, 0xff00, 1, 0, 0, 0}},
		{"emit: name", vm.Emit, []uint64{end, 1, 0, 0, 0, 0}},
		{"emit: name too long", vm.Emit, []uint64{0, 65, 0, 0, 0, 0}},
		{"emit: name is not UTF-8", vm.Emit, []uint64{0xff00, 1, 0, 0, 0, 0}},
		{"emit: topics", vm.Emit, []uint64{0, 0, end - 31, 1, 0, 0}},
		{"emit: four topics", vm.Emit, []uint64{0, 0, 0, 4, 0, 0}},
		{"emit: data", vm.Emit, []uint64{0, 0, 0, 0, end, 1}},
		{"emit: data too long", vm.Emit, []uint64{0, 0, 0, 0, 0, 16<<10 + 1}},
		{"sha256", vm.SHA256, []uint64{end, 1, 0}},
		{"sha256: out", vm.SHA256, []uint64{0, 1, end - 31}},
		{"keccak256", vm.Keccak256, []uint64{end, 1, 0}},
		{"blake3", vm.Blake3, []uint64{end, 1, 0}},
		{"schnorr_verify: key", vm.SchnorrVerify, []uint64{end - 31, 0, 0, 0}},
		{"schnorr_verify: message", vm.SchnorrVerify, []uint64{0, end, 1, 0}},
		{"schnorr_verify: signature", vm.SchnorrVerify, []uint64{0, 0, 0, end - 63}},
		{"ecdsa_recover: hash", vm.ECDSARecover, []uint64{end - 31, 0, 0}},
		{"ecdsa_recover: signature", vm.ECDSARecover, []uint64{0, end - 64, 0}},
		{"ecdsa_recover: out", vm.ECDSARecover, []uint64{0, 0, end - 63}},
		{"p256_verify: point", vm.P256Verify, []uint64{end - 63, 0, 0}},
		{"p256_verify: digest", vm.P256Verify, []uint64{0, end - 31, 0}},
		{"p256_verify: signature", vm.P256Verify, []uint64{0, 0, end - 63}},
		{"account_verify: account", vm.AccountVerify, []uint64{end - 31, 0, 0, 0, 0}},
		{"account_verify: message", vm.AccountVerify, []uint64{0, end, 1, 0, 0}},
		{"account_verify: message too long", vm.AccountVerify, []uint64{0, 0, 1_025, 0, 0}},
		{"account_verify: witness", vm.AccountVerify, []uint64{0, 0, 0, end, 1}},
		{"account_verify: witness too long", vm.AccountVerify, []uint64{0, 0, 0, 0, 8<<10 + 1}},
		{"create: template", vm.Create, []uint64{end - 31, 0, 0, 0, 0, 0, 0, 0, 0}},
		{"create: salt", vm.Create, []uint64{0, end - 31, 0, 0, 0, 0, 0, 0, 0}},
		{"create: name", vm.Create, []uint64{0, 0, end, 1, 0, 0, 0, 0, 0}},
		{"create: name too long", vm.Create, []uint64{0, 0, 0, 65, 0, 0, 0, 0, 0}},
		{"create: name is not UTF-8", vm.Create, []uint64{0, 0, 0xff00, 1, 0, 0, 0, 0, 0}},
		{"create: arguments", vm.Create, []uint64{0, 0, 0, 0, end, 1, 0, 0, 0}},
		{"create: arguments too long", vm.Create, []uint64{0, 0, 0, 0, 0, 64<<10 + 1, 0, 0, 0}},
		{"create: out", vm.Create, []uint64{0, 0, 0, 0, 0, 0, 0, 0, end - 31}},
		{"replace_code", vm.ReplaceCode, []uint64{end - 31}},
		{"debug", vm.Debug, []uint64{end, 1}},
		{"debug too long", vm.Debug, []uint64{0, 1_025}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			result, self := onHostChain(t, func(types.Gas) types.Gas { return 500_000_000 },
				func(types.ContractID) script {
					return func(g *guest) {
						g.memory[0xff00] = 0xff
						stack := append(slices.Clone(tc.args), 0)
						before := g.gas.Left
						exit, err := g.host.Invoke(tc.function, g.memory, stack, g.gas)
						price := uint64(vm.Functions[tc.function].Price)
						if exit == vm.Trapped && before-g.gas.Left < price {
							t.Errorf("trapped before its price was paid: %d of %d", before-g.gas.Left, price)
						}
						if exit == vm.OutOfGas && tc.args[len(tc.args)-1] == 1<<32-4 {
							exit = vm.Trapped // no call can pay for such a length
						}
						panic(ended{exit, err})
					}
				})
			if result.Reasons[0] != Trap {
				t.Fatalf("ended %q, want %q", result.Reasons[0], Trap)
			}
			for _, key := range listed(result) {
				if strings.HasPrefix(key, string(state.StorageKey(self, nil))) {
					t.Errorf("lists %x", key)
				}
			}
		})
	}
}

// TestListsArePaid has blocks with lists as long as their gas allows: with absent keys, and with long values that calls
// look up with plenty of gas, with just enough, and with less.
func TestListsArePaid(t *testing.T) {
	needed := entryPrice(0) + types.Gas(schedule.StorageRead+schedule.StorageReadKeyByte) + 1 + schedule.StorageReserve
	for name, gas := range map[string]types.Gas{
		"all": 3_000_000, "what it needs": needed, "less": needed - 1, "little": 60_000,
	} {
		t.Run(name, func(t *testing.T) {
			c, e := withMachine(t)
			functions := map[string]script{"absent": func(g *guest) {
				for i := uint16(0); ; i++ {
					g.read(string(binary.BigEndian.AppendUint16(nil, i)))
				}
			}}
			names := "abcdef"
			for i := range names {
				key := names[i : i+1]
				functions["f"+key] = func(g *guest) { g.write(key, strings.Repeat("x", types.MaxStorageValueBytes)) }
				functions["g"+key] = func(g *guest) { g.read(key) }
			}
			id := c.deploy(e, "lister", 0, functions)
			var txs []*types.VerifiedTx
			for i := range names {
				c.run(id, "f"+names[i:i+1])
			}
			for i, function := range []string{"ga", "gb", "gc", "gd", "ge", "gf", "absent"} {
				txs = append(txs, c.transfer(alice, func(tx *types.Transaction) {
					calling(id, function, 0).in(tx)
					tx.GasLimit, tx.Nonce = gas, tx.Nonce+uint64(i)
				}))
			}
			result := c.block(txs...)
			if read := result.Reasons[0] == Success; read != (gas >= needed) {
				t.Errorf("with %d gas, of %d needed: %q", gas, needed, result.Reasons[0])
			}
			used, size := result.Header.GasUsed, len(types.EncodeAccesses(result.Accesses))
			if len(result.Accesses) > params.MostAccesses(used) || size > params.MostListBytes(used) {
				t.Errorf("%d gas list %d keys in %d bytes", used, len(result.Accesses), size)
			}
		})
	}
}
