package e2e

import (
	"bytes"
	"encoding/json"
	"flag"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/coder/websocket"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/client"
	"github.com/cairn-chain/cairn/crypto"
	"github.com/cairn-chain/cairn/internal/datadir"
	"github.com/cairn-chain/cairn/internal/testkit/openrpc"
	"github.com/cairn-chain/cairn/types"
)

var update = flag.Bool("update", false, "write api/examples.json anew")

const examplesFile = "../../api/examples.json"

// exampleTime is the time of the examples' genesis, in Unix seconds: the hashes are the same each time.
const exampleTime = 1_800_000_000

// volatile are the members of results that differ with the program, the machine and the time. A block is proven some
// time after it was made.
var volatile = []string{
	"version", "build", "oldest_tx_age_secs", "sync_rate_blocks_per_sec", "created_at", "eta_secs", "proof",
	"proofs", "schedule_digest",
}

// exampleChain is the development chain on which the examples are called, with the calls so far.
type exampleChain struct {
	t        *testing.T
	node     *process
	ws       *websocket.Conn
	declared openrpc.Document
	keys     []crypto.PrivateKey
	time     uint64
	made     []api.Example
}

// startExamples starts the node on a chain whose genesis is always the same.
func startExamples(t *testing.T) *exampleChain {
	t.Helper()
	development, err := datadir.NewDevelopment(api.DevelopmentMnemonic, 10)
	if err != nil {
		t.Fatal(err)
	}
	genesis, err := json.Marshal(development.Genesis(exampleTime))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	data := filepath.Join(dir, "chain")
	files := map[string][]byte{"genesis.json": genesis, "no-blocks": nil}
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	newUser(t).succeeds(nil, "db", "import", "--data-dir", data, "--genesis", filepath.Join(dir, "genesis.json"),
		"--input", filepath.Join(dir, "no-blocks"))
	c := &exampleChain{
		t: t, node: startDev(t, "--data-dir", data, "--block-time", "0"), keys: development.Accounts, time: exampleTime,
	}
	raw := c.post("rpc.discover")
	if c.declared, err = openrpc.Read(raw); err != nil {
		t.Fatal(err)
	}
	c.ws, _, err = websocket.Dial(t.Context(), strings.Replace(c.node.RPC, "http", "ws", 1)+"/ws", nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.ws.CloseNow() })
	return c
}

// post makes a call that must succeed, and returns its result unchanged.
func (c *exampleChain) post(method string, params ...any) json.RawMessage {
	c.t.Helper()
	answer := c.ask(method, params...)
	if answer.Error != nil {
		c.t.Fatalf("%s%v: %s", method, params, answer.Error)
	}
	return answer.Result
}

// answer is the answer to a call.
type answer struct{ Result, Error json.RawMessage }

// ask makes a call: by WebSocket if the method needs it, otherwise by HTTP.
func (c *exampleChain) ask(method string, params ...any) (a answer) {
	c.t.Helper()
	call, err := json.Marshal(map[string]any{
		"jsonrpc": "2.0", "id": 1, "method": method, "params": append([]any{}, params...),
	})
	if err != nil {
		c.t.Fatal(err)
	}
	var body []byte
	if strings.HasSuffix(method, "subscribe") {
		if err = c.ws.Write(c.t.Context(), websocket.MessageText, call); err == nil {
			_, body, err = c.ws.Read(c.t.Context())
		}
	} else {
		var response *http.Response
		if response, err = http.Post(c.node.RPC, "application/json", bytes.NewReader(call)); err == nil {
			defer response.Body.Close()
			body, err = io.ReadAll(response.Body)
		}
	}
	if err == nil {
		err = json.Unmarshal(body, &a)
	}
	if err != nil {
		c.t.Fatalf("%s: %v: %s", method, err, body)
	}
	return a
}

// block makes a block, a second after the previous one.
func (c *exampleChain) block() {
	c.t.Helper()
	c.time++
	c.post("dev_setNextBlockTime", c.time)
	c.post("dev_mine")
}

// sign returns a transaction of an account of the development chain.
func (c *exampleChain) sign(account int, nonce, gas uint64, action client.Action) api.Data {
	c.t.Helper()
	signed, err := types.Sign(types.Transaction{
		ChainID:              api.DevelopmentChainID,
		Sender:               c.account(account),
		Nonce:                nonce,
		GasLimit:             types.Gas(gas),
		MaxFeePerGas:         100,
		MaxPriorityFeePerGas: 2,
		Target:               action.Target,
		Value:                action.Value,
		Payload:              action.Payload,
	}, c.keys[account], [32]byte{})
	if err != nil {
		c.t.Fatal(err)
	}
	return signed.Encode()
}

func (c *exampleChain) account(i int) types.Account { return types.Account(c.keys[i].PublicKey()) }

// show makes a call, compares it with the document, and adds it to the examples.
func (c *exampleChain) show(name, method string, params ...any) json.RawMessage {
	c.t.Helper()
	answered := c.ask(method, params...)
	if answered.Error != nil {
		c.t.Errorf("%s%v: %s", method, params, answered.Error)
		return nil
	}
	result := answered.Result
	declared := c.declared.Methods[method]
	example := api.Example{Name: name, Method: method, Params: []json.RawMessage{}, Result: shortened(c.t, result)}
	for i, param := range params {
		text, err := json.Marshal(param)
		if err != nil {
			c.t.Fatal(err)
		}
		c.valid(text, declared.Params[i].Schema, method+": "+declared.Params[i].Name)
		example.Params = append(example.Params, text)
	}
	c.valid(result, declared.Result.Schema, method)
	c.valid(example.Result, declared.Result.Schema, "the example of "+method)
	c.made = append(c.made, example)
	return result
}

func (c *exampleChain) valid(text []byte, schema map[string]any, at string) {
	c.t.Helper()
	value, err := openrpc.Value(text)
	if err == nil {
		err = c.declared.Validate(value, schema, at)
	}
	if err != nil {
		c.t.Error(err)
	}
}

var long = regexp.MustCompile(`"0x[0-9a-f]{802,}"`)

// shortened returns a result with its long bytes cut.
func shortened(t *testing.T, result json.RawMessage) json.RawMessage {
	t.Helper()
	cut := long.ReplaceAllFunc(result, func(text []byte) []byte {
		return append(slices.Clone(text[:len(`"0x`)+2*api.MaxExampleBytes]), '"')
	})
	var whole map[string]json.RawMessage
	if json.Unmarshal(cut, &whole) == nil && whole["openrpc"] != nil { // the document would contain itself
		whole["methods"], whole["components"] = json.RawMessage("[]"), json.RawMessage(`{"schemas":{}}`)
		var err error
		if cut, err = json.Marshal(whole); err != nil {
			t.Fatal(err)
		}
	}
	return cut
}

// TestExamples makes the calls of api/examples.json in their order, compares the node's answers with the examples and
// its OpenRPC document, and checks that every method has one.
func TestExamples(t *testing.T) {
	t.Parallel()
	c := startExamples(t)
	c.chain()
	c.views()
	c.queries()
	c.development()
	for name := range c.declared.Methods {
		if !slices.ContainsFunc(c.made, func(e api.Example) bool { return e.Method == name }) {
			t.Errorf("%s has no example", name)
		}
	}
	if t.Failed() {
		return
	}
	if *update {
		c.write()
		return
	}
	committed := api.Examples()
	if len(committed) != len(c.made) {
		t.Fatalf("there are %d examples, %d were made: go -C workshop test ./e2e -run TestExamples -update", len(committed),
			len(c.made))
	}
	for i, want := range committed {
		if got := c.made[i]; !same(t, got, want) {
			t.Errorf("example %q of %s: made was\n%s %s\nwritten is\n%s %s", got.Name, got.Method, got.Params, got.Result,
				want.Params, want.Result)
		}
	}
}

// same compares two examples without their volatile parts.
func same(t *testing.T, got, want api.Example) bool {
	t.Helper()
	plain := func(e api.Example) any {
		if e.Method == api.DevIncreaseTime.Name { // the result depends on the clock
			e.Result = nil
		}
		text, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		value, err := openrpc.Value(text)
		if err != nil {
			t.Fatal(err)
		}
		return steady(value)
	}
	return reflect.DeepEqual(plain(got), plain(want))
}

// steady returns a value without its volatile members.
func steady(value any) any {
	switch v := value.(type) {
	case map[string]any:
		for name, member := range v {
			if slices.Contains(volatile, name) {
				v[name] = nil
			} else {
				v[name] = steady(member)
			}
		}
	case []any:
		for i := range v {
			v[i] = steady(v[i])
		}
	}
	return value
}

// write writes the file, with an example per line.
func (c *exampleChain) write() {
	c.t.Helper()
	text := []byte("[\n")
	for i, example := range c.made {
		line, err := json.Marshal(example)
		if err != nil {
			c.t.Fatal(err)
		}
		if i > 0 {
			text = append(text, ",\n"...)
		}
		text = append(text, line...)
	}
	if err := os.WriteFile(examplesFile, append(text, "\n]\n"...), 0o644); err != nil {
		c.t.Fatal(err)
	}
}
