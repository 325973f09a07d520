package replica

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/internal/engine/ledger"
	"github.com/cairn-chain/cairn/types"
)

// TestWaitsForProofs has a block whose proof comes after some time: the replica says so, and goes on.
func TestWaitsForProofs(t *testing.T) {
	in(t, 20, 1, func(f *fixture) {
		ready := time.Now().Add(3 * time.Minute)
		f.gate = func(_ Source, h types.Height) error {
			if h == 8 && time.Now().Before(ready) {
				return ErrNotProven
			}
			return nil
		}
		f.start()
		f.pass(2 * time.Minute)
		if s := f.Status(); s.State != api.StateHolding || !strings.HasPrefix(s.Reason, "proof_pending: block 8 ") || !strings.Contains(s.Reason, " 13 blocks") || s.Local != 7 {
			t.Errorf("while the proof is awaited: %+v", s)
		}
		if n := f.faults(0, Stalled) + f.faults(0, Unreachable) + f.faults(0, Lied); n != 0 {
			t.Errorf("the only upstream was left %d times", n)
		}
		f.pass(90 * time.Second)
		f.synced()
	})
}

// TestLeavesWhoGivesNoProof has two upstreams, one of which does not give what it takes to verify a block.
func TestLeavesWhoGivesNoProof(t *testing.T) {
	for _, test := range []struct {
		name  string
		err   error
		cause Cause
		after time.Duration
	}{
		{"its proof does not come", ErrNotProven, Stalled, proofPatience + 5*time.Second},
		{"its proof does not hold", fmt.Errorf("%w: the test", ledger.ErrEvidence), Lied, 5 * time.Second},
		{"it does not answer", faulty(Unreachable, "the test"), Unreachable, 20 * time.Second},
		{"it makes no proofs", faulty(Stalled, "the test"), Stalled, 5 * time.Second},
	} {
		t.Run(test.name, func(t *testing.T) {
			in(t, 20, 2, func(f *fixture) {
				f.gate = func(s Source, h types.Height) error {
					if h == 8 && s.Name() == f.sources[0].name {
						return test.err
					}
					return nil
				}
				f.start()
				if test.cause == Unreachable { // an upstream that may be well again is asked again: it must be away
					f.pass(test.after)
					f.sources[0].set(func(s *faultySource) { s.fault = func() error { return errDropped } })
				}
				f.pass(test.after)
				f.synced()
				if f.faults(0, test.cause) == 0 || f.Halt() != nil {
					t.Errorf("faults %+v, halt %v", f.Status().Upstreams, f.Halt())
				}
			})
		})
	}
}

// known says which contract has a code.
type known map[types.CodeHash]types.ContractID

func (k known) Contract(hash types.CodeHash) (types.ContractID, bool) {
	id, ok := k[hash]
	return id, ok
}

func TestFetchesCodes(t *testing.T) {
	code, id := []byte("some code"), types.ContractID{1}
	hash := types.CodeHash(sha256.Sum256(code))
	var given []byte
	var failure error
	asked := 0
	source := &faultySource{code: func(got types.ContractID) ([]byte, error) {
		if asked++; got != id {
			return nil, fmt.Errorf("asked for %s", got)
		}
		return given, failure
	}}
	cache := newCodeCache()
	fetch := func() (*fetchedCodes, error) {
		f := &fetchedCodes{ctx: t.Context(), source: source, proven: known{hash: id}, cache: cache}
		got, err := f.Code(hash)
		if err == nil && string(got) != string(code) {
			t.Errorf("got %q", got)
		}
		return f, err
	}
	var fault *faultError
	given = []byte("other code")
	if f, err := fetch(); !errors.As(err, &fault) || fault.cause != Lied || !errors.Is(err, ledger.ErrEvidence) || !errors.Is(f.err, err) {
		t.Errorf("other code: %v", err)
	}
	given, failure = nil, context.DeadlineExceeded
	if _, err := fetch(); !errors.As(err, &fault) || fault.cause != Unreachable {
		t.Errorf("no answer: %v", err)
	}
	given, failure = code, nil
	f, err := fetch()
	if err != nil {
		t.Fatal(err)
	}
	if size, err := f.CodeSize(hash); err != nil || size != len(code) || asked != 3 {
		t.Errorf("size %d, %v, asked %d times", size, err, asked)
	}
	if _, err := f.Code(types.CodeHash{}); err == nil {
		t.Errorf("code that no contract has: %v", err)
	}
}

func TestCodeCacheIsBounded(t *testing.T) {
	cache := newCodeCache()
	const size = types.MaxCodeBytes
	for i := range 2 * maxCachedCodes / size {
		cache.keep(types.CodeHash{byte(i), byte(i >> 8)}, make([]byte, size))
		if cache.size > maxCachedCodes || len(cache.codes)*size != cache.size || len(cache.order) != len(cache.codes) {
			t.Fatalf("%d bytes in %d codes, %d in order", cache.size, len(cache.codes), len(cache.order))
		}
	}
	if _, ok := cache.codes[types.CodeHash{0}]; ok || len(cache.codes) != maxCachedCodes/size {
		t.Errorf("%d codes are kept, the oldest %v", len(cache.codes), ok)
	}
}
