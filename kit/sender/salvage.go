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

// DamageError is the error for a journal with damaged lines. It matches [ErrBadJournal]. The damage is limited to these
// lines: [File.Salvage] keeps the others.
type DamageError struct {
	Lines []int // numbers of the damaged lines, from 1
	// IDs lists the job IDs that are readable in these lines. Such a job may have been sent: check whether a block has
	// its transaction before sending it again.
	IDs []string
}

// Error implements error.
func (e *DamageError) Error() string {
	named := "no ID can be read there"
	if len(e.IDs) > 0 {
		named = fmt.Sprintf("they name the jobs %q", e.IDs)
	}
	return fmt.Sprintf("%v: lines %s: %s. Check whether the payments of these jobs are in blocks, then set the lines "+
		"aside with File.Salvage",
		ErrBadJournal, strings.Trim(fmt.Sprint(e.Lines), "[]"), named)
}

// Unwrap returns [ErrBadJournal].
func (e *DamageError) Unwrap() error { return ErrBadJournal }

var idMember = regexp.MustCompile(`"id":("(?:[^"\\]|\\.)*")`)

// add records a damaged line.
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
	number  int // from 1
	content []byte
	sound   bool // whether its checksum matches
}

// split splits a journal into its complete lines, and returns their end. It drops a line torn by a crash: one without
// an end, or a last line with zeros for bytes that were not written.
func split(text []byte) (lines []line, end int) {
	for number := 1; end < len(text); number++ {
		raw, _, whole := bytes.Cut(text[end:], []byte("\n"))
		sum, content, _ := bytes.Cut(raw, []byte(" "))
		sound := string(sum) == checksum(content)
		next := end + len(raw) + 1
		if !whole || !sound && next == len(text) && bytes.IndexByte(raw, 0) >= 0 {
			break // torn: its append never returned
		}
		if !sound {
			content = raw
		}
		lines, end = append(lines, line{number, content, sound}), next
	}
	return lines, end
}

// Salvage repairs the journal of a scope, which no sender may have open. It appends the damaged lines to PATH.damaged
// and keeps all others in the journal. It returns the damage, or nil if there is none. Entries that depend on a damaged
// line are dropped, too, and their IDs are included.
func (f *File) Salvage(scope Scope) (damage *DamageError, err error) {
	if f.file != nil {
		return nil, fmt.Errorf("%s: %w", f.path, ErrLocked)
	}
	if err := acquireLock(f.path + ".lock"); err != nil {
		return nil, err
	}
	f.locked = true
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
		return nil, fmt.Errorf("%w: not a journal of this format", ErrBadJournal)
	}
	entries = damage.dropOrphans(entries)
	f.scope = scope
	if err := appendSynced(f.path+".damaged", aside); err != nil {
		return nil, err
	}
	return damage, f.Replace(entries)
}

// dropOrphans drops the versions of jobs whose first entry is lost, and records their IDs.
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

// appendSynced appends to a file, which it creates if necessary, and syncs it.
func appendSynced(path string, content []byte) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(content)
	return errors.Join(err, file.Sync(), file.Close(), syncDirectory(path))
}
