package rust

import (
	"strings"
	"testing"

	"github.com/cairn-chain/cairn/kit/contracttest"
)

// described returns a contract's writes as decoded by its ABI, a line each. The ABI must describe all of them.
func described(t *testing.T, k *contracttest.Contract, call contracttest.Result) []string {
	t.Helper()
	var lines []string
	for _, w := range call.Trace.Root.Storage {
		slot, ok := k.ABI.Slot(w.Key)
		if !ok {
			t.Errorf("the key %s is not described", w.Key)
			continue
		}
		value, err := k.ABI.Stored(slot.Value, w.New)
		if err != nil {
			t.Errorf("%s: error %v", w.Key, err)
		}
		if broken, err := k.ABI.Stored(slot.Value, append(w.New[:len(w.New):len(w.New)], 0)); err == nil &&
			slot.Value.String() != "bytes" && slot.Value.String() != "string" {
			t.Errorf("%s with a byte more is %s", w.Key, broken)
		}
		line := slot.Cell.Name + " "
		if slot.Key != nil {
			line = slot.Cell.Name + "[" + string(slot.Key) + "] "
		}
		lines = append(lines, line+string(value))
	}
	return lines
}

// TestStorageIsRead compares the values that both SDKs store, decoded by their ABIs, with the expected ones.
func TestStorageIsRead(t *testing.T) {
	c := contracttest.New(t)
	alice := c.Account("alice")
	id := `"` + alice.Account.String() + `"`
	for _, test := range []struct {
		module, function string
		args             args
		want             []string
	}{
		{
			"types", "keep",
			args{"id": 258, "offer": args{"seller": alice, "price": 5, "note": "hi"}, "state": "Open"},
			[]string{`offer[258] {"seller":` + id + `,"price":5,"note":"hi"}`, `state "Open"`},
		},
		{
			"types", "describe",
			args{"small": -2, "big": "18446744073709551616", "text": "hé", "state": args{"Sold": args{"to": alice, "price": 7}}},
			[]string{
				`names 1`, `names[0] "hé"`,
				`below[[-2,"hé"]] ["0x68c3a9",{"Sold":{"to":` + id + `,"price":7}}]`,
				`wide[{"Sold":{"to":` + id + `,"price":7}}] "18446744073709551616"`,
			},
		},
		{
			"as-types", "describe", args{"small": -2, "big": "18446744073709551616", "text": "hé"},
			[]string{`below[-2] "hé"`, `wide["18446744073709551616"] true`, `byText["hé"] -2`},
		},
		{
			"as-types", "addSupply", args{"to": alice, "amount": "18446744073709551616"},
			[]string{`supplies[` + id + `] "18446744073709551616"`},
		},
		{
			"as-types", "shelve", args{"at": "0xdeadbeef", "shelf": args{
				"deals": []any{}, "state": "Open", "four": "0xdeadbeef", "below": "-1",
			}},
			[]string{
				`shelves["0xdeadbeef"] {"deals":[],"state":"Open","four":"0xdeadbeef","below":"-1"}`, `state "Open"`,
			},
		},
	} {
		k := deploy(c, t, test.module, nil)
		r := k.Call(alice, test.function, test.args).Must(t)
		got := described(t, k, r)
		if strings.Join(got, "\n") != strings.Join(test.want, "\n") {
			t.Errorf("%s %s:\n%s\nwant\n%s", test.module, test.function, strings.Join(got, "\n"), strings.Join(test.want, "\n"))
		}
	}
}

// TestStorageOfTheRegistry uses an example of which both versions describe all of their storage.
func TestStorageOfTheRegistry(t *testing.T) {
	both(t, "registry", func(t *testing.T, module string) {
		c := contracttest.New(t)
		alice := c.Account("alice")
		k := deploy(c, t, module, args{"delay": 60})
		r := k.Call(alice, "announce", args{"name": "logic", "contract": k.Account()}).Must(t)
		got := described(t, k, r)
		if len(got) != 1 || !strings.HasPrefix(got[0], `next["logic"] {"contract":"`+k.Account().String()+`","from":`) {
			t.Errorf("got %q", got)
		}
	})
}
