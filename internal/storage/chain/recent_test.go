package chain

import (
	"bytes"
	"encoding/binary"
	"hash/maphash"
	"testing"
)

// TestRecentValues keeps more values than there are slots: a value that is found belongs to the requested key and view.
func TestRecentValues(t *testing.T) {
	r := &recentValues{seed: maphash.MakeSeed()}
	key := func(i int) []byte { return binary.BigEndian.AppendUint64([]byte("key"), uint64(i)) }
	value := func(i int) []byte { // every third key has no value
		if i%3 == 0 {
			return nil
		}
		return binary.BigEndian.AppendUint64(nil, uint64(i))
	}
	const count = 3 * recentSlots
	for i := range count {
		r.keep(7, key(i), value(i))
		if got, ok := r.find(7, key(i)); !ok || !bytes.Equal(got, value(i)) {
			t.Fatalf("value %d just kept: got %x, %v", i, got, ok)
		}
	}
	found := 0
	for i := range count {
		if got, ok := r.find(7, key(i)); ok {
			if found++; !bytes.Equal(got, value(i)) {
				t.Fatalf("value %d: got %x", i, got)
			}
		}
		if _, ok := r.find(8, key(i)); ok {
			t.Fatalf("value %d is found in a view that it was not read in", i)
		}
	}
	if found < recentSlots/2 || found > recentSlots {
		t.Errorf("%d of %d values are found in %d slots", found, count, recentSlots)
	}
}

// TestLongValuesAreNotKept bounds the key and the value in a slot.
func TestLongValuesAreNotKept(t *testing.T) {
	r := &recentValues{seed: maphash.MakeSeed()}
	for _, c := range []struct{ key, value int }{{recentBytes, recentBytes}, {recentBytes + 1, 1}, {1, recentBytes + 1}} {
		key := bytes.Repeat([]byte{1}, c.key)
		r.keep(7, key, make([]byte, c.value))
		if _, ok := r.find(7, key); ok != (c.key <= recentBytes && c.value <= recentBytes) {
			t.Errorf("a key of %d bytes with a value of %d is kept: got %v", c.key, c.value, ok)
		}
	}
}
