package rust

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"os"
	"testing"

	"github.com/cairn-chain/cairn/abi"
	"github.com/cairn-chain/cairn/kit/contracttest"
	"github.com/cairn-chain/cairn/types"
)

// TestCallsInTheBinaryForm measures the gas of calls in both forms, and checks that they have the same effects.
func TestCallsInTheBinaryForm(t *testing.T) {
	c := contracttest.New(t)
	alice, bob := c.Account("alice"), c.Account("bob")
	k := token(c, t, "Gold")
	k.Call(alice, "transfer", args{"to": bob, "amount": 1}).Must(t)
	transfer := args{"to": bob, "amount": 1_000}
	before := c.Snapshot()
	text := k.Call(alice, "transfer", transfer).Must(t)
	c.Revert(before)
	binary := k.Call(alice, "transfer", k.Binary("transfer", transfer)).Must(t)
	t.Logf("transfer: %d gas in JSON, %d in binary", text.GasUsed, binary.GasUsed)
	if string(text.Output) != "true" || string(binary.Output) != "\x01\x01" {
		t.Errorf("results %q and %q", text.Output, binary.Output)
	}
	if binary.GasUsed > 100_000 {
		t.Errorf("a transfer takes %d gas", binary.GasUsed)
	}
	if a, b := text.Events[0], binary.Events[0]; string(a.Data) != string(b.Data) || len(a.Topics) != 3 ||
		len(b.Topics) != 3 || a.Topics[2] != b.Topics[2] {
		t.Errorf("events %s and %s", a.Data, b.Data)
	}
	k.Call(alice, "transfer", json.RawMessage(append(k.Binary("transfer", transfer), 0))).Reverts(
		t, "arguments: not of their types",
	)
	k.Call(alice, "transfer", json.RawMessage(k.Binary("transfer", transfer)[:40])).Reverts(
		t, "arguments: not of their types",
	)
	k.View("symbol", json.RawMessage("\x01\x00")).Reverts(t, "arguments: not of their types")
	if out := k.View(
		"symbol", json.RawMessage("\x01"),
	).Must(t).Output; string(out) != "\x01\x04\x00\x00\x00\x00\x00\x00\x00Gold" {
		t.Errorf("symbol gives %x", out)
	}
}

// vectors are the cases of docs/vectors.json that a contract can be tested with.
type vectors struct {
	ABI struct {
		Values, Refused []struct {
			Type   string
			JSON   json.RawMessage
			Binary *string
		}
	}
}

// functionsByType are the functions, one for each type, that return their argument.
func functionsByType(declared abi.ABI) map[string]string {
	found := map[string]string{}
	for _, f := range declared.Functions {
		if len(f.Args) == 1 && f.Args[0].Name == "v" && f.Returns == f.Args[0].Type {
			found[f.Args[0].Type.String()] = f.Name
		}
	}
	return found
}

func readVectors(t *testing.T) (v vectors) {
	t.Helper()
	text, err := os.ReadFile("../../docs/vectors.json")
	if err == nil {
		err = json.Unmarshal(text, &v)
	}
	if err != nil || len(v.ABI.Values) == 0 || len(v.ABI.Refused) == 0 {
		t.Fatalf("%d values and %d refused ones, error %v", len(v.ABI.Values), len(v.ABI.Refused), err)
	}
	return v
}

func TestVectorsOfTheABI(t *testing.T) {
	for name, least := range map[string]int{"types": 25, "as-types": 22} {
		t.Run(name, func(t *testing.T) { checkVectors(t, deploy(contracttest.New(t), t, name, nil), least) })
	}
}

// checkVectors has a contract return its arguments, in both forms. The contract must know the types of at least the
// given number of values.
func checkVectors(t *testing.T, k *contracttest.Contract, least int) {
	t.Helper()
	functions, asked := functionsByType(k.ABI), 0
	for _, v := range readVectors(t).ABI.Values {
		name, ok := functions[v.Type]
		if !ok {
			continue
		}
		asked++
		if out := k.View(name, json.RawMessage(`{"v":`+string(v.JSON)+`}`)).Must(t).Output; !sameJSON(t, out, v.JSON) {
			t.Errorf("%s %s comes back as %s", v.Type, v.JSON, out)
		}
		binary, err := hex.DecodeString("01" + *v.Binary)
		if err != nil {
			t.Fatal(err)
		}
		if out := k.View(name, json.RawMessage(binary)).Must(t).Output; string(out) != string(binary) {
			t.Errorf("%s %x comes back as %x", v.Type, binary, out)
		}
	}
	if asked < least {
		t.Errorf("%d values were asked for", asked)
	}
	for _, v := range readVectors(t).ABI.Refused {
		name, ok := functions[v.Type]
		if !ok {
			continue
		}
		var data string
		if v.Binary != nil {
			binary, err := hex.DecodeString("01" + *v.Binary)
			if err != nil {
				t.Fatal(err)
			}
			data = string(binary)
		} else if err := json.Unmarshal(v.JSON, &data); err == nil {
			data = `{"v":` + data + `}`
		}
		if r := k.View(name, json.RawMessage(data)); r.OK {
			t.Errorf("%s %q was taken and gave %q", v.Type, data, r.Output)
		}
	}
}

// sameJSON reports whether two texts are the same JSON, apart from indentation and the form of escapes.
func sameJSON(t *testing.T, a, b []byte) bool {
	t.Helper()
	var x, y string
	if json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil {
		return x == y
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, b); err != nil {
		t.Fatal(err)
	}
	return string(a) == compact.String()
}

func TestRecordsInStorageEventsAndCalls(t *testing.T) {
	c := contracttest.New(t)
	alice := c.Account("alice")
	k, other := deploy(c, t, "types", nil), deploy(c, t, "types", nil)
	offer := args{"seller": alice, "price": 5, "note": nil}
	sold := args{"Sold": args{"to": alice, "price": "18446744073709551615"}}
	k.Call(alice, "keep", k.Binary("keep", args{"id": 7, "offer": offer, "state": sold})).Must(t)
	text := `{"seller":"` + alice.Account.String() + `","price":5,"note":null}`
	state := `{"Sold":{"to":"` + alice.Account.String() + `","price":"18446744073709551615"}}`
	shows(t, k, "kept", args{"id": 7}, "["+text+","+state+"]")
	shows(t, k, "kept", args{"id": 8}, "[null,"+state+"]")

	seen := k.Call(alice, "see", args{
		"wide": "340282366920938463463374607431768211455", "state": "Open", "offer": offer,
	}).Must(t).Events[0]
	want := `{"small":-1,"wide":340282366920938463463374607431768211455,"below":1,"state":"Open","offer":` + text +
		`,"pair":[18446744073709551615,true]}`
	if string(seen.Data) != want || len(seen.Topics) != 3 {
		t.Errorf("event %s with %d topics, want %s", seen.Data, len(seen.Topics), want)
	}
	for i, topic := range []string{
		"ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
		"00000000000000000000000000000000ffffffffffffffffffffffffffffffff",
		"0000000000000000000000000000000000000000000000000000000000000001",
	} {
		if hex.EncodeToString(seen.Topics[i][:]) != topic {
			t.Errorf("topic %d is %x, want %s", i, seen.Topics[i], topic)
		}
	}
	for _, binary := range []bool{false, true} {
		given := args{"to": types.Account(other.ID), "offer": offer, "binary": binary}
		if out := k.Call(alice, "relay", given).Must(t).Output; string(out) != text {
			t.Errorf("relayed: %s", out)
		}
	}
}

func TestTypedErrors(t *testing.T) {
	for _, name := range []string{"types", "as-types"} {
		t.Run(name, func(t *testing.T) { checkTypedErrors(t, name) })
	}
}

func checkTypedErrors(t *testing.T, name string) {
	t.Helper()
	c := contracttest.New(t)
	alice := c.Account("alice")
	k, other := deploy(c, t, name, nil), deploy(c, t, name, nil)
	low := args{"have": 7, "need": 10}
	for _, r := range []contracttest.Result{
		k.Call(alice, "refuse", low), k.Call(alice, "refuse", k.Binary("refuse", low)),
	} {
		r.Reverts(t, "")
		if got := k.ABI.Revert(r.Output).String(); got != `TooLow {"have":7,"need":10}` {
			t.Errorf("%q is %s", r.Output, got)
		}
	}
	for _, binary := range []bool{false, true} {
		r := k.Call(alice, "relayRefusal", args{"to": types.Account(other.ID), "have": 7, "need": 10, "binary": binary})
		r.Reverts(t, "")
		passed := k.ABI.Revert(r.Output)
		if passed.By == nil || *passed.By != types.Account(other.ID) {
			t.Fatalf("%x is %+v", r.Output, passed)
		}
		if got := other.ABI.Revert(r.Output[33:]).String(); got != `TooLow {"have":7,"need":10}` {
			t.Errorf("%x is %s of the other", r.Output, got)
		}
	}
}

func TestCallsBetweenContractsInTheBinaryForm(t *testing.T) {
	c := contracttest.New(t)
	k, other := deploy(c, t, "as-types", nil), deploy(c, t, "as-types", nil)
	given := args{"to": types.Account(other.ID), "text": "Grüße 🪙"}
	if out := k.Call(c.Account("alice"), "relayPacked", given).Must(t).Output; string(out) != `"Grüße 🪙"` {
		t.Errorf("relayed: %s", out)
	}
}

// TestGasOfBothForms measures the gas of common calls in both forms and both languages.
func TestGasOfBothForms(t *testing.T) {
	c := contracttest.New(t)
	alice, bob := c.Account("alice"), c.Account("bob")
	both := func(name string, k *contracttest.Contract, function string, given args) {
		before := c.Snapshot()
		text := k.Call(alice, function, given).Must(t).GasUsed
		c.Revert(before)
		binary := k.Call(alice, function, k.Binary(function, given)).Must(t).GasUsed
		c.Revert(before)
		t.Logf("%s: %d gas in JSON, %d in binary", name, text, binary)
		if binary >= text {
			t.Errorf("%s takes %d gas in the binary form, %d in JSON", name, binary, text)
		}
	}
	for _, name := range []string{"nep20", "as-nep20"} {
		k := deploy(c, t, name, args{"name": "T", "symbol": "T", "decimals": 0, "initialSupply": 1_000_000})
		k.Call(alice, "transfer", args{"to": bob, "amount": 1}).Must(t)
		both(name, k, "transfer", args{"to": bob, "amount": 1_000})
	}
	for _, name := range []string{"nft", "as-nft"} {
		k := deploy(c, t, name, args{"symbol": "N"})
		k.Call(alice, "mint", args{"to": alice, "tokenId": "0x01", "properties": "{}"}).Must(t)
		k.Call(alice, "mint", args{"to": bob, "tokenId": "0x02", "properties": "{}"}).Must(t)
		both(name, k, "transfer", args{"to": bob, "tokenId": "0x01", "data": nil})
	}
}

// A compiled contract calls another contract by generated bindings.
func TestCallsByBindings(t *testing.T) {
	c := contracttest.New(t)
	alice := c.Account("alice")
	k, other := deploy(c, t, "caller", nil), types.Account(deploy(c, t, "types", nil).ID)
	kept := k.Call(alice, "keep", args{"other": other, "id": 7, "seller": alice, "price": 5}).Must(t)
	if string(kept.Output) != "5" {
		t.Errorf("kept %s", kept.Output)
	}
	for have, want := range map[int]string{7: "3", 10: "null"} {
		missing := k.Call(alice, "missing", args{"other": other, "have": have, "need": 10}).Must(t)
		if string(missing.Output) != want {
			t.Errorf("with %d there is %s missing, want %s", have, missing.Output, want)
		}
	}
}
