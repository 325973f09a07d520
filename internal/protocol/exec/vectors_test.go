package exec

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/cairn-chain/cairn/internal/protocol/state"
	"github.com/cairn-chain/cairn/internal/protocol/tree"
	"github.com/cairn-chain/cairn/types"
)

// hexBytes is hex without a prefix in JSON.
type hexBytes []byte

func (b *hexBytes) UnmarshalText(text []byte) (err error) {
	*b, err = hex.DecodeString(string(text))
	return err
}

// hexRuns are long bytes in JSON: pairs of bytes and their number of repetitions.
type hexRuns []byte

func (b *hexRuns) UnmarshalJSON(text []byte) error {
	var runs [][2]json.RawMessage
	if err := json.Unmarshal(text, &runs); err != nil {
		return err
	}
	for _, run := range runs {
		var content hexBytes
		var times int
		if err := errors.Join(json.Unmarshal(run[0], &content), json.Unmarshal(run[1], &times)); err != nil {
			return err
		}
		*b = append(*b, bytes.Repeat(content, times)...)
	}
	return nil
}

type blockVector struct {
	Header struct {
		StateRoot        hexBytes `json:"state_root"`
		TransactionsRoot hexBytes `json:"transactions_root"`
		ReceiptsRoot     hexBytes `json:"receipts_root"`
	}
	HeaderEncoded hexBytes `json:"header_encoded"`
	Hash, Seal    hexBytes
	Encoded       hexBytes
	EncodedRuns   hexRuns `json:"encoded_runs"`
	Transactions  []struct {
		ID             hexBytes
		Signed         hexBytes
		SignedRuns     hexRuns `json:"signed_runs"`
		Reason         Reason
		ReceiptEncoded hexBytes `json:"receipt_encoded"`
	}
	Accesses       []struct{ Key, Old, New hexBytes }
	AccessesDigest hexBytes `json:"accesses_digest"`
	State          [][2]hexBytes
}

func (b *blockVector) bytes() []byte { return append(slices.Clone(b.Encoded), b.EncodedRuns...) }

type chainVector struct {
	GenesisEncoded hexBytes `json:"genesis_encoded"`
	GenesisHash    hexBytes `json:"genesis_hash"`
	Blocks         []blockVector
}

// judgement holds the results of the checks that need only the transaction.
type judgement struct {
	ChainID    uint64 `json:"chain_id"`
	Network    types.Network
	Parameters json.RawMessage
	BaseFee    *types.Amount `json:"base_fee"`
	Timestamp  uint64
	GasLeft    *types.Gas `json:"gas_left"`
	BytesLeft  *int       `json:"bytes_left"`
	Accounts   map[string]hexBytes
}

type judgedVector struct {
	Name       string
	Rule       int
	Intrinsic  types.Gas `json:"intrinsic_gas"`
	Context    judgement
	Signed     hexBytes
	SignedRuns hexRuns `json:"signed_runs"`
}

type vectors struct {
	Chain, Changing, Example chainVector
	BlocksRefused            []struct {
		Name, Wrong string
		Parent      int
		Encoded     hexBytes
		EncodedRuns hexRuns `json:"encoded_runs"`
	} `json:"blocks_refused"`
	Receipts []struct {
		Name    string
		Encoded hexBytes
	}
	ContractIDs []struct {
		Sender hexBytes
		Nonce  uint64
		ID     hexBytes
	} `json:"contract_ids"`
	InstanceIDs []struct {
		Creator  hexBytes
		CodeHash hexBytes `json:"code_hash"`
		Salt, ID hexBytes
	} `json:"instance_ids"`
	Message struct {
		ChainID           uint64 `json:"chain_id"`
		Contract, Account hexBytes
		Message, Hash     hexBytes
		Text              string
		Key               hexBytes
		AsText            hexBytes `json:"as_text"`
	}
	Geneses []struct {
		Name    string
		Encoded hexBytes
		Wrong   *string
		Hash    hexBytes
	}
	JudgedIn       judgement `json:"judged_in"`
	Valid, Refused []judgedVector
}

func readVectors(t *testing.T) (v vectors) {
	t.Helper()
	content, err := os.ReadFile("../../../docs/vectors.json")
	if err == nil {
		err = json.Unmarshal(content, &v)
	}
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func inOrder(n int, do func(int)) {
	for i := range n {
		do(i)
	}
}

// provenState is a committed state with its tree.
type provenState struct {
	mapState
	tree tree.Tree
}

// rootAfter returns the state root after the accesses of a block.
func (s *provenState) rootAfter(t *testing.T, accesses []types.Access) (types.StateRoot, *tree.Change) {
	t.Helper()
	change, err := s.tree.Prepare(accesses, inOrder)
	if err != nil {
		t.Fatal(err)
	}
	return change.Root(), change
}

// vectorChain is a chain of the vectors up to a block.
type vectorChain struct {
	network types.Network
	head    types.Header
	state   *provenState
}

// startVector makes block 0 of a chain.
func startVector(t *testing.T, v *chainVector) *vectorChain {
	t.Helper()
	g, err := types.DecodeGenesis(v.GenesisEncoded)
	if err != nil {
		t.Fatal(err)
	}
	if digest := g.Digest(); !bytes.Equal(digest[:], v.GenesisHash) || !bytes.Equal(g.Encode(), v.GenesisEncoded) {
		t.Fatalf("the genesis has hash %x and encoding %x", digest, g.Encode())
	}
	result, err := Genesis(g)
	if err != nil {
		t.Fatal(err)
	}
	c := &vectorChain{network: g.Network, state: &provenState{mapState: mapState{}}}
	root, _ := c.state.rootAfter(t, result.Accesses)
	result.Header.StateRoot = root
	c.commit(t, result)
	return c
}

func (c *vectorChain) commit(t *testing.T, r Result) {
	t.Helper()
	_, change := c.state.rootAfter(t, r.Accesses)
	c.state.tree.Commit(change, inOrder)
	c.state.commit(r.Accesses)
	c.head = r.Header
}

// wrongError describes a block's fault in the words of the vectors.
type wrongError string

func (e wrongError) Error() string { return string(e) }

// judge judges an encoded block on the chain's head.
func (c *vectorChain) judge(t *testing.T, encoded []byte) (Result, error) {
	t.Helper()
	signed, txs, err := types.DecodeBlockTxs(encoded)
	if err != nil {
		return Result{}, wrongError("encoding: " + err.Error())
	}
	p, err := ReadParameters(c.state)
	if err != nil {
		t.Fatal(err)
	}
	header := &signed.Header
	template, err := HeaderTemplate(c.head, p, header.Timestamp)
	switch {
	case errors.Is(err, ErrTimestamp):
		return Result{}, wrongError("timestamp")
	case errors.Is(err, ErrUnknownVersion):
		return Result{}, wrongError("version")
	case err != nil:
		t.Fatal(err)
	}
	if err := checkSeed(*header, template); err != nil {
		return Result{}, err
	}
	run := Begin(c.network, p, c.state, template, Machine{})
	for i, tx := range types.VerifyWitnesses(c.network, txs) {
		if tx == nil {
			return Result{}, wrongError(fmt.Sprintf("transaction %d: rule 18", i))
		}
		if _, err := run.Apply(tx); err != nil {
			return Result{}, wrongError(fmt.Sprintf("transaction %d: rule %d", i, ruleOf(t, run, tx.Tx(), err)))
		}
	}
	result, err := run.Finish()
	if err != nil {
		t.Fatal(err)
	}
	result.Header.StateRoot, _ = c.state.rootAfter(t, result.Accesses)
	if err := CheckHeader(*header, result.Header); err != nil {
		return Result{}, wrongError(strings.TrimPrefix(err.Error(), ErrHeader.Error()+": "))
	}
	if !signed.VerifySeal() {
		return Result{}, wrongError("seal")
	}
	return result, nil
}

// checkSeed compares a header with the fields that are known before execution.
func checkSeed(header, template types.Header) error {
	known := header
	known.Version, known.ChainID, known.Height, known.Parent = template.Version, template.ChainID, template.Height, template.Parent
	known.Producer, known.GasLimit, known.BaseFee = template.Producer, template.GasLimit, template.BaseFee
	if err := CheckHeader(header, known); err != nil {
		return wrongError(strings.TrimPrefix(err.Error(), ErrHeader.Error()+": "))
	}
	return nil
}

// rules are the numbers of the rules whose errors have one number.
var rules = map[error]int{
	ErrWrongChain: 2, ErrNonceExhausted: 3, ErrFieldTooLong: 4, ErrCodeTooLong: 4, ErrNotZero: 5, ErrOverflow: 6,
	ErrPriorityOverMax: 7, ErrBadValidUntil: 8, ErrFeeTooLow: 11, ErrExpired: 12, ErrNotAdmin: 13, ErrBadParameters: 13,
	ErrNonceTooLow: 14, ErrNonceTooHigh: 14, ErrIntrinsicGas: 15, ErrGasOverBlock: 15, ErrCannotPay: 16,
	ErrPayerCannotPay: 16, ErrWrongPolicy: 17, ErrBadSignature: 18, ErrLoadFull: 20,
}

// ruleOf returns the number of the rule that a transaction broke.
func ruleOf(t *testing.T, run *BlockExecutor, tx *types.Tx, err error) int {
	t.Helper()
	for e, rule := range rules {
		if errors.Is(err, e) {
			return rule
		}
	}
	signed := tx.Signed()
	set, _ := signed.Payload.(types.SetPolicy)
	switch {
	case errors.Is(err, ErrBlockFull) && signed.GasLimit > run.GasLeft():
		return 15
	case errors.Is(err, ErrBlockFull):
		return 19
	case errors.Is(err, ErrBadPayer) && set.Recovery && signed.Payer == nil:
		return 10
	case errors.Is(err, ErrBadPayer):
		return 8
	case errors.Is(err, ErrBadPolicy) && errors.Is(err, types.ErrBadPolicy):
		return 9
	case errors.Is(err, ErrBadPolicy):
		return 10
	}
	t.Fatalf("an unknown rule: error %v", err)
	return 0
}

// check compares a block that was executed with a vector.
func (b *blockVector) check(t *testing.T, r Result) {
	t.Helper()
	if !bytes.Equal(r.Header.Encode(), b.HeaderEncoded) {
		t.Errorf("header %x, want %x", r.Header.Encode(), b.HeaderEncoded)
	}
	if hash := r.Header.Hash(); !bytes.Equal(hash[:], b.Hash) {
		t.Errorf("hash %x, want %x", hash, b.Hash)
	}
	if len(r.Receipts) != len(b.Transactions) {
		t.Fatalf("%d receipts, want %d", len(r.Receipts), len(b.Transactions))
	}
	for i, want := range b.Transactions {
		if got := r.Receipts[i].Encode(); !bytes.Equal(got, want.ReceiptEncoded) || r.Reasons[i] != want.Reason {
			t.Errorf("transaction %d: receipt %x, %q; want %x, %q", i, got, r.Reasons[i], want.ReceiptEncoded, want.Reason)
		}
		tx, signed := r.Transactions[i], append(slices.Clone(want.Signed), want.SignedRuns...)
		if id := tx.ID(); !bytes.Equal(id[:], want.ID) || !bytes.Equal(tx.Encoded(), signed) {
			t.Errorf("transaction %d: ID %x, want %x", i, id[:], want.ID)
		}
	}
	if len(r.Accesses) != len(b.Accesses) {
		t.Errorf("%d accesses, want %d", len(r.Accesses), len(b.Accesses))
	}
	for i, a := range r.Accesses[:min(len(r.Accesses), len(b.Accesses))] {
		want := b.Accesses[i]
		if !bytes.Equal(a.Key, want.Key) || !bytes.Equal(a.Old, want.Old) || !bytes.Equal(a.New, want.New) {
			t.Errorf("access %d: %x, want %x", i, a, want)
		}
	}
	if digest := types.DigestAccesses(r.Accesses); len(b.AccessesDigest) > 0 && !bytes.Equal(digest[:], b.AccessesDigest) {
		t.Errorf("accesses digest %x, want %x", digest, b.AccessesDigest)
	}
}

// checkState compares the whole state with a vector.
func (b *blockVector) checkState(t *testing.T, s mapState) {
	t.Helper()
	want := mapState{}
	for _, entry := range b.State {
		want[string(entry[0])] = entry[1]
	}
	if !maps.EqualFunc(s, want, bytes.Equal) {
		t.Errorf("state %x, want %x", s, want)
	}
}

// TestChainVectors executes the chains of the vectors, block after block.
func TestChainVectors(t *testing.T) {
	v := readVectors(t)
	for name, chain := range map[string]*chainVector{
		"chain": &v.Chain, "changing": &v.Changing, "example": &v.Example,
	} {
		t.Run(name, func(t *testing.T) {
			c := startVector(t, chain)
			for i := range chain.Blocks {
				b := &chain.Blocks[i]
				if i == 0 {
					if !bytes.Equal(c.head.Encode(), b.HeaderEncoded) {
						t.Fatalf("header 0 is %x, want %x", c.head.Encode(), b.HeaderEncoded)
					}
					b.checkState(t, c.state.mapState)
					continue
				}
				result, err := c.judge(t, b.bytes())
				if err != nil {
					t.Fatalf("block %d: error %v", i, err)
				}
				b.check(t, result)
				c.commit(t, result)
				b.checkState(t, c.state.mapState)
			}
		})
	}
}

// TestRefusedBlockVectors: each block is refused for its stated fault.
func TestRefusedBlockVectors(t *testing.T) {
	v := readVectors(t)
	for _, refused := range v.BlocksRefused {
		t.Run(refused.Name, func(t *testing.T) {
			c := startVector(t, &v.Changing)
			for i := 1; i <= refused.Parent; i++ {
				result, err := c.judge(t, v.Changing.Blocks[i].bytes())
				if err != nil {
					t.Fatal(err)
				}
				c.commit(t, result)
			}
			_, err := c.judge(t, append(slices.Clone(refused.Encoded), refused.EncodedRuns...))
			want, isDecoding := refused.Wrong, strings.HasPrefix(refused.Wrong, "encoding: ")
			if isDecoding {
				want = "encoding: "
			}
			if err == nil || err.Error() != want && !(isDecoding && strings.HasPrefix(err.Error(), want)) {
				t.Errorf("got %v, want %s", err, want)
			}
		})
	}
}

// TestGenesisVectors checks the geneses and makes header 0 of the valid ones.
func TestGenesisVectors(t *testing.T) {
	for _, c := range readVectors(t).Geneses {
		t.Run(c.Name, func(t *testing.T) {
			g, err := types.DecodeGenesis(c.Encoded)
			if err == nil {
				err = CheckGenesis(g)
			}
			if (err == nil) != (c.Wrong == nil) {
				t.Fatalf("got %v, want %v", err, c.Wrong)
			}
			if err != nil {
				return
			}
			result, err := Genesis(g)
			if err != nil {
				t.Fatal(err)
			}
			s := &provenState{mapState: mapState{}}
			result.Header.StateRoot, _ = s.rootAfter(t, result.Accesses)
			if hash := result.Header.Hash(); !bytes.Equal(hash[:], c.Hash) {
				t.Errorf("header 0 has hash %x, want %x", hash, c.Hash)
			}
		})
	}
}

// judgeTransaction judges an encoded transaction by the rules of validity. It returns the rule that it breaks, or 0.
func judgeTransaction(t *testing.T, in, context judgement, encoded []byte) (rule int, intrinsic types.Gas) {
	t.Helper()
	tx, err := types.DecodeTx(encoded)
	if err != nil {
		return 1, 0
	}
	p, err := types.ParseParametersJSON(in.Parameters, in.Network)
	if err != nil {
		t.Fatal(err)
	}
	accounts := in.Accounts
	if context.Accounts != nil {
		accounts = context.Accounts
	}
	template := types.Header{
		Version: p.Version, ChainID: in.ChainID, Height: 1, Timestamp: in.Timestamp, Producer: p.Producer,
		GasLimit: p.GasLimit, BaseFee: *in.BaseFee,
	}
	if context.BaseFee != nil {
		template.BaseFee = *context.BaseFee
	}
	committed := mapState{}
	for account, record := range accounts {
		key, err := hex.DecodeString(account)
		if err != nil {
			t.Fatal(err)
		}
		committed[string(append([]byte{byte(state.DomainAccount)}, key...))] = record
	}
	run := Begin(in.Network, p, committed, template, Machine{})
	if context.GasLeft != nil {
		run.header.GasUsed = p.GasLimit - *context.GasLeft
	}
	if context.BytesLeft != nil {
		run.bytes = int(p.BlockBytes) - *context.BytesLeft
	}
	sender, payer, err := run.peekAccounts(&tx.Signed().Transaction)
	if err != nil {
		t.Fatal(err)
	}
	if err := firstError(run, sender, payer, tx); err != nil {
		return ruleOf(t, run, tx, err), 0
	}
	return 0, intrinsicGas(tx.Signed(), sender)
}

// firstError checks the rules in their order, from rule 2 on.
func firstError(run *BlockExecutor, sender state.Account, payer *state.Account, tx *types.Tx) error {
	signed := tx.Signed()
	if err := CheckStatic(run.env, signed); err != nil {
		return err
	}
	if signed.GasLimit > run.GasLeft() {
		return ErrBlockFull
	}
	if verified := types.VerifyWitnesses(run.env.Network, []*types.Tx{tx})[0]; verified != nil {
		if err := CheckAt(run.env, sender, payer, verified); err != nil {
			return err
		}
	} else if err := firstBeforeProofs(run.env, sender, payer, signed); err != nil {
		return err
	}
	if run.bytes+len(tx.Encoded()) > int(run.env.Parameters.BlockBytes) {
		return ErrBlockFull
	}
	return nil
}

// firstBeforeProofs checks rules 14 to 17 of a transaction whose proofs do not hold.
func firstBeforeProofs(env Env, sender state.Account, payer *state.Account, tx *types.SignedTransaction) error {
	funds := Funds{Entry: sender.Exists(), Balance: sender.Balance}
	if payer != nil {
		funds.Payer = payer.Balance
	}
	if tx.Nonce != sender.Nonce {
		return ErrNonceTooLow
	}
	if err := CheckFunds(funds, tx); err != nil {
		return err
	}
	if err := CheckClaims(env, sender, payer, tx, ClaimsOf(tx)); err != nil {
		return err
	}
	return ErrBadSignature
}

// TestTransactionVectors checks the transactions of the vectors: some at the edges of the rules, and some that break
// one.
func TestTransactionVectors(t *testing.T) {
	v := readVectors(t)
	for _, c := range v.Valid {
		rule, intrinsic := judgeTransaction(t, v.JudgedIn, c.Context, append(slices.Clone(c.Signed), c.SignedRuns...))
		if rule != 0 || intrinsic != c.Intrinsic {
			t.Errorf("%s: breaks rule %d, intrinsic gas %d, want %d", c.Name, rule, intrinsic, c.Intrinsic)
		}
	}
	for _, c := range v.Refused {
		rule, _ := judgeTransaction(t, v.JudgedIn, c.Context, append(slices.Clone(c.Signed), c.SignedRuns...))
		if rule != c.Rule {
			t.Errorf("%s: breaks rule %d, want %d", c.Name, rule, c.Rule)
		}
	}
}

func TestReceiptVectors(t *testing.T) {
	for _, c := range readVectors(t).Receipts {
		r, err := types.DecodeReceipt(c.Encoded)
		if err != nil || !bytes.Equal(r.Encode(), c.Encoded) {
			t.Errorf("%s: got %x, want %x, error %v", c.Name, r.Encode(), c.Encoded, err)
		}
	}
}

func TestIDVectors(t *testing.T) {
	v := readVectors(t)
	for _, c := range v.ContractIDs {
		if id := types.NewContractID(types.Account(c.Sender), c.Nonce); !bytes.Equal(id[:], c.ID) {
			t.Errorf("contract ID %x, want %x", id, c.ID)
		}
	}
	for _, c := range v.InstanceIDs {
		id := types.NewInstanceID(types.ContractID(c.Creator), types.CodeHash(c.CodeHash), [32]byte(c.Salt))
		if !bytes.Equal(id[:], c.ID) {
			t.Errorf("instance ID %x, want %x", id, c.ID)
		}
	}
	if len(v.ContractIDs) == 0 || len(v.InstanceIDs) == 0 {
		t.Error("there are no vectors")
	}
}

// TestMessageVectors checks account_verify's message, and its witnesses of a key and of a text.
func TestMessageVectors(t *testing.T) {
	m := readVectors(t).Message
	contract, account := types.ContractID(m.Contract), types.Account(m.Account)
	hash := types.MessageHash(m.ChainID, contract, account, m.Message)
	text := types.MessageText(types.Regtest, m.ChainID, contract, account, m.Message)
	if !bytes.Equal(hash[:], m.Hash) || text != m.Text {
		t.Errorf("hash %x and text %q, want %x and %q", hash, text, m.Hash, m.Text)
	}
	witnesses := map[string]types.Witness{
		"key":  types.WitnessKey{Signature: types.Signature(m.Key)},
		"text": types.WitnessText{Signature: types.Signature(m.AsText)},
	}
	for name, w := range witnesses {
		if !types.VerifyMessage(types.Regtest, m.ChainID, contract, account, m.Message, w) {
			t.Errorf("the witness %s does not hold", name)
		}
	}
}
