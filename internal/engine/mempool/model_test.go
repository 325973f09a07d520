package mempool

import (
	"cmp"
	"errors"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/cairn-chain/cairn/internal/protocol/exec"
	"github.com/cairn-chain/cairn/internal/protocol/state"
	"github.com/cairn-chain/cairn/types"
)

// model implements the pool's rules over one plain list. It keeps no index, and computes every answer from the list.
type model struct {
	chain    *fakeChain
	opts     Options
	txs      []modelTx // in order of arrival
	pressure bool
	// reserves, unless nil, are the payers' reserves while room is being made: transactions that have left still count.
	reserves map[types.Account]types.Amount
}

type modelTx struct {
	types.SignedTransaction
	id    types.TxID
	size  int
	added time.Time
	order int
}

// mustFee returns the fee cap.
func (tx modelTx) mustFee() types.Amount {
	fee, err := tx.FeeCap()
	if err != nil {
		panic(err)
	}
	return fee
}

// mustCost returns the most that the transaction takes from its sender.
func (tx modelTx) mustCost() types.Amount {
	cost, err := tx.Amount()
	if err != nil {
		panic(err)
	}
	if tx.Payer == nil {
		cost += tx.mustFee()
	}
	return cost
}

func (tx modelTx) paidBy(a types.Account) bool { return tx.Payer != nil && *tx.Payer == a }

func (m *model) account(a types.Account) state.Account { return m.chain.accounts[a] }

// paid returns the transactions that an account pays for, in order of arrival, and the sum of their fee caps.
func (m *model) paid(a types.Account) (txs []modelTx, sum types.Amount) {
	for _, tx := range m.txs {
		if tx.paidBy(a) {
			txs, sum = append(txs, tx), sum+tx.mustFee()
		}
	}
	return txs, sum
}

// free returns the balance that an account has for its own transactions.
func (m *model) free(a types.Account) types.Amount {
	_, reserved := m.paid(a)
	if m.reserves != nil {
		reserved = m.reserves[a]
	}
	return minus(m.account(a).Balance, reserved)
}

// payable reports whether a sender with so much left can pay for its next transaction.
func (m *model) payable(left types.Amount, tx modelTx) error {
	account := m.account(tx.Sender)
	funds := exec.Funds{Entry: account.Exists() || tx.Nonce > account.Nonce, Balance: left, Payer: 1 << 63}
	return exec.CheckFunds(funds, &tx.SignedTransaction)
}

// now returns the time by which the pool judges.
func (m *model) now() uint64 { return max(m.chain.env.Timestamp, uint64(m.chain.now().UnixMilli())) }

// authorized reports whether a transaction's witnesses claim the authorities in force.
func (m *model) authorized(tx modelTx) bool {
	if tx.Witness.Claim(tx.Sender) != m.account(tx.Sender).AuthorityAt(tx.Sender, m.now()) {
		return false
	}
	return tx.Payer == nil || tx.PayerWitness.Claim(*tx.Payer) == m.account(*tx.Payer).AuthorityAt(*tx.Payer, m.now())
}

// split returns a sender's executable and held transactions, ascending by nonce.
func (m *model) split(a types.Account) (run, held []modelTx) {
	var own []modelTx
	for _, tx := range m.txs {
		if tx.Sender == a {
			own = append(own, tx)
		}
	}
	slices.SortFunc(own, func(a, b modelTx) int { return cmp.Compare(a.Nonce, b.Nonce) })
	nonce, left := m.account(a).Nonce, m.free(a)
	for i, tx := range own {
		if tx.Nonce != nonce || m.payable(left, tx) != nil {
			return own[:i], own[i:]
		}
		nonce, left = nonce+1, left-tx.mustCost()
	}
	return own, nil
}

func (m *model) senders() []types.Account {
	var senders []types.Account
	for _, tx := range m.txs {
		if !slices.Contains(senders, tx.Sender) {
			senders = append(senders, tx.Sender)
		}
	}
	return senders
}

func (m *model) remove(drop func(modelTx) bool) {
	m.txs = slices.DeleteFunc(slices.Clone(m.txs), drop)
}

func (m *model) removeID(id types.TxID) { m.remove(func(tx modelTx) bool { return tx.id == id }) }

func (m *model) usage() (count, bytes, heldCount, heldBytes int) {
	for _, a := range m.senders() {
		run, held := m.split(a)
		for _, tx := range run {
			count, bytes = count+1, bytes+tx.size
		}
		for _, tx := range held {
			count, bytes, heldCount, heldBytes = count+1, bytes+tx.size, heldCount+1, heldBytes+tx.size
		}
	}
	return count, bytes, heldCount, heldBytes
}

func (m *model) heldFit(count, bytes int) bool {
	return count*10 <= m.opts.MaxTransactions && bytes*10 <= m.opts.MaxBytes
}

func (m *model) tip(run ...modelTx) int64 {
	maxFee, maxPriority := run[0].MaxFeePerGas, run[0].MaxPriorityFeePerGas
	for _, tx := range run {
		maxFee, maxPriority = min(maxFee, tx.MaxFeePerGas), min(maxPriority, tx.MaxPriorityFeePerGas)
	}
	return min(int64(maxPriority), int64(maxFee)-int64(m.chain.env.BaseFee))
}

// modelClaim is the room that a candidate asks for.
type modelClaim struct {
	tx         modelTx
	executable bool
	old        *modelTx // the transaction that it replaces
	tip        int64
	now        time.Time
}

// modelOwner is a sender other than the candidate's.
type modelOwner struct{ run, held []modelTx }

// oldest returns the arrival of the first waiting transaction.
func oldest(held []modelTx) time.Time {
	return slices.MinFunc(held, func(a, b modelTx) int { return a.added.Compare(b.added) }).added
}

// last returns the last element of a list that is ordered by arrival, latest first.
func last(txs []modelTx) modelTx { return txs[len(txs)-1] }

func (m *model) owners(but types.Account) (owners []modelOwner) {
	for _, a := range m.senders() {
		if a != but {
			run, held := m.split(a)
			owners = append(owners, modelOwner{run, held})
		}
	}
	return owners
}

// first returns the last transaction of the first owner in an order, of those with a nonempty part; nil if there is
// none.
func first(owners []modelOwner, part func(modelOwner) []modelTx, before func(a, b modelOwner) int) *modelTx {
	owners = slices.DeleteFunc(slices.Clone(owners), func(o modelOwner) bool { return len(part(o)) == 0 })
	if len(owners) == 0 {
		return nil
	}
	tx := last(part(slices.MinFunc(owners, func(a, b modelOwner) int {
		return cmp.Or(before(a, b), cmp.Compare(last(part(b)).order, last(part(a)).order))
	})))
	return &tx
}

func heldOf(o modelOwner) []modelTx { return o.held }
func runOf(o modelOwner) []modelTx  { return o.run }

// mostHeld returns the last held transaction of the account that holds the most. Among equals it is the account that
// has held for longest.
func (m *model) mostHeld(but types.Account) *modelTx {
	return first(m.owners(but), heldOf, func(a, b modelOwner) int {
		return cmp.Or(cmp.Compare(len(b.held), len(a.held)), oldest(a.held).Compare(oldest(b.held)))
	})
}

// victim returns the next transaction to evict for a claim, or nil.
func (m *model) victim(c modelClaim, onlyHeld bool) *modelTx {
	includable := c.executable && c.tip >= 0
	ownRun, ownHeld := m.split(c.tx.Sender)
	own := len(ownHeld)
	if c.executable {
		own = len(ownRun)
	}
	if c.old == nil || c.executable && c.tx.Nonce == m.account(c.tx.Sender).Nonce+uint64(len(ownRun)) {
		own++
	}
	if tx := m.mostHeld(c.tx.Sender); tx != nil {
		if _, held := m.split(tx.Sender); includable || len(held) > own {
			return tx
		}
	}
	old := func(held []modelTx) bool { return c.now.Sub(oldest(held)) >= gapTime }
	if !c.executable && (len(ownHeld) == 0 || !old(ownHeld)) {
		tx := first(m.owners(c.tx.Sender), heldOf, func(a, b modelOwner) int {
			return oldest(a.held).Compare(oldest(b.held))
		})
		if tx != nil {
			if _, held := m.split(tx.Sender); old(held) {
				return tx
			}
		}
	}
	if onlyHeld {
		return nil
	}
	under := func(o modelOwner) []modelTx {
		if len(o.run) == 0 || m.tip(o.run...) >= 0 {
			return nil
		}
		return o.run
	}
	if tx := first(m.owners(c.tx.Sender), under, func(a, b modelOwner) int {
		return cmp.Compare(len(b.run), len(a.run))
	}); tx != nil {
		if run, _ := m.split(tx.Sender); includable || len(run) > own {
			return tx
		}
	}
	if !includable {
		return nil
	}
	tx := first(m.owners(c.tx.Sender), runOf, func(a, b modelOwner) int {
		return cmp.Compare(m.tip(a.run...), m.tip(b.run...))
	})
	if tx != nil {
		if run, _ := m.split(tx.Sender); m.tip(run...) < c.tip {
			return tx
		}
	}
	return nil
}

func (m *model) checkStatic(tx *types.SignedTransaction) error {
	env := m.chain.env
	env.BaseFee = env.Parameters.MinBaseFee
	return exec.CheckStatic(env, tx)
}

// checkAdded is checkStatic for a transaction that arrives now.
func (m *model) checkAdded(tx *types.SignedTransaction) error {
	env := m.chain.env
	env.BaseFee, env.Timestamp = env.Parameters.MinBaseFee, m.now()
	return exec.CheckStatic(env, tx)
}

// checkPayer reports whether the payer has room.
func (m *model) checkPayer(tx modelTx, old *modelTx) error {
	if tx.Payer == nil {
		return nil
	}
	paid, reserved := m.paid(*tx.Payer)
	count := len(paid)
	if old != nil && old.paidBy(*tx.Payer) {
		count, reserved = count-1, reserved-old.mustFee()
	}
	run, _ := m.split(*tx.Payer)
	for _, other := range run {
		reserved += other.mustCost()
	}
	switch {
	case count >= m.opts.PerPayer:
		return ErrFull
	case minus(m.account(*tx.Payer).Balance, reserved) < tx.mustFee():
		return exec.ErrPayerCannotPay
	}
	return nil
}

func (m *model) add(tx modelTx) error {
	account := m.account(tx.Sender)
	run, held := m.split(tx.Sender)
	next := account.Nonce + uint64(len(run))
	var old *modelTx
	spent := types.Amount(0)
	prefix := []modelTx{tx}
	for _, other := range slices.Concat(run, held) {
		if other.Nonce == tx.Nonce {
			old = &other
		}
	}
	for _, other := range run {
		if other.Nonce != tx.Nonce {
			spent += other.mustCost()
		}
		if other.Nonce < tx.Nonce {
			prefix = append(prefix, other)
		}
	}
	executable := tx.Nonce <= next
	if !executable {
		spent, prefix = 0, prefix[:1]
	}
	if err := m.checkAdded(&tx.SignedTransaction); err != nil {
		return errors.Unwrap(err) // one of exec's
	}
	switch {
	case slices.ContainsFunc(m.txs, func(o modelTx) bool { return o.id == tx.id }):
		return ErrKnown
	case tx.Nonce < account.Nonce:
		return exec.ErrNonceTooLow
	case tx.Nonce >= account.Nonce+m.opts.NonceWindow, !executable && old == nil && len(held) >= m.opts.HeldPerSender:
		return exec.ErrNonceTooHigh
	}
	if err := m.payable(minus(m.free(tx.Sender), spent), tx); err != nil {
		return errors.Unwrap(err)
	}
	if err := m.checkPayer(tx, old); err != nil {
		return err
	}
	if !m.authorized(tx) {
		return exec.ErrWrongPolicy
	}
	if old != nil {
		raise := func(old types.Amount) types.Amount { return old + max(1, (old+9)/10) }
		if tx.MaxFeePerGas < raise(old.MaxFeePerGas) || tx.MaxPriorityFeePerGas < raise(old.MaxPriorityFeePerGas) {
			return ErrReplacementUnderpriced
		}
	}
	before := m.txs
	m.reserves = make(map[types.Account]types.Amount)
	for _, other := range m.txs {
		if other.Payer != nil {
			m.reserves[*other.Payer] += other.mustFee()
		}
	}
	made := m.makeRoom(modelClaim{tx, executable, old, m.tip(prefix...), m.chain.now()})
	m.reserves = nil
	if !made {
		m.txs = before
		return ErrFull
	}
	if old != nil {
		m.removeID(old.id)
	}
	m.txs = append(slices.Clone(m.txs), tx)
	m.capHeld()
	m.updatePressure()
	return nil
}

func (m *model) makeRoom(c modelClaim) bool {
	_, ownHeld := m.split(c.tx.Sender)
	begun, begunBytes, _, _ := m.usage()
	for {
		count, bytes, heldCount, heldBytes := m.usage()
		count, bytes = count+1, bytes+c.tx.size
		if !c.executable {
			heldCount, heldBytes = heldCount+1, heldBytes+c.tx.size
		}
		if c.old != nil {
			count, bytes = count-1, bytes-c.old.size
			if slices.ContainsFunc(ownHeld, func(o modelTx) bool { return o.id == c.old.id }) {
				heldCount, heldBytes = heldCount-1, heldBytes-c.old.size
			}
		}
		nearlyFull := count*10 > m.opts.MaxTransactions*9 || bytes*10 > m.opts.MaxBytes*9
		grows := count > begun || bytes > begunBytes
		if count <= m.opts.MaxTransactions && bytes <= m.opts.MaxBytes && m.heldFit(heldCount, heldBytes) &&
			!(c.tip < 0 && c.old == nil && nearlyFull && grows) {
			return true
		}
		victim := m.victim(c, !m.heldFit(heldCount, heldBytes))
		if victim == nil {
			return false
		}
		m.removeID(victim.id)
	}
}

// capHeld drops each sender's highest held nonces beyond the limit.
func (m *model) capHeld() {
	for _, a := range m.senders() {
		if _, held := m.split(a); len(held) > m.opts.HeldPerSender {
			for _, tx := range held[m.opts.HeldPerSender:] {
				m.removeID(tx.id)
			}
		}
	}
}

func (m *model) updatePressure() {
	count, bytes, _, _ := m.usage()
	if count*10 >= m.opts.MaxTransactions*9 || bytes*10 >= m.opts.MaxBytes*9 {
		m.pressure = true
	}
	if count*4 < m.opts.MaxTransactions*3 && bytes*4 < m.opts.MaxBytes*3 {
		m.pressure = false
	}
}

// reset follows a change of the chain.
func (m *model) reset() {
	m.remove(func(tx modelTx) bool {
		nonce := m.account(tx.Sender).Nonce
		return tx.Nonce < nonce || tx.Nonce >= nonce+m.opts.NonceWindow
	})
	m.remove(func(tx modelTx) bool { return !m.authorized(tx) })
	for i := range modelAccounts {
		for paid, sum := m.paid(account(i)); sum > m.account(account(i)).Balance; paid, sum = m.paid(account(i)) {
			m.removeID(last(paid).id)
		}
	}
	m.remove(func(tx modelTx) bool { return m.checkStatic(&tx.SignedTransaction) != nil })
	m.capHeld()
	now := m.chain.now()
	m.remove(func(tx modelTx) bool {
		return now.Sub(tx.added) >= m.opts.Expiry || tx.ValidUntil != nil && *tx.ValidUntil < m.now()
	})
	m.capHeld()
	for {
		_, _, heldCount, heldBytes := m.usage()
		if m.heldFit(heldCount, heldBytes) {
			break
		}
		m.removeID(m.mostHeld(types.Account{}).id)
	}
	m.updatePressure()
}

func (m *model) best(baseFee types.Amount) (ids []types.TxID) {
	env := m.chain.env
	m.chain.env.BaseFee = baseFee
	defer func() { m.chain.env = env }()
	runs := make(map[types.Account][]modelTx)
	for _, a := range m.senders() {
		runs[a], _ = m.split(a)
	}
	for {
		var first *modelTx
		for _, run := range runs {
			if len(run) == 0 || run[0].MaxFeePerGas < baseFee {
				continue
			}
			tx := run[0]
			if first == nil || m.tip(tx) > m.tip(*first) || m.tip(tx) == m.tip(*first) && tx.order < first.order {
				first = &tx
			}
		}
		if first == nil {
			return ids
		}
		ids = append(ids, first.id)
		runs[first.Sender] = runs[first.Sender][1:]
	}
}

const modelAccounts = 6

// TestAgainstModel drives a small pool and the model with the same operations: every answer and everything observable
// must be the same.
func TestAgainstModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := newChain()
		opts := Options{
			MaxTransactions: 20,
			MaxBytes:        5000,
			Expiry:          time.Minute,
			HeldPerSender:   3,
			NonceWindow:     8,
			PerPayer:        6,
			Now:             c.now,
		}
		p, err := New(opts, c.head())
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := p.Close(); err != nil {
				t.Error(err)
			}
		}()
		m := &model{chain: c, opts: p.opts}
		for i := range modelAccounts {
			c.set(i, rapid.Custom(drawBalance).Draw(t, "balance"), 0)
		}
		order := 0
		t.Repeat(map[string]func(*rapid.T){
			"add": func(t *rapid.T) {
				for range rapid.IntRange(1, 8).Draw(t, "count") {
					order++
					c.pass(time.Duration(rapid.IntRange(0, 4).Draw(t, "seconds")) * time.Second)
					encoded, tx := drawTransaction(t, m, order)
					_, got := p.Add(t.Context(), encoded, "test")
					if want := m.add(tx); !errors.Is(got, want) {
						t.Fatalf("add: got error %v, want %v", got, want)
					}
				}
			},
			"block":  func(t *rapid.T) { drawBlock(t, c, p, m) },
			"reload": func(t *rapid.T) { drawReload(t, c, p, m) },
			"": func(t *rapid.T) {
				checkInvariants(t, p)
				compare(t, p, m)
			},
		})
	})
}

func drawBalance(t *rapid.T) types.Amount {
	return types.Amount(rapid.SampledFrom([]int{0, 1, 2, 4, 7, 20, 20, 20}).Draw(t, "payable")) * testGas * 30
}

func drawTransaction(t *rapid.T, m *model, order int) ([]byte, modelTx) {
	i := rapid.IntRange(0, modelAccounts-1).Draw(t, "sender")
	nonce := m.account(account(i)).Nonce
	if rapid.IntRange(0, 3).Draw(t, "continue") > 0 {
		run, _ := m.split(account(i))
		nonce += uint64(len(run))
	} else {
		nonce += uint64(rapid.IntRange(0, 9).Draw(t, "nonce"))
	}
	maxFee := rapid.SampledFrom([]types.Amount{9, 10, 15, 20, 25, 28, 30, 33, 40, 60}).Draw(t, "max fee")
	if rapid.IntRange(0, 9).Draw(t, "back") == 0 {
		nonce -= min(nonce, 1)
	}
	tx := draft(i, nonce, maxFee, types.Amount(rapid.IntRange(0, int(maxFee)).Draw(t, "priority")))
	if n := rapid.SampledFrom([]int{0, 0, 0, 0, 30, 100, 700}).Draw(t, "args"); n > 0 {
		tx.Payload = types.Call{Function: "f", Args: make([]byte, n)}
	}
	if rapid.IntRange(0, 3).Draw(t, "ends") == 0 {
		until := m.now() + uint64(rapid.IntRange(0, 30_000).Draw(t, "valid for")) - 1000
		tx.ValidUntil = &until
	}
	// Parameters never forbid a transaction with a payer: otherwise the order of the pool's checks would matter.
	if payer := rapid.IntRange(0, 2*modelAccounts).Draw(t, "payer"); payer < modelAccounts && payer != i && maxFee > 16 {
		a := account(payer)
		tx.Payer, tx.Value = &a, types.Amount(rapid.IntRange(0, 1).Draw(t, "value"))
	}
	signed := types.SignedTransaction{Transaction: tx, Witness: drawWitness(t, m, tx.Sender, tx.Hash())}
	if tx.Payer != nil {
		signed.PayerWitness = drawWitness(t, m, *tx.Payer, types.PayerHash(tx.Hash()))
	}
	encoded := signed.Encode()
	return encoded, modelTx{
		SignedTransaction: signed, id: signed.ID(), size: len(encoded), added: m.chain.now(), order: order,
	}
}

// drawWitness draws a valid witness, mostly for the authority in force.
func drawWitness(t *rapid.T, m *model, a types.Account, message [32]byte) types.Witness {
	signers := []int{-1, policyKey, policyKey + 1} // signed by the account's own key, or for one of two policies
	by := slices.IndexFunc(signers, func(by int) bool {
		return authorityOf(by, a) == m.account(a).AuthorityAt(a, m.now())
	})
	if rapid.IntRange(0, 15).Draw(t, "authority") == 0 {
		by = rapid.IntRange(0, len(signers)-1).Draw(t, "whose")
	}
	return witnessBy(signers[by], a, message)
}

// drawBlock includes some transactions, credits and debits some accounts, and may change fees and parameters.
func drawBlock(t *rapid.T, c *fakeChain, p *Pool, m *model) {
	records := make(map[int]state.Account)
	for i := range modelAccounts {
		record := c.accounts[account(i)]
		run, _ := m.split(account(i))
		record.Nonce += uint64(rapid.SampledFrom([]int{0, 0, 0, 1, len(run) / 2, len(run) + 1}).Draw(t, "included"))
		if rapid.IntRange(0, 3).Draw(t, "paid") == 0 {
			record.Balance = drawBalance(t)
		}
		drawAuthority(t, m, account(i), &record)
		if !record.Equal(account(i), c.accounts[account(i)]) {
			records[i] = record
		}
	}
	c.pass(time.Duration(rapid.IntRange(0, 20).Draw(t, "seconds")) * time.Second)
	c.env.BaseFee = types.Amount(rapid.IntRange(10, 40).Draw(t, "base fee"))
	if rapid.IntRange(0, 9).Draw(t, "configure") == 0 {
		c.env.Parameters.MinBaseFee = types.Amount(rapid.IntRange(8, 16).Draw(t, "minimum"))
	}
	accesses := c.block(records)
	if err := p.Reset(c.head(), accesses); err != nil {
		t.Fatal(err)
	}
	m.reset()
}

// drawAuthority may change who may sign for an account, begin a recovery, or let a sending account write one.
func drawAuthority(t *rapid.T, m *model, a types.Account, record *state.Account) {
	if record.Nonce == 0 {
		return
	}
	next := authorityOf(rapid.SampledFrom([]int{-1, policyKey, policyKey + 1}).Draw(t, "next"), a)
	switch rapid.IntRange(0, 19).Draw(t, "authority") {
	case 0:
		record.Authority, record.Pending = &next, nil
	case 1:
		from := m.now() + uint64(rapid.IntRange(0, 40_000).Draw(t, "delay"))
		record.Pending = &state.Recovery{Next: next, From: from}
	case 2:
		*record = record.At(m.now())
	}
}

// drawReload gives every account another record.
func drawReload(t *rapid.T, c *fakeChain, p *Pool, m *model) {
	for i := range modelAccounts {
		c.set(i, drawBalance(t), uint64(rapid.IntRange(0, 5).Draw(t, "nonce")))
	}
	if err := p.Reload(c.head()); err != nil {
		t.Fatal(err)
	}
	m.reset()
}

func compare(t *rapid.T, p *Pool, m *model) {
	var want []types.TxID
	for _, tx := range slices.Backward(m.txs) {
		want = append(want, tx.id)
	}
	if got := arrivalsOf(p); !slices.Equal(got, want) {
		t.Fatalf("pending are %v, want %v", got, want)
	}
	for i := range modelAccounts {
		run, _ := m.split(account(i))
		next, err := p.NextNonce(account(i))
		if wanted := m.account(account(i)).Nonce + uint64(len(run)); err != nil || next != wanted {
			t.Fatalf("next nonce of %d is %d (%v), want %d", i, next, err, wanted)
		}
	}
	for _, baseFee := range []types.Amount{10, m.chain.env.BaseFee, 30} {
		if got, want := best(p, baseFee), m.best(baseFee); !slices.Equal(got, want) {
			t.Fatalf("best at %d is %v, want %v", baseFee, got, want)
		}
	}
	count, bytes, held, _ := m.usage()
	s := p.Stats()
	if s.Count != count || s.Bytes != bytes || s.Held != held || s.BackPressure != m.pressure {
		t.Fatalf("got %+v, want %d transactions, %d held, %d bytes, pressure %v", s, count, held, bytes, m.pressure)
	}
}
