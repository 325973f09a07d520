package e2e

import (
	"bytes"
	"context"
	"crypto/aes"
	"crypto/cipher"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/client"
	"github.com/cairn-chain/cairn/internal/testkit/wasmgen"
	"github.com/cairn-chain/cairn/types"
)

// spoil makes the engine of a stopped node fail on its only contract, by replacing its machine code on disk, which is
// authenticated with a key of the node. It returns a function that undoes that.
func spoil(t *testing.T, dir string) (mend func()) {
	t.Helper()
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	paths, err := filepath.Glob(filepath.Join(dir, "code", "*.code"))
	check(err)
	if len(paths) != 1 {
		t.Fatalf("%d contracts have machine code, want 1", len(paths))
	}
	kept, err := os.ReadFile(paths[0])
	check(err)
	key, err := os.ReadFile(filepath.Join(dir, "code", "key"))
	check(err)
	block, err := aes.NewCipher(key)
	check(err)
	aead, err := cipher.NewGCM(block)
	check(err)
	nonce, content := kept[:aead.NonceSize()], kept[aead.NonceSize()+aead.Overhead():]
	spoilt := bytes.Replace(content, []byte("WAZEVO"), []byte("SPOILT"), 1)
	if bytes.Equal(spoilt, content) {
		t.Fatal("there is no machine code in the file")
	}
	check(os.WriteFile(paths[0], append(aead.Seal(bytes.Clone(nonce), nonce, nil, spoilt), spoilt...), 0o600))
	return func() {
		t.Helper()
		check(os.WriteFile(paths[0], kept, 0o600))
	}
}

// faultyChain is a producer with a chain that has a contract without effects, and two funded accounts.
type faultyChain struct {
	t          *testing.T
	ctx        context.Context
	dir        string
	alice, bob client.Signer
	node       *process
	c          *client.Client
	contract   types.ContractID
}

// newFaultyChain has Alice deploy the contract and call it.
func newFaultyChain(t *testing.T) *faultyChain {
	t.Helper()
	s := newSurvivor(t, 11, 1)
	ctx, cancel := context.WithTimeout(t.Context(), checkTime)
	t.Cleanup(cancel)
	f := &faultyChain{
		t:     t,
		ctx:   ctx,
		dir:   s.dir,
		alice: client.NewSigner(s.load.senders[0].key),
		bob:   client.NewSigner(s.load.senders[1].key),
	}
	f.start()
	module := wasmgen.Contract(1, 1)
	module.Export("run", wasmgen.FunctionKind, module.AddFunction(module.AddType(nil, 0), nil))
	receipt := f.included(f.alice, client.Action{Payload: types.Deploy{Name: "idle", Code: module.Encode()}})
	f.contract = *receipt.ContractAddress
	f.included(f.alice, f.call())
	return f
}

func (f *faultyChain) start() {
	f.t.Helper()
	f.node = start(f.t, "node", "--data-dir", f.dir, "--block-time", "1s")
	f.c = connect(f.t, f.node)
}

func (f *faultyChain) call() client.Action { return client.CallEncoded(f.contract, "run", nil, 0) }

func (f *faultyChain) send(from client.Signer, action client.Action, tip types.Amount) (types.TxID, error) {
	f.t.Helper()
	gas := types.Gas(20_000_000)
	tx, err := f.c.Build(f.ctx, from, action, client.TxFields{GasLimit: &gas, Priority: &tip})
	if err != nil {
		f.t.Fatal(err)
	}
	signed, err := client.Sign(f.ctx, from, tx)
	if err != nil {
		f.t.Fatal(err)
	}
	return f.c.Send(f.ctx, signed)
}

// included sends a transaction that must succeed.
func (f *faultyChain) included(from client.Signer, action client.Action) api.Receipt {
	f.t.Helper()
	id, err := f.send(from, action, 1)
	if err != nil {
		f.t.Fatal(err)
	}
	receipt, err := f.c.WaitReceipt(f.ctx, id)
	if err != nil || receipt.Status != 1 {
		f.t.Fatalf("got %+v, error %v, want Status 1", receipt, err)
	}
	return receipt
}

// inQuarantine compares the command and the metrics with the number of codes, and of faults since the start.
func (f *faultyChain) inQuarantine(node *process, dir string, codes int, faults float64) (code types.CodeHash) {
	f.t.Helper()
	var listed struct {
		Quarantined []struct {
			Code     types.CodeHash `json:"code"`
			Function string         `json:"function"`
			Error    string         `json:"error"`
		} `json:"quarantined"`
	}
	newUser(f.t).succeeds(&listed, "quarantine", "list", "--data-dir", dir)
	if len(listed.Quarantined) != codes {
		f.t.Fatalf("in quarantine: %+v, want %d", listed.Quarantined, codes)
	}
	values, err := node.Metrics(f.ctx, "cairn_engine_faults_total", "cairn_quarantined_codes")
	if err != nil {
		f.t.Fatal(err)
	}
	if got := values["cairn_engine_faults_total"]; got < faults || faults == 0 && got != 0 {
		f.t.Errorf("%v faults, want %v", got, faults)
	}
	if got := values["cairn_quarantined_codes"]; got != float64(codes) {
		f.t.Errorf("the metric has %v codes, want %d", got, codes)
	}
	for _, l := range listed.Quarantined {
		code = l.Code
		if l.Error == "" {
			f.t.Error("no reason is listed")
		}
	}
	return code
}

// TestEngineFaultOfAProducer makes a producer's engine fail on a contract. The call is dropped for good, also from the
// journal, and the block includes others. Further calls are refused, even after a crash, until the operator has
// repaired the engine and cleared the quarantine.
func TestEngineFaultOfAProducer(t *testing.T) {
	t.Parallel()
	f := newFaultyChain(t)
	f.inQuarantine(f.node, f.dir, 0, 0)
	stop := func() {
		t.Helper()
		if err := f.node.Stop(); err != nil {
			t.Fatal(err)
		}
	}
	stop()
	mend := spoil(t, f.dir)
	f.start()
	faulty, err := f.send(f.alice, f.call(), 9)
	if err != nil {
		t.Fatal(err)
	}
	f.included(f.bob, client.Transfer(f.alice.Account(), 1))
	gone := func() {
		t.Helper()
		if err := f.node.Await(f.ctx, func(ctx context.Context) (bool, error) {
			status, err := f.c.TransactionStatus(ctx, faulty)
			return status.Status == api.StatusUnknown || status.Status == api.StatusDropped, err
		}); err != nil {
			t.Fatal(err)
		}
	}
	gone()
	refused := func() {
		t.Helper()
		if _, err := f.send(f.bob, f.call(), 1); !errors.Is(err, api.ErrQuarantined) {
			t.Errorf("a call of the code is answered with %v, want %v", err, api.ErrQuarantined)
		}
	}
	refused()
	code := f.inQuarantine(f.node, f.dir, 1, 1)

	f.node.Kill()
	f.start()
	f.included(f.bob, client.Transfer(f.alice.Account(), 1))
	gone()
	refused()
	f.inQuarantine(f.node, f.dir, 1, 0)
	clearing := []string{"quarantine", "clear", "--data-dir", f.dir, "--code", code.String()}
	newUser(t).fails(exitFailed, clearing...)
	stop()
	mend()
	var cleared struct{ Cleared int }
	newUser(t).succeeds(&cleared, clearing...)
	if cleared.Cleared != 1 {
		t.Errorf("%d codes were cleared, want 1", cleared.Cleared)
	}
	f.start()
	f.inQuarantine(f.node, f.dir, 0, 0)
	f.included(f.alice, f.call())
}

// TestEngineFaultOfAReplica has a replica's engine fail on a contract that a block calls. The replica imports the block
// with wazero's interpreter, says so, and otherwise does not run the code.
func TestEngineFaultOfAReplica(t *testing.T) {
	t.Parallel()
	f := newFaultyChain(t)
	dir := filepath.Join(t.TempDir(), "replica")
	follow := func() *process {
		t.Helper()
		return start(t, "node", "--data-dir", dir, "--mode", "replica", "--genesis", filepath.Join(f.dir, "genesis.json"),
			"--upstream", f.node.RPC)
	}
	imported := func(node *process) {
		t.Helper()
		receipt := f.included(f.alice, f.call())
		block, err := connect(t, node).WaitReceipt(f.ctx, receipt.TransactionHash)
		if err != nil || block.BlockHash != receipt.BlockHash {
			t.Fatalf("the replica has %+v, %v, the producer %+v", block, err, receipt)
		}
	}
	replica := follow()
	imported(replica)
	if err := replica.Stop(); err != nil {
		t.Fatal(err)
	}
	spoil(t, dir)
	replica = follow()
	imported(replica)
	f.inQuarantine(replica, dir, 1, 1)
	_, err := connect(t, replica).View(f.ctx, f.contract, "run", nil, api.Latest())
	if !errors.Is(err, api.ErrQuarantined) {
		t.Errorf("a view of the code is answered with %v, want %v", err, api.ErrQuarantined)
	}
	imported(replica)
	f.inQuarantine(f.node, f.dir, 0, 0)
}
