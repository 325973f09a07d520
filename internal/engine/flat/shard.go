package flat

import "encoding/binary"

// sizes holds the maximum length of a value in each class, in bytes. The classes are: no value, as it is long; an
// account that signs for itself; an account with another authority, or a short value of a contract; any other kept
// value, such as an account whose recovery has begun.
var sizes = [...]int{0, 16, 48, Short}

const classes = len(sizes)

// class returns the class of a nonempty value.
func class(value []byte) uint32 {
	for c := 1; c < classes; c++ {
		if len(value) <= sizes[c] {
			return uint32(c)
		}
	}
	return 0
}

// shard is a hash table with open addressing: a key is in the first slot that was free, starting from its tag's home
// slot.
type shard struct {
	slots   []slot // a power of two in number, at most 7 of 8 in use
	used    int
	entries [classes]slab
}

// slot is the entry of a key: its class, and its number in the class. The zero slot is free.
type slot uint32

const numberBits = 30

func (s *shard) entry(at slot) []byte {
	c := at >> numberBits
	return s.entries[c].at(int(c), uint32(at&(1<<numberBits-1)))
}

// find returns the index of the slot with the tag, or the index at which to insert it.
func (s *shard) find(t *tag) (at uint32, found bool) {
	if len(s.slots) == 0 {
		return 0, false
	}
	mask := uint32(len(s.slots) - 1)
	for at = t.home() & mask; s.slots[at] != 0; at = (at + 1) & mask {
		if *(*tag)(s.entry(s.slots[at])) == *t {
			return at, true
		}
	}
	return at, false
}

// value returns an entry's value. It reports false if the value is long.
func (s *shard) value(at slot) (value []byte, known bool) {
	e := s.entry(at)[len(tag{}):]
	if len(e) == 0 {
		return nil, false
	}
	return e[1 : 1+e[0]], true
}

// set sets the value of the key with the tag; an empty value deletes the key.
func (s *shard) set(t *tag, value []byte) {
	at, found := s.find(t)
	switch {
	case len(value) == 0:
		if found {
			s.remove(at)
		}
		return
	case !found:
		if (s.used+1)*8 > len(s.slots)*7 {
			s.grow()
			at, _ = s.find(t)
		}
		s.used++
		s.slots[at] = s.add(t, value)
	case uint32(s.slots[at]>>numberBits) != class(value):
		s.release(s.slots[at])
		s.slots[at] = s.add(t, value)
	default:
		write(s.entry(s.slots[at]), value)
	}
}

// add creates an entry.
func (s *shard) add(t *tag, value []byte) slot {
	c := class(value)
	at := slot(c<<numberBits | s.entries[c].allocate(int(c)))
	e := s.entry(at)
	copy(e, t[:])
	write(e, value)
	return at
}

// write writes the value of an entry, unless the entry is of class 0.
func write(entry, value []byte) {
	if e := entry[len(tag{}):]; len(e) > 0 {
		e[0] = byte(len(value))
		copy(e[1:], value)
	}
}

func (s *shard) release(at slot) {
	free := &s.entries[at>>numberBits].released
	*free = append(*free, uint32(at&(1<<numberBits-1)))
}

// remove frees a slot, and moves later slots that can only be reached through it.
func (s *shard) remove(at uint32) {
	s.release(s.slots[at])
	s.used--
	mask := uint32(len(s.slots) - 1)
	for next := (at + 1) & mask; s.slots[next] != 0; next = (next + 1) & mask {
		home := (*tag)(s.entry(s.slots[next])).home() & mask
		if (next-home)&mask >= (next-at)&mask {
			s.slots[at] = s.slots[next]
			at = next
		}
	}
	s.slots[at] = 0
}

// index makes the slots of entries that were only added. Entries are read in the order of their places, and keys are
// compared by a part of their tags that is at hand: entry by entry, as by set, nearly every look would wait for memory.
func (s *shard) index() {
	count := 0
	for c := range s.entries {
		count += int(s.entries[c].last)
	}
	size := 8
	for count*8 > size*7 {
		size *= 2
	}
	s.slots = make([]slot, size)
	parts, mask := make([]uint32, size), uint32(size-1)
	for c := range s.entries {
		for number := uint32(1); number <= s.entries[c].last; number++ {
			added := slot(uint32(c)<<numberBits | number)
			t := (*tag)(s.entry(added))
			part, at := binary.LittleEndian.Uint32(t[4:]), t.home()&mask
			for s.slots[at] != 0 && (parts[at] != part || *(*tag)(s.entry(s.slots[at])) != *t) {
				at = (at + 1) & mask
			}
			if s.slots[at] != 0 {
				s.release(added)
				continue
			}
			s.slots[at], parts[at] = added, part
			s.used++
		}
	}
}

// grow doubles the number of slots.
func (s *shard) grow() {
	before := s.slots
	s.slots = make([]slot, max(8, 2*len(before)))
	for _, moved := range before {
		if moved != 0 {
			at, _ := s.find((*tag)(s.entry(moved)))
			s.slots[at] = moved
		}
	}
}

// chunkBytes is the number of bytes of entries allocated at once, a size that the allocator serves without waste.
const chunkBytes = 4 << 10

// entryBytes holds the length of an entry of each class: the tag, then, unless the value is long, its length and bytes.
var entryBytes = func() (bytes [classes]int) {
	for c, size := range sizes {
		bytes[c] = len(tag{}) + size
		if size > 0 {
			bytes[c]++
		}
	}
	return bytes
}()

// slab holds the entries of a class, numbered from 1, in memory that the garbage collector does not scan.
type slab struct {
	chunks   [][]byte
	released []uint32
	last     uint32 // the highest number allocated so far
}

func (s *slab) at(class int, number uint32) []byte {
	size := uint32(entryBytes[class])
	perChunk := chunkBytes / size
	begin := number % perChunk * size
	return s.chunks[number/perChunk][begin : begin+size : begin+size]
}

// allocate returns the number of a new entry with undefined content.
func (s *slab) allocate(class int) uint32 {
	if n := len(s.released); n > 0 {
		number := s.released[n-1]
		s.released = s.released[:n-1]
		return number
	}
	s.last++
	if int(s.last)/(chunkBytes/entryBytes[class]) == len(s.chunks) {
		s.chunks = append(s.chunks, make([]byte, chunkBytes))
	}
	return s.last
}
