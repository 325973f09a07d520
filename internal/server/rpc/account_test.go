package rpc

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/crypto"
	"github.com/cairn-chain/cairn/internal/protocol/lists"
	"github.com/cairn-chain/cairn/internal/protocol/tree"
	"github.com/cairn-chain/cairn/jsonrpc"
	"github.com/cairn-chain/cairn/types"
)

// shared is a policy of two of alice, bob and the producer, with a recovery by the admin after an hour.
var shared = func() types.Policy {
	keys := []types.Signer{
		types.SignerKey{Key: alice.PublicKey()}, types.SignerKey{Key: bob.PublicKey()},
		types.SignerKey{Key: producer.PublicKey()},
	}
	slices.SortFunc(keys, func(a, b types.Signer) int {
		return strings.Compare(string(types.EncodeSigner(a)), string(types.EncodeSigner(b)))
	})
	return types.Policy{
		Number: 7, Owner: types.Rule{Threshold: 2, Signers: keys},
		Recovery: &types.Recovery{
			Rule:  types.Rule{Threshold: 1, Signers: []types.Signer{types.SignerKey{Key: admin.PublicKey()}}},
			Delay: hour,
		},
	}
}()

const hour = 3_600_000 // in milliseconds

// byPolicy returns the witness of a policy's rule for a message, signed by those keys that are its signers.
func byPolicy(t testing.TB, policy types.Policy, rule types.Rule, message [32]byte, keys ...crypto.PrivateKey) types.Witness {
	w := types.WitnessPolicy{Policy: policy}
	for i, signer := range rule.Signers {
		for _, key := range keys {
			if signer == (types.SignerKey{Key: key.PublicKey()}) && len(w.Proofs) < int(rule.Threshold) {
				signature := must(key.Sign(message[:], [32]byte{}))(t)
				w.Proofs = append(w.Proofs, types.Proof{Signer: uint8(i), Evidence: types.EvidenceKey{Signature: signature}})
			}
		}
	}
	return w
}

// byKey is the witness of a key for a message.
func byKey(t testing.TB, key crypto.PrivateKey, message [32]byte) types.Witness {
	return types.WitnessKey{Signature: must(key.Sign(message[:], [32]byte{}))(t)}
}

// policyScenario is a chain on which a policy account was paid, was paid by a batch with memos whose fee bob paid, and
// has a recovery under way.
type policyScenario struct {
	*testChain
	account               types.Account
	paid, batch, recovery types.SignedTransaction
	next                  types.Policy
	set                   types.SignedTransaction // puts poor, an account without coins, under the policy next
	height                types.Height            // of the recovery's block
}

func newPolicyScenario(t testing.TB) *policyScenario {
	s := &policyScenario{testChain: newTestChain(t), account: shared.Hash(), next: oneOf(account(bob))}
	s.next.Number = 1
	tx := s.draft(alice, 0, action{types.Transfer{Memo: &[32]byte{'i', 'n', 'v'}}, s.account, 5 * types.CoinUnits})
	s.paid = s.signed(alice, tx)
	s.include(s.paid)

	tx = s.draft(alice, 0, types.Batch{Steps: []types.Step{
		{Target: account(alice), Value: 2, Action: types.Transfer{Memo: &[32]byte{1}}},
		{Target: account(bob), Value: 3, Action: types.Transfer{}},
	}})
	tx.Sender, tx.Payer = s.account, new(account(bob))
	tx.ValidUntil = new(uint64(1000 * (genesisTime + 100)))
	s.batch = s.sponsored(tx, byPolicy(t, shared, shared.Owner, tx.Hash(), alice, producer))
	s.include(s.batch)

	tx = s.draft(alice, 1, types.SetPolicy{Recovery: true, Policy: &s.next})
	tx.Sender, tx.Payer = s.account, new(account(bob))
	s.recovery = s.sponsored(tx, byPolicy(t, shared, shared.Recovery.Rule, tx.Hash(), admin))
	tx = s.draft(poor, 0, types.SetPolicy{Policy: &s.next})
	tx.Payer = new(account(bob))
	s.set = s.sponsored(tx, byKey(t, poor, tx.Hash()))
	s.height = s.include(s.recovery, s.set).Header.Height
	return s
}

// sponsored adds to a transaction the witness of its sender, and that of bob, who pays its fee.
func (c *testChain) sponsored(tx types.Transaction, sender types.Witness) types.SignedTransaction {
	return types.SignedTransaction{
		Transaction: tx, Witness: sender, PayerWitness: byKey(c.t, bob, types.PayerHash(tx.Hash())),
	}
}

func (s *policyScenario) examples() []example {
	message := types.MessageHash(api.DevelopmentChainID, types.ContractID{}, s.account, []byte("login"))
	witness := api.Data(types.EncodeWitness(byPolicy(s.t, shared, shared.Owner, message, alice, bob)))
	examples := []example{
		{name: "getAccount", method: "svc_getAccount", params: []any{s.account}},
		{name: "getAccount_key", method: "svc_getAccount", params: []any{account(alice), 1}},
		{name: "getSigningText", method: "svc_getSigningText", params: []any{unsigned(s.batch.Transaction)}},
		{name: "getSigningText_payer", method: "svc_getSigningText", params: []any{encoded(s.recovery), "payer"}},
		{name: "verifyMessage", method: "svc_verifyMessage", params: []any{s.account, "0x6c6f67696e", witness}},
		{name: "verifyMessage_not", method: "svc_verifyMessage", params: []any{s.account, "0x6c6f67", witness}},
		{name: "getHeaders", method: "svc_getHeaders", params: []any{map[string]any{"from_height": 1, "to_height": 2}}},
		{
			name: "getHeaders_proven", method: "svc_getHeaders",
			params: []any{map[string]any{"from_height": 3, "to_height": 3, "proven": true}},
		},
		{name: "getInclusionProof", method: "svc_getInclusionProof", params: []any{s.recovery.ID()}},
		{name: "getTransactionByHash_memo", method: "svc_getTransactionByHash", params: []any{s.paid.ID()}},
		{name: "getTransactionByHash_batch", method: "svc_getTransactionByHash", params: []any{s.batch.ID()}},
		{name: "getTransactionByHash_set_policy", method: "svc_getTransactionByHash", params: []any{s.recovery.ID()}},
		{name: "getTransactionReceipt_sponsored", method: "svc_getTransactionReceipt", params: []any{s.batch.ID()}},
		{
			name: "getPayments_memos", method: "svc_getPayments",
			params: []any{map[string]any{"accounts": []any{s.account}}},
		},
		{
			name: "getEvents_policies", method: "svc_getEvents",
			params: []any{map[string]any{
				"contract_id": types.ContractID{}, "topics": []any{nil, s.account},
			}},
		},
	}
	for i := range examples {
		examples[i].on = s.testChain
	}
	return examples
}

// TestGetAccount follows an account through a recovery: pending, in force by time alone, and stopped by its owner.
func TestGetAccount(t *testing.T) {
	s := newPolicyScenario(t)
	from := s.store.Head().Header.Timestamp + hour
	get := func(params ...any) api.Account {
		t.Helper()
		return call[api.Account](s.testChain, "svc_getAccount", append([]any{s.account}, params...)...)
	}
	want := api.Account{
		Account: s.account, Address: types.Regtest.Address(s.account), BlockHeight: s.height,
		Balance: api.Quantity(5*types.CoinUnits - 5), Nonce: 2, Authority: s.account, Policy: &shared,
		Recovery: &api.PendingRecovery{Authority: s.next.Hash(), Policy: &s.next, From: from},
	}
	if got := get(); !reflect.DeepEqual(got, want) {
		t.Errorf("under way: got %+v, want %+v", got, want)
	}
	want.BlockHeight, want.Balance, want.Nonce, want.Recovery = 1, api.Quantity(5*types.CoinUnits), 0, nil
	if got := get(1); !reflect.DeepEqual(got, want) {
		t.Errorf("before it has sent: got %+v, want %+v", got, want)
	}
	s.nextTime = from - 1
	s.include()
	if got := get(); got.Recovery == nil || got.Authority != s.account {
		t.Errorf("a millisecond before: got %+v", got)
	}
	s.nextTime = from
	s.include()
	if got := get(); got.Recovery != nil || got.Authority != s.next.Hash() || !reflect.DeepEqual(got.Policy, &s.next) {
		t.Errorf("in force: got %+v", got)
	}
	// Other accounts.
	if got := call[api.Account](s.testChain, "svc_getAccount", account(poor)); got.Authority != s.next.Hash() ||
		!reflect.DeepEqual(got.Policy, &s.next) || got.Contract {
		t.Errorf("an account that another policy has: got %+v", got)
	}
	for _, key := range []crypto.PrivateKey{alice, bob, producer} {
		if got := call[api.Account](s.testChain, "svc_getAccount", account(key)); got.Authority != account(key) ||
			got.Policy != nil || got.Recovery != nil {
			t.Errorf("a key's account: got %+v", got)
		}
	}
	if got := call[api.Account](s.testChain, "svc_getAccount", types.Account{9}); got.Balance != 0 || got.Nonce != 0 ||
		got.Authority != (types.Account{9}) {
		t.Errorf("an account that was never used: got %+v", got)
	}
	s.refused(api.ErrAboveHead, "svc_getAccount", s.account, 99)
	s.refused(api.ErrBadAccount, "svc_getAccount", "alice")
	s.refused(api.ErrWrongNetwork, "svc_getAccount", types.Mainnet.Address(s.account))
}

func TestGetAccountOfAContract(t *testing.T) {
	s := newTokenScenario(t)
	if got := call[api.Account](s.testChain, "svc_getAccount", s.token); !got.Contract || got.Policy != nil {
		t.Errorf("got %+v", got)
	}
}

func TestGetSigningText(t *testing.T) {
	s := newPolicyScenario(t)
	get := func(params ...any) api.SigningText {
		t.Helper()
		return call[api.SigningText](s.testChain, "svc_getSigningText", params...)
	}
	id := s.batch.ID()
	text, _ := s.batch.Text(types.Regtest)
	want := api.SigningText{
		Role: api.RoleSender, Account: s.account, Hash: types.Digest(id), ID: id, Text: &text, Signable: true,
	}
	for _, params := range [][]any{
		{encoded(s.batch)}, {unsigned(s.batch.Transaction)}, {unsigned(s.batch.Transaction), "sender"},
		{unsigned(s.batch.Transaction), nil},
	} {
		if got := get(params...); !reflect.DeepEqual(got, want) {
			t.Errorf("%v: got %+v, want %+v", params, got, want)
		}
	}
	text, _ = s.batch.PayerText(types.Regtest)
	want.Role, want.Account, want.Hash = api.RolePayer, account(bob), types.PayerHash(id)
	if got := get(encoded(s.batch), "payer"); !reflect.DeepEqual(got, want) {
		t.Errorf("payer: got %+v, want %+v", got, want)
	}
	long := s.draft(alice, 0, nil)
	steps := make([]types.Step, types.MaxBatchSteps)
	for i := range steps {
		steps[i].Action = types.Transfer{}
	}
	long.Payload = types.Batch{Steps: steps}
	if got := get(unsigned(long)); got.Signable || got.Text == nil || len(*got.Text) <= types.MaxTextBytes {
		t.Errorf("a long text: got %+v", got)
	}
	long.ValidUntil = new(uint64(types.MaxTime + 1))
	if got := get(unsigned(long)); got.Signable || got.Text != nil {
		t.Errorf("a time that has no text: got %+v", got)
	}
	s.refused(api.ErrBadPayer, "svc_getSigningText", encoded(s.paid), "payer")
	s.refused(api.ErrUndecodable, "svc_getSigningText", "0x02")
	s.refused(invalid, "svc_getSigningText", encoded(s.paid), "witness")
	long.ChainID++
	s.refused(api.ErrWrongChain, "svc_getSigningText", unsigned(long))
}

func TestVerifyMessage(t *testing.T) {
	s := newPolicyScenario(t)
	contract, message := types.ContractID{5}, []byte("pay 5 to alice")
	hash := types.MessageHash(api.DevelopmentChainID, contract, s.account, message)
	good := byPolicy(t, shared, shared.Owner, hash, alice, bob)
	other := shared
	other.Number++
	broken := shared
	broken.Owner.Threshold = 9
	keyHash := types.MessageHash(api.DevelopmentChainID, types.ContractID{}, account(alice), message)
	for name, test := range map[string]struct {
		params []any // after account and message
		of     types.Account
		reason string // empty: the witness is valid
	}{
		"a policy's":            {[]any{api.Data(types.EncodeWitness(good)), contract}, s.account, ""},
		"a key's, by default":   {[]any{api.Data(types.EncodeWitness(byKey(t, alice, keyHash)))}, account(alice), ""},
		"for another contract":  {[]any{api.Data(types.EncodeWitness(good))}, s.account, "bad_signature"},
		"of another account":    {[]any{api.Data(types.EncodeWitness(good)), contract}, account(bob), "wrong_policy"},
		"by one who has no say": {[]any{api.Data(types.EncodeWitness(byKey(t, bob, keyHash)))}, account(alice), "bad_signature"},
		"of another policy": {
			[]any{api.Data(types.EncodeWitness(byPolicy(t, other, other.Owner, hash, alice, bob))), contract}, s.account,
			"wrong_policy",
		},
		"by the recovery's rule": {
			[]any{api.Data(types.EncodeWitness(byPolicy(t, shared, shared.Recovery.Rule, hash, admin))), contract}, s.account,
			"bad_signature",
		},
		"of a policy that is none": {
			[]any{api.Data(types.EncodeWitness(byPolicy(t, broken, broken.Owner, hash, alice, bob))), contract}, s.account,
			"bad_policy",
		},
	} {
		got := call[api.MessageVerdict](
			s.testChain, "svc_verifyMessage", append([]any{test.of, api.Data(message)}, test.params...)...,
		)
		if got.Valid != (test.reason == "") || !got.Valid && (got.Reason == nil || *got.Reason != test.reason) {
			t.Errorf("%s: got %+v (%v), want %q", name, got, got.Reason, test.reason)
		}
	}
	got := call[api.MessageVerdict](s.testChain, "svc_verifyMessage", s.account, api.Data(message),
		api.Data(types.EncodeWitness(good)), contract, 2)
	want := api.MessageVerdict{
		Valid: true, Authority: s.account, Hash: hash,
		Text: types.MessageText(types.Regtest, api.DevelopmentChainID, contract, s.account, message),
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	witness := api.Data(types.EncodeWitness(good))
	s.refused(api.ErrUndecodable, "svc_verifyMessage", s.account, "0x", witness[1:])
	s.refused(api.ErrOutOfRange, "svc_verifyMessage", s.account, api.Data(make([]byte, 1025)), witness)
	s.refused(api.ErrOutOfRange, "svc_verifyMessage", s.account, "0x", api.Data(make([]byte, 8193)))
	s.refused(api.ErrAboveHead, "svc_verifyMessage", s.account, "0x", witness, nil, 77)
}

// TestRefusedWitnesses breaks each rule about the witnesses and the payer of a valid transaction.
func TestRefusedWitnesses(t *testing.T) {
	s := newPolicyScenario(t)
	good := s.draft(alice, 2, transfer(account(alice), 1))
	good.Sender, good.Payer = s.account, new(account(bob))
	for _, test := range []struct {
		name string
		want *jsonrpc.Error
		data map[string]any
		make func(tx types.Transaction) types.SignedTransaction
	}{
		{"a key's witness", api.ErrWrongPolicy, map[string]any{"account": poor2(), "authority": s.next.Hash().String()},
			func(tx types.Transaction) types.SignedTransaction {
				tx.Sender, tx.Nonce = account(poor), 1
				return s.sponsored(tx, byKey(t, poor, tx.Hash()))
			}},
		{"another policy's", api.ErrWrongPolicy, map[string]any{"authority": s.account.String()},
			func(tx types.Transaction) types.SignedTransaction {
				return s.sponsored(tx, byPolicy(t, s.next, s.next.Owner, tx.Hash(), bob))
			}},
		{"one signer of two", api.ErrBadSignature, nil, func(tx types.Transaction) types.SignedTransaction {
			return s.sponsored(tx, byPolicy(t, shared, shared.Owner, tx.Hash(), alice))
		}},
		{"the payer's by the sender's hash", api.ErrBadSignature, nil, func(tx types.Transaction) types.SignedTransaction {
			signed := s.sponsored(tx, byPolicy(t, shared, shared.Owner, tx.Hash(), alice, bob))
			signed.PayerWitness = byKey(t, bob, tx.Hash())
			return signed
		}},
		{"no payer's", api.ErrBadPayer, nil, func(tx types.Transaction) types.SignedTransaction {
			signed := s.sponsored(tx, byPolicy(t, shared, shared.Owner, tx.Hash(), alice, bob))
			signed.PayerWitness = nil
			return signed
		}},
		{"a payer who is the sender", api.ErrBadPayer, nil, func(tx types.Transaction) types.SignedTransaction {
			tx.Payer = &s.account
			return s.sponsored(tx, byPolicy(t, shared, shared.Owner, tx.Hash(), alice, bob))
		}},
		{"a payer without coins", api.ErrPayerCannotPay, map[string]any{"balance": "0x5", "needed": "0x1312d00"},
			func(tx types.Transaction) types.SignedTransaction {
				tx.Payer = new(account(poor))
				signed := s.sponsored(tx, byPolicy(t, shared, shared.Owner, tx.Hash(), alice, bob))
				signed.PayerWitness = byPolicy(t, s.next, s.next.Owner, types.PayerHash(tx.Hash()), bob)
				return signed
			}},
		{"a policy of nobody", api.ErrBadPolicy, nil, func(tx types.Transaction) types.SignedTransaction {
			return s.sponsored(tx, types.WitnessPolicy{Policy: types.Policy{}})
		}},
		{"a recovery by a policy that has none", api.ErrBadPolicy, nil, func(tx types.Transaction) types.SignedTransaction {
			set(&tx, action{Payload: types.SetPolicy{Recovery: true}})
			tx.Sender, tx.Nonce = account(poor), 1
			return s.sponsored(tx, byPolicy(t, s.next, s.next.Owner, tx.Hash(), bob))
		}},
		{"a text that is too long", api.ErrTextTooLong, map[string]any{"limit": 4096.0},
			func(tx types.Transaction) types.SignedTransaction {
				steps := make([]types.Step, 100)
				for i := range steps {
					steps[i] = types.Step{Target: account(alice), Action: types.Transfer{}}
				}
				set(&tx, action{Payload: types.Batch{Steps: steps}})
				tx.GasLimit, tx.Sender, tx.Nonce, tx.Payer = 1_000_000, account(alice), 1, nil
				return types.SignedTransaction{Transaction: tx, Witness: types.WitnessText{}}
			}},
	} {
		t.Run(test.name, func(t *testing.T) {
			data := s.refused(test.want, "svc_sendRawTransaction", encoded(test.make(good)))
			for name, value := range test.data {
				if data[name] != value {
					t.Errorf("got %v, want %s %v", data, name, value)
				}
			}
		})
	}
	signed := s.sponsored(good, byPolicy(t, shared, shared.Owner, good.Hash(), alice, bob))
	id := call[types.TxID](s.testChain, "svc_sendRawTransaction", encoded(signed))
	if id != signed.ID() {
		t.Errorf("got %s, want %s", id, signed.ID())
	}
	// The same transaction with another valid witness is not another transaction.
	again := s.sponsored(good, byPolicy(t, shared, shared.Owner, good.Hash(), alice, producer))
	s.refused(api.ErrAlreadyKnown, "svc_sendRawTransaction", encoded(again))
	pending := call[[]api.PendingTransaction](s.testChain, "svc_getPendingTransactions")
	if len(pending) != 1 || pending[0].Payer == nil || *pending[0].Payer != account(bob) {
		t.Errorf("pending: got %+v", pending)
	}
	s.mine()
	if got := call[api.TransactionStatus](s.testChain, "svc_getTransactionStatus", id); got.Status != api.StatusSuccess {
		t.Errorf("got %+v, want Status %v", got, api.StatusSuccess)
	}
	for _, of := range []types.Account{s.account, account(bob), account(alice)} {
		found := call[[]api.Transaction](s.testChain, "svc_getTransactionsByAddress", of, map[string]any{"limit": 1})
		if len(found) != 1 || found[0].Hash != id {
			t.Errorf("of %s: got %+v, want 1 found and Hash %v", of, found, id)
		}
	}
}

func poor2() string { return account(poor).String() }

// TestEstimatesPriceWitnesses: without a witness, a key's witness is priced; a given witness is priced whether or not
// it is valid.
func TestEstimatesPriceWitnesses(t *testing.T) {
	s := newPolicyScenario(t)
	tx := s.draft(alice, 2, transfer(account(alice), 1))
	tx.Sender, tx.GasLimit = s.account, 0
	estimate := func(tx types.SignedTransaction) types.Gas {
		t.Helper()
		return types.Gas(call[api.Quantity](s.testChain, "svc_estimateGas", encoded(tx)))
	}
	plain := types.Gas(call[api.Quantity](s.testChain, "svc_estimateGas", unsigned(tx)))
	if plain != 10_500 {
		t.Errorf("without a witness: got %d, want 10,500", plain)
	}
	policy := byPolicy(t, shared, shared.Owner, [32]byte{}, alice, bob)
	signed := types.SignedTransaction{Transaction: tx, Witness: policy}
	least := types.Gas(5_000 + 2_000 + 2*5_000 + 16*types.WitnessBytes(policy))
	if got, want := estimate(signed), least+(least+19)/20; got != want {
		t.Errorf("by a policy: got %d, want %d", got, want)
	}
	signed.Payer = new(account(bob))
	least += 15_000 + 5_000
	if got, want := estimate(signed), least+(least+19)/20; got != want {
		t.Errorf("sponsored: got %d, want %d", got, want)
	}
	// The estimate is enough.
	signed.GasLimit = estimate(signed)
	sent := s.sponsored(signed.Transaction, byPolicy(t, shared, shared.Owner, signed.Hash(), alice, bob))
	s.include(sent)
	got := call[api.Receipt](s.testChain, "svc_getTransactionReceipt", sent.ID())
	if got.Status != 1 || got.GasUsed != api.Quantity(least) || got.Fee != got.GasUsed*got.EffectiveGasPrice ||
		got.Payer == nil || *got.Payer != account(bob) {
		t.Errorf("got %+v, want %d gas", got, least)
	}
}

// TestInclusionProofs: the proof shows that the header includes the transaction and the receipt.
func TestInclusionProofs(t *testing.T) {
	s := newPolicyScenario(t)
	var txs []types.SignedTransaction
	for nonce := range uint64(heavyItems + 5) {
		txs = append(txs, s.sign(alice, nonce+1, transfer(account(bob), 1)))
	}
	s.include(txs...)
	for _, tx := range append(txs[:3:3], txs[heavyItems], txs[len(txs)-1], s.paid, s.batch, s.recovery, s.set) {
		got := call[api.Inclusion](s.testChain, "svc_getInclusionProof", tx.ID())
		header := must(types.DecodeSignedHeader(got.Header))(t)
		decoded := must(types.DecodeTx(got.RawTransaction))(t)
		receipt := must(types.DecodeReceipt(got.RawReceipt))(t)
		if decoded.ID() != tx.ID() || receipt.Status != types.StatusSuccess || !header.VerifySeal() {
			t.Errorf("got %s with status %d", decoded.ID(), receipt.Status)
		}
		if got.Transaction.Number != got.Receipt.Number {
			t.Errorf("got the numbers %d and %d", got.Transaction.Number, got.Receipt.Number)
		}
		check(t, lists.CheckTransaction(header.Header.TransactionsRoot, decoded, &got.Transaction))
		check(t, lists.CheckReceipt(header.Header.ReceiptsRoot, &receipt, &got.Receipt))
		receipt.GasUsed++
		if lists.CheckReceipt(header.Header.ReceiptsRoot, &receipt, &got.Receipt) == nil {
			t.Error("another receipt is shown")
		}
	}
	pending := s.sign(alice, uint64(len(txs))+1, transfer(account(bob), 1))
	call[types.TxID](s.testChain, "svc_sendRawTransaction", encoded(pending))
	for _, id := range []types.TxID{pending.ID(), {9}} {
		if got := call[*api.Inclusion](s.testChain, "svc_getInclusionProof", id); got != nil {
			t.Errorf("%s: got %+v, want null", id, got)
		}
	}
}

// TestFollowingHeaders follows the headers alone, across a change of the producer, as a client that trusts no node.
func TestFollowingHeaders(t *testing.T) {
	c := newTestChain(t)
	c.include()
	parameters := c.ledger.Tip().Parameters
	parameters.Producer = bob.PublicKey()
	c.include(c.sign(admin, 0, types.Configure{Parameters: parameters}))
	c.sealer = bob
	c.include()
	c.include()
	get := func(from, to int, more ...any) []api.HeaderItem {
		t.Helper()
		return call[[]api.HeaderItem](c, "svc_getHeaders", object(append(more, "from_height", from, "to_height", to)...))
	}
	headers := get(0, 99)
	if len(headers) != 5 {
		t.Fatalf("got %d headers, want 5", len(headers))
	}
	for i, item := range headers {
		signed := must(types.DecodeSignedHeader(item.Header))(t)
		if item.Height != types.Height(i) || signed.Header.Hash() != item.Hash || i > 0 && !signed.VerifySeal() {
			t.Errorf("%d: got %+v", i, item)
		}
		if (item.Parameters != nil) != (i == 2) {
			t.Errorf("%d: got the proof %+v", i, item.Parameters)
		}
	}
	proven := must(headers[2].Parameters.Merkle())(t)
	header := must(types.DecodeSignedHeader(headers[2].Header))(t).Header
	check(t, tree.VerifyShown(header.StateRoot, &proven))
	if got := must(types.DecodeParameters(proven.Value))(t); got.Producer != bob.PublicKey() {
		t.Errorf("got the parameters %+v", got)
	}
	for i, item := range get(1, 3, "proven", true) {
		if item.Parameters == nil || item.Parameters.StateRoot != must(types.DecodeSignedHeader(item.Header))(t).Header.StateRoot {
			t.Errorf("%d: got the proof %+v", i+1, item.Parameters)
		}
	}
	// The page that ends before the change has the proof too, as the next header is known.
	if got := get(2, 2); len(got) != 1 || got[0].Parameters == nil {
		t.Errorf("got %+v", got)
	}
	if got := get(4, 4); len(got) != 1 || got[0].Parameters != nil {
		t.Errorf("the head: got %+v", got)
	}
	if got := get(5, 9); len(got) != 0 {
		t.Errorf("above the head: got %+v", got)
	}
	c.refused(api.ErrOutOfRange, "svc_getHeaders", object("from_height", 2, "to_height", 1))
	for range api.MaxHeadersProven {
		c.include()
	}
	if got := get(0, 999, "proven", true); len(got) != api.MaxHeadersProven {
		t.Errorf("got %d headers with proofs, want %d", len(got), api.MaxHeadersProven)
	}
}

// TestUpgradeInfo: the announced upgrade, and whether this program supports it.
func TestUpgradeInfo(t *testing.T) {
	c := newTestChain(t)
	if got := call[api.NodeInfo](c, "svc_getNodeInfo"); got.Upgrade != nil || got.ProtocolVersion != 2 ||
		!slices.Equal(got.KnownVersions, []uint32{2}) {
		t.Errorf("got %+v", got)
	}
	parameters := c.ledger.Tip().Parameters
	parameters.Upgrade = &types.Upgrade{Version: 3, From: 1000*(genesisTime+1) + parameters.Notice}
	c.include(c.sign(admin, 0, types.Configure{Parameters: parameters}))
	want := api.AnnouncedUpgrade{Version: 3, From: parameters.Upgrade.From}
	if got := call[api.NodeInfo](c, "svc_getNodeInfo"); got.Upgrade == nil || *got.Upgrade != want {
		t.Errorf("got %+v, want %+v", got.Upgrade, want)
	}
	got := call[api.ParametersInfo](c, "svc_getParameters")
	if got.Upgrade == nil || *got.Upgrade != (api.Upgrade{Version: 3, From: want.From}) || got.Admin != account(admin) ||
		got.BlockBytes != parameters.BlockBytes || got.Notice != parameters.Notice {
		t.Errorf("got %+v", got)
	}
}

// TestOwnersLearnOfRecoveries by a subscription to the events of the protocol that name their account.
func TestOwnersLearnOfRecoveries(t *testing.T) {
	s := newPolicyScenario(t)
	filter := &api.SubscriptionFilter{ContractID: new(types.ContractID), Topics: []*types.Digest{nil, new(types.Digest(s.account))}}
	var names []string
	for height := types.Height(1); height <= s.height; height++ {
		for _, e := range allEvents(s.testChain, height) {
			if filter.Matches(&e) {
				names = append(names, fmt.Sprint(e.BlockHeight, " ", e.EventName))
			}
		}
	}
	if want := []string{"2 NativeTransfer", "2 NativeTransfer", "3 RecoveryStarted"}; !slices.Equal(names, want) {
		t.Errorf("got %q, want %q", names, want)
	}
	started := call[[]api.Event](s.testChain, "svc_getEvents", map[string]any{
		"contract_id": types.ContractID{}, "event_name": "RecoveryStarted", "topics": []any{nil, s.account},
	})
	if len(started) != 1 || string(started[0].Topics[2]) != string(s.next.Hash().String()) && len(started[0].Data) != 8 {
		t.Errorf("got %+v", started)
	}
	set := call[[]api.Event](s.testChain, "svc_getEvents", map[string]any{
		"contract_id": types.ContractID{}, "event_name": "PolicySet",
	})
	if len(set) != 1 || types.Account(set[0].Topics[1]) != account(poor) || types.Account(set[0].Topics[2]) != s.next.Hash() {
		t.Errorf("got %+v", set)
	}
}

// A full block's transactions are read a run at a time: reading stops with the answer.
func TestWholeBlocksAreReadInRuns(t *testing.T) {
	c := newTestChain(t)
	var txs []types.SignedTransaction
	for nonce := range uint64(2*heavyItems + 7) {
		txs = append(txs, c.sign(alice, nonce, transfer(account(bob), 1)))
	}
	head := c.include(txs...).Header
	block := call[api.Block](c, "svc_getBlockByNumber", "latest", true)
	if len(block.Transactions.Full) != len(txs) || block.TxCount != uint64(len(txs)) {
		t.Fatalf("got %d transactions", len(block.Transactions.Full))
	}
	for i, tx := range block.Transactions.Full {
		if tx.Hash != txs[i].ID() || *tx.TransactionIndex != uint32(i) {
			t.Fatalf("%d: got %+v", i, tx)
		}
	}
	reader := groupOf[*blockHandlers](c).blockReader
	read := 0
	rendered := must(reader.block(t.Context(), head.Height, whole))(t)
	for _, err := range rendered.Transactions.Each {
		check(t, err)
		if read++; read == heavyItems+1 {
			break
		}
	}
	// If the chain is reverted meanwhile, the answer breaks off.
	check(t, c.ledger.Rewind(0))
	ended := errors.New("none")
	for _, err := range rendered.Transactions.Each {
		ended = err
	}
	if ended == nil {
		t.Error("a block that is gone was read to its end")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := reader.run(ctx, nil, place{header: head}, 0); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want %v", err, context.Canceled)
	}
}
