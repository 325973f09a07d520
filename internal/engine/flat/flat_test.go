package flat

import (
	"bytes"
	"encoding/binary"
	"errors"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/cairn-chain/cairn/types"
)

func newTable(tb testing.TB) *Table {
	t, err := New()
	if err != nil {
		tb.Fatal(err)
	}
	return t
}

// lengths are value lengths at the bounds of the size classes, and 0.
var lengths = []int{0, 0, 0, 1, 16, 17, 48, 49, 88, Short, Short + 1}

// TestModel applies random writes to a table and a map: keys appear and disappear, and values change their class.
func TestModel(t *testing.T) {
	table, model := newTable(t), map[string][]byte{}
	r := rand.New(rand.NewPCG(1, 2))
	for round := range 200 {
		writes := map[string][]byte{}
		for range r.IntN(2_000) {
			key := make([]byte, r.IntN(3)*16) // within the first block of the cipher and beyond it
			key = binary.LittleEndian.AppendUint16(key, uint16(r.IntN(1<<11)))
			value := make([]byte, lengths[r.IntN(len(lengths))])
			for i := range value {
				value[i] = byte(r.Uint32())
			}
			writes[string(key)] = value
		}
		var accesses []types.Access
		for key, value := range writes {
			accesses = append(accesses, types.Access{Key: []byte(key), New: value})
			if model[key] = value; len(value) == 0 {
				delete(model, key)
			}
		}
		table.Apply(accesses)
		if table.Len() != len(model) {
			t.Fatalf("round %d: %d keys, want %d", round, table.Len(), len(model))
		}
		for _, key := range slices.AppendSeq(slices.Collect(maps.Keys(model)), maps.Keys(writes)) {
			value, known := table.Get([]byte(key))
			switch want := model[key]; {
			case len(want) > Short:
				if known {
					t.Fatalf("round %d: key %x is known to be %x, and long", round, key, value)
				}
			case !known || !bytes.Equal(value, want) || (value == nil) != (len(want) == 0):
				t.Fatalf("round %d: key %x: %x, known: %t, want %x", round, key, value, known, want)
			}
		}
	}
	var none []types.Access
	for key := range model {
		none = append(none, types.Access{Key: []byte(key)})
	}
	if table.Apply(none); table.Len() != 0 {
		t.Errorf("%d keys are left, want 0", table.Len())
	}
	for i := range table.shards {
		for c := range table.shards[i].entries {
			if e := &table.shards[i].entries[c]; int(e.last) != len(e.released) {
				t.Errorf("shard %d: %d entries of class %d, %d of them released", i, e.last, c, len(e.released))
			}
		}
	}
}

// TestLoad loads the entries of another table, one key twice, and then writes to the table.
func TestLoad(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	var writes []types.Access
	for i := range 20_000 {
		value := make([]byte, 1+r.IntN(Short+1))
		for j := range value {
			value[j] = byte(r.Uint32())
		}
		writes = append(writes, types.Access{Key: binary.LittleEndian.AppendUint32(nil, uint32(i)), New: value})
	}
	left := append(slices.Clone(writes), writes[:2]...)
	table, err := Load(func() (read []types.Access, err error) {
		read, left = left[:min(3000, len(left))], left[min(3000, len(left)):]
		return read, nil
	})
	if err != nil || table.Len() != len(writes) {
		t.Fatalf("%d keys, %v, want %d", table.Len(), err, len(writes))
	}
	for i := range writes {
		if i%2 == 0 {
			writes[i].New = nil
		}
	}
	table.Apply(writes)
	if table.Len() != len(writes)/2 {
		t.Errorf("%d keys are left of %d", table.Len(), len(writes))
	}
	for _, w := range writes {
		value, known := table.Get(w.Key)
		if want := len(w.New) <= Short; known != want || known && !bytes.Equal(value, w.New) {
			t.Fatalf("key %x: %x, known: %t, want %x", w.Key, value, known, w.New)
		}
	}
	failure := errors.New("read")
	if _, err := Load(func() ([]types.Access, error) { return nil, failure }); err != failure {
		t.Errorf("a failed read: error %v, want %v", err, failure)
	}
}

// TestGetCopies changes a result of Get, and then the stored value.
func TestGetCopies(t *testing.T) {
	table, key := newTable(t), []byte("key")
	table.Apply([]types.Access{{Key: key, New: []byte{1}}})
	first, _ := table.Get(key)
	table.Apply([]types.Access{{Key: key, New: []byte{2}}})
	if first[0] != 1 {
		t.Error("a write changed what was read before")
	}
	first[0] = 3
	if second, _ := table.Get(key); second[0] != 2 {
		t.Error("what was read is what is kept")
	}
}

// TestNames checks that names differ for keys with a common beginning or end, and are the same in every table with the
// same random key.
func TestNames(t *testing.T) {
	table, other := newTable(t), newTable(t)
	seen := map[name]int{}
	for _, fill := range []byte{0, 1} {
		for length := 1; length <= 300; length++ {
			key := bytes.Repeat([]byte{fill}, length)
			n := table.names.name(key)
			if at, twice := seen[n]; twice {
				t.Errorf("keys of %d and %d bytes have one name", at, length)
			}
			seen[n] = length
			if again := (&namer{block: table.block}).name(key); again != n {
				t.Errorf("the key of %d bytes has another name again", length)
			}
			if other.names.name(key) == n {
				t.Errorf("the key of %d bytes has the same name in another table", length)
			}
		}
	}
}
