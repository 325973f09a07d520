package fees_test

import (
	"encoding/json"
	"math/big"
	"os"
	"testing"

	"github.com/cairn-chain/cairn/internal/protocol/fees"
	"github.com/cairn-chain/cairn/internal/protocol/params"
	"github.com/cairn-chain/cairn/types"
	"pgregory.net/rapid"
)

func TestPayloadGas(t *testing.T) {
	long := func(n int) string { return string(make([]byte, n)) }
	policy := types.Policy{Owner: types.Rule{Threshold: 1, Signers: []types.Signer{types.SignerKey{}}}}
	tests := []struct {
		name    string
		payload types.Payload
		want    types.Gas
	}{
		{"transfer", types.Transfer{}, 5_000},
		{"transfer with a memo", types.Transfer{Memo: new([32]byte)}, 5_000},
		{"configure", types.Configure{}, 61_000},
		{"empty call", types.Call{}, 11_000},
		{"call", types.Call{Function: "né", Args: make([]byte, 10)}, 11_000 + 16*13},
		{"largest call", types.Call{Function: long(64), Args: make([]byte, 64<<10)}, 11_000 + 16*65_600},
		{"empty deploy", types.Deploy{}, 61_000},
		{"name", types.Deploy{Name: "né"}, 61_000 + 16*3},
		{"init args", types.Deploy{InitArgs: make([]byte, 10)}, 61_000 + 16*10},
		{"code", types.Deploy{Code: make([]byte, 10)}, 61_000 + 1_000*10},
		{
			"largest deploy", types.Deploy{Name: long(64), Code: make([]byte, 256<<10), InitArgs: make([]byte, 64<<10)},
			61_000 + 16*(64+65_536) + 262_144_000,
		},
		{"instantiate", types.Instantiate{Name: "né", InitArgs: make([]byte, 10)}, 11_000 + 16*13},
		{
			"batch", types.Batch{Steps: []types.Step{
				{Action: types.Transfer{}, Value: 5}, {Action: types.Transfer{Memo: new([32]byte)}},
				{Action: types.Call{Function: "né", Args: make([]byte, 10)}},
			}}, 11_000 + 2*5_000 + 2_000 + 16*13,
		},
		{"back to the own key", types.SetPolicy{}, 31_000 + 16*(4+1+1)},
		{"set_policy", types.SetPolicy{Policy: &policy}, 31_000 + 16*(4+1+1+8+1+8+4+32+1)},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := fees.PayloadGas(test.payload); got != test.want {
				t.Errorf("got %d, want %d", got, test.want)
			}
		})
	}
}

func TestIntrinsicGas(t *testing.T) {
	rule := types.Rule{Threshold: 3, Signers: []types.Signer{types.SignerKey{}, types.SignerP256{}, types.SignerPasskey{}}}
	policy := types.WitnessPolicy{Policy: types.Policy{Owner: rule}, Proofs: []types.Proof{
		{Evidence: types.EvidenceKey{}}, {Evidence: types.EvidenceText{}}, {Evidence: types.EvidenceP256{}},
		{Evidence: types.EvidencePasskey{Client: make([]byte, 50)}},
	}}
	ofPolicy := 2_000 + 16*types.Gas(len(types.EncodeWitness(policy))) + 5_000 + 11_000 + 2*60_000
	payer := &types.Account{1}
	for _, test := range []struct {
		name            string
		payer           *types.Account
		witness, second types.Witness
		want            types.Gas
	}{
		{"a key", nil, types.WitnessKey{}, nil, 10_000},
		{"a text", nil, types.WitnessText{}, nil, 16_000},
		{"a policy", nil, policy, nil, 5_000 + ofPolicy},
		{"a simulation", nil, nil, nil, 10_000},
		{"a payer", payer, types.WitnessKey{}, types.WitnessKey{}, 10_000 + 15_000 + 5_000},
		{"a payer by text", payer, types.WitnessKey{}, types.WitnessText{}, 10_000 + 15_000 + 11_000},
		{"a payer by policy", payer, types.WitnessText{}, policy, 16_000 + 15_000 + ofPolicy},
		{"a simulation with a payer", payer, nil, nil, 10_000 + 15_000 + 5_000},
	} {
		tx := types.SignedTransaction{
			Transaction: types.Transaction{Payer: test.payer, Payload: types.Transfer{}}, Witness: test.witness,
			PayerWitness: test.second,
		}
		if got := fees.IntrinsicGas(&tx); got != test.want {
			t.Errorf("%s: got %d, want %d", test.name, got, test.want)
		}
	}
}

// TestBaseFeeVectors checks the base fees of docs/vectors.json.
func TestBaseFeeVectors(t *testing.T) {
	file, err := os.ReadFile("../../../docs/vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	var v struct {
		BaseFees []struct {
			BaseFee   types.Amount `json:"base_fee"`
			GasUsed   types.Gas    `json:"gas_used"`
			GasLimit  types.Gas    `json:"gas_limit"`
			TargetBPS uint16       `json:"target_bps"`
			Min, Max  types.Amount
			Next      types.Amount
		} `json:"base_fees"`
	}
	if err := json.Unmarshal(file, &v); err != nil || len(v.BaseFees) == 0 {
		t.Fatal(err, len(v.BaseFees))
	}
	for _, c := range v.BaseFees {
		p := types.Parameters{TargetBPS: c.TargetBPS, MinBaseFee: c.Min, MaxBaseFee: c.Max}
		if got := fees.NextBaseFee(parent(c.GasUsed, c.GasLimit, c.BaseFee), p); got != c.Next {
			t.Errorf("%+v: got %d, want %d", c, got, c.Next)
		}
	}
}

func TestPrice(t *testing.T) {
	const largest = types.Amount(1<<64 - 1)
	tests := []struct {
		name                               string
		baseFee, maxFee, maxPriority, want types.Amount
	}{
		{"no priority fee", 10, 20, 0, 10},
		{"the priority fee fits", 10, 20, 4, 14},
		{"the priority fee fits just so", 10, 20, 10, 20},
		{"the priority fee is cut", 10, 20, 11, 20},
		{"nothing is left for it", 20, 20, 20, 20},
		{"the largest fees", 10, largest, largest, largest},
		{"a priority fee below the largest fee", 10, largest, 5, 15},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := fees.Price(test.baseFee, test.maxFee, test.maxPriority); got != test.want {
				t.Errorf("got %d, want %d", got, test.want)
			}
		})
	}
}

// parent returns a header with the fields that determine the base fee.
func parent(used, limit types.Gas, base types.Amount) types.Header {
	return types.Header{GasUsed: used, GasLimit: limit, BaseFee: base}
}

func TestNextBaseFee(t *testing.T) {
	const limit, target = 1_000_000_000, 500_000_000
	const largest = 1<<53 - 1
	tests := []struct {
		name              string
		base              types.Amount
		used              types.Gas
		smallest, highest types.Amount
		want              types.Amount
	}{
		{"the document's first", 10, 0, 10, 1_000_000, 10},
		{"the document's second", 10, 0, 8, 1_000_000, 9},
		{"the document's third", 100, limit, 8, 1_000_000, 112},
		{"at the target", 100, target, 8, 1_000_000, 100},
		{"a gas over the target", 100, target + 1, 8, 1_000_000, 101},
		{"a gas under the target", 100, target - 1, 8, 1_000_000, 99},
		{"halfway up", 1_600, 750_000_000, 8, 1_000_000, 1_700},
		{"halfway down", 1_600, 250_000_000, 8, 1_000_000, 1_500},
		{"an empty block", 1_600, 0, 8, 1_000_000, 1_400},
		{"up is rounded down", 1_607, limit, 8, 1_000_000, 1_807},
		{"at the upper bound", 1_000_000, limit, 8, 1_000_000, 1_000_000},
		{"over the upper bound", 999_999, limit, 8, 1_000_000, 1_000_000},
		{"a new upper bound", 1_000, target, 8, 500, 500},
		{"a new lower bound", 1_000, target, 2_000, 3_000, 2_000},
		{"no base fee at all", 0, 0, 8, 1_000_000, 8},
		{"the largest", largest, limit, 8, largest, largest},
		{"down from the largest", largest, 0, 8, largest, largest - largest/8},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			p := types.Parameters{TargetBPS: 5_000, MinBaseFee: test.smallest, MaxBaseFee: test.highest}
			if got := fees.NextBaseFee(parent(test.used, limit, test.base), p); got != test.want {
				t.Errorf("got %d, want %d", got, test.want)
			}
		})
	}
}

// next computes docs/protocol.md's formula literally, with integers of any size.
func next(h types.Header, p types.Parameters) *big.Int {
	number := func(v uint64) *big.Int { return new(big.Int).SetUint64(v) }
	target := number(uint64(h.GasLimit))
	target.Mul(target, number(uint64(p.TargetBPS))).Div(target, number(10_000))
	base, used := number(uint64(h.BaseFee)), number(uint64(h.GasUsed))
	distance := new(big.Int).Sub(used, target)
	delta := new(big.Int).Mul(base, new(big.Int).Abs(distance))
	delta.Div(delta, target).Div(delta, number(8))
	if delta.Sign() == 0 {
		delta.SetInt64(1)
	}
	switch distance.Sign() {
	case 1:
		base.Add(base, delta)
	case -1:
		if base.Cmp(delta) < 0 {
			delta.Set(base)
		}
		base.Sub(base, delta)
	}
	if lowest := number(uint64(p.MinBaseFee)); base.Cmp(lowest) < 0 {
		return lowest
	}
	if highest := number(uint64(p.MaxBaseFee)); base.Cmp(highest) > 0 {
		return highest
	}
	return base
}

// spread draws numbers of all magnitudes between the bounds: rapid alone prefers small ones and the bounds.
func spread(t *rapid.T, name string, from, to uint64) uint64 {
	return min(to, from+rapid.Uint64Range(0, to-from).Draw(t, name)>>rapid.IntRange(0, 40).Draw(t, name+" shift"))
}

// The recurrence equals the formula over the whole range of valid parameters. The parent's gas limit and base fee obey
// other parameters than those in force after the parent, as a Configure may have changed them.
func TestNextBaseFeeAgainstModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit := spread(t, "gas limit", uint64(params.MinGasLimit), uint64(params.MaxGasLimit))
		base := spread(t, "base fee", uint64(params.MinBaseFee), uint64(params.MaxBaseFee))
		smallest := spread(t, "min base fee", uint64(params.MinBaseFee), uint64(params.MaxBaseFee))
		p := types.Parameters{
			TargetBPS:  rapid.Uint16Range(1, 9_999).Draw(t, "target"),
			MinBaseFee: types.Amount(smallest),
			MaxBaseFee: types.Amount(spread(t, "max base fee", smallest, uint64(params.MaxBaseFee))),
		}
		h := parent(types.Gas(spread(t, "gas used", 0, limit)), types.Gas(limit), types.Amount(base))
		if rapid.Bool().Draw(t, "full") {
			h.GasUsed = h.GasLimit
		}
		want := next(h, p)
		if got := fees.NextBaseFee(h, p); uint64(got) != want.Uint64() {
			t.Fatalf("got %d, want %d", got, want)
		}
	})
}

// The quotient is largest if the target's share is smallest and rounding takes the most of it.
func TestNextBaseFeeAtItsLargestQuotient(t *testing.T) {
	p := types.Parameters{TargetBPS: 1, MinBaseFee: 1, MaxBaseFee: params.MaxBaseFee}
	h := parent(3_009_999, 3_009_999, params.MaxBaseFee)
	if got := fees.NextBaseFee(h, p); got != params.MaxBaseFee {
		t.Errorf("got %d, want %d", got, params.MaxBaseFee)
	}
}

// A raised base fee falls to the minimum again: a step is at least 1.
func TestBaseFeeComesDown(t *testing.T) {
	p := types.Parameters{TargetBPS: 5_000, MinBaseFee: params.MinBaseFee, MaxBaseFee: params.MaxBaseFee}
	base := params.MaxBaseFee
	for range 400 {
		lower := fees.NextBaseFee(parent(0, 1_000_000_000, base), p)
		if lower >= base && base > params.MinBaseFee {
			t.Fatalf("%d is followed by %d", base, lower)
		}
		base = lower
	}
	if base != params.MinBaseFee {
		t.Errorf("after 400 empty blocks it is %d, want %d", base, params.MinBaseFee)
	}
}
