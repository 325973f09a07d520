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

// A file is the magic followed by records. A record is a header of three little-endian u32 (the payload's length, the
// payload's CRC-32C, and the CRC-32C of these 8 bytes), followed by the payload. After damage at any place, the next
// record is found by its two checksums. The digit in another version's magic differs from this one's in at least two
// bits: a single flipped bit is damage.
const (
	magic       = "cairn journal 2\n"
	magicDigit  = len(magic) - 2
	headerBytes = 12
)

// MaxPayloadBytes is the maximum length of a payload.
const MaxPayloadBytes = 1 << 20

// ErrFormat is returned for a file that is not a journal of this version.
var ErrFormat = errors.New("not a journal of this version")

// ErrTooLong is returned for a payload longer than [MaxPayloadBytes].
var ErrTooLong = errors.New("payload is too long for a record")

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func checksum(b []byte) uint32 { return crc32.Checksum(b, castagnoli) }

// RecordBytes returns the length of a record with a payload of n bytes.
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

// Report describes the content that [Read] found.
type Report struct {
	Absent  bool  // there is no file
	Records int   // intact records
	Damaged int   // damaged places, each of at least one record
	Lost    int64 // bytes in damaged places
	Torn    int64 // bytes of an incomplete last record, such as a crash leaves of an unacknowledged write
}

// Read calls each with every payload of the journal at path in the order of writing. The callee may keep the payload.
// An absent file is an empty journal. Damage is reported and skipped, and is not an error. An error is from the file
// system or each, or is [ErrFormat].
func Read(fsys FS, path string, each func(payload []byte) error) (report Report, err error) {
	return readFile(fsys, path, true, each)
}

// ReadSound is like [Read], but stops at the first damaged place. After a power loss, a later write may be in the file
// although an earlier one is not.
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

// scan reads a journal. The buffer fits a whole record, so that a record can be checked before it is consumed.
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
		report.Lost = int64(len(magic)) // counted as bytes, not as a damaged place
	}
	known := different(start) <= 1
	_, _ = r.Discard(len(magic)) // it is in the buffer
	for {
		payload, err := peekRecord(r)
		if !known && report.Records == 0 && err != nil { // no valid record: not a journal
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

// different returns the number of bytes in start that differ from the magic.
func different(start []byte) (n int) {
	for i := range magic {
		if start[i] != magic[i] {
			n++
		}
	}
	return n
}

// isOtherVersion reports whether start is the magic of another version.
func isOtherVersion(start []byte) bool {
	digit := start[magicDigit]
	flipped := bits.OnesCount8(digit ^ magic[magicDigit])
	return different(start) == 1 && flipped > 1 && digit >= '0' && digit <= '9'
}

var (
	errDamaged = errors.New("the record does not match its checksums")
	errPayload = fmt.Errorf("%w: its length is known", errDamaged)
)

// peekRecord returns the payload of the next record without consuming it. The error is io.EOF at the end of the file,
// io.ErrUnexpectedEOF for a record that extends beyond the end, errPayload for a damaged payload, and errDamaged for
// any other bytes.
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

// pass skips damage up to the next record or the end of the file. Zeros up to the end count as torn: they belong to a
// write that a power loss cut off.
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
