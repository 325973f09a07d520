package main

import (
	"encoding/binary"
	"math/rand/v2"
	"slices"

	cairn "github.com/cairn-chain/cairn/crypto"
	"github.com/cairn-chain/cairn/internal/protocol/params"
	"github.com/cairn-chain/cairn/internal/testkit/probe"
	"github.com/cairn-chain/cairn/types"
)

const (
	largeCodes = 22      // together they exceed the load of a block
	largeBytes = 230_000 // of a code: three exceed the load of a transaction
)

// limits compares verdicts on blocks at the limits of a block's load and bytes.
func (m *mutator) limits(r *rand.Rand, cases int) error {
	s, loads, longs, err := newPool(r, m)
	if err != nil {
		return err
	}
	for end := min(cases, m.cases+500); m.cases < end; {
		pool := pick(r, [][]types.SignedTransaction{loads, longs, slices.Concat(loads, longs)})
		r.Shuffle(len(pool), func(i, j int) { pool[i], pool[j] = pool[j], pool[i] })
		n := min(20, len(pool)/2+r.IntN(1+len(pool)/2))
		if err := s.judge(pool[:n], s.chain.parent.Timestamp+1000); err != nil {
			return err
		}
	}
	return nil
}

// newPool makes a chain with large contracts and small limits, and transactions of different accounts that load those
// contracts or are long.
func newPool(r *rand.Rand, m *mutator) (s *scene, loads, longs []types.SignedTransaction, err error) {
	w := &world{keys: map[types.Account]cairn.PrivateKey{}, authorities: map[types.Account]*authority{}, producer: newKey(r)}
	g := types.Genesis{
		ChainID: r.Uint64(), Network: types.Regtest, Time: 1_700_000_000_000, Parameters: params.Default(w.producer.PublicKey()),
	}
	g.Parameters.GasLimit, g.BaseFee = 1<<34, g.Parameters.MinBaseFee
	for range largeCodes + 20 {
		g.Allocations = append(g.Allocations, types.Allocation{Account: w.newKey(r), Balance: 1 << 50})
	}
	slices.SortFunc(g.Allocations, func(a, b types.Allocation) int { return a.Account.Compare(b.Account) })
	g.Parameters.Admin = g.Allocations[0].Account
	c, err := m.begin(g, true)
	if err != nil {
		return nil, nil, nil, err
	}
	s = &scene{mutator: m, world: w, chain: c}
	var deploys []types.SignedTransaction
	var ids []types.Account
	for i := range largeCodes {
		_, plain, _ := probe.Modules()
		tx := s.plain(g.Allocations[i].Account, types.Deploy{Name: "large", Code: padded(r, plain)})
		tx.GasLimit = 400_000_000
		deploys = append(deploys, s.sign(r, tx, false))
		ids = append(ids, types.Account(types.NewContractID(tx.Sender, 0)))
	}
	small := g.Parameters
	small.GasLimit, small.BlockBytes = 100_000_000, 1<<20
	configure := s.plain(small.Admin, types.Configure{Parameters: small})
	configure.Nonce++
	if err := s.extend(g.Time+1000, append(deploys, s.sign(r, configure, false))...); err != nil {
		return nil, nil, nil, err
	}
	for i, a := range g.Allocations {
		tx := s.plain(a.Account, types.Call{Function: "none", Args: make([]byte, 65_000+r.IntN(500))})
		tx.Target, tx.GasLimit = types.Account(scalar(r)), 3_000_000
		if i < largeCodes {
			tx.Payload, tx.Target = loading(r, ids), types.Account{}
			loads = append(loads, s.sign(r, tx, false))
		} else {
			longs = append(longs, s.sign(r, tx, false))
		}
	}
	return s, loads, longs, nil
}

// padded returns a module with a custom section without a meaning.
func padded(r *rand.Rand, module []byte) []byte {
	content := append([]byte{1, 'x'}, make([]byte, largeBytes)...)
	binary.LittleEndian.PutUint64(content[2:], r.Uint64())
	section := binary.AppendUvarint([]byte{0}, uint64(len(content)))
	return slices.Concat(module, section, content)
}

// loading returns a batch of calls of large contracts.
func loading(r *rand.Rand, ids []types.Account) types.Batch {
	batch := types.Batch{Steps: make([]types.Step, 2+r.IntN(2))}
	if r.IntN(8) == 0 {
		batch.Steps = make([]types.Step, 4) // the fourth exceeds the load, if all differ
	}
	for i := range batch.Steps {
		call := types.Call{Function: "self", Args: probe.Given(32, nil, probe.Result)}
		batch.Steps[i] = types.Step{Target: pick(r, ids), Action: call}
	}
	return batch
}
