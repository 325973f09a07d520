package mempool

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cairn-chain/cairn/internal/protocol/exec"
	"github.com/cairn-chain/cairn/internal/protocol/state"
	"github.com/cairn-chain/cairn/types"
)

// recorder verifies signatures for a pool under test and records the sizes of the batches. A batch waits for gate if it
// is not nil.
type recorder struct {
	mu      sync.Mutex
	sizes   []int
	entered chan struct{}
	gate    chan struct{}
}

func (r *recorder) verify(txs []*types.Tx) []*types.VerifiedTx {
	if r.gate != nil {
		r.entered <- struct{}{}
		<-r.gate
	}
	r.mu.Lock()
	r.sizes = append(r.sizes, len(txs))
	r.mu.Unlock()
	return verifyAll(txs)
}

func (r *recorder) take() []int {
	r.mu.Lock()
	defer r.mu.Unlock()
	sizes := r.sizes
	r.sizes = nil
	return sizes
}

func openRecorded(t *testing.T, c *fakeChain, r *recorder) *Pool {
	t.Helper()
	p, err := newPool(Options{Now: c.now}, c.head(), r.verify)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return p
}

// TestSignatureIsLast sends transactions that the cheap rules refuse, so no signature is verified.
func TestSignatureIsLast(t *testing.T) {
	r := &recorder{}
	p := openRecorded(t, newChain(), r)
	refused := [][]byte{
		nil, transfer(1, 0, 9, 0), transfer(1, 5000, 100, 5), transfer(63, 0, 1<<40, 5),
	}
	for _, encoded := range refused {
		if _, err := p.Add(t.Context(), encoded, "test"); err == nil {
			t.Fatal("taken")
		}
	}
	if got := r.take(); got != nil {
		t.Fatalf("verified %v", got)
	}
}

// TestBatchIsScreenedInTurn has a batch of three and a balance for two: the third's signature is not verified.
func TestBatchIsScreenedInTurn(t *testing.T) {
	c, r := newChain(), &recorder{}
	c.set(1, 2*(testGas*100+1), 0)
	p := openRecorded(t, c, r)
	results := p.AddMany(t.Context(), [][]byte{
		transfer(1, 0, 100, 5), transfer(1, 1, 100, 5), transfer(1, 2, 100, 5),
	}, "test")
	if results[0].Err != nil || results[1].Err != nil || !errors.Is(results[2].Err, exec.ErrCannotPay) {
		t.Fatalf("got %v", results)
	}
	if got := r.take(); !slices.Equal(got, []int{2}) {
		t.Fatalf("verified %v", got)
	}
}

// TestCallersShareBatches lets callers queue up while the worker is busy. Their transactions are verified and added
// together.
func TestCallersShareBatches(t *testing.T) {
	r := &recorder{entered: make(chan struct{}), gate: make(chan struct{})}
	var added []int
	add := func(batches ...*batch) { added = append(added, len(batches)) }
	l := newLane(r.verify, add, 1, 1, batchSize, queueItems, queueBytes)
	defer l.close()
	var groups []*group
	call := func(n int) {
		t.Helper()
		candidates := make([]*candidate, n)
		for i := range candidates {
			candidates[i] = new(candidate)
			candidates[i].decode(rules{env: newChain().env}, transfer(1, uint64(i), 100, 5), time.Now())
		}
		g := newGroup(candidates, &batch{candidates: candidates})
		groups = append(groups, g)
		if err := l.enqueue(g); err != nil {
			t.Fatal(err)
		}
	}
	call(1)
	<-r.entered
	for range 40 {
		call(1)
	}
	call(3)
	close(r.gate)
	<-r.entered
	for _, g := range groups {
		<-g.done
		if slices.Contains(g.results, nil) {
			t.Fatal("a good signature is called bad")
		}
	}
	if got := r.take(); !slices.Equal(got, []int{1, 43}) || !slices.Equal(added, []int{1, 41}) {
		t.Fatalf("batches of %v, callers together %v", got, added)
	}
}

// TestFewSignaturesLinger sends few signatures at a time to a lane that prefers to verify eight together.
func TestFewSignaturesLinger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &recorder{}
		l := newLane(r.verify, nil, 2, 8, batchSize, queueItems, queueBytes)
		defer l.close()
		took := func(n int) time.Duration {
			t.Helper()
			start := time.Now()
			batch := make([]*candidate, n)
			for i := range batch {
				batch[i] = new(candidate)
				batch[i].decode(rules{env: newChain().env}, transfer(1, uint64(i), 100, 5), time.Now())
			}
			l.verify(t.Context(), batch, nil)
			for _, c := range batch {
				if c.err != nil {
					t.Error(c.err)
				}
			}
			synctest.Wait() // until the worker waits again
			return time.Since(start)
		}
		for _, step := range []struct {
			what string
			n    int
			want time.Duration
		}{
			{"a lone sender does not wait", 1, 0},
			{"eight together do not either", 8, 0},
			{"one after eight waits for others", 1, lingerTime},
			{"and is a lone sender then", 1, 0},
		} {
			if got := took(step.n); got != step.want {
				t.Errorf("%s: took %v, want %v; batches of %v", step.what, got, step.want, r.take())
			}
		}
	})
}

// TestBatchesAreBounded verifies 1,100 at once in batches of at most 1,024.
func TestBatchesAreBounded(t *testing.T) {
	r := &recorder{}
	p := openRecorded(t, newChain(), r)
	var encoded [][]byte
	for i := range 1100 {
		encoded = append(encoded, transfer(i%50, uint64(i/50), 100, 5))
	}
	for i, result := range p.AddMany(t.Context(), encoded, "test") {
		if result.Err != nil {
			t.Fatalf("transaction %d: %v", i, result.Err)
		}
	}
	if got := r.take(); !slices.Contains(got, 1024) || slices.Max(got) > 1024 || sum(got) != 1100 {
		t.Fatalf("batches of %v", got)
	}
}

func sum(numbers []int) (n int) {
	for _, x := range numbers {
		n += x
	}
	return n
}

// TestBadSignaturesDoNotSlowOthers has a source that spoils batches. From its second bad signature on it is verified
// separately, and the batches of honest sources stay whole.
func TestBadSignaturesDoNotSlowOthers(t *testing.T) {
	c, r := newChain(), &recorder{}
	p := openRecorded(t, c, r)
	bad := func(nonce uint64) [][]byte { return [][]byte{withBadSignature(transfer(1, nonce, 100, 5))} }
	honest := func(round int) (encoded [][]byte) {
		for i := range 400 {
			encoded = append(encoded, transfer(2+i%50, uint64(round*8+i/50), 100, 5))
		}
		return encoded
	}
	if got := p.AddMany(t.Context(), bad(0), "bad"); !errors.Is(got[0].Err, ErrBadSignature) {
		t.Fatalf("got %v", got)
	}
	r.take()
	for round := range 3 {
		for i, result := range p.AddMany(t.Context(), honest(round), "honest") {
			if result.Err != nil {
				t.Fatalf("round %d, transaction %d: %v", round, i, result.Err)
			}
		}
		if got := p.AddMany(t.Context(), bad(0), "bad"); !errors.Is(got[0].Err, ErrBadSignature) {
			t.Fatalf("got %v", got)
		}
		if got := r.take(); !slices.Equal(got, []int{400, 1}) {
			t.Fatalf("round %d: batches of %v", round, got)
		}
	}
}

// withSuspects runs a test with two suspect sources, whose turns take a second each.
func withSuspects(t *testing.T, test func(*testing.T, *fakeChain, *Pool, *recorder)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		c, r := newChain(), &recorder{}
		p := openRecorded(t, c, r)
		p.verifier.after = func(_ time.Duration, give func()) { time.AfterFunc(time.Second, give) }
		for i, source := range []string{"many", "few"} {
			refuseFrom(t, p, withBadSignature(transfer(50+i, 0, 100, 5)), source, ErrBadSignature)
		}
		r.take()
		test(t, c, p, r)
	})
}

// sendAll adds n transactions of the i-th account from one source, all of which the pool must accept.
func sendAll(t *testing.T, p *Pool, i, n int, source string) {
	t.Helper()
	encoded := make([][]byte, n)
	for nonce := range encoded {
		encoded[nonce] = transfer(i, uint64(nonce), 100, 5)
	}
	for nonce, result := range p.AddMany(t.Context(), encoded, source) {
		if result.Err != nil {
			t.Errorf("%s, transaction %d: got error %v, want none", source, nonce, result.Err)
		}
	}
}

// TestSuspectsTakeTurns has one suspect send a thousand signatures at once before another one sends two. None is
// refused, all are verified one by one, and the second suspect waits for only one turn of the first.
func TestSuspectsTakeTurns(t *testing.T) {
	withSuspects(t, func(t *testing.T, _ *fakeChain, p *Pool, r *recorder) {
		begun := time.Now()
		var many, few time.Duration
		var work sync.WaitGroup
		work.Go(func() {
			sendAll(t, p, 1, 1000, "many")
			many = time.Since(begun)
		})
		synctest.Wait()
		work.Go(func() {
			sendAll(t, p, 2, 2, "few")
			few = time.Since(begun)
		})
		work.Wait()
		if want := 62 * time.Second; few != time.Second || many < want {
			t.Errorf("the few took %v and the many %v, want 1s and at least %v", few, many, want)
		}
		if got := r.take(); len(got) != 1002 || slices.Max(got) != 1 {
			t.Errorf("got %d batches of up to %d, want 1002 of 1", len(got), slices.Max(got))
		}
	})
}

// TestSuspectsWaitingIsBounded has one request more than may wait, and lets the minute pass.
func TestSuspectsWaitingIsBounded(t *testing.T) {
	withSuspects(t, func(t *testing.T, c *fakeChain, p *Pool, _ *recorder) {
		var work sync.WaitGroup
		sendAll(t, p, 40, 1, "many") // duration of its turn
		for i := range suspectWaiting {
			encoded := transfer(1+i%32, uint64(i/32), 100, 5)
			work.Go(func() {
				if _, err := p.Add(t.Context(), encoded, "many"); err != nil {
					t.Errorf("request %d: got error %v, want none", i, err)
				}
			})
		}
		synctest.Wait()
		_, err := p.Add(t.Context(), transfer(41, 0, 100, 5), "many")
		var full *FullError
		if !errors.As(err, &full) || full.RetryAfter != time.Second {
			t.Errorf("one more than may wait: got error %v, want a FullError", err)
		}
		work.Wait()
		c.pass(time.Minute - 1)
		if !p.verifier.isSuspect("many") {
			t.Error("forgiven within the minute")
		}
		c.pass(1)
		if p.verifier.isSuspect("many") {
			t.Error("not forgiven after the minute")
		}
	})
}

// TestGoneSuspect has a suspect's caller leave while it waits for its turn.
func TestGoneSuspect(t *testing.T) {
	withSuspects(t, func(t *testing.T, _ *fakeChain, p *Pool, r *recorder) {
		sendAll(t, p, 1, 1, "many")
		ctx, cancel := context.WithCancel(t.Context())
		gone := make(chan error, 1)
		go func() {
			_, err := p.Add(ctx, transfer(2, 0, 100, 5), "many")
			gone <- err
		}()
		synctest.Wait()
		cancel()
		if err := <-gone; !errors.Is(err, context.Canceled) {
			t.Errorf("got error %v, want that of the context", err)
		}
		sendAll(t, p, 3, 1, "few") // whose turn comes after the one that was given up
		if got := r.take(); len(got) != 2 {
			t.Errorf("got %d signatures verified, want 2", len(got))
		}
	})
}

func refuseFrom(t *testing.T, p *Pool, encoded []byte, source string, want error) {
	t.Helper()
	if _, err := p.Add(t.Context(), encoded, source); !errors.Is(err, want) {
		t.Fatalf("got error %v, want %v", err, want)
	}
}

func TestSuspectsAreBounded(t *testing.T) {
	c := newChain()
	v := newVerifier(c.now, verifyAll, nil)
	defer v.close()
	for i := range maxSuspects + 10 {
		v.addSuspect(fmt.Sprint(i))
	}
	if len(v.suspects) != maxSuspects || !v.isSuspect(fmt.Sprint(maxSuspects+9)) {
		t.Fatalf("%d suspects", len(v.suspects))
	}
	c.pass(time.Minute)
	v.addSuspect("new")
	if len(v.suspects) != 1 {
		t.Fatalf("%d suspects after a minute", len(v.suspects))
	}
}

// TestQueueIsBounded fills the queue of a busy lane, by number and by bytes.
func TestQueueIsBounded(t *testing.T) {
	size := len(transfer(1, 0, 100, 5))
	for _, test := range []struct{ items, bytes int }{{2, 1 << 20}, {100, 2*size + size/2}} {
		r := &recorder{entered: make(chan struct{}), gate: make(chan struct{})}
		l := newLane(r.verify, nil, 1, 1, 1, test.items, test.bytes)
		candidates := make([]*candidate, 4)
		for i := range candidates {
			candidates[i] = new(candidate)
			candidates[i].decode(rules{env: newChain().env}, transfer(1, uint64(i), 100, 5), time.Now())
		}
		first, second := newGroup(candidates[:1], nil), newGroup(candidates[1:3], nil)
		if err := l.enqueue(first); err != nil {
			t.Fatal(err)
		}
		<-r.entered
		if err := l.enqueue(second); err != nil {
			t.Fatalf("within the bounds: %v", err)
		}
		l.verify(t.Context(), candidates[3:], nil)
		if !errors.Is(candidates[3].err, ErrFull) {
			t.Fatalf("over the bounds: %v", candidates[3].err)
		}
		close(r.gate)
		<-r.entered
		<-r.entered
		<-first.done
		<-second.done
		l.close()
	}
}

// TestCancelledCaller leaves while its signature is being verified: nothing is added, and the worker continues.
func TestCancelledCaller(t *testing.T) {
	r := &recorder{entered: make(chan struct{}), gate: make(chan struct{})}
	p := openRecorded(t, newChain(), r)
	ctx, cancel := context.WithCancel(t.Context())
	left := make(chan error)
	go func() {
		_, err := p.Add(ctx, transfer(1, 0, 100, 5), "test")
		left <- err
	}()
	<-r.entered
	cancel()
	if err := <-left; !errors.Is(err, context.Canceled) {
		t.Fatalf("got error %v", err)
	}
	close(r.gate)
	if n := p.Stats().Count; n != 0 {
		t.Fatalf("%d transactions", n)
	}
}

// TestHeadMovesDuringVerification includes the nonce while the pool verifies the signature.
func TestHeadMovesDuringVerification(t *testing.T) {
	c := newChain()
	r := &recorder{entered: make(chan struct{}), gate: make(chan struct{})}
	p := openRecorded(t, c, r)
	done := make(chan []Result)
	go func() {
		done <- p.AddMany(t.Context(), [][]byte{
			transfer(1, 0, 100, 5), transfer(1, 1, 30, 5), transfer(1, 2, 100, 5),
		}, "test")
	}()
	<-r.entered
	c.env.Parameters.MinBaseFee = 31
	accesses := c.block(map[int]state.Account{1: {Balance: rich, Nonce: 1}})
	if err := p.Reset(c.head(), accesses); err != nil { // the sender is not in the pool yet
		t.Fatal(err)
	}
	close(r.gate)
	results := <-done
	if results[0].Err == nil || results[1].Err == nil || results[2].Err != nil {
		t.Fatalf("got %v", results)
	}
	if s := p.Stats(); s.Count != 1 || s.Held != 1 {
		t.Fatalf("got %+v", s)
	}
	checkInvariants(t, p)
}

// byP256 returns a transaction of an account whose policy has one P-256 key, and the account.
func byP256(t *testing.T, wrong bool) ([]byte, types.Account) {
	t.Helper()
	private, err := ecdsa.ParseRawPrivateKey(elliptic.P256(), bytes.Repeat([]byte{7}, 32))
	if err != nil {
		t.Fatal(err)
	}
	public, err := private.PublicKey.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	signer := types.SignerP256{Point: [64]byte(public[1:])}
	policy := types.Policy{Owner: types.Rule{Threshold: 1, Signers: []types.Signer{signer}}}
	tx := draft(0, 0, 100, 5)
	tx.Sender = policy.Hash()
	message := tx.Hash()
	if wrong {
		message[0] ^= 1
	}
	digest := sha256.Sum256(message[:])
	r, s, err := ecdsa.Sign(rand.Reader, private, digest[:])
	if err != nil {
		t.Fatal(err)
	}
	if half := new(big.Int).Rsh(elliptic.P256().Params().N, 1); s.Cmp(half) > 0 {
		s.Sub(elliptic.P256().Params().N, s)
	}
	var evidence types.EvidenceP256
	r.FillBytes(evidence.Signature[:32])
	s.FillBytes(evidence.Signature[32:])
	witness := types.WitnessPolicy{Policy: policy, Proofs: []types.Proof{{Evidence: evidence}}}
	return types.SignedTransaction{Transaction: tx, Witness: witness}.Encode(), tx.Sender
}

// Signatures over P-256 are verified separately, and the others do not wait for them.
func TestP256HasItsLane(t *testing.T) {
	c := newChain()
	good, sender := byP256(t, false)
	bad, _ := byP256(t, true)
	c.accounts[sender] = state.Account{Balance: rich}
	gate, entered := make(chan struct{}), make(chan struct{}, 4)
	p, err := newPool(Options{Now: c.now}, c.head(), func(txs []*types.Tx) []*types.VerifiedTx {
		dear := 0
		for _, tx := range txs {
			if usesP256(tx.Signed()) {
				dear++
			}
		}
		if dear > 0 {
			if dear != len(txs) {
				t.Errorf("%d of %d use P-256", dear, len(txs))
			}
			entered <- struct{}{}
			<-gate
		}
		return verifyAll(txs)
	})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	done := make(chan []Result)
	go func() { done <- p.AddMany(t.Context(), [][]byte{good, transfer(1, 0, 100, 5)}, "both") }()
	<-entered
	add(t, p, transfer(2, 0, 100, 5)) // does not wait
	close(gate)
	for i, r := range <-done {
		if r.Err != nil {
			t.Errorf("transaction %d: %v", i, r.Err)
		}
	}
	if _, ok := p.Get(idOf(good)); !ok {
		t.Error("it is not pending")
	}
	// A cheap bad signature makes the source a suspect before its expensive ones are verified.
	if err := p.Drop(idOf(good)); err != nil {
		t.Fatal(err)
	}
	results := p.AddMany(t.Context(), [][]byte{good, withBadSignature(transfer(3, 0, 100, 5))}, "mixed")
	if results[0].Err != nil || !errors.Is(results[1].Err, ErrBadSignature) || !p.verifier.isSuspect("mixed") {
		t.Errorf("got %v", results)
	}
	if err := p.Drop(idOf(good)); err != nil {
		t.Fatal(err)
	}
	refuseFrom(t, p, bad, "dear", ErrBadSignature)
	if !p.verifier.isSuspect("dear") {
		t.Error("the source of a bad P-256 signature is no suspect")
	}
	checkInvariants(t, p)
}
