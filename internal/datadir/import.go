package datadir

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/cairn-chain/cairn/internal/engine/ledger"
	"github.com/cairn-chain/cairn/types"
)

// Bounds of what is executed together: as many blocks, or bytes of them, and one at least.
const (
	importedBlocks = 256
	importedBytes  = 8 << 20
)

// ErrBadExport is the error of a file of blocks that is not as [Dir.Export] writes it.
var ErrBadExport = errors.New("this is no file of blocks")

// Import appends the blocks that [Dir.Export] wrote, and returns how many. A directory without a chain begins with the
// genesis of c. Each block is executed and compared with its header, as a replica does; those that are there already
// must be the same. What was imported when it fails stays, and it can be called again. progress is told of the bytes
// done.
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
	i := &blockImport{ledger: l, from: bufio.NewReaderSize(file, 1<<20), progress: progress}
	for err == nil {
		err = i.some(ctx)
	}
	if err == io.EOF {
		err = nil
	}
	return i.count, err
}

// offline opens the chain, or begins it, for a command. The function that it returns closes what the chain needs, also
// after an error.
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

// blockImport is an import on its way.
type blockImport struct {
	ledger   *ledger.Ledger
	from     io.Reader
	progress func(done uint64)
	read     uint64 // bytes
	count    uint64 // blocks that are new
}

// some imports the next blocks; io.EOF after the last.
func (i *blockImport) some(ctx context.Context) error {
	var encoded [][]byte
	var heights []types.Height
	var failed error
	for size := 0; len(encoded) < importedBlocks && size < importedBytes; {
		block, err := i.next()
		if err != nil {
			failed = err // once the blocks before it are imported
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
	received, err := ledger.ReceiveAll(encoded)
	if err != nil {
		failed = fmt.Errorf("block %d of the file: %w", heights[len(received)], err)
	}
	for len(received) > 0 {
		if err := ctx.Err(); err != nil {
			return err
		}
		imported, err := i.ledger.Import(received...)
		i.count += uint64(len(imported))
		received = received[len(imported):]
		if err != nil {
			return fmt.Errorf("block %d of the file: %w", received[0].Header().Header.Height, err)
		}
	}
	i.progress(i.read)
	return failed
}

// next reads a block; io.EOF after the last.
func (i *blockImport) next() ([]byte, error) {
	var length [8]byte
	n, err := io.ReadFull(i.from, length[:])
	if err != nil {
		return nil, cut(err, n)
	}
	size := binary.LittleEndian.Uint64(length[:])
	if size < types.SignedHeaderBytes || size > types.MaxBlockBytes+types.SignedHeaderBytes+8 {
		return nil, fmt.Errorf("%w: at byte %d there is a block of %d bytes", ErrBadExport, i.read, size)
	}
	block := make([]byte, size)
	if _, err := io.ReadFull(i.from, block); err != nil {
		return nil, cut(err, len(length))
	}
	i.read += uint64(len(length)) + size
	return block, nil
}

// cut is what a failure to read means after so many bytes of a block.
func cut(err error, of int) error {
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) && of > 0 {
		return fmt.Errorf("%w: it ends within a block", ErrBadExport)
	}
	return err
}

// known is a block's height, and whether it is the chain's already. Another one at its height is an error.
func (i *blockImport) known(encoded []byte) (types.Height, bool, error) {
	given, err := types.DecodeSignedHeader(encoded[:types.SignedHeaderBytes])
	if err != nil {
		return 0, false, fmt.Errorf("%w: %w", ErrBadExport, err)
	}
	height := given.Header.Height
	if height > i.ledger.Tip().Header.Header.Height {
		return height, false, nil
	}
	own, err := i.ledger.Header(height)
	if err == nil && given.Header.Hash() != own.Header.Hash() {
		err = fmt.Errorf(
			"block %d of the file is %s, that of the data directory %s", height, given.Header.Hash(), own.Header.Hash(),
		)
	}
	return height, true, err
}
