package sender

import (
	"slices"
	"sync"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/types"
)

// EntryType is the type of an [Entry].
type EntryType string

// The types of entries. Later entries for an ID supersede earlier ones.
const (
	Signed  EntryType = "signed"  // a job got a nonce and is about to be sent
	Version EntryType = "version" // a replacement at the same nonce is about to be sent
	Cancel  EntryType = "cancel"  // a zero transfer to oneself at the same nonce is about to be sent
	Refused EntryType = "refused" // no node has the job's bytes
	Done    EntryType = "done"    // a block has it
)

// Entry is a record in a sender's journal.
type Entry struct {
	Type   EntryType    `json:"type"`
	ID     string       `json:"id"`
	Digest types.Digest `json:"digest,omitzero"` // signed and done: SHA-256 of the action, or of a sweep's recipient
	Nonce  string       `json:"nonce,omitempty"` // signed, version and cancel; decimal
	Raw    api.Data     `json:"raw,omitempty"`   // signed, version and cancel: encoded transaction
	Hash   types.TxID   `json:"hash,omitzero"`   // all but refused: transaction hash
	Reason string       `json:"reason,omitempty"`
	Height types.Height `json:"height,omitempty"` // done: block height
	Status *uint8       `json:"status,omitempty"` // done: 1 success, 0 failed
}

// Scope identifies the account and chain of a journal.
type Scope struct {
	Genesis types.BlockHash `json:"genesis"`
	Account types.Account   `json:"account"`
}

// Journal is durable storage for a sender's state. Only one sender uses it at a time, from a single goroutine.
type Journal interface {
	// Open returns the entries of the scope in order, and locks the journal until Close.
	Open(Scope) ([]Entry, error)
	// Append adds all entries or none. When it returns, they are as durable as the journal can make them.
	Append([]Entry) error
	// Replace atomically replaces all entries.
	Replace([]Entry) error
	Close() error
}

// Memory is a journal in memory. The zero value is empty and ready to use.
type Memory struct {
	mu      sync.Mutex
	entries []Entry
}

// Open implements [Journal].
func (m *Memory) Open(Scope) ([]Entry, error) { return m.Entries(), nil }

// Entries returns the current entries.
func (m *Memory) Entries() []Entry {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.entries)
}

// Append implements [Journal].
func (m *Memory) Append(entries []Entry) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.entries = append(m.entries, entries...)
	return nil
}

// Replace implements [Journal].
func (m *Memory) Replace(entries []Entry) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.entries = slices.Clone(entries)
	return nil
}

// Close implements [Journal].
func (m *Memory) Close() error { return nil }
