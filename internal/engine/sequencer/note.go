package sequencer

import (
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"log/slog"
	"os"

	"github.com/cairn-chain/cairn/types"
)

// carefulBlocks is for how many blocks with contracts each transaction is noted, after the process ended in one.
const carefulBlocks = 64

// What a note says.
const (
	atRest   = "rest"
	building = "building" // contracts run
	trying   = "trying"   // a transaction that runs a contract
)

// Note is a small file that outlives the process, though not the machine. It says whether contracts were being run when
// the process ended. If it had ended so before, the note says for which transaction. One that ends the process, in
// whatever way, would be the first that a new process tries: it is tried twice and not again.
//
// A nil Note notes nothing. Otherwise it is for one goroutine.
type Note struct {
	file    *os.File
	log     *slog.Logger
	says    string
	careful int // blocks with contracts for which each transaction is noted
	blamed  *types.TxID
}

// OpenNote opens the file, which is made where there is none. One that says nothing sensible is as none.
func OpenNote(path string, log *slog.Logger) (*Note, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	content, err := io.ReadAll(io.LimitReader(file, int64(noteSize)+1))
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	says, id, ok := decodeNote(content)
	n := &Note{file: file, log: log, says: says}
	switch {
	case !ok && len(content) > 0:
		log.Warn("the note of what was tried last is damaged and counts for nothing", "file", path)
		if err := file.Truncate(0); err != nil {
			return nil, errors.Join(err, file.Close())
		}
	case says == trying:
		n.blamed = &id
		log.Error("the process has ended twice while contracts ran, the last time in a transaction, which is dropped",
			"transaction", id)
		fallthrough
	case says == building:
		n.careful = carefulBlocks
	}
	return n, nil
}

// noteSize is the size of the file: the longest word, the ID, a CRC-32 of both and a line's end, with spaces between.
const noteSize = len(building) + 1 + 66 + 1 + 8 + 1

func encodeNote(says string, id types.TxID) []byte {
	note := fmt.Appendf(nil, "%-*s %s", len(building), says, id)
	return fmt.Appendf(note, " %08x\n", crc32.ChecksumIEEE(note))
}

// decodeNote returns false for what encodeNote does not give.
func decodeNote(content []byte) (says string, id types.TxID, ok bool) {
	if len(content) != noteSize {
		return "", id, false
	}
	if err := id.UnmarshalText(content[len(building)+1 : len(building)+1+66]); err != nil {
		return "", id, false
	}
	for _, says := range []string{atRest, building, trying} {
		if string(encodeNote(says, id)) == string(content) {
			return says, id, true
		}
	}
	return "", id, false
}

// suspect is the transaction in which the process ended twice. It is told once.
func (n *Note) suspect() (id types.TxID, there bool) {
	if n == nil || n.blamed == nil {
		return id, false
	}
	id, n.blamed = *n.blamed, nil
	n.write(building, types.TxID{}) // the next end is not its fault
	return id, true
}

// try notes that a transaction is tried which runs a contract.
func (n *Note) try(tx *types.VerifiedTx) {
	switch {
	case n == nil:
	case n.careful > 0:
		n.write(trying, tx.ID())
	case n.says != building:
		n.write(building, types.TxID{})
	}
}

// rest notes that nothing is tried any more.
func (n *Note) rest() {
	if n == nil || n.says == "" || n.says == atRest {
		return
	}
	n.careful = max(0, n.careful-1)
	n.write(atRest, types.TxID{})
}

// write writes the note, without a sync: the end of a process loses nothing. A disk that is full is no reason to stop.
func (n *Note) write(says string, id types.TxID) {
	if _, err := n.file.WriteAt(encodeNote(says, id), 0); err != nil {
		n.log.Warn("what is being tried cannot be noted", "error", err)
	}
	n.says = says
}

// Close closes the file, which says that nothing is tried.
func (n *Note) Close() error {
	if n == nil {
		return nil
	}
	n.rest()
	return n.file.Close()
}
