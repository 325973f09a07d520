package cli

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/cli/tracing"
	"github.com/cairn-chain/cairn/types"
)

// TestTraceReadsStorage has writes that match the ABI, and writes with the same names and values of other types.
func TestTraceReadsStorage(t *testing.T) {
	node := startNode(t)
	desk := newDesk(t, node)
	if o := desk.run(t, "keys", "alias", "gold", gold); o.exit != 0 {
		t.Fatalf("got %+v, want exit code 0", o)
	}
	id := types.ContractID{0xC0}
	node.abi = strings.TrimSuffix(goldABI, "}") + `,"storage":{"encoding":"prefixed","cells":[
		{"name":"supply","kind":"cell","value":"u64"},{"name":"held","kind":"map","key":"account","value":"account"},
		{"name":"memo","kind":"map","key":"string","value":"string"},{"name":"all","kind":"list","value":"u8"}]}}`
	five := []byte{5, 0, 0, 0, 0, 0, 0, 0}
	node.trace = func(trace *api.Trace) {
		trace.Root.Storage = []api.TraceWrite{
			{Key: []byte("\x06supply"), New: five},
			{Key: []byte("\x06supply"), Old: five, New: []byte("5")},
			{Key: append([]byte("\x04held"), id[:]...), Old: id[:], New: id[1:]},
			{Key: []byte("\x04held\x01"), New: []byte{5}},
			{Key: []byte("\x04memo\x02\x00hi"), New: []byte("\x42\x00" + gold)},
			{Key: []byte("\x04memo\x03\x00\xe2\x80\xae"), New: []byte("\x03\x00\xe2\x80\xae")},
			{Key: []byte("\x03all"), New: []byte{1, 0, 0, 0}},
			{Key: []byte("\x03all\x00\x00\x00\x00"), New: []byte{7}},
			{Key: []byte("\x05other"), New: []byte{7}},
		}
	}
	o := desk.run(t, "tx", "trace", hash("02"))
	for _, want := range []string{
		"storage supply: nothing → 5\n",
		"storage supply: 5 → 0x35\n",
		`storage held["gold"]: "gold" → 0x` + strings.Repeat("00", 31) + "\n",
		"storage held[0x01]: nothing → 0x05\n",
		`storage memo["hi"]: nothing → "` + gold + "\"\n",
		"storage memo[0x0300e280ae]: nothing → 0x0300e280ae\n",
		"storage all.length: nothing → 1\n",
		"storage all[0]: nothing → 7\n",
		"storage other: nothing → 0x07\n",
	} {
		if !strings.Contains(o.out, want) {
			t.Errorf("%q is not in %s", want, o.out)
		}
	}
	got := result[tracing.Trace](t, desk.run(t, "tx", "trace", hash("02"), "--json")).Root.Storage
	want := []string{
		`{"name":"supply","type":"u64","new":5}`,
		`{"name":"supply","type":"u64","old":5}`,
		`{"name":"held","key":"` + gold + `","type":"account","old":"` + gold + `"}`,
		`null`,
	}
	for i, want := range want {
		if text, err := json.Marshal(got[i].Decoded); err != nil || string(text) != want || len(got[i].Key) == 0 {
			t.Errorf("write %d: %s, %v, want %s", i, text, err, want)
		}
	}
}
