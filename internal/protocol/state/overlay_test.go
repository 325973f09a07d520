package state_test

import (
	"bytes"
	"errors"
	"maps"
	"slices"
	"testing"

	"github.com/cairn-chain/cairn/internal/protocol/state"
	"github.com/cairn-chain/cairn/types"
	"pgregory.net/rapid"
)

// committed is a state as a map. Keys in broken cannot be read.
type committed struct {
	values map[string][]byte
	broken map[string]bool
	reads  int
}

var errBroken = errors.New("the disk is broken")

func (c *committed) Get(key []byte) ([]byte, error) {
	c.reads++
	if c.broken[string(key)] {
		return nil, errBroken
	}
	return c.values[string(key)], nil
}

func set(t *testing.T, o *state.Overlay, key, value string) {
	t.Helper()
	if err := o.Set([]byte(key), []byte(value)); err != nil {
		t.Fatal(err)
	}
}

func expect(t *testing.T, o *state.Overlay, key, want string) {
	t.Helper()
	got, err := o.Get([]byte(key))
	if err != nil || string(got) != want {
		t.Errorf("%s: got %q, %v, want %q", key, got, err, want)
	}
}

func expectAccesses(t *testing.T, o *state.Overlay, want ...types.Access) {
	t.Helper()
	got := o.Accesses()
	equal := slices.EqualFunc(got, want, func(a, b types.Access) bool {
		return bytes.Equal(a.Key, b.Key) && bytes.Equal(a.Old, b.Old) && bytes.Equal(a.New, b.New)
	})
	if !equal {
		t.Errorf("accesses %s, want %s", got, want)
	}
}

func access(key, before, after string) types.Access {
	return types.Access{Key: []byte(key), Old: []byte(before), New: []byte(after)}
}

func TestOverlayReadsAndWrites(t *testing.T) {
	o := state.NewOverlay(&committed{values: map[string][]byte{"a": []byte("1"), "b": []byte("2")}})
	expectAccesses(t, o)
	expect(t, o, "a", "1")
	expect(t, o, "absent", "")
	set(t, o, "b", "3")
	expect(t, o, "b", "3")
	set(t, o, "new", "4")
	set(t, o, "a", "5")
	set(t, o, "a", "6")
	expectAccesses(t, o, access("a", "1", "6"), access("absent", "", ""), access("b", "2", "3"), access("new", "", "4"))
}

// Keys of any length are returned in order, even if one is a prefix of another or continues it with zeros.
func TestOverlayListsInOrder(t *testing.T) {
	o := state.NewOverlay(&committed{})
	var want []string
	for _, begin := range []string{"", "\x00", "same 8 b", "same 8 b" + "and 8 on", "z"} {
		for _, end := range []string{
			"", "\x00", "\x00\x00", "a", "\x00\x00\x00\x00\x00\x00\x00\x00", "b234567890", "b234567891",
		} {
			want = append(want, begin+end)
			expect(t, o, begin+end, "")
		}
	}
	slices.Sort(want)
	want = slices.Compact(want)
	got := []string{}
	for _, a := range o.Accesses() {
		got = append(got, string(a.Key))
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestOverlayDeletes(t *testing.T) {
	o := state.NewOverlay(&committed{values: map[string][]byte{"a": []byte("1"), "b": []byte("2")}})
	for key, nothing := range map[string][]byte{"a": nil, "b": {}} {
		if err := o.Set([]byte(key), nothing); err != nil {
			t.Fatal(err)
		}
		if got, err := o.Get([]byte(key)); got != nil || err != nil {
			t.Errorf("a deleted key has %v, error %v", got, err)
		}
	}
	expectAccesses(t, o, access("a", "1", ""), access("b", "2", ""))
}

// A write that is undone, or that changes nothing, is an access but not a write.
func TestOverlayListsWhatWasUndone(t *testing.T) {
	o := state.NewOverlay(&committed{values: map[string][]byte{"a": []byte("1")}})
	checkpoint := o.Checkpoint()
	set(t, o, "a", "2")
	set(t, o, "new", "3")
	o.Rollback(checkpoint)
	set(t, o, "same", "")
	expectAccesses(t, o, access("a", "1", "1"), access("new", "", ""), access("same", "", ""))
	if writes := types.Writes(o.Accesses()); len(writes) != 0 {
		t.Errorf("writes %s", writes)
	}
}

func TestOverlayPeekIsNotListed(t *testing.T) {
	parent := &committed{values: map[string][]byte{"a": []byte("1"), "b": []byte("2")}}
	o := state.NewOverlay(parent)
	for _, key := range []string{"a", "b", "absent"} {
		if got, err := o.Peek([]byte(key)); err != nil || !bytes.Equal(got, parent.values[key]) {
			t.Errorf("%s: got %q, want %q, %v", key, got, parent.values[key], err)
		}
	}
	expectAccesses(t, o)
	expect(t, o, "b", "2")
	set(t, o, "a", "3")
	expectAccesses(t, o, access("a", "1", "3"), access("b", "2", "2"))
	if got, err := o.Peek([]byte("a")); err != nil || string(got) != "3" {
		t.Errorf("a peek after a write gives %q, want 3, error %v", got, err)
	}
	if parent.reads != 3 {
		t.Errorf("3 keys took %d reads, want 3", parent.reads)
	}
}

func TestOverlayNestedCheckpoints(t *testing.T) {
	o := state.NewOverlay(&committed{})
	set(t, o, "k", "0")
	outer := o.Checkpoint()
	set(t, o, "k", "1")
	inner := o.Checkpoint()
	set(t, o, "k", "2")
	set(t, o, "k", "3")
	o.Rollback(inner)
	expect(t, o, "k", "1")
	o.Rollback(inner)
	expect(t, o, "k", "1")
	set(t, o, "k", "4")
	o.Rollback(outer)
	expect(t, o, "k", "0")
}

func TestOverlaySeal(t *testing.T) {
	o := state.NewOverlay(&committed{})
	set(t, o, "k", "1")
	o.Seal()
	checkpoint := o.Checkpoint()
	set(t, o, "k", "2")
	o.Rollback(checkpoint)
	expect(t, o, "k", "1")
}

// Undone accesses count as never made, except those before the last seal.
func TestOverlayUndo(t *testing.T) {
	o := state.NewOverlay(&committed{values: map[string][]byte{"a": []byte("1"), "b": []byte("2")}})
	expect(t, o, "b", "2")
	set(t, o, "k", "1")
	o.Seal()
	set(t, o, "k", "2")
	set(t, o, "new", "3")
	expect(t, o, "a", "1")
	checkpoint := o.Checkpoint()
	set(t, o, "a", "4")
	o.Rollback(checkpoint)
	o.Undo()
	expectAccesses(t, o, access("b", "2", "2"), access("k", "", "1"))
	o.Undo()
	expect(t, o, "a", "1")
	expectAccesses(t, o, access("a", "1", "1"), access("b", "2", "2"), access("k", "", "1"))
}

// A fault of the parent is returned, lists nothing, and is not remembered as absence.
func TestOverlayFault(t *testing.T) {
	parent := &committed{values: map[string][]byte{"a": []byte("1")}, broken: map[string]bool{"a": true}}
	o := state.NewOverlay(parent)
	if _, err := o.Get([]byte("a")); !errors.Is(err, errBroken) {
		t.Errorf("get: error %v, want %v", err, errBroken)
	}
	if _, err := o.Peek([]byte("a")); !errors.Is(err, errBroken) {
		t.Errorf("peek: error %v, want %v", err, errBroken)
	}
	if err := o.Set([]byte("a"), []byte("2")); !errors.Is(err, errBroken) {
		t.Errorf("set: error %v, want %v", err, errBroken)
	}
	if _, err := o.Account(types.Account{}); err != nil {
		t.Errorf("another key: error %v", err)
	}
	parent.broken = map[string]bool{string(state.AccountKey(types.Account{1})): true}
	if _, err := o.Account(types.Account{1}); !errors.Is(err, errBroken) {
		t.Errorf("account: error %v, want %v", err, errBroken)
	}
	expect(t, o, "a", "1")
}

func TestOverlayAccounts(t *testing.T) {
	rich := types.Account{1}
	key := string(state.AccountKey(rich))
	record := state.Account{Balance: 5, Nonce: 2}
	o := state.NewOverlay(&committed{values: map[string][]byte{key: record.Encode(rich)}})
	if got, err := o.Account(rich); err != nil || got != record {
		t.Errorf("got %+v, want %+v, %v", got, record, err)
	}
	if got, err := o.Account(types.Account{2}); err != nil || got != (state.Account{}) {
		t.Errorf("an absent account is %+v, error %v", got, err)
	}
	if err := o.SetAccount(rich, state.Account{}); err != nil {
		t.Fatal(err)
	}
	expect(t, o, key, "")
	set(t, o, key, "not a record")
	if _, err := o.Account(rich); err == nil {
		t.Error("a corrupted record is read")
	}
}

// model is a naive overlay: it copies the whole state at each checkpoint.
type model struct {
	committed, now map[string]string
	listed         map[string]bool
	checkpoints    []map[string]string
	sealedNow      map[string]string
	sealedListed   map[string]bool
}

func (m *model) seal() { m.sealedNow, m.sealedListed = maps.Clone(m.now), maps.Clone(m.listed) }

// The overlay behaves like the model, whatever the order of operations.
func TestOverlayAgainstModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		keys := rapid.StringMatching(`[ab]{0,2}`)
		values := rapid.StringMatching(`[xy]{0,2}`)
		start := rapid.MapOfN(keys, rapid.StringMatching(`[xy]{1,2}`), 0, 4).Draw(t, "committed")
		parent := &committed{values: map[string][]byte{}}
		for key, value := range start {
			parent.values[key] = []byte(value)
		}
		o := state.NewOverlay(parent)
		m := &model{committed: start, now: maps.Clone(start), listed: map[string]bool{}}
		m.seal()
		var checkpoints []int
		read := func(get func([]byte) ([]byte, error)) (key string) {
			key = keys.Draw(t, "key")
			got, err := get([]byte(key))
			if err != nil || string(got) != m.now[key] || (got == nil) != (m.now[key] == "") {
				t.Fatalf("%q: got %q, %v, want %q", key, got, err, m.now[key])
			}
			return key
		}
		t.Repeat(map[string]func(*rapid.T){
			"get":  func(*rapid.T) { m.listed[read(o.Get)] = true },
			"peek": func(*rapid.T) { read(o.Peek) },
			"set": func(t *rapid.T) {
				key, value := keys.Draw(t, "key"), values.Draw(t, "value")
				if err := o.Set([]byte(key), []byte(value)); err != nil {
					t.Fatal(err)
				}
				m.now[key], m.listed[key] = value, true
			},
			"checkpoint": func(*rapid.T) {
				checkpoints = append(checkpoints, o.Checkpoint())
				m.checkpoints = append(m.checkpoints, maps.Clone(m.now))
			},
			"rollback": func(t *rapid.T) {
				if len(checkpoints) == 0 {
					return
				}
				i := rapid.IntRange(0, len(checkpoints)-1).Draw(t, "checkpoint")
				o.Rollback(checkpoints[i])
				m.now = maps.Clone(m.checkpoints[i])
				checkpoints, m.checkpoints = checkpoints[:i+1], m.checkpoints[:i+1]
			},
			"seal": func(*rapid.T) {
				o.Seal()
				m.seal()
				checkpoints, m.checkpoints = nil, nil
			},
			"undo": func(*rapid.T) {
				o.Undo()
				m.now, m.listed = maps.Clone(m.sealedNow), maps.Clone(m.sealedListed)
				checkpoints, m.checkpoints = nil, nil
			},
			"": func(t *rapid.T) {
				accesses := o.Accesses()
				listed := slices.Sorted(maps.Keys(m.listed))
				if len(accesses) != len(listed) {
					t.Fatalf("%d accesses, want %d", len(accesses), len(listed))
				}
				for i, key := range listed {
					a := accesses[i]
					if string(a.Key) != key || string(a.Old) != m.committed[key] || string(a.New) != m.now[key] {
						t.Fatalf("access %d is %s, want %q from %q to %q", i, a, key, m.committed[key], m.now[key])
					}
				}
			},
		})
	})
}
