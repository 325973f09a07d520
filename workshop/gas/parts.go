package main

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/cairn-chain/cairn/crypto"
	"github.com/cairn-chain/cairn/internal/protocol/exec"
	"github.com/cairn-chain/cairn/internal/protocol/fees"
	"github.com/cairn-chain/cairn/internal/protocol/params"
	"github.com/cairn-chain/cairn/internal/protocol/state"
	"github.com/cairn-chain/cairn/internal/protocol/vm"
	"github.com/cairn-chain/cairn/types"
	"github.com/cairn-chain/cairn/workshop/internal/hunt"
)

// parts splits the gas of a transaction. code is the cost of entering contracts apart from their memory, plus the cost
// of compiling a deploy: everything that is none of the other parts.
type parts struct{ total, intrinsic, code, memory, instructions, host types.Gas }

func (p *parts) all() []*types.Gas {
	return []*types.Gas{&p.total, &p.intrinsic, &p.code, &p.memory, &p.instructions, &p.host}
}

// meter is an engine that splits the gas of the calls that it runs.
type meter struct {
	vm.Engine
	parts
	depth int
}

// Run implements [vm.Engine].
func (m *meter) Run(
	hash types.CodeHash, module *vm.Module, function string, host vm.Host, gas *vm.Gas,
) (vm.Exit, error) {
	page := params.Prices.MemoryPage
	if m.depth > 0 {
		page = params.Prices.MemoryGrowPage
	}
	memory := page * types.Gas(module.Pages())
	before := gas.Left
	h := &meteredHost{Host: host, meter: m}
	m.depth++
	exit, err := m.Engine.Run(hash, module, function, h, gas)
	m.depth--
	used := before - gas.Left
	m.memory += memory + h.grown
	m.instructions += types.Gas(used) - h.used - h.grown
	return exit, err
}

type meteredHost struct {
	vm.Host
	meter       *meter
	used, grown types.Gas // gas used by host functions and the calls below them; gas used by memory.grow
}

// Invoke implements [vm.Host].
func (h *meteredHost) Invoke(function vm.Function, memory vm.Memory, stack []uint64, gas *vm.Gas) (vm.Exit, error) {
	before := gas.Left
	exit, err := h.Host.Invoke(function, memory, stack, gas)
	used := before - gas.Left
	h.used += types.Gas(used)
	if function != vm.Call && function != vm.CallView && function != vm.Create { // what is left of a call counts as code
		h.meter.host += types.Gas(used)
	}
	return exit, err
}

// Grow implements [vm.Host].
func (h *meteredHost) Grow(memory vm.Memory, pages uint32) bool {
	h.grown += params.Prices.MemoryGrowPage * types.Gas(pages)
	return h.Host.Grow(memory, pages)
}

// world is a committed state with the codes of its contracts.
type world struct {
	values map[string][]byte
	codes  map[types.CodeHash][]byte
}

// Get implements [state.Reader].
func (w world) Get(key []byte) ([]byte, error) { return w.values[string(key)], nil }

// Code implements [exec.Codes].
func (w world) Code(hash types.CodeHash) ([]byte, error) { return w.codes[hash], nil }

func (w world) nonce(of types.Account) (n uint64, _ error) {
	record, err := state.DecodeAccount(of, w.values[string(state.AccountKey(of))])
	return record.Nonce, err
}

// market is a chain without disk and tree, for calling contracts.
type market struct {
	world
	head    types.Header
	modules string // directory of the compiled examples
	meter   *meter
	rows    []row
	silent  bool  // whether to record nothing
	err     error // first error, after which nothing is done
}

type row struct {
	name string
	parts
}

// person is the name of a user with coins.
type person string

func (p person) key() crypto.PrivateKey {
	key, err := crypto.NewPrivateKey(sha256.Sum256([]byte(p)))
	if err != nil {
		panic(err) // about one name in 2^127 has no valid key
	}
	return key
}

func (p person) account() types.Account { return p.key().PublicKey() }

func newMarket(engine vm.Engine, modules string, people ...person) (*market, error) {
	genesis := types.Genesis{
		ChainID: 1, Network: types.Regtest, Time: 1_735_689_600_000, BaseFee: params.DefaultMinBaseFee,
		Parameters: params.Default(person("producer").key().PublicKey()),
	}
	for _, p := range people {
		genesis.Allocations = append(genesis.Allocations, types.Allocation{
			Account: p.account(), Balance: 1_000_000 * types.CoinUnits,
		})
	}
	slices.SortFunc(genesis.Allocations, func(a, b types.Allocation) int { return a.Account.Compare(b.Account) })
	block, err := exec.Genesis(genesis)
	if err != nil {
		return nil, err
	}
	m := &market{
		world:   world{map[string][]byte{}, map[types.CodeHash][]byte{}},
		head:    block.Header,
		modules: modules,
		meter:   &meter{Engine: engine},
	}
	m.commit(block.Accesses)
	return m, nil
}

func (m *market) commit(accesses []types.Access) {
	for _, a := range types.Writes(accesses) {
		m.values[string(a.Key)] = a.New
	}
}

// send makes a block of a transaction, which must succeed. It records the parts of the gas under a name, unless the
// name is empty.
func (m *market) send(name string, from person, action hunt.Action) (receipt types.Receipt) {
	if m.err != nil {
		return receipt
	}
	receipt, err := m.block(from, action)
	if err != nil {
		m.err = fmt.Errorf("%s: %w", name, err)
		return receipt
	}
	p := m.meter.parts
	p.total, p.intrinsic = receipt.GasUsed, fees.PayloadGas(action.Payload)+fees.WitnessGas(nil)
	p.code = p.total - p.intrinsic - p.memory - p.instructions - p.host
	if name != "" && !m.silent {
		m.rows = append(m.rows, row{name, p})
	}
	return receipt
}

func (m *market) block(from person, action hunt.Action) (receipt types.Receipt, err error) {
	p, err := exec.ReadParameters(m.world)
	if err != nil {
		return receipt, err
	}
	template, err := exec.HeaderTemplate(m.head, p, m.head.Timestamp+1_000)
	if err != nil {
		return receipt, err
	}
	nonce, err := m.nonce(from.account())
	if err != nil {
		return receipt, err
	}
	signed, err := types.Sign(types.Transaction{
		Sender:       from.account(),
		Target:       action.Target,
		ChainID:      1,
		Nonce:        nonce,
		GasLimit:     p.GasLimit,
		MaxFeePerGas: template.BaseFee,
		Value:        action.Value,
		Payload:      action.Payload,
	}, from.key(), [32]byte{})
	if err != nil {
		return receipt, err
	}
	m.meter.parts = parts{}
	run := exec.Begin(types.Regtest, p, m.world, template, exec.Machine{Engine: m.meter, Codes: m.world})
	if _, err := run.Apply(types.VerifyWitnesses(types.Regtest, types.NewTxs(signed))[0]); err != nil {
		return receipt, err
	}
	result, err := run.Finish()
	if err != nil {
		return receipt, err
	}
	m.head = result.Header
	maps.Copy(m.codes, result.Codes)
	m.commit(result.Accesses)
	receipt = result.Receipts[0]
	if result.Reasons[0] != exec.Success {
		return receipt, errors.New(string(result.Reasons[0]) + ": " + string(receipt.Output))
	}
	return receipt, nil
}

type arguments = map[string]any

func (m *market) encode(args any) []byte {
	if raw, ok := args.([]byte); args == nil || ok {
		return raw
	}
	encoded, err := json.Marshal(args)
	m.err = errors.Join(m.err, err)
	return encoded
}

// deploy deploys an example under its name.
func (m *market) deploy(module string, args any) *shop {
	code, err := os.ReadFile(filepath.Join(m.modules, module+".wasm"))
	m.err = errors.Join(m.err, err)
	receipt := m.send(module+": deploy", alice, hunt.Action{
		Payload: types.Deploy{Name: module, Code: code, InitArgs: m.encode(args)},
	})
	s := &shop{market: m, module: module, code: code}
	if m.err == nil {
		s.ContractID = *receipt.Contract
	}
	return s
}

// shop is a contract of a market.
type shop struct {
	types.ContractID
	market *market
	module string
	code   []byte
}

// prepare calls a function only for its effects.
func (s *shop) prepare(from person, function string, args any, value ...types.Amount) {
	s.send("", from, function, args, value)
}

// call calls a function and records the parts of its gas.
func (s *shop) call(from person, function string, args any, value ...types.Amount) {
	s.send(s.module+": "+function, from, function, args, value)
}

func (s *shop) send(name string, from person, function string, args any, value []types.Amount) {
	call := hunt.Action{
		Target: types.Account(s.ContractID), Payload: types.Call{Function: function, Args: s.market.encode(args)},
	}
	for _, v := range value {
		call.Value = v
	}
	s.market.send(name, from, call)
}
