package cli

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/internal/cli/argument"
	"github.com/cairn-chain/cairn/internal/cli/output"
	"github.com/cairn-chain/cairn/proof"
	"github.com/cairn-chain/cairn/types"
)

const (
	// mostSteps is how many proofs one walk takes at most, mostStepBytes how long each may be: the node is not trusted.
	mostSteps     = 100_000
	mostStepBytes = 128 << 20
	// longestRange is the binary logarithm of the blocks of the longest range that there is.
	longestRange = 12
)

// walked is the result of `cairn proof chain`.
type walked struct {
	From      types.Height    `json:"fromHeight"` // the first block that is verified
	Height    types.Height    `json:"height"`
	BlockHash types.BlockHash `json:"blockHash"`
	StateRoot types.StateRoot `json:"stateRoot"`
	Producer  bool            `json:"producerShown"` // whether the lists show who the producer in force is
	Bits      int             `json:"securityBits"`  // of the weakest proof
	Ranges    int             `json:"ranges"`        // proofs of several blocks
	Blocks    int             `json:"blocks"`        // proofs of one
	Bytes     int64           `json:"bytes"`
}

func (a *app) newProofChain() *cobra.Command {
	var trusted string
	var bits int
	command := a.lookUp(&cobra.Command{
		Use:   "chain [TO]",
		Short: "Verify the proofs of all blocks from a trusted one on",
		Long: `Verify the proofs of all blocks from a trusted one on, up to a height or the newest proof that the node has. Each proof
begins where the one before it ends, and takes as many blocks as one of the node's proofs is about. Each block is signed by
the producer in force, whom the lists tell of. That the lists are what the transactions do is shown by a replica without state.
One walk takes at most 100,000 proofs: then it says how far it came, and the next one begins there.`,
		Example: "  cairn proof chain --trusted-header 0:0x4f1c…\n  cairn proof chain 5000 --trusted-header 4096:0x77ab…",
		Args:    cobra.MaximumNArgs(1),
	}, func(ctx context.Context, s *session, _ *cobra.Command, args []string) error {
		height, hash, err := argument.ParseTrusted(trusted)
		if err != nil {
			return output.Usage(fmt.Errorf("--trusted-header: %w", err))
		}
		info, err := s.client.NodeInfo(ctx)
		if err != nil {
			return err
		}
		to := newestProof(info)
		if len(args) > 0 {
			n, err := strconv.ParseUint(args[0], 0, 64)
			if err != nil {
				return output.Usage(fmt.Errorf("%q is no height", args[0]))
			}
			to = types.Height(n)
		}
		if to <= height {
			return output.Usage(fmt.Errorf("the proofs after block %d, up to block %d, are none", height, to))
		}
		w, err := walk(ctx, s, proof.NewChain(height, hash, bits), to, info.RangeProofs)
		if err != nil {
			return err
		}
		return s.Result(w, func(t *output.Text) { t.Fields(w.fields()...) })
	})
	command.Flags().StringVar(&trusted, "trusted-header", "", "HEIGHT:HASH of the block that is trusted; 0 for genesis")
	flagBits(command, &bits)
	return command
}

// newestProof is the last block that a node says it has a proof of.
func newestProof(info api.NodeInfo) (newest types.Height) {
	if info.Proofs != nil {
		newest = info.Proofs.Newest
	}
	for _, r := range info.RangeProofs {
		newest = max(newest, r.Newest)
	}
	return newest
}

// walk goes on with a chain up to a block.
func walk(
	ctx context.Context, s *session, c *proof.Chain, to types.Height, ranges []api.RangeProofs,
) (w walked, err error) {
	w.From = c.Height() + 1
	for w.Ranges+w.Blocks < mostSteps && c.Height() < to {
		v, size, err := step(ctx, s, c, to, ranges)
		if err != nil {
			return w, fmt.Errorf("after block %d, %s: %w", c.Height(), c.Hash(), err)
		}
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
	w.Height, w.BlockHash, w.Producer = c.Height(), c.Hash(), c.Signed()
	return w, nil
}

// step verifies the next proof: of the longest range that the node has, or of a block.
func step(
	ctx context.Context, s *session, c *proof.Chain, to types.Height, ranges []api.RangeProofs,
) (v proof.RangeVerdict, size int, err error) {
	first := c.Height() + 1
	for log := longestRange; log > 0; log-- {
		blocks := types.Height(1) << log
		last := c.Height() + blocks
		if last%blocks != 0 || last > to || !offers(ranges, first, last) {
			continue
		}
		encoded, err := s.client.RangeProof(ctx, first, last, mostStepBytes)
		if errors.Is(err, api.ErrProofNotStored) {
			continue
		}
		if err != nil {
			return v, 0, err
		}
		if v, err = c.Next(encoded); !errors.Is(err, proof.ErrHandedOver) {
			return v, len(encoded), err
		}
	}
	encoded, err := s.client.ProofBundle(ctx, first, mostStepBytes)
	if err != nil {
		return v, 0, err
	}
	v, err = c.Next(encoded)
	return v, len(encoded), err
}

// offers tells whether a node says that it may have the proof of some blocks together.
func offers(ranges []api.RangeProofs, first, last types.Height) bool {
	for _, r := range ranges {
		if types.Height(r.Blocks) == last-first+1 && r.Oldest <= first && last <= r.Newest {
			return true
		}
	}
	return false
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
		{Name: "Security", Value: fmt.Sprintf("%d bits proven; the state's hash %d bits", w.Bits, proof.StateHashBits)},
	}
}
