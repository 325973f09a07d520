package chain

import (
	"crypto/sha256"
	"errors"
	"fmt"
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
	policies  []types.Policy
	contracts []Deployment
	holders   []TokenSum
	block     Entry
	since     map[types.CodeHash]types.Height // of the first contract with a code
}

func copyState(t *testing.T, s *Store) (c copied) {
	t.Helper()
	st, err := s.StateAt(s.Head().Header.Height)
	must(t, err)
	defer func() { must(t, st.Close()) }()
	c.since = make(map[types.CodeHash]types.Height)
	must(t, st.Entries(func(e StateEntry) error {
		c.entries = append(c.entries, e)
		if state.Domain(e.Key[0]) != state.DomainContract {
			return nil
		}
		contract, err := state.DecodeContract(e.Value)
		if first, known := c.since[contract.CodeHash]; !known || contract.Height < first {
			c.since[contract.CodeHash] = contract.Height
		}
		return err
	}))
	must(t, st.Codes(func(code []byte) error { c.codes = append(c.codes, append([]byte{}, code...)); return nil }))
	must(t, st.Policies(func(p types.Policy) error { c.policies = append(c.policies, p); return nil }))
	must(t, st.TokenSums(func(h TokenSum) error { c.holders = append(c.holders, h); return nil }))
	c.contracts, err = st.Contracts(Position{}, 1<<20)
	must(t, err)
	c.block, err = st.Entry()
	must(t, err)
	return c
}

// restore writes a copy into a store.
func (c copied) restore(s *Store, chain *toyChain) error {
	if len(c.codes) != len(c.since) {
		return fmt.Errorf("%d codes, of contracts that have %d", len(c.codes), len(c.since))
	}
	r, err := s.Restore()
	if err != nil {
		return err
	}
	for _, e := range c.entries {
		err = errors.Join(err, r.PutState(e))
	}
	for _, code := range c.codes {
		hash := types.CodeHash(sha256.Sum256(code))
		err = errors.Join(err, r.PutCode(hash, code, c.since[hash]))
	}
	for _, p := range c.policies {
		err = errors.Join(err, r.PutPolicy(p, c.block.Header.Height))
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
	return r.Finish(chain.genesis, chain.blocks[0].Signed(), c.block)
}

// A store that is filled with a copy of another's state is sound, answers like the other one after pruning all blocks
// but the last, and can continue.
func TestRestore(t *testing.T) {
	if testing.Short() {
		t.Skip("slow under the race detector, and has only one goroutine")
	}
	s, c := newStore(t, Options{}, 40)
	report, err := Check(t.Context(), s, nil)
	must(t, err)
	if report.Codes <= uint64(len(copyState(t, s).codes)) {
		t.Error("no contract has another code than before")
	}
	copy := openStore(t, kv.Memory(), Options{})
	must(t, copyState(t, s).restore(copy, c))
	r := rand.New(rand.NewPCG(3, 4))
	head := c.head().Header.Height
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
	bad := copyState(t, s)
	bad.block.Reasons = append(bad.block.Reasons, "")
	into := openStore(t, kv.Memory(), Options{})
	requireIs(t, "lists that do not belong together", bad.restore(into, c), ErrBadEntry)
	if !into.Empty() {
		t.Error("there is a chain")
	}
}

// The remains of an unfinished restore are not a store.
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

// A copy has only the head's state: there are no leaves of other states.
func TestCopyOfTheHeadOnly(t *testing.T) {
	s, _ := newStore(t, Options{}, 3)
	st, err := s.StateAt(types.Height(2))
	must(t, err)
	requireIs(t, "entries", st.Entries(func(StateEntry) error { return nil }), ErrPruned)
	requireIs(t, "policies", st.Policies(func(types.Policy) error { return nil }), ErrPruned)
	requireIs(t, "codes", st.Codes(func([]byte) error { return nil }), ErrPruned)
	requireIs(t, "holders", st.TokenSums(func(TokenSum) error { return nil }), ErrPruned)
	must(t, st.Close())
}
