package e2e

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
)

// tampering is one lie about the answers to one method.
type tampering struct {
	name   string
	method string
	change func(result any) any // returns the false result for a true one, both as decodeJSON returns them
	sends  bool                 // the client has to send before this lie is told
	want   string               // the check that must find the lie
}

// payment changes the JSON of the first block with transactions in a page.
func payment(change func(item any) any) func(any) any {
	return func(result any) any {
		page := result.([]any)
		for i, item := range page {
			if len(item.(map[string]any)["block"].(map[string]any)["transactions"].([]any)) > 0 {
				page[i] = change(item)
				return page
			}
		}
		return page
	}
}

// first applies change to the first element of a page whose first height is 0: block 0.
func first(change func(item any) any) func(any) any {
	return func(result any) any {
		page := result.([]any)
		if len(page) > 0 && fmt.Sprint(page[0].(map[string]any)["block"].(map[string]any)["height"]) == "0" {
			page[0] = change(page[0])
		}
		return page
	}
}

// at falsifies the member at path in each result.
func at(path ...any) func(any) any {
	return func(result any) any {
		if result == nil { // a receipt that does not exist yet
			return nil
		}
		return edit(result, path, falsify)
	}
}

// put sets the member at path.
func put(value any, path ...any) func(any) any {
	return func(result any) any {
		if result == nil {
			return nil
		}
		return edit(result, path, func(any) any { return value })
	}
}

// raw flips a bit in the byte at an offset of an item's raw.
func raw(offset int) func(any) any {
	return func(item any) any {
		return edit(item, []any{"raw"}, func(text any) any { return flipByte(text.(string), offset) })
	}
}

// lastHeader flips a bit in the byte at an offset of the last header in a page.
func lastHeader(offset int) func(any) any {
	return func(result any) any {
		page := result.([]any)
		if len(page) > 1 { // the first page contains only header 0
			page[len(page)-1] = edit(page[len(page)-1], []any{"header"}, func(text any) any {
				return flipByte(text.(string), offset)
			})
		}
		return page
	}
}

// tamperings has a lie for each thing that the client must not believe. The offsets are those of docs/protocol.md,
// "Blocks".
var tamperings = []tampering{
	{name: "header chain_id", method: "svc_getBlocks", change: payment(raw(4)), want: "chain_id"},
	{name: "header height", method: "svc_getBlocks", change: payment(raw(12)), want: "height"},
	{name: "header parent", method: "svc_getBlocks", change: payment(raw(20)), want: "parent"},
	{name: "header producer", method: "svc_getBlocks", change: payment(raw(60)), want: "producer"},
	{name: "header transactions_root", method: "svc_getBlocks", change: payment(raw(92)), want: "transactions_root"},
	{name: "header receipts_root", method: "svc_getBlocks", change: payment(raw(124)), want: "receipts_root"},
	{name: "header state_root", method: "svc_getBlocks", change: payment(raw(156)), want: "state_root"},
	{name: "header gas_used", method: "svc_getBlocks", change: payment(raw(188)), want: "gas_used"},
	{name: "header base_fee", method: "svc_getBlocks", change: payment(raw(204)), want: "base_fee"},
	{name: "block seal", method: "svc_getBlocks", change: payment(raw(216)), want: "seal"},
	{name: "number of transactions", method: "svc_getBlocks", change: payment(raw(280)), want: "decodes"},
	{name: "value of a transfer", method: "svc_getBlocks", change: payment(raw(288 + 1 + 104)), want: "transactions_root"},
	{name: "byte after a block", method: "svc_getBlocks", want: "decodes", change: payment(func(item any) any {
		return edit(item, []any{"raw"}, func(text any) any { return text.(string) + "00" })
	})},
	{name: "block left out", method: "svc_getBlocks", want: "height", change: func(result any) any {
		if page := result.([]any); len(page) > 1 {
			return page[1:]
		}
		return result
	}},
	{name: "state root of block 0", method: "svc_getBlocks", change: first(raw(156)), want: "genesis_header"},
	{name: "JSON of a block", method: "svc_getBlocks", change: payment(at("block", "stateRoot")), want: "json_block"},

	{name: "allocation of genesis", method: "svc_getGenesis", change: at("raw"), want: "genesis_header"},
	{name: "hash of genesis", method: "svc_getGenesis", change: at("hash"), want: "genesis_hash"},

	{name: "receipt's status", method: "svc_getTransactionReceipt", change: put("0x0", "status"), want: "receipts_root"},
	{name: "receipt's gasUsed", method: "svc_getTransactionReceipt", change: at("gasUsed"), want: "receipts_root"},
	{name: "receipt's price", method: "svc_getTransactionReceipt", change: at("effectiveGasPrice"), want: "json_receipt"},
	{name: "receipt denied", method: "svc_getTransactionReceipt", change: put(nil), want: "receipts_present"},
	{
		name:   "quantity with a leading zero",
		method: "svc_getTransactionReceipt",
		change: put("0x05208", "gasUsed"),
		want:   "json_form",
	},

	{name: "balance", method: "svc_getBalance", change: at(), want: "balances"},
	{name: "nonce", method: "svc_getTransactionCount", change: at(), want: "nonces"},

	{name: "proof's sibling", method: "svc_getAccountProof", change: at("siblings", 0), want: "proof_verifies"},
	{name: "proof's end", method: "svc_getAccountProof", change: put("empty", "end", "type"), want: "proof_verifies"},
	{name: "proof's root", method: "svc_getAccountProof", change: at("stateRoot"), want: "proof_state_root"},
	{name: "proof's key", method: "svc_getAccountProof", change: at("key"), want: "proof_key"},
	{
		name:   "proof of a height to come",
		method: "svc_getAccountProof",
		change: put(json.Number("1000000"), "height"),
		want:   "proof_height",
	},
	{name: "JSON of the parameters", method: "svc_getParameters", change: at("max_base_fee"), want: "json_parameters"},

	{name: "inclusion proof's leaf", method: "svc_getInclusionProof", change: at("transaction", "leaf"), want: "inclusion"},
	{name: "inclusion proof's number", method: "svc_getInclusionProof", change: at("receipt", "number"), want: "inclusion"},
	{name: "followed header", method: "svc_getHeaders", change: lastHeader(60), want: "followed_by_headers"},
	{name: "seal of a followed header", method: "svc_getHeaders", change: lastHeader(216), want: "followed_by_headers"},

	{name: "hash of a sent transaction", method: "svc_sendRawTransaction", change: at(), sends: true, want: "sent_hash"},
	{name: "estimate", method: "svc_estimateGas", change: at(), sends: true, want: "estimated_gas"},
}

// proxy serves the answers of the node at url except for the lie, and returns its own URL. By the end of the test it
// must have told the lie.
func (lie tampering) proxy(t *testing.T, url string) string {
	t.Helper()
	told := make(chan struct{}, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Errorf("proxy: error %v", err)
			return
		}
		request, err := http.NewRequestWithContext(r.Context(), r.Method, url, bytes.NewReader(body))
		if err != nil {
			t.Errorf("proxy: error %v", err)
			return
		}
		request.Header = r.Header.Clone()
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Errorf("proxy: error %v", err)
			return
		}
		defer response.Body.Close()
		answer, err := io.ReadAll(response.Body)
		if err != nil {
			t.Errorf("proxy: error %v", err)
			return
		}
		w.Header().Set("Content-Type", response.Header.Get("Content-Type"))
		w.WriteHeader(response.StatusCode)
		if _, err := w.Write(lie.tell(t, body, answer, told)); err != nil {
			t.Errorf("proxy: error %v", err)
		}
	}))
	t.Cleanup(func() {
		server.Close()
		select {
		case <-told:
		default:
			t.Errorf("no answer to %s passed", lie.method)
		}
	})
	return server.URL
}

// tell returns the answer with the results of the lie's method changed. Request and answer may be batches.
func (lie tampering) tell(t *testing.T, request, answer []byte, told chan<- struct{}) []byte {
	methods := map[any]any{} // by id
	for _, call := range elements(decodeJSON(t, request)) {
		methods[call["id"]] = call["method"]
	}
	document := decodeJSON(t, answer)
	for _, result := range elements(document) {
		if value, ok := result["result"]; ok && methods[result["id"]] == lie.method {
			result["result"] = lie.change(value)
			select {
			case told <- struct{}{}:
			default:
			}
		}
	}
	return encodeJSON(t, document)
}

// elements returns the objects of a batch, or the single object.
func elements(document any) []map[string]any {
	batch, ok := document.([]any)
	if !ok {
		batch = []any{document}
	}
	objects := make([]map[string]any, len(batch))
	for i, object := range batch {
		objects[i] = object.(map[string]any)
	}
	return objects
}

// edit replaces the value at path (member names and indices) in a JSON value, which it changes, by the result of
// change.
func edit(value any, path []any, change func(any) any) any {
	if len(path) == 0 {
		return change(value)
	}
	switch key := path[0].(type) {
	case string:
		object := value.(map[string]any)
		object[key] = edit(object[key], path[1:], change)
	case int:
		array := value.([]any)
		array[key] = edit(array[key], path[1:], change)
	}
	return value
}

// falsify changes a value as little as possible: a number or quantity by one, hex in its last bit.
func falsify(value any) any {
	switch value := value.(type) {
	case json.Number:
		number, err := value.Int64()
		if err != nil {
			panic(err)
		}
		return json.Number(strconv.FormatInt(number+1, 10))
	case string:
		// A quantity has no leading zero and at most 64 bits; the data here are longer.
		if digits, ok := strings.CutPrefix(value, "0x"); ok && len(digits) <= 16 {
			number, err := strconv.ParseUint(digits, 16, 64)
			if err != nil {
				panic(err)
			}
			return "0x" + strconv.FormatUint(number+1, 16)
		}
		return flipByte(value, len(strings.TrimPrefix(value, "0x"))/2-1)
	default:
		panic(fmt.Sprintf("no way to falsify %T", value))
	}
}

// flipByte flips the lowest bit of a byte in hex, with or without 0x.
func flipByte(text string, offset int) string {
	digits := strings.TrimPrefix(text, "0x")
	data, err := hex.DecodeString(digits)
	if err != nil {
		panic(err)
	}
	data[offset] ^= 1
	return strings.TrimSuffix(text, digits) + hex.EncodeToString(data)
}

// decodeJSON decodes any JSON value. Numbers become json.Number.
func decodeJSON(t *testing.T, data []byte) any {
	t.Helper()
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		t.Errorf("%v: got %s", err, data)
	}
	return value
}

func encodeJSON(t *testing.T, value any) []byte {
	t.Helper()
	data, err := json.Marshal(value)
	if err != nil {
		t.Error(err)
	}
	return data
}
