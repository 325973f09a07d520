package sender

import (
	"slices"
	"sync"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/types"
)

// EntryType is what an [Entry] tells.
type EntryType string

// The types of entries. Of one ID the last entries count.
const (
	Signed  EntryType = "signed"  // a job begins: it is at a nonce, and is about to be sent
	Version EntryType = "version" // a replacement at the same nonce is about to be sent
	Cancel  EntryType = "cancel"  // a transfer of nothing to oneself at the same nonce is about to be sent
	Refused EntryType = "refused" // the job's bytes are with nobody
	Done    EntryType = "done"    // a block has it
)

// Entry is what the journal of a sender remembers.
type Entry struct {
	Type   EntryType    `json:"type"`
	ID     string       `json:"id"`
	Digest types.Digest `json:"digest,omitzero"` // of signed and done: SHA-256 of the payload, or of a sweep's recipient
	Nonce  string       `json:"nonce,omitempty"` // of signed, version and cancel, decimal
	Raw    api.Data     `json:"raw,omitempty"`   // of signed, version and cancel: the transaction
	Hash   types.TxID   `json:"hash,omitzero"`   // of all but refused: the transaction's
	Reason string       `json:"reason,omitempty"`
	Height types.Height `json:"height,omitempty"` // of done: the block's
	Status *uint8       `json:"status,omitempty"` // of done: 1 success, 0 failed
}

// Scope is what a journal belongs to: one account of one chain.
type Scope struct {
	Genesis types.BlockHash `json:"genesis"`
	Account types.Account   `json:"account"`
}

// Journal keeps what a sender must not forget. One sender at a time uses it, from one goroutine.
type Journal interface {
	// Open gives the entries of the scope in their order, and keeps others out until Close.
	Open(Scope) ([]Entry, error)
	// Append adds entries, all or none. They are as durable as the journal can make them when it returns.
	Append([]Entry) error
	// Replace puts entries in the place of all that there are, in one step.
	Replace([]Entry) error
	Close() error
}

// Memory is a journal within the process. The zero value is empty and ready to use.
type Memory struct {
	mu      sync.Mutex
	entries []Entry
}

// Open is [Journal].Open.
func (m *Memory) Open(Scope) ([]Entry, error) { return m.Entries(), nil }

// Entries are those that it holds.
func (m *Memory) Entries() []Entry {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.entries)
}

// Append is [Journal].Append.
func (m *Memory) Append(entries []Entry) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.entries = append(m.entries, entries...)
	return nil
}

// Replace is [Journal].Replace.
func (m *Memory) Replace(entries []Entry) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.entries = slices.Clone(entries)
	return nil
}

// Close is [Journal].Close.
func (m *Memory) Close() error { return nil }
