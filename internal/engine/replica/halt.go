package replica

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/cairn-chain/cairn/internal/emergency"
	"github.com/cairn-chain/cairn/internal/engine/ledger"
	"github.com/cairn-chain/cairn/internal/storage/sealed"
	"github.com/cairn-chain/cairn/types"
)

// Machine-readable reasons of a halt.
const (
	// Diverged means that the producer signed a block that no engine of this node derives.
	Diverged = "diverged"
	// Equivocation means that the producer signed two blocks of one height.
	Equivocation = "equivocation"
	// EngineFailure means that every engine of this node failed on the block. The block may be valid; another version
	// of the program may be able to tell.
	EngineFailure = "engine_failure"
	// UnknownVersion means that the next block needs rules that this version of the program does not know. No file is
	// written, and the replica goes on if an upstream gives another next block, which it can check.
	UnknownVersion = "unknown_version"
)

// Halt says why a replica takes no more blocks, with the evidence. It is the content of [Config].HaltFile.
type Halt struct {
	Reason   string         `json:"reason"`
	Message  string         `json:"message"`
	Height   types.Height   `json:"height"` // height of the refused block
	Time     time.Time      `json:"time"`
	Upstream string         `json:"upstream"`
	Headers  []signedHeader `json:"headers"` // signed by the producer: one header, or two of the same height

	// The results of executing the block on this node. The first differences, too, are the last engine's.
	Engines []verdict `json:"engines,omitempty"` // result of each engine
	Derived *header   `json:"derived,omitempty"` // absent if a transaction is invalid
	// the block's writes; only set by a cluster member, which asks no other node for its writes
	Writes []write `json:"writes,omitempty"`

	Block types.Hex `json:"block,omitempty"` // bincode(Block)

	FirstReceipt *receiptDifference `json:"first_receipt,omitempty"`
	FirstWrite   *writeDifference   `json:"first_write,omitempty"`
	Unexplained  string             `json:"unexplained,omitempty"` // why a difference could not be found
}

// header is a human-readable header, accompanying its encoding.
type header struct {
	Hash             types.BlockHash  `json:"hash"`
	Parent           types.BlockHash  `json:"parent"`
	StateRoot        types.StateRoot  `json:"state_root"`
	ReceiptsRoot     types.MerkleRoot `json:"receipts_root"`
	TransactionsRoot types.MerkleRoot `json:"transactions_root"`
	GasUsed          types.Gas        `json:"gas_used"`
	Timestamp        uint64           `json:"timestamp"` // in milliseconds
}

// verdict is the result of one engine.
type verdict struct {
	Engine  string  `json:"engine"`
	Derived *header `json:"derived,omitempty"`
	Error   string  `json:"error"`
}

// derive records the results of the execution on this node.
func (h *Halt) derive(invalid *ledger.InvalidBlock) {
	h.Derived = derivedHeader(invalid.Derived)
	for _, v := range invalid.Verdicts {
		h.Engines = append(h.Engines, verdict{v.Engine, derivedHeader(v.Derived), v.Err.Error()})
	}
}

// derivedHeader returns nil for the zero header.
func derivedHeader(h types.Header) *header {
	if h == (types.Header{}) {
		return nil
	}
	return new(newHeader(h))
}

// write is a block's change of a state key. An empty value means that the key is absent.
type write struct {
	Key    types.Hex `json:"key"`
	Before types.Hex `json:"before"`
	After  types.Hex `json:"after"`
}

type signedHeader struct {
	header
	Raw types.Hex `json:"raw"` // bincode(SignedHeader)
}

func newHeader(h types.Header) header {
	return header{
		Hash:             h.Hash(),
		Parent:           h.Parent,
		StateRoot:        h.StateRoot,
		ReceiptsRoot:     h.ReceiptsRoot,
		TransactionsRoot: h.TransactionsRoot,
		GasUsed:          h.GasUsed,
		Timestamp:        h.Timestamp,
	}
}

func newSignedHeader(h types.SignedHeader) signedHeader {
	return signedHeader{newHeader(h.Header), h.Encode()}
}

// maxHaltFile bounds the file: a block in hex, and some headers.
const maxHaltFile = 3 * types.MaxBlockBytes

// ReadHalt reads the halt file. It returns nil if there is none, that is, if the replica is not halted.
func ReadHalt(path string) (*Halt, error) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if info.Size() > maxHaltFile {
		return nil, emergency.DamagedEvidence(path, fmt.Errorf("longer than %d bytes", maxHaltFile))
	}
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	h := new(Halt)
	if err := sealed.ParseJSON(content, h); err != nil {
		return nil, emergency.DamagedEvidence(path, err)
	}
	return h, nil
}

// Disagreed returns the evidence of a cluster member whose result differs from the cluster's decision. block is the
// decided block, nil if no block is concerned.
func Disagreed(err error, height types.Height, block []byte) *Halt {
	h := &Halt{Reason: Diverged, Message: emergency.Disagreed(err.Error(), err).Error(), Height: height,
		Time: time.Now().UTC(), Block: block}
	if invalid, ok := errors.AsType[*ledger.InvalidBlock](err); ok {
		h.Headers = []signedHeader{newSignedHeader(invalid.Claimed)}
		h.derive(invalid)
		for _, w := range invalid.Writes {
			h.Writes = append(h.Writes, write{w.Key, w.Old, w.New})
		}
	}
	return h
}

// Write puts the evidence on disk, atomically.
func (h *Halt) Write(path string) error {
	content, err := sealed.JSON(h)
	if err != nil {
		return err
	}
	part := path + ".part"
	file, err := os.OpenFile(part, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return err
	}
	if _, err = file.Write(content); err == nil {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err != nil {
		return err
	}
	return os.Rename(part, path)
}
