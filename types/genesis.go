package types

import (
	"fmt"

	"github.com/cairn-chain/cairn/codec"
	"github.com/cairn-chain/cairn/crypto/bip340"
)

var genesisTag = bip340.NewTag("cairn/genesis/v2")

// Genesis is the initial state of a chain. Its validity rules are in internal/protocol/exec.
type Genesis struct {
	ChainID     uint64
	Network     Network
	Time        uint64 // milliseconds since 1970
	BaseFee     Amount
	Parameters  Parameters
	Allocations []Allocation // strictly ascending by account
}

// Allocation is an account's initial balance.
type Allocation struct {
	Account Account
	Balance Amount
}

const (
	allocationBytes = 32 + 8
	maxAllocations  = 1 << 24
	maxNetworkBytes = 7
)

// MaxGenesisBytes is the length of the longest encoded genesis.
const MaxGenesisBytes = 8 + 8 + maxNetworkBytes + 8 + 8 + parametersBytes + 8 + allocationBytes*maxAllocations

// Encode returns bincode(Genesis), the authoritative form.
func (g Genesis) Encode() []byte {
	e := codec.NewEncoder(64 + parametersBytes + allocationBytes*len(g.Allocations))
	e.U64(g.ChainID)
	e.String(string(g.Network))
	e.U64(g.Time)
	e.U64(uint64(g.BaseFee))
	g.Parameters.encode(e)
	e.U64(uint64(len(g.Allocations)))
	for _, a := range g.Allocations {
		e.Fixed(a.Account[:])
		e.U64(uint64(a.Balance))
	}
	return e.Data()
}

// DecodeGenesis decodes the output of [Genesis.Encode]. It does not check whether the genesis is valid.
func DecodeGenesis(b []byte) (Genesis, error) {
	if len(b) > MaxGenesisBytes {
		return Genesis{}, fmt.Errorf("%w: a genesis of %d bytes, at most %d", codec.ErrTooLong, len(b), MaxGenesisBytes)
	}
	d := codec.NewDecoder(b)
	g := Genesis{
		ChainID: d.U64(), Network: Network(d.String(maxNetworkBytes)), Time: d.U64(), BaseFee: Amount(d.U64()),
		Parameters: decodeParameters(d),
	}
	n := d.Length(maxAllocations, allocationBytes)
	g.Allocations = make([]Allocation, n)
	for i := range g.Allocations {
		d.Fixed(g.Allocations[i].Account[:])
		g.Allocations[i].Balance = Amount(d.U64())
	}
	return g, d.Finish()
}

// Digest returns the parent of header 0, tagged("cairn/genesis/v2", bincode(Genesis)), which binds the chain to this
// genesis.
func (g Genesis) Digest() BlockHash { return BlockHash(genesisTag.Hash(g.Encode())) }
