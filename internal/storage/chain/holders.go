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

// Token holders are derived from the Transfer events of NEP-20 (docs/protocol.md, "Conventions above consensus"): an
// account's sum is the amount received minus the amount sent. For an honest token, the sums are the balances. Any other
// contract can only misreport its own.

// tokenSum is a signed 128-bit integer in two's complement. No number of transfers can overflow it.
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

// appendTo appends the sum in a sortable encoding: big-endian with the sign bit flipped.
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

// transfers holds the changes of holdings by Transfer events.
type transfers map[holding]tokenSum

func transfersOf(receipts []types.Receipt) transfers {
	t := make(transfers)
	t.addAll(receipts, false)
	return t
}

// addAll adds the Transfer events of receipts, or, with back, subtracts them.
func (t transfers) addAll(receipts []types.Receipt, back bool) {
	for i := range receipts {
		for j := range receipts[i].Logs {
			t.add(&receipts[i].Logs[j], back)
		}
	}
}

// amountZeros are the leading bytes of an amount in a topic.
var amountZeros [24]byte

// add adds an event that has the form of NEP-20's Transfer, with the topics from, to and amount. The zero account is
// the source of minted and the destination of burned tokens, and holds none.
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

// holderChange is a holding before and after a change.
type holderChange struct {
	of       holding
	old, new tokenSum
}

// holderChanges adds transfers to the stored sums. It returns the changes in order of their holdings.
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

// putHolders writes the changed sums.
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

// appendRank appends the key of a holder's rank: the larger the sum, the lower the key.
func appendRank(dst []byte, of *holding, sum tokenSum) []byte {
	dst = append(append(dst, byte(tableRanks)), of[:32]...)
	from := len(dst)
	dst = sum.appendTo(dst)
	for i := from; i < len(dst); i++ {
		dst[i] = ^dst[i]
	}
	return append(dst, of[32:]...)
}

// Rank is a holder's rank among the holders of a token. The zero Rank is before all.
type Rank [tokenSumBytes + 32]byte

// Holder is an account with a nonzero sum of a token's Transfer events.
type Holder struct {
	Account types.Account
	Rank    Rank
}

// Holders returns at most limit holders of a token after a rank, ordered by descending sum of its Transfer events, then
// by account. The zero Rank is before all. The state must be the head's state when it was made.
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
