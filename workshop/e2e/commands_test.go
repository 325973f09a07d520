package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/client"
	"github.com/cairn-chain/cairn/types"
)

// receipt is the output of `cairn send --json` and similar commands.
type receipt struct {
	TransactionHash   types.TxID
	BlockHeight       types.Height
	Status            api.Quantity
	GasUsed           api.Quantity
	EffectiveGasPrice api.Quantity
	Fee               api.Quantity
	Balance           *api.Quantity
	From              types.Account
	ContractAddress   *types.ContractID
}

// connect returns a client of a node.
func connect(t *testing.T, node *process) *client.Client {
	t.Helper()
	c, err := client.New(node.RPC, client.WithRetry(0))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func TestDevPrintsItsAccounts(t *testing.T) {
	t.Parallel()
	node := startDev(t, "--ephemeral")
	if err := node.Stop(); err != nil {
		t.Fatal(err)
	}
	if len(node.Accounts) != 10 {
		t.Fatalf("%d accounts, want 10", len(node.Accounts))
	}
	printed := node.printed(t)
	for i, a := range node.Accounts {
		for _, text := range []string{fmt.Sprintf("dev%d", i), a.Address, a.PublicKey, a.PrivateKey} {
			if !strings.Contains(printed, text) {
				t.Errorf("%s of account %d is not printed:\n%s", text, i, printed)
			}
		}
	}
	if !strings.Contains(printed, node.RPC) {
		t.Errorf("the URL is not printed:\n%s", printed)
	}
}

// With another mnemonic dev0 names none of the accounts, so the output does not claim it.
func TestDevNamesNoAccountsOfAnotherMnemonic(t *testing.T) {
	t.Parallel()
	node := startDev(t, "--ephemeral", "--mnemonic", strings.Repeat("abandon ", 11)+"about")
	if err := node.Stop(); err != nil {
		t.Fatal(err)
	}
	printed := node.printed(t)
	if !strings.Contains(printed, "#0      "+node.Accounts[0].Address) || strings.Contains(printed, "--from dev0") ||
		!strings.Contains(printed, "The names dev0 to dev9 belong to the default mnemonic") {
		t.Errorf("printed:\n%s", printed)
	}
}

// TestSendAgreesToTheUnit sends coins, recomputes all accounts from the blocks and compares them exactly.
func TestSendAgreesToTheUnit(t *testing.T) {
	t.Parallel()
	node := startDev(t, "--ephemeral", "--block-time", "0")
	u, c, ctx := newUser(t).of(node), connect(t, node), t.Context()
	m, err := newModel(ctx, c)
	if err != nil {
		t.Fatal(err)
	}
	from := m.balances[devAccount(t, node, 0)]
	to := m.balances[devAccount(t, node, 1)]

	text := u.run("send", "dev1", "1.5", "--from", "dev0")
	if text.code != exitDone || !strings.Contains(text.stdout, "success") || !strings.Contains(text.stdout, "Fee") {
		t.Errorf("no receipt for people: %s", text)
	}
	var r receipt
	u.succeeds(&r, "send", "dev1", "150000000u", "--from", "dev0", "--max-fee", "100", "--priority-fee", "7")
	if r.Status != 1 || r.GasUsed != api.Quantity(transferGas) || r.EffectiveGasPrice != 17 ||
		r.Fee != r.GasUsed*r.EffectiveGasPrice {
		t.Errorf("receipt %+v", r)
	}
	var fresh receipt
	u.succeeds(&fresh, "send", strings.Repeat("ab", 32), "1u", "--from", "dev0")
	if fresh.GasUsed != api.Quantity(transferGas+newAccountGas) {
		t.Errorf("to a new account: receipt %+v", fresh)
	}
	if err := m.follow(ctx, c); err != nil {
		t.Fatal(err)
	}
	if err := m.compare(ctx, c); err != nil {
		t.Error(err)
	}
	if got := m.balances[devAccount(t, node, 1)]; got != to+300_000_000 {
		t.Errorf("dev1 has %d, want %d", got, to+300_000_000)
	}
	first, err := c.Receipt(ctx, firstTransaction(t, c))
	if err != nil || first == nil {
		t.Fatal(first, err)
	}
	spent := types.Amount(300_000_001+r.Fee+fresh.Fee) + types.Amount(first.GasUsed*first.EffectiveGasPrice)
	if got := m.balances[devAccount(t, node, 0)]; got != from-spent || *fresh.Balance != api.Quantity(got) {
		t.Errorf("dev0 has %d, and was told %d; it had %d and spent %d", got, *fresh.Balance, from, spent)
	}
	if m.burned != types.Amount(2*transferGas+transferGas+newAccountGas)*10 {
		t.Errorf("%d burned", m.burned)
	}
}

func devAccount(t *testing.T, node *process, index int) types.Account {
	t.Helper()
	account, err := types.Regtest.ParseAccount(node.Accounts[index].PublicKey)
	if err != nil {
		t.Fatal(err)
	}
	return account
}

// firstTransaction returns the transaction in block 1.
func firstTransaction(t *testing.T, c *client.Client) types.TxID {
	t.Helper()
	block, err := c.BlockByNumber(t.Context(), api.AtHeight(1), false)
	if err != nil || block == nil || len(block.Transactions.Hashes) != 1 {
		t.Fatalf("block 1: got %+v, error %v", block, err)
	}
	return block.Transactions.Hashes[0]
}

// TestLookups runs every command that queries a node, for people and for programs.
func TestLookups(t *testing.T) {
	t.Parallel()
	node := startDev(t, "--ephemeral", "--block-time", "0")
	u := newUser(t).of(node)
	var sent receipt
	u.succeeds(&sent, "send", "dev1", "2", "--from", "dev0")
	hash := sent.TransactionHash.String()
	for _, tc := range []struct {
		args   string
		people string   // part of the output for people
		fields []string // members of the result, if it is an object
	}{
		{"account dev1", "10002 coins", []string{"account", "address", "balance", "nonce", "pendingNonce", "transactions"}},
		{"account " + node.Accounts[1].Address, "10002 coins", []string{"balance"}},
		{"account " + node.Accounts[1].PublicKey, hash, []string{"balance"}},
		{"tx " + hash, "success", []string{"hash", "from", "to", "value", "receipt"}},
		{"block", hash, []string{"height", "hash", "transactions", "stateRoot"}},
		{"block 1 --full", "transfer", []string{"height", "hash", "transactions", "stateRoot"}},
		{"block earliest", "Transactions", []string{"height", "hash"}},
		{"fees", "Base fee", []string{"price", "market", "history"}},
		{"mempool", "Transactions", []string{"pending_count", "backpressure_active"}},
		{"status", "producing", []string{"node", "sync"}},
		{"rpc svc_blockNumber", "0x1", nil},
		{"rpc svc_getBalance " + node.Accounts[1].Address + " latest", "0x", nil},
		{"rpc svc_getNodeInfo", "primary", []string{"chain_id", "genesis_hash"}},
		{"keys list", "NAME", nil},
		{"send dev2 1 --from dev0 --dry-run", "Costs at most", []string{"unsigned", "maxCost"}},
		{"send dev2 1 --from dev0 --no-wait", "Transaction", []string{"transactionHash"}},
		{"version", "protocol version 2", []string{"version", "commit", "protocolVersion", "scheduleDigest"}},
		{"help send", "--dry-run", []string{"help"}},
	} {
		t.Run(tc.args, func(t *testing.T) {
			args, u := strings.Fields(tc.args), u.in(t)
			people := u.run(args...)
			if people.code != exitDone || !strings.Contains(people.stdout, tc.people) ||
				strings.HasPrefix(people.stdout, `{"ok"`) {
				t.Errorf("exit code %d, or no %q in: %s", people.code, tc.people, people)
			}
			var result json.RawMessage
			u.succeeds(&result, args...)
			if tc.fields == nil {
				return
			}
			var members map[string]json.RawMessage
			if err := json.Unmarshal(result, &members); err != nil {
				t.Fatalf("%v: got %s", err, result)
			}
			for _, field := range tc.fields {
				if members[field] == nil {
					t.Errorf("the result has no %q: got %s", field, result)
				}
			}
		})
	}
}

// TestFailures runs commands that fail, for people and for programs.
func TestFailures(t *testing.T) {
	t.Parallel()
	node := startDev(t, "--ephemeral", "--block-time", "0")
	u := newUser(t).of(node)
	empty := strings.Repeat("cd", 32)
	for _, tc := range []struct {
		args string
		exit int
		code int // code of the error in the output for programs
	}{
		{"send dev1 20000 --from dev0", exitFailed, api.CodeCannotPay},
		{"send dev1 1 --from dev0 --max-fee 9", exitFailed, api.CodeFeeTooLow},
		{"send dev1 1 --from dev0 --max-fee 20 --priority-fee 21", exitFailed, api.CodeNotAllowed},
		{"send dev1 1 --from dev0 --gas-limit 9999", exitFailed, api.CodeGasLimit},
		{"send dev1 1 --from dev0 --nonce 5000", exitFailed, api.CodeNonce},
		{"tx 0x" + empty, exitFailed, exitFailed},
		{"block 0x" + empty, exitFailed, exitFailed},
		{"block 1000000", exitFailed, exitFailed},
		{"rpc svc_nothing", exitFailed, -32601},
		{"rpc svc_getBlockByNumber nonsense", exitFailed, -32602},
		{"rpc svc_getBalance " + types.Mainnet.Address(types.Account(keyOf("stranger").PublicKey())), exitFailed, -32602},
		{"rpc dev_revert 0x7", exitFailed, -32602},
		{"send dev1 1", exitUsage, exitUsage},
		{"send dev1 1 --from nobody", exitUsage, exitUsage},
		{"send dev1 1 --from " + empty, exitUsage, exitUsage},
		{"send dev1 1.000000001 --from dev0", exitUsage, exitUsage},
		{"send dev1 -- -1", exitUsage, exitUsage},
		{"send dev1 --from dev0", exitUsage, exitUsage},
		{"send dev1 1 --from dev0 --no-wait --dry-run", exitUsage, exitUsage},
		{"tx nonsense", exitUsage, exitUsage},
		{"account dev11", exitUsage, exitUsage},
		{"account", exitUsage, exitUsage},
		{"block latest --nonsense", exitUsage, exitUsage},
		{"nonsense", exitUsage, exitUsage},
		{"keys", exitUsage, exitUsage},
		{"keys show nobody", exitUsage, exitUsage},
		{"keys new alice", exitUsage, exitUsage}, // neither terminal nor --password-file
		{"configure --gas-limit 5000000", exitUsage, exitUsage},
		{"status --rpc-url nonsense", exitUsage, exitUsage},
		{"dev --accounts 0", exitUsage, exitUsage},
		{"dev --mnemonic nonsense", exitUsage, exitUsage},
		{"dev --block-time soon", exitUsage, exitUsage},
		{"node --data-dir " + t.TempDir(), exitUsage, exitUsage},
		{"init", exitUsage, exitUsage},
		{"init " + filepath.Join(t.TempDir(), "x") + " --alloc alice=1", exitUsage, exitUsage},
		{"init " + filepath.Join(t.TempDir(), "x") + " --chain-id 31337", exitUsage, exitUsage},
		{"db check --data-dir " + filepath.Join(t.TempDir(), "x"), exitFailed, exitFailed},
	} {
		t.Run(tc.args, func(t *testing.T) {
			if failed := u.in(t).fails(tc.exit, strings.Fields(tc.args)...); failed.Code != tc.code {
				t.Errorf("code %d, want %d: %+v", failed.Code, tc.code, failed)
			}
		})
	}
}

func TestNoNodeAnswers(t *testing.T) {
	t.Parallel()
	address := freeAddress(t)
	for _, args := range []string{
		"status", "account dev0", "send dev1 1 --from dev0", "block", "fees", "mempool", "rpc svc_blockNumber", "tx " +
			strings.Repeat("00", 32),
	} {
		t.Run(args, func(t *testing.T) {
			failed := newUser(t).fails(exitUnreachable, append(strings.Fields(args), "--rpc-url", "http://"+address)...)
			if failed.Code != exitUnreachable || !strings.Contains(failed.Message, address) {
				t.Errorf("%+v", failed)
			}
		})
	}
}

// TestNetworkJourney starts a network with an account of the keystore, and has the producer changed.
func TestNetworkJourney(t *testing.T) {
	t.Parallel()
	u, dir := newUser(t), filepath.Join(t.TempDir(), "chain")
	password, wrong := filepath.Join(t.TempDir(), "password"), filepath.Join(t.TempDir(), "wrong")
	for path, text := range map[string]string{password: "a long password\n", wrong: "another password\n"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var alice struct{ Address, Mnemonic string }
	u.succeeds(&alice, "keys", "new", "alice", "--password-file", password)
	if len(strings.Fields(alice.Mnemonic)) != 12 {
		t.Errorf("the mnemonic has %d words, want 12", len(strings.Fields(alice.Mnemonic)))
	}
	u.succeeds(nil, "keys", "alias", "shop", strings.Repeat("ab", 32))
	if twice := u.fails(
		exitUsage, "init", dir, "--alloc", "alice=1", "--alloc", alice.Address+"=1",
	); !strings.Contains(twice.Message, "once") {
		t.Errorf("it says %q", twice.Message)
	}
	u.fails(exitUsage, "init", dir, "--network", "mainnet", "--alloc", "alice=1") // a key for another network
	u.succeeds(nil, "init", dir, "--alloc", "alice=1000", "--block-time", "200ms")
	u.fails(exitFailed, "init", dir)

	node := start(t, "node", "--data-dir", dir)
	u.of(node)
	var sent receipt
	u.succeeds(&sent, "send", "shop", "12.5", "--from", "alice", "--password-file", password)
	if sent.Status != 1 || sent.BlockHeight == 0 {
		t.Errorf("receipt %+v", sent)
	}
	u.fails(exitFailed, "send", "shop", "1", "--from", "alice", "--password-file", wrong)
	var shop struct {
		Balance      api.Quantity
		Transactions []api.Transaction
	}
	u.succeeds(&shop, "account", "shop")
	if shop.Balance != 1_250_000_000 || len(shop.Transactions) != 1 || shop.Transactions[0].Hash != sent.TransactionHash {
		t.Errorf("the shop has %+v", shop)
	}
	u.fails(exitUsage, "send", "shop", "1", "--from", "dev0") // the public keys are only for development chains

	u.succeeds(nil, "bench", "--senders", "2", "--per-sender", "2", "--from", "alice", "--password-file", password)

	configureJourney(t, u, node, dir)
	if refused := u.fails(exitFailed, "rpc", "dev_mine", "1"); refused.Code != -32601 {
		t.Errorf("dev_mine: got %+v, want Code -32601", refused)
	}
	databaseJourney(t, u, node, dir)
}

// configureJourney has the admin raise the bounds of the base fee.
func configureJourney(t *testing.T, u *user, node *process, dir string) {
	t.Helper()
	key := filepath.Join(dir, "admin.key")
	u.fails(exitUsage, "configure", "--admin-key", key, "--min-base-fee", "10") // unchanged
	if refused := u.fails(
		exitFailed, "configure", "--admin-key", key, "--min-base-fee", "0",
	); refused.Code != api.CodeNotAllowed {
		t.Errorf("a base fee below the floor: got %+v", refused)
	}
	stranger := filepath.Join(t.TempDir(), "stranger.key")
	text := keyOf("stranger").Bytes()
	if err := os.WriteFile(stranger, fmt.Appendf(nil, "%x\n", text), 0o600); err != nil {
		t.Fatal(err)
	}
	u.fails(exitFailed, "configure", "--admin-key", stranger, "--min-base-fee", "20")

	var r receipt
	u.succeeds(&r, "configure", "--admin-key", key, "--min-base-fee", "20", "--max-base-fee", "5000")
	var info api.ParametersInfo
	u.succeeds(&info, "rpc", "svc_getParameters")
	if r.Status != 1 || info.MinBaseFee != 20 || info.MaxBaseFee != 5000 || info.Height < r.BlockHeight {
		t.Errorf("receipt %+v, parameters %+v", r, info)
	}
	c, ctx := connect(t, node), t.Context()
	before, err := c.BlockByNumber(ctx, api.AtHeight(r.BlockHeight), false)
	if err != nil {
		t.Fatal(err)
	}
	var next receipt
	u.succeeds(&next, "configure", "--admin-key", key, "--target-bps", "4000")
	after, err := c.BlockByNumber(ctx, api.AtHeight(r.BlockHeight+1), false)
	if err != nil {
		t.Fatal(err)
	}
	if before.BaseFee != 10 || after == nil || after.BaseFee != 20 || next.EffectiveGasPrice <= 20 {
		t.Errorf(
			"base fee %d in its block, %+v in the next, then a price of %d", before.BaseFee, after, next.EffectiveGasPrice,
		)
	}
}

// databaseJourney maintains the database of a node, running and stopped.
func databaseJourney(t *testing.T, u *user, node *process, dir string) {
	t.Helper()
	if refused := u.fails(exitFailed, "db", "check", "--data-dir", dir); !strings.Contains(refused.Message, "in use") {
		t.Errorf("while the node runs: %q", refused.Message)
	}
	if err := node.Stop(); err != nil {
		t.Fatal(err)
	}
	var before, after struct{ Oldest, Head, Blocks uint64 }
	u.succeeds(&before, "db", "check", "--data-dir", dir)
	if before.Oldest != 0 || before.Head < 3 || before.Blocks != before.Head+1 {
		t.Errorf("before pruning: got %+v", before)
	}
	blocks, copied := filepath.Join(t.TempDir(), "blocks"), t.TempDir()
	var imported struct{ Blocks uint64 }
	u.succeeds(nil, "db", "export", "--data-dir", dir, "--out", blocks)
	u.succeeds(
		&imported, "db", "import", "--data-dir", copied, "--input", blocks, "--genesis", filepath.Join(dir, "genesis.json"),
	)
	u.succeeds(&after, "db", "check", "--data-dir", copied)
	if imported.Blocks != before.Head || after != before {
		t.Errorf("%d blocks imported: %+v, of %+v", imported.Blocks, after, before)
	}
	u.succeeds(nil, "doctor", "--data-dir", dir, "--rpc-addr", "127.0.0.1:0", "--admin-addr", "127.0.0.1:0")
	u.succeeds(nil, "db", "prune", "--data-dir", dir, "--keep", "2")
	u.succeeds(&after, "db", "check", "--data-dir", dir)
	if after.Head != before.Head || after.Oldest != before.Head-2 {
		t.Errorf("after pruning: %+v, before %+v", after, before)
	}
	if height, err := connect(t, start(t, "node", "--data-dir", dir)).BlockNumber(t.Context()); err != nil ||
		uint64(height) < after.Head {
		t.Errorf("after a restart: block %d, error %v", height, err)
	}
}

// TestDevelopmentMethods controls the blocks and the time of a development chain.
func TestDevelopmentMethods(t *testing.T) {
	t.Parallel()
	node := startDev(t, "--ephemeral")
	u, c, ctx := newUser(t).of(node), connect(t, node), t.Context()
	rpc := func(result any, args ...string) {
		t.Helper()
		u.succeeds(result, append([]string{"rpc"}, args...)...)
	}
	height := func(of api.BlockRef) (types.Height, uint64) {
		t.Helper()
		block, err := c.BlockByNumber(ctx, of, false)
		if err != nil || block == nil {
			t.Fatal(block, err)
		}
		return block.Height, block.Timestamp
	}
	rpc(nil, "dev_setBlockTime", "null")
	begin, _ := height(api.Latest())
	var mined, snapshot api.Quantity
	rpc(&mined, "dev_mine", "3")
	if types.Height(mined) != begin+3 {
		t.Errorf("three blocks after %d end at %d", begin, mined)
	}
	_, time := height(api.Latest())
	rpc(&snapshot, "dev_snapshot")

	var id types.TxID
	rpc(&id, "dev_fund", strings.Repeat("ef", 32), "0x64")
	if status, err := c.TransactionStatus(ctx, id); err != nil || status.Status != api.StatusPending {
		t.Errorf("before a block is made: got %+v, error %v, want Status %v", status, err, api.StatusPending)
	}
	var ahead int64
	rpc(&ahead, "dev_increaseTime", "1000")
	rpc(&mined, "dev_mine")
	if now, later := height(api.Latest()); now != begin+4 || later < time+1000 || ahead < 1000 {
		t.Errorf("block %d at %d, %d ahead, after one at %d", now, later, ahead, time)
	}
	balance := func() (q api.Quantity) {
		t.Helper()
		rpc(&q, "svc_getBalance", strings.Repeat("ef", 32))
		return q
	}
	if balance() != 100 {
		t.Errorf("the funded account has %d, want 100", balance())
	}
	rpc(nil, "dev_setNextBlockTime", fmt.Sprint(time+5000))
	rpc(nil, "dev_mine", "1")
	if _, set := height(api.Latest()); set != time+5000 {
		t.Errorf("the block is of %d, and %d was set", set, time+5000)
	}
	u.fails(exitFailed, "rpc", "dev_setNextBlockTime", fmt.Sprint(time))

	rpc(nil, "dev_revert", snapshot.String())
	if now, back := height(api.Latest()); now != begin+3 || back != time || balance() != 0 {
		t.Errorf(
			"after going back: block %d at %d, want %d at %d; the funded account has %d", now, back, begin+3, time, balance(),
		)
	}
	if refused := u.fails(exitFailed, "rpc", "dev_revert", snapshot.String()); refused.Code != -32602 ||
		refused.Data["reason"] != "no_snapshot" {
		t.Errorf("a snapshot that was used: got %+v", refused)
	}
	rpc(nil, "dev_setBlockTime", "0")
	var r receipt
	u.succeeds(&r, "send", "dev1", "1", "--from", "dev0")
	if r.BlockHeight != begin+4 {
		t.Errorf("the chain goes on at block %d, want %d", r.BlockHeight, begin+4)
	}
}
