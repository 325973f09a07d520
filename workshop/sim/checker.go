package sim

import (
	"context"
	"crypto/sha256"
	"fmt"

	"github.com/cairn-chain/cairn/internal/engine/ledger"
	"github.com/cairn-chain/cairn/internal/engine/replica"
	"github.com/cairn-chain/cairn/internal/protocol/lists"
	"github.com/cairn-chain/cairn/internal/storage/chain"
	"github.com/cairn-chain/cairn/types"
)

// Invariant is a property that every run must have.
type Invariant string

// The invariants.
const (
	Agreement       Invariant = "all nodes have the same block, state root and receipts at every height"
	Acknowledged    Invariant = "a transaction that a node said to be in a block stays there"
	Durable         Invariant = "a node that comes back has every block that it served"
	OneSignature    Invariant = "the producer signs one block at each height"
	Supply          Invariant = "balances and what was burned are the genesis supply"
	Verified        Invariant = "a replica serves only blocks that are what executing them gives"
	Convergence     Invariant = "once the faults end all nodes have the same head"
	Sound           Invariant = "every store is sound"
	Running         Invariant = "a node ends only for a fault of its machine, and starts again"
	HaltsOnlyOnLies Invariant = "replicas halt when the producer lies, and only then"
	Evidence        Invariant = "a replica on one of two blocks of a height halts, and keeps both with the " +
		"producer's signatures"
)

// Invariants lists all invariants.
var Invariants = []Invariant{
	Agreement, Acknowledged, Durable, OneSignature, Supply, Verified, Convergence, Sound, Running, HaltsOnlyOnLies,
	Evidence,
}

// book records the observations of a run.
type book struct {
	built    map[types.Height]types.BlockHash // built by the primary, whose ledger executed them
	receipts map[types.BlockHash][32]byte     // digests, from the first node that had them
	intact   map[[32]byte]bool                // by block digest: whether the block is as its producer signed it
	included map[types.TxID]chain.Position    // as a node reported to a client
	order    []types.TxID                     // keys of included, in order of time
}

func newBook() book {
	return book{
		built: make(map[types.Height]types.BlockHash), receipts: make(map[types.BlockHash][32]byte),
		intact:   make(map[[32]byte]bool),
		included: make(map[types.TxID]chain.Position),
	}
}

// violate records a violated invariant.
func (w *simulation) violate(i Invariant, format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	w.note("VIOLATION (%s): %s", i, text)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.report.Violations = append(w.report.Violations, Violation{i, text})
}

// wasBuilt records a block that the primary has on disk.
func (w *simulation) wasBuilt(p *process, b ledger.Block) {
	w.signed(b.Header.Header.Height, b.Hash)
	if err := w.signSecond(p); err != nil {
		w.violate(Running, "%s cannot sign a second block: %v", p.node.name, err)
	}
}

func (w *simulation) signed(h types.Height, hash types.BlockHash) {
	w.mu.Lock()
	before, known := w.book.built[h]
	w.book.built[h] = hash
	w.mu.Unlock()
	if known && before != hash {
		w.violate(OneSignature, "block %d is %s and was %s", h, hash, before)
	}
}

// adopt records the blocks that a primary finds on its disk. The last one may not have been announced.
func (w *simulation) adopt(p *process) error {
	for h := types.Height(0); h <= p.height(); h++ {
		header, err := p.store.Header(h)
		if err != nil {
			return err
		}
		w.signed(h, header.Header.Hash())
	}
	return w.signSecond(p)
}

// wasIncluded records a node's report to a client.
func (w *simulation) wasIncluded(id types.TxID, at chain.Position) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.book.included[id] = at
	w.book.order = append(w.book.order, id)
	w.report.Included++
}

// check checks every running node.
func (w *simulation) check() {
	for _, n := range w.nodes {
		n.bury()
		p := n.process
		if p == nil {
			continue
		}
		if err := w.checkNode(p); err != nil {
			w.violate(Running, "%s cannot be read: %v", n.name, err)
		}
	}
}

// checkNode checks the blocks that are new at a node since the last check. For a new process it begins with the last
// block that the old one served.
func (w *simulation) checkNode(p *process) error {
	n, head := p.node, p.height()
	if head < n.served {
		w.violate(Durable, "%s is at %d and has served block %d", n.name, head, n.served)
		n.served = head
	}
	for h := n.served; h <= head; h++ {
		if err := w.checkBlock(p, h); err != nil {
			return err
		}
	}
	n.served = head
	if p.follow != nil {
		if halt := p.follow.Halt(); halt != nil && !w.justified(halt) {
			w.violate(HaltsOnlyOnLies, "%s halts at %d: %s", n.name, halt.Height, halt.Message)
		}
	}
	return nil
}

// justified reports whether the producer's misbehaviour justifies a replica's halt.
func (w *simulation) justified(h *replica.Halt) bool {
	if h.Reason == replica.Equivocation {
		return h.Height == w.lies.twice
	}
	return w.lies.root > 0 && h.Height >= w.lies.root
}

// checkBlock compares a block served by a node with the book.
func (w *simulation) checkBlock(p *process, h types.Height) error {
	b, err := p.block(h)
	if err != nil {
		return err
	}
	w.mu.Lock()
	built, known := w.book.built[h]
	w.mu.Unlock()
	hash := b.Header.Hash()
	second := p.follow != nil && w.isSecond(hash)
	if second && p.height() > h {
		w.violate(Agreement, "%s goes on after the second block of height %d", p.node.name, h)
	}
	if !second && (!known || built != hash) {
		w.violate(Verified, "%s serves a block %d, %s, that is not the chain's, %s", p.node.name, h, hash, built)
		w.violate(Agreement, "%s has %s at height %d, the primary %s", p.node.name, hash, h, built)
		return nil
	}
	if h > 0 && !w.intact(b) {
		w.violate(
			Verified, "%s serves a block %d whose signature or transactions are not those of the chain's", p.node.name, h,
		)
		return nil
	}
	receipts, err := p.receipts(h)
	if err != nil {
		return err
	}
	digest := sha256.New()
	for _, r := range receipts {
		digest.Write(r.Encode())
	}
	sum := [32]byte(digest.Sum(nil))
	w.mu.Lock()
	first, known := w.book.receipts[hash]
	if !known {
		w.book.receipts[hash] = sum
	}
	w.mu.Unlock()
	if known && first != sum {
		w.violate(Agreement, "%s has other receipts of block %d", p.node.name, h)
	}
	if p.unverified != nil && h > p.store.Head().Header.Height {
		return nil // there is no state
	}
	return w.checkSupply(p, h)
}

// intact reports whether a block is as its producer signed it. Verified blocks are not verified again.
func (w *simulation) intact(b types.Block) bool {
	digest := sha256.Sum256(b.Encode())
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.book.intact[digest] {
		return true
	}
	root := lists.TransactionsRoot(types.NewTxs(b.Transactions...))
	w.book.intact[digest] = root == b.Header.TransactionsRoot && b.Signed().VerifySeal()
	return w.book.intact[digest]
}

func (w *simulation) checkSupply(p *process, h types.Height) error {
	accounts := []types.Account{w.genesis.Parameters.FeeRecipient}
	want := types.Amount(0)
	for _, a := range w.genesis.Allocations {
		accounts = append(accounts, a.Account)
		want += a.Balance
	}
	supply, found, err := p.sums(h, accounts)
	if err != nil {
		return err
	}
	if supply != want || found != want {
		w.violate(Supply, "%s has %d of %d after block %d", p.node.name, found, want, h)
	}
	return nil
}

// end checks everything again after the end of the faults.
func (w *simulation) end() {
	for _, n := range w.nodes {
		p := n.process
		if p == nil {
			w.violate(Convergence, "%s is down", n.name)
			continue
		}
		if err := w.checkWhole(p); err != nil {
			w.violate(Running, "%s cannot be read: %v", n.name, err)
		}
	}
}

func (w *simulation) checkWhole(p *process) error {
	for h := types.Height(0); h <= p.height(); h++ {
		if err := w.checkBlock(p, h); err != nil {
			return err
		}
	}
	report, err := chain.Check(context.Background(), p.store, nil)
	if err != nil {
		return err
	}
	if !report.OK() {
		w.violate(Sound, "the store of %s: %v", p.node.name, report.Problems)
	}
	if err := w.checkIncluded(p); err != nil {
		return err
	}
	w.checkHead(p)
	return nil
}

// checkIncluded looks up every transaction reported to a client.
func (w *simulation) checkIncluded(p *process) error {
	w.mu.Lock()
	order, included := w.book.order, w.book.included
	w.mu.Unlock()
	last := p.height()
	if w.isSecond(p.store.Head().Header.Hash()) {
		last-- // clients were told of the other block
	}
	for _, id := range order {
		want := included[id]
		if want.Height > last {
			continue // checkHead reports missing blocks
		}
		at, found, err := p.position(id)
		if err != nil {
			return err
		}
		if !found || at != want {
			w.violate(Acknowledged, "%s was in block %d; %s has it: %t, in %d", id, want.Height, p.node.name, found, at.Height)
		}
	}
	return nil
}

// endOf returns the height at which a node must end: the head of the primary or, if the primary signed a wrong root,
// the last height before.
func (w *simulation) endOf(p *process) types.Height {
	w.mu.Lock()
	defer w.mu.Unlock()
	head := types.Height(len(w.book.built) - 1)
	if p.follow != nil && w.lies.root > 0 {
		return min(head, w.lies.root-1)
	}
	return head
}

// unsettled returns the violation of a node that has not reached its required final state, or nil.
func (w *simulation) unsettled(p *process) *Violation {
	var halt *replica.Halt
	if p.follow != nil {
		halt = p.follow.Halt()
	}
	switch want, got := w.endOf(p), p.height(); {
	case w.isSecond(p.store.Head().Header.Hash()) && halt == nil:
		return &Violation{
			Evidence, fmt.Sprintf("%s is at the second block of height %d and has not halted", p.node.name, got),
		}
	case halt != nil && halt.Reason == replica.Equivocation:
		return nil // at whatever height it noticed
	case got != want:
		return &Violation{Convergence, fmt.Sprintf("%s is at %d, not %d", p.node.name, got, want)}
	case p.follow != nil && w.lies.root > 0 && w.endOf(w.nodes[0].process) >= w.lies.root && halt == nil:
		return &Violation{HaltsOnlyOnLies, fmt.Sprintf("%s has not halted at %d", p.node.name, w.lies.root)}
	}
	return nil
}

// checkHead checks the final height of a node, and whether it has noticed a lie.
func (w *simulation) checkHead(p *process) {
	if v := w.unsettled(p); v != nil {
		w.violate(v.Invariant, "%s", v.Text)
	}
	if p.follow != nil && p.follow.Halt() != nil {
		w.report.Halted++
		w.checkEvidence(p)
	}
	w.note("%s ends at %d", p.node.name, p.height())
	w.report.Heights = max(w.report.Heights, p.height())
}

// checkEvidence checks the evidence that a halted replica keeps on disk.
func (w *simulation) checkEvidence(p *process) {
	halt, err := replica.ReadHalt(p.node.haltFile)
	if err != nil || halt == nil {
		w.violate(Evidence, "%s keeps none of its halt: %v", p.node.name, err)
		return
	}
	w.note("%s has halted at %d: %s", p.node.name, halt.Height, halt.Reason)
	seen := make(map[types.BlockHash]bool)
	for _, h := range halt.Headers {
		signed, err := types.DecodeSignedHeader(h.Raw)
		if err != nil || signed.Header.Height != halt.Height || signed.Header.Producer != w.producer.PublicKey() ||
			!signed.VerifySeal() {
			w.violate(Evidence, "%s keeps a header that the producer did not sign: %v", p.node.name, err)
			return
		}
		seen[signed.Header.Hash()] = true
	}
	if want := map[string]int{replica.Equivocation: 2, replica.Diverged: 1}[halt.Reason]; len(seen) != want {
		w.violate(Evidence, "%s keeps %d headers of a halt for which it needs %d", p.node.name, len(seen), want)
	}
}
