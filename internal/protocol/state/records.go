package state

import (
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
type Account struct {
	Balance types.Amount
	Nonce   uint64 // nonce of the next transaction
}

// Encode returns balance u64 ‖ nonce u64, little-endian, or nothing if both are 0. A balance of 0 with a nonce is kept:
// without it, old transactions could be replayed.
func (a Account) Encode() []byte {
	if a == (Account{}) {
		return nil
	}
	return pair(uint64(a.Balance), a.Nonce)
}

// DecodeAccount decodes the output of [Account.Encode]. An empty input is the zero Account.
func DecodeAccount(b []byte) (Account, error) {
	if len(b) == 0 {
		return Account{}, nil
	}
	balance, nonce, err := decodePair(b)
	if err == nil && balance == 0 && nonce == 0 {
		err = fmt.Errorf("account record of zeros: absence is no record")
	}
	return Account{types.Amount(balance), nonce}, err
}

// Contract is the record under 02 ‖ contract.
type Contract struct {
	CodeHash types.CodeHash
	Deployer types.Account
	Height   types.Height // height of the block that deployed it
	Name     string       // at most types.MaxNameBytes
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
