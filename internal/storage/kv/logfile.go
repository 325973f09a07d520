package kv

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"slices"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// A write-ahead log consists of blocks of 32 KiB, which consist of chunks. A chunk is the masked CRC-32C of the rest of
// it, its length in 16 bits and its type. Depending on the type, the log's number in 32 bits and 8 more bytes follow.
// Pebble reads a log up to the first incomplete chunk. That chunk may be the last write before a crash, or data from
// before the file was reused. A changed byte ends the log in the same way; checkLog distinguishes the two cases.

const (
	logBlock     = 32 << 10
	chunkNumber  = 11 // size of a header with the log's number
	chunkSynced  = 19 // size of a header that also has the synced offset
	maxChunkType = 12
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// chunkAt returns the end of the chunk at an offset of a log. own reports whether the chunk has the log's number and
// fits in its block, and whole whether its checksum is also right.
func chunkAt(log []byte, at int, number uint32) (end int, own, whole bool) {
	block := min(len(log), (at/logBlock+1)*logBlock)
	if at+chunkNumber > block {
		return 0, false, false
	}
	header := chunkNumber
	switch kind := log[at+6]; {
	case kind > 8 && kind <= maxChunkType:
		header = chunkSynced
	case kind < 5 || kind > maxChunkType:
		return 0, false, false
	}
	end = at + header + int(binary.LittleEndian.Uint16(log[at+4:]))
	if end > block || binary.LittleEndian.Uint32(log[at+7:]) != number {
		return 0, false, false
	}
	sum := crc32.Checksum(log[at+6:end], castagnoli)
	return end, true, (sum>>15|sum<<17)+0xa282ead8 == binary.LittleEndian.Uint32(log[at:])
}

// checkLog compares the checksums of the chunks of the write-ahead log with the given number. It returns an error if a
// chunk is damaged even though the log continues after it.
func checkLog(files vfs.FS, path string, number uint32) error {
	file, err := files.Open(path)
	if err != nil {
		return err
	}
	log, err := io.ReadAll(file)
	if err := errors.Join(err, file.Close()); err != nil {
		return err
	}
	at := 0
	for at < len(log) {
		if end, _, whole := chunkAt(log, at, number); whole {
			at = end
			continue
		}
		next := min(len(log), (at/logBlock+1)*logBlock)
		if next-at >= chunkSynced || !zero(log[at:next]) {
			break
		}
		at = next // the rest of the block is too small for a chunk
	}
	if _, own, _ := chunkAt(log, at, number); own {
		return fmt.Errorf("the chunk at byte %d has a wrong checksum", at)
	}
	for later := at + 1; later < len(log); later++ {
		if _, _, whole := chunkAt(log, later, number); whole {
			return fmt.Errorf("there is no chunk at byte %d, but there is one at byte %d", at, later)
		}
	}
	return nil
}

func zero(b []byte) bool {
	return !slices.ContainsFunc(b, func(x byte) bool { return x != 0 })
}
