package ledger

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"github.com/cairn-chain/cairn/internal/engine/parallel"
	"github.com/cairn-chain/cairn/internal/protocol/exec"
	"github.com/cairn-chain/cairn/internal/protocol/lists"
	"github.com/cairn-chain/cairn/internal/protocol/params"
	"github.com/cairn-chain/cairn/internal/protocol/state"
	"github.com/cairn-chain/cairn/types"
)

// Received is a block from another node that was not altered on its way. It decodes, its header carries the seal of the
// producer that it names, and its transactions match the header. Only [Receive] and [ReceiveAll] make one.
// [Ledger.Import] decides whether the block is valid and whether that producer may make it.
//
// A block of a version that this program does not know is an exception: only the part of its header that never changes
// is read, and nothing is verified. [core.CheckNext] tells such a block from others.
type Received struct {
	encoded  []byte
	header   types.SignedHeader
	hash     types.BlockHash
	txs      []*types.Tx
	verified []*types.VerifiedTx // verified form of txs; an entry is nil if a witness does not hold
	unknown  bool                // the version is not known
}

// ErrAltered is returned for bytes that are not a block as a producer sealed it. Only their sender is to blame.
var ErrAltered = errors.New("the block was altered after its producer signed it")

// leastWitnesses and mostWitnesses bound the number of transactions whose signatures are verified as one batch. In a
// larger batch, more signatures share a sender. Between these, there are witnessBatches batches for the cores to share.
const (
	leastWitnesses = 2048
	mostWitnesses  = 8192
	witnessBatches = 16
)

// Receive decodes bincode(Block) and verifies its signatures on all cores. It needs nothing of the chain but its
// network, so blocks can be received while earlier ones are executed. The error is [ErrAltered].
func Receive(network types.Network, encoded []byte) (*Received, error) {
	blocks, err := ReceiveAll(network, [][]byte{encoded})
	if err != nil {
		return nil, err
	}
	return blocks[0], nil
}

// ReceiveAll is like [Receive] for several blocks, and verifies their signatures together in batches. It returns the
// blocks before the first bad one, with that block's error.
func ReceiveAll(network types.Network, encoded [][]byte) ([]*Received, error) {
	blocks, errs := make([]*Received, len(encoded)), make([]error, len(encoded))
	parallel.Run(len(encoded), func(i int) { blocks[i], errs[i] = open(encoded[i]) })
	verifySeals(blocks[:firstError(errs)], errs)
	good := firstError(errs)
	verifyWitnesses(network, blocks[:good], nil)
	parallel.Run(good, func(i int) { errs[i] = blocks[i].checkTransactions() })
	if good = firstError(errs); good < len(errs) {
		return blocks[:good], errs[good]
	}
	return blocks, nil
}

// firstError returns the index of the first non-nil error, or len(errs) if there is none.
func firstError(errs []error) int {
	if i := slices.IndexFunc(errs, func(err error) bool { return err != nil }); i >= 0 {
		return i
	}
	return len(errs)
}

// open decodes a block, or the beginning of one whose version is not known.
func open(encoded []byte) (*Received, error) {
	start, err := types.DecodeHeaderStart(encoded)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrAltered, err)
	}
	if !params.Known(start.Version) {
		return &Received{encoded: encoded, header: types.SignedHeader{Header: start}, unknown: true}, nil
	}
	header, txs, err := types.DecodeBlockTxs(encoded)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrAltered, err)
	}
	return &Received{encoded: encoded, header: header, hash: header.Header.Hash(), txs: txs}, nil
}

// verifySeals sets an error for each block of a known version whose seal does not hold.
func verifySeals(blocks []*Received, errs []error) {
	headers := make([]types.SignedHeader, len(blocks))
	for i, b := range blocks {
		headers[i] = b.Header()
	}
	for i, valid := range types.VerifySeals(headers) {
		if !valid && !blocks[i].unknown {
			errs[i] = fmt.Errorf("%w: the seal of block %d", ErrAltered, headers[i].Header.Height)
		}
	}
}

// verifyWitnesses verifies the witnesses of the blocks' transactions. It skips those that known, unless nil, returns as
// verified.
func verifyWitnesses(network types.Network, blocks []*Received, known func(types.TxID) *types.VerifiedTx) {
	count := 0
	for _, b := range blocks {
		count += len(b.txs)
	}
	txs, places := make([]*types.Tx, 0, count), make([]**types.VerifiedTx, 0, count)
	for _, b := range blocks {
		b.verified = make([]*types.VerifiedTx, len(b.txs))
		for i, tx := range b.txs {
			if known != nil {
				if v := known(tx.ID()); v != nil && bytes.Equal(v.Encoded(), tx.Encoded()) {
					b.verified[i] = v
					continue
				}
			}
			txs, places = append(txs, tx), append(places, &b.verified[i])
		}
	}
	size := min(max(leastWitnesses, len(txs)/witnessBatches), mostWitnesses)
	batches := slices.Collect(slices.Chunk(txs, size))
	parallel.Run(len(batches), func(i int) {
		for j, v := range types.VerifyWitnesses(network, batches[i]) {
			*places[i*size+j] = v
		}
	})
}

// checkTransactions checks the transactions against the root in the header.
func (r *Received) checkTransactions() error {
	if r.unknown {
		return nil
	}
	if lists.TransactionsRootBy(r.txs, parallel.Run) != r.header.Header.TransactionsRoot {
		return fmt.Errorf("%w: the transactions of block %d do not match its header", ErrAltered, r.header.Header.Height)
	}
	return nil
}

// imported returns the block in the form that it has once executed and on disk.
func (r *Received) imported(result exec.Result, timings Timings) Block {
	return Block{
		Header:   r.header,
		Hash:     r.hash,
		Included: result.Transactions,
		Accesses: result.Accesses,
		Timings:  timings,
	}
}

// Header returns the block's header with its seal. Of a version that is not known, only the first fields are set.
func (r *Received) Header() types.SignedHeader { return r.header }

// Encoded returns bincode(Block); callers must not change it.
func (r *Received) Encoded() []byte { return r.encoded }

// IDs returns the IDs of the block's transactions.
func (r *Received) IDs() []types.TxID { return types.IDs(r.txs) }

// These errors say why a block is not the next one. It may still be valid on another chain.
var (
	ErrOtherHeight = errors.New("the block's height does not follow the head's")
	ErrOtherParent = errors.New("the block does not follow the head")
	ErrOtherSigner = errors.New("the block is signed by a key other than the producer's")
)

var errBadWitness = errors.New("its witnesses are invalid")

// executeOn executes all transactions of a block on parent, the state after tip.
func (c *core) executeOn(tip *Tip, r *Received, parent state.Reader, machine exec.Machine) (exec.Result, error) {
	run, err := c.reexecute(tip.Header.Header, r.header.Header, tip.Parameters, parent, machine)
	// A block of a version that is not known does not get here. If its time takes one, its header has the wrong
	// version.
	if errors.Is(err, exec.ErrTimestamp) || errors.Is(err, exec.ErrUnknownVersion) {
		return exec.Result{}, &InvalidBlock{Claimed: r.Header(), Err: err}
	}
	if err != nil {
		return exec.Result{}, err
	}
	run.Reserve(len(r.txs))
	run.ShareOut(parallel.Run)
	receipts := make([]types.Receipt, 0, len(r.txs))
	for i, tx := range r.verified {
		invalid := errBadWitness
		if tx != nil {
			var receipt types.Receipt
			if receipt, invalid = run.Apply(tx); invalid == nil {
				receipts = append(receipts, receipt)
				continue
			}
			if !exec.IsInvalid(invalid) {
				return exec.Result{}, fmt.Errorf("execute %s: %w", tx.ID(), invalid)
			}
		}
		return exec.Result{}, &InvalidBlock{
			Claimed: r.Header(), Receipts: receipts, Err: fmt.Errorf("transaction %d is not valid: %w", i, invalid),
		}
	}
	return run.FinishWith(r.header.Header.TransactionsRoot) // checkTransactions computed it from these transactions
}
