package chain

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/cli/output"
	"github.com/cairn-chain/cairn/cli/session"
	"github.com/cairn-chain/cairn/client"
	"github.com/cairn-chain/cairn/proof"
	"github.com/cairn-chain/cairn/types"
)

const (
	// mostSteps bounds the number of proofs in a walk, and mostStepBytes the size of each, as the node is not trusted.
	mostSteps     = 100_000
	mostStepBytes = 128 << 20
	// longestRange is the base-2 logarithm of the length of the longest range.
	longestRange = 12
)

// walked is the result of `cairn proof chain`.
type walked struct {
	From      types.Height    `json:"fromHeight"` // first block that is verified
	Height    types.Height    `json:"height"`
	BlockHash types.BlockHash `json:"blockHash"`
	StateRoot types.StateRoot `json:"stateRoot"`
	Producer  bool            `json:"producerShown"` // whether the access lists show the current producer
	Bits      int             `json:"securityBits"`  // minimum over all proofs
	Ranges    int             `json:"ranges"`        // number of proofs of ranges
	Blocks    int             `json:"blocks"`        // number of proofs of single blocks
	Bytes     int64           `json:"bytes"`
}

func newProofChain(a *session.App) *cobra.Command {
	var trusted trust
	var bits int
	command := a.LookUp(&cobra.Command{
		Use:   "chain [TO]",
		Short: "Verify the proofs of all blocks after a trusted block",
		Long: `Verify the proofs of all blocks after a trusted block, up to a height or to the node's
newest proof. Each proof starts where the previous one ends, and covers as many blocks
as possible. Each block must be signed by the producer in force, which follows from the
access lists. To check also that the transactions were executed correctly, run a
stateless replica (cairn node --verify stateless). One run verifies at most 100,000 proofs; it
then prints how far it came, and the next run can start there.`,
		Example: "  cairn proof chain --trusted-header 0:0x4f1c…\n  cairn proof chain 5000 --trusted-header 4096:0x77ab…",
		Args:    cobra.MaximumNArgs(1),
	}, func(ctx context.Context, s *session.Session, _ *cobra.Command, args []string) error {
		at, err := startVerifying(ctx, s, trusted)
		if err != nil {
			return err
		}
		info, err := s.Client.NodeInfo(ctx)
		if err != nil {
			return err
		}
		to := newestProof(info)
		if len(args) > 0 {
			n, err := strconv.ParseUint(args[0], 0, 64)
			if err != nil {
				return output.Usage(fmt.Errorf("%q is not a height", args[0]))
			}
			to = types.Height(n)
		}
		if to <= at.height {
			return output.Usage(fmt.Errorf("there are no proofs after block %d up to block %d", at.height, to))
		}
		c := proof.NewChain(at.height, at.hash, bits)
		if at.Override != nil {
			c.Override(*at.Override)
		}
		w, err := walk(ctx, c, to, fetchFrom(s.Client, to, info.RangeProofs))
		if err != nil {
			return err
		}
		return s.Result(w, func(t *output.Text) { t.Fields(w.fields()...) })
	})
	trusted.register(command)
	flagBits(command, &bits)
	return command
}

// newestProof returns the last block for which a node claims a proof.
func newestProof(info api.NodeInfo) (newest types.Height) {
	if info.Proofs != nil {
		newest = info.Proofs.Newest
	}
	for _, r := range info.RangeProofs {
		newest = max(newest, r.Newest)
	}
	return newest
}

// verifying is implemented by *proof.Chain.
type verifying interface {
	Height() types.Height
	Hash() types.BlockHash
	Signed() bool
	Next(encoded []byte) (proof.RangeVerdict, error)
}

// step is the proof that continues a chain: of a range of 2^log blocks, or of one block.
type step struct {
	log     int
	encoded []byte
	err     error
}

// fetcher fetches the next step after a block: a proof of at most 2^log blocks.
type fetcher func(ctx context.Context, after types.Height, log int) step

// asked is a step that is being fetched.
type asked struct {
	answer <-chan step
	stop   context.CancelFunc // cancels the fetch
}

// ask fetches a step in the background.
func (f fetcher) ask(ctx context.Context, after types.Height, log int) asked {
	ctx, stop := context.WithCancel(ctx)
	answer := make(chan step, 1)
	go func() { answer <- f(ctx, after, log) }()
	return asked{answer, stop}
}

// walk extends a chain up to a block. It fetches the next step while it verifies the current one, so two steps are in
// memory.
func walk(ctx context.Context, c verifying, to types.Height, f fetcher) (w walked, err error) {
	w.From = c.Height() + 1
	next := f.ask(ctx, c.Height(), longestRange)
	defer func() { next.stop() }()
	for w.Ranges+w.Blocks < mostSteps && c.Height() < to {
		got := <-next.answer
		next.stop()
		if got.err == nil {
			if last := c.Height() + 1<<got.log; last < to {
				next = f.ask(ctx, last, longestRange)
			}
			var v proof.RangeVerdict
			if v, got.err = c.Next(got.encoded); got.err == nil {
				w.add(&v, len(got.encoded))
				continue
			}
		}
		if !errors.Is(got.err, proof.ErrHandedOver) || got.log == 0 {
			return w, fmt.Errorf("after block %d, %s: %w", c.Height(), c.Hash(), got.err)
		}
		next.stop()
		next = f.ask(ctx, c.Height(), got.log-1)
	}
	w.Height, w.BlockHash, w.Producer = c.Height(), c.Hash(), c.Signed()
	return w, nil
}

// add counts a verified step.
func (w *walked) add(v *proof.RangeVerdict, size int) {
	if v.FromHeight < v.Height {
		w.Ranges++
	} else {
		w.Blocks++
	}
	if w.Bits == 0 || v.SecurityBits < w.Bits {
		w.Bits = v.SecurityBits
	}
	w.Bytes, w.StateRoot = w.Bytes+int64(size), v.PostRoot
}

// fetchFrom returns a fetcher that uses a node: it fetches the longest range that the node has, or the proof of a
// block.
func fetchFrom(c *client.Client, to types.Height, ranges []api.RangeProofs) fetcher {
	return func(ctx context.Context, after types.Height, log int) step {
		for ; log > 0; log-- {
			blocks := types.Height(1) << log
			last := after + blocks
			if last%blocks != 0 || last > to || !offers(ranges, after+1, last) {
				continue
			}
			encoded, err := c.RangeProof(ctx, after+1, last, mostStepBytes)
			if !errors.Is(err, api.ErrProofNotStored) {
				return step{log, encoded, err}
			}
		}
		encoded, err := c.ProofBundle(ctx, after+1, mostStepBytes)
		return step{0, encoded, err}
	}
}

// offers reports whether a node claims to have a proof of exactly the range of blocks from first to last.
func offers(ranges []api.RangeProofs, first, last types.Height) bool {
	return slices.ContainsFunc(ranges, func(r api.RangeProofs) bool {
		return types.Height(r.Blocks) == last-first+1 && r.Oldest <= first && last <= r.Newest
	})
}

func (w *walked) fields() []output.Field {
	signed := "yes"
	if !w.Producer {
		signed = "not shown: all blocks are empty"
	}
	return []output.Field{
		{Name: "Blocks", Value: fmt.Sprintf("%d to %d", w.From, w.Height)}, {Name: "Hash", Value: w.BlockHash},
		{Name: "State after", Value: w.StateRoot}, {Name: "By the producer in force", Value: signed},
		{Name: "Proofs", Value: fmt.Sprintf("%d of ranges, %d of blocks, %d bytes", w.Ranges, w.Blocks, w.Bytes)},
		{Name: "Security", Value: fmt.Sprintf("%d bits proven; state hash %d bits", w.Bits, proof.StateHashBits)},
	}
}
