package snapshot

import (
	"fmt"

	"github.com/cairn-chain/cairn/codec"
	"github.com/cairn-chain/cairn/internal/protocol/exec"
	"github.com/cairn-chain/cairn/internal/protocol/lists"
	"github.com/cairn-chain/cairn/internal/storage/chain"
	"github.com/cairn-chain/cairn/types"
)

// The block of a snapshot is encoded in pieces of chunks:
//
//	Executed {
//	    block: Vec<u8> of Block,
//	    receipts: Vec<Vec<u8>> of Receipt,
//	    reasons: Vec<String>,
//	    accesses: Vec<u8> of Vec<Access>,
//	}
//
// A node that continues from the snapshot keeps this block as its oldest.

func encodeExecuted(b chain.Entry) []byte {
	e := codec.NewEncoder(1 << 20)
	e.Bytes(types.EncodeBlock(b.Signed(), b.Transactions))
	e.U64(uint64(len(b.Receipts)))
	for _, r := range b.Receipts {
		e.Bytes(r.Encode())
	}
	e.U64(uint64(len(b.Reasons)))
	for _, reason := range b.Reasons {
		e.String(string(reason))
	}
	e.Bytes(types.EncodeAccesses(b.Accesses))
	return e.Data()
}

const maxReasonBytes = 64

// decodeExecuted decodes the block and checks its transactions and receipts against the header. No root covers failure
// reasons, which keys the block touched, and their values before it; the values after it are those of the state.
func decodeExecuted(data []byte, header types.SignedHeader) (b chain.Entry, err error) {
	d := codec.NewDecoder(data)
	block := d.Bytes(len(data))
	receipts := make([][]byte, d.Length(len(data), 8))
	for i := range receipts {
		receipts[i] = d.Bytes(len(data))
	}
	b.Reasons = make([]exec.Reason, d.Length(len(data), 8))
	for i := range b.Reasons {
		b.Reasons[i] = exec.Reason(d.String(maxReasonBytes))
	}
	accesses := d.Bytes(len(data))
	if err := d.Finish(); err != nil {
		return b, err
	}
	signed, txs, err := types.DecodeBlockTxs(block)
	if err != nil {
		return b, err
	}
	b.Header, b.Seal, b.Transactions = signed.Header, signed.Seal, txs
	if b.Accesses, err = types.DecodeAccesses(accesses); err != nil {
		return b, err
	}
	for i, encoded := range receipts {
		receipt, err := types.DecodeReceipt(encoded)
		if err != nil {
			return b, fmt.Errorf("receipt %d: %w", i, err)
		}
		b.Receipts = append(b.Receipts, receipt)
	}
	return b, checkExecuted(b, header)
}

// checkExecuted checks a block against its header.
func checkExecuted(b chain.Entry, header types.SignedHeader) error {
	refuse := func(text string, args ...any) error {
		return fmt.Errorf("%w: its block's "+text, append([]any{ErrFalse}, args...)...)
	}
	h := header.Header
	if b.Signed() != header {
		return refuse("header is another")
	}
	if len(b.Receipts) != len(b.Transactions) || len(b.Reasons) != len(b.Receipts) {
		return refuse("lists: %d transactions, %d receipts, %d reasons", len(b.Transactions), len(b.Receipts), len(b.Reasons))
	}
	for i := range b.Receipts {
		if success := b.Reasons[i] == exec.Success; success != (b.Receipts[i].Status == types.StatusSuccess) ||
			!success && !chain.FailureReason(b.Reasons[i]) {
			return refuse("transaction %d failed for the reason %q with the status %d", i, b.Reasons[i], b.Receipts[i].Status)
		}
	}
	switch {
	case lists.TransactionsRoot(b.Transactions) != h.TransactionsRoot:
		return refuse("its transactions differ")
	case lists.ReceiptsRoot(b.Receipts) != h.ReceiptsRoot:
		return refuse("its receipts differ")
	}
	return nil
}
