package replica

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cairn-chain/cairn/crypto"
	"github.com/cairn-chain/cairn/internal/engine/ledger"
	"github.com/cairn-chain/cairn/internal/protocol/lists"
	"github.com/cairn-chain/cairn/internal/protocol/tree"
	"github.com/cairn-chain/cairn/internal/protocol/vm"
	"github.com/cairn-chain/cairn/internal/storage/chain"
	"github.com/cairn-chain/cairn/internal/testkit/testchain"
	"github.com/cairn-chain/cairn/types"
)

var alice, producerKey = testchain.Key("alice"), testchain.Key("producer")

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func testGenesis() types.Genesis { return testchain.Genesis(producerKey, 1_000*types.CoinUnits, alice) }

// openChain opens a chain in memory.
func openChain(t *testing.T, g types.Genesis) *ledger.Ledger { return openChainThat(t, g, 0) }

// openChainThat opens a chain that keeps the given number of blocks behind the head when it is pruned.
func openChainThat(t *testing.T, g types.Genesis, retention uint64) *ledger.Ledger {
	return openChainWith(t, g, retention, nil)
}

// openChainWith opens a chain whose contracts the engine runs.
func openChainWith(t *testing.T, g types.Genesis, retention uint64, engine vm.Engine) *ledger.Ledger {
	t.Helper()
	return testchain.Open(t, g, engine, chain.Options{Retention: retention})
}

// emptyBatch is a batch without transactions.
func emptyBatch(time uint64) ledger.Batch {
	return ledger.Batch{Time: time, Transactions: new(testchain.List)}
}

func payment(nonce uint64, amount types.Amount) types.SignedTransaction {
	return signedTx(nonce, 120_000, types.Transaction{
		Target: types.Account{9}, Value: amount, Payload: types.Transfer{},
	})
}

// signedTx signs a transaction of alice's that has a target, a value and a payload.
func signedTx(nonce uint64, gas types.Gas, tx types.Transaction) types.SignedTransaction {
	tx.Sender, tx.ChainID, tx.Nonce = alice.PublicKey(), 7, nonce
	tx.GasLimit, tx.MaxFeePerGas, tx.MaxPriorityFeePerGas = gas, 1_000, 1
	signed, err := types.Sign(tx, alice, [32]byte{})
	if err != nil {
		panic(err)
	}
	return signed
}

// idOf returns the ID of an encoded transaction, or zero for any other bytes.
func idOf(encoded []byte) types.TxID {
	tx, err := types.DecodeTx(encoded)
	if err != nil {
		return types.TxID{}
	}
	return tx.ID()
}

// Tests make the same blocks repeatedly, and signing takes most of that time under the race detector. So signatures are
// cached; a replica still verifies everything that it receives.
var (
	seals     sync.Map // sealOf → types.Signature
	transfers sync.Map // types.Height → *types.VerifiedTx
)

// sealOf names a signature of a block.
type sealOf struct {
	signer [32]byte // its public key
	hash   types.BlockHash
}

// sealedBy signs with a key, or remembers its earlier signature.
func sealedBy(key crypto.PrivateKey) ledger.Seal {
	return func(hash types.BlockHash) (types.Signature, error) {
		of := sealOf{key.PublicKey(), hash}
		if made, ok := seals.Load(of); ok {
			return made.(types.Signature), nil
		}
		signature, err := key.Sign(hash[:], [32]byte{})
		if err == nil {
			seals.Store(of, types.Signature(signature))
		}
		return signature, err
	}
}

func sign(hash types.BlockHash) (types.Signature, error) { return sealedBy(producerKey)(hash) }

// transfer is the payment in extend's block after the given height.
func transfer(height types.Height) *types.VerifiedTx {
	made, ok := transfers.Load(height)
	if !ok {
		made, _ = transfers.LoadOrStore(height, types.VerifyWitnesses(types.Regtest, types.NewTxs(payment(uint64(height), 1)))[0])
	}
	return made.(*types.VerifiedTx)
}

// extend makes n blocks of a transfer each.
func extend(t *testing.T, l *ledger.Ledger, n int) {
	t.Helper()
	for range n {
		head := l.Tip().Header.Header
		_, err := l.Build(ledger.Batch{Time: head.Timestamp + 1, Transactions: &testchain.List{transfer(head.Height)}}, sign)
		check(t, err)
	}
}

// faultySource is a node over a chain in memory, with faults that a test sets.
type faultySource struct {
	name string

	mu     sync.Mutex // guards the fields below
	chain  *ledger.Ledger
	fault  func() error // called before any call is answered
	pushes bool
	lost   chan struct{} // closed when it stops pushing
	calls  int
	replies
	evidence
}

// replies replace the chain's answers, except where they are nil.
type replies struct {
	blocks   func(from, to types.Height, answer [][]byte) ([][]byte, error)
	header   func(types.Height, *types.SignedHeader) *types.SignedHeader
	probe    func(Probe) Probe
	receipts func([]types.TxID) ([]*UnverifiedReceipt, error)
	accesses func([]types.Access) []types.Access
	sent     func([][]byte) []error
	headers  func(to types.Height) ([]types.SignedHeader, error)
}

// evidence is the data that a source provides to stateless nodes.
type evidence struct {
	bundle func(context.Context, types.Height, int64) ([]byte, error)
	code   func(types.CodeHash) ([]byte, error)
	value  func(types.Height, []byte) ([]byte, tree.MerkleProof, error)
	ranges []Ranges
	proof  func(ctx context.Context, first, last types.Height, limit int64) ([]byte, error) // of a range
}

// set changes the faults.
func (s *faultySource) set(change func(*faultySource)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(s)
}

func (s *faultySource) copied() faultySource {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls++
	return faultySource{
		chain:    s.chain,
		fault:    s.fault,
		pushes:   s.pushes,
		lost:     s.lost,
		replies:  s.replies,
		evidence: s.evidence,
	}
}

func (s *faultySource) asked() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls
}

func (s *faultySource) Name() string { return s.name }
func (s *faultySource) Close()       {}

func (s *faultySource) Probe(ctx context.Context, at types.Height) (Probe, error) {
	f := s.copied()
	if f.fault != nil {
		if err := f.fault(); err != nil {
			return Probe{}, err
		}
	}
	genesis, err := f.chain.Store().Header(0)
	if err != nil {
		return Probe{}, err
	}
	head := f.chain.Store().Head().Header.Height
	p := Probe{Genesis: genesis.Header.Hash(), Head: head, Primary: head}
	if p.Header, err = s.Header(ctx, at); err != nil {
		return Probe{}, err
	}
	if f.probe != nil {
		p = f.probe(p)
	}
	return p, nil
}

func (s *faultySource) Blocks(_ context.Context, from, to types.Height) ([][]byte, error) {
	f := s.copied()
	if f.fault != nil {
		if err := f.fault(); err != nil {
			return nil, err
		}
	}
	var answer [][]byte
	for h := from; h <= min(to, f.chain.Store().Head().Header.Height); h++ {
		block, err := f.chain.Store().Block(h)
		if err != nil {
			return nil, err
		}
		answer = append(answer, block.Encode())
	}
	if f.blocks != nil {
		return f.blocks(from, to, answer)
	}
	return answer, nil
}

func (s *faultySource) Header(_ context.Context, h types.Height) (*types.SignedHeader, error) {
	f := s.copied()
	if f.fault != nil {
		if err := f.fault(); err != nil {
			return nil, err
		}
	}
	var answer *types.SignedHeader
	if h <= f.chain.Store().Head().Header.Height {
		header, err := f.chain.Store().Header(h)
		if err != nil {
			return nil, err
		}
		answer = &header
	}
	if f.header != nil {
		answer = f.header(h, answer)
	}
	return answer, nil
}

func (s *faultySource) Headers(_ context.Context, to types.Height) ([]types.SignedHeader, error) {
	return s.copied().headers(to)
}

func (s *faultySource) Receipts(_ context.Context, ids []types.TxID) ([]*UnverifiedReceipt, error) {
	f := s.copied()
	if f.receipts == nil {
		return nil, errors.New("there are no receipts")
	}
	return f.receipts(ids)
}

func (s *faultySource) Accesses(_ context.Context, h types.Height) ([]types.Access, error) {
	f := s.copied()
	accesses, err := f.chain.Store().Accesses(h)
	if f.accesses != nil {
		accesses = f.accesses(accesses)
	}
	return accesses, err
}

func (s *faultySource) Bundle(ctx context.Context, h types.Height, limit int64) ([]byte, error) {
	return s.copied().bundle(ctx, h, limit)
}

func (s *faultySource) Ranges(context.Context) ([]Ranges, error) { return s.copied().ranges, nil }

func (s *faultySource) Range(ctx context.Context, first, last types.Height, limit int64) ([]byte, error) {
	if f := s.copied(); f.proof != nil {
		return f.proof(ctx, first, last, limit)
	}
	return nil, ErrNoRange
}

func (s *faultySource) Value(_ context.Context, h types.Height, key []byte) ([]byte, tree.MerkleProof, error) {
	return s.copied().value(h, key)
}

func (s *faultySource) Code(_ context.Context, hash types.CodeHash) ([]byte, error) {
	return s.copied().code(hash)
}

var errNoPush = &Refusal{Why: RefusedForGood, Err: errors.New("this node does not push")}

func (s *faultySource) Watch(ctx context.Context, head func(types.Height)) error {
	f := s.copied()
	if !f.pushes {
		return errNoPush
	}
	ctx, end := context.WithCancel(ctx)
	defer end()
	go func() {
		select {
		case <-f.lost:
			end()
		case <-ctx.Done():
		}
	}()
	for h := f.chain.Store().Head().Header.Height + 1; ; h++ {
		if err := f.chain.Store().WaitHeight(ctx, h); err != nil {
			return err
		}
		head(h)
	}
}

func (s *faultySource) Send(_ context.Context, encoded [][]byte) []error {
	return s.copied().sent(encoded)
}

// gated is an [Importer] that also waits for a test's condition before each block.
type gated struct {
	Importer
	gate func(s Source, h types.Height) error
}

func (g gated) Import(ctx context.Context, s Source, blocks []*ledger.Received) ([]ledger.Block, error) {
	for i := 0; i < len(blocks) && g.gate != nil; i++ {
		if err := g.gate(s, blocks[i].Header().Header.Height); err != nil {
			if i == 0 {
				return nil, err
			}
			blocks = blocks[:i]
		}
	}
	return g.Importer.Import(ctx, s, blocks)
}

// fixture is a replica in a bubble, and the chain that it follows.
type fixture struct {
	t        *testing.T
	primary  *ledger.Ledger
	sources  []*faultySource
	chain    *ledger.Ledger                       // the replica's
	gate     func(s Source, h types.Height) error // called before a block is imported; nil lets all pass
	haltFile string
	jumped   atomic.Int64 // nanoseconds, of the replica's time of day
	longest  atomic.Int64 // blocks that were imported together
	log      logBuffer
	*Replica
	stop func() error
}

// logBuffer collects the log.
type logBuffer struct {
	mu   sync.Mutex // guards text
	text bytes.Buffer
}

func (b *logBuffer) Write(line []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(line)
}

// count returns the number of log lines that contain a text.
func (b *logBuffer) count(text string) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return strings.Count(b.text.String(), text)
}

// newFixture makes a primary with blocks, and sources that serve them; the replica does not run yet.
func newFixture(t *testing.T, blocks, sources int) *fixture {
	f := &fixture{
		t: t, primary: openChain(t, testGenesis()), chain: openChain(t, testGenesis()),
		haltFile: filepath.Join(t.TempDir(), "halted.json"), stop: func() error { return nil },
	}
	t.Cleanup(func() { check(t, f.stop()) })
	extend(t, f.primary, blocks)
	for i := range sources {
		f.sources = append(f.sources, &faultySource{name: fmt.Sprint("source ", i), chain: f.primary})
	}
	return f
}

// start runs the replica, for the first time or again.
func (f *fixture) start() {
	f.t.Helper()
	check(f.t, f.stop())
	config := Config{Importer: gated{Executing(f.chain), f.gate}, HaltFile: f.haltFile, Log: slog.New(slog.NewTextHandler(
		&f.log, nil,
	)), OnBlocks: f.verify,
		Wall: func() time.Time { return time.Now().Add(time.Duration(f.jumped.Load())) }}
	for _, s := range f.sources {
		config.Sources = append(config.Sources, s)
	}
	var err error
	f.Replica, err = New(config)
	check(f.t, err)
	ctx, cancel := context.WithCancel(f.t.Context())
	ended := make(chan error, 1)
	go func() { ended <- f.Run(ctx) }()
	f.stop = func() error {
		cancel()
		f.stop = func() error { return nil }
		return <-ended
	}
}

// verify is called with all blocks: they must be the primary's, and the last one the head.
func (f *fixture) verify(blocks []ledger.Block) error {
	f.longest.Store(max(f.longest.Load(), int64(len(blocks))))
	for _, b := range blocks {
		want, err := f.primary.Store().Header(b.Header.Header.Height)
		if err != nil {
			return err
		}
		if want.Header.Hash() != b.Hash {
			f.t.Errorf("block %d is served and is not the chain's", b.Header.Header.Height)
		}
	}
	if last := blocks[len(blocks)-1]; last.Hash != f.chain.Store().HeadHash() || last.Hash != f.chain.Tip().Hash {
		f.t.Errorf("block %d is the last of a run and not the head", last.Header.Header.Height)
	}
	return nil
}

// in runs a test in a bubble.
func in(t *testing.T, blocks, sources int, test func(*fixture)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		test(newFixture(t, blocks, sources))
	})
}

// pass lets time pass in the bubble.
func (f *fixture) pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

func (f *fixture) height() types.Height { return f.chain.Store().Head().Header.Height }

// synced fails the test unless the replica has all blocks of the primary and its status says so.
func (f *fixture) synced() {
	f.t.Helper()
	s := f.Status()
	if f.chain.Tip().Hash != f.primary.Tip().Hash || !s.Synced || s.State != StateFollowing || s.Behind() != 0 {
		f.t.Fatalf("at %d of %d: got %+v", f.height(), f.primary.Tip().Header.Header.Height, s)
	}
}

// faults returns how often an upstream failed with a cause.
func (f *fixture) faults(source int, cause Cause) uint64 {
	return f.Status().Upstreams[source].Faults[cause]
}

// resigned returns a changed block with its new transactions root, signed by the producer.
func resigned(t *testing.T, encoded []byte, change func(*types.Block)) []byte {
	t.Helper()
	block, err := types.DecodeBlock(slices.Clone(encoded))
	check(t, err)
	change(&block)
	block.Header.TransactionsRoot = lists.TransactionsRoot(types.NewTxs(block.Transactions...))
	block.Seal.Signature, err = sign(block.Header.Hash())
	check(t, err)
	return block.Encode()
}

// at makes a reply that changes the block at a height.
func at(h types.Height, change func([]byte) []byte) func(from, to types.Height, answer [][]byte) ([][]byte, error) {
	return func(from, _ types.Height, answer [][]byte) ([][]byte, error) {
		for i := range answer {
			if from+types.Height(i) == h {
				answer[i] = change(answer[i])
			}
		}
		return answer, nil
	}
}
