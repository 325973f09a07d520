package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cairn-chain/cairn/client"
)

const vectorsFile = "../../docs/vectors.json"

// clientTimeout bounds one run of the independent client.
const clientTimeout = 2 * time.Minute

// clientReport is the output of the independent client.
type clientReport struct {
	OK     bool            `json:"ok"`
	Checks map[string]bool `json:"checks"`
	Failed *struct {
		Check  string `json:"check"`
		Detail string `json:"detail"`
	} `json:"failed"`
	Seen struct {
		Transactions  int            `json:"transactions"`
		WithContracts int            `json:"with_contracts"`
		ProofEnds     map[string]int `json:"proof_ends"`
	} `json:"seen"`
}

// runClient runs the independent client and returns its report. The exit code must match the report.
func runClient(t *testing.T, args ...string) clientReport {
	t.Helper()
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Fatal("python3 is not on the PATH: the independent client needs Python 3.9 or newer, without packages")
	}
	ctx, cancel := context.WithTimeout(t.Context(), clientTimeout)
	defer cancel()
	command := exec.CommandContext(ctx, python, append([]string{"independent/client.py"}, args...)...)
	command.Env = append(os.Environ(), "PYTHONPYCACHEPREFIX="+filepath.Join(binaryDir, "python"))
	var stdout, stderr bytes.Buffer
	command.Stdout, command.Stderr = &stdout, &stderr
	code := 0
	if err := command.Run(); err != nil {
		var exit *exec.ExitError
		if !errors.As(err, &exit) {
			t.Fatalf("run the independent client: error %v", err)
		}
		code = exit.ExitCode()
	}
	var report clientReport
	if err := json.Unmarshal(stdout.Bytes(), &report); err != nil {
		t.Fatalf("the client printed no report (exit code %d): %v\n%s%s", code, err, &stdout, &stderr)
	}
	if want := map[bool]int{true: 0, false: 1}[report.OK]; code != want {
		t.Fatalf("exit code %d with ok = %t, want %d\n%s", code, report.OK, want, &stderr)
	}
	return report
}

// requireAllTrue fails the test unless the client found no error and checked exactly the names in want.
func requireAllTrue(t *testing.T, report clientReport, want []string) {
	t.Helper()
	if !report.OK {
		t.Fatalf("the client disagrees with the node: %+v", *report.Failed)
	}
	if got := slices.Sorted(maps.Keys(report.Checks)); !slices.Equal(got, slices.Sorted(slices.Values(want))) {
		t.Errorf("checked %v, want %v", got, want)
	}
	for name, passed := range report.Checks {
		if !passed {
			t.Errorf("check %s failed in a report that is ok", name)
		}
	}
}

// requireFailure fails the test unless the client stopped at the check want.
func requireFailure(t *testing.T, report clientReport, want string) {
	t.Helper()
	if report.OK || report.Failed == nil {
		t.Fatal("the client found nothing wrong")
	}
	if report.Failed.Check != want || report.Checks[want] {
		t.Errorf("the client failed at %s (%s), want %s", report.Failed.Check, report.Failed.Detail, want)
	}
}

// verifyChecks are the checks of a chain that is only read, sendChecks the additional ones for sending.
var (
	verifyChecks = strings.Fields(`schedule_digest genesis_decodes genesis_valid genesis_header genesis_hash balances
		nonces json_block block_decodes version chain_id height parent timestamp producer gas_limit base_fee unknown_version
		transactions_root receipts_present receipts_root gas_used receipts_of_execution writes_are_listed state_root supply
		seal transaction_valid json_receipt signed_header proof_height proof_key proof_state_root proof_verifies proof_value
		json_parameters followed_by_headers inclusion`)
	sendChecks = strings.Fields(`estimated_gas sent_hash payment_arrived policy_in_force`)
)

// TestIndependentClient runs a client, written from docs/protocol.md without code of the node, against the program. It
// sends transactions and recomputes the whole chain. Then it must find each single lie of a node.
func TestIndependentClient(t *testing.T) {
	t.Parallel()
	node := startDev(t, "--ephemeral")
	report := runClient(t, node.RPC)
	requireAllTrue(t, report, slices.Concat(verifyChecks, sendChecks))
	if report.Seen.Transactions != 7 {
		t.Errorf("the client checked %d transactions, want its own 7", report.Seen.Transactions)
	}
	for _, end := range []string{"leaf", "empty", "other"} {
		if report.Seen.ProofEnds[end] == 0 {
			t.Errorf("no proof ended in %s", end)
		}
	}

	// From here on blocks are made only for transactions, so that the chain to check stays short.
	c, err := client.New(node.RPC, client.WithRetry(0))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.Dev().SetBlockTime(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	t.Run("through an honest proxy", func(t *testing.T) {
		t.Parallel()
		honest := tampering{method: "svc_getBlocks", change: func(result any) any { return result }}
		requireAllTrue(t, runClient(t, "--verify", honest.proxy(t, node.RPC)), verifyChecks)
	})
	for _, lie := range tamperings {
		t.Run(lie.name, func(t *testing.T) {
			t.Parallel()
			args := []string{"--verify", lie.proxy(t, node.RPC)}
			if lie.sends {
				args = args[1:]
			}
			requireFailure(t, runClient(t, args...), lie.want)
		})
	}
}

// TestIndependentClientOfContracts has the client run contracts with its own interpreter. It accepts only access lists
// that its own execution gives.
func TestIndependentClientOfContracts(t *testing.T) {
	t.Parallel()
	node := startDev(t, "--ephemeral", "--block-time", "0")
	u := newUser(t).of(node)
	u.succeeds(nil, "send", "dev1", "1", "--from", "dev0")
	u.succeeds(nil, "deploy", "../../contracts/wasm/counter.wasm", "--from", "dev0", "--alias", "counter")
	u.succeeds(nil, "call", "counter", "add", "--amount", "3", "--from", "dev0")
	report := runClient(t, "--verify", node.RPC)
	requireAllTrue(t, report, append(slices.Clone(verifyChecks), "access_list"))
	if report.Seen.Transactions != 3 || report.Seen.WithContracts != 2 {
		t.Errorf("of %d transactions, %d blocks had contracts, want 2 of 3", report.Seen.Transactions, report.Seen.WithContracts)
	}
	list := func(offset int) func(any) any {
		return func(result any) any {
			return edit(result, []any{"data"}, func(text any) any { return flipByte(text.(string), offset) })
		}
	}
	// The first key is the supply's: its old value begins at byte 26, its new one at 50.
	for _, lie := range []tampering{
		{name: "old value", change: list(26), want: "access_list"},
		{name: "new value", change: list(50), want: "access_list"},
		{name: "no entries", change: put("0x0000000000000000", "data"), want: "access_list"},
	} {
		lie.method = "svc_getAccessList"
		t.Run(lie.name, func(t *testing.T) {
			t.Parallel()
			requireFailure(t, runClient(t, "--verify", lie.proxy(t, node.RPC)), lie.want)
		})
	}
}

// TestIndependentVectors checks the test vectors with the independent client: all of them unchanged, and one that is
// wrong, which the client must find.
func TestIndependentVectors(t *testing.T) {
	t.Parallel()
	report := runClient(t, "--vectors", vectorsFile)
	if !report.OK {
		t.Fatalf("the client disagrees with the vectors: %+v", *report.Failed)
	}
	// members: no member of the file is skipped.
	if !report.Checks["members"] || !report.Checks["headers"] {
		t.Errorf("the report lacks checks: got %v", report.Checks)
	}
	cases := []struct {
		path []any
		want string
	}{
		{[]any{"poseidon", "value_hash", 3, "digest"}, "poseidon_value_hash"},
		{[]any{"proofs", "state", 0, "proof", "siblings", 2}, "state_proofs"},
		{[]any{"proofs", "lists", 0, "root"}, "inclusion"},
		{[]any{"chain", "blocks", 2, "transactions", 1, "receipt", "gas_used"}, "receipts_of_execution"},
		{[]any{"changing", "blocks", 5, "transactions", 2, "leaf"}, "transaction_leaves"},
		{[]any{"transactions", 6, "witness_digest"}, "witness_digests"},
		{[]any{"valid", 33, "text_bytes"}, "texts"},
		{[]any{"refused", 60, "rule"}, "refused"},
		{[]any{"base_fees", 3, "next"}, "base_fees"},
		{[]any{"contracts", "blocks", 5, "transactions", 2, "gas_used"}, "contracts"},
		{[]any{"abi", "values", 5, "binary"}, "abi"},
		{[]any{"abi", "storage", 1, "keys", 9, "key"}, "storage_keys"},
		{[]any{"abi", "storage", 0, "values", 0, "json"}, "storage_values"},
	}
	for _, c := range cases {
		t.Run(strings.ReplaceAll(strings.Trim(fmt.Sprint(c.path), "[]"), " ", "."), func(t *testing.T) {
			t.Parallel()
			data, err := os.ReadFile(vectorsFile)
			if err != nil {
				t.Fatal(err)
			}
			changed := filepath.Join(t.TempDir(), "vectors.json")
			if err := os.WriteFile(changed, encodeJSON(t, edit(decodeJSON(t, data), c.path, falsify)), 0o600); err != nil {
				t.Fatal(err)
			}
			requireFailure(t, runClient(t, "--vectors", changed), c.want)
		})
	}
}
