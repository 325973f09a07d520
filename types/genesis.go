package types

import (
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/cairn-chain/cairn/codec"
	"github.com/cairn-chain/cairn/crypto/bip340"
)

var genesisTag = bip340.NewTag("cairn/genesis/v2")

// Genesis is the initial state of a chain. Its validity rules are in internal/protocol/exec.
type Genesis struct {
	ChainID     uint64       `json:"chain_id"`
	Network     Network      `json:"network"`
	Time        uint64       `json:"time"` // milliseconds since 1970
	BaseFee     Amount       `json:"base_fee"`
	Parameters  Parameters   `json:"parameters"`
	Allocations []Allocation `json:"allocations"` // strictly ascending by account
}

// Allocation is an account's initial balance.
type Allocation struct {
	Account Account `json:"account"`
	Balance Amount  `json:"balance"`
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

// ParseGenesisJSON parses a genesis in JSON. The members have the names of the struct's tags; amounts are integers or
// decimal strings; accounts are hex or addresses of the genesis' network. Unknown and repeated members are errors.
// ParseGenesisJSON checks only the form: exec.CheckGenesis checks whether the genesis is valid, and refuses the zeros
// for missing members of parameters and allocations. The caller must bound the size of b.
func ParseGenesisJSON(b []byte) (Genesis, error) {
	var raw struct {
		ChainID     *uint64     `json:"chain_id"`
		Network     Network     `json:"network"`
		Time        *uint64     `json:"time"`
		BaseFee     *jsonAmount `json:"base_fee"`
		Parameters  *jsonParams `json:"parameters"`
		Allocations []struct {
			Account string     `json:"account"`
			Balance jsonAmount `json:"balance"`
		} `json:"allocations"`
	}
	if err := decodeStrict(b, &raw); err != nil {
		return Genesis{}, fmt.Errorf("genesis: %w", err)
	}
	if raw.ChainID == nil || raw.Time == nil || raw.BaseFee == nil || raw.Parameters == nil {
		return Genesis{}, fmt.Errorf("genesis: chain_id, network, time, base_fee and parameters are required")
	}
	if raw.Network.Prefix() == "" {
		return Genesis{}, fmt.Errorf("genesis: unknown network %q", raw.Network)
	}
	g := Genesis{ChainID: *raw.ChainID, Network: raw.Network, Time: *raw.Time, BaseFee: Amount(*raw.BaseFee)}
	var err error
	if g.Parameters, err = raw.Parameters.parameters(raw.Network); err != nil {
		return Genesis{}, fmt.Errorf("genesis: parameters: %w", err)
	}
	for i, a := range raw.Allocations {
		account, err := raw.Network.ParseAccount(a.Account)
		if err != nil {
			return Genesis{}, fmt.Errorf("genesis: allocation %d: %w", i, err)
		}
		g.Allocations = append(g.Allocations, Allocation{Account: account, Balance: Amount(a.Balance)})
	}
	return g, nil
}

// ParseParametersJSON parses parameters in JSON, in the form of [ParseGenesisJSON]; addresses must be the network's. It
// does not check whether the parameters are valid.
func ParseParametersJSON(b []byte, network Network) (Parameters, error) {
	var raw jsonParams
	if err := decodeStrict(b, &raw); err != nil {
		return Parameters{}, fmt.Errorf("parameters: %w", err)
	}
	return raw.parameters(network)
}

type jsonParams struct {
	Version      uint32     `json:"version"`
	GasLimit     jsonAmount `json:"gas_limit"`
	BlockBytes   uint32     `json:"block_bytes"`
	TargetBPS    uint16     `json:"target_bps"`
	MinBaseFee   jsonAmount `json:"min_base_fee"`
	MaxBaseFee   jsonAmount `json:"max_base_fee"`
	Producer     string     `json:"producer"`
	FeeRecipient string     `json:"fee_recipient"`
	Admin        string     `json:"admin"`
	Notice       jsonAmount `json:"notice"`
	Upgrade      *struct {
		Version uint32     `json:"version"`
		From    jsonAmount `json:"from"`
	} `json:"upgrade"`
}

func (j jsonParams) parameters(network Network) (Parameters, error) {
	producer, err := network.ParseAccount(j.Producer)
	if err != nil {
		return Parameters{}, fmt.Errorf("producer: %w", err)
	}
	recipient, err := network.ParseAccount(j.FeeRecipient)
	if err != nil {
		return Parameters{}, fmt.Errorf("fee_recipient: %w", err)
	}
	admin, err := network.ParseAccount(j.Admin)
	if err != nil {
		return Parameters{}, fmt.Errorf("admin: %w", err)
	}
	var upgrade *Upgrade
	if j.Upgrade != nil {
		upgrade = &Upgrade{Version: j.Upgrade.Version, From: uint64(j.Upgrade.From)}
	}
	return Parameters{
		Version:      j.Version,
		GasLimit:     Gas(j.GasLimit),
		BlockBytes:   j.BlockBytes,
		TargetBPS:    j.TargetBPS,
		MinBaseFee:   Amount(j.MinBaseFee),
		MaxBaseFee:   Amount(j.MaxBaseFee),
		Producer:     PublicKey(producer),
		FeeRecipient: recipient,
		Admin:        admin,
		Notice:       uint64(j.Notice),
		Upgrade:      upgrade,
	}, nil
}

// jsonAmount is a u64 written as a JSON integer or as a decimal string.
type jsonAmount uint64

func (a *jsonAmount) UnmarshalJSON(b []byte) error {
	text := string(b)
	if len(b) > 1 && b[0] == '"' {
		if err := json.Unmarshal(b, &text); err != nil {
			return err
		}
	}
	v, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return fmt.Errorf("%q is not an unsigned 64-bit integer", text)
	}
	*a = jsonAmount(v)
	return nil
}
