package datadir

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/cairn-chain/cairn/internal/emergency"
	"github.com/cairn-chain/cairn/internal/engine/ledger"
	"github.com/cairn-chain/cairn/types"
)

// Limits of a batch of executed blocks. The block that reaches importedBytes is the last one.
const (
	importedBlocks = 256
	importedBytes  = 8 << 20
)

// ErrBadExport is returned for a file of blocks in another format than [Dir.Export] writes.
var ErrBadExport = errors.New("not a valid file of blocks")

// Import appends blocks written by [Dir.Export] and returns the number of new blocks. A directory without a chain
// begins with the genesis of c. Each block is executed and compared with its header, as on a replica. Blocks that the
// chain has already must be the same. After an error the imported blocks stay, and Import can be called again. A
// damaged block is skipped if the chain has that block already. progress receives the bytes done.
func (d *Dir) Import(
	ctx context.Context, c Chain, file io.Reader, progress func(done uint64),
) (count uint64, err error) {
	if c.Genesis == nil && d.Genesis() == nil {
		return 0, fmt.Errorf("%w: %s", ErrNoChain, d.path)
	}
	l, closing, err := d.offline(c)
	defer func() { err = errors.Join(err, closing()) }()
	if err != nil {
		return 0, err
	}
	i := &blockImport{ledger: l, from: bufio.NewReaderSize(file, maxRecord+recordPreamble), progress: progress}
	for err == nil {
		err = i.some(ctx)
	}
	if err == io.EOF {
		err = nil
	}
	return i.count, err
}

// offline opens or begins the chain for a command. The caller must call closing, also after an error.
func (d *Dir) offline(c Chain) (_ *ledger.Ledger, closing func() error, err error) {
	engine, err := d.Engine()
	if err != nil {
		return nil, func() error { return nil }, err
	}
	book, err := d.Book()
	if err != nil {
		return nil, engine.Close, err
	}
	l, err := d.Ledger(c, book, engine)
	return l, engine.Close, err
}

// blockImport is an import in progress.
type blockImport struct {
	ledger   *ledger.Ledger
	from     *bufio.Reader // holds the longest record and the preamble of the next
	progress func(done uint64)
	read     uint64       // bytes read
	last     types.Height // height of the last block read
	count    uint64       // new blocks
}

// some imports the next blocks. It returns io.EOF after the last.
func (i *blockImport) some(ctx context.Context) error {
	var encoded [][]byte
	var heights []types.Height
	var failed error
	for size := 0; len(encoded) < importedBlocks && size < importedBytes; {
		block, err := i.next()
		if err != nil {
			failed = err // returned after the import of the blocks before it
			break
		}
		height, known, err := i.known(block)
		if err != nil {
			failed = err
			break
		}
		if !known {
			encoded, heights, size = append(encoded, block), append(heights, height), size+len(block)
		}
	}
	received, err := ledger.ReceiveAll(i.ledger.Network(), encoded)
	if err != nil {
		failed = emergency.DamagedExport(heights[len(received)], heights[len(received)], err)
	}
	for len(received) > 0 {
		if err := ctx.Err(); err != nil {
			return err
		}
		imported, err := i.ledger.Import(received...)
		i.count += uint64(len(imported))
		received = received[len(imported):]
		if err != nil {
			h := received[0].Header().Header.Height
			return emergency.DamagedExport(h, h, err)
		}
	}
	i.progress(i.read)
	return failed
}

// A record is the length of a block, followed by the block, which begins with its header.
const (
	lengthBytes    = 8
	recordPreamble = lengthBytes + types.SignedHeaderBytes
	maxRecord      = lengthBytes + types.MaxEncodedBlockBytes
)

// next reads a block. It returns io.EOF after the last. It skips to the next valid record if the data at hand is not a
// record and the chain has the skipped blocks already.
func (i *blockImport) next() ([]byte, error) {
	ahead, err := i.peek(recordPreamble)
	if err != nil {
		return nil, err
	}
	if len(ahead) == 0 {
		return nil, io.EOF
	}
	size, begins := i.record(ahead)
	if begins {
		end := lengthBytes + size
		if ahead, err = i.peek(end + recordPreamble); err != nil {
			return nil, err
		}
		if end <= len(ahead) {
			block := append([]byte(nil), ahead[lengthBytes:end]...)
			_, follows := i.record(ahead[end:])
			if !follows && end < len(ahead) { // the next one may be the damaged one
				_, _, err = types.DecodeBlockTxs(block)
			}
			if err == nil {
				return block, i.discard(end)
			}
		}
	}
	return i.resume(begins)
}

// peek returns the next bytes without consuming them. The result is shorter at the end of the file.
func (i *blockImport) peek(bytes int) ([]byte, error) {
	ahead, err := i.from.Peek(bytes)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return ahead, err
}

// record reports whether a record of this chain may begin with b, and the size of its block.
func (i *blockImport) record(b []byte) (size int, begins bool) {
	if len(b) < recordPreamble {
		return 0, false
	}
	length := binary.LittleEndian.Uint64(b)
	if length < types.SignedHeaderBytes || length > maxRecord-lengthBytes {
		return 0, false
	}
	return int(length), true
}

// resume skips damaged data up to the next record with a header that its producer sealed.
func (i *blockImport) resume(begins bool) ([]byte, error) {
	ahead, err := i.peek(maxRecord + recordPreamble)
	if err != nil {
		return nil, err
	}
	chainID := i.ledger.Tip().Header.Header.ChainID
	for at := 1; at+recordPreamble <= len(ahead); at++ {
		if _, may := i.record(ahead[at:]); !may {
			continue
		}
		h, err := types.DecodeSignedHeader(ahead[at+lengthBytes : at+recordPreamble])
		if err != nil || h.Header.ChainID != chainID || h.Header.Height <= i.last || !h.VerifySeal() {
			continue
		}
		if newest := h.Header.Height - 1; newest > i.ledger.Tip().Header.Header.Height {
			return nil, emergency.DamagedExport(i.last+1, newest, fmt.Errorf("%w: at byte %d", ErrBadExport, i.read))
		}
		if err := i.discard(at); err != nil {
			return nil, err
		}
		return i.next()
	}
	err = fmt.Errorf("%w: at byte %d", ErrBadExport, i.read)
	if begins || len(ahead) < recordPreamble {
		err = fmt.Errorf("%w: it ends in the middle of a block", ErrBadExport)
	}
	return nil, emergency.DamagedExport(i.last+1, i.last+1, err)
}

// discard discards the given number of bytes.
func (i *blockImport) discard(bytes int) error {
	_, err := i.from.Discard(bytes)
	i.read += uint64(bytes)
	return err
}

// known returns a block's height and reports whether the chain has it already: a damaged copy of such a block is
// skipped. It returns an error if the chain has another block of that height.
func (i *blockImport) known(encoded []byte) (types.Height, bool, error) {
	given, err := types.DecodeSignedHeader(encoded[:types.SignedHeaderBytes])
	if tip := i.ledger.Tip().Header.Header; err != nil || !given.VerifySeal() && given.Header.Height != 0 {
		next := i.last + 1
		if next > tip.Height {
			return next, false, emergency.DamagedExport(next, next, fmt.Errorf("%w: its header is not signed", ledger.ErrAltered))
		}
		i.last = next
		return next, true, nil
	}
	height := given.Header.Height
	i.last = height
	if height > i.ledger.Tip().Header.Header.Height {
		return height, false, nil
	}
	own, err := i.ledger.Header(height)
	if err == nil && given.Header.Hash() != own.Header.Hash() {
		err = fmt.Errorf(
			"block %d is %s in the file, but %s in the data directory", height, given.Header.Hash(), own.Header.Hash(),
		)
	}
	return height, true, err
}
