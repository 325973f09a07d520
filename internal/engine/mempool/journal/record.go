package journal

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
)

// A file is the magic, then records. A record is a header of three little-endian u32 (the payload's length, the
// payload's CRC-32C, the CRC-32C of those first 8 bytes), then the payload. The header's own checksum tells a damaged
// payload, which can be skipped, from a damaged length, after which nothing can be found again.
const (
	magic       = "cairn journal 2\n"
	headerBytes = 12
)

// MaxPayloadBytes is the longest payload of a record.
const MaxPayloadBytes = 1 << 20

// ErrFormat is the error of a file that is no journal of this version.
var ErrFormat = errors.New("not a journal of this version: move the file away to start without what it holds")

// ErrTooLong is the error of a payload over [MaxPayloadBytes].
var ErrTooLong = errors.New("payload is too long for a record")

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func checksum(b []byte) uint32 { return crc32.Checksum(b, castagnoli) }

// RecordBytes is the length in the file of a record with a payload of n bytes.
func RecordBytes(n int) int { return headerBytes + n }

func appendRecord(b, payload []byte) ([]byte, error) {
	if len(payload) > MaxPayloadBytes {
		return b, fmt.Errorf("%w: %d bytes", ErrTooLong, len(payload))
	}
	start := len(b)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(payload)))
	b = binary.LittleEndian.AppendUint32(b, checksum(payload))
	b = binary.LittleEndian.AppendUint32(b, checksum(b[start:]))
	return append(b, payload...), nil
}

// Report says what [Read] found.
type Report struct {
	Records int   // read well
	Damaged int   // skipped: their payload does not match its checksum
	Lost    int64 // bytes after the last record found: a write cut short, or what is damaged and all that follows it
}

// Read gives each payload of the journal at path to each, in the order of writing; a payload is the caller's to keep.
// An absent file is an empty journal. Damage is reported, not an error; an error is the file's, each's, or [ErrFormat].
func Read(fsys FS, path string, each func(payload []byte) error) (report Report, err error) {
	return readFile(fsys, path, true, each)
}

// ReadSound is [Read] that ends before the first record that is damaged. A loss of power may leave what was written
// after such a record, though not the record.
func ReadSound(fsys FS, path string, each func(payload []byte) error) (Report, error) {
	return readFile(fsys, path, false, each)
}

func readFile(fsys FS, path string, skip bool, each func(payload []byte) error) (report Report, err error) {
	file, err := fsys.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return Report{}, nil
	}
	if err != nil {
		return Report{}, fmt.Errorf("open journal: %w", err)
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	return scan(bufio.NewReaderSize(file, 1<<20), skip, each)
}

func scan(r io.Reader, skip bool, each func(payload []byte) error) (Report, error) {
	var start [len(magic)]byte
	if _, err := io.ReadFull(r, start[:]); err != nil && !isEnd(err) {
		return Report{}, fmt.Errorf("read journal: %w", err)
	}
	if string(start[:]) != magic {
		return Report{}, ErrFormat
	}
	var report Report
	for {
		payload, n, err := readRecord(r)
		switch {
		case err == io.EOF:
			return report, nil
		case skip && errors.Is(err, errPayload):
			report.Damaged++
		case errors.Is(err, errPayload) || errors.Is(err, errFraming) || errors.Is(err, io.ErrUnexpectedEOF):
			rest, err := io.Copy(io.Discard, r)
			report.Lost = int64(n) + rest
			if err != nil {
				return report, fmt.Errorf("read journal: %w", err)
			}
			return report, nil
		case err != nil:
			return report, fmt.Errorf("read journal: %w", err)
		default:
			report.Records++
			if err := each(payload); err != nil {
				return report, err
			}
		}
	}
}

var (
	errPayload = errors.New("payload does not match its checksum")
	errFraming = errors.New("record header does not match its checksum")
)

// readRecord also returns how many bytes it took. Its error is io.EOF at the end of the file and
// io.ErrUnexpectedEOF within a record.
func readRecord(r io.Reader) (payload []byte, n int, err error) {
	var header [headerBytes]byte
	n, err = io.ReadFull(r, header[:])
	if err != nil {
		return nil, n, err
	}
	length := binary.LittleEndian.Uint32(header[0:])
	if checksum(header[:8]) != binary.LittleEndian.Uint32(header[8:]) || length > MaxPayloadBytes {
		return nil, n, errFraming
	}
	payload = make([]byte, length)
	m, err := io.ReadFull(r, payload)
	n += m
	switch {
	case err == io.EOF:
		return nil, n, io.ErrUnexpectedEOF
	case err != nil:
		return nil, n, err
	case checksum(payload) != binary.LittleEndian.Uint32(header[4:]):
		return nil, n, errPayload
	}
	return payload, n, nil
}

func isEnd(err error) bool { return err == io.EOF || err == io.ErrUnexpectedEOF }
