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

// Events are indexed under names of several kinds. A row lists the places of a block's events of one name, ascending,
// so that events with several names are found by walking along the rows of all names together.

// eventKind is a kind of names.
type eventKind byte

const (
	anyEvent       eventKind = iota // the zero name: every event
	eventOfID                       // the contract that emitted it
	eventOfName                     // SHA-256 of its name
	eventOfIDName                   // SHA-256 of the contract and the SHA-256 of its name
	eventOfTopic                    // its first own topic; the kinds of the further topics follow
	eventKinds     = eventOfTopic + types.MaxLogTopics
	eventPlaceSize = 4 + 4 + 2
)

// eventPlace is the place of an event in its block.
type eventPlace struct {
	transaction uint32
	index       uint32 // within the block
	log         uint16 // within the transaction
}

func (p eventPlace) appendTo(row []byte) []byte {
	row = binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(row, p.transaction), p.index)
	return binary.BigEndian.AppendUint16(row, p.log)
}

// FirstLog returns the index, within its block, of the first log of a transaction, which must have logs. It looks it up
// in the row of all the block's events, without decoding other receipts. It returns the errors of [Store.Transaction].
func (s *Store) FirstLog(p Position) (uint32, error) {
	return ofBlock(s, p.Height, func(r kv.Reader) (first uint32, err error) {
		key := appendEventRow(nil, anyEvent, &noName, p.Height)
		it, err := r.NewIter(key, append(key, 0))
		if err != nil {
			return 0, err
		}
		var row []byte // not copied: a full block's row has a megabyte
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
		if closeErr := it.Close(); closeErr != nil { // the values read may differ from the stored ones
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

// eventPrefix returns the key prefix of a name's rows.
func eventPrefix(kind eventKind, name *[32]byte) []byte {
	return append([]byte{byte(tableEvents), byte(kind)}, name[:]...)
}

func appendEventRow(dst []byte, kind eventKind, name *[32]byte, h types.Height) []byte {
	dst = append(append(dst, byte(tableEvents), byte(kind)), name[:]...)
	return binary.BigEndian.AppendUint64(dst, uint64(h))
}

// eventIDName returns the name for the events of a contract with the given hash of an event name.
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

// of returns the name under which the index of a kind lists an event, or nil if that index does not list it.
func (n eventNames) of(kind eventKind, log *types.Log) *[32]byte {
	switch kind {
	case anyEvent:
		return &noName
	case eventOfID:
		return (*[32]byte)(&log.Contract)
	case eventOfName:
		hash := n.ofName[log.Name]
		if hash == nil {
			hash = new(sha256.Sum256([]byte(log.Name)))
			n.ofName[log.Name] = hash
		}
		return hash
	case eventOfIDName:
		both := contractEvent{log.Contract, log.Name}
		name := n.ofIDName[both]
		if name == nil {
			name = new(eventIDName(log.Contract, *n.of(eventOfName, log)))
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

// events calls put for the index rows of the block's events, ascending.
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

// EventFilter selects events. A nil field matches any event.
type EventFilter struct {
	Contract *types.ContractID
	NameHash *[32]byte                     // SHA-256 of the event's name
	Topics   [types.MaxLogTopics]*[32]byte // the event's own topics
}

// EventRange is the range of a search for events.
type EventRange struct {
	From, To *types.Height // inclusive; nil for the oldest stored block and the head
	// After, unless nil, skips the events up to a position, whose index is the event's within its block. [EndOfEvents]
	// skips all events of a block.
	After *Position
	// Work bounds the rows and events that are read; 0 means no bound. At least one block is always processed.
	Work int
}

// EndOfEvents returns the position after all events of a block.
func EndOfEvents(h types.Height) Position { return Position{h, lastPlace} }

// NextEvent returns the first height that may have events after the position.
func (p Position) NextEvent() types.Height {
	if p.Index == lastPlace && p.Height < math.MaxUint64 {
		return p.Height + 1
	}
	return p.Height
}

// EventsEnd says how far a search for events got.
type EventsEnd struct {
	Reached  Position // all matching events up to it were yielded
	Complete bool     // there are currently no more in the range
}

// Event is a log of an included transaction.
type Event struct {
	types.Log
	Position               // position of its transaction
	Transaction types.TxID // transaction that emitted it
	LogIndex    uint32     // index among the block's events
	Block       types.BlockHash
	Timestamp   uint64 // timestamp of the block, in milliseconds
}

// lists returns the prefixes of the rows whose common events match the filter.
func (f *EventFilter) lists() (prefixes [][]byte) {
	list := func(kind eventKind, name *[32]byte) { prefixes = append(prefixes, eventPrefix(kind, name)) }
	switch {
	case f.Contract != nil && f.NameHash != nil:
		list(eventOfIDName, new(eventIDName(*f.Contract, *f.NameHash)))
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
