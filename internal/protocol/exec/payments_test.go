package exec

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/cairn-chain/cairn/crypto"
	"github.com/cairn-chain/cairn/internal/protocol/fees"
	"github.com/cairn-chain/cairn/internal/protocol/state"
	"github.com/cairn-chain/cairn/internal/protocol/vm"
	"github.com/cairn-chain/cairn/types"
)

func TestPayments(t *testing.T) {
	from, to := types.Account{1}, types.Account{2}
	contract, created := types.ContractID{3}, types.Account(types.NewContractID(from, 7))
	paid := types.Log{Name: types.NativeTransfer, Topics: [][32]byte{contract, to}, Data: le64(9)}
	changed := func(change func(*types.Log)) types.Log {
		log := paid
		log.Topics = slices.Clone(paid.Topics)
		change(&log)
		return log
	}
	memo := &[32]byte{7}
	step := types.Log{Name: types.NativeTransfer, Topics: [][32]byte{from, to}, Data: append(le64(3), memo[:]...)}
	call, transfer := calling(contract, "", 5), pay(to, 5)
	for name, tc := range map[string]struct {
		action action
		failed bool
		logs   []types.Log
		want   []Payment
	}{
		"transfer":  {transfer, false, nil, []Payment{{PaidByTransfer, from, to, 5, nil, 0}}},
		"to itself": {pay(from, 5), false, nil, []Payment{{PaidByTransfer, from, from, 5, nil, 0}}},
		"with a memo": {action{to, 5, types.Transfer{Memo: memo}}, false, nil,
			[]Payment{{PaidByTransfer, from, to, 5, memo, 0}}},
		"transfer of 0":      {pay(to, 0), false, nil, nil},
		"transfer that fail": {transfer, true, nil, nil},
		"deploy":             {deploying(5, types.Deploy{}), false, nil, []Payment{{PaidByDeploy, from, created, 5, nil, 0}}},
		"instantiate": {instantiating(contract, 5, types.Instantiate{}), false, nil,
			[]Payment{{PaidByInstantiate, from, created, 5, nil, 0}}},
		"configure":       {with(types.Configure{}), false, nil, nil},
		"set_policy":      {with(types.SetPolicy{}), false, []types.Log{{Name: types.PolicySet}}, nil},
		"call":            {call, false, nil, []Payment{{PaidByCall, from, types.Account(contract), 5, nil, 0}}},
		"call that fails": {call, true, []types.Log{paid}, nil},
		"call that pays": {calling(contract, "", 0), false, []types.Log{{Contract: contract, Name: "E"}, paid},
			[]Payment{{PaidByContract, types.Account(contract), to, 9, nil, 2}}},
		"deploy that pays": {deploying(5, types.Deploy{}), false, []types.Log{paid, paid}, []Payment{
			{PaidByDeploy, from, created, 5, nil, 0},
			{PaidByContract, types.Account(contract), to, 9, nil, 1},
			{PaidByContract, types.Account(contract), to, 9, nil, 2},
		}},
		"batch": {batch(action{to, 3, types.Transfer{Memo: memo}}), false, []types.Log{step, paid}, []Payment{
			{PaidByBatch, from, to, 3, memo, 1}, {PaidByContract, types.Account(contract), to, 9, nil, 2},
		}},
		"batch that fails": {batch(transfer), true, nil, nil},
		"a contract's own event": {call, false, []types.Log{changed(func(l *types.Log) { l.Contract = contract })},
			[]Payment{{PaidByCall, from, types.Account(contract), 5, nil, 0}}},
		"another name": {calling(contract, "", 0), false,
			[]types.Log{changed(func(l *types.Log) { l.Name = "Transfer" })}, nil},
		"a topic more": {calling(contract, "", 0), false, []types.Log{changed(func(l *types.Log) {
			l.Topics = append(l.Topics, to)
		})}, nil},
		"a topic less": {calling(contract, "", 0), false,
			[]types.Log{changed(func(l *types.Log) { l.Topics = l.Topics[:1] })}, nil},
		"a shorter amount": {calling(contract, "", 0), false,
			[]types.Log{changed(func(l *types.Log) { l.Data = l.Data[:7] })}, nil},
		"a shorter memo": {calling(contract, "", 0), false,
			[]types.Log{changed(func(l *types.Log) { l.Data = make([]byte, 39) })}, nil},
	} {
		receipt := types.Receipt{Status: types.StatusSuccess, Logs: tc.logs}
		if tc.failed {
			receipt.Status = types.StatusFailed
		}
		tx := types.Transaction{Sender: from, Nonce: 7}
		tc.action.in(&tx)
		if got := AppendPayments(nil, &tx, &receipt); !reflect.DeepEqual(got, tc.want) {
			t.Errorf("%s: %+v, want %+v", name, got, tc.want)
		}
	}
}

// spender makes random transactions and contracts that pay, call one another, fail, and emit events that only look like
// payments.
type spender struct {
	*testChain
	r         *rand.Rand
	engine    *scripted
	contracts []types.ContractID
	depth     int // of nested calls
	ran       map[string]int
}

func (s *spender) party() types.Account {
	parties := []types.Account{account(alice), account(bob), collector, {0xf1, byte(s.r.IntN(20))}}
	for _, id := range s.contracts {
		parties = append(parties, types.Account(id))
	}
	return parties[s.r.IntN(len(parties))]
}

func (s *spender) act(g *guest) {
	s.depth++
	defer func() { s.depth-- }()
	for range s.r.IntN(4) {
		switch to := s.party(); s.r.IntN(4) {
		case 0:
			topics := append(slices.Clone(to[:]), to[:]...)
			name, n := g.text(0x100, types.NativeTransfer)
			g.call(vm.Emit, name, n, g.put(0x200, topics), 2, g.put(0x300, le64(77)), 8)
		case 1:
			if s.depth < 4 {
				code := g.nested(s.contracts[s.r.IntN(len(s.contracts))], "act", types.Amount(s.r.IntN(40)), "")
				s.ran[fmt.Sprint("nested ", code)]++
			}
		default:
			s.ran[fmt.Sprint("transfer ", g.call(vm.Transfer, g.put(0x80, to[:]), s.r.Uint64N(60)))]++
		}
	}
	switch s.r.IntN(12) {
	case 0:
		g.call(vm.Revert, 0, 0)
	case 1:
		g.trap()
	}
}

// action returns a random transaction's action, with the gas for it.
func (s *spender) action() (action, types.Gas) {
	value := types.Amount(s.r.IntN(200))
	contract := s.contracts[s.r.IntN(len(s.contracts))]
	switch s.r.IntN(10) {
	case 0:
		code := s.engine.code("deployed", 2, map[string]script{"init": s.act, "act": s.act})
		return deploying(value, types.Deploy{Name: "d", Code: code}), 20_000_000
	case 1:
		if s.r.IntN(4) == 0 {
			contract = types.ContractID(s.party()) // possibly an account without a contract
		}
		return instantiating(contract, value, types.Instantiate{Name: "i"}), 20_000_000
	case 2, 3, 4:
		return pay(s.party(), value), []types.Gas{30_000, 150_000}[s.r.IntN(2)]
	case 5, 6:
		var steps []action
		for range 1 + s.r.IntN(4) {
			steps = append(steps, pay(s.party(), types.Amount(s.r.IntN(50))))
			if s.r.IntN(2) == 0 {
				steps = append(steps, calling(s.contracts[s.r.IntN(len(s.contracts))], "act", types.Amount(s.r.IntN(50))))
			}
		}
		return batch(steps...), 20_000_000
	default:
		return calling(contract, "act", value), 20_000_000
	}
}

// TestPaymentsAreAllThatMovesCoins has blocks of random transactions: an account's balance changes by exactly its
// payments and fees.
func TestPaymentsAreAllThatMovesCoins(t *testing.T) {
	ran := map[string]int{}
	for seed := range uint64(40) {
		c, e := withMachine(t)
		s := &spender{testChain: c, r: rand.New(rand.NewPCG(seed, 1)), engine: e, ran: ran}
		for i := range 3 {
			s.contracts = append(s.contracts, c.deploy(e, fmt.Sprint("payer ", i), 500, map[string]script{"act": s.act}))
		}
		for range 6 {
			s.block(ran)
		}
	}
	for _, needed := range []string{
		"transfer 0", "transfer 5", "nested 0", "nested 1", "nested 2", "transfer to itself", "contract to itself",
		"failed transfer", "failed deploy", "failed call", "failed batch", "failed instantiate", "deploy", "instantiate", "call",
		"batch", "batch to itself", "contract", "sponsored",
	} {
		if ran[needed] < 5 {
			t.Errorf("%q came %d times only: got %v", needed, ran[needed], ran)
		}
	}
}

// block makes a block, and compares its payments with the model's.
func (s *spender) block(ran map[string]int) {
	s.t.Helper()
	before, nonces := s.balances(), map[types.Account]uint64{}
	var txs []*types.VerifiedTx
	for range 1 + s.r.IntN(5) {
		key := []crypto.PrivateKey{alice, bob}[s.r.IntN(2)]
		what, gas := s.action()
		edit := func(tx *types.Transaction) { tx.GasLimit = gas; tx.Nonce += nonces[account(key)] }
		if payer := []crypto.PrivateKey{alice, bob, producer}[s.r.IntN(3)]; s.r.IntN(3) == 0 && account(payer) != account(key) {
			txs = append(txs, s.sponsored(key, payer, what, edit))
		} else {
			txs = append(txs, s.transfer(key, what.in, edit))
		}
		nonces[account(key)]++
	}
	result := s.testChain.block(txs...)
	want := before
	for i := range result.Receipts {
		tx, receipt := &txs[i].Signed().Transaction, &result.Receipts[i]
		kind := tx.Payload.Kind().String()
		if receipt.Status == types.StatusFailed {
			ran["failed "+kind]++
		}
		if tx.Payer != nil {
			ran["sponsored"]++
		}
		price := fees.Price(result.Header.BaseFee, tx.MaxFeePerGas, tx.MaxPriorityFeePerGas)
		want[payerOf(tx)] -= types.Amount(receipt.GasUsed) * price
		want[collector] += types.Amount(receipt.GasUsed) * (price - result.Header.BaseFee)
		for _, p := range AppendPayments(nil, tx, receipt) {
			ran[string(p.Kind)]++
			if p.From == p.To {
				ran[string(p.Kind)+" to itself"]++
			}
			want[p.From] -= p.Amount
			want[p.To] += p.Amount
		}
		if receipt.Contract != nil {
			s.contracts = append(s.contracts, *receipt.Contract)
		}
	}
	after := s.balances()
	for account := range after {
		if after[account] != want[account] {
			s.t.Fatalf("block %d: %s has %d, its payments give %d", result.Header.Height, account, after[account], want[account])
		}
	}
	for account := range want {
		if want[account] != after[account] {
			s.t.Fatalf("block %d: %s has nothing, its payments give %d", result.Header.Height, account, want[account])
		}
	}
}

// balances are all of the state.
func (s *spender) balances() map[types.Account]types.Amount {
	s.t.Helper()
	balances := map[types.Account]types.Amount{}
	for key := range s.state {
		if state.Domain(key[0]) == state.DomainAccount {
			a := types.Account([]byte(key[1:]))
			balances[a] = s.testChain.state.account(s.t, a).Balance
		}
	}
	return balances
}
