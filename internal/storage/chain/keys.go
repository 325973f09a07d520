package chain

import (
	"encoding/binary"
	"fmt"

	"github.com/cairn-chain/cairn/internal/proof/poseidon"
	"github.com/cairn-chain/cairn/internal/storage/kv"
	"github.com/cairn-chain/cairn/types"
)

// table is the first byte of a key.
type table byte

// tableLog is the raft log of a cluster's member, which package raftlog writes and checks.
const tableLog table = 'R'

const (
	tableMeta         table = 'm'
	tableHeaders      table = 'h'
	tableHashes       table = 'n'
	tableTransactions table = 't'
	tableReceipts     table = 'r'
	tableAccesses     table = 'l'
	tableIDs          table = 'x'
	tableAccounts     table = 'a'
	tableState        table = 's'
	tableLeaves       table = 'p'
	tableHistory      table = 'y'
	tableCodes        table = 'c'
	tableCodeSizes    table = 'z'
	tableDeploys      table = 'd'
	tableEvents       table = 'e'
	tableFailures     table = 'f'
	tableHolders      table = 'b'
	tableRanks        table = 'o'
	tableWitnesses    table = 'w'
	tableProofs       table = 'q'
	tableSpent        table = 'u' // witnesses of proven blocks
	tableRanges       table = 'k' // proofs of spans of several blocks
	tableCounts       table = 'g'
	tableSizes        table = 'i'
	tablePolicies     table = 'v'
)

// allTables names the tables in messages.
var allTables = map[table]string{
	tableMeta:         "meta",
	tableHeaders:      "headers",
	tableHashes:       "block hashes",
	tableTransactions: "transactions",
	tableReceipts:     "receipts",
	tableAccesses:     "accesses",
	tableIDs:          "transaction IDs",
	tableAccounts:     "accounts",
	tableState:        "state",
	tableLeaves:       "leaves",
	tableHistory:      "history",
	tableCodes:        "codes",
	tableCodeSizes:    "code sizes",
	tableDeploys:      "deployments",
	tableEvents:       "events",
	tableFailures:     "failures",
	tableHolders:      "token holders",
	tableRanks:        "ranks of token holders",
	tableWitnesses:    "witnesses",
	tableProofs:       "proofs",
	tableSpent:        "spent witnesses",
	tableRanges:       "proofs of ranges",
	tableCounts:       "counts",
	tableSizes:        "sizes",
	tablePolicies:     "policies",
}

// The rows of the meta table.
var (
	keyFormat   = tableMeta.key([]byte("format"))
	keySchedule = tableMeta.key([]byte("schedule"))
	keyGenesis  = tableMeta.key([]byte("genesis"))
	keyHead     = tableMeta.key([]byte("head"))
	keyOldest   = tableMeta.key([]byte("oldest"))
	// keyArchive has an empty row in an archive, a store that must not be pruned.
	keyArchive = tableMeta.key([]byte("archive"))
	// keyHalfPruned has an empty row while some rows of the block before the oldest are left.
	keyHalfPruned = tableMeta.key([]byte("half pruned"))

	// keyStateless has an empty row in a store that keeps no state except the parameters.
	keyStateless = tableMeta.key([]byte("stateless"))

	// keyOutline has the outline of the state tree after a block: the block's hash, the number of leaves u64, the digests.
	keyOutline = tableMeta.key([]byte("outline"))

	keyWitnessBytes = tableMeta.key([]byte("witness bytes"))
)

// key returns the key of the table's row with this name.
func (t table) key(name []byte) []byte { return t.appendKey(nil, name) }

// appendKey appends the result of key to a buffer.
func (t table) appendKey(dst, name []byte) []byte { return append(append(dst, byte(t)), name...) }

// atHeight returns the key of a height's row.
func (t table) atHeight(h types.Height) []byte {
	return binary.BigEndian.AppendUint64([]byte{byte(t)}, uint64(h))
}

// at returns the key of a height's row that begins with an index.
func (t table) at(h types.Height, index uint32) []byte {
	return binary.BigEndian.AppendUint32(t.atHeight(h), index)
}

// bounds returns the bounds of a scan over the table.
func (t table) bounds() (lower, upper []byte) { return []byte{byte(t)}, []byte{byte(t) + 1} }

// heightBounds returns the bounds of a scan over a height's rows.
func (t table) heightBounds(h types.Height) (lower, upper []byte) {
	lower = t.atHeight(h)
	return lower, kv.PrefixEnd(lower)
}

// accountRow returns the key of an account's row at a height.
func accountRow(account types.Account, h types.Height) []byte {
	return appendAccountRow(nil, &account, h)
}

// appendAccountRow appends the result of accountRow to a buffer.
func appendAccountRow(dst []byte, account *types.Account, h types.Height) []byte {
	return binary.BigEndian.AppendUint64(tableAccounts.appendKey(dst, account[:]), uint64(h))
}

// historyPrefix returns the prefix of a state key's history rows. No other rows have it: since storage keys vary in
// length, the length precedes the key.
func historyPrefix(key []byte) []byte { return appendHistoryPrefix(nil, key) }

func appendHistoryPrefix(dst, key []byte) []byte {
	return append(binary.BigEndian.AppendUint16(append(dst, byte(tableHistory)), uint16(len(key))), key...)
}

// historyRow returns the key of the history row for a block at height h that wrote a state key.
func historyRow(key []byte, h types.Height) []byte { return appendHistoryRow(nil, key, h) }

// appendHistoryRow appends the result of historyRow to a buffer.
func appendHistoryRow(dst, key []byte, h types.Height) []byte {
	return binary.BigEndian.AppendUint64(appendHistoryPrefix(dst, key), uint64(h))
}

// heightAtEnd returns the height at the end of the key of an account, event or history row.
func heightAtEnd(key []byte) (types.Height, error) {
	long := 1 + 32 + 8
	switch {
	case len(key) > 2 && table(key[0]) == tableHistory:
		long = 3 + int(binary.BigEndian.Uint16(key[1:])) + 8
	case len(key) > 0 && table(key[0]) == tableEvents:
		long = 2 + 32 + 8
	}
	if len(key) != long {
		return 0, fmt.Errorf("%w: key %x has %d bytes, not %d", ErrCorrupt, key, len(key), long)
	}
	return types.Height(binary.BigEndian.Uint64(key[long-8:])), nil
}

func encodeHeight(h types.Height) []byte { return binary.BigEndian.AppendUint64(nil, uint64(h)) }

func decodeHeight(row []byte) (types.Height, error) {
	if len(row) != 8 {
		return 0, fmt.Errorf("%w: a height of %d bytes", ErrCorrupt, len(row))
	}
	return types.Height(binary.BigEndian.Uint64(row)), nil
}

// Position is the position of an included transaction.
type Position struct {
	Height types.Height
	Index  uint32
}

const positionBytes = 8 + 4

func (p Position) encode() []byte { return p.appendTo(nil) }

func (p Position) appendTo(dst []byte) []byte {
	return binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint64(dst, uint64(p.Height)), p.Index)
}

func decodePosition(row []byte) (Position, error) {
	if len(row) != positionBytes {
		return Position{}, fmt.Errorf("%w: a position of %d bytes", ErrCorrupt, len(row))
	}
	return Position{
		Height: types.Height(binary.BigEndian.Uint64(row)), Index: binary.BigEndian.Uint32(row[8:]),
	}, nil
}

// appendIndex appends an index to the value of an account's row. Indices must ascend.
func appendIndex(row []byte, index uint32) []byte { return binary.BigEndian.AppendUint32(row, index) }

func decodeIndices(row []byte) ([]uint32, error) {
	if len(row) == 0 || len(row)%4 != 0 {
		return nil, fmt.Errorf("%w: an account's row of %d bytes", ErrCorrupt, len(row))
	}
	indices := make([]uint32, len(row)/4)
	for i := range indices {
		indices[i] = binary.BigEndian.Uint32(row[4*i:])
		if i > 0 && indices[i] <= indices[i-1] {
			return nil, fmt.Errorf("%w: an account's row does not ascend", ErrCorrupt)
		}
	}
	return indices, nil
}

// leafRow holds the leaf digest of a state key, for the state tree, and the key itself, for proofs that show another
// key's leaf.
type leafRow struct {
	leaf poseidon.Digest
	key  []byte
}

func (l leafRow) encode() []byte { return l.appendTo(nil) }

func (l leafRow) appendTo(dst []byte) []byte {
	leaf := l.leaf.Bytes()
	return append(append(dst, leaf[:]...), l.key...)
}

// decodeLeafRow decodes the output of encode. The key aliases row.
func decodeLeafRow(row []byte) (l leafRow, err error) {
	if len(row) <= 32 {
		return l, fmt.Errorf("%w: a leaf's row of %d bytes", ErrCorrupt, len(row))
	}
	l.key = row[32:]
	l.leaf, err = parseDigest(row[:32])
	return l, err
}

func parseDigest(b []byte) (poseidon.Digest, error) {
	if len(b) != 32 {
		return poseidon.Digest{}, fmt.Errorf("%w: a digest of %d bytes", ErrCorrupt, len(b))
	}
	d, err := poseidon.ParseDigest([32]byte(b))
	if err != nil {
		return d, fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	return d, nil
}

// codeSize holds the data about a code that can be read without the code: its length in bytes, and the block that
// brought it, or in a stateless store the last block that used it.
type codeSize struct {
	since types.Height
	size  uint32
}

func (c codeSize) encode() []byte {
	return binary.BigEndian.AppendUint32(encodeHeight(c.since), c.size)
}

func decodeCodeSize(row []byte) (codeSize, error) {
	if len(row) != 8+4 {
		return codeSize{}, fmt.Errorf("%w: a code's size of %d bytes", ErrCorrupt, len(row))
	}
	return codeSize{types.Height(binary.BigEndian.Uint64(row)), binary.BigEndian.Uint32(row[8:])}, nil
}
