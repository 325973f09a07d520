package chain

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"slices"

	"github.com/cairn-chain/cairn/internal/storage/kv"
	"github.com/cairn-chain/cairn/types"
)

// Who holds a token is found from the Transfer events of NEP-20 (docs/protocol.md, "Conventions above consensus"): what
// went to an account less what went from it. It is what an honest token's balances are; what any other contract says
// about itself is only its own.

// tokenSum is a signed integer of 128 bits, in two's complement: no number of transfers goes beyond it.
type tokenSum struct{ high, low uint64 }

func (s tokenSum) plus(o tokenSum) tokenSum {
	low, carry := bits.Add64(s.low, o.low, 0)
	high, _ := bits.Add64(s.high, o.high, carry)
	return tokenSum{high, low}
}

func (s tokenSum) negative() tokenSum {
	low, borrow := bits.Sub64(0, s.low, 0)
	high, _ := bits.Sub64(0, s.high, borrow)
	return tokenSum{high, low}
}

const tokenSumBytes = 16

// appendTo appends the sum so that it sorts: big-endian, the sign's bit flipped.
func (s tokenSum) appendTo(dst []byte) []byte {
	return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(dst, s.high^1<<63), s.low)
}

func decodeTokenSum(row []byte) (tokenSum, error) {
	if len(row) != tokenSumBytes {
		return tokenSum{}, fmt.Errorf("%w: a token's sum of %d bytes", ErrCorrupt, len(row))
	}
	s := tokenSum{binary.BigEndian.Uint64(row) ^ 1<<63, binary.BigEndian.Uint64(row[8:])}
	if s == (tokenSum{}) {
		return s, fmt.Errorf("%w: a token's sum of 0", ErrCorrupt)
	}
	return s, nil
}

// holding is a token and an account.
type holding [64]byte

// transfers is by how much Transfer events change holdings.
type transfers map[holding]tokenSum

func transfersOf(receipts []types.Receipt) transfers {
	t := make(transfers)
	t.addAll(receipts, false)
	return t
}

// addAll adds the Transfer events of receipts, or takes them back.
func (t transfers) addAll(receipts []types.Receipt, back bool) {
	for i := range receipts {
		for j := range receipts[i].Logs {
			t.add(&receipts[i].Logs[j], back)
		}
	}
}

// amountZeros are the leading bytes of an amount as a topic.
var amountZeros [24]byte

// add adds an event that has the shape of NEP-20's Transfer: as topics from, to and the amount. The zero account is
// where tokens come from and go to, and holds none.
func (t transfers) add(log *types.Log, back bool) {
	if log.Name != "Transfer" || len(log.Topics) != 3 || !bytes.HasPrefix(log.Topics[2][:], amountZeros[:]) {
		return
	}
	amount := tokenSum{low: binary.BigEndian.Uint64(log.Topics[2][len(amountZeros):])}
	if back {
		amount = amount.negative()
	}
	t.move(&log.Contract, &log.Topics[0], amount.negative())
	t.move(&log.Contract, &log.Topics[1], amount)
}

func (t transfers) move(token *types.ContractID, account *[32]byte, amount tokenSum) {
	if *account == ([32]byte{}) {
		return
	}
	var of holding
	copy(of[:], token[:])
	copy(of[32:], account[:])
	t[of] = t[of].plus(amount)
}

// holderChange is a holding before and after.
type holderChange struct {
	of       holding
	old, new tokenSum
}

// holderChanges adds transfers to what is stored, ascending by holding.
func (v *view) holderChanges(t transfers) ([]holderChange, error) {
	changes := make([]holderChange, 0, len(t))
	for of, by := range t {
		if by != (tokenSum{}) {
			changes = append(changes, holderChange{of: of, new: by})
		}
	}
	slices.SortFunc(changes, func(a, b holderChange) int { return bytes.Compare(a.of[:], b.of[:]) })
	var key []byte
	for i := range changes {
		c := &changes[i]
		key = tableHolders.appendKey(key[:0], c.of[:])
		row, err := v.snapshot.Get(key)
		if errors.Is(err, kv.ErrNotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if c.old, err = decodeTokenSum(row); err != nil {
			return nil, err
		}
		c.new = c.new.plus(c.old)
	}
	return changes, nil
}

// putHolders writes the sums that change.
func putHolders(b *kv.Batch, changes []holderChange) {
	var key, row []byte
	for i := range changes {
		c := &changes[i]
		row = row[:0]
		if c.new != (tokenSum{}) {
			row = c.new.appendTo(row)
		}
		key = tableHolders.appendKey(key[:0], c.of[:])
		setOrDelete(b, key, row)
	}
}

// putRanks moves the holders to their new ranks.
func putRanks(b *kv.Batch, changes []holderChange) {
	var key []byte
	for i := range changes {
		c := &changes[i]
		if c.old != (tokenSum{}) {
			key = appendRank(key[:0], &c.of, c.old)
			b.Delete(key)
		}
		if c.new != (tokenSum{}) {
			key = appendRank(key[:0], &c.of, c.new)
			b.Set(key, nil)
		}
	}
}

const rankBytes = 1 + 32 + tokenSumBytes + 32

// appendRank appends the key of a holder's rank: the larger the sum, the lower.
func appendRank(dst []byte, of *holding, sum tokenSum) []byte {
	dst = append(append(dst, byte(tableRanks)), of[:32]...)
	from := len(dst)
	dst = sum.appendTo(dst)
	for i := from; i < len(dst); i++ {
		dst[i] = ^dst[i]
	}
	return append(dst, of[32:]...)
}

// Rank is the place of a holder among those of a token. The zero Rank is before all.
type Rank [tokenSumBytes + 32]byte

// Holder is an account to which Transfer events of a token sent more than from it, or less.
type Holder struct {
	Account types.Account
	Rank    Rank
}

// Holders returns holders of a token, the largest sum of its Transfer events first, then by account, at most limit:
// those after a rank, which is zero for all. The state must be that of the head at the time it was made.
func (st *State) Holders(token types.ContractID, after Rank, limit int) ([]Holder, error) {
	if err := st.atHead(); err != nil {
		return nil, err
	}
	prefix := tableRanks.key(token[:])
	lower := prefix
	if after != (Rank{}) {
		lower = append(append(bytes.Clone(prefix), after[:]...), 0)
	}
	it, err := st.view.snapshot.NewIter(lower, kv.PrefixEnd(prefix))
	if err != nil {
		return nil, err
	}
	var found []Holder
	for ok := limit > 0 && it.First(); ok && len(found) < limit; ok = it.Next() {
		key := it.Key()
		if len(key) != rankBytes {
			return nil, errors.Join(fmt.Errorf("%w: a rank of %d bytes", ErrCorrupt, len(key)), it.Close())
		}
		found = append(found, Holder{types.Account(key[rankBytes-32:]), Rank(key[33:])})
	}
	return found, it.Close()
}
