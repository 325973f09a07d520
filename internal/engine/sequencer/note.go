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

// carefulBlocks is the number of contract-running blocks in which each transaction is noted after the process ended
// while contracts ran.
const carefulBlocks = 64

// The words of a note.
const (
	atRest   = "rest"
	building = "building" // the block's contracts are running
	trying   = "trying"   // running a transaction that may run a contract
)

// Note is a small file that survives the process, though not a crash of the machine. It records whether contracts were
// running when the process ended and, if the process had ended that way before, for which transaction. Without it, a
// transaction that kills the process would be the first one that a new process tries. With it, such a transaction is
// tried twice at most.
//
// A nil Note records nothing. A Note is not safe for concurrent use.
type Note struct {
	file    *os.File
	log     *slog.Logger
	says    string
	careful int // remaining contract-running blocks in which each transaction is noted
	blamed  *types.TxID
}

// OpenNote opens the file, or creates it. It ignores and truncates a damaged file.
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
		log.Warn("ignoring the corrupt record of the last attempted transaction", "file", path)
		if err := file.Truncate(0); err != nil {
			return nil, errors.Join(err, file.Close())
		}
	case says == trying:
		n.blamed = &id
		log.Error("crash loop: the process crashed twice while running contracts; dropped the transaction of the "+
			"last crash",
			"transaction", id)
		fallthrough
	case says == building:
		n.careful = carefulBlocks
	}
	return n, nil
}

// noteSize is the size of the file: the longest word, the ID, a CRC-32 of both, separated by spaces, and a newline.
const noteSize = len(building) + 1 + 66 + 1 + 8 + 1

func encodeNote(says string, id types.TxID) []byte {
	note := fmt.Appendf(nil, "%-*s %s", len(building), says, id)
	return fmt.Appendf(note, " %08x\n", crc32.ChecksumIEEE(note))
}

// decodeNote returns false for content that encodeNote does not produce.
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

// suspect returns the transaction during which the process ended twice. It returns it only once.
func (n *Note) suspect() (id types.TxID, there bool) {
	if n == nil || n.blamed == nil {
		return id, false
	}
	id, n.blamed = *n.blamed, nil
	n.write(building, types.TxID{}) // the transaction is not to blame for the next exit
	return id, true
}

// try notes that a transaction which may run a contract is about to be tried.
func (n *Note) try(tx *types.VerifiedTx) {
	switch {
	case n == nil:
	case n.careful > 0:
		n.write(trying, tx.ID())
	case n.says != building:
		n.write(building, types.TxID{})
	}
}

// rest notes that no contract is running.
func (n *Note) rest() {
	if n == nil || n.says == "" || n.says == atRest {
		return
	}
	n.careful = max(0, n.careful-1)
	n.write(atRest, types.TxID{})
}

// write writes the note without a sync, since the end of a process loses no writes. It only logs errors: a full disk is
// no reason to stop.
func (n *Note) write(says string, id types.TxID) {
	if _, err := n.file.WriteAt(encodeNote(says, id), 0); err != nil {
		n.log.Warn("cannot record the attempted transactions", "error", err)
	}
	n.says = says
}

// Close notes that no contract is running and closes the file.
func (n *Note) Close() error {
	if n == nil {
		return nil
	}
	n.rest()
	return n.file.Close()
}
