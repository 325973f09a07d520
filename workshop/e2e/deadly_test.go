package e2e

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/client"
	"github.com/cairn-chain/cairn/internal/testkit/wasmgen"
	"github.com/cairn-chain/cairn/types"
)

// deadlyCalls is the number of calls, one of which must be observed while it runs. The sender cannot pay for more.
const deadlyCalls = 10

// endAt kills a node while its note has a given word, and returns the transaction in the note. A note that is read from
// a running node may be outdated, so the node is stopped before the note counts.
func endAt(t *testing.T, node *process, note, word string) (named types.TxID) {
	t.Helper()
	says := func() (bool, error) {
		content, err := os.ReadFile(note)
		return strings.HasPrefix(string(content), word), err
	}
	if err := node.Await(t.Context(), func(context.Context) (bool, error) {
		if seen, err := says(); !seen || err != nil {
			return false, err
		}
		if err := node.Halt(); err != nil {
			return false, err
		}
		seen, err := says()
		if err != nil || seen {
			return seen, err
		}
		return false, node.Signal(syscall.SIGCONT)
	}); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(note)
	if err != nil {
		t.Fatal(err)
	}
	if err := named.UnmarshalText([]byte(strings.Fields(string(content))[1])); err != nil {
		t.Fatal(err)
	}
	node.Kill()
	return named
}

// TestDeadlyTransaction has a process end whenever it runs a certain call, as if the call had crashed it. The journal
// restores the call at each start; the third life drops it, and continues with the transactions of others.
func TestDeadlyTransaction(t *testing.T) {
	t.Parallel()
	s := newSurvivor(t, 7, 1)
	command := []string{"node", "--data-dir", s.dir, "--block-time", "2s"}
	alice, bob := s.load.senders[0], s.load.senders[1]
	sign := func(from *sender, nonce uint64, gas types.Gas, action client.Action) types.SignedTransaction {
		t.Helper()
		tx, err := types.Sign(types.Transaction{
			ChainID:              s.load.chainID,
			Sender:               from.account,
			Nonce:                nonce,
			GasLimit:             gas,
			MaxFeePerGas:         loadMaxFee,
			MaxPriorityFeePerGas: 1,
			Target:               action.Target,
			Value:                action.Value,
			Payload:              action.Payload,
		}, from.key, [32]byte{})
		if err != nil {
			t.Fatal(err)
		}
		return tx
	}
	ctx, cancel := context.WithTimeout(t.Context(), checkTime)
	defer cancel()
	connect := func(node *process) *client.Client {
		t.Helper()
		c, err := client.New(node.RPC, client.WithRetry(0))
		if err == nil {
			s.load.chainID, err = c.ChainID(ctx)
		}
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(c.Close)
		return c
	}

	node := start(t, command...)
	c := connect(node)
	deploy := sign(alice, 0, 100_000_000, client.Action{Payload: types.Deploy{
		Name: "endless", Code: wasmgen.Hostile(false).Encode(),
	}})
	if receipt, err := c.SendAndWait(ctx, deploy); err != nil || receipt.Status != 1 {
		t.Fatalf("got %+v, error %v, want Status 1", receipt, err)
	}
	// Each call runs for a considerable part of a second. On a busy machine several of them may be included before the
	// first is noticed.
	call := client.CallEncoded(types.NewContractID(alice.account, 0), "loop", nil, 0)
	for nonce := range uint64(deadlyCalls) {
		if _, err := c.Send(ctx, sign(alice, 1+nonce, 900_000_000, call)); err != nil {
			t.Fatal(err)
		}
	}
	note := filepath.Join(s.dir, "trying.note")
	endAt(t, node, note, "building")
	node = start(t, command...)
	deadly := endAt(t, node, note, "trying")
	node = start(t, command...)
	c = connect(node)
	if receipt, err := c.SendAndWait(
		ctx, sign(bob, 0, 100_000, client.Transfer(alice.account, 1)),
	); err != nil || receipt.Status != 1 {
		t.Fatalf("got %+v, error %v", receipt, err)
	}
	if status, err := c.TransactionStatus(ctx, deadly); err != nil || status.Status != api.StatusDropped {
		t.Fatalf("the deadly transaction is %+v, error %v, want Status %v", status, err, api.StatusDropped)
	}
	if _, err := c.Send(ctx, sign(bob, 1, 900_000_000, call)); err == nil ||
		!strings.Contains(err.Error(), "took far too long") {
		t.Errorf("a call of the code is answered with %v", err)
	}
}
