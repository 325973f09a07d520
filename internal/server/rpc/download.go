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

// pieceTime bounds how long a client waits for a piece after the first, for which the request has its time.
const pieceTime = 30 * time.Second

// download is a file as it is sent: an io.ReadSeeker for http.ServeContent, which reads a piece when the one before was
// taken. A piece is read, and compressed, in a turn.
type download struct {
	files  *files
	r      *http.Request
	file   *file
	size   int64
	coding string // empty: as it is

	shrinker *jsonrpc.Shrinker // nil before the first piece, and without a coding
	at       mark              // of what is read next
	skip     int64             // bytes from there to where the client begins
	begun    bool
	piece    []byte // what is not taken yet of what was read
	err      error  // why it ended
}

// mark is where in a file a piece begins.
type mark struct {
	part int    // index
	item uint32 // in the part
	left int64  // bytes of the part from there on
}

func newDownload(f *files, r *http.Request, opened *file) *download {
	return &download{files: f, r: r, file: opened, size: opened.size()}
}

func (d *download) release() {
	if d.shrinker != nil {
		d.shrinker.Release()
	}
}

// Seek implements io.Seeker. A compressed file is longer than any: it ends where it ends.
func (d *download) Seek(offset int64, whence int) (int64, error) {
	if whence == io.SeekEnd {
		if d.coding != "" {
			return math.MaxInt64, nil
		}
		return d.size, nil
	}
	d.at, d.skip = mark{}, offset
	for d.at.part < len(d.file.parts) && d.skip >= d.file.parts[d.at.part].size {
		d.skip -= d.file.parts[d.at.part].size
		d.at.part++
	}
	d.enter()
	return offset, nil
}

// enter begins with a part.
func (d *download) enter() {
	d.at.item = 0
	if d.at.part < len(d.file.parts) {
		d.at.left = d.file.parts[d.at.part].size
	}
}

// Read implements io.Reader.
func (d *download) Read(p []byte) (int, error) {
	for len(d.piece) == 0 && d.err == nil {
		if d.at.part == len(d.file.parts) {
			return 0, io.EOF
		}
		d.piece = nil // before the next one is made
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

// turn calls f when it is its turn. The first piece has the time of the request, and each later one its own: the client has the
// whole file's time to take it.
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

// produce makes the next piece, which may be empty.
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
	return d.shrinker.Add(piece, d.at.part == len(d.file.parts))
}

// read reads a piece of the file, without what is skipped.
func (d *download) read() (read []byte, err error) {
	for taken := 0; taken < pieceBytes && d.at.part < len(d.file.parts); {
		piece, next, err := d.file.parts[d.at.part].read(d.at.item)
		if err != nil {
			return nil, err
		}
		taken += len(piece)
		d.at.item, d.at.left = next, d.at.left-int64(len(piece))
		if len(piece) == 0 || d.at.left < 0 {
			return nil, fmt.Errorf("%w: a file is not as long as it is said to be", chain.ErrCorrupt)
		}
		if d.at.left == 0 {
			d.at.part++
			d.enter()
		}
		skipped := min(d.skip, int64(len(piece)))
		d.skip -= skipped
		read = append(read, piece[skipped:]...)
	}
	return read, nil
}
