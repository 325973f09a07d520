package chain

import (
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/cairn-chain/cairn/internal/protocol/state"
	"github.com/cairn-chain/cairn/internal/storage/kv"
	"github.com/cairn-chain/cairn/types"
)

// copied is a store's state in parts.
type copied struct {
	entries   []StateEntry
	codes     [][]byte
	contracts []Deployment
	holders   []TokenSum
	block     Entry
}

func copyState(t *testing.T, s *Store) (c copied) {
	t.Helper()
	st, err := s.StateAt(s.Head().Header.Height)
	must(t, err)
	defer func() { must(t, st.Close()) }()
	must(t, st.Entries(func(e StateEntry) error { c.entries = append(c.entries, e); return nil }))
	must(t, st.Codes(func(code []byte) error { c.codes = append(c.codes, append([]byte{}, code...)); return nil }))
	must(t, st.TokenSums(func(h TokenSum) error { c.holders = append(c.holders, h); return nil }))
	c.contracts, err = st.Contracts(Position{}, 1<<20)
	must(t, err)
	c.block, err = st.Entry()
	must(t, err)
	return c
}

// restore puts a copy into a store.
func (c copied) restore(s *Store, chain *toyChain) error {
	r, err := s.Restore()
	if err != nil {
		return err
	}
	for _, e := range c.entries {
		err = errors.Join(err, r.PutState(e))
	}
	for _, code := range c.codes {
		err = errors.Join(err, r.PutCode(code))
	}
	for _, d := range c.contracts {
		err = errors.Join(err, r.PutDeployment(d))
	}
	for _, h := range c.holders {
		err = errors.Join(err, r.PutHolder(h))
	}
	if err != nil {
		return errors.Join(err, r.Discard())
	}
	return r.Finish(chain.genesis, chain.blocks[0].Block.Signed(), c.block)
}

// A store that is filled with a copy of another's state is sound, answers as that one does after pruning all blocks but
// the last, and goes on.
func TestRestore(t *testing.T) {
	s, c := newStore(t, Options{}, 40)
	copy := openStore(t, kv.Memory(), Options{})
	must(t, copyState(t, s).restore(copy, c))
	r := rand.New(rand.NewPCG(3, 4))
	head := c.head().Block.Header.Height
	requireModel(t, copy, c, head, r)
	requireSound(t, copy)
	for range 10 {
		e := c.next(t, r, 8)
		must(t, s.Append(e))
		must(t, copy.Append(e))
	}
	requireModel(t, copy, c, head, r)
	requireSound(t, copy)
	requireModel(t, s, c, 0, r)
}

func TestRestoreRefuses(t *testing.T) {
	s, c := newStore(t, Options{}, 40)
	requireIs(t, "a store with a chain", copyState(t, s).restore(s, c), ErrBadEntry)
	for name, corrupt := range map[string]func(*copied){
		"a code left out":               func(c *copied) { c.codes = c.codes[1:] },
		"a code of no contract":         func(c *copied) { c.codes = append(c.codes, []byte("of none")) },
		"a contract left out":           func(c *copied) { c.contracts = c.contracts[1:] },
		"a contract twice":              func(c *copied) { c.contracts = append(c.contracts, c.contracts[len(c.contracts)-1]) },
		"a contract listed elsewhere":   func(c *copied) { c.contracts[len(c.contracts)-1].Height++ },
		"a holder of nothing":           func(c *copied) { c.holders[0].High, c.holders[0].Low = 0, 0 },
		"a receipt left out":            func(c *copied) { c.block.Receipts = c.block.Receipts[1:] },
		"a value that is not the state": func(c *copied) { c.block.Accesses[0].New = []byte("another") },
		"a contract's record that is none": func(c *copied) {
			for i, e := range c.entries {
				if state.Domain(e.Key[0]) == state.DomainContract {
					c.entries[i].Value = e.Value[1:]
				}
			}
		},
		"a contract's key that is none": func(c *copied) {
			for i, e := range c.entries {
				if state.Domain(e.Key[0]) == state.DomainContract {
					c.entries[i].Key = append(e.Key, 0)
				}
			}
		},
	} {
		bad := copyState(t, s)
		corrupt(&bad)
		fs := kv.Memory()
		into, stop := openUntil(t, fs, Options{})
		requireIs(t, name, bad.restore(into, c), ErrBadEntry)
		if !into.Empty() {
			t.Errorf("%s: there is a chain", name)
		}
		stop()
	}
}

// What is left of a restore that did not end is no store.
func TestRestoreCutOff(t *testing.T) {
	s, _ := newStore(t, Options{}, 40)
	fs := kv.Memory()
	db, err := kv.Open("db", kv.Options{FS: fs})
	must(t, err)
	into, err := Open(db, Options{Schedule: toySchedule})
	must(t, err)
	r, err := into.Restore()
	must(t, err)
	for _, e := range copyState(t, s).entries {
		must(t, r.PutState(e))
	}
	must(t, r.flush())
	must(t, r.Discard())
	must(t, into.Close())
	_, err = Open(db, Options{Schedule: toySchedule})
	requireIs(t, "the rest of a restore", err, ErrCorrupt)
	must(t, db.Close())
}

// A copy is of the head only: there are no leaves of other states.
func TestCopyOfTheHeadOnly(t *testing.T) {
	s, _ := newStore(t, Options{}, 3)
	st, err := s.StateAt(types.Height(2))
	must(t, err)
	requireIs(t, "entries", st.Entries(func(StateEntry) error { return nil }), ErrPruned)
	requireIs(t, "codes", st.Codes(func([]byte) error { return nil }), ErrPruned)
	requireIs(t, "holders", st.TokenSums(func(TokenSum) error { return nil }), ErrPruned)
	must(t, st.Close())
}
