package rpc

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/crypto"
	"github.com/cairn-chain/cairn/internal/engine/mempool"
	"github.com/cairn-chain/cairn/internal/protocol/exec"
	"github.com/cairn-chain/cairn/internal/protocol/params"
	"github.com/cairn-chain/cairn/internal/storage/chain"
	"github.com/cairn-chain/cairn/jsonrpc"
	"github.com/cairn-chain/cairn/types"
)

func encoded(tx types.SignedTransaction) api.Data { return tx.Encode() }

func unsigned(tx types.Transaction) api.Data { return tx.EncodeUnsigned() }

// forged returns a transaction whose sender's signature is false.
func forged(tx types.SignedTransaction) types.SignedTransaction {
	w := tx.Witness.(types.WitnessKey)
	w.Signature[10] ^= 1
	tx.Witness = w
	return tx
}

// TestRefusedTransactions breaks one rule at a time in a valid transaction.
func TestRefusedTransactions(t *testing.T) {
	c := newTestChain(t)
	used := c.sign(alice, 0, transfer(account(bob), 1))
	c.include(used)
	pending := c.sign(alice, 1, transfer(account(bob), 1))
	call[types.TxID](c, "svc_sendRawTransaction", encoded(pending))
	for _, tc := range []struct {
		name    string
		want    *jsonrpc.Error
		key     crypto.PrivateKey
		corrupt func(*types.Transaction)
	}{
		{"chain", api.ErrWrongChain, bob, func(tx *types.Transaction) { tx.ChainID++ }},
		{"used nonce", api.ErrNonceTooLow, alice, func(tx *types.Transaction) { tx.Nonce = 0 }},
		{"far nonce", api.ErrNonceTooHigh, bob, func(tx *types.Transaction) { tx.Nonce = 1024 }},
		{"last nonce", api.ErrNonceTooHigh, bob, func(tx *types.Transaction) { tx.Nonce = math.MaxUint64 }},
		{"balance under the value", api.ErrCannotPay, bob, func(tx *types.Transaction) {
			tx.Value = 1000 * types.CoinUnits
		}},
		{"balance under the gas", api.ErrCannotPay, poor, func(*types.Transaction) {}},
		{"fee over 64 bits", api.ErrOverflow, bob, func(tx *types.Transaction) { tx.MaxFeePerGas = math.MaxUint64 }},
		{"sum over 64 bits", api.ErrOverflow, bob, func(tx *types.Transaction) {
			tx.Target, tx.Value = types.Account{}, 0
			tx.Payload = types.Batch{Steps: []types.Step{
				{Value: math.MaxUint64, Action: types.Transfer{}}, {Value: 1, Action: types.Transfer{}},
			}}
		}},
		{"value over all that there is", api.ErrCannotPay, bob, func(tx *types.Transaction) { tx.Value = math.MaxUint64 }},
		{"target of a batch", api.ErrNotZero, bob, func(tx *types.Transaction) {
			tx.Payload = types.Batch{Steps: []types.Step{{Action: types.Transfer{}}}}
		}},
		{"valid until an earlier time", api.ErrExpired, bob, func(tx *types.Transaction) {
			tx.ValidUntil = new(uint64(1000 * genesisTime))
		}},
		{"valid until after the year 9999", api.ErrBadValidUntil, bob, func(tx *types.Transaction) {
			tx.ValidUntil = new(uint64(types.MaxTime + 1))
		}},
		{"policy of more than there are signers", api.ErrBadPolicy, bob, func(tx *types.Transaction) {
			tx.Target, tx.Value = types.Account{}, 0
			tx.Payload = types.SetPolicy{Policy: &types.Policy{Owner: types.Rule{Threshold: 1}}}
		}},
		{"recovery without a payer", api.ErrBadPayer, bob, func(tx *types.Transaction) {
			tx.Target, tx.Value = types.Account{}, 0
			tx.Payload = types.SetPolicy{Recovery: true}
		}},
		{"fee under the floor", api.ErrFeeTooLow, bob, func(tx *types.Transaction) { tx.MaxFeePerGas = 9 }},
		{"replacement at the same fees", api.ErrReplacementUnderpriced, alice, func(tx *types.Transaction) {
			tx.Nonce, tx.Target, tx.Value = 1, account(bob), 2
		}},
		{"gas under the intrinsic", api.ErrIntrinsicGas, bob, func(tx *types.Transaction) { tx.GasLimit = 9_999 }},
		{"gas over the block's", api.ErrGasOverBlock, bob, func(tx *types.Transaction) { tx.GasLimit = 1_000_000_001 }},
		{
			"priority over the max fee", api.ErrPriorityOverMax, bob,
			func(tx *types.Transaction) { tx.MaxPriorityFeePerGas = 101 },
		},
		{"configure by another", api.ErrNotAdmin, producer, func(tx *types.Transaction) {
			set(tx, action{Payload: types.Configure{Parameters: c.ledger.Tip().Parameters}})
		}},
		{"parameters", api.ErrBadParameters, admin, func(tx *types.Transaction) {
			set(tx, action{Payload: types.Configure{Parameters: types.Parameters{Version: 2}}})
		}},
		{"function too long", api.ErrFieldTooLong, bob, func(tx *types.Transaction) {
			tx.Payload = types.Call{Function: strings.Repeat("f", types.MaxFunctionBytes+1)}
		}},
		{"code too long", api.ErrCodeTooLong, bob, func(tx *types.Transaction) {
			tx.Target, tx.Value = types.Account{}, 0
			tx.Payload = types.Deploy{Code: make([]byte, types.MaxCodeBytes+1)}
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tx := c.draft(tc.key, 0, transfer(account(alice), 1))
			tc.corrupt(&tx)
			c.refused(tc.want, "svc_sendRawTransaction", encoded(c.signed(tc.key, tx)))
			c.refused(tc.want, "svc_sendRawTransactionSync", encoded(c.signed(tc.key, tx)))
		})
	}
	c.refused(
		api.ErrBadSignature, "svc_sendRawTransaction", encoded(forged(c.sign(bob, 0, transfer(account(alice), 1)))),
	)
	for _, known := range []types.SignedTransaction{used, pending} {
		if data := c.refused(
			api.ErrAlreadyKnown, "svc_sendRawTransaction", encoded(known),
		); data["hash"] != known.ID().String() {
			t.Errorf("got %v", data)
		}
	}
}

func TestRefusalsNameTheValues(t *testing.T) {
	c := newTestChain(t)
	c.include(c.sign(alice, 0, transfer(account(bob), 1)))
	send := func(want *jsonrpc.Error, key crypto.PrivateKey, corrupt func(*types.Transaction)) map[string]any {
		tx := c.draft(key, 0, transfer(account(bob), 2))
		corrupt(&tx)
		return c.refused(want, "svc_sendRawTransaction", encoded(c.signed(key, tx)))
	}
	for name, tc := range map[string]struct {
		got  map[string]any
		want map[string]any
	}{
		"nonce": {
			send(api.ErrNonceTooLow, alice, func(*types.Transaction) {}), map[string]any{"nonce": "0x0", "expected": "0x1"},
		},
		"chain": {
			send(api.ErrWrongChain, bob, func(tx *types.Transaction) { tx.ChainID = 1 }), map[string]any{"chainId": "0x7a69"},
		},
		"fee": {send(api.ErrFeeTooLow, bob, func(tx *types.Transaction) { tx.MaxFeePerGas = 5 }),
			map[string]any{"baseFee": "0xa", "minBaseFee": "0xa"}},
		"balance": {send(api.ErrCannotPay, bob, func(tx *types.Transaction) {
			tx.GasLimit, tx.MaxFeePerGas = 1<<20, 1<<40
		}), map[string]any{
			"balance": call[string](c, "svc_getBalance", account(bob)), "needed": "0x1000000000000002",
			"reserved": "0x0", "pending": 0.0,
		}},
		"cost over 64 bits": {send(api.ErrCannotPay, bob, func(tx *types.Transaction) { tx.Value = math.MaxUint64 }),
			map[string]any{"needed": "0xffffffffffffffff"}},
		"end": {send(api.ErrExpired, bob, func(tx *types.Transaction) { tx.ValidUntil = new(uint64(5)) }),
			map[string]any{"validUntil": 5.0}},
		"admin": {send(api.ErrNotAdmin, bob, func(tx *types.Transaction) {
			set(tx, action{Payload: types.Configure{Parameters: c.ledger.Tip().Parameters}})
		}), map[string]any{"admin": account(admin).String()}},
		"least gas": {
			send(api.ErrIntrinsicGas, bob, func(tx *types.Transaction) { tx.GasLimit = 1 }), map[string]any{"min": "0x2710"},
		},
		"most gas": {send(api.ErrGasOverBlock, bob, func(tx *types.Transaction) { tx.GasLimit = 1 << 40 }),
			map[string]any{"max": "0x3b9aca00"}},
	} {
		for key, value := range tc.want {
			if tc.got[key] != value {
				t.Errorf("%s: got %v, want %v", name, tc.got, tc.want)
			}
		}
	}
}

// TestRefusalsSayWhatTheyWereDecidedBy: refusals have the balance and the pending costs, or the limit that was reached.
func TestRefusalsSayWhatTheyWereDecidedBy(t *testing.T) {
	c := newTestChain(t)
	balance, err := api.ParseQuantity(call[string](c, "svc_getBalance", account(bob)))
	if err != nil {
		t.Fatal(err)
	}
	most := c.sign(bob, 0, transfer(account(alice), types.Amount(balance)*6/10))
	call[string](c, "svc_sendRawTransaction", encoded(most))
	reserved := must(must(most.Amount())(t).Add(must(most.FeeCap())(t)))(t)
	next := c.sign(bob, 1, transfer(account(alice), types.Amount(balance)*6/10))
	_, refused := c.post("svc_sendRawTransaction", encoded(next))
	want := map[string]any{
		"reason": "cannot_pay", "balance": balance.String(), "needed": api.Quantity(reserved).String(),
		"reserved": api.Quantity(reserved).String(), "pending": 1.0,
	}
	if refused == nil || !maps.Equal(refused.Data, want) || !strings.Contains(refused.Message, "1 pending transaction") {
		t.Errorf("with a transfer pending: got %v, want %v", refused, want)
	}
	for n := range uint64(64) {
		call[string](c, "svc_sendRawTransaction", encoded(c.sign(alice, n+1, transfer(account(bob), 1))))
	}
	held := c.refused(api.ErrHeld, "svc_sendRawTransaction", encoded(c.sign(alice, 65, transfer(account(bob), 1))))
	if held["limit"] != 64.0 || held["expected"] != "0x0" || held["nonce"] != "0x41" {
		t.Errorf("the 65th that waits: got %v, want limit 64, expected 0x0, nonce 0x41", held)
	}
}

// handedOn is the pool of a node that forwards transactions to an upstream that refuses them.
type handedOn struct {
	Pool
	refusal error
}

func (p handedOn) AddMany(context.Context, [][]byte, string) []mempool.Result {
	return []mempool.Result{{Err: p.refusal}}
}

// NextNonce fails without state.
func (handedOn) NextNonce(types.Account) (uint64, error) { return 0, chain.ErrNoState }

// TestUpstreamsRefusalIsPassedOn keeps the values in an upstream's answer, which a node without state cannot look up.
func TestUpstreamsRefusalIsPassedOn(t *testing.T) {
	c := newTestChain(t)
	for _, want := range []*jsonrpc.Error{
		withData(api.ErrNonceTooLow, "nonce", "0x0", "expected", "0x5"),
		withData(api.ErrNonceTooHigh, "nonce", "0x0", "expected", "0x5"),
		withData(api.ErrFeeTooLow, "baseFee", "0x77", "minBaseFee", "0x66"),
		withData(api.ErrAlreadyKnown, "hash", "the hash"),
	} {
		handing := handedOn{c.pool, fmt.Errorf("upstream: %w", want)}
		c.serve(func(config *Config) { config.Pool, config.Sender = handing, handing })
		data := c.refused(want, "svc_sendRawTransaction", encoded(c.sign(alice, 0, transfer(account(bob), 1))))
		if !maps.Equal(data, want.Data) {
			t.Errorf("%v: got %v, want %v", want, data, want.Data)
		}
	}
}

func TestWhatIsNoTransaction(t *testing.T) {
	c := newTestChain(t)
	good := c.sign(alice, 0, transfer(account(bob), 1)).Encode()
	unknownVariant := append([]byte{}, good...)
	unknownVariant[1+112+1+1] = 9
	for name, bytes := range map[string][]byte{
		"nothing": {}, "cut short": good[:len(good)-66], "of another version": append([]byte{1}, good[1:]...), "trailing": append(good[:len(good):len(good)], 0),
		"unknown variant":     unknownVariant,
		"over the size limit": make([]byte, types.MaxTransactionBytes+1),
	} {
		for _, method := range []string{
			"svc_sendRawTransaction", "svc_sendRawTransactionSync", "svc_call", "svc_estimateGas",
		} {
			t.Run(method+" of "+name, func(t *testing.T) { c.refused(api.ErrUndecodable, method, api.Data(bytes)) })
		}
	}
	for _, bad := range []any{"0", "0x0", "0xzz", "0X00", 5, nil} {
		if data := c.refused(invalid, "svc_sendRawTransaction", bad); data["param"] != "transaction" {
			t.Errorf("%v: got %v", bad, data)
		}
	}
}

func TestEveryRefusalIsTranslated(t *testing.T) {
	c := newTestChain(t)
	for _, err := range []error{
		exec.ErrWrongChain, exec.ErrNonceExhausted, exec.ErrFieldTooLong, exec.ErrCodeTooLong, exec.ErrNotZero,
		exec.ErrOverflow, exec.ErrPriorityOverMax, exec.ErrBadPayer, exec.ErrBadValidUntil, exec.ErrBadPolicy,
		exec.ErrFeeTooLow, exec.ErrExpired, exec.ErrNotAdmin, exec.ErrBadParameters, exec.ErrNonceTooLow,
		exec.ErrNonceTooHigh, exec.ErrIntrinsicGas, exec.ErrGasOverBlock, exec.ErrCannotPay, exec.ErrPayerCannotPay,
		exec.ErrWrongPolicy, exec.ErrTextTooLong, exec.ErrBadSignature, mempool.ErrMalformed, mempool.ErrKnown, mempool.ErrReplacementUnderpriced, mempool.ErrFull,
		mempool.ErrJournal,
	} {
		var e *jsonrpc.Error
		if got := c.server.Public(fmt.Errorf("transaction: %w", err)); !errors.As(got, &e) {
			t.Errorf("%v is not translated", err)
		}
	}
	full := c.server.Public(&mempool.FullError{Class: mempool.ClassHeld, RetryAfter: 1200 * time.Millisecond})
	var e *jsonrpc.Error
	if !errors.As(full, &e) || !errors.Is(e, api.ErrMempoolFull) || e.Data["retryAfterSeconds"] != int64(2) ||
		e.Data["class"] != mempool.ClassHeld {
		t.Errorf("got %v", full)
	}
	if got := c.server.Public(fmt.Errorf(
		"%w: write /secret/path: no space left on device", mempool.ErrJournal,
	)); !errors.Is(got, api.ErrNotWritten) || strings.Contains(got.Error(), "secret") {
		t.Errorf("a full disk is %v", got)
	}
	if len(api.ErrMempoolFull.Data) != 1 {
		t.Error("a shared error was changed")
	}
	other := errors.New("disk on fire")
	if c.server.Public(other) != other || c.server.Public(nil) != nil {
		t.Error("what is unexpected is not passed on")
	}
}

// brokenPool fails in a way that clients must not see.
type brokenPool struct{}

func (brokenPool) AddMany(_ context.Context, encoded [][]byte, _ string) []mempool.Result {
	results := make([]mempool.Result, len(encoded))
	for i := range results {
		results[i].Err = errors.New("open /secret/path: permission denied")
	}
	return results
}

func TestUnexpectedErrorsAreIncidents(t *testing.T) {
	incidents := map[string]string{}
	c := startTestChain(t, types.Regtest, 7, chain.Options{},
		jsonrpc.Options{Incident: func(_ context.Context, method string, err error) string {
			incidents[method] = err.Error()
			return "incident-1"
		}})
	c.serve(func(config *Config) { config.Sender = brokenPool{} })
	tx := c.sign(alice, 0, transfer(account(bob), 1))
	_, failure := c.post("svc_sendRawTransaction", encoded(tx))
	if failure == nil || failure.Code != jsonrpc.CodeInternal || len(failure.Data) != 1 ||
		failure.Data["incident"] != "incident-1" ||
		strings.Contains(failure.Message, "secret") {
		t.Errorf("got %v", failure)
	}
	if !strings.Contains(incidents["svc_sendRawTransaction"], "permission denied") {
		t.Errorf("logged was %v", incidents)
	}
}

func TestSendAndWait(t *testing.T) {
	c := newTestChain(t)
	tx := c.sign(alice, 0, transfer(account(bob), 1))
	done := make(chan api.Receipt, 2)
	for range 2 { // the second one is already known, and waits too
		go func() {
			receipt, err := groupOf[*submitHandlers](c).sendRawTransactionSync(
				context.Background(), api.RawTransactionParams{Transaction: api.LooseData(encoded(tx))},
			)
			if err != nil {
				t.Error(err)
			}
			done <- receipt
		}()
	}
	<-c.pool.Changed() // one of them is in the pool
	c.mine()
	for range 2 {
		if receipt := <-done; receipt.TransactionHash != tx.ID() || receipt.BlockHeight != 1 || receipt.Status != 1 {
			t.Errorf("got %+v, want TransactionHash %v and BlockHeight 1 and Status 1", receipt, tx.ID())
		}
	}
	if again := call[api.Receipt](c, "svc_sendRawTransactionSync", encoded(tx)); again.BlockHeight != 1 {
		t.Errorf("got %+v, want BlockHeight 1", again)
	}
}

// stuckChain has no blocks to come.
type stuckChain struct{ Chain }

func (stuckChain) WaitHeight(ctx context.Context, _ types.Height) error {
	<-ctx.Done()
	return ctx.Err()
}

// acceptingPool accepts every transaction.
type acceptingPool struct{}

func (acceptingPool) AddMany(_ context.Context, encoded [][]byte, _ string) []mempool.Result {
	results := make([]mempool.Result, len(encoded))
	for i := range results {
		tx, err := types.DecodeTx(encoded[i])
		results[i] = mempool.Result{Tx: tx, Err: err}
	}
	return results
}

func TestReplacedTransactionIsNotWaitedFor(t *testing.T) {
	c := newTestChain(t)
	tx := c.sign(alice, 0, transfer(account(bob), 1))
	other := c.sign(alice, 0, transfer(account(bob), 2))
	c.include(other)
	c.serve(func(config *Config) { config.Sender = acceptingPool{} })
	data := c.refused(api.ErrDisplaced, "svc_sendRawTransactionSync", encoded(tx))
	if data["hash"] != tx.ID().String() || data["by"] != other.ID().String() {
		t.Errorf("got %v, want %s displaced by %s", data, tx.ID(), other.ID())
	}
}

// A client that waits for a transaction is notified at once if the transaction leaves the pool without a block.
func TestDroppedTransactionIsNotWaitedFor(t *testing.T) {
	c := newTestChain(t)
	tx := c.sign(alice, 0, transfer(account(bob), 1))
	ended := make(chan error)
	go func() {
		_, err := groupOf[*submitHandlers](c).sendRawTransactionSync(
			context.Background(), api.RawTransactionParams{Transaction: api.LooseData(encoded(tx))},
		)
		ended <- err
	}()
	<-c.pool.Changed()
	check(t, c.pool.Drop(tx.ID()))
	var e *jsonrpc.Error
	if err := <-ended; !errors.As(err, &e) || !errors.Is(e, api.ErrDropped) || e.Data["hash"] != tx.ID() ||
		e.Data["cause"] != mempool.Unbuilt {
		t.Errorf("got %v, want dropped: %s", err, mempool.Unbuilt)
	}
	got := call[api.TransactionStatus](c, "svc_getTransactionStatus", tx.ID())
	if got.Status != api.StatusDropped || got.Error == nil || *got.Error != string(mempool.Unbuilt) {
		t.Errorf("got %+v, want %s: %s", got, api.StatusDropped, mempool.Unbuilt)
	}
}

// A node that follows another does not know that there is no room: the producer's pool may still hold the transaction.
func TestFatesOfAFollower(t *testing.T) {
	for cause, want := range map[mempool.Cause]mempool.Cause{mempool.NoRoom: "", mempool.Expired: mempool.Expired} {
		f := fates{oneFate(cause), new(testChain)}
		if got := f.of(types.TxID{}); got != cause {
			t.Errorf("on a producer: got %q, want %q", got, cause)
		}
		c := new(testChain)
		c.following = followingNode{}
		f.node = c
		if got := f.of(types.TxID{}); got != want {
			t.Errorf("on a follower: got %q, want %q", got, want)
		}
	}
}

// oneFate is a pool that every transaction left for the same cause.
type oneFate mempool.Cause

func (f oneFate) Fate(types.TxID) (mempool.Fate, bool) {
	return mempool.Fate{Cause: mempool.Cause(f)}, true
}

// followingNode follows another.
type followingNode struct{ Following }

func TestWaitingEnds(t *testing.T) {
	c := newTestChain(t)
	tx := c.sign(alice, 0, transfer(account(bob), 1))
	c.serve(func(config *Config) { config.Chain, config.Sender = stuckChain{c.store}, acceptingPool{} })
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		_, err := groupOf[*submitHandlers](c).sendRawTransactionSync(
			t.Context(), api.RawTransactionParams{Transaction: api.LooseData(encoded(tx))},
		)
		var e *jsonrpc.Error
		if !errors.As(err, &e) || !errors.Is(e, api.ErrTimeUp) || e.Data["hash"] != tx.ID() ||
			time.Since(start) != receiptWait {
			t.Errorf("got %v after %v", err, time.Since(start))
		}
	})
}

func TestCall(t *testing.T) {
	c := newTestChain(t)
	draft := c.draft(alice, 99, transfer(account(bob), 5)) // nonces are not requested
	draft.GasLimit, draft.MaxFeePerGas, draft.MaxPriorityFeePerGas = 0, 0, 0
	signed := c.signed(alice, draft)
	sponsored := signed
	sponsored.Payer = new(account(bob))
	for name, encoded := range map[string]api.Data{
		"unsigned": draft.EncodeUnsigned(), "signed": encoded(signed),
		"with the sender's witness alone": append(unsigned(draft), types.EncodeWitness(signed.Witness)...),
		"before the payer has signed":     encoded(sponsored),
		// Gas limit and fees change the hash, and are not known before an estimate.
		"with a witness that does not hold": encoded(forged(signed)),
	} {
		if got := call[string](c, "svc_call", encoded); got != "0x" {
			t.Errorf("%s: got %s, want 0x", name, got)
		}
	}
	if got := call[string](c, "svc_getBalance", account(bob)); got != "0x174876e800" {
		t.Errorf("a call changed the state: %s, want 0x174876e800", got)
	}
	for _, tc := range []struct {
		name    string
		want    *jsonrpc.Error
		corrupt func(*types.Transaction)
	}{
		{"chain", api.ErrWrongChain, func(tx *types.Transaction) { tx.ChainID = 1 }},
		{"end", api.ErrExpired, func(tx *types.Transaction) { tx.ValidUntil = new(uint64(1)) }},
		{"payer", api.ErrBadPayer, func(tx *types.Transaction) { tx.Payer = &tx.Sender }},
		{"gas under the intrinsic", api.ErrIntrinsicGas, func(tx *types.Transaction) { tx.GasLimit = 1 }},
		{"gas over the block's", api.ErrGasOverBlock, func(tx *types.Transaction) { tx.GasLimit = 1 << 40 }},
		{"value not covered", api.ErrInsufficientBalance, func(tx *types.Transaction) { tx.Sender = types.Account{1: 1} }},
		{"not the admin", api.ErrNotAdmin, func(tx *types.Transaction) {
			set(tx, action{Payload: types.Configure{Parameters: types.Parameters{Version: 2}}})
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tx := draft
			tc.corrupt(&tx)
			c.refused(tc.want, "svc_call", unsigned(tx))
			if tx.GasLimit == 0 {
				c.refused(tc.want, "svc_estimateGas", unsigned(tx))
			}
		})
	}
}

func TestFailedExecutionIsDescribed(t *testing.T) {
	c := newTestChain(t)
	tx := c.draft(alice, 0, transfer(types.Account{9: 9}, 5))
	tx.GasLimit = 10_000 // too little to make an account
	data := c.refused(api.ErrExecutionFailed, "svc_call", unsigned(tx))
	if data["reason"] != "out_of_gas" || data["gasUsed"] != "0x2710" || data["revertData"] != "0x" {
		t.Errorf("got %v", data)
	}
	tx.GasLimit, tx.Value, tx.Payload = 0, 0, types.Call{Function: "f"}
	for _, method := range []string{"svc_call", "svc_estimateGas"} {
		if data := c.refused(api.ErrNoContract, method, unsigned(tx)); data["gasUsed"] == nil {
			t.Errorf("%s: got %v", method, data)
		}
	}
}

func TestCallsHaveACap(t *testing.T) {
	c := newTestChain(t)
	c.serve(func(config *Config) { config.ViewGas = 10_000 })
	tx := c.draft(alice, 0, transfer(types.Account{9: 9}, 5)) // takes 100,000 after the intrinsic gas
	if data := c.refused(api.ErrViewGas, "svc_call", unsigned(tx)); data["limit"] != 10_000.0 {
		t.Errorf("got %v", data)
	}
	tx.GasLimit = 10_500 // the transaction's own limit and not the cap
	c.refused(api.ErrExecutionFailed, "svc_call", unsigned(tx))
	tx.GasLimit = 0 // the estimate may use up to the cap
	c.refused(api.ErrExecutionFailed, "svc_call", unsigned(tx))
}

func TestEstimateIsEnough(t *testing.T) {
	newcomer := types.Account{9: 9}
	parameters := params.Default(producer.PublicKey())
	parameters.Admin = account(admin)
	policy := oneOf(account(bob))
	bytes := len(types.EncodePayload(types.SetPolicy{Policy: &policy}))
	for _, tc := range []struct {
		name    string
		key     crypto.PrivateKey
		payload types.Payload
		want    api.Quantity // the least gas, plus 5 %
	}{
		{"transfer to one whose entry may be gone", alice, transfer(account(bob), 1), 110_000 + 5_500},
		{"transfer that makes an account", alice, transfer(newcomer, 1), 110_000 + 5_500},
		{"transfer of nothing", alice, transfer(newcomer, 0), 10_000 + 500},
		{"configure", admin, types.Configure{Parameters: parameters}, 66_000 + 3_300},
		{"batch that makes an account, once", alice, types.Batch{Steps: []types.Step{
			{Target: newcomer, Value: 1, Action: types.Transfer{}}, {Target: newcomer, Value: 1, Action: types.Transfer{}},
			{Target: account(bob), Action: types.Transfer{}},
		}}, 131_000 + 6_550},
		{"policy", alice, types.SetPolicy{Policy: &policy}, api.Quantity(36_000 + 16*bytes + (36_000+16*bytes+19)/20)},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := newTestChain(t)
			tx := c.draft(tc.key, 0, tc.payload)
			tx.GasLimit = 0
			estimate := call[api.Quantity](c, "svc_estimateGas", unsigned(tx))
			if estimate != tc.want {
				t.Errorf("got %d, want %d", estimate, tc.want)
			}
			tx.GasLimit = types.Gas(estimate)
			c.include(c.signed(tc.key, tx))
			if receipts := must(c.store.Receipts(1))(t); receipts[0].Status != types.StatusSuccess {
				t.Error("it failed with what was estimated")
			}
		})
	}
}

// recordingPool records the sources of transactions and how many come at a time.
type recordingPool struct {
	Sender
	source string
	counts []int
}

func (p *recordingPool) AddMany(ctx context.Context, encoded [][]byte, source string) []mempool.Result {
	p.source, p.counts = source, append(p.counts, len(encoded))
	return p.Sender.AddMany(ctx, encoded, source)
}

func TestPoolIsToldTheSource(t *testing.T) {
	c := newTestChain(t)
	pool := &recordingPool{Sender: c.pool}
	c.serve(func(config *Config) { config.Sender = pool })
	call[types.TxID](c, "svc_sendRawTransaction", encoded(c.sign(alice, 0, transfer(types.Account{}, 0))))
	if pool.source != testSource {
		t.Errorf("got %q, want %q", pool.source, testSource)
	}
}

// Consecutive transactions in a batch reach the pool together; each has its own answer.
func TestBatchIsSentTogether(t *testing.T) {
	c := newTestChain(t)
	pool := &recordingPool{Sender: c.pool}
	c.serve(func(config *Config) { config.Sender = pool })
	var want []string
	body := []byte{'['}
	send := func(tx types.SignedTransaction) {
		body = fmt.Appendf(
			body, `{"jsonrpc":"2.0","id":%d,"method":"svc_sendRawTransaction","params":["%s"]},`, len(want), encoded(tx),
		)
	}
	for nonce := range uint64(3) {
		tx := c.sign(alice, nonce, transfer(account(bob), 1))
		send(tx)
		want = append(want, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":"%s"}`, nonce, tx.ID()))
	}
	send(forged(c.sign(bob, 0, transfer(types.Account{}, 0))))
	want = append(
		want,
		`{"jsonrpc":"2.0","id":3,"error":{"code":-32002,"message":"a signature of the sender or the payer is invalid","data":{"reason":"bad_signature"}}}`,
	)
	body = append(body, `{"jsonrpc":"2.0","id":4,"method":"svc_chainId"},`...)
	want = append(want, `{"jsonrpc":"2.0","id":4,"result":"0x7a69"}`)
	last := c.sign(alice, 3, transfer(account(bob), 1))
	send(last)
	want = append(want, fmt.Sprintf(`{"jsonrpc":"2.0","id":5,"result":"%s"}`, last.ID()))
	body[len(body)-1] = ']'

	if got := string(c.server.rpc.Serve(t.Context(), body)); got != "["+strings.Join(want, ",")+"]" {
		t.Errorf("got  %s\nwant [%s]", got, strings.Join(want, ","))
	}
	if !slices.Equal(pool.counts, []int{4, 1}) {
		t.Errorf("the pool was given %v", pool.counts)
	}
}
