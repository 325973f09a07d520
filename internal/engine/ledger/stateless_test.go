package ledger

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"os"
	"slices"
	"testing"

	"github.com/cairn-chain/cairn/abi"
	"github.com/cairn-chain/cairn/internal/engine/parallel"
	"github.com/cairn-chain/cairn/internal/engine/proving"
	"github.com/cairn-chain/cairn/internal/engine/wasm"
	"github.com/cairn-chain/cairn/internal/protocol/blockproof"
	"github.com/cairn-chain/cairn/internal/protocol/exec"
	"github.com/cairn-chain/cairn/internal/protocol/params"
	"github.com/cairn-chain/cairn/internal/protocol/state"
	"github.com/cairn-chain/cairn/internal/protocol/tree"
	"github.com/cairn-chain/cairn/internal/protocol/vm"
	"github.com/cairn-chain/cairn/internal/storage/chain"
	"github.com/cairn-chain/cairn/internal/storage/kv"
	"github.com/cairn-chain/cairn/types"
)

const testBits = 100

func must[T any](v T, err error) func(*testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// provenChain has a primary with proven blocks, a ledger one block behind it, on whose state those blocks are, and a
// stateless ledger that follows.
type provenChain struct {
	t       *testing.T
	primary *Ledger
	before  *Ledger
	prover  *proving.Prover
	disk    *kv.CrashDisk
	engine  vm.Engine
	follower
}

type follower struct {
	*Stateless
	store *chain.Store
	db    *kv.DB
}

func newProvenChain(t *testing.T) *provenChain {
	t.Helper()
	engine := must(wasm.New(wasm.Options{}))(t)
	t.Cleanup(func() {
		if err := engine.Close(); err != nil {
			t.Error(err)
		}
	})
	open := func() *Ledger {
		store, db := openStore(t, kv.NewCrashDisk())
		t.Cleanup(func() { closeStore(t, store, db) })
		g := testGenesis(t)
		return must(Open(store, &g, nil, engine))(t)
	}
	c := &provenChain{
		t:       t,
		primary: open(),
		before:  open(),
		prover:  must(proving.NewProver(testBits, parallel.Run))(t),
		disk:    kv.NewCrashDisk(),
		engine:  engine,
	}
	c.open()
	t.Cleanup(func() { closeStore(t, c.store, c.db) })
	return c
}

// open opens the stateless chain, with an engine that knows no code yet.
func (c *provenChain) open() {
	c.t.Helper()
	c.db = must(kv.Open("db", kv.Options{FS: c.disk.FS()}))(c.t)
	c.store = must(chain.Open(c.db, chain.Options{Schedule: params.Prices.Digest(), Stateless: true}))(c.t)
	g := testGenesis(c.t)
	c.Stateless = must(OpenStateless(c.store, &g, nil, c.engine, testBits))(c.t)
}

// prove makes the bundle for a header on the state before it.
func (c *provenChain) prove(header types.SignedHeader, accesses []types.Access) []byte {
	c.t.Helper()
	view := must(c.before.Store().StateAt(c.before.Tip().Header.Header.Height))(c.t)
	defer view.Close()
	change := must(c.before.tree.Prepare(accesses, parallel.Run))(c.t)
	task := proving.Task{
		Parent:   c.before.Tip().Header,
		Header:   header,
		Accesses: accesses,
		Witness:  must(change.Witness(view.ValueHashAt))(c.t),
	}
	proof := must(c.prover.Prove(&task))(c.t)
	return blockproof.Bundle{Parent: task.Parent, Header: header, Accesses: accesses, Proof: proof}.Encode()
}

// next is the block after the one that the follower has, with its access list.
func (c *provenChain) next() (types.Block, []types.Access) {
	c.t.Helper()
	h := c.before.Tip().Header.Header.Height + 1
	return encodedBlock(c.t, c.primary, h), must(c.primary.Store().Accesses(h))(c.t)
}

// fetch returns the data of an honest node with the state before the next block.
func (c *provenChain) fetch() Fetch {
	return Fetch{Code: c.primary.Store().Code, Value: func(key []byte) ([]byte, tree.MerkleProof, error) {
		p, err := c.before.Prove(key)
		return p.Value, p.Merkle, err
	}}
}

// importBlock has the follower import a block with its bundle.
func (c *provenChain) importBlock(block types.Block, bundle []byte, fetch Fetch) error {
	c.t.Helper()
	proven, err := c.Verify(must(Receive(types.Regtest, block.Encode()))(c.t), bundle)
	if err != nil {
		return err
	}
	_, err = c.Stateless.Import(proven, fetch)
	return err
}

// follow has the follower import the next block of the primary.
func (c *provenChain) follow() {
	c.t.Helper()
	block, accesses := c.next()
	if err := c.importBlock(block, c.prove(block.Signed(), accesses), c.fetch()); err != nil {
		c.t.Fatalf("block %d: error %v", block.Header.Height, err)
	}
	must(c.before.Import(must(Receive(types.Regtest, block.Encode()))(c.t)))(c.t)
	if got, want := c.Tip(), c.before.Tip(); got.Hash != want.Hash || !got.Parameters.Equal(want.Parameters) ||
		!sameEnv(got.Env, want.Env) {
		c.t.Fatalf("after block %d: %+v, want %+v", block.Header.Height, got, want)
	}
}

func signedBy(
	t *testing.T, from string, nonce uint64, target types.ContractID, payload types.Payload,
) *types.VerifiedTx {
	t.Helper()
	key := testKey(t, from)
	tx := must(types.Sign(types.Transaction{
		Target:               types.Account(target),
		ChainID:              7,
		Sender:               key.PublicKey(),
		Nonce:                nonce,
		GasLimit:             60_000_000,
		MaxFeePerGas:         100,
		MaxPriorityFeePerGas: 1,
		Payload:              payload,
	}, key, [32]byte{}))(t)
	return types.VerifyWitnesses(types.Regtest, types.NewTxs(tx))[0]
}

// token is the reference token's code, and the encoded arguments of a function of it.
func token(t *testing.T, function, args string) (code, encoded []byte) {
	t.Helper()
	code = must(os.ReadFile("../../../contracts/wasm/nep20.wasm"))(t)
	declared := must(abi.FromCode(code))(t)
	f, ok := declared.Function(function)
	if !ok {
		t.Fatalf("the token has no function %s", function)
	}
	return code, must(declared.EncodeJSON(f.Args, []byte(args), abi.Hex))(t)
}

// extend has the primary make blocks of all kinds.
func (c *provenChain) extend() {
	t := c.t
	alice, bob := testKey(t, "alice").PublicKey(), testKey(t, "bob").PublicKey()
	code, init := token(t, "init", `{"name":"Gold","symbol":"GLD","decimals":2,"initialSupply":100}`)
	id := types.NewContractID(alice, 1)
	call := func(nonce uint64, function, args string) *types.VerifiedTx {
		_, encoded := token(t, function, args)
		return signedBy(t, "alice", nonce, id, types.Call{Function: function, Args: encoded})
	}
	to := `{"to":"` + types.Account(bob).String() + `","amount":"`
	p := c.primary.Tip().Parameters
	p.GasLimit += 1_000_000
	for _, txs := range [][]*types.VerifiedTx{
		{},
		{
			transfer(t, "alice", 0, types.Account(testKey(t, "producer").PublicKey()), 500*types.CoinUnits),
			transfer(t, "bob", 0, types.Account{9}, 7),
		},
		{signedBy(t, "alice", 1, types.ContractID{}, types.Deploy{Name: "gold", Code: code, InitArgs: init}), call(2, "transfer", to+`30"}`)},
		{},
		// the first fails, the second deletes a balance
		{call(3, "transfer", to+`71"}`), call(4, "transfer", to+`70"}`)},
		{signedBy(t, "producer", 0, types.ContractID{}, types.Configure{Parameters: p}), transfer(t, "bob", 1, types.Account{10}, 8)},
		{
			signedBy(t, "bob", 2, types.ContractID{}, types.Deploy{Name: "again", Code: code, InitArgs: init}),
			signedBy(t, "bob", 3, types.ContractID{}, types.Deploy{Code: []byte("none")}),
		},
		{call(5, "transfer", to+`1"}`)}, // fails: no balance is left
		{},
	} {
		if block := build(t, c.primary, txs...); len(block.Included) != len(txs) {
			t.Fatalf("block %d has %d of %d transactions", block.Header.Header.Height, len(block.Included), len(txs))
		}
	}
}

func TestStatelessFollowsAChain(t *testing.T) {
	c := newProvenChain(t)
	c.extend()
	var inserted, deleted, failed int
	for h := types.Height(1); h <= c.primary.Tip().Header.Header.Height; h++ {
		if h == 5 { // continues after a restart
			closeStore(t, c.store, c.db)
			c.open()
		}
		c.follow()
		for _, a := range must(c.store.Accesses(h))(t) {
			inserted += len(a.New) * (1 - min(1, len(a.Old)))
			deleted += len(a.Old) * (1 - min(1, len(a.New)))
		}
		if !slices.EqualFunc(must(c.store.Receipts(h))(t), must(c.primary.Store().Receipts(h))(t), func(
			a, b types.Receipt,
		) bool {
			failed += 1 - int(min(1, a.Status))
			return bytes.Equal(a.Encode(), b.Encode())
		}) {
			t.Errorf("block %d has other receipts", h)
		}
	}
	if inserted == 0 || deleted == 0 || failed != 3 {
		t.Errorf(
			"the chain inserted %d bytes, deleted %d and had %d failures: not all kinds were seen", inserted, deleted, failed,
		)
	}
	report, err := chain.Check(t.Context(), c.store, nil)
	if err != nil || !report.OK() || report.StateKeys != 1 || report.Codes != 1 {
		t.Errorf("the store: got %+v, error %v", report, err)
	}
	if _, err := c.store.Account(
		c.store.Head().Header.Height, testKey(t, "alice").PublicKey(),
	); !errors.Is(err, chain.ErrNoState) {
		t.Errorf("an account can be read: error %v", err)
	}
	view := must(c.store.StateAt(3))(t)
	defer view.Close()
	if p := must(exec.ReadParameters(view))(t); p.Equal(c.Tip().Parameters) {
		t.Error("before they were changed, parameters read as after")
	}
}

// TestOpenStatelessRefusesState: a store never changes between having state and having none.
func TestOpenStatelessRefusesState(t *testing.T) {
	g := testGenesis(t)
	full := openLedger(t, g)
	if _, err := OpenStateless(full.Store(), &g, nil, nil, testBits); err == nil {
		t.Error("a store with state is opened as one without")
	}
	c := newProvenChain(t)
	if _, err := Open(c.store, &g, nil, nil); !errors.Is(err, chain.ErrNoState) {
		t.Errorf("a store without state is opened as one with: error %v, want %v", err, chain.ErrNoState)
	}
}

// withChanged returns a list in which the value after of one key is changed.
func withChanged(list []types.Access, key, value []byte) []types.Access {
	list = slices.Clone(list)
	for i := range list {
		if bytes.Equal(list[i].Key, key) {
			list[i].New = value
			return list
		}
	}
	panic("the list has no such key")
}

// accessOf returns the access of a key in a list.
func accessOf(list []types.Access, key []byte) types.Access {
	return list[slices.IndexFunc(list, func(a types.Access) bool { return bytes.Equal(a.Key, key) })]
}

// with returns a list with one more access.
func with(list []types.Access, a types.Access) []types.Access {
	list = append(slices.Clone(list), a)
	slices.SortFunc(list, func(a, b types.Access) int { return bytes.Compare(a.Key, b.Key) })
	return list
}

func without(list []types.Access, key []byte) []types.Access {
	return slices.DeleteFunc(slices.Clone(list), func(a types.Access) bool { return bytes.Equal(a.Key, key) })
}

// forged returns a block, signed by the producer, for a list that its transactions do not give, with the root that
// follows from the list.
func (c *provenChain) forged(block types.Block, list []types.Access) types.Block {
	c.t.Helper()
	change := must(c.before.tree.Prepare(list, parallel.Run))(c.t)
	block.Header.StateRoot = change.Root()
	return must(types.DecodeBlock(signed(c.t, "producer", block)))(c.t)
}

// TestStatelessIsNotFooled gives the follower false blocks, lists, proofs and codes. The proof of each list is valid
// unless the case says otherwise.
func TestStatelessIsNotFooled(t *testing.T) {
	c := newProvenChain(t)
	alice, bob := types.Account(testKey(t, "alice").PublicKey()), types.Account(testKey(t, "bob").PublicKey())
	build(t, c.primary, transfer(t, "alice", 0, types.Account{9}, 7))
	build(t, c.primary, transfer(t, "alice", 1, types.Account{9}, 7))
	c.follow()
	block, list := c.next()
	paidKey := state.AccountKey(types.Account{9})
	bobKey, aliceKey, untouched := state.AccountKey(bob), state.AccountKey(alice), state.ParametersKey()
	account := func(a types.Account) state.Account {
		view := must(c.before.Store().StateAt(1))(t)
		defer view.Close()
		return must(exec.ReadAccount(view, a))(t)
	}
	poorBob, bobNow := account(bob), account(bob)
	poorBob.Balance -= 5
	stolen := with(list, types.Access{Key: bobKey, Old: bobNow.Encode(bob), New: poorBob.Encode(bob)})
	richer := account(alice)
	richer.Balance, richer.Nonce = richer.Balance+1, richer.Nonce+1
	resign := func(change func(*types.Header)) types.Block {
		b := block
		change(&b.Header)
		return must(types.DecodeBlock(signed(t, "producer", b)))(t)
	}
	first := encodedBlock(t, c.primary, 1)
	// Its transaction pays another account, but it keeps the roots, the writes and the proof of the true list.
	toAnother := block
	toAnother.Transactions = []types.SignedTransaction{*transfer(t, "alice", 1, types.Account{10}, 7).Signed()}
	toAnother = must(types.DecodeBlock(signed(t, "producer", toAnother)))(t)
	toMore := block // whose transaction pays more
	toMore.Transactions = []types.SignedTransaction{*transfer(t, "alice", 1, types.Account{9}, 8).Signed()}
	toMore = must(types.DecodeBlock(signed(t, "producer", toMore)))(t)
	notInOrder := block
	notInOrder.Transactions = []types.SignedTransaction{*transfer(t, "alice", 2, types.Account{9}, 7).Signed()}
	notInOrder = must(types.DecodeBlock(signed(t, "producer", notInOrder)))(t)
	omitted := withChanged(list, paidKey, accessOf(list, paidKey).Old)
	p := c.Tip().Parameters
	p.Producer = testKey(t, "alice").PublicKey()
	configured := withChanged(list, state.ParametersKey(), p.Encode())
	proofOf := func(b types.Block, l []types.Access) []byte { return c.prove(b.Signed(), l) }
	honest := proofOf(block, list)
	for _, test := range []struct {
		name    string
		block   types.Block
		bundle  func(types.Block) []byte
		invalid bool // the producer is to blame; else the sender of the bundle
	}{
		{
			"the producer takes coins that no transaction moves", c.forged(block, stolen),
			func(b types.Block) []byte { return proofOf(b, stolen) }, true,
		},
		{"the producer gives another balance than the transaction", c.forged(block, withChanged(
			list, aliceKey, richer.Encode(alice),
		)), func(b types.Block) []byte {
			return proofOf(b, withChanged(list, aliceKey, richer.Encode(alice)))
		}, true},
		{
			"the producer writes nothing at all", c.forged(block, unchanged(list)),
			func(b types.Block) []byte { return proofOf(b, unchanged(list)) }, true,
		},
		{
			"the producer leaves one write out", c.forged(block, omitted),
			func(b types.Block) []byte { return proofOf(b, omitted) }, true,
		},
		{
			"the producer writes what is only read", c.forged(block, configured),
			func(b types.Block) []byte { return proofOf(b, configured) }, true,
		},
		{
			"a transaction that pays more than the writes say", toMore, func(b types.Block) []byte { return proofOf(b, list) },
			true,
		},
		{"a transaction that is not valid", notInOrder, func(b types.Block) []byte { return proofOf(b, list) }, true},
		{
			"a transaction that pays somebody who is not in the list", toAnother,
			func(b types.Block) []byte { return proofOf(b, list) }, true,
		},
		{
			"other receipts", resign(func(h *types.Header) { h.ReceiptsRoot[0] ^= 1 }),
			func(b types.Block) []byte { return proofOf(b, list) }, true,
		},
		{
			"another gas limit", resign(func(h *types.Header) { h.GasLimit++ }),
			func(b types.Block) []byte { return proofOf(b, list) }, true,
		},
		{
			"other gas", resign(func(h *types.Header) { h.GasUsed++ }), func(b types.Block) []byte { return proofOf(b, list) },
			true,
		},
		{
			"another base fee", resign(func(h *types.Header) { h.BaseFee++ }),
			func(b types.Block) []byte { return proofOf(b, list) }, true,
		},
		{
			"a time before the parent's", resign(func(h *types.Header) { h.Timestamp = 0 }),
			func(b types.Block) []byte { return proofOf(b, list) }, true,
		},
		{
			"another root", resign(func(h *types.Header) { h.StateRoot[0] ^= 1 }), func(types.Block) []byte { return honest },
			false,
		},
		{"another chain", resign(func(h *types.Header) { h.ChainID++ }), func(types.Block) []byte { return honest }, false},
		{"another value of what is only read", block, func(types.Block) []byte {
			return changedBundle(t, honest, func(b *blockproof.Bundle) {
				b.Accesses = withChanged(b.Accesses, state.ParametersKey(), p.Encode())
				parametersIn(b.Accesses).Old = p.Encode()
			})
		}, false},
		{"a key too many that is only read", block, func(b types.Block) []byte {
			return proofOf(b, with(list, types.Access{Key: bobKey, Old: bobNow.Encode(bob), New: bobNow.Encode(bob)}))
		}, false},
		{"an absent key too many", block, func(b types.Block) []byte {
			return proofOf(b, with(list, types.Access{Key: state.AccountKey(types.Account{77})}))
		}, false},
		{
			"a key too few that is only read", block,
			func(b types.Block) []byte { return proofOf(b, without(list, untouched)) }, false,
		},
		{"a key too few that is written", c.forged(block, without(list, paidKey)), func(b types.Block) []byte {
			return proofOf(b, without(list, paidKey))
		}, true},
		{"writes that lead to another root", block, func(types.Block) []byte {
			return changedBundle(t, honest, func(b *blockproof.Bundle) { b.Accesses = stolen })
		}, false},
		{"another value before", block, func(types.Block) []byte {
			return changedBundle(t, honest, func(b *blockproof.Bundle) {
				b.Accesses = slices.Clone(b.Accesses)
				b.Accesses[1].Old, b.Accesses[1].New = bytes.Clone(list[1].Old), bytes.Clone(list[1].New)
				b.Accesses[1].Old[0] ^= 1
				b.Accesses[1].New[0] ^= 1
			})
		}, false},
		{"no proof", block, func(types.Block) []byte {
			return changedBundle(t, honest, func(b *blockproof.Bundle) { b.Proof = nil })
		}, false},
		{"no bundle", block, func(types.Block) []byte { return nil }, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			err := c.importBlock(test.block, test.bundle(test.block), c.fetch())
			var invalid *InvalidBlock
			switch {
			case test.invalid && !errors.As(err, &invalid), !test.invalid && !errors.Is(err, ErrEvidence):
				t.Errorf("error %v", err)
			case test.invalid && errors.Is(err, ErrEvidence):
				t.Errorf("nobody is clearly to blame: error %v", err)
			}
			if c.store.Head().Header.Height != 1 || c.Tip().Hash != c.before.Tip().Hash {
				t.Fatal("the false block is taken")
			}
		})
	}
	lacking := c.forged(block, without(list, paidKey))
	lackingProven := proofOf(lacking, without(list, paidKey))
	for _, test := range []struct {
		name  string
		value func(value []byte, proof tree.MerkleProof) ([]byte, tree.MerkleProof, error)
	}{
		{
			"another value",
			func(_ []byte, p tree.MerkleProof) ([]byte, tree.MerkleProof, error) {
				return poorBob.Encode(bob), p, nil
			},
		},
		{"no proof", func(v []byte, _ tree.MerkleProof) ([]byte, tree.MerkleProof, error) {
			return v, tree.MerkleProof{}, nil
		}},
		{"no state", func([]byte, tree.MerkleProof) ([]byte, tree.MerkleProof, error) {
			return nil, tree.MerkleProof{}, chain.ErrNoState
		}},
	} {
		t.Run("a key too few that is written, and "+test.name+" that shows it", func(t *testing.T) {
			fetch := c.fetch()
			honest := fetch.Value
			fetch.Value = func(key []byte) ([]byte, tree.MerkleProof, error) {
				if !bytes.Equal(key, paidKey) {
					t.Errorf("the value of %x is asked for", key)
				}
				value, proof, err := honest(key)
				if err != nil {
					t.Error(err)
				}
				return test.value(value, proof)
			}
			if err := c.importBlock(lacking, lackingProven, fetch); !errors.Is(err, ErrEvidence) ||
				errors.As(err, new(*InvalidBlock)) {
				t.Errorf("error %v", err)
			}
		})
	}
	for _, test := range []struct {
		name   string
		signer string
		change func(*types.Header)
		want   error
	}{
		{"another parent", "producer", func(h *types.Header) { h.Parent[0] ^= 1 }, ErrOtherParent},
		{"another height", "producer", func(h *types.Header) { h.Height++ }, ErrOtherHeight},
		{
			"another producer, who signs", "alice", func(h *types.Header) { h.Producer = testKey(t, "alice").PublicKey() },
			ErrOtherSigner,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			b := block
			test.change(&b.Header)
			if _, err := c.Verify(must(Receive(types.Regtest, signed(t, test.signer, b)))(t), honest); !errors.Is(err, test.want) {
				t.Errorf("error %v, want %v", err, test.want)
			}
		})
	}
	t.Run("a proof of fewer bits", func(t *testing.T) {
		c.bits = 128
		defer func() { c.bits = testBits }()
		if err := c.importBlock(block, honest, c.fetch()); !errors.Is(err, ErrEvidence) {
			t.Errorf("error %v, want %v", err, ErrEvidence)
		}
	})
	// The headers in a bundle are ignored: no false header can prevent a proof that holds.
	other := changedBundle(t, honest, func(b *blockproof.Bundle) { b.Parent, b.Header = first.Signed(), first.Signed() })
	if err := c.importBlock(block, other, c.fetch()); err != nil {
		t.Errorf("the honest block, after all: error %v", err)
	}
}

// TestStatelessIsNotFooledByAnEmptyBlock has the producer sign a different root for a block that touches nothing. Its
// proof has no segments, so no list could reveal it.
func TestStatelessIsNotFooledByAnEmptyBlock(t *testing.T) {
	c := newProvenChain(t)
	build(t, c.primary)
	block, list := c.next()
	proof := c.prove(block.Signed(), list)
	for _, change := range []func(*types.Header){
		func(h *types.Header) { h.StateRoot[0] ^= 1 },
		func(h *types.Header) { h.StateRoot = types.StateRoot{} },
	} {
		b := block
		change(&b.Header)
		if _, err := c.Verify(must(Receive(types.Regtest, signed(t, "producer", b)))(t), proof); !errors.Is(err, ErrEvidence) {
			t.Errorf("error %v, want %v", err, ErrEvidence)
		}
	}
	c.follow()
}

// unchanged returns a list whose keys are all only read.
func unchanged(list []types.Access) []types.Access {
	list = slices.Clone(list)
	for i := range list {
		list[i].New = list[i].Old
	}
	return list
}

func changedBundle(t *testing.T, encoded []byte, change func(*blockproof.Bundle)) []byte {
	t.Helper()
	b := must(blockproof.DecodeBundle(bytes.Clone(encoded)))(t)
	change(&b)
	return b.Encode()
}

// TestStatelessKeepsCodes calls a contract on a follower that began after its deploy. The follower gets the code, first
// false and then right, and has it from then on. It makes no difference whether the engine has loaded it.
func TestStatelessKeepsCodes(t *testing.T) {
	c := newProvenChain(t)
	alice := testKey(t, "alice").PublicKey()
	code, init := token(t, "init", `{"name":"Gold","symbol":"GLD","decimals":2,"initialSupply":100}`)
	hash := types.CodeHash(sha256.Sum256(code))
	build(t, c.primary, signedBy(t, "alice", 0, types.ContractID{}, types.Deploy{Code: code, InitArgs: init}))
	build(t, c.primary)
	_, args := token(t, "transfer", `{"to":"`+types.Account{8}.String()+`","amount":"30"}`)
	for nonce := range uint64(2) {
		build(
			t, c.primary,
			signedBy(t, "alice", 1+nonce, types.NewContractID(alice, 0), types.Call{Function: "transfer", Args: args}),
		)
	}
	c.follow()
	if got := must(c.store.Code(hash))(t); !bytes.Equal(got, code) {
		t.Errorf("of the code that was deployed %d bytes are kept", len(got))
	}
	block, list := c.next()
	store, err := c.start(block.Header.Hash(), c.startOf(block, c.prove(block.Signed(), list)))
	if err != nil {
		t.Fatal(err)
	}
	g := testGenesis(t)
	late := must(OpenStateless(store, &g, nil, c.engine, testBits))(t)
	c.follow()
	asked := 0
	unavailable := errors.New("the test")
	for _, test := range []struct {
		name  string
		given []byte
		err   error
		want  error
		asked int
	}{
		{"another contract's code", must(os.ReadFile("../../../contracts/wasm/counter.wasm"))(t), nil, ErrEvidence, 1},
		{"no code", nil, unavailable, unavailable, 2},
		{"the code", code, nil, nil, 3},
		{"a second call", nil, unavailable, nil, 3},
	} {
		block, list := c.next()
		proven := must(late.Verify(must(Receive(types.Regtest, block.Encode()))(t), c.prove(block.Signed(), list)))(t)
		_, err := late.Import(proven, Fetch{Code: func(got types.CodeHash) ([]byte, error) {
			if asked++; got != hash {
				t.Errorf("%s: asked for %s, want %s", test.name, got, hash)
			}
			return test.given, test.err
		}})
		if !errors.Is(err, test.want) || asked != test.asked {
			t.Errorf("%s: asked %d times, error %v", test.name, asked, err)
		}
		_, missing := store.Code(hash)
		if errors.Is(missing, chain.ErrNotFound) != (test.want != nil) {
			t.Errorf("%s: reading the code: error %v", test.name, missing)
		}
		if err == nil {
			c.follow()
		}
	}
	if report := must(chain.Check(t.Context(), store, nil))(t); !report.OK() || report.Codes != 1 {
		t.Errorf("the store: got %+v", report)
	}
}

// A deploy whose init fails loads a code that no contract has, and that nobody could provide: followers do not request
// it.
func TestStatelessFollowsDeploysThatFail(t *testing.T) {
	c := newProvenChain(t)
	code, _ := token(t, "init", `{"name":"Gold","symbol":"GLD","decimals":2,"initialSupply":100}`)
	build(t, c.primary, signedBy(t, "alice", 0, types.ContractID{}, types.Deploy{Code: code, InitArgs: []byte("no arguments of init")}))
	receipts := must(c.primary.Store().Receipts(1))(t)
	if len(receipts) != 1 || receipts[0].Status != types.StatusFailed {
		t.Fatalf("the deploy gave %+v", receipts)
	}
	c.follow()
}
