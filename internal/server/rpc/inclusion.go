package rpc

import (
	"context"
	"errors"
	"sync"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/internal/proof/poseidon"
	"github.com/cairn-chain/cairn/internal/protocol/lists"
	"github.com/cairn-chain/cairn/internal/protocol/state"
	"github.com/cairn-chain/cairn/internal/server/admission"
	"github.com/cairn-chain/cairn/internal/storage/chain"
	"github.com/cairn-chain/cairn/types"
)

// inclusionHandlers serve clients that follow headers only.
type inclusionHandlers struct {
	*prover
	transactions *transactionReader
	blocks       *blockReader
	lane         *admission.Lane // of inclusion proofs: each may hash both lists of a block

	mu   sync.Mutex // guards last
	last *blockTrees
}

// blockTrees holds the trees over the two lists of a block. The trees of the last requested block are kept, as many
// clients request proofs of the same block.
type blockTrees struct {
	block                  types.BlockHash
	transactions, receipts lists.Tree
}

func (h *inclusionHandlers) methods(e *clientErrors) []method {
	return []method{
		bind(e, api.GetHeaders, h.getHeaders).waiting(),
		bind(e, api.GetInclusionProof, h.getInclusionProof).in(h.lane),
	}
}

func (h *inclusionHandlers) getHeaders(ctx context.Context, p api.GetHeadersParams) ([]api.HeaderItem, error) {
	if p.Range.From > p.Range.To {
		return nil, endsFirst("range", "from_height", p.Range.To)
	}
	most := types.Height(api.MaxHeaders)
	if p.Range.Proven {
		most = api.MaxHeadersProven
	}
	var headers []types.SignedHeader
	var err error
	over := h.reads.Run(ctx, func() { headers, err = h.headers(ctx, p.Range.From, p.Range.To, most+1) })
	if err = errors.Join(over, err); err != nil {
		return nil, err
	}
	items := []api.HeaderItem{}
	for i, signed := range headers {
		header := signed.Header
		if header.Height > p.Range.To || types.Height(len(items)) == most {
			break
		}
		item := api.HeaderItem{Height: header.Height, Hash: header.Hash(), Header: signed.Encode()}
		if p.Range.Proven || i+1 < len(headers) && changes(header, headers[i+1].Header) {
			item.Parameters, err = h.parametersAfter(ctx, header.Height)
			if errors.Is(err, api.ErrTimeUp) && len(items) > 0 {
				break // the next call goes on from here
			}
			if err != nil {
				return nil, err
			}
		}
		items = append(items, item)
	}
	return items, nil
}

// headers reads the headers of a range and the next one, up to the given number. It ends early at the head.
func (h *inclusionHandlers) headers(
	ctx context.Context, from, to, most types.Height,
) (headers []types.SignedHeader, err error) {
	if err := heavy(ctx, int(min(to-from, most))); err != nil {
		return nil, err
	}
	last := min(to+1, h.chain.Head().Header.Height)
	for height := from; height <= last && types.Height(len(headers)) < most; height++ {
		header, err := h.chain.Header(height)
		if errors.Is(err, chain.ErrNotFound) { // a development chain was reverted meanwhile
			break
		}
		if err != nil {
			return nil, err
		}
		headers = append(headers, header)
	}
	return headers, nil
}

// changes reports whether a client that follows headers needs a proof of the parameters between two headers.
func changes(before, after types.Header) bool {
	return before.Producer != after.Producer || before.Version != after.Version
}

// parametersAfter proves the parameters after a block; nil if that is too far back for a proof.
func (h *inclusionHandlers) parametersAfter(ctx context.Context, height types.Height) (*api.AccountProof, error) {
	proof, err := h.proof(ctx, state.ParametersKey(), api.AtHeight(height))
	var tooFar *chain.UndoError
	if errors.As(err, &tooFar) || errors.Is(err, chain.ErrPruned) || errors.Is(err, chain.ErrNoState) {
		return nil, nil
	}
	return &proof, err
}

func (h *inclusionHandlers) getInclusionProof(
	ctx context.Context, p api.TransactionParams,
) (*api.Inclusion, error) {
	found, err := h.transactions.findIncluded(p.Hash)
	if err != nil {
		return nil, err
	}
	if found == nil {
		return nil, unknown(h.chain)
	}
	header, err := h.chain.Header(found.header.Height)
	if err != nil {
		return nil, absentBlock(err)
	}
	trees, err := h.treesOf(ctx, found.header.Height, found.hash)
	if errors.Is(err, chain.ErrNotFound) {
		return nil, nil // undone meanwhile
	}
	if err != nil {
		return nil, err
	}
	return &api.Inclusion{
		Header:         header.Encode(),
		Transaction:    trees.transactions.Prove(int(found.index)),
		Receipt:        trees.receipts.Prove(int(found.index)),
		RawTransaction: found.tx.Encode(),
		RawReceipt:     found.receipt.Encode(),
	}, nil
}

// treesOf returns the trees of the block with the given height and hash.
func (h *inclusionHandlers) treesOf(
	ctx context.Context, height types.Height, hash types.BlockHash,
) (*blockTrees, error) {
	h.mu.Lock()
	kept := h.last
	h.mu.Unlock()
	if kept != nil && kept.block == hash {
		return kept, nil
	}
	count, err := h.blocks.chain.TransactionCount(height)
	if err == nil {
		err = grown(ctx, count*types.MinTransactionBytes)
	}
	if err != nil {
		return nil, err
	}
	encoded, err := h.blocks.chain.EncodedBlock(height)
	if err != nil {
		return nil, err
	}
	signed, txs, err := types.DecodeBlockTxs(encoded.Bytes)
	if err != nil {
		return nil, err
	}
	if signed.Header.Hash() != hash {
		return nil, chain.ErrNotFound // undone meanwhile
	}
	receipts, err := h.blocks.receipts(height, len(txs))
	if err != nil {
		return nil, err
	}
	made := &blockTrees{block: hash}
	if made.transactions, err = treeOver(ctx, txs, lists.TransactionLeaves); err != nil {
		return nil, err
	}
	if made.receipts, err = treeOver(ctx, receipts, lists.ReceiptLeaves); err != nil {
		return nil, err
	}
	h.mu.Lock()
	h.last = made
	h.mu.Unlock()
	return made, nil
}

// treeOver returns the tree over a list, and lets others have their turn between runs of it.
func treeOver[T any](ctx context.Context, list []T, leaves func([]T) []poseidon.Digest) (lists.Tree, error) {
	all := make([]poseidon.Digest, 0, len(list))
	for from := 0; from < len(list); from += heavyItems {
		if err := errors.Join(ctx.Err(), admission.Yield(ctx)); err != nil {
			return lists.Tree{}, err
		}
		all = append(all, leaves(list[from:min(from+heavyItems, len(list))])...)
	}
	return lists.NewTree(all), nil
}
