package types

import "fmt"

// ParseGenesisJSON parses a genesis in JSON: the members are those of [Genesis] in snake case, as docs/protocol.md has
// them; accounts and keys are hex or addresses of the genesis' network. It checks only the form: exec.CheckGenesis
// checks whether the genesis is valid. The caller must bound the size of b.
func ParseGenesisJSON(b []byte) (Genesis, error) {
	o := readObject(b)
	g := Genesis{ChainID: o.u64("chain_id"), Network: Network(o.text("network"))}
	if o.err == nil && g.Network.Prefix() == "" {
		o.err = fmt.Errorf("unknown network %q", g.Network)
	}
	g.Time, g.BaseFee = o.u64("time"), Amount(o.u64("base_fee"))
	o.read("parameters", func(raw []byte) (err error) {
		g.Parameters, err = ParseParametersJSON(raw, g.Network)
		return err
	})
	o.list("allocations", maxAllocations, func(_ int, raw []byte) error {
		a := readObject(raw)
		g.Allocations = append(g.Allocations, Allocation{
			Account: a.account("account", g.Network), Balance: Amount(a.u64("balance")),
		})
		return a.finish()
	})
	if err := o.finish(); err != nil {
		return Genesis{}, fmt.Errorf("genesis: %w", err)
	}
	return g, nil
}

// MarshalJSON writes the form that [ParseGenesisJSON] parses.
func (g Genesis) MarshalJSON() ([]byte, error) {
	allocations := g.Allocations
	if allocations == nil {
		allocations = []Allocation{}
	}
	return marshalObject(
		"chain_id", number(g.ChainID), "network", g.Network, "time", number(g.Time), "base_fee", number(g.BaseFee),
		"parameters", g.Parameters, "allocations", allocations,
	)
}

// UnmarshalJSON is [ParseGenesisJSON].
func (g *Genesis) UnmarshalJSON(b []byte) (err error) {
	*g, err = ParseGenesisJSON(b)
	return err
}

// MarshalJSON implements json.Marshaler.
func (a Allocation) MarshalJSON() ([]byte, error) {
	return marshalObject("account", a.Account, "balance", number(a.Balance))
}

// ParseParametersJSON parses parameters in JSON. Accounts and keys are hex or, unless network is empty, addresses of
// the network. It does not check whether the parameters are valid.
func ParseParametersJSON(b []byte, network Network) (Parameters, error) {
	o := readObject(b)
	p := Parameters{
		Version:      o.u32("version"),
		GasLimit:     Gas(o.u64("gas_limit")),
		BlockBytes:   o.u32("block_bytes"),
		TargetBPS:    uint16(o.number("target_bps", 16)),
		MinBaseFee:   Amount(o.u64("min_base_fee")),
		MaxBaseFee:   Amount(o.u64("max_base_fee")),
		Producer:     PublicKey(o.account("producer", network)),
		FeeRecipient: o.account("fee_recipient", network),
		Admin:        o.account("admin", network),
		Notice:       o.u64("notice"),
	}
	o.option("upgrade", func(raw []byte) error {
		u := readObject(raw)
		p.Upgrade = &Upgrade{Version: u.u32("version"), From: u.u64("from")}
		return u.finish()
	})
	if err := o.finish(); err != nil {
		return Parameters{}, fmt.Errorf("parameters: %w", err)
	}
	return p, nil
}

type jsonUpgrade struct {
	Version uint32 `json:"version"`
	From    number `json:"from"`
}

// MarshalJSON writes the form that [ParseParametersJSON] parses.
func (p Parameters) MarshalJSON() ([]byte, error) {
	var upgrade *jsonUpgrade
	if p.Upgrade != nil {
		upgrade = &jsonUpgrade{p.Upgrade.Version, number(p.Upgrade.From)}
	}
	return marshalObject(
		"version", p.Version, "gas_limit", number(p.GasLimit), "block_bytes", p.BlockBytes, "target_bps", p.TargetBPS,
		"min_base_fee", number(p.MinBaseFee), "max_base_fee", number(p.MaxBaseFee), "producer", p.Producer,
		"fee_recipient", p.FeeRecipient, "admin", p.Admin, "notice", number(p.Notice), "upgrade", upgrade,
	)
}

// UnmarshalJSON is [ParseParametersJSON] with accounts in hex.
func (p *Parameters) UnmarshalJSON(b []byte) (err error) {
	*p, err = ParseParametersJSON(b, "")
	return err
}
