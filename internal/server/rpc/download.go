package rpc

import (
	"fmt"
	"io"
	"math"
	"net/http"
	"time"

	"github.com/cairn-chain/cairn/internal/server/request"
	"github.com/cairn-chain/cairn/internal/storage/chain"
	"github.com/cairn-chain/cairn/jsonrpc"
)

// pieceTime bounds the wait for a piece. The first piece is bounded by the request's own time instead.
const pieceTime = 30 * time.Second

// download is an io.ReadSeeker over a file, for http.ServeContent. It reads the next piece when the client has read the
// one before. Each piece is read, and compressed, in a turn.
type download struct {
	files  *files
	r      *http.Request
	file   *file
	size   int64
	coding string // empty: uncompressed

	shrinker *jsonrpc.Shrinker // nil before the first piece, and without a coding

	// start of the next piece: its part, the item in the part, and the remaining bytes of the part
	part int
	item uint32
	left int64

	skip  int64 // bytes from there to the client's start
	begun bool
	piece []byte // unread bytes of the present piece
	err   error  // reason for ending early
}

func newDownload(f *files, r *http.Request, opened *file) *download {
	return &download{files: f, r: r, file: opened, size: opened.size()}
}

func (d *download) release() {
	if d.shrinker != nil {
		d.shrinker.Release()
	}
}

// Seek implements io.Seeker. The end of a compressed file is unknown, so its size is reported as the greatest one.
func (d *download) Seek(offset int64, whence int) (int64, error) {
	if whence == io.SeekEnd {
		if d.coding != "" {
			return math.MaxInt64, nil
		}
		return d.size, nil
	}
	d.part, d.skip = 0, offset
	for d.part < len(d.file.parts) && d.skip >= d.file.parts[d.part].size {
		d.skip -= d.file.parts[d.part].size
		d.part++
	}
	d.enter()
	return offset, nil
}

// enter moves to the start of the present part.
func (d *download) enter() {
	d.item = 0
	if d.part < len(d.file.parts) {
		d.left = d.file.parts[d.part].size
	}
}

// Read implements io.Reader.
func (d *download) Read(p []byte) (int, error) {
	for len(d.piece) == 0 && d.err == nil {
		if d.part == len(d.file.parts) {
			return 0, io.EOF
		}
		d.piece = nil // freed before the next one is made
		if ran := d.turn(func() { d.piece, d.err = d.produce() }); ran != nil {
			d.err = ran
		}
	}
	if d.err != nil {
		return 0, d.err
	}
	n := copy(p, d.piece)
	d.piece = d.piece[n:]
	return n, nil
}

// turn calls f in a turn. The first piece must be made within the request's time, and each later one within a time of
// its own: the client's time for reading the whole file is longer.
func (d *download) turn(f func()) error {
	ctx := d.r.Context()
	if d.begun {
		of := request.Of(ctx)
		later := &request.Request{Context: of.Context, Source: of.Source, Quota: of.Quota}
		later.Begin(time.Now(), pieceTime)
		defer later.End()
		ctx = later
	}
	d.begun = true
	return d.files.lane.Run(ctx, f)
}

// produce returns the next piece, which may be empty.
func (d *download) produce() ([]byte, error) {
	count, beside := counterOf(d.r.Context()), d.file.held
	if d.coding != "" {
		beside += jsonrpc.ShrinkerBytes
	}
	if err := count(beside + int(min(d.size, pieceBytes))); err != nil {
		return nil, err
	}
	piece, err := d.read()
	if err == nil {
		err = count(beside + len(piece))
	}
	if err != nil || d.coding == "" {
		return piece, err
	}
	if d.shrinker == nil {
		d.shrinker = jsonrpc.NewShrinker(d.size, d.coding)
	}
	return d.shrinker.Add(piece, d.part == len(d.file.parts))
}

// read reads a piece of the file, without the bytes to skip.
func (d *download) read() (read []byte, err error) {
	for taken := 0; taken < pieceBytes && d.part < len(d.file.parts); {
		piece, next, err := d.file.parts[d.part].read(d.item)
		if err != nil {
			return nil, err
		}
		taken += len(piece)
		d.item, d.left = next, d.left-int64(len(piece))
		if len(piece) == 0 || d.left < 0 {
			return nil, fmt.Errorf("%w: a file does not have its recorded length", chain.ErrCorrupt)
		}
		if d.left == 0 {
			d.part++
			d.enter()
		}
		skipped := min(d.skip, int64(len(piece)))
		d.skip -= skipped
		read = append(read, piece[skipped:]...)
	}
	return read, nil
}
