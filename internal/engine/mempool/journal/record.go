package journal

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"math/bits"
)

// A file is the magic, then records. A record is a header of three little-endian u32 (the payload's length, the
// payload's CRC-32C, the CRC-32C of those first 8 bytes), then the payload. Behind damage, wherever it is, the next
// record is found again by its two checksums. The magic of another version has another digit, in which two bits at
// least are others: one flipped bit is damage.
const (
	magic       = "cairn journal 2\n"
	magicDigit  = len(magic) - 2
	headerBytes = 12
)

// MaxPayloadBytes is the longest payload of a record.
const MaxPayloadBytes = 1 << 20

// ErrFormat is the error of a file that is no journal of this version.
var ErrFormat = errors.New("not a journal of this version")

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
	Absent  bool  // there is no file
	Records int   // read well
	Damaged int   // places that are damaged: each had a record at least
	Lost    int64 // bytes there
	Torn    int64 // bytes of a last record that was cut off, as a crash leaves a write that nobody was told of
}

// Read gives each payload of the journal at path to each, in the order of writing; a payload is the caller's to keep.
// An absent file is an empty journal. Damage is reported, not an error, and what comes behind it is read; an error is
// the file's, each's, or [ErrFormat].
func Read(fsys FS, path string, each func(payload []byte) error) (report Report, err error) {
	return readFile(fsys, path, true, each)
}

// ReadSound is [Read] that ends before the first place that is damaged. A loss of power may leave what was written
// after a record, though not the record.
func ReadSound(fsys FS, path string, each func(payload []byte) error) (Report, error) {
	return readFile(fsys, path, false, each)
}

func readFile(fsys FS, path string, skip bool, each func(payload []byte) error) (report Report, err error) {
	file, err := fsys.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return Report{Absent: true}, nil
	}
	if err != nil {
		return Report{}, fmt.Errorf("open journal: %w", err)
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	return scan(file, skip, each)
}

// scan reads a journal. All of a record can be looked at before it is taken.
func scan(file io.Reader, skip bool, each func(payload []byte) error) (report Report, err error) {
	r := bufio.NewReaderSize(file, headerBytes+MaxPayloadBytes)
	start, err := r.Peek(len(magic))
	switch {
	case err == io.EOF || err == nil && isOtherVersion(start):
		return report, ErrFormat
	case err != nil:
		return report, fmt.Errorf("read journal: %w", err)
	}
	if string(start) != magic {
		report.Lost = int64(len(magic)) // and no record, unless more is damaged
	}
	known := different(start) <= 1
	_, _ = r.Discard(len(magic)) // it is in the buffer
	for {
		payload, err := peekRecord(r)
		if !known && report.Records == 0 && err != nil { // all that it looks like is no journal
			return Report{}, ErrFormat
		}
		switch {
		case err == io.EOF:
			return report, nil
		case err == nil:
			taken := bytes.Clone(payload)
			_, _ = r.Discard(RecordBytes(len(payload))) // it is in the buffer
			report.Records++
			if err := each(taken); err != nil {
				return report, err
			}
			continue
		case errors.Is(err, errDamaged) && skip:
			err = pass(r, &report)
		case errors.Is(err, errDamaged):
			report.Damaged++
			report.Lost, err = io.Copy(io.Discard, r)
		case err == io.ErrUnexpectedEOF:
			report.Torn, err = io.Copy(io.Discard, r)
		}
		if err != nil {
			return report, fmt.Errorf("read journal: %w", err)
		}
	}
}

// different is how many bytes of what a file begins with are not those of the magic.
func different(start []byte) (n int) {
	for i := range magic {
		if start[i] != magic[i] {
			n++
		}
	}
	return n
}

// isOtherVersion tells a journal of another version by its magic.
func isOtherVersion(start []byte) bool {
	digit := start[magicDigit]
	flipped := bits.OnesCount8(digit ^ magic[magicDigit])
	return different(start) == 1 && flipped > 1 && digit >= '0' && digit <= '9'
}

var (
	errDamaged = errors.New("the record does not match its checksums")
	errPayload = fmt.Errorf("%w: its length is known", errDamaged)
)

// peekRecord is the payload of the record that comes next, which is not taken. The error is io.EOF at the end of the
// file, io.ErrUnexpectedEOF of a record that ends with the file too early, errPayload, and errDamaged of any other
// bytes.
func peekRecord(r *bufio.Reader) (payload []byte, err error) {
	header, err := r.Peek(headerBytes)
	switch {
	case err == io.EOF && len(header) > 0:
		return nil, io.ErrUnexpectedEOF
	case err != nil:
		return nil, err
	}
	length := binary.LittleEndian.Uint32(header)
	sum := binary.LittleEndian.Uint32(header[4:])
	if checksum(header[:8]) != binary.LittleEndian.Uint32(header[8:]) || length > MaxPayloadBytes {
		return nil, errDamaged
	}
	record, err := r.Peek(RecordBytes(int(length)))
	switch {
	case err == io.EOF:
		return nil, io.ErrUnexpectedEOF
	case err != nil:
		return nil, err
	case checksum(record[headerBytes:]) != sum:
		return record[headerBytes:], errPayload
	}
	return record[headerBytes:], nil
}

// pass goes over what is damaged, to the next record or the end of the file. Zeros up to the end are of a write that a
// loss of power cut off.
func pass(r *bufio.Reader, report *Report) error {
	if payload, err := peekRecord(r); errors.Is(err, errPayload) {
		n, err := r.Discard(RecordBytes(len(payload)))
		report.Damaged++
		report.Lost += int64(n)
		return err
	}
	zeros := true
	for passed := int64(0); ; passed++ {
		switch _, err := peekRecord(r); {
		case err == io.EOF && zeros:
			report.Torn += passed
			return nil
		case err == nil, err == io.EOF:
			report.Damaged++
			report.Lost += passed
			return nil
		case !errors.Is(err, errDamaged) && err != io.ErrUnexpectedEOF:
			return err
		}
		b, err := r.ReadByte()
		if err != nil {
			return err
		}
		zeros = zeros && b == 0
	}
}
