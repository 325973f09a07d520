package types

import (
	"bytes"

	"github.com/cairn-chain/cairn/codec"
)

// Parameters are the rules of the chain that its admin may change. They are part of the state, so every state root
// commits to them.
type Parameters struct {
	_            [0]func() // not comparable by ==, which would compare pointers: see [Parameters.Equal]
	Version      uint32    // determines protocol rules and gas schedule; see [Parameters.VersionAt]
	GasLimit     Gas       // limit of a block
	BlockBytes   uint32    // limit on the encoded transactions of a block
	TargetBPS    uint16    // share of GasLimit that keeps the base fee unchanged, in 1/10000
	MinBaseFee   Amount    // bounds of the base fee, per gas
	MaxBaseFee   Amount    //
	Producer     PublicKey // seals blocks
	FeeRecipient Account   // receives the priority fees
	Admin        Account   // the only account that may Configure
	Notice       uint64    // time between the announcement and the beginning of an upgrade, at least, in milliseconds
	Upgrade      *Upgrade  // an announced upgrade; nil: none
}

// Upgrade is an announced change of the protocol version.
type Upgrade struct {
	Version uint32
	From    uint64 // timestamp of the first block that has the version, in milliseconds
}

// Lengths of encoded parameters.
const (
	parametersBytes     = 4 + 8 + 4 + 2 + 8 + 8 + 32 + 32 + 32 + 8 + 1 // without an upgrade
	upgradeBytes        = 4 + 8
	longParametersBytes = parametersBytes + upgradeBytes
)

func (p Parameters) encode(e *codec.Encoder) {
	e.U32(p.Version)
	e.U64(uint64(p.GasLimit))
	e.U32(p.BlockBytes)
	e.U16(p.TargetBPS)
	e.U64(uint64(p.MinBaseFee))
	e.U64(uint64(p.MaxBaseFee))
	e.Fixed(p.Producer[:])
	e.Fixed(p.FeeRecipient[:])
	e.Fixed(p.Admin[:])
	e.U64(p.Notice)
	e.Option(p.Upgrade != nil)
	if p.Upgrade != nil {
		e.U32(p.Upgrade.Version)
		e.U64(p.Upgrade.From)
	}
}

func decodeParameters(d *codec.Decoder) (p Parameters) {
	p.Version = d.U32()
	p.GasLimit = Gas(d.U64())
	p.BlockBytes = d.U32()
	p.TargetBPS = d.U16()
	p.MinBaseFee = Amount(d.U64())
	p.MaxBaseFee = Amount(d.U64())
	d.Fixed(p.Producer[:])
	d.Fixed(p.FeeRecipient[:])
	d.Fixed(p.Admin[:])
	p.Notice = d.U64()
	if d.Option() {
		p.Upgrade = &Upgrade{Version: d.U32(), From: d.U64()}
	}
	return p
}

// Encode returns bincode(Parameters): 139 bytes, or 151 with an upgrade. It is the value of state key 00 01.
func (p Parameters) Encode() []byte {
	e := codec.NewEncoder(longParametersBytes)
	p.encode(e)
	return e.Data()
}

// DecodeParameters decodes the output of [Parameters.Encode].
func DecodeParameters(b []byte) (Parameters, error) {
	d := codec.NewDecoder(b)
	p := decodeParameters(d)
	return p, d.Finish()
}

// VersionAt returns the protocol version of a block of a timestamp, in milliseconds, under these parameters.
func (p Parameters) VersionAt(timestamp uint64) uint32 {
	if p.Upgrade != nil && timestamp >= p.Upgrade.From {
		return p.Upgrade.Version
	}
	return p.Version
}

// Equal reports whether two parameters are the same.
func (p Parameters) Equal(other Parameters) bool {
	return bytes.Equal(p.Encode(), other.Encode())
}
