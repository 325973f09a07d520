package main

import (
	"math/rand/v2"
	"slices"

	cairn "github.com/cairn-chain/cairn/crypto"
	"github.com/cairn-chain/cairn/internal/protocol/exec"
	"github.com/cairn-chain/cairn/internal/protocol/params"
	"github.com/cairn-chain/cairn/internal/testkit/probe"
	"github.com/cairn-chain/cairn/types"
)

// orders judges one block in all orders of its five transactions, each of which may make another one valid or not:
//
//   - a payer changes its policy,
//   - the payer sponsors a transaction of an account whose recovery comes into force at about the block's time,
//   - that account sets another policy, or begins another recovery,
//   - a contract makes an account by paying it,
//   - the new account sends its first transaction, which the payer sponsors perhaps.
func (m *mutator) orders(r *rand.Rand, cases int) error {
	s, err := newScene(r, m)
	if err != nil {
		return err
	}
	txs, timestamp := s.transactions(r)
	for _, order := range permutations(len(txs)) {
		if m.cases >= cases {
			return nil
		}
		var ordered []types.SignedTransaction
		for _, i := range order {
			ordered = append(ordered, txs[i])
		}
		if err := s.judge(ordered, timestamp); err != nil {
			return err
		}
	}
	return nil
}

// permutations returns all orders of the numbers below n.
func permutations(n int) [][]int {
	if n == 0 {
		return [][]int{nil}
	}
	var all [][]int
	for _, order := range permutations(n - 1) {
		for at := range n {
			all = append(all, slices.Insert(slices.Clone(order), at, n-1))
		}
	}
	return all
}

// scene is the chain before the block whose transactions are reordered.
type scene struct {
	*mutator
	*world
	chain                     *chain
	payer, recovering         types.Account
	newcomer                  types.Account
	first, next, sponsor, own *authority
	contract                  types.ContractID
	from                      uint64 // time at which the recovery takes effect
}

func (w *world) add(a *authority) *authority {
	w.authorities[a.policy.Hash()] = a
	return a
}

func (w *world) newKey(r *rand.Rand) types.Account {
	key := newKey(r)
	w.keys[key.PublicKey()] = key
	return key.PublicKey()
}

// newScene makes the earlier blocks: a contract with coins, and an account under a policy whose recovery has begun.
func newScene(r *rand.Rand, m *mutator) (*scene, error) {
	w := &world{keys: map[types.Account]cairn.PrivateKey{}, authorities: map[types.Account]*authority{}, producer: newKey(r)}
	s := &scene{
		mutator: m, world: w, payer: w.newKey(r), recovering: w.newKey(r), first: w.add(newAuthority(r)),
		next: w.add(newAuthority(r)), sponsor: w.add(newAuthority(r)), own: w.add(newAuthority(r)),
	}
	for s.first.policy.Recovery == nil {
		s.first = w.add(newAuthority(r))
	}
	if s.newcomer = s.own.policy.Hash(); r.IntN(2) == 0 {
		s.newcomer = w.newKey(r)
	}
	g := types.Genesis{
		ChainID: r.Uint64(), Network: pick(r, []types.Network{types.Mainnet, types.Testnet, types.Regtest}),
		Time: 1_700_000_000_000, Parameters: params.Default(w.producer.PublicKey()),
		Allocations: []types.Allocation{{Account: s.payer, Balance: 1 << 50}, {Account: s.recovering, Balance: 1 << 50}},
	}
	g.BaseFee = g.Parameters.MinBaseFee
	slices.SortFunc(g.Allocations, func(a, b types.Allocation) int { return a.Account.Compare(b.Account) })
	var err error
	if s.chain, err = m.begin(g, true); err != nil {
		return nil, err
	}
	whole, _, _ := probe.Modules()
	deploy := s.plain(s.payer, types.Deploy{Name: "payer", Code: whole})
	deploy.GasLimit, deploy.Value = 200_000_000, 1<<44
	set := s.plain(s.recovering, types.SetPolicy{Policy: &s.first.policy})
	if err := s.extend(g.Time+1000, s.sign(r, deploy, false), s.sign(r, set, false)); err != nil {
		return nil, err
	}
	s.contract = types.NewContractID(s.payer, 0)
	recover := s.plain(s.recovering, types.SetPolicy{Recovery: true, Policy: &s.next.policy})
	recover.Payer = &s.payer
	s.from = g.Time + 2000 + s.first.policy.Recovery.Delay
	return s, s.extend(g.Time+2000, s.sign(r, recover, true))
}

// plain returns a transaction with an account's next nonce.
func (s *scene) plain(sender types.Account, payload types.Payload) types.Transaction {
	return types.Transaction{
		Sender: sender, ChainID: s.chain.parent.ChainID, Nonce: s.at(0).record(sender).Nonce, GasLimit: 4_000_000,
		MaxFeePerGas: 1000, MaxPriorityFeePerGas: 1, Payload: payload,
	}
}

func (s *scene) at(timestamp uint64) view { return view{s.chain.entries, timestamp} }

// sign adds the witnesses by the authorities in force at the head's time.
func (s *scene) sign(r *rand.Rand, tx types.Transaction, recovery bool) types.SignedTransaction {
	now := s.at(s.chain.parent.Timestamp)
	inForce := func(a types.Account) types.Account { return now.authority(a) }
	return s.signBy(r, tx, inForce(tx.Sender), inForce, recovery)
}

// signBy makes the sender's witness by an authority.
func (s *scene) signBy(
	r *rand.Rand, tx types.Transaction, sender types.Account, payer func(types.Account) types.Account, recovery bool,
) types.SignedTransaction {
	asked, paying := messagesOf(tx, s.chain.network, scalar(r))
	asked.plain, paying.plain = true, true
	signed := types.SignedTransaction{Transaction: tx, Witness: s.by(r, tx.Sender, sender, asked, recovery)}
	if tx.Payer != nil {
		signed.PayerWitness = s.by(r, *tx.Payer, payer(*tx.Payer), paying, false)
	}
	return signed
}

// transactions returns the transactions of the block, and its timestamp.
func (s *scene) transactions(r *rand.Rand) ([]types.SignedTransaction, uint64) {
	timestamp := max(s.chain.parent.Timestamp, pick(r, []uint64{s.from - 1, s.from, s.from, s.from + 1000}))
	now := s.at(timestamp)
	later := s.sponsor.policy.Hash()
	payer := func(a types.Account) types.Account { // by the policy before or after the payer's change
		if r.IntN(2) == 0 {
			return later
		}
		return now.authority(a)
	}
	changes := s.plain(s.payer, types.SetPolicy{Policy: &s.sponsor.policy})

	spends := s.plain(s.recovering, types.Transfer{})
	spends.Target, spends.Value, spends.Payer = s.newcomer, types.Amount(r.IntN(2)), &s.payer
	authority := pick(r, []types.Account{s.first.policy.Hash(), s.next.policy.Hash(), s.next.policy.Hash()})

	sets := s.plain(s.recovering, types.SetPolicy{Policy: &s.own.policy})
	sets.Nonce += uint64(r.IntN(2))
	setter := pick(r, []types.Account{s.first.policy.Hash(), s.next.policy.Hash(), s.own.policy.Hash()})
	recovery := r.IntN(3) == 0
	if recovery {
		sets.Payload, sets.Payer = types.SetPolicy{Recovery: true}, &s.payer
	}

	coins := types.Amount(pick(r, []uint64{0, 1, 1 << 34}))
	pays := s.plain(s.payer, types.Call{
		Function: "transfer", Args: probe.Given(8, s.newcomer[:], probe.Data, uint64(coins)),
	})
	pays.Target = types.Account(s.contract)
	pays.Nonce += uint64(r.IntN(2))

	begins := s.plain(s.newcomer, types.Transfer{})
	begins.Target, begins.GasLimit = s.recovering, pick(r, []types.Gas{100_000, 1_000_000})
	if coins <= 1 || r.IntN(2) == 0 {
		begins.Payer, begins.Value = &s.payer, types.Amount(r.IntN(2))
	}
	payAuthority := now.authority(s.payer)
	if pays.Nonce > changes.Nonce || r.IntN(4) == 0 {
		payAuthority = later
	} else {
		changes.Nonce += uint64(r.IntN(2))
	}
	return []types.SignedTransaction{
		s.signBy(r, changes, now.authority(s.payer), payer, false), s.signBy(r, spends, authority, payer, false),
		s.signBy(r, sets, setter, payer, recovery), s.signBy(r, pays, payAuthority, payer, false),
		s.signBy(r, begins, s.newcomer, payer, false),
	}, timestamp
}

// build executes the valid transactions in order.
func (s *scene) build(txs []types.SignedTransaction, timestamp uint64) (types.Block, error) {
	c := s.chain
	template, err := exec.HeaderTemplate(c.parent, c.present, timestamp)
	if err != nil {
		return types.Block{}, err
	}
	run := exec.Begin(c.network, c.present, c.entries, template, c.machine())
	var block types.Block
	for _, signed := range txs {
		verified := types.VerifyWitnesses(c.network, types.NewTxs(signed))[0]
		if verified == nil {
			continue
		}
		if _, err := run.Apply(verified); err == nil {
			block.Transactions = append(block.Transactions, signed)
		} else if ruleOf(err, &signed, run.GasLeft()) == 0 {
			return types.Block{}, err
		}
	}
	result, err := run.Finish()
	if err != nil {
		return types.Block{}, err
	}
	if err := c.root(&result); err != nil {
		return types.Block{}, err
	}
	block.Header = result.Header
	block.Seal = types.Seal{Signature: schnorr(s.producer, block.Header.Hash(), [32]byte{})}
	return block, nil
}

// judge compares verdicts on a block of all transactions, and on one of the valid ones.
func (s *scene) judge(txs []types.SignedTransaction, timestamp uint64) error {
	block, err := s.build(txs, timestamp)
	if err != nil {
		return err
	}
	if _, _, err := s.compareBlock(s.chain, block.Encode()); err != nil {
		return err
	}
	if len(block.Transactions) == len(txs) {
		return nil
	}
	block.Transactions = txs
	_, _, err = s.compareBlock(s.chain, block.Encode())
	return err
}

// extend extends the chain with a block of these valid transactions.
func (s *scene) extend(timestamp uint64, txs ...types.SignedTransaction) error {
	block, err := s.build(txs, timestamp)
	if err != nil {
		return err
	}
	block.Transactions = txs
	_, err = s.addValid(s.chain, block)
	return err
}
