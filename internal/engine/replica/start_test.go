package replica

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cairn-chain/cairn/internal/engine/ledger"
	"github.com/cairn-chain/cairn/internal/protocol/tree"
	"github.com/cairn-chain/cairn/types"
)

// bundleOf returns the bundle of a block.
type bundleOf = func(context.Context, types.Height, int64) ([]byte, error)

// TestStartsAtATrustedBlock requests a trusted block from sources until one provides it or no source is left.
func TestStartsAtATrustedBlock(t *testing.T) {
	const height = 5
	hash := types.BlockHash{7}
	bundle := func(err error) bundleOf {
		return func(context.Context, types.Height, int64) ([]byte, error) { return []byte("bundle"), err }
	}
	good := bundle(nil)
	pruned := &Refusal{Err: errors.New("pruned")}
	for _, test := range []struct {
		name    string
		bundles []bundleOf // of each source, which is good again after a minute
		begin   error
		fails   string // part of the error; empty: the start succeeds
		asked   bool   // requested more than once
	}{
		{name: "at once", bundles: []bundleOf{good}},
		{name: "one has it not any more", bundles: []bundleOf{bundle(pruned), good}},
		{
			name:    "none has it any more",
			bundles: []bundleOf{bundle(pruned), bundle(Faulty(Stalled, "gone"))},
			fails:   "source 1: gone",
		},
		{name: "it is not proven yet", bundles: []bundleOf{bundle(ErrNotProven)}, asked: true},
		{name: "they refuse", bundles: []bundleOf{
			bundle(&Refusal{Err: errors.New("no such method")}), bundle(&Refusal{Err: errors.New("not allowed")}),
		}, fails: "source 1: the proof of a block: "},
		{
			name:    "it is busy",
			bundles: []bundleOf{bundle(pruned), bundle(&Refusal{Why: RefusedBusy, Err: errors.New("busy")})},
			asked:   true,
		},
		{
			name:    "it has an incident",
			bundles: []bundleOf{bundle(&Refusal{Why: RefusedFailed, Err: errors.New("incident")})},
			asked:   true,
		},
		{
			name:    "it has not come as far",
			bundles: []bundleOf{bundle(&Refusal{Why: RefusedEarly, Err: errors.New("above its head")})},
			asked:   true,
		},
		{name: "it does not answer", bundles: []bundleOf{bundle(pruned), bundle(errDropped)}, asked: true},
		{
			name:    "it is another block",
			bundles: []bundleOf{good},
			begin:   ledger.ErrUntrusted,
			fails:   ledger.ErrUntrusted.Error(),
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				primary := openChain(t, testGenesis())
				extend(t, primary, 10)
				well := time.Now().Add(time.Minute)
				var sources []Source
				for i, b := range test.bundles {
					source := &faultySource{name: fmt.Sprint("source ", i), chain: primary}
					source.bundle = func(ctx context.Context, h types.Height, limit int64) ([]byte, error) {
						if time.Now().After(well) {
							b = good
						}
						return b(ctx, h, limit)
					}
					source.value = func(h types.Height, key []byte) ([]byte, tree.MerkleProof, error) {
						if h != height-1 || string(key) != "key" {
							t.Errorf("the value of %q after block %d is asked for", key, h)
						}
						return []byte("value"), tree.MerkleProof{}, nil
					}
					source.headers = func(to types.Height) ([]types.SignedHeader, error) {
						return make([]types.SignedHeader, to), nil
					}
					sources = append(sources, source)
				}
				begin := func(s ledger.Start) error {
					value, _, err := s.Fetch.Value([]byte("key"))
					if s.Block.Header().Header.Height != height || s.Block.Header().Header.Parent != s.Parent.Header.Hash() ||
						string(s.Bundle) != "bundle" ||
						string(value) != "value" || err != nil || s.Fetch.Code == nil || s.Trusted != hash {
						t.Errorf("%+v, the value %q, error %v", s, value, err)
					}
					headers, err := s.Headers(height - 2)
					earlier, bundleErr := s.Earlier(types.SignedHeader{Header: types.Header{Height: height - 2}})
					if len(headers) != height-2 || string(earlier) != "bundle" ||
						errors.Join(err, bundleErr) != nil {
						t.Errorf("%d headers, the bundle %q, %v, error %v", len(headers), earlier, err, bundleErr)
					}
					return test.begin
				}
				begun := time.Now()
				err := StartAt(
					t.Context(), types.Regtest, sources, Trusted{Height: height, Hash: hash}, slog.New(slog.DiscardHandler), begin,
				)
				if (err != nil) != (test.fails != "") || err != nil && !strings.Contains(err.Error(), test.fails) {
					t.Errorf("error %v", err)
				}
				if test.asked != (time.Since(begun) >= time.Minute) {
					t.Errorf("it took %v", time.Since(begun))
				}
			})
		})
	}
	if err := StartAt(t.Context(), types.Regtest, nil, Trusted{}, nil, nil); err == nil {
		t.Error("it begins at block 0")
	}
	ended, end := context.WithCancel(t.Context())
	end()
	away := &faultySource{name: "away", fault: func() error { return errDropped }}
	if err := StartAt(
		ended, types.Regtest, []Source{away}, Trusted{Height: 1}, slog.New(slog.DiscardHandler), nil,
	); !errors.Is(err, context.Canceled) {
		t.Errorf("after its end: error %v", err)
	}
}
