package chain

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/cli/argument"
	"github.com/cairn-chain/cairn/cli/invoke"
	"github.com/cairn-chain/cairn/cli/output"
	"github.com/cairn-chain/cairn/cli/session"
	"github.com/cairn-chain/cairn/cli/submit"
	"github.com/cairn-chain/cairn/proof"
	"github.com/cairn-chain/cairn/types"
)

// maxInclusionBytes bounds a file with a proof of inclusion: a transaction, a receipt and two paths, in hex.
const maxInclusionBytes = 4 << 20

// maxParametersFile bounds a file with an override's parameters.
const maxParametersFile = 64 << 10

// includedView is the result of the commands on proofs of inclusion.
type includedView struct {
	File        string                  `json:"file,omitempty"`
	Transaction types.TxID              `json:"transactionHash"`
	Height      types.Height            `json:"height"`
	BlockHash   types.BlockHash         `json:"blockHash"`
	Number      uint32                  `json:"number"` // in its block, from 0
	Success     bool                    `json:"success"`
	Trusted     bool                    `json:"trusted"` // the block is known to be the chain's
	Sealed      bool                    `json:"sealed"`  // the header has its producer's seal
	Producer    types.PublicKey         `json:"producer"`
	Signed      types.SignedTransaction `json:"-"`
}

func (v includedView) people(t *output.Text) {
	outcome := "it succeeded"
	if !v.Success {
		outcome = "it FAILED and only paid its fee"
	}
	t.Line("The transaction is in the block, and %s.", outcome)
	fields := []output.Field{}
	if v.File != "" {
		fields = append(fields, output.Field{Name: "File", Value: v.File})
	}
	t.Fields(append(fields, output.Field{Name: "Transaction", Value: v.Transaction},
		output.Field{Name: "Number", Value: v.Number}, output.Field{Name: "Block", Value: v.Height},
		output.Field{Name: "Block hash", Value: v.BlockHash}, output.Field{Name: "Sealed by", Value: v.Producer})...)
	plan, err := submit.PlanOf(v.Signed.Transaction, nil)
	if err == nil {
		t.Line("")
		plan.Print(t)
	}
	if !v.Trusted {
		t.Line("\nThis does not prove that the block belongs to the chain: use --block-hash, or --trusted-header " +
			"with a node.")
	}
}

// verifyInclusion checks a proof of inclusion under the header that came with it.
func verifyInclusion(found api.Inclusion) (view includedView, header types.SignedHeader, err error) {
	if header, err = types.DecodeSignedHeader(found.Header); err != nil {
		return view, header, fmt.Errorf("the header: %w", err)
	}
	signed, err := types.DecodeSignedTransaction(found.RawTransaction)
	if err != nil {
		return view, header, fmt.Errorf("the transaction: %w", err)
	}
	receipt, err := types.DecodeReceipt(found.RawReceipt)
	if err != nil {
		return view, header, fmt.Errorf("the receipt: %w", err)
	}
	shown := proof.Inclusion{Transaction: found.Transaction, Receipt: found.Receipt}
	in, err := proof.VerifyInclusion(&header.Header, signed, receipt, shown)
	return includedView{
		Transaction: in.ID, Height: in.Height, BlockHash: in.BlockHash, Number: in.Number, Success: in.Success,
		Sealed: header.VerifySeal(), Producer: header.Header.Producer, Signed: signed,
	}, header, err
}

func newProofInclusion(a *session.App) *cobra.Command {
	var file string
	var trusted trust
	command := a.LookUp(&cobra.Command{
		Use:   "inclusion HASH",
		Short: "Verify that a transaction is in a block, and save the inclusion proof",
		Long: `Verify that a transaction is in a block, and its outcome, and save the inclusion proof.
The proof is relative to the block's header. With --trusted-header the command also
follows the headers from the trusted block to the transaction's block, so nothing
depends on trust in the node. "cairn proof verify" verifies the file without a node.`,
		Example: `  cairn proof inclusion 0x4f1c… --trusted-header 0:0x77ab…
  cairn proof verify tx-4f1c2a5b.proof --block-hash 0x…`,
		Args: invoke.Exactly("HASH"),
	}, func(ctx context.Context, s *session.Session, _ *cobra.Command, args []string) error {
		id, err := argument.ParseTxID(args[0])
		if err != nil {
			return output.Usage(err)
		}
		found, err := s.Client.InclusionProof(ctx, id)
		if err != nil {
			return err
		}
		if found == nil {
			return fmt.Errorf("no block has the transaction %s", id)
		}
		view, header, err := verifyInclusion(*found)
		if err == nil && view.Transaction != id {
			err = fmt.Errorf("%w: it is for another transaction", proof.ErrRefused)
		}
		if err != nil {
			return fmt.Errorf("the node's answer does not verify: %w", err)
		}
		if trusted != (trust{}) {
			if err := checkTrusted(ctx, s, trusted, header); err != nil {
				return err
			}
			view.Trusted = true
		}
		view.File = cmp.Or(file, fmt.Sprintf("tx-%x.proof", id[:4]))
		text, err := json.MarshalIndent(found, "", "  ")
		if err != nil {
			return err
		}
		if err := invoke.WriteOut(view.File, append(text, '\n')); err != nil {
			return err
		}
		return s.Result(view, view.people)
	})
	invoke.OutFlag(command, &file, "file to write (default tx-HASH.proof, with the hash's first digits)")
	trusted.register(command)
	trusted.registerEach(command)
	return command
}

// trust holds the flags that replace trust in a node: a trusted block, and how to verify the chain from it.
type trust struct {
	header   string
	override string
	each     bool
}

func (t *trust) register(command *cobra.Command) {
	command.Flags().StringVar(&t.header, "trusted-header", "", "HEIGHT:HASH of the trusted block; height 0 for genesis")
	command.Flags().StringVar(&t.override, "override-parameters", "", "HEIGHT:FILE of an emergency override of the "+
		"parameters, as for cairn node")
}

func (t *trust) registerEach(command *cobra.Command) {
	command.Flags().BoolVar(&t.each, "each-proof", false, "fetch a proof of the parameters with each header, which "+
		"protects against producers whose key was replaced; a node has these proofs for recent blocks only")
}

// start is a trusted block, with the options for following the chain from it.
type start struct {
	height types.Height
	hash   types.BlockHash
	proof.FollowerOptions
}

// startVerifying reads the flags of a [trust].
func startVerifying(ctx context.Context, s *session.Session, t trust) (at start, err error) {
	if at.height, at.hash, err = argument.ParseTrusted(t.header); err != nil {
		return at, output.Usage(fmt.Errorf("--trusted-header: %w", err))
	}
	at.EachProof = t.each
	if t.override == "" {
		return at, nil
	}
	chain, err := s.Chain(ctx)
	if err != nil {
		return at, err
	}
	if at.Override, err = readOverride(t.override, chain.Network); err != nil {
		return at, output.Usage(fmt.Errorf("--override-parameters: %w", err))
	}
	return at, nil
}

// readOverride reads an emergency override. Its file has the parameters as genesis.json does.
func readOverride(text string, network types.Network) (*proof.Override, error) {
	height, path, err := argument.ParseOverride(text)
	if err != nil {
		return nil, err
	}
	content, err := readAtMost(path, maxParametersFile)
	if err != nil {
		return nil, err
	}
	parameters, err := types.ParseParametersJSON(content, network)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return &proof.Override{Height: height, Parameters: parameters}, nil
}

// checkTrusted follows the chain's headers from a trusted block to the one of a header, and compares.
func checkTrusted(ctx context.Context, s *session.Session, t trust, header types.SignedHeader) error {
	at, err := startVerifying(ctx, s, t)
	if err != nil {
		return err
	}
	if header.Header.Height < at.height {
		return output.Usage(fmt.Errorf("--trusted-header: block %d is before the trusted block", header.Header.Height))
	}
	f, _, err := followHeaders(ctx, s, at, header.Header.Height)
	if err != nil {
		return err
	}
	if f.Hash() != header.Header.Hash() {
		return fmt.Errorf("%w: block %d of the chain is %s, but the transaction is in %s",
			proof.ErrRefused, header.Header.Height, f.Hash(), header.Header.Hash())
	}
	return nil
}

// followHeaders follows a chain by its headers from a trusted block up to a height. It also returns the number of
// headers.
func followHeaders(
	ctx context.Context, s *session.Session, at start, to types.Height,
) (f *proof.Follower, taken int, err error) {
	page := types.Height(api.MaxHeaders)
	if at.EachProof {
		page = api.MaxHeadersProven
	}
	describe, stop := s.Live(s.Terminal)
	defer stop()
	for {
		from := at.height
		if f != nil {
			from = f.Head().Header.Height // again: it comes with the parameters of the next
		}
		items, err := s.Client.Headers(ctx, from, min(to, from+page-1), at.EachProof)
		if err != nil {
			return nil, taken, err
		}
		if len(items) == 0 || f != nil && len(items) == 1 {
			return nil, taken, fmt.Errorf("the node has no block %d", from+types.Height(len(items)))
		}
		for i, item := range items {
			header, err := types.DecodeSignedHeader(item.Header)
			if err != nil {
				return nil, taken, fmt.Errorf("%w: the header of block %d: %w", proof.ErrRefused, item.Height, err)
			}
			switch {
			case f == nil:
				f, err = proof.NewFollower(header, at.hash, at.FollowerOptions)
			case i > 0:
				taken++
				err = nextHeader(s, f, header, items[i-1].Parameters)
			}
			if err != nil {
				return nil, taken, err
			}
		}
		describe(fmt.Sprintf("block %d", f.Head().Header.Height))
		if f.Head().Header.Height >= to {
			return f, taken, nil
		}
	}
}

// nextHeader verifies the next header, with the parameters that came with the previous one. If the producer
// double-signed, it shows both headers.
func nextHeader(s *session.Session, f *proof.Follower, header types.SignedHeader, parameters *api.AccountProof) error {
	var shown *types.MerkleProof
	if parameters != nil {
		p, err := parameters.Merkle()
		if err != nil {
			return fmt.Errorf("%w: %w", proof.ErrRefused, err)
		}
		shown = &p
	}
	err := f.Next(header, shown)
	if fault, ok := errors.AsType[*proof.Equivocation](err); ok {
		s.Note("The producer double-signed. Publish both headers, they prove it:\n%s\n%s",
			api.Data(fault.First.Encode()), api.Data(fault.Second.Encode()))
	}
	return err
}

// followed is the result of cairn proof headers.
type followed struct {
	From      types.Height    `json:"fromHeight"`
	Height    types.Height    `json:"height"`
	BlockHash types.BlockHash `json:"blockHash"`
	StateRoot types.StateRoot `json:"stateRoot"`
	Producer  types.PublicKey `json:"producer"`
	Headers   int             `json:"headers"` // taken after the trusted one
}

func newProofHeaders(a *session.App) *cobra.Command {
	var trusted trust
	command := a.LookUp(&cobra.Command{
		Use:   "headers [TO]",
		Short: "Follow the chain's headers from a trusted block, as a light client",
		Long: `Follow the chain's headers from a trusted block, up to a height or the latest block, as
a light client does: each header must follow the previous one and be signed by the
producer in force. This does not show that the producer executed transactions correctly
("cairn proof chain" does), or that the last header is the newest.`,
		Example: "  cairn proof headers --trusted-header 0:0x4f1c…\n  cairn proof headers 5000 --trusted-header 4096:0x77ab… --each-proof",
		Args:    invoke.AtMostOne("height"),
	}, func(ctx context.Context, s *session.Session, _ *cobra.Command, args []string) error {
		at, err := startVerifying(ctx, s, trusted)
		if err != nil {
			return err
		}
		to, err := s.Client.BlockNumber(ctx)
		if err == nil && len(args) > 0 {
			to, err = parseHeight(args[0])
		}
		if err != nil {
			return err
		}
		if to < at.height {
			return output.Usage(fmt.Errorf("block %d is before the trusted block", to))
		}
		f, taken, err := followHeaders(ctx, s, at, to)
		if err != nil {
			return err
		}
		head := f.Head().Header
		result := followed{at.height, head.Height, f.Hash(), head.StateRoot, head.Producer, taken}
		return s.Result(result, func(t *output.Text) {
			t.Fields(output.Field{Name: "Headers", Value: taken}, output.Field{Name: "Block", Value: head.Height},
				output.Field{Name: "Hash", Value: f.Hash()}, output.Field{Name: "State root", Value: head.StateRoot},
				output.Field{Name: "Producer", Value: head.Producer})
		})
	})
	trusted.register(command)
	trusted.registerEach(command)
	return command
}

// isInclusion reports whether a file holds a proof of inclusion. Only these proofs are JSON.
func isInclusion(content []byte) bool { return bytes.HasPrefix(bytes.TrimSpace(content), []byte("{")) }

// readInclusion reads a file of a proof of inclusion and verifies it.
func readInclusion(content []byte) (includedView, error) {
	if len(content) > maxInclusionBytes {
		return includedView{}, fmt.Errorf("longer than %d bytes", maxInclusionBytes)
	}
	var found api.Inclusion
	if err := json.Unmarshal(content, &found); err != nil {
		return includedView{}, fmt.Errorf("%w: not an inclusion proof: %w", proof.ErrRefused, err)
	}
	view, _, err := verifyInclusion(found)
	if err == nil && !view.Sealed && view.Height > 0 {
		err = fmt.Errorf("%w: the signature of block %d is invalid", proof.ErrRefused, view.Height)
	}
	return view, err
}
