package replica

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/cairn-chain/cairn/internal/emergency"
	"github.com/cairn-chain/cairn/internal/engine/ledger"
	"github.com/cairn-chain/cairn/types"
)

// explainTime bounds the time to find the first difference; receiptsAtOnce is the number of receipts per request.
const (
	explainTime    = 30 * time.Second
	receiptsAtOnce = 100
)

// receiptDifference is the first transaction of a block whose receipt here differs from the upstream's.
type receiptDifference struct {
	Index       int        `json:"index"`
	Transaction types.TxID `json:"transaction"`
	Here        *receipt   `json:"here"` // null if the transaction is invalid
	// the upstream's receipt, which is not proven; null if it knows of none
	There json.RawMessage `json:"there"`
}

// receipt is a receipt from the execution on this node.
type receipt struct {
	Status   types.ReceiptStatus `json:"status"`
	GasUsed  types.Gas           `json:"gas_used"`
	Contract *types.ContractID   `json:"contract,omitempty"`
	Output   types.Hex           `json:"output"`
	Logs     int                 `json:"logs"`
	Raw      types.Hex           `json:"raw"` // bincode(Receipt)
}

func newReceipt(r *types.Receipt) *receipt {
	return &receipt{r.Status, r.GasUsed, r.Contract, r.Output, len(r.Logs), r.Encode()}
}

// writeDifference is the first state key whose value after a block differs between this node and the upstream. An empty
// value means that the key is absent.
type writeDifference struct {
	Key    types.Hex `json:"key"`
	Before types.Hex `json:"before"`
	Here   types.Hex `json:"here"`
	There  types.Hex `json:"there"`
}

// divergence returns the halt for an invalid block that the producer signed, with whatever can be found out about it.
func (r *Replica) divergence(ctx context.Context, u *upstream, b *ledger.Received, invalid *ledger.InvalidBlock) *Halt {
	claimed := invalid.Claimed
	h := &Halt{
		Reason:   Diverged,
		Message:  emergency.Diverged(invalid.Error(), invalid).Error(),
		Height:   claimed.Header.Height,
		Time:     time.Now().UTC(),
		Upstream: u.Name(),
		Headers:  []signedHeader{newSignedHeader(claimed)},
		Block:    b.Encoded(),
	}
	ctx, cancel := context.WithTimeout(ctx, explainTime)
	defer cancel()
	var receiptErr, writeErr error
	h.FirstReceipt, receiptErr = firstReceipt(ctx, u, b, invalid.Receipts)
	h.derive(invalid)
	if h.Derived != nil {
		h.FirstWrite, writeErr = firstWrite(ctx, u, claimed.Header.Height, invalid.Writes)
	}
	if err := errors.Join(receiptErr, writeErr); err != nil {
		h.Unexplained = plain(err)
	}
	return h
}

// firstReceipt compares the receipts of this node with the upstream's, and returns the first difference, or nil.
func firstReceipt(ctx context.Context, s Source, b *ledger.Received, here []types.Receipt) (*receiptDifference, error) {
	ids := b.IDs()
	for begin := 0; begin < len(ids); begin += receiptsAtOnce {
		asked := ids[begin:min(begin+receiptsAtOnce, len(ids))]
		there, err := s.Receipts(ctx, asked)
		if err != nil {
			return nil, fmt.Errorf("ask for receipts: %w", err)
		}
		for i, id := range asked {
			d := &receiptDifference{Index: begin + i, Transaction: id}
			if there[i] != nil {
				d.There = there[i].Raw
			}
			if begin+i >= len(here) { // the transaction is invalid
				return d, nil
			}
			if ours := here[begin+i]; !sameReceipt(ours, there[i]) {
				d.Here = newReceipt(&ours)
				return d, nil
			}
		}
	}
	return nil, nil
}

// sameReceipt compares the parts of a receipt that are under consensus.
func sameReceipt(here types.Receipt, there *UnverifiedReceipt) bool {
	return there != nil && bytes.Equal(here.Encode(), there.Encode())
}

// firstWrite compares the writes of this node with the upstream's, which nothing proves, and returns the first
// difference, or nil.
func firstWrite(ctx context.Context, s Source, h types.Height, here []types.Access) (*writeDifference, error) {
	accesses, err := s.Accesses(ctx, h)
	if err != nil {
		return nil, fmt.Errorf("ask for the writes: %w", err)
	}
	return firstDifference(here, types.Writes(accesses)), nil
}

// firstDifference returns the first key to which two lists of writes on the same state give different values, or nil if
// there is none.
func firstDifference(here, there []types.Access) *writeDifference {
	byKey := func(a types.Access, key []byte) int { return bytes.Compare(a.Key, key) }
	keys := make([][]byte, 0, len(here)+len(there))
	for _, w := range slices.Concat(here, there) {
		keys = append(keys, w.Key)
	}
	slices.SortFunc(keys, bytes.Compare)
	for _, key := range keys {
		d := &writeDifference{Key: key}
		i, written := slices.BinarySearchFunc(here, key, byKey)
		if written {
			d.Before, d.Here = here[i].Old, here[i].New
		}
		j, writtenThere := slices.BinarySearchFunc(there, key, byKey)
		if writtenThere {
			d.There = there[j].New
			if !written {
				d.Before, d.Here = there[j].Old, there[j].Old
			}
		} else {
			d.There = d.Before
		}
		if !bytes.Equal(d.Here, d.There) {
			return d
		}
	}
	return nil
}
