package sender

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
)

var (
	// ErrOtherScope is returned for a journal of another account or chain.
	ErrOtherScope = errors.New("the journal belongs to another account or chain")
	// ErrLocked is returned if another sender has the journal open.
	ErrLocked = errors.New("another sender uses the journal")
)

// format identifies the file format in the first line.
const format = "cairn-sender/1"

// File is a journal in a file. Each append writes one line, which starts with its checksum, and syncs the file before
// it returns. The first line has the scope. Open drops an incomplete last line, as its append never returned; any other
// damage is a [DamageError], after which [File.Salvage] can keep the intact lines. A lock file, PATH.lock, excludes
// other processes while this one runs. The TypeScript SDK's FileStore is the same.
type File struct {
	path   string
	scope  Scope
	file   *os.File
	locked bool
}

// NewFile returns the journal at a path. Opening it creates the file if necessary.
func NewFile(path string) *File { return &File{path: path} }

// Open implements [Journal]. It returns [ErrLocked], [ErrBadJournal], [ErrOtherScope] or an error of the file system.
func (f *File) Open(scope Scope) (entries []Entry, err error) {
	if f.file != nil {
		return nil, fmt.Errorf("%s: %w", f.path, ErrLocked)
	}
	if err := acquireLock(f.path + ".lock"); err != nil {
		return nil, err
	}
	f.locked = true
	defer func() {
		if err != nil {
			err = errors.Join(err, f.Close())
		}
	}()
	f.scope = scope
	if f.file, err = os.OpenFile(f.path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600); err != nil {
		return nil, err
	}
	text, err := io.ReadAll(f.file)
	if err != nil {
		return nil, err
	}
	entries, end, err := parse(text, scope)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.path, err)
	}
	if err := f.file.Truncate(int64(end)); err != nil || end > 0 {
		return entries, err
	}
	if err := writeLine(f.file, header{format, scope}); err != nil {
		return nil, err
	}
	return entries, errors.Join(f.file.Sync(), syncDirectory(f.path))
}

// Append implements [Journal].
func (f *File) Append(entries []Entry) error {
	if f.file == nil {
		return fmt.Errorf("%s: %w", f.path, fs.ErrClosed)
	}
	if err := writeLine(f.file, entries); err != nil {
		return err
	}
	return f.file.Sync()
}

// Replace implements [Journal]. A new file replaces the old one.
func (f *File) Replace(entries []Entry) (err error) {
	if f.file == nil {
		return fmt.Errorf("%s: %w", f.path, fs.ErrClosed)
	}
	name := f.path + ".new"
	fresh, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	err = writeLine(fresh, header{format, f.scope})
	for i := 0; err == nil && i < len(entries); i += maxBatch {
		err = writeLine(fresh, entries[i:min(i+maxBatch, len(entries))])
	}
	if err == nil {
		err = fresh.Sync()
	}
	// Some systems cannot rename an open file.
	err = errors.Join(err, fresh.Close())
	if err != nil {
		return err
	}
	old := f.file
	f.file = nil
	if err := errors.Join(old.Close(), os.Rename(name, f.path), syncDirectory(f.path)); err != nil {
		return err
	}
	f.file, err = os.OpenFile(f.path, os.O_RDWR|os.O_APPEND, 0o600)
	return err
}

// Close implements [Journal].
func (f *File) Close() (err error) {
	if f.file != nil {
		err = f.file.Close()
	}
	if f.locked {
		err = errors.Join(err, os.Remove(f.path+".lock"))
	}
	f.file, f.locked = nil, false
	return err
}

// header is the content of the first line.
type header struct {
	Journal string `json:"journal"`
	Scope
}

// checksumDigits is the length of a line's checksum, which a space follows: the first 8 bytes of the content's SHA-256
// in hex.
const checksumDigits = 16

func checksum(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:checksumDigits/2])
}

func writeLine(to io.Writer, value any) error {
	text, err := json.Marshal(value)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(to, "%s %s\n", checksum(text), text)
	return err
}

// parse parses a journal, and returns the end of its last complete line. If lines are damaged, it returns a
// [DamageError] that lists all of them.
func parse(text []byte, scope Scope) (entries []Entry, end int, err error) {
	lines, end := split(text)
	var damage DamageError
	for i, l := range lines {
		var some []Entry
		switch {
		case !l.sound:
			damage.add(l)
			continue
		case i == 0:
			err = checkHeader(l.content, scope)
		default:
			if err = json.Unmarshal(l.content, &some); err != nil {
				err = fmt.Errorf("%w: line %d: %w", ErrBadJournal, l.number, err)
			}
		}
		if err != nil {
			return nil, 0, err
		}
		entries = append(entries, some...)
	}
	if len(damage.Lines) > 0 {
		return nil, 0, &damage
	}
	return entries, end, nil
}

func checkHeader(line []byte, scope Scope) error {
	var h header
	if err := json.Unmarshal(line, &h); err != nil || h.Journal != format {
		return fmt.Errorf("%w: not a journal of this format", ErrBadJournal)
	}
	if h.Scope != scope {
		return fmt.Errorf("%w: account %s of the chain %s", ErrOtherScope, h.Account, h.Genesis)
	}
	return nil
}

// syncDirectory makes the creation or renaming of a file durable.
func syncDirectory(path string) error {
	if runtime.GOOS == "windows" {
		return nil // directories cannot be synced
	}
	directory, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	return errors.Join(directory.Sync(), directory.Close())
}
