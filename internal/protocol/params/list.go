package params

import (
	"math"

	"github.com/cairn-chain/cairn/types"
)

// What a valid block's access list holds is paid for, each key at least with StorageRead. Each byte of a value that is
// looked up, which the list has twice if it stays, is paid with StorageReadValueByte or StorageOldByte
// (docs/protocol.md, Access list).
const (
	unpaidAccesses = 8       // parameters, supply, fee recipient, and reserve
	unpaidBytes    = 4 << 10 // theirs
	gasPerByte     = 8       // 16 for a byte that stands twice; all else is dearer
)

// MostAccesses is how many entries the access list of a block that used so much gas has at most.
func MostAccesses(gasUsed types.Gas) int {
	return unpaidAccesses + int(min(gasUsed/Schedule1.StorageRead, math.MaxInt32))
}

// MostListBytes is how many bytes that list takes at most, encoded.
func MostListBytes(gasUsed types.Gas) int {
	return unpaidBytes + int(min(gasUsed/gasPerByte, math.MaxInt32))
}
