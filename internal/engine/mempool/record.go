package mempool

import (
	"encoding/binary"
	"time"

	"github.com/cairn-chain/cairn/types"
)

// A journal payload begins with its kind:
//
//   - recordTaken: an accepted transaction, as its time of arrival, in nanoseconds since 1970 as a little-endian i64,
//     and its encoding.
//   - recordDropped: the ID of a transaction that is not pending any more although it is in no block. It may be
//     accepted again later.
//   - recordPosition: the name of a cluster's log, and a [Position] in it as two little-endian u64. The records before
//     it yield the transactions that were pending there.
const (
	recordTaken byte = iota
	recordDropped
	recordPosition
)

// recordPrefix is the length of a recordTaken before the transaction.
const recordPrefix = 1 + 8

// record is a decoded payload.
type record struct {
	dropped *types.TxID // for recordDropped
	added   time.Time
	encoded []byte
	at      *logged // for recordPosition
}

// Position is a pool's position in a cluster's log.
type Position struct {
	Index  uint64       // last entry whose transactions it has taken
	Height types.Height // newest block that it was given
}

// logged is a position with the name of its log.
type logged struct {
	cluster [16]byte
	Position
}

func appendTaken(b []byte, added time.Time, tx *types.VerifiedTx) []byte {
	b = binary.LittleEndian.AppendUint64(append(b, recordTaken), uint64(added.UnixNano()))
	return append(b, tx.Encoded()...)
}

func encodeDropped(id types.TxID) []byte { return append([]byte{recordDropped}, id[:]...) }

func (l logged) encode() []byte {
	b := append([]byte{recordPosition}, l.cluster[:]...)
	b = binary.LittleEndian.AppendUint64(b, l.Index)
	return binary.LittleEndian.AppendUint64(b, uint64(l.Height))
}

// decodeRecord reports false for an invalid payload.
func decodeRecord(payload []byte) (r record, ok bool) {
	if len(payload) == 0 {
		return r, false
	}
	switch kind, rest := payload[0], payload[1:]; {
	case kind == recordTaken && len(payload) >= recordPrefix:
		return record{added: time.Unix(0, int64(binary.LittleEndian.Uint64(rest))), encoded: payload[recordPrefix:]}, true
	case kind == recordDropped && len(rest) == len(types.TxID{}):
		id := types.TxID(rest)
		return record{dropped: &id}, true
	case kind == recordPosition && len(rest) == 16+8+8:
		return record{at: &logged{[16]byte(rest), Position{
			Index:  binary.LittleEndian.Uint64(rest[16:]),
			Height: types.Height(binary.LittleEndian.Uint64(rest[24:])),
		}}}, true
	}
	return r, false
}
