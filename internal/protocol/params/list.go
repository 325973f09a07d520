package params

import (
	"math"

	"github.com/cairn-chain/cairn/types"
)

// Bounds on the access list of a valid block. Everything in the list is paid for: each key with at least StorageRead,
// and each byte of a value that is looked up, which is in the list twice if it stays, with StorageReadValueByte or
// StorageOldByte (docs/protocol.md, Access list).
const (
	unpaidAccesses = 8       // parameters, supply, fee recipient, and reserve
	unpaidBytes    = 4 << 10 // bytes of the unpaid accesses
	gasPerByte     = 8       // 16 for a byte that is listed twice; everything else costs more
)

// MostAccesses returns the maximum number of entries in the access list of a block that used gasUsed.
func MostAccesses(gasUsed types.Gas) int {
	return unpaidAccesses + int(min(gasUsed/Prices.StorageRead, math.MaxInt32))
}

// MostListBytes returns the maximum encoded size in bytes of that list.
func MostListBytes(gasUsed types.Gas) int {
	return unpaidBytes + int(min(gasUsed/gasPerByte, math.MaxInt32))
}
