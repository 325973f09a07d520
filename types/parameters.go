package types

import "github.com/cairn-chain/cairn/codec"

// Parameters are the rules of the chain that its producer may change. They are part of the state, so every state root
// commits to them.
type Parameters struct {
	Version      uint32    `json:"version"`       // determines protocol rules and gas schedule
	GasLimit     Gas       `json:"gas_limit"`     // limit of a block
	TargetBPS    uint16    `json:"target_bps"`    // share of gas_limit that keeps the base fee unchanged, in 1/10000
	MinBaseFee   Amount    `json:"min_base_fee"`  // bounds of the base fee, per gas
	MaxBaseFee   Amount    `json:"max_base_fee"`  //
	Producer     PublicKey `json:"producer"`      // signs blocks, may Configure
	FeeRecipient Account   `json:"fee_recipient"` // receives the priority fees
}

const parametersBytes = 4 + 8 + 2 + 8 + 8 + 32 + 32

func (p Parameters) encode(e *codec.Encoder) {
	e.U32(p.Version)
	e.U64(uint64(p.GasLimit))
	e.U16(p.TargetBPS)
	e.U64(uint64(p.MinBaseFee))
	e.U64(uint64(p.MaxBaseFee))
	e.Fixed(p.Producer[:])
	e.Fixed(p.FeeRecipient[:])
}

func decodeParameters(d *codec.Decoder) (p Parameters) {
	p.Version = d.U32()
	p.GasLimit = Gas(d.U64())
	p.TargetBPS = d.U16()
	p.MinBaseFee = Amount(d.U64())
	p.MaxBaseFee = Amount(d.U64())
	d.Fixed(p.Producer[:])
	d.Fixed(p.FeeRecipient[:])
	return p
}

// Encode returns bincode(Parameters): 94 bytes, the value of state key 00 01.
func (p Parameters) Encode() []byte {
	e := codec.NewEncoder(parametersBytes)
	p.encode(e)
	return e.Data()
}

// DecodeParameters decodes the output of [Parameters.Encode].
func DecodeParameters(b []byte) (Parameters, error) {
	d := codec.NewDecoder(b)
	p := decodeParameters(d)
	return p, d.Finish()
}
