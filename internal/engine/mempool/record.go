package mempool

import (
	"encoding/binary"
	"time"

	"github.com/cairn-chain/cairn/types"
)

// A journal's payload begins with its kind. recordTaken: the time of arrival, in nanoseconds since 1970 as a
// little-endian i64, and the encoded transaction. recordDropped: the ID of a transaction that is not pending any more,
// though no block has it; it may be taken again later. recordThrough: the name of a cluster and, as a little-endian
// u64, the index of an entry of its log: what was decided until then is in the records before.
const (
	recordTaken byte = iota
	recordDropped
	recordThrough
)

// recordPrefix is the length of recordTaken before the transaction.
const recordPrefix = 1 + 8

// record is a decoded payload.
type record struct {
	dropped *types.TxID // of recordDropped
	added   time.Time
	encoded []byte
	through *through // of recordThrough
}

// through is an entry of a cluster's log.
type through struct {
	cluster [16]byte
	index   uint64
}

func appendTaken(b []byte, added time.Time, tx *types.VerifiedTx) []byte {
	b = binary.LittleEndian.AppendUint64(append(b, recordTaken), uint64(added.UnixNano()))
	return append(b, tx.Encoded()...)
}

func encodeDropped(id types.TxID) []byte { return append([]byte{recordDropped}, id[:]...) }

func (t through) encode() []byte {
	return binary.LittleEndian.AppendUint64(append([]byte{recordThrough}, t.cluster[:]...), t.index)
}

// decodeRecord returns false for a payload that is no record.
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
	case kind == recordThrough && len(rest) == 16+8:
		return record{through: &through{[16]byte(rest), binary.LittleEndian.Uint64(rest[16:])}}, true
	}
	return r, false
}
