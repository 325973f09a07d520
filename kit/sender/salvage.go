package sender

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
)

// DamageError is what a journal is refused with of which some lines are not as they were written. It is an
// [ErrBadJournal]. Each costs what it says and no more: [File.Salvage] goes on with the others.
type DamageError struct {
	Lines []int // that are damaged, from 1 on
	// IDs are those that can be read on these lines. A job that is named there may have been sent: whoever does it again
	// looks first whether a block has it.
	IDs []string
}

// Error implements error.
func (e *DamageError) Error() string {
	named := "no ID can be read there"
	if len(e.IDs) > 0 {
		named = fmt.Sprintf("they name the jobs %q", e.IDs)
	}
	return fmt.Sprintf("%v: lines %s: %s. See whether a block has what these jobs pay, and have File.Salvage set the lines aside",
		ErrBadJournal, strings.Trim(fmt.Sprint(e.Lines), "[]"), named)
}

// Unwrap is [ErrBadJournal].
func (e *DamageError) Unwrap() error { return ErrBadJournal }

var idMember = regexp.MustCompile(`"id":("(?:[^"\\]|\\.)*")`)

// add notes a damaged line.
func (e *DamageError) add(l line) {
	e.Lines = append(e.Lines, l.number)
	for _, found := range idMember.FindAllSubmatch(l.content, -1) {
		var id string
		if json.Unmarshal(found[1], &id) == nil && !slices.Contains(e.IDs, id) {
			e.IDs = append(e.IDs, id)
		}
	}
}

// line is a line of a journal.
type line struct {
	number  int // from 1 on
	content []byte
	sound   bool // its checksum is that of its content
}

// split splits a journal into its whole lines, and says where they end. A line that a crash tore is none: it has no end,
// or it is the last and has zeros where its bytes did not come to the disk.
func split(text []byte) (lines []line, end int) {
	for number := 1; end < len(text); number++ {
		raw, _, whole := bytes.Cut(text[end:], []byte("\n"))
		sum, content, _ := bytes.Cut(raw, []byte(" "))
		sound := string(sum) == checksum(content)
		next := end + len(raw) + 1
		if !whole || !sound && next == len(text) && bytes.IndexByte(raw, 0) >= 0 {
			break // torn: nothing was done on its account
		}
		if !sound {
			content = raw
		}
		lines, end = append(lines, line{number, content, sound}), next
	}
	return lines, end
}

// Salvage sets aside what is damaged in the journal of a scope, which no sender has open: these lines go to
// PATH.damaged, behind what is there, and the journal goes on with all others. What it returns says which they were, nil
// if none was. An entry that is of no use without one of them goes, too, and its ID is named.
func (f *File) Salvage(scope Scope) (damage *DamageError, err error) {
	if f.file != nil {
		return nil, fmt.Errorf("%s: %w", f.path, ErrLocked)
	}
	if f.lock, err = acquireLock(f.path + ".lock"); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if f.file, err = os.OpenFile(f.path, os.O_RDWR|os.O_APPEND, 0o600); err != nil {
		return nil, err
	}
	text, err := io.ReadAll(f.file)
	if err != nil {
		return nil, err
	}
	lines, _ := split(text)
	damage = new(DamageError)
	var entries []Entry
	var aside []byte
	for i, l := range lines {
		var some []Entry
		switch {
		case !l.sound:
			damage.add(l)
			aside = append(append(aside, l.content...), '\n')
			continue
		case i == 0:
			err = checkHeader(l.content, scope)
		default:
			err = json.Unmarshal(l.content, &some)
		}
		if err != nil {
			return nil, err
		}
		entries = append(entries, some...)
	}
	switch len(damage.Lines) {
	case 0:
		return nil, nil
	case len(lines):
		return nil, fmt.Errorf("%w: it is no journal of this format", ErrBadJournal)
	}
	entries = damage.dropOrphans(entries)
	f.scope = scope
	if err := appendSynced(f.path+".damaged", aside); err != nil {
		return nil, err
	}
	return damage, f.Replace(entries)
}

// dropOrphans drops the versions of jobs whose beginning is lost, and names them.
func (e *DamageError) dropOrphans(entries []Entry) (kept []Entry) {
	begun := make(map[string]bool)
	for _, entry := range entries {
		switch entry.Type {
		case Signed:
			begun[entry.ID] = true
		case Version, Cancel:
			if !begun[entry.ID] {
				if !slices.Contains(e.IDs, entry.ID) {
					e.IDs = append(e.IDs, entry.ID)
				}
				continue
			}
		}
		kept = append(kept, entry)
	}
	return kept
}

// appendSynced appends to a file, which is made where it is absent.
func appendSynced(path string, content []byte) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(content)
	return errors.Join(err, file.Sync(), file.Close(), syncDirectory(path))
}
