package snapshot

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/cairn-chain/cairn/types"
)

// identity identifies a snapshot by its block and chunks.
type identity struct {
	block  types.BlockHash
	chunks [32]byte
}

func identify(m Manifest) identity {
	hash := sha256.New()
	for _, c := range m.Chunks {
		hash.Write(c.SHA256[:]) // never fails
	}
	return identity{m.BlockHash, [32]byte(hash.Sum(nil))}
}

// choose returns the snapshot to fetch and the sources that offer it. It prefers a snapshot that is already here in
// part or, after an interrupted import, complete; otherwise it takes the newest.
func (f *fetcher) choose(ctx context.Context) (Manifest, []Source, error) {
	if m, sources, err := f.chooseKept(ctx); err != nil || len(sources) > 0 {
		return m, sources, err
	}
	return f.chooseNewest(ctx)
}

// chooseKept chooses among the snapshots already here. It returns no sources if none is usable.
func (f *fetcher) chooseKept(ctx context.Context) (m Manifest, sources []Source, err error) {
	parts, err := f.parts()
	if err != nil {
		return m, nil, err
	}
	for _, part := range parts {
		m, _, err := readManifest(os.DirFS(part))
		if err == nil && f.wanted(m) == nil {
			sources, fault := f.offering(ctx, m)
			if len(sources) > 0 {
				return m, sources, nil
			}
			if fault != nil {
				continue // a source that does not answer now may still offer it
			}
		}
		// A crash damaged its manifest, or no source offers it any more.
		if err := os.RemoveAll(part); err != nil {
			return m, nil, err
		}
	}
	whole, err := list(f.Parent, func(err error) { f.Log.Warn("cannot use a local snapshot", "error", err) })
	if err != nil {
		return m, nil, err
	}
	for _, m := range slices.Backward(whole) {
		if f.wanted(m) == nil {
			// without sources, chooseNewest reports the fault
			if sources, _ := f.offering(ctx, m); len(sources) > 0 {
				return m, sources, nil
			}
		}
	}
	return m, nil, nil
}

func (f *fetcher) chooseNewest(ctx context.Context) (Manifest, []Source, error) {
	var best *Manifest
	var faults []error
	unreachable := false
	for _, source := range f.Sources {
		m, err := f.ask(ctx, source, AnyHeight)
		switch {
		case err != nil:
			unreachable = true
			faults = append(faults, fmt.Errorf("%s: %w", source.Name(), err))
		case m == nil:
			faults = append(faults, fmt.Errorf("%s offers none", source.Name()))
		default:
			if err := f.wanted(*m); err != nil {
				faults = append(faults, fmt.Errorf("%s: block %d: %w", source.Name(), m.Height, err))
			} else if best == nil || m.Height > best.Height {
				best = m
			}
		}
	}
	switch {
	case best != nil:
		sources, fault := f.offering(ctx, *best)
		if len(sources) == 0 {
			return Manifest{}, nil, errors.Join(
				fmt.Errorf("no upstream offers the snapshot of block %d any longer", best.Height), fault,
			)
		}
		return *best, sources, nil
	case unreachable:
		return Manifest{}, nil, errors.Join(faults...)
	default:
		return Manifest{}, nil, fmt.Errorf("%w: %w", ErrNone, errors.Join(faults...))
	}
}

func (f *fetcher) ask(ctx context.Context, source Source, atMost types.Height) (*Manifest, error) {
	ctx, cancel := context.WithTimeout(ctx, manifestTime)
	defer cancel()
	return source.Snapshot(ctx, atMost)
}

// wanted returns the reason why a snapshot must not be fetched, judging by its manifest, or nil.
func (f *fetcher) wanted(m Manifest) error {
	if _, err := checkManifest(m); err != nil {
		return err
	}
	switch {
	case m.GenesisHash != f.Trust.Genesis:
		return fmt.Errorf("%w: its genesis hash is %s, not %s", ErrOtherChain, m.GenesisHash, f.Trust.Genesis)
	case f.Trust.Block != (types.BlockHash{}) && m.BlockHash != f.Trust.Block:
		return fmt.Errorf("%w: it is for block %s, not %s", ErrOtherChain, m.BlockHash, f.Trust.Block)
	}
	return f.refused[identify(m)]
}

// offering returns the sources that offer a snapshot. The error joins those of sources that did not answer.
func (f *fetcher) offering(ctx context.Context, m Manifest) (sources []Source, err error) {
	for _, source := range f.Sources {
		got, fault := f.ask(ctx, source, m.Height)
		if fault != nil {
			err = errors.Join(err, fmt.Errorf("%s: %w", source.Name(), fault))
		} else if got != nil && identify(*got) == identify(m) {
			sources = append(sources, source)
		}
	}
	return sources, err
}
