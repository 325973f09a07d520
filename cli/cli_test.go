package cli

import (
	"context"
	"encoding/json"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/cli/invoke"
	"github.com/cairn-chain/cairn/jsonrpc"
	"github.com/cairn-chain/cairn/types"
)

// hash is 32 bytes in hex that begin with these two digits.
func hash(begin string) string { return "0x" + begin + strings.Repeat("0", 62) }

// TestSuccess runs each command for programs and for people.
func TestSuccess(t *testing.T) {
	node := startNode(t)
	tests := []struct {
		command string // $HOME in it is the desk's home directory
		json    string // a part of the expected document
		people  string // a part of the expected text
	}{
		{"--version", `"version":"1.2.3"`, "cairn 1.2.3, go"},
		{"version", `"protocolVersion":2,"scheduleDigest":"0x`, "\nprotocol version 2, gas schedule 0x00"},
		{"--help", `"help":"A blockchain node`, "Keys and coins:"},
		{"help send", `"help":"Send coins`, "Usage:\n  cairn send TO AMOUNT [flags]"},
		{"keys list --help", `"help":"List keys`, "Usage:"},
		{"completion bash", `"script":"# bash completion`, "# bash completion"},
		{"completion zsh", `"script":"#compdef cairn`, "#compdef cairn"},
		{"completion fish", `"script":"# fish completion`, "# fish completion"},
		{"keys list", `[{"name":"alice","kind":"key","account":"0xf9308a01`, "alice  key   regtest  bcrt1p"},
		{"keys show alice", `"name":"alice"`, "Network  regtest"},
		{
			"keys export alice --yes --password-file $HOME/password.txt", `"privateKey":"` + strings.Repeat("0", 63) + `3"`,
			strings.Repeat("0", 63) + "3\n",
		},
		{"account dev0", `"balance":"0x3b9aca00","nonce":"0x3","authority":"0x4e5df36c`, "Balance     10 coins"},
		{"account alice --transactions 0", `"transactions":[]`, "Next nonce  4"},
		{
			"account alice --payments 1", `"payments":[{"cursor":""`,
			"TIME                  PAYMENT  AMOUNT     COUNTERPARTY",
		},
		{"account alice --payments 2", `"kind":"contract"`, "1970-01-01T00:00:00Z  self     1.5 coins  alice"},
		{"tx " + hash("01"), `"status":"pending"`, "Status        pending"},
		{"tx " + hash("02"), `"receipt":{"transactionHash":"0x02`, "Error         reverted"},
		{"block", `"height":17`, "Height        17"},
		{"block 17 --full", `"type":"transfer"`, "transfer"},
		{"block 0x11", `"height":17`, "0x0900000000"},
		{"block " + hash("09"), `"height":17`, "Gas used      0 of 0"},
		{"fees", `"base_fee":"0xa"`, "   17        11  25.00 %"},
		{"mempool", `"pending_count":2`, "held               1          0  yes"},
		{"status", `"node":{"version":"1.0"`, "Reason            a block from the future"},
		{"status", `"verification":"stateless:S1"`, "Proofs            blocks 3 to 12, 5 behind"},
		{"contract list --limit 3", `"contract_id":"0x0000`, "BLOCK  NAME  ALIAS  CONTRACT"},
		{"contract show " + gold, `"abi":{"functions":[{"name":"init"`, "Code      900 bytes, SHA-256 0x"},
		{"contract show " + bare, `"abi":null`, "The code contains no ABI"},
		{"events", `"event_name":"Transfer"`, `    5  Transfer  0xc0`},
		{
			"events --contract " + gold + " --event Transfer --from-block 2 --to-block 9 --after seen --limit 1",
			`"cursor":"next"`, "There may be more: --after next",
		},
		{"token balance " + gold + " alice", `"balance":"0x3039"`, "123.45 GLD\n"},
		{"token allowance " + gold + " alice dev1", `"allowance":"0x96"`, "1.5 GLD\n"},
		{"token holders " + gold + " --limit 1", `"balance":"0x1f4"`, "5 GLD"},
		{"rpc svc_blockNumber", `"result":"0x11"`, `"0x11"` + "\n"},
		{"token transfer " + gold + " dev1 1.5 --from dev0", `"status":"0x1"`, "New balance  10 coins"},
		{"call " + gold + " balanceOf --address alice", `"result":{"function":"balanceOf"`, `{"function":"balanceOf"`},
		{
			"call " + gold + " transfer --to alice --amount 5 --from dev0 --dry-run", `"function":"transfer","args":"{`,
			"Function       transfer",
		},
		{"call " + gold + " transfer --help", `"help":"transfer(to account, amount u64) bool`, "--amount u64"},
		{"tx trace " + hash("02"), `"truncated":true`, "success, 90000 gas"},
		{"deploy $HOME/bare.wasm --from dev0 --dry-run", `"type":"deploy","from"`, "Contract       0x"},
		{"rpc svc_getBlockByNumber latest true", `"height":17`, `  "height": 17,`},
		{"rpc svc_getTransactionByHash " + hash("00"), `"result":null`, "null\n"},
		{"send dev1 1.5 --from dev0", `"status":"0x1"`, "New balance  10 coins"},
		{"send dev1 1.5 --from dev0 --no-wait", `"transactionHash":"0x`, "Transaction  0x"},
		{"send dev1 1.5 --from dev0 --dry-run", `"maxCost":"0x8f405d0"`, "Costs at most  1.5021 coins"},
		{"send dev1 1 --from alice --password-file $HOME/password.txt", `"fee":"0x35b60"`, "Fee          0.0022 coins"},
		{"configure --admin-key $HOME/admin.key --gas-limit 60000000", `"status":"0x1"`, "Status       success"},
		{
			"configure --admin-key $HOME/admin.key --target-bps 4000 --dry-run", `"type":"configure"`,
			"New target              4000 bps",
		},
	}
	desk := newDesk(t, node)
	desk.write(t, "admin.key", strings.Repeat("1", 64)+"\n")
	desk.write(t, "bare.wasm", "\x00asm\x01\x00\x00\x00")
	for _, test := range tests {
		t.Run(test.command, func(t *testing.T) {
			args := strings.Fields(strings.ReplaceAll(test.command, "$HOME", desk.home))
			o := desk.run(t, append(slices.Clone(args), "--json")...)
			o.document(t)
			if o.exit != 0 || !strings.Contains(o.out, test.json) {
				t.Errorf("exit code %d, %.500s%.500s, want %s", o.exit, o.out, o.err, test.json)
			}
			o = desk.run(t, args...)
			if o.exit != 0 || !strings.Contains(o.out, test.people) {
				t.Errorf("exit code %d, %.500s%.500s, want %s", o.exit, o.out, o.err, test.people)
			}
		})
	}
}

func TestWrongUsage(t *testing.T) {
	node := startNode(t)
	desk := newDesk(t, node)
	desk.write(t, "admin.key", strings.Repeat("1", 64)+"\n")
	desk.write(t, "bare.wasm", "\x00asm\x01\x00\x00\x00")
	desk.write(t, "gold.wasm", goldModule())
	desk.write(t, "unknown.toml", `rpc-ulr = "x"`)
	desk.write(t, "empty", "")
	testnet := types.Testnet.Address(types.Account{1})
	for _, command := range []string{
		"", "nope", "--nope", "sned x", "keys", "keys nope", "help nope", "completion", "completion tcsh",
		"send", "send dev1", "send dev1 1 2 --from dev0", "send dev1 1", "send dev1 1 --from dev0 --nope",
		"send dev1 1x --from dev0", "send dev1 0.000000001 --from dev0", "send dev1 -- -1 --from dev0",
		"send nobody 1 --from dev0", "send dev1 1 --from nobody", "send " + testnet + " 1 --from dev0",
		"send dev1 1 --from " +
			hash("01"), "send dev1 1 --from dev0 --nonce x", "send dev1 1 --from dev0 --no-wait --dry-run",
		"send dev1 1 --from alice", "send dev1 1 --from alice --password-file $HOME/none",
		"send dev1 1 --from alice --password-file $HOME/empty",
		"account", "account nobody", "account dev10", "account " + testnet, "tx", "tx 0x12", "block x", "block 1 2", "rpc",
		"configure", "configure --admin-key $HOME/none --gas-limit 5",
		"configure --admin-key $HOME/password.txt --gas-limit 5",
		"configure --admin-key $HOME/admin.key", "configure --admin-key $HOME/admin.key --gas-limit 50000000",
		"configure --admin-key $HOME/admin.key --producer nobody",
		"configure --admin-key $HOME/admin.key --fee-recipient " + testnet,
		"keys new", "keys new Bad --password-file $HOME/password.txt", "keys new dev3 --password-file $HOME/password.txt",
		"keys new bob --words 13 --password-file $HOME/password.txt",
		"keys new bob --network moon --password-file $HOME/password.txt",
		"keys new bob", "keys import bob", "keys import bob --mnemonic-file $HOME/password.txt",
		"keys import bob --private-key-file $HOME/none",
		"keys import bob --mnemonic-file a --private-key-file b", "keys show nobody", "keys show ../x",
		"keys export nobody --yes",
		"keys export alice", "keys delete alice", "keys delete nobody --yes", "keys alias shop nobody",
		"keys alias Shop dev0",
		"call", "call " + gold, "call " + gold + " none", "call " + gold +
			" init", "call nobody f", "call " + gold + " stop", "call " + gold + " transfer extra --from dev0",
		"call " + gold + " transfer --to dev1 --from dev0", "call " + gold + " transfer --to dev1 --amount x --from dev0",
		"call " + gold + " transfer --to nobody --amount 5 --from dev0", "call " + gold + " transfer --to " + testnet +
			" --amount 5 --from dev0",
		"call " + gold + " transfer --to dev1 --amount 5 --nope x --from dev0", "call " + gold +
			" transfer --to dev1 --amount",
		"call " + gold + " transfer --to dev1 --args {} --from dev0", "call " + gold +
			" transfer --args {} --from dev0", "call " + bare + " f --args { --from dev0",
		"call " + gold + " stop --from dev0 --no-wait --dry-run", "call " + gold + " stop --from dev0 --value x",
		"deploy", "deploy $HOME/none.wasm --from dev0", "deploy $HOME/gold.wasm --from dev0",
		"deploy $HOME/gold.wasm --args {} --from dev0",
		"deploy $HOME/bare.wasm --args {", "deploy $HOME/bare.wasm --from dev0 --alias alice",
		"deploy $HOME/bare.wasm --from dev0 --alias Bad",
		"deploy $HOME/bare.wasm --from dev0 --alias a --no-wait", "deploy $HOME/bare.wasm --from dev0 --value x", "tx trace",
		"tx trace 0x12",
		"contract", "contract show", "contract show nobody", "contract list --limit x", "events x",
		"events --contract nobody",
		"token", "token balance " + gold, "token balance " + gold +
			" nobody", "token transfer " + gold + " dev1 1.555 --from dev0",
		"token transfer " + gold + " dev1 1", "token deploy $HOME/gold.wasm --from dev0", "token check " +
			gold, "token check " + gold + " --from " + hash("01"),
		"status --config $HOME/unknown.toml", "status --config $HOME/none.toml", "status --timeout soon",
		"status --rpc-url 127.0.0.1:8777",
		"status --api-key-file $HOME/none",
	} {
		t.Run(command, func(t *testing.T) {
			args := strings.Fields(strings.ReplaceAll(command, "$HOME", desk.home))
			o := desk.run(t, append([]string{"--json"}, args...)...)
			d := o.document(t)
			if o.exit != 2 || d.Error == nil || d.Error.Code != 2 || strings.Contains(d.Error.Message, "\n") {
				t.Errorf("exit code %d, %s%s", o.exit, o.out, o.err)
			}
			if command == "" {
				return // people get help instead
			}
			if o = desk.run(t, args...); o.exit != 2 || o.out != "" || strings.Count(o.err, "\n") != 1 {
				t.Errorf("for people: exit code %d, %q, %q", o.exit, o.out, o.err)
			}
		})
	}
	if len(node.sent) != 0 {
		t.Errorf("%d transactions were sent, want 0", len(node.sent))
	}
}

// TestWrongCommand names the unknown command, whatever flags follow it, and the most similar one.
func TestWrongCommand(t *testing.T) {
	desk := newDesk(t, nil)
	for _, test := range []struct{ command, says string }{
		{"balance --x", `cairn has no command "balance", did you mean account?`},
		{"nothing", `cairn has no command "nothing"`},
		{"acount alice --x", `cairn has no command "acount", did you mean account?`},
		{"acount --home", `cairn has no command "acount", did you mean account?`},
		{"keys nwe bob --x", `cairn keys has no command "nwe", did you mean new?`},
		{"--x acount", "unknown flag: --x"},
		{"keys --x", "unknown flag: --x"},
		{"account alice --x", "unknown flag: --x"},
	} {
		if o := desk.run(t, strings.Fields(test.command)...); o.exit != 2 || o.err != "Error: "+test.says+"\n" {
			t.Errorf("%s: exit code %d, %q", test.command, o.exit, o.err)
		}
	}
}

// TestJSONAfterTheMistake: --json takes effect even after a wrong flag, where flags are no longer parsed.
func TestJSONAfterTheMistake(t *testing.T) {
	desk := newDesk(t, nil)
	for _, args := range [][]string{{"status", "--nope", "--json"}, {"nope", "--json"}, {"--nope", "--json=true"}} {
		if d := desk.run(t, args...).document(t); d.Error.Code != 2 {
			t.Errorf("%q: %+v", args, d.Error)
		}
	}
	if o := desk.run(t, "status", "--nope", "--", "--json"); o.out != "" || o.exit != 2 {
		t.Errorf("an argument was taken for the flag: got %+v, want out empty and exit code 2", o)
	}
}

func TestMistypedFlags(t *testing.T) {
	desk := newDesk(t, nil)
	for words, says := range map[string]string{
		"status --rpc-ulr x":                   "unknown flag: --rpc-ulr, did you mean --rpc-url?",
		"status --nothing-like-it":             "unknown flag: --nothing-like-it\n",
		"status --timeout 5":                   `--timeout: "5" is not a duration such as "1s"`,
		"send dev1 1 --from dev0 --nonce -1":   `--nonce: "-1" is not a whole number of at least 0`,
		"send dev1 1 --from dev0 --dry-run=ja": `--dry-run: "ja" is not true or false`,
	} {
		if o := desk.run(t, strings.Fields(words)...); o.exit != 2 || !strings.Contains(o.err, says) {
			t.Errorf("%s: got %+v, want exit code 2 and %q", words, o, says)
		}
	}
}

// A user who confuses http with https, or whose system does not trust a certificate, gets a message that says so.
func TestTransportHints(t *testing.T) {
	plain, secure := httptest.NewServer(http.NotFoundHandler()), httptest.NewUnstartedServer(http.NotFoundHandler())
	defer plain.Close()
	secure.Config.ErrorLog = log.New(io.Discard, "", 0)
	secure.StartTLS()
	defer secure.Close()
	closing, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer closing.Close()
	go func() {
		for {
			connection, err := closing.Accept()
			if err != nil {
				return
			}
			_, _ = connection.Read(make([]byte, 4096)) // the request does not matter
			_ = connection.Close()
		}
	}()
	desk := newDesk(t, nil)
	for url, says := range map[string]string{
		"https" + strings.TrimPrefix(plain.URL, "http"): "try http://",
		secure.URL:                          "--ca-file",
		"http://" + closing.Addr().String(): "try https://",
	} {
		if o := desk.run(t, "status", "--rpc-url", url); o.exit != 3 || !strings.Contains(o.err, says) {
			t.Errorf("%s: got %+v, want exit code 3 and %q", url, o, says)
		}
	}
}

func TestOperationFails(t *testing.T) {
	reason := "out_of_gas"
	tests := []struct {
		name, command string
		node          func(*fakeNode)
		code          int
		reason        any
	}{
		{"unknown method", "rpc svc_nope", nil, -32601, nil},
		{"bad parameter", "rpc svc_getBalance 5", nil, -32602, "wrong_type"},
		{"the value cannot be paid", "send dev1 11 --from dev0", nil, -32004, "cannot_pay"},
		{"the fee cannot be paid", "send dev1 10 --from dev0", nil, -32004, "cannot_pay"},
		{"a dry run that cannot be paid", "send dev1 10 --from dev0 --dry-run", nil, -32004, "cannot_pay"},
		{
			"a given fee cannot be paid", "send dev1 1 --from dev0 --max-fee 1000000000 --gas-limit 21000", nil, -32004,
			"cannot_pay",
		},
		{"refused", "send dev1 1 --from dev0", func(n *fakeNode) { n.refuse = api.ErrNonceTooLow }, -32003, "nonce_too_low"},
		{
			"refused at once", "send dev1 1 --from dev0 --no-wait", func(n *fakeNode) { n.refuse = api.ErrMempoolFull }, -32007,
			"mempool_full",
		},
		{
			"not the admin", "configure --admin-key $HOME/admin.key --gas-limit 5",
			func(n *fakeNode) { n.refuse = api.ErrNotAdmin }, -32009, "not_admin",
		},
		{"fails in its block", "send dev1 1 --from dev0", func(n *fakeNode) {
			n.receipt = func(r *api.Receipt) { r.Status, r.Error = 0, &reason }
		}, -32010, reason},
		{"no such transaction", "tx " + hash("00"), nil, 1, nil},
		{"no such transaction to trace", "tx trace " + hash("00"), nil, 1, nil},
		{"no such contract", "contract show " + hash("05"), nil, 1, nil},
		{"no such contract to call", "call " + hash("05") + " f", nil, -32011, "no_such_contract"},
		{"no such token", "token balance " + hash("05") + " dev0", nil, -32011, "no_such_contract"},
		{"a call fails in its block", "call " + gold + " stop --from dev0 --trace", func(n *fakeNode) {
			n.receipt = func(r *api.Receipt) { r.Status, r.Error = 0, &reason }
		}, -32010, reason},
		{"no such block", "block 18", nil, 1, nil},
		{"no block with the hash", "block " + hash("00"), nil, 1, nil},
		{"wrong password", "send dev1 1 --from alice --password-file $HOME/wrong.txt", nil, 1, nil},
		{"the name is already in use", "keys new alice --password-file $HOME/password.txt", nil, 1, nil},
		{"the alias is taken", "keys alias alice dev0", nil, 1, nil},
		{"damaged", "keys show torn", nil, 1, nil},
		{"damaged account", "account torn", nil, 1, nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			node := startNode(t)
			if test.node != nil {
				test.node(node)
			}
			desk := newDesk(t, node)
			desk.write(t, "admin.key", strings.Repeat("1", 64)+"\n")
			desk.write(t, "wrong.txt", "wrong\n")
			desk.write(t, "keys/torn.json", "{")
			args := strings.Fields(strings.ReplaceAll(test.command, "$HOME", desk.home))
			o := desk.run(t, append(slices.Clone(args), "--json")...)
			d := o.document(t)
			if o.exit != 1 || d.Error.Code != test.code || d.Error.Data["reason"] != test.reason {
				t.Errorf("exit code %d, %s%s", o.exit, o.out, o.err)
			}
			if o = desk.run(t, args...); o.exit != 1 || o.out != "" || !strings.HasSuffix(o.err, "\n") {
				t.Errorf("for people: exit code %d, want 1, %q, want none, %q, and %q at the end",
					o.exit, o.out, o.err, "\n")
			}
		})
	}
}

func TestUnreachable(t *testing.T) {
	closed := httptest.NewServer(http.NotFoundHandler())
	closed.Close()
	starting := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "later", http.StatusServiceUnavailable)
	}))
	defer starting.Close()
	over := make(chan struct{})
	silent := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-over }))
	defer silent.Close()
	defer close(over)
	desk := newDesk(t, nil)
	for name, args := range map[string][]string{
		"nobody there":   {"status", "--rpc-url", closed.URL},
		"not there yet":  {"status", "--rpc-url", starting.URL},
		"no time":        {"status", "--rpc-url", silent.URL, "--timeout", "1ms"},
		"nobody to send": {"send", "dev1", "1", "--from", "dev0", "--rpc-url", closed.URL},
	} {
		t.Run(name, func(t *testing.T) {
			o := desk.run(t, append(args, "--json")...)
			if d := o.document(t); o.exit != 3 || d.Error.Code != 3 {
				t.Errorf("exit code %d, %+v", o.exit, d.Error)
			}
		})
	}
}

func TestAPIKey(t *testing.T) {
	node, err := jsonrpc.NewServer(
		jsonrpc.Options{}, method(api.BlockNumber, func(api.NoParams) (api.Quantity, error) { return 17, nil }),
	)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer secret" {
			http.Error(w, "no key", http.StatusUnauthorized)
			return
		}
		node.ServeHTTP(w, r)
	}))
	defer server.Close()
	desk := newDesk(t, nil)
	desk.env = append(desk.env, "CAIRN_RPC_URL="+server.URL)
	key := desk.write(t, "api.key", "secret\n")
	if o := desk.run(t, "rpc", "svc_blockNumber", "--api-key-file", key); o.exit != 0 {
		t.Errorf("with the key: got %+v, want exit code 0", o)
	}
	o := desk.run(t, "rpc", "svc_blockNumber", "--json")
	if d := o.document(t); o.exit != 1 || d.Error.Code != 1 || !strings.Contains(d.Error.Message, "401") {
		t.Errorf("without the key: got %+v", o)
	}
}

func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	o := newDesk(t, startNode(t)).runContext(ctx, "status", "--json")
	if d := o.document(t); o.exit != 1 || d.Error.Message != "interrupted" {
		t.Errorf("got %+v", o)
	}
}

// TestSettings: flags have precedence over the environment, that over the file, and that over defaults. The node that
// is asked shows which one applied.
func TestSettings(t *testing.T) {
	serve := func(height int) string {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			var request struct{ ID json.RawMessage }
			if err := json.NewDecoder(r.Body).Decode(&request); err != nil {
				t.Error(err)
			}
			w.Header().Set("Content-Type", "application/json")
			answer := map[string]any{"jsonrpc": "2.0", "id": request.ID, "result": height}
			if err := json.NewEncoder(w).Encode(answer); err != nil {
				t.Error(err)
			}
		}))
		t.Cleanup(server.Close)
		return server.URL
	}
	flag, env, file, other := serve(1), serve(2), serve(3), serve(4)
	height := func(desk *desk, args ...string) int {
		return result[int](t, desk.run(t, append([]string{"rpc", "svc_blockNumber", "--json"}, args...)...))
	}
	desk := newDesk(t, nil)
	desk.write(t, "cairn.toml", `rpc-url = "`+file+`"`)
	if got := height(desk); got != 3 {
		t.Errorf("file: asked node %d, want 3", got)
	}
	config := desk.write(t, "other.toml", `rpc-url = "`+other+`"`)
	if got := height(desk, "--config", config); got != 4 {
		t.Errorf("another file: asked node %d, want 4", got)
	}
	desk.env = append(desk.env, "CAIRN_RPC_URL="+env)
	if got := height(desk); got != 2 {
		t.Errorf("environment: asked node %d, want 2", got)
	}
	if got := height(desk, "--rpc-url", flag); got != 1 {
		t.Errorf("flag: asked node %d, want 1", got)
	}
}

func TestEveryCommandExplainsItself(t *testing.T) {
	var visit func(*cobra.Command)
	visit = func(command *cobra.Command) {
		if command.Short == "" || command.Example == "" {
			t.Errorf("%s has no description or no example", command.CommandPath())
		}
		if command.RunE == nil || command.Args == nil && command.Name() != "help" {
			t.Errorf("%s takes any arguments or does nothing", command.CommandPath())
		}
		for _, child := range command.Commands() {
			visit(child)
		}
	}
	visit(NewRoot(Build{}))
}

// TestCommandsFromOutside adds a command, as the program's main package does.
func TestCommandsFromOutside(t *testing.T) {
	root := NewRoot(Build{})
	root.AddCommand(&cobra.Command{Use: "outside", RunE: func(command *cobra.Command, args []string) error {
		return api.ErrPruned
	}})
	var out, prose strings.Builder
	exit := invoke.Execute(t.Context(), root, []string{
		"outside", "--json",
	}, invoke.Streams{In: strings.NewReader(""), Out: &out, Err: &prose})
	if exit != 1 || !strings.Contains(out.String(), `"code":-32021`) || prose.Len() != 0 {
		t.Errorf("exit code %d, %q, %q", exit, &out, &prose)
	}
}

// TestRPCTakesNames: a parameter that is an account or a contract accepts any name that other commands accept. Any
// other text is sent unchanged.
func TestRPCTakesNames(t *testing.T) {
	desk := newDesk(t, startNode(t))
	for name, similar := range map[string]string{"svc_getBlance": "svc_getBalance", "getBalance": "svc_getBalance"} {
		if o := desk.run(t, "rpc", name); o.exit != 1 || !strings.Contains(o.err, "did you mean "+similar+"?") {
			t.Errorf("got %+v, want %s named", o, similar)
		}
	}
	if o := desk.run(t, "rpc", "svc_getPayments", `{"accounts":["x"],"limit":1}`); o.exit == 0 {
		t.Errorf("got %+v, want JSON sent as it is", o)
	}
	if o := desk.run(t, "rpc", "svc_getBalance", "dev1"); o.exit != 0 {
		t.Errorf("got %+v, want dev1's balance", o)
	}
	if o := desk.run(t, "rpc", "svc_getBalance", "nobody"); o.exit != 2 || !strings.Contains(o.err, `"nobody"`) {
		t.Errorf("got %+v, want an unknown name refused", o)
	}
}

// TestOutMakesItsDirectories: the output file may be in directories that do not exist yet.
func TestOutMakesItsDirectories(t *testing.T) {
	desk := newDesk(t, nil)
	for _, flag := range []string{"--out", "-o"} {
		path := desk.path("a/b" + flag + "/gold.go")
		o := desk.run(t, "contract", "bindings", "../contracts/wasm/nep20.wasm", "--lang", "go", flag, path)
		if _, err := os.Stat(path); o.exit != 0 || err != nil {
			t.Errorf("%s: got %+v, %v, want the file", flag, o, err)
		}
	}
}
