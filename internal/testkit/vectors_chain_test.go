package testkit

import (
	"maps"
	"slices"
	"testing"

	"github.com/cairn-chain/cairn/crypto"
	"github.com/cairn-chain/cairn/internal/protocol/exec"
	"github.com/cairn-chain/cairn/internal/protocol/fees"
	"github.com/cairn-chain/cairn/internal/protocol/state"
	"github.com/cairn-chain/cairn/types"
)

type chainVectors struct {
	Genesis       types.Genesis  `json:"genesis"`
	GenesisBytes  bytesHex       `json:"genesis_encoded"`
	GenesisDigest bytesHex       `json:"genesis_digest"`
	Blocks        []blockVector  `json:"blocks"`
	NextBaseFee   uint64         `json:"base_fee_of_block_3"`
	State         []recordVector `json:"state_after_block_2"`
	Proof         proofVector    `json:"proof_of_account_1_after_block_1"`
}

type blockVector struct {
	Header       headerVector    `json:"header"`
	HeaderBytes  bytesHex        `json:"header_encoded"`
	Hash         bytesHex        `json:"hash"`
	Signature    bytesHex        `json:"signature"`
	Transactions []txVector      `json:"transactions"`
	Reasons      []exec.Reason   `json:"reasons_of_failure"`
	Receipts     []receiptVector `json:"receipts"`
	Accesses     accessesVector  `json:"accesses"`
	Block        bytesHex        `json:"block_encoded"`
}

type headerVector struct {
	Version          uint32   `json:"version"`
	ChainID          uint64   `json:"chain_id"`
	Height           uint64   `json:"height"`
	Parent           bytesHex `json:"parent"`
	Timestamp        uint64   `json:"timestamp"`
	Producer         bytesHex `json:"producer"`
	TransactionsRoot bytesHex `json:"transactions_root"`
	ReceiptsRoot     bytesHex `json:"receipts_root"`
	StateRoot        bytesHex `json:"state_root"`
	WritesDigest     bytesHex `json:"writes_digest"`
	GasUsed          uint64   `json:"gas_used"`
	GasLimit         uint64   `json:"gas_limit"`
	BaseFee          uint64   `json:"base_fee"`
}

func newHeaderVector(h types.Header) headerVector {
	return headerVector{
		Version:          h.Version,
		ChainID:          h.ChainID,
		Height:           uint64(h.Height),
		Parent:           h.Parent[:],
		Timestamp:        h.Timestamp,
		Producer:         h.Producer[:],
		TransactionsRoot: h.TransactionsRoot[:],
		ReceiptsRoot:     h.ReceiptsRoot[:],
		StateRoot:        h.StateRoot[:],
		WritesDigest:     h.WritesDigest[:],
		GasUsed:          uint64(h.GasUsed),
		GasLimit:         uint64(h.GasLimit),
		BaseFee:          uint64(h.BaseFee),
	}
}

// memoryState is a committed state.
type memoryState map[string][]byte

func (m memoryState) Get(key []byte) ([]byte, error) { return m[string(key)], nil }

func (m memoryState) commit(accesses []types.Access) {
	for _, a := range accesses {
		if len(a.New) == 0 {
			delete(m, string(a.Key))
		} else {
			m[string(a.Key)] = a.New
		}
	}
}

// exampleGenesis gives accounts 0 and 1 10,000 coins each and the producer 10.
func exampleGenesis(keys [10]crypto.PrivateKey) types.Genesis {
	g := types.Genesis{
		ChainID: chainID, Network: types.Regtest, Time: 1_700_000_000, BaseFee: 100, Parameters: exampleParameters(keys),
	}
	for _, a := range []struct {
		key   int
		coins types.Amount
	}{{0, 10_000}, {1, 10_000}, {9, 10}} {
		g.Allocations = append(g.Allocations, types.Allocation{
			Account: keys[a.key].PublicKey(), Balance: a.coins * types.CoinUnits,
		})
	}
	slices.SortFunc(g.Allocations, func(a, b types.Allocation) int { return a.Account.Compare(b.Account) })
	return g
}

func exampleChain(t *testing.T, keys [10]crypto.PrivateKey) chainVectors {
	t.Helper()
	g := exampleGenesis(keys)
	digest := g.Digest()
	committed := memoryState{}
	result, err := exec.Genesis(g)
	if err != nil {
		t.Fatal(err)
	}
	v := chainVectors{Genesis: g, GenesisBytes: g.Encode(), GenesisDigest: digest[:]}
	committed.commit(result.Accesses)
	result.Header.StateRoot = stateRoot(committed)
	v.Blocks = append(v.Blocks, newBlockVector(result, types.Block{Header: result.Header}, []txVector{}))
	head := result.Header
	for _, batch := range exampleBatches(t, keys) {
		var block types.Block
		result, block = exampleBlock(t, committed, head, keys[9], batch)
		v.Blocks = append(v.Blocks, newBlockVector(result, block, batch))
		head = block.Header
		if head.Height == 1 {
			v.Proof = newProofVector(t, committed, state.AccountKey(keys[1].PublicKey()))
		}
	}
	p, err := exec.ReadParameters(committed)
	if err != nil {
		t.Fatal(err)
	}
	v.NextBaseFee = uint64(fees.NextBaseFee(head, p))
	for _, key := range slices.Sorted(maps.Keys(committed)) {
		v.State = append(v.State, recordVector{bytesHex(key), committed[key]})
	}
	checkFirstTransfer(t, v.Blocks[1], keys)
	return v
}

// exampleBatches are the transactions of blocks 1 and 2. The first has a transfer. The second has a transfer that makes
// an account, one whose gas does not suffice for that, a payment to oneself and a configure.
func exampleBatches(t *testing.T, keys [10]crypto.PrivateKey) [][]txVector {
	build := func(
		name string, key int, nonce uint64, gas types.Gas, payload types.Payload, fields map[string]any,
	) txVector {
		tx := exampleTx(keys[key], nonce, payload)
		tx.GasLimit = gas
		return newTxVector(name, sign(t, tx, keys[key]), keys[key], fields)
	}
	transfer := func(name string, from, to int, nonce uint64, gas types.Gas, value types.Amount) txVector {
		account := types.Account(keys[to].PublicKey())
		return build(name, from, nonce, gas, types.Transfer{To: account, Amount: value},
			map[string]any{"variant": 0, "to": bytesHex(account[:]), "value": value})
	}
	p := exampleParameters(keys)
	p.MinBaseFee = 50
	return [][]txVector{
		{transfer("account 0 pays account 1", 0, 1, 0, 50_000, 150_000_000)},
		{
			transfer("account 1 pays account 2, which has no entry", 1, 2, 0, 50_000, 1_000),
			transfer("account 0 pays account 3, with too little gas to make its entry", 0, 3, 1, 30_000, 1_000),
			transfer("account 1 pays itself", 1, 1, 1, 21_000, 7),
			build("the producer raises min_base_fee", 9, 0, 71_000, types.Configure{Parameters: p},
				map[string]any{"variant": 3, "parameters": p}),
		},
	}
}

func exampleBlock(
	t *testing.T, committed memoryState, parent types.Header, producer crypto.PrivateKey, batch []txVector,
) (exec.Result, types.Block) {
	t.Helper()
	p, err := exec.ReadParameters(committed)
	if err != nil {
		t.Fatal(err)
	}
	seed, err := exec.Seed(parent, p, parent.Timestamp+1)
	if err != nil {
		t.Fatal(err)
	}
	run := exec.Begin(p, committed, seed, exec.Machine{})
	var block types.Block
	for _, v := range batch {
		tx, err := types.DecodeSignedTransaction(v.Signed)
		if err != nil {
			t.Fatal(err)
		}
		verified := types.VerifySignatures(types.NewTxs(tx))
		if verified[0] == nil {
			t.Fatalf("%s: the signature is not valid", v.Name)
		}
		var b bill
		run.Trace(&b)
		receipt, err := run.Apply(verified[0])
		if err == nil {
			err = b.check(receipt.GasUsed)
		}
		if err != nil {
			t.Fatalf("%s: %v", v.Name, err)
		}
		block.Transactions = append(block.Transactions, tx)
	}
	result, err := run.Finish()
	if err != nil {
		t.Fatal(err)
	}
	committed.commit(result.Accesses)
	result.Header.StateRoot = stateRoot(committed)
	block.Header = result.Header
	hash := block.Header.Hash()
	if block.Signature, err = producer.Sign(hash[:], [32]byte{}); err != nil {
		t.Fatal(err)
	}
	if naive := naiveSign(producer.Bytes(), hash[:]); naive != block.Signature || !block.Signed().VerifySignature() {
		t.Fatalf("block signature %x, naively %x", block.Signature, naive)
	}
	return result, block
}

func newBlockVector(result exec.Result, block types.Block, batch []txVector) blockVector {
	hash := block.Header.Hash()
	v := blockVector{
		Header:       newHeaderVector(block.Header),
		HeaderBytes:  block.Header.Encode(),
		Hash:         hash[:],
		Signature:    block.Signature[:],
		Transactions: batch,
		Reasons:      result.Reasons,
		Receipts:     []receiptVector{},
		Accesses:     newAccessesVector(result.Accesses),
		Block:        block.Encode(),
	}
	if v.Reasons == nil {
		v.Reasons = []exec.Reason{}
	}
	for _, r := range result.Receipts {
		v.Receipts = append(v.Receipts, newReceiptVector(r))
	}
	return v
}

// checkFirstTransfer recomputes block 1 from the rules by hand.
func checkFirstTransfer(t *testing.T, block blockVector, keys [10]crypto.PrivateKey) {
	t.Helper()
	const (
		baseFee, price, used = 88, 88 + 3, 21_000
		coins                = 100_000_000
		value                = 150_000_000
	)
	want := map[string]string{}
	add := func(key, record []byte) { want[string(key)] = string(record) }
	add(state.SupplyKey(), state.Supply{Supply: 20_010 * coins, Burned: used * baseFee}.Encode())
	add(
		state.AccountKey(keys[0].PublicKey()), state.Account{Balance: 10_000*coins - value - used*price, Nonce: 1}.Encode(),
	)
	add(state.AccountKey(keys[1].PublicKey()), state.Account{Balance: 10_000*coins + value}.Encode())
	add(state.AccountKey(keys[8].PublicKey()), state.Account{Balance: used * 3}.Encode())
	if block.Header.BaseFee != baseFee || block.Header.GasUsed != used {
		t.Errorf("base fee %d and gas used %d, by hand %d and %d", block.Header.BaseFee, block.Header.GasUsed, baseFee, used)
	}
	writes := 0
	for _, a := range block.Accesses.List {
		if string(a.Old) == string(a.New) {
			continue
		}
		writes++
		if want[string(a.Key)] != string(a.New) {
			t.Errorf("key %x is %x, by hand %x", []byte(a.Key), []byte(a.New), want[string(a.Key)])
		}
	}
	if writes != len(want) {
		t.Errorf("%d writes, by hand %d", writes, len(want))
	}
}
