package mempool

import (
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/cairn-chain/cairn/codec"
	"github.com/cairn-chain/cairn/internal/protocol/exec"
	"github.com/cairn-chain/cairn/internal/protocol/params"
	"github.com/cairn-chain/cairn/internal/protocol/state"
	"github.com/cairn-chain/cairn/types"
)

// TestRules tests each rule about single transactions on both sides of its limit.
func TestRules(t *testing.T) {
	change := func(f func(*types.Transaction)) []byte {
		tx := draft(1, 0, 100, 5)
		f(&tx)
		return sign(1, tx)
	}
	cost := types.Amount(testGas*100 + 1)
	for _, test := range []struct {
		name    string
		balance types.Amount
		nonce   uint64
		encoded []byte
		want    error
	}{
		{"valid", rich, 0, transfer(1, 0, 100, 5), nil},
		{"empty", rich, 0, nil, ErrMalformed},
		{"truncated", rich, 0, transfer(1, 0, 100, 5)[:100], codec.ErrTruncated},
		{"trailing byte", rich, 0, append(transfer(1, 0, 100, 5), 0), codec.ErrTrailing},
		{"too large", rich, 0, make([]byte, types.MaxTransactionBytes+1), ErrMalformed},
		{"bad signature", rich, 0, withBadSignature(transfer(1, 0, 100, 5)), ErrBadSignature},
		{"signed by another", rich, 0, sign(2, draft(1, 0, 100, 5)), ErrBadSignature},
		{"wrong chain", rich, 0, change(func(tx *types.Transaction) { tx.ChainID++ }), exec.ErrWrongChain},
		{"another version", rich, 0, append([]byte{3}, transfer(1, 0, 100, 5)[1:]...), ErrMalformed},
		{
			"gas over the block's", rich, 0, change(func(tx *types.Transaction) { tx.GasLimit = 1_000_000_001 }),
			exec.ErrGasOverBlock,
		},
		{"priority over max", rich, 0, transfer(1, 0, 100, 101), exec.ErrPriorityOverMax},
		{"max fee at the minimum", rich, 0, transfer(1, 0, 10, 0), nil},
		{"max fee under the minimum", rich, 0, transfer(1, 0, 9, 0), exec.ErrFeeTooLow},
		{"nonce at the account's", rich, 7, transfer(1, 7, 100, 5), nil},
		{"nonce under the account's", rich, 7, transfer(1, 6, 100, 5), exec.ErrNonceTooLow},
		{"last nonce of the window", rich, 7, transfer(1, 7+1023, 100, 5), nil},
		{"nonce beyond the window", rich, 7, transfer(1, 7+1024, 100, 5), exec.ErrNonceTooHigh},
		{"last usable nonce", rich, math.MaxUint64 - 1, transfer(1, math.MaxUint64-1, 100, 5), nil},
		{"last nonce", rich, math.MaxUint64 - 1, transfer(1, math.MaxUint64, 100, 5), exec.ErrNonceExhausted},
		{"can just pay", cost, 0, transfer(1, 0, 100, 5), nil},
		{"cannot pay", cost - 1, 0, transfer(1, 0, 100, 5), exec.ErrCannotPay},
		{"a held one can just pay", cost, 0, transfer(1, 3, 100, 5), nil},
		{"a held one cannot pay", cost - 1, 0, transfer(1, 3, 100, 5), exec.ErrCannotPay},
		{"fee cap overflows", rich, 0, transfer(1, 0, math.MaxUint64, 5), exec.ErrOverflow},
		{
			"cost overflows", rich, 0, change(func(tx *types.Transaction) { tx.Value = math.MaxUint64 }), exec.ErrCannotPay,
		},
		{"configure by another", rich, 0, change(func(tx *types.Transaction) {
			tx.GasLimit, tx.Payload = 1_000_000, types.Configure{Parameters: params.Default(key(1).PublicKey())}
			tx.Target, tx.Value = types.Account{}, 0
		}), exec.ErrNotAdmin},
		{"a target without use", rich, 0, change(func(tx *types.Transaction) { tx.Payload = types.SetPolicy{} }), exec.ErrNotZero},
		{"no entry", 0, 0, sponsor(1, 2, withValue(draft(1, 0, 100, 5), 0)), exec.ErrIntrinsicGas},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := newChain()
			c.set(1, test.balance, test.nonce)
			p := openPool(t, c, Options{})
			id, err := p.Add(t.Context(), test.encoded, "test")
			if !errors.Is(err, test.want) {
				t.Fatalf("got error %v, want %v", err, test.want)
			}
			tx, ok := p.Get(id)
			if ok != (test.want == nil) || ok && !slices.Equal(tx.Encoded(), test.encoded) {
				t.Fatalf("pending: %v", ok)
			}
			checkInvariants(t, p)
		})
	}
}

func TestKnown(t *testing.T) {
	p := openPool(t, newChain(), Options{})
	id := add(t, p, transfer(1, 0, 100, 5))
	again, err := p.Add(t.Context(), transfer(1, 0, 100, 5), "test")
	if !errors.Is(err, ErrKnown) || again != id {
		t.Fatalf("got %v, %v", again, err)
	}
}

func TestReplacement(t *testing.T) {
	for _, test := range []struct {
		name        string
		old         [2]types.Amount // max fee, max priority fee
		replacement [2]types.Amount
		want        error
	}{
		{"both by 10 %", [2]types.Amount{100, 50}, [2]types.Amount{110, 55}, nil},
		{"max fee by less", [2]types.Amount{100, 50}, [2]types.Amount{109, 55}, ErrReplacementUnderpriced},
		{"priority by less", [2]types.Amount{100, 50}, [2]types.Amount{110, 54}, ErrReplacementUnderpriced},
		{"a tenth is rounded up", [2]types.Amount{101, 51}, [2]types.Amount{112, 57}, nil},
		{"max fee under the rounded tenth", [2]types.Amount{101, 51}, [2]types.Amount{111, 57}, ErrReplacementUnderpriced},
		{"priority under the rounded tenth", [2]types.Amount{101, 51}, [2]types.Amount{112, 56}, ErrReplacementUnderpriced},
		{"from nothing by 1", [2]types.Amount{100, 0}, [2]types.Amount{110, 1}, nil},
		{"from nothing by nothing", [2]types.Amount{100, 0}, [2]types.Amount{110, 0}, ErrReplacementUnderpriced},
	} {
		for _, nonce := range []uint64{0, 5} { // executable, held
			p := openPool(t, newChain(), Options{})
			old := add(t, p, transfer(1, nonce, test.old[0], test.old[1]))
			id, err := p.Add(t.Context(), transfer(1, nonce, test.replacement[0], test.replacement[1]), "test")
			if !errors.Is(err, test.want) {
				t.Fatalf("%s: got error %v, want %v", test.name, err, test.want)
			}
			_, oldPending := p.Get(old)
			_, newPending := p.Get(id)
			if oldPending == newPending || newPending != (test.want == nil) {
				t.Fatalf("%s: old pending %v, new pending %v", test.name, oldPending, newPending)
			}
			checkInvariants(t, p)
		}
	}
}

// TestRaised checks the replacement rule where its sum does not fit into 64 bits.
func TestRaised(t *testing.T) {
	const most = math.MaxUint64
	for _, test := range []struct {
		fee, old types.Amount
		want     bool
	}{
		{most, most, false},
		{most, most - most/11 + 1, false},
		{most, most - most/11 - 1, true},
	} {
		if got := raised(test.fee, test.old); got != test.want {
			t.Errorf("raised(%d, %d) = %v", test.fee, test.old, got)
		}
	}
}

func TestRunIsPayableTogether(t *testing.T) {
	c := newChain()
	cost := types.Amount(testGas*100 + 1)
	c.set(1, 2*cost, 0)
	p := openPool(t, c, Options{})
	add(t, p, transfer(1, 0, 100, 5))
	add(t, p, transfer(1, 1, 100, 5))
	refuse(t, p, transfer(1, 2, 10, 0), exec.ErrCannotPay)
	// A replacement is checked as if the transaction that it replaces were gone.
	refuse(t, p, transfer(1, 1, 110, 6), exec.ErrCannotPay)
	tx := draft(1, 1, 110, 6)
	tx.GasLimit = testGas / 2
	add(t, p, sign(1, tx))
	add(t, p, transfer(1, 2, 10, 0))
	checkInvariants(t, p)
}

func TestGapIsFilled(t *testing.T) {
	p := openPool(t, newChain(), Options{})
	second := add(t, p, transfer(1, 1, 100, 5))
	add(t, p, transfer(1, 3, 100, 5))
	if got := p.Stats(); got.Held != 2 || len(best(p, testBaseFee)) != 0 || nextNonce(t, p, 1) != 0 {
		t.Fatalf("before: %+v", got)
	}
	if signalled(p) {
		t.Fatal("signalled without anything executable")
	}
	first := add(t, p, transfer(1, 0, 100, 5))
	if got := best(p, testBaseFee); !slices.Equal(got, []types.TxID{first, second}) {
		t.Fatalf("got %v", got)
	}
	if got := p.Stats(); got.Held != 1 || nextNonce(t, p, 1) != 2 {
		t.Fatalf("after: %+v", got)
	}
	if !signalled(p) || signalled(p) {
		t.Fatal("not signalled once")
	}
	checkInvariants(t, p)
}

// TestHeldUntilPayable fills a gap before a held transaction for which the balance no longer suffices.
func TestHeldUntilPayable(t *testing.T) {
	c := newChain()
	cost := types.Amount(testGas*100 + 1)
	c.set(1, cost, 0)
	p := openPool(t, c, Options{})
	add(t, p, transfer(1, 1, 100, 5))
	add(t, p, transfer(1, 0, 100, 5))
	if got := p.Stats(); got.Held != 1 || nextNonce(t, p, 1) != 1 {
		t.Fatalf("before: %+v", got)
	}
	reset(t, p, c, map[int]state.Account{1: {Balance: 2 * cost}})
	if got := p.Stats(); got.Held != 0 || nextNonce(t, p, 1) != 2 {
		t.Fatalf("after: %+v", got)
	}
}

func TestHeldPerSender(t *testing.T) {
	p := openPool(t, newChain(), Options{})
	for i := range uint64(64) {
		add(t, p, transfer(1, 2+i, 100, 5))
	}
	refuse(t, p, transfer(1, 66, 1000, 500), exec.ErrNonceTooHigh)
	refuse(t, p, transfer(1, 1, 1000, 500), exec.ErrNonceTooHigh)
	add(t, p, transfer(1, 2, 110, 6)) // a replacement takes no additional place
	add(t, p, transfer(2, 1, 100, 5)) // and does not affect another sender
	add(t, p, transfer(1, 0, 100, 5))
	add(t, p, transfer(1, 1, 100, 5))
	if got := nextNonce(t, p, 1); got != 66 {
		t.Fatalf("next nonce is %d", got)
	}
	checkInvariants(t, p)
}

// TestAddManyIsSequential adds a batch of more transactions than may be held: each continues the one before it.
func TestAddManyIsSequential(t *testing.T) {
	p := openPool(t, newChain(), Options{})
	var encoded [][]byte
	for i := range uint64(100) {
		encoded = append(encoded, transfer(1, i, 100, 5))
	}
	encoded = append(encoded, transfer(1, 0, 100, 5), withBadSignature(transfer(1, 100, 100, 5)), transfer(1, 101, 100, 5))
	results := p.AddMany(t.Context(), encoded, "test")
	for i, r := range results[:100] {
		if r.Err != nil {
			t.Fatalf("transaction %d: %v", i, r.Err)
		}
	}
	if !errors.Is(results[100].Err, ErrKnown) || !errors.Is(results[101].Err, ErrBadSignature) || results[102].Err != nil {
		t.Fatalf("got %v", results[100:])
	}
	if got := p.Stats(); got.Count != 101 || got.Held != 1 || nextNonce(t, p, 1) != 100 {
		t.Fatalf("got %+v", got)
	}
	checkInvariants(t, p)
}

func TestReadErrorIsNotARefusal(t *testing.T) {
	c := newChain()
	p := openPool(t, c, Options{})
	c.readErr = errors.New("disk")
	refuse(t, p, transfer(1, 0, 100, 5), c.readErr)
	if _, err := p.NextNonce(account(1)); !errors.Is(err, c.readErr) {
		t.Fatalf("next nonce: %v", err)
	}
	c.readErr = nil
	add(t, p, transfer(1, 0, 100, 5))
}

func TestAddAfterClose(t *testing.T) {
	p := openPool(t, newChain(), Options{})
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	refuse(t, p, transfer(1, 0, 100, 5), ErrClosed)
}
