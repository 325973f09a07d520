package ledger

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/cairn-chain/cairn/internal/protocol/params"
	"github.com/cairn-chain/cairn/internal/protocol/tree"
	"github.com/cairn-chain/cairn/internal/protocol/vm"
	"github.com/cairn-chain/cairn/internal/storage/chain"
	"github.com/cairn-chain/cairn/internal/storage/kv"
	"github.com/cairn-chain/cairn/types"
)

// failing is an engine that fails on each call, after it has run it.
type failing struct{ vm.Engine }

var errInjected = errors.New("injected")

func (f failing) Run(
	hash types.CodeHash, module *vm.Module, function string, host vm.Host, gas *vm.Gas,
) (vm.Exit, error) {
	if _, err := f.Engine.Run(hash, module, function, host, gas); err != nil {
		return 0, err
	}
	return 0, &vm.Fault{Code: hash, Function: function, Err: errInjected}
}

// lying is an engine that takes more gas than a call uses.
type lying struct {
	vm.Engine
	more uint64
}

func (l lying) Run(
	hash types.CodeHash, module *vm.Module, function string, host vm.Host, gas *vm.Gas,
) (vm.Exit, error) {
	exit, err := l.Engine.Run(hash, module, function, host, gas)
	gas.Left -= min(gas.Left, l.more)
	return exit, err
}

// looking is a liar whose calls read a storage value of their contract, which the real calls do not.
type looking struct{ lying }

func (l looking) Run(
	hash types.CodeHash, module *vm.Module, function string, host vm.Host, gas *vm.Gas,
) (vm.Exit, error) {
	memory, others := page(make([]byte, 1<<16)), vm.Gas{Left: 1 << 40}
	exit, err := host.Invoke(vm.StorageRead, memory, []uint64{0, 9, 100, 9}, &others)
	if exit != vm.Returned || err != nil {
		return exit, err
	}
	return l.lying.Run(hash, module, function, host, gas)
}

// page is an instance's memory.
type page []byte

func (p page) Range(pointer, n uint32) ([]byte, bool) { return p[pointer:][:n], true }
func (page) Pages() uint32                            { return 1 }

// named counts the requests for it.
func named(name string, engine vm.Engine, asked *int) NamedEngine {
	return NamedEngine{name, func() (vm.Engine, error) { *asked++; return engine, nil }}
}

// If an engine fails on an existing block, another one executes it with the same result. If all fail, the block is not
// imported and nothing changes; it can be imported later.
func TestImportByAnotherEngine(t *testing.T) {
	c := newProvenChain(t)
	c.extend()
	var first, second int
	bad, good := failing{c.engine}, c.engine
	withCalls := 0
	for h := types.Height(1); h <= c.primary.Tip().Header.Header.Height; h++ {
		block, accesses := c.next()
		received := must(Receive(types.Regtest, block.Encode()))(t)
		bundle := c.prove(block.Signed(), accesses)
		fetch := c.fetch()

		none := Fallback{Engines: []NamedEngine{named("one", bad, new(int)), named("another", bad, new(int))}}
		c.before.Fallback, c.Stateless.Fallback = none, none
		imported, err := c.before.Import(received)
		var failure *EngineFailure
		if err == nil { // no contract ran
			if err := c.importBlock(block, bundle, fetch); err != nil || len(imported) != 1 {
				t.Fatalf("block %d: error %v", h, err)
			}
			continue
		}
		withCalls++
		if !errors.As(err, &failure) || failure.Claimed != block.Signed() ||
			!strings.Contains(err.Error(), "another: execute") ||
			len(imported) != 0 || c.before.Tip().Header.Header.Height != h-1 {
			t.Fatalf("block %d: error %v", h, err)
		}
		if err := c.importBlock(block, bundle, fetch); !errors.As(err, &failure) || c.Tip().Header.Header.Height != h-1 {
			t.Fatalf("block %d, without state: error %v", h, err)
		}

		some := Fallback{
			Engines:  []NamedEngine{named("one", bad, &first), named("another", good, &second)},
			Mistaken: func(m Mistake) { t.Errorf("an engine that failed is mistaken: got %+v", m) },
		}
		c.before.Fallback, c.Stateless.Fallback = some, some
		must(c.before.Import(received))(t)
		if err := c.importBlock(block, bundle, fetch); err != nil {
			t.Fatalf("block %d, without state: error %v", h, err)
		}
		if c.Tip().Hash != c.before.Tip().Hash {
			t.Fatalf("block %d: other tips", h)
		}
	}
	if withCalls < 4 || first != 2*withCalls || second != first {
		t.Errorf("%d blocks with calls, asked %d and %d times", withCalls, first, second)
	}
	broken := errors.New("no interpreter")
	l := openLedger(t, testGenesis(t))
	l.Fallback.Engines = []NamedEngine{{"none", func() (vm.Engine, error) { return nil, broken }}}
	block := must(Receive(types.Regtest, encodedBlock(t, c.primary, 1).Encode()))(t)
	if _, err := l.Import(block); !errors.Is(err, broken) || errors.As(err, new(*EngineFailure)) {
		t.Errorf("got %v, want %v", err, broken)
	}
}

// The building of a block continues without the transaction on which the engine failed, as if it had never come.
func TestBuildWithoutAFault(t *testing.T) {
	c := newProvenChain(t)
	c.extend()
	with, without := c.primary, c.before
	for h := types.Height(1); h <= with.Tip().Header.Header.Height; h++ {
		must(without.Import(must(Receive(types.Regtest, encodedBlock(t, with, h).Encode()))(t)))(t)
	}
	id := types.NewContractID(types.Account(testKey(t, "alice").PublicKey()), 1)
	_, args := token(t, "transfer", `{"to":"`+types.Account{9}.String()+`","amount":"0"}`)
	call := signedBy(t, "alice", 6, id, types.Call{Function: "transfer", Args: args})
	before, after := transfer(t, "bob", 4, types.Account{9}, 1), transfer(t, "bob", 5, types.Account{9}, 1)
	with.engine = failing{c.engine}
	got := build(t, with, before, call, after)
	want := build(t, without, before, after)
	if got.Header != want.Header || len(got.Included) != 2 {
		t.Errorf("got %+v, want %+v", got.Header, want.Header)
	}
	with.engine = c.engine
	if got, want := build(t, with, call), build(t, without, call); got.Header != want.Header || len(got.Included) != 1 {
		t.Errorf("got %+v, want %+v", got.Header, want.Header)
	}
}

// callsOf returns the codes that run in a block of [provenChain.extend]: the token's, if the block calls or deploys it.
func callsOf(t *testing.T, block types.Block) []types.CodeHash {
	t.Helper()
	code, _ := token(t, "init", `{"name":"Gold","symbol":"GLD","decimals":2,"initialSupply":100}`)
	for _, tx := range block.Transactions {
		switch tx.Payload.(type) {
		case types.Call, types.Deploy:
			return []types.CodeHash{sha256.Sum256(code)}
		}
	}
	return nil
}

// A block whose header only a fallback engine derives is accepted, whichever way it is verified. The codes that ran in
// it are reported.
func TestOneExecutionCondemnsNobody(t *testing.T) {
	c := newProvenChain(t)
	c.extend()
	var asked int
	var mistakes []Mistake
	fallback := Fallback{
		Engines: []NamedEngine{
			named("a liar", lying{c.engine, 1}, new(int)), named("another", c.engine, &asked),
		},
		Mistaken: func(m Mistake) { mistakes = append(mistakes, m) },
	}
	c.before.Fallback, c.Stateless.Fallback = fallback, fallback
	g := testGenesis(t)
	for h := types.Height(1); h <= c.primary.Tip().Header.Header.Height; h++ {
		block, accesses := c.next()
		ran := callsOf(t, block)
		bundle, fetch := c.prove(block.Signed(), accesses), c.fetch()
		candidate := block
		candidate.Seal = types.Seal{}
		for name, judged := range map[string]func() error{
			"a candidate": func() error {
				_, err := c.before.Derive(must(ReceiveProposal(types.Regtest, candidate.Encode()))(t))
				return err
			},
			"at a trusted block": func() error {
				db := must(kv.Open("db", kv.Options{FS: kv.NewCrashDisk().FS()}))(t)
				store := must(chain.Open(db, chain.Options{Schedule: params.Prices.Digest(), Stateless: true}))(t)
				defer closeStore(t, store, db)
				s := c.startOf(block, bundle)
				s.Trusted = block.Header.Hash()
				return StartStateless(store, g, nil, fallback, testBits, s)
			},
			"without state": func() error { return c.importBlock(block, bundle, fetch) },
		} {
			mistakes, asked = nil, 0
			if err := judged(); err != nil {
				t.Fatalf("block %d, %s: error %v", h, name, err)
			}
			checkMistakes(t, mistakes, block, ran, asked)
		}
		mistakes, asked = nil, 0
		if _, err := c.before.Import(must(Receive(types.Regtest, block.Encode()))(t)); err != nil {
			t.Fatalf("block %d, with state: error %v", h, err)
		}
		checkMistakes(t, mistakes, block, ran, asked)
		if c.Tip().Hash != c.before.Tip().Hash || c.Tip().Hash != block.Header.Hash() {
			t.Fatalf("block %d: the tips are %s and %s, want %s", h, c.before.Tip().Hash, c.Tip().Hash, block.Header.Hash())
		}
	}
}

// checkMistakes compares the reported mistakes with the codes that ran in a block.
func checkMistakes(t *testing.T, got []Mistake, block types.Block, ran []types.CodeHash, asked int) {
	t.Helper()
	if ran == nil {
		if len(got) != 0 || asked != 0 {
			t.Errorf("block %d, where nothing ran: got %d mistakes, asked %d times, want none",
				block.Header.Height, len(got), asked)
		}
		return
	}
	if len(got) != 1 || asked != 1 || got[0].Block.Header != block.Header || got[0].Right != "another" ||
		!slices.Equal(got[0].Codes, ran) || len(got[0].Verdicts) != 1 {
		t.Fatalf("block %d: got %+v, asked %d times, want one mistake with the codes %v",
			block.Header.Height, got, asked, ran)
	}
	h := got[0].Verdicts[0].Derived
	want := fmt.Sprintf("a liar derives %s: %v; another derives %s, which block %d has", h.Hash(), got[0].Verdicts[0].Err,
		block.Header.Hash(), block.Header.Height)
	if text := got[0].Err().Error(); text != want {
		t.Errorf("got %q, want %q", text, want)
	}
}

// A range is derived with a fallback engine too; keys that the first one read outside the list do not count.
func TestRangeByAnotherEngine(t *testing.T) {
	c := newProvenChain(t)
	c.extend()
	blocks := c.blocksUpTo(1, 4)
	encoded := c.proveRange(blocks, c.union(1, 4))
	var mistakes []Mistake
	for name, bad := range map[string]vm.Engine{
		"it lies": lying{c.engine, 1}, "it looks elsewhere": looking{lying{c.engine, 1}},
	} {
		c.Stateless.Fallback = Fallback{Engines: []NamedEngine{named("one", bad, new(int))}}
		if err := c.importRange(blocks, encoded); !errors.As(err, new(*InvalidBlock)) {
			t.Fatalf("%s alone: got %v, want an invalid block", name, err)
		}
	}
	c.Stateless.Fallback = Fallback{
		Engines:  []NamedEngine{named("one", looking{lying{c.engine, 1}}, new(int)), named("another", c.engine, new(int))},
		Mistaken: func(m Mistake) { mistakes = append(mistakes, m) },
	}
	if err := c.importRange(blocks, encoded); err != nil {
		t.Fatal(err)
	}
	if len(mistakes) != 1 || mistakes[0].Block != blocks[2].Signed() {
		t.Errorf("got %+v, want one mistake, in block 3", mistakes)
	}
}

// If an engine reads a key that the proof does not show, the upstream is not blamed.
func TestAnotherEngineBeforeTheUpstreamIsBlamed(t *testing.T) {
	c := newProvenChain(t)
	c.extend()
	c.follow()
	c.follow()
	block, accesses := c.next()
	bundle, fetch := c.prove(block.Signed(), accesses), c.fetch()
	fetch.Value = func([]byte) ([]byte, tree.MerkleProof, error) { return nil, tree.MerkleProof{}, chain.ErrNoState }
	var asked int
	elsewhere := looking{lying{c.engine, 1}}
	bad := []NamedEngine{named("one", elsewhere, new(int)), named("another", elsewhere, &asked)}
	c.Stateless.Fallback.Engines = bad
	if err := c.importBlock(block, bundle, fetch); !errors.Is(err, ErrEvidence) || asked != 1 {
		t.Fatalf("both look elsewhere: got %v, the other was asked %d times, want %v, 1", err, asked, ErrEvidence)
	}
	if err := c.importBlock(block, bundle, fetch); !errors.Is(err, ErrEvidence) || asked != 1 {
		t.Errorf("once more: got %v, the other was asked %d times, want %v, 1", err, asked, ErrEvidence)
	}
	missed := c.Stateless.unlisted
	for name, other := range map[string]unlisted{
		"of another block": {types.BlockHash{1}, missed.key}, "of the block, another": {missed.block, "another"},
	} {
		c.Stateless.unlisted, asked = other, 0
		if err := c.importBlock(block, bundle, fetch); !errors.Is(err, ErrEvidence) || asked != 1 {
			t.Errorf("after a key %s: got %v, the other was asked %d times, want %v, 1", name, err, asked, ErrEvidence)
		}
	}
	c.Stateless.unlisted = unlisted{}
	c.Stateless.Fallback.Engines = []NamedEngine{bad[0], named("another", c.engine, &asked)}
	if err := c.importBlock(block, bundle, fetch); err != nil {
		t.Fatal(err)
	}
}

// A block is invalid if no engine derives its header, and the error has each engine's result. Each engine runs once.
// Without the producer's key, nobody can make an engine run.
func TestNoEngineComesToTheHeader(t *testing.T) {
	c := newProvenChain(t)
	c.extend()
	c.follow()
	c.follow()
	block, accesses := c.next()
	forged := block
	forged.Header.ReceiptsRoot[0] ^= 1
	forged = must(types.DecodeBlock(signed(t, "producer", forged)))(t)
	stranger := block
	stranger.Header.Producer = testKey(t, "alice").PublicKey()
	stranger = must(types.DecodeBlock(signed(t, "alice", stranger)))(t)
	var asked [3]int
	set := func(engines ...vm.Engine) {
		asked = [3]int{}
		var fallback []NamedEngine
		for i, e := range engines {
			fallback = append(fallback, named([]string{"first", "second", "third"}[i], e, &asked[i]))
		}
		c.before.Fallback = Fallback{fallback, func(m Mistake) { t.Errorf("nobody is right: got %+v", m) }}
		c.Stateless.Fallback = c.before.Fallback
	}
	judged := func(b types.Block) []error {
		_, err := c.before.Import(must(Receive(types.Regtest, b.Encode()))(t))
		return []error{err, c.importBlock(b, c.prove(b.Signed(), accesses), c.fetch())}
	}
	for name, test := range map[string]struct {
		block   types.Block
		engines []vm.Engine
		same    bool // all derive the same
	}{
		"a false header":      {forged, []vm.Engine{c.engine, c.engine, c.engine}, true},
		"all are mistaken":    {block, []vm.Engine{lying{c.engine, 1}, lying{c.engine, 2}, lying{c.engine, 3}}, false},
		"the first one fails": {forged, []vm.Engine{failing{c.engine}, c.engine, c.engine}, false},
	} {
		set(test.engines...)
		for _, err := range judged(test.block) {
			invalid := new(InvalidBlock)
			if !errors.As(err, &invalid) || len(invalid.Verdicts) != 3 {
				t.Fatalf("%s: got %v, want an invalid block with three verdicts", name, err)
			}
			v := invalid.Verdicts
			if v[2].Derived != invalid.Derived || v[2].Err != invalid.Err || (v[0].Derived == v[2].Derived) != test.same {
				t.Errorf("%s: got %+v", name, v)
			}
			for _, word := range []string{"(first", "; second derives " + v[1].Derived.Hash().String(), "; third derives "} {
				if !strings.Contains(err.Error(), word) {
					t.Errorf("%s: got %q, want %q in it", name, err, word)
				}
			}
		}
		if asked != [3]int{2, 2, 2} {
			t.Errorf("%s: asked %v times for two judgements", name, asked)
		}
	}
	set(lying{c.engine, 1}, failing{c.engine})
	for _, err := range judged(block) {
		said := fmt.Sprint(err)
		if !errors.As(err, new(*EngineFailure)) || !strings.Contains(said, "first: ") || !strings.Contains(said, "second: ") {
			t.Errorf("the last one fails: got %v, want that this is not known", err)
		}
	}
	set(c.engine, c.engine)
	_, err := c.before.Import(must(Receive(types.Regtest, stranger.Encode()))(t))
	if !errors.Is(err, ErrOtherSigner) || asked != [3]int{} {
		t.Errorf("a block of a stranger: got %v, asked %v times", err, asked)
	}
}
