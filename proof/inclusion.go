package proof

import (
	"fmt"

	"github.com/cairn-chain/cairn/internal/protocol/lists"
	"github.com/cairn-chain/cairn/internal/protocol/tree"
	"github.com/cairn-chain/cairn/types"
)

// Inclusion proves that a block includes a transaction and its receipt. svc_getInclusionProof returns it.
type Inclusion struct {
	Transaction types.InclusionProof // under the header's transactions_root
	Receipt     types.InclusionProof // under its receipts_root, with the same number
}

// Included identifies a transaction in a block.
type Included struct {
	ID        types.TxID
	Height    types.Height
	BlockHash types.BlockHash
	Number    uint32 // of the transaction in its block, from 0
	N         uint32 // number of transactions in the block
	Success   bool   // false for a failed transaction, which only paid its fee
}

// VerifyInclusion checks that the block of a header includes a transaction with this receipt. A payment was made if the
// result has Success. Only header is trusted: it must be one that you have checked, as [Follower] does. If the proof
// does not hold, it returns an error that wraps [ErrRefused].
//
// The witnesses of tx are covered too: the same transaction with another signature is refused.
func VerifyInclusion(
	header *types.Header, tx types.SignedTransaction, receipt types.Receipt, proof Inclusion,
) (Included, error) {
	if proof.Transaction.Number != proof.Receipt.Number || proof.Transaction.N != proof.Receipt.N {
		return Included{}, fmt.Errorf("%w: it proves transaction %d of %d, but receipt %d of %d", ErrRefused,
			proof.Transaction.Number, proof.Transaction.N, proof.Receipt.Number, proof.Receipt.N)
	}
	encoded := types.NewTx(tx)
	if err := lists.CheckTransaction(header.TransactionsRoot, encoded, &proof.Transaction); err != nil {
		return Included{}, fmt.Errorf("%w: the transaction: %w", ErrRefused, err)
	}
	if err := lists.CheckReceipt(header.ReceiptsRoot, &receipt, &proof.Receipt); err != nil {
		return Included{}, fmt.Errorf("%w: the receipt: %w", ErrRefused, err)
	}
	return Included{
		ID:        encoded.ID(),
		Height:    header.Height,
		BlockHash: header.Hash(),
		Number:    proof.Transaction.Number,
		N:         proof.Transaction.N,
		Success:   receipt.Status == types.StatusSuccess,
	}, nil
}

// VerifyValue checks that a state key has the proof's value, or no value if that is empty, in the state after the block
// of a header that you have checked. It returns an error that wraps [ErrRefused].
func VerifyValue(header *types.Header, proof *types.MerkleProof) error {
	if err := tree.VerifyShown(header.StateRoot, proof); err != nil {
		return fmt.Errorf("%w: %w", ErrRefused, err)
	}
	return nil
}
