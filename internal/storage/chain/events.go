package chain

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
	"sort"

	"github.com/cairn-chain/cairn/internal/storage/kv"
	"github.com/cairn-chain/cairn/types"
)

// Events are found under names of several kinds. A row holds where a block's events of one name are, ascending, so that
// events with several names are found by walking along the rows of each together.

// eventKind is a kind of names.
type eventKind byte

const (
	anyEvent       eventKind = iota // the zero name: every event
	eventOfID                       // the contract that emitted it
	eventOfName                     // SHA-256 of its name
	eventOfIDName                   // SHA-256 of the contract and the SHA-256 of its name
	eventOfTopic                    // its first own topic; the further ones follow
	eventKinds     = eventOfTopic + types.MaxLogTopics
	eventPlaceSize = 4 + 4 + 2
)

// eventPlace is where in its block an event is.
type eventPlace struct {
	transaction uint32
	index       uint32 // within the block
	log         uint16 // within the transaction
}

func (p eventPlace) appendTo(row []byte) []byte {
	row = binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(row, p.transaction), p.index)
	return binary.BigEndian.AppendUint16(row, p.log)
}

// FirstLog returns the index, within its block, of the first log of the transaction at a position, which has logs. It
// looks it up in the row of all the block's events, and decodes no other receipt. Its errors are those of
// [Store.Transaction].
func (s *Store) FirstLog(p Position) (uint32, error) {
	return ofBlock(s, p.Height, func(r kv.Reader) (first uint32, err error) {
		key := appendEventRow(nil, anyEvent, &noName, p.Height)
		it, err := r.NewIter(key, append(key, 0))
		if err != nil {
			return 0, err
		}
		var row []byte // not copied: that of a full block has a megabyte
		if it.First() {
			row = it.Value()
		}
		count := len(row) / eventPlaceSize
		transaction := func(i int) uint32 { return binary.BigEndian.Uint32(row[eventPlaceSize*i:]) }
		if i := sort.Search(count, func(i int) bool { return transaction(i) >= p.Index }); i < count && transaction(i) == p.Index {
			first = binary.BigEndian.Uint32(row[eventPlaceSize*i+4:])
		} else {
			err = fmt.Errorf("%w: the events of block %d, transaction %d are in no row", ErrCorrupt, p.Height, p.Index)
		}
		if closeErr := it.Close(); closeErr != nil { // what was read is not what is stored
			return 0, closeErr
		}
		return first, err
	})
}

func decodeEventPlaces(row []byte) ([]eventPlace, error) {
	if len(row) == 0 || len(row)%eventPlaceSize != 0 {
		return nil, fmt.Errorf("%w: an events' row of %d bytes", ErrCorrupt, len(row))
	}
	places := make([]eventPlace, len(row)/eventPlaceSize)
	for i := range places {
		r := row[eventPlaceSize*i:]
		places[i] = eventPlace{binary.BigEndian.Uint32(r), binary.BigEndian.Uint32(r[4:]), binary.BigEndian.Uint16(r[8:])}
		if i > 0 && places[i].index <= places[i-1].index {
			return nil, fmt.Errorf("%w: an events' row does not ascend", ErrCorrupt)
		}
	}
	return places, nil
}

// eventPrefix begins the rows of a name.
func eventPrefix(kind eventKind, name *[32]byte) []byte {
	return append([]byte{byte(tableEvents), byte(kind)}, name[:]...)
}

func appendEventRow(dst []byte, kind eventKind, name *[32]byte, h types.Height) []byte {
	dst = append(append(dst, byte(tableEvents), byte(kind)), name[:]...)
	return binary.BigEndian.AppendUint64(dst, uint64(h))
}

// eventIDName is the name of the events of a contract that have a name with this hash.
func eventIDName(contract types.ContractID, nameHash [32]byte) [32]byte {
	return sha256.Sum256(append(contract[:], nameHash[:]...))
}

// eventNames hashes each name of a block's events once.
type eventNames struct {
	ofName   map[string]*[32]byte
	ofIDName map[contractEvent]*[32]byte
}

type contractEvent struct {
	contract types.ContractID
	name     string
}

var noName [32]byte

// of is an event's name of a kind, nil where it has none.
func (n eventNames) of(kind eventKind, log *types.Log) *[32]byte {
	switch kind {
	case anyEvent:
		return &noName
	case eventOfID:
		return (*[32]byte)(&log.Contract)
	case eventOfName:
		hash := n.ofName[log.Name]
		if hash == nil {
			sum := sha256.Sum256([]byte(log.Name))
			hash = &sum
			n.ofName[log.Name] = hash
		}
		return hash
	case eventOfIDName:
		both := contractEvent{log.Contract, log.Name}
		name := n.ofIDName[both]
		if name == nil {
			sum := eventIDName(log.Contract, *n.of(eventOfName, log))
			name = &sum
			n.ofIDName[both] = name
		}
		return name
	default:
		if topic := int(kind - eventOfTopic); topic < len(log.Topics) {
			return &log.Topics[topic]
		}
		return nil
	}
}

// events gives the rows that find the block's events, ascending.
func (b indexed) events(put func(key, value []byte) error) error {
	var logs []*types.Log
	var places []eventPlace
	for i := range b.receipts {
		for j := range b.receipts[i].Logs {
			places = append(places, eventPlace{uint32(i), uint32(len(places)), uint16(j)})
			logs = append(logs, &b.receipts[i].Logs[j])
		}
	}
	if len(logs) == 0 {
		return nil
	}
	names := eventNames{make(map[string]*[32]byte), make(map[contractEvent]*[32]byte)}
	named := make([]concern, 0, len(logs))
	var key, row []byte
	for kind := range eventKinds {
		named = named[:0]
		for i, log := range logs {
			if name := names.of(kind, log); name != nil {
				named = append(named, newConcern(name, uint32(i)))
			}
		}
		named := sorted(named)
		for i, c := range named {
			row = places[c.index].appendTo(row)
			if i+1 < len(named) && *named[i+1].name == *c.name {
				continue
			}
			key = appendEventRow(key[:0], kind, c.name, b.height)
			if err := put(key, row); err != nil {
				return err
			}
			row = row[:0]
		}
	}
	return nil
}

// EventFilter says which events are asked. A nil member asks for nothing.
type EventFilter struct {
	Contract *types.ContractID
	NameHash *[32]byte                     // SHA-256 of the event's name
	Topics   [types.MaxLogTopics]*[32]byte // the event's own
}

// EventRange says where events are looked for.
type EventRange struct {
	From, To *types.Height // both included; nil: the oldest that is kept, the head
	// After leaves out the events up to this one, which is given by its index within the block; [EndOfEvents] is all of
	// the block's.
	After *Position
	// Work bounds what is read, in rows and events; at least a block is got over. 0 is no bound.
	Work int
}

// EndOfEvents is the position after all events of a block.
func EndOfEvents(h types.Height) Position { return Position{h, lastPlace} }

// NextEvent is the first height of which there may be events after the one at a position.
func (p Position) NextEvent() types.Height {
	if p.Index == lastPlace && p.Height < math.MaxUint64 {
		return p.Height + 1
	}
	return p.Height
}

// EventsEnd says how far a list of events came.
type EventsEnd struct {
	Reached  Position // all events up to it that match were given
	Complete bool     // there is nothing more in the range at present
}

// Event is a log of an included transaction.
type Event struct {
	types.Log
	Position               // of its transaction
	Transaction types.TxID // that emitted it
	LogIndex    uint32     // among the block's events
	Block       types.BlockHash
	Timestamp   uint64 // of the block
}

// lists are the prefixes of rows whose common events match the filter.
func (f *EventFilter) lists() (prefixes [][]byte) {
	list := func(kind eventKind, name *[32]byte) { prefixes = append(prefixes, eventPrefix(kind, name)) }
	switch {
	case f.Contract != nil && f.NameHash != nil:
		name := eventIDName(*f.Contract, *f.NameHash)
		list(eventOfIDName, &name)
	case f.Contract != nil:
		list(eventOfID, (*[32]byte)(f.Contract))
	case f.NameHash != nil:
		list(eventOfName, f.NameHash)
	}
	for i, topic := range f.Topics {
		if topic != nil {
			list(eventOfTopic+eventKind(i), topic)
		}
	}
	if len(prefixes) == 0 {
		list(anyEvent, &noName)
	}
	return prefixes
}
