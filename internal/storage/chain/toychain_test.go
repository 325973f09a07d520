package chain

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"

	"github.com/cairn-chain/cairn/crypto"
	"github.com/cairn-chain/cairn/internal/protocol/exec"
	"github.com/cairn-chain/cairn/internal/protocol/lists"
	"github.com/cairn-chain/cairn/internal/protocol/params"
	"github.com/cairn-chain/cairn/internal/protocol/state"
	"github.com/cairn-chain/cairn/internal/protocol/tree"
	"github.com/cairn-chain/cairn/internal/storage/kv"
	"github.com/cairn-chain/cairn/types"
)

// toyChain makes blocks that are linked like a real chain's, from transactions that a few lines execute: coins move,
// fees burn, and contracts are deployed, instantiated, given other code, and write storage. It remembers everything,
// for comparison with a store.
type toyChain struct {
	key     crypto.PrivateKey
	genesis types.Genesis
	tree    *tree.Tree
	blocks  []toyBlock // by height
}

// toyBlock is a block with the whole state after it.
type toyBlock struct {
	Entry
	state memory
}

// memory is a state as a map.
type memory map[string][]byte

func (m memory) Get(key []byte) ([]byte, error) { return m[string(key)], nil }

func serial(n int, f func(i int)) {
	for i := range n {
		f(i)
	}
}

var toySchedule = types.Digest{1, 2, 3}

const (
	toyAccounts = 6
	toyPolicies = 2
)

func toyPolicy(i int) types.Policy {
	return types.Policy{Number: uint64(i), Owner: types.Rule{Threshold: 1, Signers: []types.Signer{types.SignerKey{}}}}
}

func toyAccount(i int) types.Account { return sha256.Sum256(fmt.Appendf(nil, "account %d", i)) }

func newToyChain(t tester) *toyChain {
	key, err := crypto.NewPrivateKey(sha256.Sum256([]byte("toy producer")))
	if err != nil {
		t.Fatal(err)
	}
	c := &toyChain{key: key, tree: new(tree.Tree)}
	c.genesis = types.Genesis{
		ChainID: 31337, Network: types.Regtest, Time: 1_700_000_000_000, BaseFee: 10,
		Parameters: params.Default(key.PublicKey()),
	}
	var supply types.Amount
	for i := range toyAccounts {
		c.genesis.Allocations = append(c.genesis.Allocations, types.Allocation{Account: toyAccount(i), Balance: 1_000_000})
		supply += 1_000_000
	}
	slices.SortFunc(c.genesis.Allocations, func(a, b types.Allocation) int { return a.Account.Compare(b.Account) })
	o := state.NewOverlay(memory{})
	must(t, o.Set(state.SupplyKey(), state.Supply{Supply: supply}.Encode()))
	must(t, o.Set(state.ParametersKey(), c.genesis.Parameters.Encode()))
	for _, a := range c.genesis.Allocations {
		must(t, o.SetAccount(a.Account, state.Account{Balance: a.Balance}))
	}
	c.seal(t, o, nil, nil, nil)
	return c
}

// tester holds the methods that testing.T and rapid.T share.
type tester interface {
	Helper()
	Fatal(...any)
	Fatalf(string, ...any)
	Cleanup(func())
}

func must(t tester, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// block is the block as the store returns it.
func (b toyBlock) block() types.Block {
	block := types.Block{Header: b.Header, Seal: b.Seal}
	for _, tx := range b.Transactions {
		block.Transactions = append(block.Transactions, *tx.Signed())
	}
	return block
}

func (c *toyChain) head() toyBlock { return c.blocks[len(c.blocks)-1] }

// seal ends a block and makes it the chain's head.
func (c *toyChain) seal(t tester, o *state.Overlay, txs []types.SignedTransaction, receipts []types.Receipt,
	codes map[types.CodeHash][]byte) Entry {
	t.Helper()
	e := Entry{Result: exec.Result{Accesses: o.Accesses(), Receipts: receipts, Codes: codes}}
	change, err := c.tree.Prepare(e.Accesses, serial)
	must(t, err)
	e.Leaves = change.Leaves()
	after := memory{}
	h := types.Header{
		Version:   params.Version,
		ChainID:   c.genesis.ChainID,
		Producer:  c.key.PublicKey(),
		BaseFee:   10,
		GasLimit:  1 << 30,
		Parent:    c.genesis.Digest(),
		Timestamp: c.genesis.Time,
		StateRoot: change.Root(),
	}
	c.tree.Commit(change, serial)
	if len(c.blocks) > 0 {
		before := c.head()
		h.Height, h.Parent = before.Header.Height+1, before.Header.Hash()
		h.Timestamp = before.Header.Timestamp + 1000
		maps.Copy(after, before.state)
	}
	for i, tx := range txs {
		e.Transactions = append(e.Transactions, types.NewTx(tx))
		reason := exec.Success
		if receipts[i].Status == types.StatusFailed {
			reason = failureReasons[i%len(failureReasons)]
		}
		e.Reasons = append(e.Reasons, reason)
		h.GasUsed += receipts[i].GasUsed
	}
	h.TransactionsRoot, h.ReceiptsRoot = lists.TransactionsRoot(e.Transactions), lists.ReceiptsRoot(receipts)
	e.Header = h
	if h.Height > 0 {
		hash := h.Hash()
		e.Seal.Signature, err = c.key.Sign(hash[:], [32]byte{})
		must(t, err)
	}
	for _, w := range types.Writes(e.Accesses) {
		if len(w.New) == 0 {
			delete(after, string(w.Key))
		} else {
			after[string(w.Key)] = w.New
		}
	}
	c.blocks = append(c.blocks, toyBlock{e, after})
	return e
}

// next appends a block of n random transactions to the chain.
func (c *toyChain) next(t tester, r *rand.Rand, n int) Entry {
	t.Helper()
	b := toyBuilder{t: t, r: r, o: state.NewOverlay(c.head().state), codes: make(map[types.CodeHash][]byte)}
	b.height = c.head().Header.Height + 1
	for key := range c.head().state { // contracts that can be called
		if state.Domain(key[0]) == state.DomainContract {
			b.contracts = append(b.contracts, types.ContractID([]byte(key[1:])))
		}
	}
	slices.SortFunc(b.contracts, types.ContractID.Compare)
	for range n {
		b.transaction(c.genesis.ChainID)
	}
	return c.seal(t, b.o, b.txs, b.receipts, b.codes)
}

// rewind makes block h the head, with the writes by which the store undoes the rest.
func (c *toyChain) rewind(t tester, h types.Height, undo []types.Access) {
	t.Helper()
	change, err := c.tree.Prepare(undo, serial)
	must(t, err)
	c.tree.Commit(change, serial)
	c.blocks = c.blocks[:h+1]
	if root := c.head().Header.StateRoot; c.tree.Root() != root {
		t.Fatalf("after rewinding to %d the tree has the root %s, want %s", h, c.tree.Root(), root)
	}
}

// toyBuilder makes the transactions of one block.
type toyBuilder struct {
	t         tester
	r         *rand.Rand
	o         *state.Overlay
	height    types.Height
	contracts []types.ContractID
	txs       []types.SignedTransaction
	receipts  []types.Receipt
	codes     map[types.CodeHash][]byte
}

func (b *toyBuilder) account(a types.Account) state.Account {
	record, err := b.o.Account(a)
	must(b.t, err)
	return record
}

// move moves at most amount and returns the moved amount.
func (b *toyBuilder) move(from, to types.Account, amount types.Amount) types.Amount {
	payer := b.account(from)
	amount = min(amount, payer.Balance)
	payer.Balance -= amount
	must(b.t, b.o.SetAccount(from, payer))
	payee := b.account(to)
	payee.Balance += amount
	must(b.t, b.o.SetAccount(to, payee))
	return amount
}

func (b *toyBuilder) transaction(chainID uint64) {
	sender := toyAccount(b.r.IntN(toyAccounts))
	record := b.account(sender)
	tx := types.SignedTransaction{
		Transaction: types.Transaction{
			ChainID: chainID, Sender: sender, Nonce: record.Nonce, GasLimit: 10_000, MaxFeePerGas: 10,
		},
		Witness: b.witness(),
	}
	if b.r.IntN(8) == 0 {
		payer := b.payer(sender)
		tx.Payer, tx.PayerWitness = &payer, b.witness()
	}
	record.Nonce++
	must(b.t, b.o.SetAccount(sender, record))
	receipt := types.Receipt{Status: types.StatusSuccess, GasUsed: 10_000}
	amount := types.Amount(b.r.IntN(100))
	switch kind := b.r.IntN(14); {
	case kind == 7, len(b.txs) == 3: // some in every sufficiently large block
		tx.Payload = types.Configure{Parameters: params.Default(types.PublicKey{})}
		receipt.Status = types.StatusFailed
	case kind < 2:
		code := fmt.Appendf(nil, "code %d", b.r.IntN(100))
		tx.Value, tx.Payload = amount, types.Deploy{Name: "toy", Code: code}
		id := types.NewContractID(sender, tx.Nonce)
		receipt.Contract = &id
		b.codes[sha256.Sum256(code)] = code
		b.begin(sender, id, sha256.Sum256(code), amount)
	case kind == 2 && len(b.contracts) > 0:
		like := b.contract()
		tx.Target, tx.Value, tx.Payload = types.Account(like), amount, types.Instantiate{Name: "toy"}
		id := types.NewContractID(sender, tx.Nonce)
		receipt.Contract = &id
		b.begin(sender, id, b.codeOf(like), amount)
	case kind < 6 && len(b.contracts) > 0:
		id := b.contract()
		tx.Target, tx.Value, tx.Payload = types.Account(id), amount, types.Call{Function: "pay"}
		receipt.Logs = b.call(sender, id, amount)
	case kind == 6:
		tx.Target = sha256.Sum256(fmt.Appendf(nil, "new %d", b.r.IntN(1000)))
		tx.Value, tx.Payload = b.move(sender, tx.Target, amount), types.Transfer{Memo: &[32]byte{1}}
	case kind == 8:
		var batch types.Batch
		batch.Steps, receipt.Logs = b.steps(sender)
		tx.Payload = batch
	case kind == 9:
		tx.Payload = types.SetPolicy{}
		if i := len(b.txs) % (toyPolicies + 1); i < toyPolicies {
			tx.Payload = types.SetPolicy{Policy: new(toyPolicy(i))}
		}
	default:
		tx.Target = toyAccount(b.r.IntN(toyAccounts)) // or to the sender itself
		tx.Value, tx.Payload = b.move(sender, tx.Target, amount), types.Transfer{}
	}
	b.burn(sender)
	b.txs, b.receipts = append(b.txs, tx), append(b.receipts, receipt)
}

// witness is a key's, or a policy's.
func (b *toyBuilder) witness() types.Witness {
	if i := (int(b.height) + 3*len(b.txs)) % (4 * toyPolicies); i < toyPolicies {
		return types.WitnessPolicy{Policy: toyPolicy(i)}
	}
	return types.WitnessKey{}
}

// payer returns another account than the sender. It may be one that has no coins and no other transaction.
func (b *toyBuilder) payer(sender types.Account) types.Account {
	for {
		if payer := types.Account(sha256.Sum256(fmt.Appendf(nil, "account %d", b.r.IntN(toyAccounts+1)))); payer != sender {
			return payer
		}
	}
}

// steps returns a batch's steps: payments with and without a memo, one of amount 0, and a call.
func (b *toyBuilder) steps(sender types.Account) (steps []types.Step, logs []types.Log) {
	pay := func(to types.Account, memo *[32]byte) types.Amount {
		paid := b.move(sender, to, types.Amount(b.r.IntN(30)))
		if paid > 0 {
			data := binary.LittleEndian.AppendUint64(nil, uint64(paid))
			if memo != nil {
				data = append(data, memo[:]...)
			}
			logs = append(logs, types.Log{Name: types.NativeTransfer, Topics: [][32]byte{sender, to}, Data: data})
		}
		return paid
	}
	for i := range 1 + b.r.IntN(4) {
		to := toyAccount(b.r.IntN(toyAccounts))
		var memo *[32]byte
		if i%2 > 0 {
			memo = &[32]byte{byte(i), 2}
		}
		steps = append(steps, types.Step{Target: to, Value: pay(to, memo), Action: types.Transfer{Memo: memo}})
	}
	if len(b.contracts) > 0 {
		id := b.contract()
		step := types.Step{Target: types.Account(id), Value: pay(types.Account(id), nil), Action: types.Call{Function: "pay"}}
		steps, logs = append(steps, step), append(logs, b.call(sender, id, 0)...)
	}
	return steps, logs
}

// contract returns an existing contract.
func (b *toyBuilder) contract() types.ContractID { return b.contracts[b.r.IntN(len(b.contracts))] }

// record returns a contract's record.
func (b *toyBuilder) record(id types.ContractID) state.Contract {
	row, err := b.o.Get(state.ContractKey(id))
	must(b.t, err)
	record, err := state.DecodeContract(row)
	must(b.t, err)
	return record
}

func (b *toyBuilder) codeOf(id types.ContractID) types.CodeHash { return b.record(id).CodeHash }

// begin makes a contract with an existing code.
func (b *toyBuilder) begin(creator types.Account, id types.ContractID, code types.CodeHash, amount types.Amount) {
	record := state.Contract{CodeHash: code, Deployer: creator, Height: b.height, Name: "toy"}
	must(b.t, b.o.Set(state.ContractKey(id), record.Encode()))
	b.move(creator, types.Account(id), amount)
	b.contracts = append(b.contracts, id)
}

// call lets a contract write or delete a value and pay out some of its coins. Now and then it makes two contracts like
// itself, or takes another one's code.
func (b *toyBuilder) call(sender types.Account, id types.ContractID, amount types.Amount) []types.Log {
	b.move(sender, types.Account(id), amount)
	switch b.r.IntN(8) {
	case 0:
		for i := range 2 {
			salt := sha256.Sum256(fmt.Appendf(nil, "salt %d %d %d", b.height, len(b.txs), i))
			b.begin(types.Account(id), types.NewInstanceID(id, b.codeOf(id), salt), b.codeOf(id), 0)
		}
	case 1:
		record := b.record(id)
		record.CodeHash = b.codeOf(b.contract())
		must(b.t, b.o.Set(state.ContractKey(id), record.Encode()))
	}
	var value []byte
	if n := b.r.IntN(3); n > 0 {
		value = fmt.Appendf(nil, "value %d", n)
	}
	must(b.t, b.o.Set(state.StorageKey(id, []byte{byte(b.r.IntN(4))}), value))
	to := toyAccount(b.r.IntN(toyAccounts))
	paid := b.move(types.Account(id), to, types.Amount(b.r.IntN(50)))
	// an event that concerns no account
	logs := []types.Log{{Contract: id, Name: "Paid", Topics: [][32]byte{toyAccount(0), toyAccount(1)}}}
	logs = append(logs, b.tokenLogs(id)...)
	if paid > 0 {
		logs = append(logs, types.Log{
			Name: types.NativeTransfer, Topics: [][32]byte{id, to}, Data: binary.LittleEndian.AppendUint64(nil, uint64(paid)),
		})
	}
	return logs
}

// tokenLogs returns events of a contract that is a token and more: transfers, mints, burns, and similar events.
func (b *toyBuilder) tokenLogs(id types.ContractID) (logs []types.Log) {
	for range b.r.IntN(4) {
		var amount [32]byte
		binary.BigEndian.PutUint64(amount[24:], []uint64{0, 1, 7, 1<<64 - 1}[b.r.IntN(4)])
		log := types.Log{Contract: id, Name: "Transfer", Topics: [][32]byte{b.party(), b.party(), amount}, Data: []byte("{}")}
		switch b.r.IntN(8) {
		case 0:
			log.Name = "Approval"
		case 1:
			log.Topics = append([][32]byte(nil), log.Topics[:b.r.IntN(3)]...)
		case 2:
			log.Topics[2][b.r.IntN(24)] = 1
		}
		logs = append(logs, log)
	}
	return logs
}

// party is an account, or the zero account.
func (b *toyBuilder) party() types.Account {
	if b.r.IntN(4) == 0 {
		return types.Account{}
	}
	return toyAccount(b.r.IntN(toyAccounts))
}

// burn burns one unit of an account that has one.
func (b *toyBuilder) burn(from types.Account) {
	record := b.account(from)
	if record.Balance == 0 {
		return
	}
	record.Balance--
	must(b.t, b.o.SetAccount(from, record))
	row, err := b.o.Get(state.SupplyKey())
	must(b.t, err)
	supply, err := state.DecodeSupply(row)
	must(b.t, err)
	supply.Burned++
	must(b.t, b.o.Set(state.SupplyKey(), supply.Encode()))
}

// openStore opens a store and closes it and its database with the test.
func openStore(t tester, fs kv.FS, options Options) *Store {
	t.Helper()
	s, stop := openUntil(t, fs, options)
	t.Cleanup(stop)
	return s
}

// openUntil opens a store; the returned function closes it.
func openUntil(t tester, fs kv.FS, options Options) (*Store, func()) {
	t.Helper()
	options.Schedule = toySchedule
	db, err := kv.Open("db", kv.Options{FS: fs, MemTableBytes: 256 << 10, CacheBytes: 1 << 20})
	must(t, err)
	s, err := Open(db, options)
	must(t, err)
	return s, func() {
		must(t, s.Close())
		must(t, db.Close())
	}
}

// newStore returns a store in memory with a toy chain of the given number of blocks after the genesis.
func newStore(t tester, options Options, blocks int) (*Store, *toyChain) {
	t.Helper()
	s, c := openStore(t, kv.Memory(), options), newToyChain(t)
	must(t, s.Init(c.genesis, c.blocks[0].Entry))
	r := rand.New(rand.NewPCG(1, 2))
	for range blocks {
		must(t, s.Append(c.next(t, r, r.IntN(12))))
	}
	return s, c
}

// requireSound fails the test unless a check of the store finds nothing.
func requireSound(t tester, s *Store) {
	t.Helper()
	report, err := Check(context.Background(), s, nil)
	must(t, err)
	if !report.OK() {
		t.Fatalf("%d problems: %q", report.Found, report.Problems)
	}
}
