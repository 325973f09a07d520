package main

import (
	"crypto/sha256"
	"math/rand/v2"
	"slices"

	"github.com/cairn-chain/cairn/internal/protocol/exec"
	"github.com/cairn-chain/cairn/internal/protocol/vm"
	"github.com/cairn-chain/cairn/internal/testkit/probe"
	"github.com/cairn-chain/cairn/internal/testkit/wasmgen"
	"github.com/cairn-chain/cairn/types"
)

// codes holds the codes of a chain's contracts.
type codes map[types.CodeHash][]byte

// Code implements [exec.Codes].
func (c codes) Code(hash types.CodeHash) ([]byte, error) { return c[hash], nil }

// machine runs contracts if the chain has an engine.
func (c *chain) machine() exec.Machine {
	if c.engine == nil {
		return exec.Machine{}
	}
	return exec.Machine{Engine: c.engine, Codes: c.codes}
}

// deployed is a contract that can be called.
type deployed struct {
	id     types.ContractID
	probes bool // otherwise it has the single function run
}

// module returns the code of a new contract: a probe or a random module.
func module(r *rand.Rand) []byte {
	whole, plain, wide := probe.Modules()
	switch r.IntN(6) {
	case 0, 1:
		return whole
	case 2:
		return plain
	case 3:
		return wide
	default:
		return wasmgen.Random(r).Encode()
	}
}

// contractPayload returns a payload about contracts, its target, and its gas beyond the intrinsic gas.
func (m *maker) contractPayload(r *rand.Rand) (types.Payload, types.Account, types.Gas) {
	if len(m.contracts) == 0 || r.IntN(12) == 0 {
		code, args := module(r), data(r)
		if r.IntN(3) > 0 {
			args = nil
		}
		return types.Deploy{Name: text(r), Code: code, InitArgs: args}, types.Account{}, types.Gas(20_000_000 + r.IntN(60_000_000))
	}
	if r.IntN(8) == 0 {
		args := append([]byte{byte(pick(r, []int{0, 1, 0xfe, 0xff}))}, data(r)...)
		return types.Instantiate{Name: "x", InitArgs: args}, types.Account(pick(r, m.contracts).id), 600_000
	}
	if r.IntN(6) == 0 {
		batch := types.Batch{Steps: make([]types.Step, 1+r.IntN(4))}
		for i := range batch.Steps {
			call, to := m.contractCall(r)
			batch.Steps[i] = types.Step{Target: to, Value: types.Amount(r.IntN(3)), Action: call}
			if r.IntN(3) == 0 {
				batch.Steps[i].Target, batch.Steps[i].Action = m.stranger(r), types.Transfer{Memo: memo(r)}
			}
		}
		return batch, types.Account{}, types.Gas(r.IntN(3_000_000))
	}
	call, to := m.contractCall(r)
	return call, to, types.Gas(pick(r, []int{20_000, 60_000, 300_000, 900_000, 2_000_000}))
}

func (m *maker) contractCall(r *rand.Rand) (types.Call, types.Account) {
	to := pick(r, m.contracts)
	if !to.probes {
		return types.Call{Function: "run", Args: data(r)}, types.Account(to.id)
	}
	function, args := m.probeCall(r, 2)
	return types.Call{Function: function, Args: args}, types.Account(to.id)
}

// parameter returns a pointer, a length or an amount.
func parameter(r *rand.Rand) uint64 {
	return pick(r, []uint64{
		0, 1, 3, 32, 33, 64, 65, 96, 100, 136, 144, 145, 200, 256, 257, probe.Result, probe.Result + 8, probe.Args, probe.Data,
		probe.Data + 32, probe.Data + 64, 2048, 8192, 8193, 16_384, 16_385, 65_504, 65_535, 65_536, 65_537, 1<<32 - 1, 1 << 32,
		1 << 40, 1<<64 - 1,
	})
}

// probeCall returns arguments that give a host function real work, sometimes changed.
func (m *maker) probeCall(r *rand.Rand, depth int) (function string, args []byte) {
	contract := pick(r, m.contracts).id
	account, salt := m.stranger(r), [32]byte{byte(r.IntN(4))}
	f := vm.Functions[r.IntN(len(vm.Functions))]
	var parameters []uint64
	for range f.Params {
		parameters = append(parameters, parameter(r))
	}
	args = probe.Given(uint64(r.IntN(80)), append(contract[:], account[:]...), parameters...)
	switch f.Name {
	case "call", "call_view":
		name, nested := "self", probe.Given(32, nil, probe.Result)
		if depth > 0 {
			name, nested = m.probeCall(r, depth-1)
		}
		args = probe.Call(contract, name, uint64(r.IntN(2)*r.IntN(100)), probe.AllGas, nested)
		if f.Name == "call_view" {
			copy(args[5*8:6*8], args[6*8:7*8])
		}
	case "create":
		given := append([]byte{byte(pick(r, []int{0, 1, 0xfe, 0xff}))}, data(r)...)
		args = probe.Create(contract, salt, text(r), given, uint64(r.IntN(2)), probe.AllGas)
	case "replace_code":
		args = probe.Given(8, contract[:], probe.Data)
	case "transfer", "balance", "code_hash":
		args = probe.Given(48, account[:], probe.Data, pick(r, []uint64{probe.Result + 8, 0, 1, 7}))
	case "storage_read", "storage_write", "storage_delete":
		args = probe.Given(64, nil, probe.Data, uint64(r.IntN(4)), 2048, pick(r, []uint64{0, 1, 64, 144, 145, 200, 16_384}))
	case "account_verify":
		args = m.verified(r)
	case "p256_verify":
		device, digest := newDevice(r), scalar(r)
		point, signature := device.point(), device.sign(digest)
		args = probe.Given(8, slices.Concat(point[:], digest[:], signature[:]), probe.Data, probe.Data+64, probe.Data+96)
	case "schnorr_verify":
		key, said := newKey(r), scalar(r)
		public, signature := key.PublicKey(), schnorr(key, said, scalar(r))
		args = probe.Given(8, slices.Concat(public[:], said[:], signature[:]), probe.Data, probe.Data+32, 32, probe.Data+64)
	}
	if r.IntN(5) == 0 { // replace a parameter
		value := parameter(r)
		for i := range 8 {
			args[8*r.IntN(3)+i] = byte(value >> (8 * i))
		}
	}
	return f.Name, args
}

// verified returns arguments of account_verify for a message to a contract.
func (m *maker) verified(r *rand.Rand) []byte {
	account, contract, said := m.account(r), pick(r, m.contracts).id, []byte("said")
	signed := messageTo(m.network, m.chainID, contract, account, said)
	signed.aux = scalar(r)
	w := m.witness(r, account, m.at.authority(account), signed, false)
	if r.IntN(3) == 0 {
		w = changedWitness(r, w)
	}
	return probe.Verify(account, said, types.EncodeWitness(w))
}

// learn records the contracts that a block made.
func (c *chain) learn(result exec.Result) {
	for hash, code := range result.Codes {
		c.codes[hash] = code
	}
	whole, plain, wide := probe.Modules()
	for i, receipt := range result.Receipts {
		if receipt.Contract == nil {
			continue
		}
		known := deployed{id: *receipt.Contract}
		if deploy, ok := result.Transactions[i].Signed().Payload.(types.Deploy); ok {
			hash := sha256.Sum256(deploy.Code)
			known.probes = hash == sha256.Sum256(whole) || hash == sha256.Sum256(plain) || hash == sha256.Sum256(wide)
		}
		c.contracts = append(c.contracts, known)
	}
}
