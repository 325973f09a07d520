package p2p

import (
	"fmt"
	"strings"

	"github.com/cairn-chain/cairn/codec"
	"github.com/cairn-chain/cairn/internal/engine/cluster"
	"github.com/cairn-chain/cairn/types"
)

// Bounds of calls.
const (
	// MaxTake and MaxTakeBytes bound the transactions of one Take.
	MaxTake      = 500
	MaxTakeBytes = 1 << 20

	maxBlocks  = 1 << 12
	maxMessage = 512  // bytes of an error's message
	maxData    = 2048 // bytes of an error's data
	answerRoom = 1 << 10

	pageBytes  = 1 << 20   // bytes of transactions after which a page of a pool ends
	maxPending = 512 << 20 // bytes of all pages of a pool

	// MaxProofs bounds the blocks of one Proof call.
	MaxProofs = 64

	partBytes = 1 << 20  // bytes of one part of a proof
	maxProof  = 64 << 20 // bytes of a proof
)

// Result is the outcome of a forwarded transaction.
type Result struct {
	Code    int32  // 0: accepted; else the error code for the sender
	Message string // the error's message
	Data    []byte // the error's data, as JSON
}

// Report is a member's answer to a health check.
type Report struct {
	Wall    uint64 // wall clock, in Unix milliseconds
	Applied uint64 // index of the last applied log entry
	Height  types.Height
	Boot    uint64
	Program string
	Unfit   string // why it cannot lead; empty if it can
}

// Taken is the outcome of forwarded transactions.
type Taken struct {
	Refused uint8 // 0: Results has one for each; else why none was examined, as a code that the members define
	Index   uint64
	Results []Result
}

// pool is a snapshot of a member's pool after a block, as the link encodes it.
type pool cluster.Pending

// clip truncates text to at most the given number of bytes, without splitting a character.
func clip(text string, bytes int) string {
	return strings.ToValidUTF8(text[:min(len(text), bytes)], "")
}

func encodeList(e *codec.Encoder, list [][]byte) {
	e.U64(uint64(len(list)))
	for _, b := range list {
		e.Bytes(b)
	}
}

// decodeList reads at most count items of at most bytes in total; they alias the decoder's data.
func decodeList(d *codec.Decoder, count, bytes int) (list [][]byte) {
	for range d.Length(count, 8) {
		b := d.Bytes(bytes)
		bytes -= len(b)
		list = append(list, b)
	}
	return list
}

func encodeTake(transactions [][]byte) []byte {
	size := 8
	for _, tx := range transactions {
		size += 8 + len(tx)
	}
	e := codec.NewEncoder(size)
	encodeList(e, transactions)
	return e.Data()
}

func decodeTake(b []byte) ([][]byte, error) {
	d := codec.NewDecoder(b)
	list := decodeList(d, MaxTake, MaxTakeBytes)
	return list, d.Finish()
}

func (t Taken) encode() []byte {
	e := codec.NewEncoder(24 + 32*len(t.Results))
	e.U8(t.Refused)
	e.U64(t.Index)
	e.U64(uint64(len(t.Results)))
	for _, r := range t.Results {
		e.U32(uint32(r.Code))
		e.String(clip(r.Message, maxMessage))
		if len(r.Data) > maxData {
			r.Data = nil
		}
		e.Bytes(r.Data)
	}
	return e.Data()
}

func decodeTaken(b []byte) (t Taken, err error) {
	d := codec.NewDecoder(b)
	t.Refused = d.U8()
	t.Index = d.U64()
	for range d.Length(MaxTake, 20) {
		t.Results = append(t.Results, Result{int32(d.U32()), d.String(maxMessage), d.Bytes(maxData)})
	}
	return t, d.Finish()
}

type heights struct{ from, to types.Height }

func (h heights) encode() []byte {
	e := codec.NewEncoder(16)
	e.U64(uint64(h.from))
	e.U64(uint64(h.to))
	return e.Data()
}

func decodeHeights(b []byte) (h heights, err error) {
	d := codec.NewDecoder(b)
	h.from, h.to = types.Height(d.U64()), types.Height(d.U64())
	if d.Err() == nil && h.from > h.to {
		err = fmt.Errorf("%w: blocks %d to %d", ErrFrame, h.from, h.to)
	}
	if finish := d.Finish(); finish != nil {
		err = finish
	}
	return h, err
}

// encodeBlocks encodes the longest prefix of blocks that fits into a frame.
func encodeBlocks(blocks [][]byte) []byte {
	size, n := 8, 0
	for ; n < min(len(blocks), maxBlocks) && size+8+len(blocks[n]) <= MaxFrame-answerRoom; n++ {
		size += 8 + len(blocks[n])
	}
	e := codec.NewEncoder(size)
	encodeList(e, blocks[:n])
	return e.Data()
}

func decodeBlocks(b []byte) ([][]byte, error) {
	d := codec.NewDecoder(b)
	list := decodeList(d, maxBlocks, MaxFrame)
	return list, d.Finish()
}

// pages writes the frames of a pool. Each holds the block, some of the transactions, and whether more follow.
func (p pool) pages(write func([]byte) error) error {
	for n := 0; ; {
		e := codec.NewEncoder(1 << 10)
		e.U64(p.Applied)
		e.U64(uint64(p.Head.Height))
		e.Fixed(p.Head.Hash[:])
		first := n
		for size := 0; n < len(p.Transactions) && size < pageBytes; n++ {
			size += len(p.Transactions[n].Encoded)
		}
		e.U64(uint64(n - first))
		for _, tx := range p.Transactions[first:n] {
			e.U64(tx.Time)
			e.Bytes(tx.Encoded)
		}
		more := n < len(p.Transactions)
		e.Option(more)
		if err := write(e.Data()); err != nil || !more {
			return err
		}
	}
}

// add appends a page, and reports whether more follow.
func (p *pool) add(page []byte) (more bool, err error) {
	d := codec.NewDecoder(page)
	p.Applied, p.Head.Height = d.U64(), types.Height(d.U64())
	d.Fixed(p.Head.Hash[:])
	for range d.Length(MaxFrame/16, 16) {
		tx := cluster.PendingTransaction{Time: d.U64(), Encoded: d.Bytes(types.MaxTransactionBytes)}
		p.Transactions = append(p.Transactions, tx)
	}
	more = d.Option()
	return more, d.Finish()
}

func encodeNumber(n uint64) []byte {
	e := codec.NewEncoder(8)
	e.U64(n)
	return e.Data()
}

func decodeNumber(b []byte) (uint64, error) {
	d := codec.NewDecoder(b)
	n := d.U64()
	return n, d.Finish()
}

func encodeGranted(granted bool) []byte {
	e := codec.NewEncoder(1)
	e.Option(granted)
	return e.Data()
}

func decodeGranted(b []byte) (bool, error) {
	d := codec.NewDecoder(b)
	granted := d.Option()
	return granted, d.Finish()
}

func (r Report) encode() []byte {
	e := codec.NewEncoder(64)
	e.U64(r.Wall)
	e.U64(r.Applied)
	e.U64(uint64(r.Height))
	e.U64(r.Boot)
	e.String(clip(r.Program, maxProgram))
	e.String(clip(r.Unfit, maxMessage))
	return e.Data()
}

func decodeReport(b []byte) (r Report, err error) {
	d := codec.NewDecoder(b)
	r.Wall, r.Applied, r.Height, r.Boot = d.U64(), d.U64(), types.Height(d.U64()), d.U64()
	r.Program = d.String(maxProgram)
	r.Unfit = d.String(maxMessage)
	return r, d.Finish()
}

func encodeFailed(reason string) []byte {
	e := codec.NewEncoder(8 + len(reason))
	e.String(clip(reason, maxMessage))
	return e.Data()
}

func decodeFailed(b []byte) (string, error) {
	d := codec.NewDecoder(b)
	reason := d.String(maxMessage)
	return reason, d.Finish()
}

func encodeProofs(of []types.Height) []byte {
	e := codec.NewEncoder(8 + 8*len(of))
	e.U64(uint64(len(of)))
	for _, h := range of {
		e.U64(uint64(h))
	}
	return e.Data()
}

func decodeProofs(b []byte) (of []types.Height, err error) {
	d := codec.NewDecoder(b)
	for range d.Length(MaxProofs, 8) {
		of = append(of, types.Height(d.U64()))
	}
	return of, d.Finish()
}

// proof is the proof of a block. A height of 0 means that there is none.
type proof struct {
	height types.Height
	data   []byte
}

// parts writes the frames of a proof. Each holds the block, some of the bytes, and whether more follow.
func (p proof) parts(write func([]byte) error) error {
	for rest := p.data; ; {
		part := rest[:min(len(rest), partBytes)]
		rest = rest[len(part):]
		e := codec.NewEncoder(17 + len(part))
		e.U64(uint64(p.height))
		e.Bytes(part)
		e.Option(len(rest) > 0)
		if err := write(e.Data()); err != nil || len(rest) == 0 {
			return err
		}
	}
}

// add appends a part, and reports whether more follow.
func (p *proof) add(b []byte) (more bool, err error) {
	d := codec.NewDecoder(b)
	p.height = types.Height(d.U64())
	part := d.Bytes(partBytes)
	more = d.Option()
	if err := d.Finish(); err != nil {
		return false, err
	}
	if p.data = append(p.data, part...); len(p.data) > maxProof {
		return false, fmt.Errorf("%w: a proof of more than %d bytes", ErrFrame, maxProof)
	}
	return more, nil
}
