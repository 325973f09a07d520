package ledger

import (
	"errors"
	"strings"
	"testing"

	"github.com/cairn-chain/cairn/internal/protocol/vm"
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

// opinion counts how often it is asked for.
func opinion(name string, engine vm.Engine, asked *int) Opinion {
	return Opinion{name, func() (vm.Engine, error) { *asked++; return engine, nil }}
}

// A block that is there is executed by another engine if one fails, with the same result. If all fail it is not taken,
// nothing is changed, and it is taken later.
func TestImportByAnotherEngine(t *testing.T) {
	c := newProvenChain(t)
	c.extend()
	var first, second int
	bad, good := failing{c.engine}, c.engine
	withCalls := 0
	for h := types.Height(1); h <= c.primary.Tip().Header.Header.Height; h++ {
		block, accesses := c.next()
		received := must(Receive(block.Encode()))(t)
		bundle := c.prove(block.Signed(), accesses)
		fetch := c.fetch()

		none := []Opinion{opinion("one", bad, new(int)), opinion("another", bad, new(int))}
		c.before.Opinions, c.Stateless.Opinions = none, none
		imported, err := c.before.Import(received)
		var failure *EngineFailure
		if err == nil { // no contract ran
			if err := c.importBlock(block, bundle, fetch); err != nil || len(imported) != 1 {
				t.Fatalf("block %d: %v", h, err)
			}
			continue
		}
		withCalls++
		if !errors.As(err, &failure) || failure.Claimed != block.Signed() ||
			!strings.Contains(err.Error(), "another: execute") ||
			len(imported) != 0 || c.before.Tip().Header.Header.Height != h-1 {
			t.Fatalf("block %d: %v", h, err)
		}
		if err := c.importBlock(block, bundle, fetch); !errors.As(err, &failure) || c.Tip().Header.Header.Height != h-1 {
			t.Fatalf("block %d, without state: %v", h, err)
		}

		some := []Opinion{opinion("one", bad, &first), opinion("another", good, &second)}
		c.before.Opinions, c.Stateless.Opinions = some, some
		must(c.before.Import(received))(t)
		if err := c.importBlock(block, bundle, fetch); err != nil {
			t.Fatalf("block %d, without state: %v", h, err)
		}
		if c.Tip().Hash != c.before.Tip().Hash {
			t.Fatalf("block %d: other tips", h)
		}
	}
	if withCalls < 4 || first != 2*withCalls || second != first {
		t.Errorf("%d blocks with calls, asked %d and %d times", withCalls, first, second)
	}
	broken := errors.New("no interpreter")
	c.before.Opinions = []Opinion{{"none", func() (vm.Engine, error) { return nil, broken }}}
	c.Stateless.Opinions = c.before.Opinions
	block := must(Receive(encodedBlock(t, c.primary, 1).Encode()))(t)
	if _, err := c.before.executeByAny(block, nil); !errors.Is(err, broken) || errors.As(err, new(*EngineFailure)) {
		t.Errorf("got %v", err)
	}
}

// A block that is built goes on without the transaction that the engine failed on, as if that had never come.
func TestBuildWithoutAFault(t *testing.T) {
	c := newProvenChain(t)
	c.extend()
	with, without := c.primary, c.before
	for h := types.Height(1); h <= with.Tip().Header.Header.Height; h++ {
		must(without.Import(must(Receive(encodedBlock(t, with, h).Encode()))(t)))(t)
	}
	id := types.NewContractID(types.Account(testKey(t, "alice").PublicKey()), 1)
	_, args := token(t, "transfer", `{"to":"`+types.Account{9}.String()+`","amount":"0"}`)
	call := signedBy(t, "alice", 6, types.Call{Contract: id, Function: "transfer", Args: args, Amount: 0})
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
