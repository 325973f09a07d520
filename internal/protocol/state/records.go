package state

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/cairn-chain/cairn/codec"
	"github.com/cairn-chain/cairn/types"
)

// Supply is the record under 00 00: the native supply at genesis and the amount burned since.
type Supply struct {
	Supply, Burned types.Amount
}

// Encode returns supply u64 ‖ burned u64, little-endian: 16 bytes.
func (s Supply) Encode() []byte { return pair(uint64(s.Supply), uint64(s.Burned)) }

// DecodeSupply decodes the output of [Supply.Encode]. Every chain has this record, so an empty input is an error.
func DecodeSupply(b []byte) (Supply, error) {
	first, second, err := decodePair(b)
	return Supply{types.Amount(first), types.Amount(second)}, err
}

// Account is the record under 01 ‖ account. The zero Account stands for absence.
//
// Records are values: whoever changes an authority or a recovery sets another pointer, since copies share them.
type Account struct {
	Balance types.Amount
	Nonce   uint64 // nonce of the next transaction
	// Authority is who may sign for the account; nil is the account itself.
	Authority *types.Account
	// Pending is a recovery that has begun; nil if there is none.
	Pending *Recovery
}

// Recovery is a change of authority that takes effect at a time.
type Recovery struct {
	Next types.Account // the authority from then on
	From uint64        // milliseconds since 1970
}

// due reports whether there is a recovery that has taken effect at time t.
func (r *Recovery) due(t uint64) bool { return r != nil && t >= r.From }

// Sizes of an account's record in bytes.
const (
	plainBytes     = 8 + 8
	authorityBytes = plainBytes + 32
	pendingBytes   = authorityBytes + 32 + 8
)

// MaxAccountBytes is the size of the longest account record.
const MaxAccountBytes = pendingBytes

// ErrAccountForm is returned for an account record that is not in the shortest form of a possible account.
var ErrAccountForm = errors.New("account record has an impossible form")

// At returns the record with the authority in force at time t, in milliseconds: a recovery whose time has come is done.
func (a Account) At(t uint64) Account {
	if a.Pending.due(t) {
		a.Authority, a.Pending = &a.Pending.Next, nil
	}
	return a
}

// AuthorityAt returns the authority in force at time t of the account self, whose record this is.
func (a Account) AuthorityAt(self types.Account, t uint64) types.Account {
	if a = a.At(t); a.Authority != nil {
		return *a.Authority
	}
	return self
}

// Exists reports whether the account has an entry in the state.
func (a Account) Exists() bool { return a.Balance != 0 || a.Nonce != 0 }

// Equal reports whether two records of the account self have the same contents.
func (a Account) Equal(self types.Account, b Account) bool {
	return bytes.Equal(a.Encode(self), b.Encode(self))
}

// Encode returns the record of the account self in its shortest form: nothing if balance and nonce are 0; balance u64 ‖
// nonce u64, little-endian; behind them the authority, unless it is the account and nothing is pending; and behind that
// a pending recovery, next[32] ‖ from u64. A balance of 0 with a nonce is kept: without it, old transactions could be
// replayed.
func (a Account) Encode(self types.Account) []byte {
	if !a.Exists() {
		return nil
	}
	if a.plain(self) {
		return a.appendPlain(make([]byte, 0, plainBytes))
	}
	own := a.Authority == nil || *a.Authority == self
	e := codec.NewEncoder(pendingBytes)
	e.U64(uint64(a.Balance))
	e.U64(a.Nonce)
	if own {
		e.Fixed(self[:])
	} else {
		e.Fixed(a.Authority[:])
	}
	if a.Pending != nil {
		e.Fixed(a.Pending.Next[:])
		e.U64(a.Pending.From)
	}
	return e.Data()
}

// plain reports whether the record of the account self has only a balance and a nonce.
func (a Account) plain(self types.Account) bool {
	return a.Exists() && a.Pending == nil && (a.Authority == nil || *a.Authority == self)
}

// appendPlain appends a plain record.
func (a Account) appendPlain(to []byte) []byte {
	to = binary.LittleEndian.AppendUint64(to, uint64(a.Balance))
	return binary.LittleEndian.AppendUint64(to, a.Nonce)
}

// DecodeAccount decodes the output of [Account.Encode] for the account self. An empty input is the zero Account. The
// errors wrap [ErrAccountForm]: the state of a valid chain has no such record.
func DecodeAccount(self types.Account, b []byte) (Account, error) {
	switch len(b) {
	case 0:
		return Account{}, nil
	case plainBytes, authorityBytes, pendingBytes:
	default:
		return Account{}, fmt.Errorf("%w: %d bytes", ErrAccountForm, len(b))
	}
	d := codec.NewDecoder(b)
	a := Account{Balance: types.Amount(d.U64()), Nonce: d.U64()}
	if len(b) == plainBytes {
		if !a.Exists() {
			return Account{}, fmt.Errorf("%w: zeros are absence", ErrAccountForm)
		}
		return a, d.Finish()
	}
	a.Authority = new(types.Account)
	d.Fixed(a.Authority[:])
	own := *a.Authority == self
	if own {
		a.Authority = nil
	}
	if len(b) == pendingBytes {
		a.Pending = new(Recovery)
		d.Fixed(a.Pending.Next[:])
		a.Pending.From = d.U64()
	}
	switch {
	case a.Nonce == 0: // only the account itself changes its authority
		return Account{}, fmt.Errorf("%w: an authority without a nonce", ErrAccountForm)
	case own && a.Pending == nil:
		return Account{}, fmt.Errorf("%w: it stores the account itself as its authority", ErrAccountForm)
	}
	return a, d.Finish()
}

// Contract is the record under 02 ‖ contract.
type Contract struct {
	CodeHash types.CodeHash
	Deployer types.Account // sender of the transaction, or the contract that created it
	Height   types.Height  // height of the block that made it
	Name     string        // at most types.MaxNameBytes
}

// Encode returns bincode(Contract).
func (c Contract) Encode() []byte {
	e := codec.NewEncoder(32 + 32 + 8 + 8 + len(c.Name))
	e.Fixed(c.CodeHash[:])
	e.Fixed(c.Deployer[:])
	e.U64(uint64(c.Height))
	e.String(c.Name)
	return e.Data()
}

// DecodeContract decodes the output of [Contract.Encode]. An empty input is an error, not absence.
func DecodeContract(b []byte) (Contract, error) {
	d := codec.NewDecoder(b)
	var c Contract
	d.Fixed(c.CodeHash[:])
	d.Fixed(c.Deployer[:])
	c.Height = types.Height(d.U64())
	c.Name = d.String(types.MaxNameBytes)
	return c, d.Finish()
}

func pair(first, second uint64) []byte {
	e := codec.NewEncoder(16)
	e.U64(first)
	e.U64(second)
	return e.Data()
}

func decodePair(b []byte) (first, second uint64, err error) {
	d := codec.NewDecoder(b)
	first, second = d.U64(), d.U64()
	return first, second, d.Finish()
}
