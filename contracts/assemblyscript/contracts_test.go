package assemblyscript

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/cairn-chain/cairn/client"
	"github.com/cairn-chain/cairn/internal/protocol/exec"
	"github.com/cairn-chain/cairn/internal/protocol/vm"
	"github.com/cairn-chain/cairn/types"
)

// abiOf reads the custom section of a module that vm.Check accepted.
func abiOf(t *testing.T, code []byte) (abi struct{ Functions []struct{ Name, Mode string } }) {
	t.Helper()
	for rest := code[8:]; len(rest) > 0; {
		id := rest[0]
		size, n := binary.Uvarint(rest[1:])
		section := rest[1+n:][:size]
		rest = rest[1+n+int(size):]
		if id != 0 {
			continue
		}
		length, n := binary.Uvarint(section)
		if string(section[n:][:length]) != "cairn_abi" {
			continue
		}
		if err := json.Unmarshal(section[n+int(length):], &abi); err != nil {
			t.Fatal(err)
		}
		return abi
	}
	t.Fatal("there is no section cairn_abi")
	return abi
}

func TestModulesAreContracts(t *testing.T) {
	for name, functions := range map[string]int{
		"counter":  2,
		"escrow":   6,
		"multisig": 12,
		"nep20":    11,
		"nft":      13,
		"proxy":    9,
		"registry": 10,
		"savings":  3,
		"vesting":  7,
	} {
		code := code(t, name)
		module, err := vm.Check(code)
		if err != nil {
			t.Errorf("%s: error %v", name, err)
			continue
		}
		callable := 0
		for _, f := range abiOf(t, code).Functions {
			if f.Mode == "init" {
				if !module.HasInit() {
					t.Errorf("%s: no init", name)
				}
				continue
			}
			if callable++; !module.Callable(f.Name) {
				t.Errorf("%s: %s cannot be called", name, f.Name)
			}
		}
		if callable != functions || module.Pages() != 1 {
			t.Errorf("%s: %d functions, %d pages", name, callable, module.Pages())
		}
		t.Logf("%s: %d bytes, %d gas to deploy besides them", name, len(code), module.DeployGas())
	}
}

func TestCounter(t *testing.T) {
	c := newChain(t).deploy("counter", `{"start":5}`)
	receipt := c.call(bob, "increase", `{"amount":3}`, "8")
	c.call(bob, "get", "", "8")
	by := account(bob)
	want := types.Log{
		Contract: c.id, Name: "Increased", Topics: [][32]byte{by, integer(3), integer(8)},
		Data: fmt.Appendf(nil, `{"by":"%s","amount":3,"count":8}`, by),
	}
	sameLogs(t, receipt.Logs, want)
	c.refused(bob, "increase", `{"amount":18446744073709551615}`, "the count overflows")
	c.refused(bob, "increase", `{"amount":"1","amount":2}`, "amount: given twice")
	c.refused(bob, "increase", `{"amount":-1}`, "amount: not a valid u64")
	c.refused(bob, "increase", `{`, "arguments: malformed JSON")
	c.call(bob, "get", " { } ", "8")
}

// integer is a topic that is an integer.
func integer(n uint64) (topic [32]byte) {
	binary.BigEndian.PutUint64(topic[24:], n)
	return topic
}

func sameLogs(t *testing.T, got []types.Log, want ...types.Log) {
	t.Helper()
	if fmt.Sprintf("%q", got) != fmt.Sprintf("%q", want) {
		t.Errorf("logs\n%q, want\n%q", got, want)
	}
}

func TestToken(t *testing.T) {
	c := newChain(t).deploy(
		"nep20", `{"name":"Grüße 🪙","symbol":"G\"1","decimals":8,"initialSupply":"18446744073709551614"}`,
	)
	a, b := account(alice), account(bob)
	zero := types.Account{}
	balance := func(of types.Account, want string) {
		t.Helper()
		c.call(carol, "balanceOf", fmt.Sprintf(`{"address":"%s"}`, of), want)
	}
	transfer := func(from, to types.Account, amount uint64, text string) types.Log {
		return types.Log{
			Contract: c.id, Name: "Transfer", Topics: [][32]byte{from, to, integer(amount)},
			Data: fmt.Appendf(nil, `{"from":"%s","to":"%s","amount":%s}`, from, to, text),
		}
	}
	c.call(carol, "name", "", `"Grüße 🪙"`)
	c.call(carol, "symbol", "", `"G\"1"`)
	c.call(carol, "decimals", "", "8")
	c.call(carol, "totalSupply", "", `"18446744073709551614"`)
	balance(a, `"18446744073709551614"`)

	to := func(to types.Account, amount string) string {
		return fmt.Sprintf(`{"to":"%s","amount":%s}`, to, amount)
	}
	sameLogs(t, c.call(alice, "transfer", to(b, "100"), "true").Logs, transfer(a, b, 100, "100"))
	balance(b, "100")
	c.refused(bob, "transfer", to(a, "101"), "balance is too low")
	sameLogs(t, c.call(bob, "transfer", to(b, "100"), "true").Logs, transfer(b, b, 100, "100"))
	balance(b, "100")
	sameLogs(t, c.call(carol, "transfer", to(b, "0"), "true").Logs, transfer(account(carol), b, 0, "0"))
	balance(account(carol), "0")

	sameLogs(t, c.call(alice, "mint", to(b, "1"), "true").Logs, transfer(zero, b, 1, "1"))
	c.refused(alice, "mint", to(b, "1"), "the supply overflows")
	c.refused(bob, "mint", to(b, "1"), "only the owner may mint")
	sameLogs(t, c.call(bob, "burn", `{"amount":101}`, "true").Logs, transfer(b, zero, 101, "101"))
	balance(b, "0")
	c.refused(bob, "burn", `{"amount":1}`, "balance is too low")
	c.call(carol, "totalSupply", "", `"18446744073709551514"`)
	c.refused(alice, "transfer", fmt.Sprintf(`{"to":"%s","amount":1}`, b.String()[:64]), "to: not a valid account")
}

func TestAllowance(t *testing.T) {
	c := newChain(t).deploy("nep20", `{"name":"T","symbol":"T","decimals":0,"initialSupply":1000}`)
	a, b := account(alice), account(bob)
	approve := func(amount int) {
		t.Helper()
		receipt := c.call(alice, "approve", fmt.Sprintf(`{"spender":"%s","amount":%d}`, b, amount), "true")
		sameLogs(t, receipt.Logs, types.Log{
			Contract: c.id, Name: "Approval", Topics: [][32]byte{a, b, integer(uint64(amount))},
			Data: fmt.Appendf(nil, `{"owner":"%s","spender":"%s","amount":%d}`, a, b, amount),
		})
	}
	allowance := func(want string) {
		t.Helper()
		c.call(carol, "allowance", fmt.Sprintf(`{"owner":"%s","spender":"%s"}`, a, b), want)
	}
	from := func(amount int) string { return fmt.Sprintf(`{"from":"%s","to":"%s","amount":%d}`, a, b, amount) }
	allowance("0")
	approve(50)
	approve(30)
	allowance("30")
	c.refused(bob, "transferFrom", from(31), "allowance is too low")
	c.refused(alice, "transferFrom", from(1), "allowance is too low")
	c.call(bob, "transferFrom", from(30), "true")
	allowance("0")
	approve(5000)
	c.refused(bob, "transferFrom", from(971), "balance is too low")
	allowance("5000")
	c.call(carol, "balanceOf", fmt.Sprintf(`{"address":"%s"}`, b), "30")
}

func TestEscrow(t *testing.T) {
	chain := newChain(t)
	c := chain.deploy("escrow", "")
	seller, arbiter := account(bob), account(carol)
	open := func(deadline uint64, amount types.Amount) (types.Receipt, exec.Reason) {
		args := fmt.Appendf(nil, `{"seller":"%s","arbiter":"%s","deadline":%d}`, seller, arbiter, deadline)
		return c.apply(alice, client.CallEncoded(c.id, "open", args, amount), 1)
	}
	for number := range 3 {
		receipt, reason := open(chain.now()+100, 5_000)
		if reason != exec.Success || string(receipt.Output) != fmt.Sprint(number) {
			t.Fatalf("open: %s with %q", reason, receipt.Output)
		}
	}
	if receipt, reason := open(1, 5_000); reason != exec.Reverted ||
		string(receipt.Output) != "the deadline is in the past" {
		t.Errorf("%s with %q", reason, receipt.Output)
	}
	if receipt, reason := open(1, 0); reason != exec.Reverted || string(receipt.Output) != "a deal needs coins" {
		t.Errorf("%s with %q", reason, receipt.Output)
	}
	c.call(bob, "held", `{"deal":2}`, "5000")
	c.call(bob, "parties", `{"deal":1}`, fmt.Sprintf(`["%s","%s","%s"]`, account(alice), seller, arbiter))

	c.refused(bob, "release", `{"deal":0}`, "only the buyer and the arbiter may release")
	receipt := c.call(alice, "release", `{"deal":0}`, "")
	if len(receipt.Logs) != 2 || receipt.Logs[0].Name != types.NativeTransfer || receipt.Logs[1].Name != "Closed" {
		t.Errorf("%+v", receipt.Logs)
	}
	c.refused(alice, "release", `{"deal":0}`, "the deal is closed")
	c.refused(alice, "refund", `{"deal":1}`, "only the seller and the arbiter may refund before the deadline")
	c.call(carol, "refund", `{"deal":1}`, "")
	if _, reason := c.apply(alice, client.CallEncoded(c.id, "refund", []byte(`{"deal":2}`), 0), 200); reason != exec.Success {
		t.Errorf("refund after the deadline: %s, want %s", reason, exec.Success)
	}
	c.refused(alice, "refund", `{"deal":3}`, "the list has no such item")
	if left := chain.account(types.Account(c.id)).Balance; left != 0 {
		t.Errorf("%d units are left", left)
	}
}
