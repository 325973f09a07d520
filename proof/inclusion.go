package proof

import (
	"fmt"

	"github.com/cairn-chain/cairn/internal/protocol/lists"
	"github.com/cairn-chain/cairn/internal/protocol/tree"
	"github.com/cairn-chain/cairn/types"
)

// Inclusion shows that a transaction is in a block, and what came of it. A node gives it by svc_getInclusionProof.
type Inclusion struct {
	Transaction types.InclusionProof // under the header's transactions_root
	Receipt     types.InclusionProof // under its receipts_root, with the same number
}

// Included says which transaction is in which block.
type Included struct {
	ID        types.TxID
	Height    types.Height
	BlockHash types.BlockHash
	Number    uint32 // of the transaction in its block, from 0
	N         uint32 // number of transactions in the block
	Success   bool   // whether it did what it says; a failed transaction only paid its fee
}

// VerifyInclusion checks that a transaction is in the block of a header and has this receipt. A payment was made if the
// result says Success. It computes both leaves itself, and looks at nothing else: header must be one that you have
// checked, as [Follower] does. It returns an error that wraps [ErrRefused] and says why for a proof that does not hold.
//
// The witnesses of tx are shown too: with another signature, the same transaction is refused.
func VerifyInclusion(
	header *types.Header, tx types.SignedTransaction, receipt types.Receipt, proof Inclusion,
) (Included, error) {
	if proof.Transaction.Number != proof.Receipt.Number || proof.Transaction.N != proof.Receipt.N {
		return Included{}, fmt.Errorf("%w: it shows transaction %d of %d, and receipt %d of %d", ErrRefused,
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

// VerifyValue checks that a state key has the proof's value, or none if that is empty, in the state after the block of
// a header, which must be one that you have checked. It returns an error that wraps [ErrRefused].
func VerifyValue(header *types.Header, proof *types.MerkleProof) error {
	if err := tree.VerifyShown(header.StateRoot, proof); err != nil {
		return fmt.Errorf("%w: %w", ErrRefused, err)
	}
	return nil
}
