package replica

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cairn-chain/cairn/internal/engine/ledger"
	"github.com/cairn-chain/cairn/internal/protocol/blockproof"
	"github.com/cairn-chain/cairn/types"
)

// TestWaitsForProofs: the proof of a block becomes available late at each of the upstreams. The replica reports it,
// blames none of them, and continues.
func TestWaitsForProofs(t *testing.T) {
	for upstreams := range 3 {
		in(t, 20, upstreams+1, waitsForProofs)
	}
}

func waitsForProofs(f *fixture) {
	ready := time.Now().Add(3 * time.Minute)
	f.gate = func(_ Source, h types.Height) error {
		if h == 8 && time.Now().Before(ready) {
			return ErrNotProven
		}
		return nil
	}
	for _, s := range f.sources {
		s.bundle = func(_ context.Context, h types.Height, _ int64) ([]byte, error) { return nil, f.gate(s, h) }
	}
	f.start()
	f.pass(2 * time.Minute)
	if s := f.Status(); s.State != StateHolding || !strings.HasPrefix(s.Reason, "proof_pending: block 8 ") ||
		!strings.Contains(s.Reason, " 13 blocks") || s.Local != 7 {
		f.t.Errorf("while the proof is awaited: got %+v", s)
	}
	for i := range f.sources {
		if n := f.faults(i, Stalled) + f.faults(i, Behind) + f.faults(i, Unreachable) + f.faults(i, Lied); n != 0 {
			f.t.Errorf("of %d upstreams number %d was left %d times", len(f.sources), i, n)
		}
	}
	f.pass(90 * time.Second)
	f.synced()
}

// TestLeavesWhoGivesNoProof has two upstreams, one of which does not provide the data to verify a block.
func TestLeavesWhoGivesNoProof(t *testing.T) {
	for _, test := range []struct {
		name  string
		err   error
		cause Cause
		after time.Duration
	}{
		{"its proof does not come", ErrNotProven, Behind, proofPatience + 5*time.Second},
		{"its proof does not hold", fmt.Errorf("%w: the test", ledger.ErrEvidence), Lied, 5 * time.Second},
		{"its proof is weak", fmt.Errorf("%w: %w: the test", ledger.ErrEvidence, blockproof.ErrWeak), Weak, 5 * time.Second},
		{"it does not answer", Faulty(Unreachable, "the test"), Unreachable, 20 * time.Second},
		{"it makes no proofs", Faulty(Stalled, "the test"), Stalled, 5 * time.Second},
	} {
		t.Run(test.name, func(t *testing.T) {
			in(t, 20, 2, func(f *fixture) {
				f.gate = func(s Source, h types.Height) error {
					if h == 8 && s.Name() == f.sources[0].name {
						return test.err
					}
					return nil
				}
				f.sources[1].bundle = func(context.Context, types.Height, int64) ([]byte, error) { return []byte("bundle"), nil }
				f.start()
				if test.cause == Unreachable { // an upstream that may have recovered is asked again, so it must be away
					f.pass(test.after)
					f.sources[0].set(func(s *faultySource) { s.fault = func() error { return errDropped } })
				}
				f.pass(test.after)
				f.synced()
				if f.faults(0, test.cause) == 0 || f.Halt() != nil {
					t.Errorf("faults %+v, halt %v", f.Status().Upstreams, f.Halt())
				}
				if lied := f.upstreams[0].rank().lied; lied && test.cause == Behind {
					t.Error("a proof that is to come is taken for a lie")
				}
			})
		})
	}
}

// TestAsksForCodes: a source is to blame for codes that it does not give. The ledger verifies the codes that it gives.
func TestAsksForCodes(t *testing.T) {
	for _, test := range []struct {
		name  string
		err   error
		cause Cause
	}{
		{name: "the code"},
		{"no answer", context.DeadlineExceeded, Unreachable},
		{"it does not have it", Faulty(Stalled, "the test"), Stalled},
	} {
		source := &faultySource{evidence: evidence{
			code: func(hash types.CodeHash) ([]byte, error) { return hash[:1], test.err },
		}}
		code, err := fetchFrom(t.Context(), source, 0).Code(types.CodeHash{7})
		var fault *FaultError
		if test.cause == "" && (err != nil || string(code) != "\x07") ||
			test.cause != "" && (!errors.As(err, &fault) || fault.Cause != test.cause) {
			t.Errorf("%s: got %x, error %v", test.name, code, err)
		}
	}
}
