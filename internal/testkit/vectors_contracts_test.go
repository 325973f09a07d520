package testkit

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"maps"
	"slices"
	"testing"

	"github.com/cairn-chain/cairn/crypto"
	"github.com/cairn-chain/cairn/crypto/bip322"
	"github.com/cairn-chain/cairn/crypto/p256"
	"github.com/cairn-chain/cairn/internal/engine/wasm"
	"github.com/cairn-chain/cairn/internal/protocol/exec"
	"github.com/cairn-chain/cairn/internal/protocol/lists"
	"github.com/cairn-chain/cairn/internal/protocol/params"
	"github.com/cairn-chain/cairn/internal/testkit/probe"
	"github.com/cairn-chain/cairn/types"
)

// contractVectors is a chain whose transactions run contracts.
type contractVectors struct {
	GenesisBytes bytesHex              `json:"genesis_encoded"`
	Network      types.Network         `json:"network"`
	Blocks       []contractBlockVector `json:"blocks"`
}

type contractBlockVector struct {
	Encoded      bytesHex           `json:"encoded"`
	Hash         bytesHex           `json:"hash"`
	Transactions []contractTxVector `json:"transactions"`
	Accesses     []accessVector     `json:"accesses"`
	State        [][2]bytesHex      `json:"state"`
}

type contractTxVector struct {
	About   string      `json:"about"`
	Reason  exec.Reason `json:"reason"`
	Output  bytesHex    `json:"output"`
	GasUsed types.Gas   `json:"gas_used"`
	Receipt bytesHex    `json:"receipt_encoded"`
	Leaf    bytesHex    `json:"receipt_leaf"`
}

type accessVector struct {
	Key bytesHex `json:"key"`
	Old bytesHex `json:"old"`
	New bytesHex `json:"new"`
}

// memoryState is a committed state.
type memoryState map[string][]byte

// Get implements state.Reader.
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

// codes holds the codes of the contracts so far.
type codes map[types.CodeHash][]byte

// Code implements exec.Codes.
func (c codes) Code(hash types.CodeHash) ([]byte, error) { return c[hash], nil }

// contractScene makes the chain.
type contractScene struct {
	t         *testing.T
	keys      [10]crypto.PrivateKey
	nonces    [10]uint64
	engine    *wasm.Engine
	committed memoryState
	codes     codes
	head      types.Header
	vectors   contractVectors
	about     []string
	pending   []types.SignedTransaction
}

// contractSection executes the chain with the real engine.
func contractSection(t *testing.T) contractVectors {
	t.Helper()
	engine, err := wasm.New(wasm.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := engine.Close(); err != nil {
			t.Error(err)
		}
	}()
	s := &contractScene{t: t, keys: developmentKeys(t), engine: engine, committed: memoryState{}, codes: codes{}}
	p := params.Default(s.keys[9].PublicKey())
	p.FeeRecipient, p.Admin = s.keys[8].PublicKey(), s.keys[9].PublicKey()
	g := types.Genesis{ChainID: chainID, Network: types.Regtest, Time: 1_700_000_000_999, BaseFee: 10, Parameters: p}
	for _, i := range []int{0, 1, 2} {
		g.Allocations = append(g.Allocations, types.Allocation{
			Account: s.keys[i].PublicKey(), Balance: 10_000_000 * types.CoinUnits,
		})
	}
	slices.SortFunc(g.Allocations, func(a, b types.Allocation) int { return a.Account.Compare(b.Account) })
	result, err := exec.Genesis(g)
	if err != nil {
		t.Fatal(err)
	}
	s.vectors = contractVectors{GenesisBytes: g.Encode(), Network: g.Network}
	s.committed.commit(result.Accesses)
	s.head = result.Header
	s.head.StateRoot = stateRoot(s.committed)
	for _, scene := range []func(*contractScene){
		deploys, contexts, storages, ends, calls, signatures, accountsVerified, creations, replacements, batches,
	} {
		scene(s)
		s.block()
	}
	return s.vectors
}

func (s *contractScene) account(i int) types.Account { return s.keys[i].PublicKey() }

// add makes a transaction of account i.
func (s *contractScene) add(about string, i int, target types.Account, value types.Amount, gas types.Gas, p types.Payload) {
	s.t.Helper()
	tx, err := types.Sign(types.Transaction{
		Sender: s.account(i), Target: target, ChainID: chainID, Nonce: s.nonces[i], GasLimit: gas, MaxFeePerGas: 1000,
		MaxPriorityFeePerGas: 1, Value: value, Payload: p,
	}, s.keys[i], [32]byte{})
	if err != nil {
		s.t.Fatal(err)
	}
	s.nonces[i]++
	s.about, s.pending = append(s.about, about), append(s.pending, tx)
}

// probe calls an export of a contract by account 0.
func (s *contractScene) probe(about string, id types.ContractID, function string, value types.Amount, args []byte) {
	s.t.Helper()
	s.add(about, 0, types.Account(id), value, 3_000_000, types.Call{Function: function, Args: args})
}

// block executes and seals the added transactions.
func (s *contractScene) block() {
	s.t.Helper()
	p, err := exec.ReadParameters(s.committed)
	if err != nil {
		s.t.Fatal(err)
	}
	template, err := exec.HeaderTemplate(s.head, p, s.head.Timestamp+1500)
	if err != nil {
		s.t.Fatal(err)
	}
	run := exec.Begin(types.Regtest, p, s.committed, template, exec.Machine{Engine: s.engine, Codes: s.codes})
	var block types.Block
	for i, tx := range types.VerifyWitnesses(types.Regtest, types.NewTxs(s.pending...)) {
		if tx == nil {
			s.t.Fatalf("%s: the witness does not hold", s.about[i])
		}
		var b bill
		run.Trace(&b)
		receipt, err := run.Apply(tx)
		if err == nil {
			err = b.check(receipt.GasUsed)
		}
		if err != nil {
			s.t.Fatalf("%s: error %v", s.about[i], err)
		}
		block.Transactions = append(block.Transactions, *tx.Signed())
	}
	result, err := run.Finish()
	if err != nil {
		s.t.Fatal(err)
	}
	s.committed.commit(result.Accesses)
	maps.Copy(s.codes, result.Codes)
	block.Header = result.Header
	block.Header.StateRoot = stateRoot(s.committed)
	hash := block.Header.Hash()
	if block.Seal.Signature, err = s.keys[9].Sign(hash[:], [32]byte{}); err != nil {
		s.t.Fatal(err)
	}
	if naive := naiveSign(s.keys[9].Bytes(), hash[:]); naive != block.Seal.Signature {
		s.t.Fatalf("seal %x, naively %x", block.Seal.Signature, naive)
	}
	s.head = block.Header
	s.vectors.Blocks = append(s.vectors.Blocks, s.vector(block, result))
	s.about, s.pending = nil, nil
}

func (s *contractScene) vector(block types.Block, result exec.Result) contractBlockVector {
	hash := block.Header.Hash()
	v := contractBlockVector{Encoded: block.Encode(), Hash: hash[:]}
	for i, receipt := range result.Receipts {
		leaf := lists.ReceiptLeaf(&receipt).Bytes()
		v.Transactions = append(v.Transactions, contractTxVector{
			About: s.about[i], Reason: result.Reasons[i], Output: receipt.Output, GasUsed: receipt.GasUsed,
			Receipt: receipt.Encode(), Leaf: leaf[:],
		})
	}
	for _, a := range result.Accesses {
		v.Accesses = append(v.Accesses, accessVector{a.Key, a.Old, a.New})
	}
	for _, key := range slices.Sorted(maps.Keys(s.committed)) {
		v.State = append(v.State, [2]bytesHex{bytesHex(key), s.committed[key]})
	}
	return v
}

// The contracts that account 0 deploys: the probes by their nonces.
func (s *contractScene) whole() types.ContractID { return types.NewContractID(s.account(0), 0) }
func (s *contractScene) plain() types.ContractID { return types.NewContractID(s.account(0), 1) }
func (s *contractScene) wide() types.ContractID  { return types.NewContractID(s.account(0), 2) }

func deploys(s *contractScene) {
	whole, plain, wide := probe.Modules()
	none := types.Account{}
	s.add("deploy the probe, with init and value", 0, none, 5000, 40_000_000, types.Deploy{
		Name: "probe", Code: whole, InitArgs: []byte("init_key and more"),
	})
	s.add("deploy the plain probe", 0, none, 0, 40_000_000, types.Deploy{Name: "plain", Code: plain})
	s.add("deploy the wide probe", 0, none, 0, 40_000_000, types.Deploy{Name: "wide", Code: wide, InitArgs: []byte("12345678")})
	s.add("no module", 0, none, 0, 2_000_000, types.Deploy{Code: []byte("\x00asm\x01\x00\x00\x00")})
	s.add("arguments without init", 0, none, 7, 40_000_000, types.Deploy{Code: plain, InitArgs: []byte{1}})
	s.add("an init that reverts", 0, none, 7, 40_000_000, types.Deploy{Code: whole, InitArgs: []byte{0xfe, 1, 2}})
	s.add("an init that traps", 0, none, 7, 40_000_000, types.Deploy{Code: whole, InitArgs: []byte{0xff}})
	s.add("too little gas for a new account", 0, none, 7, 3_000_000, types.Deploy{Code: whole[:2000]})
}

func contexts(s *contractScene) {
	id := s.whole()
	s.probe("args_len", id, "args_len", 0, probe.Given(8, []byte("12345")))
	for _, name := range []string{"caller", "sender", "self", "args_read"} {
		s.probe(name, id, name, 0, probe.Given(140, []byte("data"), probe.Result))
	}
	s.probe("value", id, "value", 77, probe.Given(8, nil))
	for _, name := range []string{"block_height", "block_time", "chain_id", "gas_left", "is_view", "result_len"} {
		s.probe(name, id, name, 0, probe.Given(8, nil))
	}
	self, other, nobody := id[:], s.account(1), bytes.Repeat([]byte{7}, 32)
	for _, a := range [][]byte{self, other[:], nobody} {
		s.probe("balance", id, "balance", 0, probe.Given(8, a, probe.Data))
		s.probe("code_hash", id, "code_hash", 0, probe.Given(40, a, probe.Data, probe.Result+8))
	}
	for _, n := range []uint64{0, 1, 31, 55, 56, 64, 200, 1024, 1025, 3000} {
		for _, name := range []string{"sha256", "keccak256", "blake3"} {
			s.probe(name, id, name, 0, probe.Given(32, bytes.Repeat([]byte("abc"), 30), probe.Data, n, probe.Result))
		}
	}
	s.probe("an out range beyond the memory", id, "sha256", 0, probe.Given(32, nil, 0, 1, 65536-31))
	s.probe("an empty range at the end", id, "sha256", 0, probe.Given(32, nil, 65536, 0, probe.Result))
	s.probe("an empty range beyond the end", id, "sha256", 0, probe.Given(32, nil, 65537, 0, probe.Result))
	s.probe("debug", id, "debug", 0, probe.Given(0, []byte("hello"), probe.Data, 5))
	s.probe("debug of more than 1 KiB", id, "debug", 0, probe.Given(0, nil, 0, 1025))
}

func storages(s *contractScene) {
	id := s.whole()
	key := []byte("key")
	write := func(about string, n uint64) {
		s.probe(about, id, "storage_write", 0, probe.Given(0, key, probe.Data, 3, 2048, n))
	}
	write("a new key", 5)
	write("a long value in place of it", 145)
	write("a long value in place of a long one", 200)
	s.probe("read it whole", id, "storage_read", 0, probe.Given(16, key, probe.Data, 3, probe.Result+8, 400))
	s.probe("read 3 bytes of it", id, "storage_read", 0, probe.Given(16, key, probe.Data, 3, probe.Result+8, 3))
	s.probe("read an absent key", id, "storage_read", 0, probe.Given(16, []byte("none"), probe.Data, 4, probe.Result+8, 400))
	s.probe("the empty key", id, "storage_write", 0, probe.Given(0, nil, 0, 0, 2048, 1))
	s.probe("a key of 256 bytes", id, "storage_write", 0, probe.Given(0, nil, 2048, 256, 2048, 1))
	s.probe("a key of 257 bytes", id, "storage_write", 0, probe.Given(0, nil, 2048, 257, 2048, 1))
	s.probe("a value of 16 KiB", id, "storage_write", 0, probe.Given(0, []byte("big"), probe.Data, 3, 2048, 16384))
	s.probe("a value of 16 KiB and a byte", id, "storage_write", 0, probe.Given(0, []byte("big"), probe.Data, 3, 2048, 16385))
	s.probe("an empty value deletes", id, "storage_write", 0, probe.Given(0, key, probe.Data, 3, 2048, 0))
	s.probe("delete an absent key", id, "storage_delete", 0, probe.Given(0, key, probe.Data, 3))
	s.probe("delete 16 KiB", id, "storage_delete", 0, probe.Given(0, []byte("big"), probe.Data, 3))
	s.add("without the reserve", 0, types.Account(id), 0, 318_000, types.Call{
		Function: "storage_read", Args: probe.Given(16, key, probe.Data, 3, probe.Result+8, 400),
	})
}

func ends(s *contractScene) {
	id := s.whole()
	s.probe("two times return data", id, "return_data", 0, probe.Given(4, []byte("first"), probe.Data, 5))
	s.probe("return data of 64 KiB and a byte", id, "return_data", 0, probe.Given(4, nil, 0, 65537))
	s.probe("revert", id, "revert", 9, probe.Given(4, []byte("why"), probe.Data, 3))
	s.probe("trap", id, "trap", 9, nil)
	s.add("burn", 0, types.Account(id), 9, 200_000, types.Call{Function: "burn"})
	s.probe("recurse", id, "recurse", 0, nil)
	for _, pages := range []uint64{0, 1, 15, 16} {
		s.probe("grow", id, "grow", 0, probe.Given(0, nil, pages))
	}
	s.probe("a function that is none", id, "none", 9, nil)
	s.probe("init is not callable", id, "init", 0, nil)
	s.probe("_reentrant is not callable", id, "_reentrant", 0, nil)
	s.probe("a contract that is none", types.ContractID{31: 1}, "self", 0, nil)
	topics := bytes.Repeat([]byte{5}, 128)
	for _, n := range []uint64{0, 1, 3, 4} {
		s.probe("emit", id, "emit", 0, probe.Given(0, append([]byte("event"), topics...), probe.Data, 5, probe.Data+5, n, 2048, 100))
	}
	s.probe("a name that is not UTF-8", id, "emit", 0, probe.Given(0, []byte{0xff}, probe.Data, 1, 0, 0, 0, 0))
	s.probe("a name of 65 bytes", id, "emit", 0, probe.Given(0, nil, 2048, 65, 0, 0, 0, 0))
	s.probe("data of 16 KiB", id, "emit", 0, probe.Given(0, nil, 2048, 0, 0, 0, 2048, 16384))
	s.probe("data of 16 KiB and a byte", id, "emit", 0, probe.Given(0, nil, 2048, 0, 0, 0, 2048, 16385))
	other, nobody := s.account(1), bytes.Repeat([]byte{8}, 32)
	s.probe("transfer", id, "transfer", 0, probe.Given(8, other[:], probe.Data, 10))
	s.probe("transfer of nothing", id, "transfer", 0, probe.Given(8, nobody, probe.Data, 0))
	s.probe("transfer that makes an account", id, "transfer", 0, probe.Given(8, nobody, probe.Data, 11))
	s.probe("transfer to itself", id, "transfer", 0, probe.Given(8, id[:], probe.Data, 12))
	s.probe("transfer of too much", id, "transfer", 0, probe.Given(8, nobody, probe.Data, 1<<40))
}

func calls(s *contractScene) {
	id, plain, wide := s.whole(), s.plain(), s.wide()
	self := probe.Given(32, nil, probe.Result)
	s.probe("call", id, "call", 0, probe.Call(plain, "self", 0, probe.AllGas, self))
	s.probe("call with value", id, "call", 0, probe.Call(plain, "self", 3, probe.AllGas, self))
	s.probe("call itself", id, "call", 0, probe.Call(id, "self", 3, probe.AllGas, self))
	s.probe("call with too much value", id, "call", 0, probe.Call(plain, "self", 1<<50, probe.AllGas, self))
	s.probe("call with little gas", id, "call", 0, probe.Call(plain, "self", 0, 50, self))
	s.probe("call nobody", id, "call", 0, probe.Call(types.ContractID{9}, "self", 0, probe.AllGas, self))
	s.probe("call no function", id, "call", 0, probe.Call(plain, "none", 0, probe.AllGas, self))
	s.probe("call what reverts", id, "call", 0, probe.Call(id, "revert", 5, probe.AllGas, probe.Given(0, []byte("no"), probe.Data, 2)))
	s.probe("call what traps", id, "call", 0, probe.Call(id, "trap", 5, probe.AllGas, nil))
	s.probe("call what burns", id, "call", 0, probe.Call(id, "burn", 5, 10_000, nil))
	s.probe("enter again", id, "call", 0, probe.Call(plain, "call", 0, probe.AllGas,
		probe.Call(id, "call", 0, probe.AllGas, probe.Call(plain, "self", 0, probe.AllGas, self))))
	view := func(function string, args []byte) []byte {
		a := probe.Call(id, function, 0, probe.AllGas, args)
		copy(a[5*8:6*8], a[6*8:7*8]) // call_view has no value
		return a
	}
	s.probe("view", id, "call_view", 0, view("is_view", probe.Given(8, nil)))
	for _, name := range []string{"storage_write", "storage_delete", "emit", "transfer", "create", "replace_code"} {
		s.probe("a view that changes: "+name, id, "call_view", 0, view(name, probe.Given(8, nil)))
	}
	s.probe("a call with value in a view", id, "call_view", 0, view("call", probe.Call(plain, "self", 1, probe.AllGas, self)))
	s.probe("a call in a view", id, "call_view", 0, view("call", probe.Call(plain, "is_view", 0, probe.AllGas, probe.Given(8, nil))))
	deep := probe.Call(id, "call", 0, probe.AllGas, nil)
	binary.LittleEndian.PutUint64(deep[3*8:], probe.Args)
	binary.LittleEndian.PutUint64(deep[4*8:], uint64(len(deep)))
	s.probe("call until it is too deep", id, "call", 0, deep)
	pages := probe.Call(wide, "call", 0, probe.AllGas, nil)
	binary.LittleEndian.PutUint64(pages[3*8:], probe.Args)
	binary.LittleEndian.PutUint64(pages[4*8:], uint64(len(pages)))
	s.add("call until the memory is too large", 0, types.Account(wide), 0, 20_000_000, types.Call{Function: "call", Args: pages})
}

func signatures(s *contractScene) {
	id := s.whole()
	key := s.account(1)
	message := []byte("a message of any length")
	signature, err := s.keys[1].Sign(message, [32]byte{})
	if err != nil {
		s.t.Fatal(err)
	}
	data := append(append(key[:], message...), signature[:]...)
	n := uint64(len(message))
	schnorr := func(about string, data []byte) {
		s.probe(about, id, "schnorr_verify", 0, probe.Given(8, data, probe.Data, probe.Data+32, n, probe.Data+32+n))
	}
	schnorr("schnorr_verify", data)
	data[33]++
	schnorr("schnorr_verify of another message", data)
	digest := sha256.Sum256([]byte("recover"))
	for _, v := range []byte{0, 1, 2} {
		r, sum := naiveECDSA(s.keys[1].Bytes(), digest)
		data := slices.Concat(digest[:], r[:], sum[:], []byte{v})
		s.probe("ecdsa_recover", id, "ecdsa_recover", 0, probe.Given(72, data, probe.Data, probe.Data+32, probe.Result+8))
	}
	point, p256Digest, sig := deviceSignature(s.t, "a device's message")
	for _, high := range []bool{false, true} {
		used := p256.Lower(sig)
		if high {
			negateP256(used[32:])
		}
		data := slices.Concat(point[:], p256Digest[:], used[:])
		s.probe("p256_verify", id, "p256_verify", 0, probe.Given(8, data, probe.Data, probe.Data+64, probe.Data+96))
		data[70]++
		s.probe("p256_verify of another digest", id, "p256_verify", 0, probe.Given(8, data, probe.Data, probe.Data+64, probe.Data+96))
	}
}

func accountsVerified(s *contractScene) {
	id := s.whole()
	message := []byte("order 12")
	hash := types.MessageHash(chainID, id, s.account(1), message)
	key, err := s.keys[1].Sign(hash[:], [32]byte{})
	if err != nil {
		s.t.Fatal(err)
	}
	text := types.MessageText(types.Regtest, chainID, id, s.account(1), message)
	witnesses := map[string]types.Witness{"a key": types.WitnessKey{Signature: key}}
	for sighash := range uint8(2) {
		signed := bip322.Message(s.account(1), text, sighash)
		signature, err := s.keys[1].Sign(signed[:], [32]byte{})
		if err != nil {
			s.t.Fatal(err)
		}
		name := []string{"a text", "a text, ALL"}[sighash]
		witnesses[name] = types.WitnessText{Signature: signature, Sighash: sighash}
	}
	verify := func(about string, account types.Account, message, witness []byte) {
		s.probe("account_verify: "+about, id, "account_verify", 0, probe.Verify(account, message, witness))
	}
	for _, name := range slices.Sorted(maps.Keys(witnesses)) {
		encoded := types.EncodeWitness(witnesses[name])
		verify(name, s.account(1), message, encoded)
		verify(name+", another message", s.account(1), []byte("order 13"), encoded)
		verify(name+", another account", s.account(2), message, encoded)
	}
	encoded := types.EncodeWitness(witnesses["a key"])
	verify("a byte left over", s.account(1), message, append(encoded, 0))
	verify("nothing", s.account(1), message, nil)
	policy := types.Policy{Owner: types.Rule{Threshold: 1, Signers: []types.Signer{
		types.SignerKey{Key: s.keys[1].PublicKey()}, types.SignerP256{Point: [64]byte{1}},
	}}}
	by := types.WitnessPolicy{Policy: policy, Proofs: []types.Proof{{Evidence: types.EvidenceKey{Signature: key}}}}
	verify("a policy that is not in force", s.account(1), message, types.EncodeWitness(by))
	bad := by
	bad.Policy.Owner.Threshold = 3
	verify("a policy that is not valid", s.account(1), message, types.EncodeWitness(bad))
	bad = by
	bad.Proofs = append(bad.Proofs, types.Proof{Signer: 1, Evidence: types.EvidenceP256{}})
	verify("a proof too many", s.account(1), message, types.EncodeWitness(bad))
	s.add("the policy comes into force", 1, types.Account{}, 0, 1_000_000, types.SetPolicy{Policy: &policy})
	verify("a policy", s.account(1), message, types.EncodeWitness(by))
	verify("a key that was replaced", s.account(1), message, encoded)
	s.probe("account_verify: a message of 1,025 bytes", id, "account_verify", 0, probe.Given(8, nil, 0, 0, 1025, 0, 68))
	s.probe("account_verify: a witness of 8,193 bytes", id, "account_verify", 0, probe.Given(8, nil, 0, 0, 0, 0, 8193))
}

// createArgs are the arguments of create with a salt of one byte.
func createArgs(template types.ContractID, salt byte, name string, args []byte, value, gas uint64) []byte {
	return probe.Create(template, [32]byte(bytes.Repeat([]byte{salt}, 32)), name, args, value, gas)
}

func creations(s *contractScene) {
	id, plain, wide := s.whole(), s.plain(), s.wide()
	into := func(about string, template types.ContractID, value types.Amount, args []byte) {
		s.add("instantiate: "+about, 0, types.Account(template), value, 3_000_000, types.Instantiate{Name: "copy", InitArgs: args})
	}
	into("with init", id, 0, []byte("12345678 and more"))
	into("with value", id, 5, nil)
	into("without init", plain, 0, nil)
	into("arguments without init", plain, 5, []byte{1})
	into("an init that reverts", id, 5, []byte{0xfe})
	into("an init that traps", id, 5, []byte{0xff})
	into("of no contract", types.ContractID{1}, 5, nil)
	s.add("instantiate: too little gas", 0, types.Account(id), 5, 130_000, types.Instantiate{})
	made := func(about string, args []byte) { s.probe("create: "+about, id, "create", 0, args) }
	made("with init", createArgs(id, 1, "child", []byte("12345678"), 0, probe.AllGas))
	made("the same again", createArgs(id, 1, "child", []byte("12345678"), 0, probe.AllGas))
	made("with value", createArgs(id, 2, "", nil, 6, probe.AllGas))
	made("without init", createArgs(plain, 3, "ä", nil, 0, 0))
	made("arguments without init", createArgs(plain, 4, "", []byte{1}, 0, probe.AllGas))
	made("an init that reverts", createArgs(id, 5, "", []byte{0xfe, 2}, 6, probe.AllGas))
	made("an init that traps", createArgs(id, 6, "", []byte{0xff}, 6, 100_000))
	made("of no contract", createArgs(types.ContractID{1}, 7, "", nil, 6, probe.AllGas))
	made("too much value", createArgs(id, 8, "", nil, 1<<50, probe.AllGas))
	made("little gas", createArgs(id, 9, "", []byte("12345678"), 0, 100))
	made("a wide one", createArgs(wide, 10, "", nil, 0, probe.AllGas))
	made("a name of 65 bytes", createArgs(id, 11, string(make([]byte, 65)), nil, 0, probe.AllGas))
	made("a name that is not UTF-8", createArgs(id, 12, "\xff", nil, 0, probe.AllGas))
}

func replacements(s *contractScene) {
	copied := types.NewContractID(s.account(0), s.nonces[0])
	s.add("an instance to replace", 0, types.Account(s.whole()), 0, 3_000_000, types.Instantiate{})
	plain, none := s.plain(), types.ContractID{2}
	s.probe("replace_code by no contract's", copied, "replace_code", 0, probe.Given(8, none[:], probe.Data))
	s.probe("replace_code", copied, "replace_code", 0, probe.Given(8, plain[:], probe.Data))
	s.probe("a function of the old code", copied, "value", 0, probe.Given(8, nil))
	s.probe("a function of the new code", copied, "is_view", 0, probe.Given(8, nil))
	whole := s.whole()
	s.probe("back", copied, "replace_code", 0, probe.Given(8, whole[:], probe.Data))
	s.probe("a function of the old code, again", copied, "value", 0, probe.Given(8, nil))
}

func batches(s *contractScene) {
	id, plain := s.whole(), s.plain()
	step := func(to types.ContractID, value types.Amount, function string, args []byte) types.Step {
		return types.Step{Target: types.Account(to), Value: value, Action: types.Call{Function: function, Args: args}}
	}
	memo := [32]byte{1}
	paying := types.Step{Target: s.account(2), Value: 4, Action: types.Transfer{Memo: &memo}}
	self := probe.Given(32, nil, probe.Result)
	add := func(about string, gas types.Gas, steps ...types.Step) {
		s.add("batch: "+about, 0, types.Account{}, 0, gas, types.Batch{Steps: steps})
	}
	add("payments and calls", 3_000_000, paying, step(id, 3, "self", self), paying, step(plain, 1, "self", self))
	add("a call that reverts", 3_000_000, paying, step(id, 3, "revert", probe.Given(0, []byte("no"), probe.Data, 2)), paying)
	add("a call of no contract", 3_000_000, paying, step(types.ContractID{5}, 3, "self", nil), paying)
	add("out of gas", 150_000, paying, step(id, 3, "burn", nil), paying)
	emit := step(id, 0, "emit", probe.Given(0, nil, 2048, 0, 0, 0, 2048, 16384))
	add("logs without room", 20_000_000, slices.Repeat([]types.Step{emit}, 17)...)
	add("a payment's log without room", 20_000_000, append(slices.Repeat([]types.Step{emit}, 16), paying)...)
}
