package main

import (
	"math/rand/v2"
	"strings"

	"github.com/cairn-chain/cairn/internal/protocol/fees"
	"github.com/cairn-chain/cairn/internal/protocol/params"
	"github.com/cairn-chain/cairn/types"
)

// maker makes transactions, nearly all of them valid.
type maker struct {
	*world
	chainID uint64
	network types.Network
	present types.Parameters
	baseFee types.Amount
	at      view

	contracts []deployed // of the chain
	codes     bool       // whether payloads may run contracts
	extra     types.Gas  // gas of the last payload beyond the intrinsic gas
}

// edge returns a number near a limit.
func edge(r *rand.Rand) uint64 {
	edges := []uint64{
		0, 1, 2, 16, 17, 64, 65, 255, 256, 9999, 10_000, 65_535, 65_536, 1 << 20, 1 << 25, 1<<32 - 1, 1 << 32, 1 << 40,
		1<<40 + 1, 1<<53 - 1, 1 << 53, types.MaxTime, types.MaxTime + 1, 1<<63 - 1, 1 << 63, 1<<64 - 2, 1<<64 - 1,
	}
	if r.IntN(4) == 0 {
		return r.Uint64() >> r.IntN(64)
	}
	return pick(r, edges)
}

// text returns a name of a function or a contract.
func text(r *rand.Rand) string {
	switch r.IntN(4) {
	case 0:
		return ""
	case 1:
		return "transfer"
	case 2:
		return strings.Repeat("ä", 1+r.IntN(33)) // 66 bytes are too many
	default:
		return strings.Repeat("x", r.IntN(66))
	}
}

func data(r *rand.Rand) []byte {
	b := make([]byte, pick(r, []int{0, 1, 3, 20, 32, 200, 1024, 1025}))
	printable := r.IntN(2) == 0
	for i := range b {
		if b[i] = byte(r.Uint32()); printable {
			b[i] = 0x20 + b[i]%0x5f
		}
	}
	return b
}

func memo(r *rand.Rand) *[32]byte {
	m := scalar(r)
	switch r.IntN(4) {
	case 0:
		return nil
	case 1:
		m = [32]byte{}
		copy(m[:], "rent")
	case 2:
		m = [32]byte{}
	}
	return &m
}

func (m *maker) payload(r *rand.Rand) types.Payload {
	switch r.IntN(12) {
	case 0, 1, 2:
		return types.Transfer{Memo: memo(r)}
	case 3:
		return types.Deploy{Name: text(r), Code: data(r), InitArgs: data(r)}
	case 4:
		return types.Call{Function: text(r), Args: data(r)}
	case 5, 6:
		return types.Configure{Parameters: m.parameters(r)}
	case 7, 8:
		batch := types.Batch{Steps: make([]types.Step, 1+r.IntN(4))}
		if r.IntN(20) == 0 { // about as many as the longest text allows
			batch.Steps = make([]types.Step, 35+r.IntN(12))
		}
		for i := range batch.Steps {
			batch.Steps[i] = types.Step{Target: m.stranger(r), Value: types.Amount(r.IntN(3)), Action: types.Transfer{Memo: memo(r)}}
			if r.IntN(6) == 0 {
				batch.Steps[i].Action = types.Call{Function: text(r), Args: data(r)}
			}
		}
		return batch
	case 9, 10:
		set := types.SetPolicy{Recovery: r.IntN(3) == 0}
		if r.IntN(4) > 0 {
			policy := m.authorities[pick(r, m.policies)].policy
			set.Policy = &policy
		}
		return set
	default:
		return types.Instantiate{Name: text(r), InitArgs: data(r)}
	}
}

// parameters returns parameters that are mostly a valid change of the present ones.
func (m *maker) parameters(r *rand.Rand) types.Parameters {
	p := m.present
	for range 1 + r.IntN(2) {
		switch r.IntN(11) {
		case 0:
			p.GasLimit = types.Gas(pick(r, []uint64{2_999_999, 3_000_000, 10_000_000, 1 << 40, 1<<40 + 1}))
		case 1:
			p.BlockBytes = pick(r, []uint32{1<<20 - 1, 1 << 20, 1 << 21, 1 << 25, 1<<25 + 1})
		case 2:
			p.TargetBPS = pick(r, []uint16{0, 1, 33, 34, 5000, 9999, 10_000})
		case 3:
			p.MinBaseFee = types.Amount(pick(r, []uint64{0, 1, 10, 1 << 40, 1<<40 + 1}))
		case 4:
			p.MaxBaseFee = types.Amount(pick(r, []uint64{1, 10, 1_000_000, 1<<53 - 1, 1 << 53}))
		case 5:
			p.Producer = types.PublicKey(pick(r, []types.Account{m.account(r), types.Account(scalar(r)), {}}))
		case 6:
			p.FeeRecipient = m.stranger(r)
		case 7:
			p.Admin = m.account(r)
		case 8:
			p.Notice = pick(r, []uint64{0, p.Notice, p.Notice + 1, p.Notice - 1, 1 << 40, 1<<40 + 1})
		case 9:
			p.Upgrade = nil
		default:
			from := pick(r, []uint64{m.at.time + p.Notice, m.at.time + p.Notice - 1, types.MaxTime, types.MaxTime + 1, edge(r)})
			p.Upgrade = &types.Upgrade{Version: pick(r, []uint32{2, 3, 3, 3, 4}), From: from}
		}
	}
	return p
}

// transaction returns a transaction with a random payload.
func (m *maker) transaction(r *rand.Rand) types.Transaction {
	m.extra = 0
	tx := types.Transaction{
		Sender: m.account(r), Target: m.stranger(r), ChainID: m.chainID, Value: types.Amount(r.IntN(1000)),
		MaxFeePerGas: m.baseFee + types.Amount(r.IntN(5)), Payload: m.payload(r),
	}
	if r.IntN(20) == 0 {
		tx.Value = types.Amount(edge(r))
	}
	tx.MaxPriorityFeePerGas = min(types.Amount(r.IntN(4)), tx.MaxFeePerGas)
	set, isSet := tx.Payload.(types.SetPolicy)
	switch tx.Payload.(type) {
	case types.Configure:
		if r.IntN(5) > 0 {
			tx.Sender = m.present.Admin
		}
		tx.Target, tx.Value = types.Account{}, 0
	case types.Batch, types.SetPolicy:
		tx.Target, tx.Value = types.Account{}, 0
	case types.Deploy:
		tx.Target = types.Account{}
	}
	if m.codes && r.IntN(2) == 0 {
		tx.Payload, tx.Target, m.extra = m.contractPayload(r)
		if _, ok := tx.Payload.(types.Batch); ok {
			tx.Value = 0
		} else {
			tx.Value = types.Amount(r.IntN(2) * r.IntN(1000))
		}
		isSet = false
	}
	tx.Nonce = m.at.record(tx.Sender).Nonce
	if r.IntN(4) == 0 || isSet && set.Recovery {
		payer := m.account(r)
		tx.Payer = &payer
	}
	if r.IntN(4) == 0 {
		until := pick(r, []uint64{m.at.time, m.at.time + 1000, types.MaxTime})
		tx.ValidUntil = &until
	}
	return tx
}

// signed adds the witnesses of a transaction, and sets its gas limit slightly above the needed gas.
func (m *maker) signed(r *rand.Rand, tx types.Transaction) types.SignedTransaction {
	state, inc := r.Uint64(), r.Uint64()
	again := func() *rand.Rand { return rand.New(rand.NewPCG(state, inc)) }
	trial := m.sign(again(), m.network, m.at, tx)
	gas := fees.IntrinsicGas(&trial)
	if !m.at.record(tx.Sender).Exists() {
		gas += params.Prices.NewAccount
	}
	tx.GasLimit = gas + m.extra + types.Gas(pick(r, []int{0, 0, 1, 90_000, 100_000, 120_000, 240_000}))
	return m.sign(again(), m.network, m.at, tx)
}
