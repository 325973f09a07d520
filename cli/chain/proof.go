package chain

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cairn-chain/cairn/cli/argument"
	"github.com/cairn-chain/cairn/cli/invoke"
	"github.com/cairn-chain/cairn/cli/output"
	"github.com/cairn-chain/cairn/cli/session"
	"github.com/cairn-chain/cairn/proof"
	"github.com/cairn-chain/cairn/types"
)

func newProof(a *session.App) *cobra.Command {
	group := invoke.NewGroup(&cobra.Command{
		Use:   "proof",
		Short: "Verify transactions, headers and blocks without trusting a node (light client)",
		Long: `Verify transactions, headers and blocks without trusting a node, as a light client does.
The STARK proof of a block proves that its state root follows from the previous one by
exactly the block's access list (statement S1). It does not prove the execution: to check
that, execute the transactions on the list.`,
		Example: "  cairn proof inclusion 0x4f1c… --trusted-header 0:0x77ab…\n  cairn proof get 17 -o block17.proof\n  cairn proof verify block17.proof",
	})
	group.AddCommand(newProofInclusion(a), newProofHeaders(a), newProofGet(a), newProofVerify(a), newProofChain(a))
	return group
}

func newProofGet(a *session.App) *cobra.Command {
	var file string
	var bits int
	command := a.LookUp(&cobra.Command{
		Use:   "get HEIGHT|FROM-TO",
		Short: "Save the proof of a block or a range of blocks, with everything needed to verify it",
		Long: "Verify a block's proof, and save it with everything needed to verify it again. FROM-TO\nis a range of " +
			"blocks with a joint proof: range_proofs of `cairn rpc svc_getNodeInfo`\nlists the available ranges.",
		Example: "  cairn proof get 17 -o block17.proof\n  cairn proof verify block17.proof\n  cairn proof get 1-16",
		Args:    invoke.Exactly("HEIGHT|FROM-TO"),
	}, func(ctx context.Context, s *session.Session, _ *cobra.Command, args []string) error {
		path, bundle, err := getProof(ctx, s, args[0])
		if err != nil {
			return err
		}
		_, verdict, fields, err := verifyFile(bundle, bits)
		if err != nil {
			return fmt.Errorf("the node's answer does not verify: %w", err)
		}
		path = cmp.Or(file, path)
		if err := invoke.WriteOut(path, bundle); err != nil {
			return err
		}
		return s.Result(savedProof{path, len(bundle), verdict}, func(t *output.Text) {
			t.Fields(append([]output.Field{
				{Name: "File", Value: path}, {Name: "Size", Value: fmt.Sprintf("%d bytes", len(bundle))},
			}, fields...)...)
		})
	})
	invoke.OutFlag(command, &file, "file to write (default blockHEIGHT.proof or blocksFROM-TO.proof)")
	flagBits(command, &bits)
	return command
}

// getProof downloads the proof of a block or of a range of blocks, and returns the default file name for it.
func getProof(ctx context.Context, s *session.Session, of string) (path string, b []byte, err error) {
	first, last, several := strings.Cut(of, "-")
	from, err := strconv.ParseUint(first, 0, 64)
	if !several {
		if err != nil {
			return "", nil, output.Usage(fmt.Errorf("%q is not a height", of))
		}
		b, err = s.Client.ProofBundle(ctx, types.Height(from), proof.MaxBundleBytes)
		return fmt.Sprintf("block%d.proof", from), b, err
	}
	to, err2 := strconv.ParseUint(last, 0, 64)
	if err != nil || err2 != nil {
		return "", nil, output.Usage(fmt.Errorf("%q is not a range of heights", of))
	}
	b, err = s.Client.RangeProof(ctx, types.Height(from), types.Height(to), proof.MaxBundleBytes)
	return fmt.Sprintf("blocks%d-%d.proof", from, to), b, err
}

// savedProof is the result of `cairn proof get`. The verdict is a proof.Verdict, or a proof.RangeVerdict.
type savedProof struct {
	File    string `json:"file"`
	Size    int    `json:"size"`
	Verdict any    `json:"verdict"`
}

// leastProofBits is the default minimum security of a proof, in bits.
const leastProofBits = 128

func newProofVerify(a *session.App) *cobra.Command {
	var blockHash string
	var bits int
	command := a.Define(&cobra.Command{
		Use:   "verify FILE",
		Short: "Verify a proof of a block, a range of blocks, or a transaction's inclusion, without a node",
		Long: `Verify a proof of a block, a range of blocks, or a transaction's inclusion, without a
node and without state, and print its block, producer and statement. Exit code 1 if the
proof is invalid. With --block-hash, the proof must be for the block with that hash, or
end with it; get the hash from a source that you trust.`,
		Example: "  cairn proof verify block17.proof --block-hash 0x4f1c…",
		Args:    invoke.Exactly("FILE"),
	}, nil, func(_ context.Context, s *session.Session, _ *cobra.Command, args []string) error {
		bundle, err := readAtMost(args[0], proof.MaxBundleBytes)
		if err != nil {
			return err
		}
		if isInclusion(bundle) {
			view, err := readInclusion(bundle)
			if err == nil && blockHash != "" {
				view.Trusted, err = true, checkBlockHash(blockHash, view.BlockHash)
			}
			if err != nil {
				return err
			}
			return s.Result(view, view.people)
		}
		verdict, result, fields, err := verifyFile(bundle, bits)
		if err != nil {
			return err
		}
		if blockHash != "" {
			if err := checkBlockHash(blockHash, verdict.BlockHash); err != nil {
				return err
			}
		}
		return s.Result(result, func(t *output.Text) {
			t.Line("The proof is valid.")
			t.Fields(fields...)
		})
	})
	command.Flags().StringVar(&blockHash, "block-hash", "", "required hash of the block")
	flagBits(command, &bits)
	return command
}

// checkBlockHash compares the hash of --block-hash with a proof's block.
func checkBlockHash(text string, is types.BlockHash) error {
	want, err := argument.ParseBlock(text)
	if err != nil {
		return output.Usage(err)
	}
	if want.Hash == nil {
		return output.Usage(fmt.Errorf("--block-hash %q is not a hash", text))
	}
	if *want.Hash != is {
		return fmt.Errorf("%w: it is for block %s, not %s", proof.ErrRefused, is, *want.Hash)
	}
	return nil
}

// parseHeight reads a height.
func parseHeight(text string) (types.Height, error) {
	n, err := strconv.ParseUint(text, 0, 64)
	if err != nil {
		return 0, output.Usage(fmt.Errorf("%q is not a height", text))
	}
	return types.Height(n), nil
}

// verifyFile verifies the proof of a block or of a range. It returns the verdict, the command's result and the fields
// for people.
func verifyFile(b []byte, bits int) (v proof.Verdict, result any, fields []output.Field, err error) {
	if !proof.IsRange(b) {
		v, err = proof.Verify(b, bits)
		return v, v, verdictFields(v), err
	}
	r, err := proof.VerifyRange(b, bits)
	blocks := output.Field{Name: "Blocks", Value: fmt.Sprintf("%d to %d, as one change", r.FromHeight, r.Height)}
	return r.Verdict, r, append([]output.Field{blocks}, verdictFields(r.Verdict)...), err
}

func flagBits(command *cobra.Command, bits *int) {
	command.Flags().IntVar(bits, "bits", leastProofBits, "required proven security in bits: 100 or 128")
}

func verdictFields(v proof.Verdict) []output.Field {
	says := "nothing was read or written, the state is unchanged"
	if v.Accesses > 0 {
		says = fmt.Sprintf(
			"exactly %d keys were read or written and %d changed, with these values before and after", v.Accesses, v.Writes,
		)
	}
	return []output.Field{
		{Name: "Chain", Value: v.ChainID}, {Name: "Block", Value: uint64(v.Height)}, {Name: "Hash", Value: v.BlockHash},
		{Name: "Parent", Value: v.ParentHash}, {Name: "Signed by", Value: v.Producer},
		{Name: "State before", Value: v.PreRoot}, {Name: "State after", Value: v.PostRoot},
		{Name: "Says", Value: v.Statement + ": " + says},
		{Name: "Security", Value: fmt.Sprintf("%d bits proven; state hash %d bits", v.SecurityBits, v.StateHashBits)},
	}
}

// readAtMost reads a file and fails if it exceeds limit bytes.
func readAtMost(path string, limit int64) (content []byte, err error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	if content, err = io.ReadAll(io.LimitReader(file, limit+1)); err == nil && int64(len(content)) > limit {
		err = fmt.Errorf("%s is longer than %d bytes", path, limit)
	}
	return content, err
}
