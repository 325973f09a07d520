package testkit

import (
	"testing"

	"github.com/cairn-chain/cairn/crypto"
	"github.com/cairn-chain/cairn/internal/protocol/fees"
	"github.com/cairn-chain/cairn/internal/protocol/params"
	"github.com/cairn-chain/cairn/types"
)

const chainID = 31337

// exampleParameters are those of the example chain: account 9 produces blocks, account 8 receives the priority fees.
func exampleParameters(keys [10]crypto.PrivateKey) types.Parameters {
	p := params.Default(keys[9].PublicKey())
	p.FeeRecipient = keys[8].PublicKey()
	return p
}

type parametersVector struct {
	JSON    types.Parameters `json:"json"`
	Encoded bytesHex         `json:"encoded"`
}

func parameterVectors(keys [10]crypto.PrivateKey) []parametersVector {
	p := exampleParameters(keys)
	return []parametersVector{{p, p.Encode()}}
}

// txVector is a transaction of account 0. Fields that all have in common are in [exampleTx].
type txVector struct {
	Name                 string         `json:"name"`
	Version              uint8          `json:"version"`
	ChainID              uint64         `json:"chain_id"`
	Sender               bytesHex       `json:"sender"`
	Nonce                uint64         `json:"nonce"`
	GasLimit             uint64         `json:"gas_limit"`
	MaxFeePerGas         uint64         `json:"max_fee_per_gas"`
	MaxPriorityFeePerGas uint64         `json:"max_priority_fee_per_gas"`
	Payload              map[string]any `json:"payload"`
	Unsigned             bytesHex       `json:"unsigned"`
	SigningHash          bytesHex       `json:"signing_hash"`
	PrivateKey           bytesHex       `json:"private_key"`
	Signature            bytesHex       `json:"signature"`
	Signed               bytesHex       `json:"signed"`
	ID                   bytesHex       `json:"id"`
}

func exampleTx(key crypto.PrivateKey, nonce uint64, payload types.Payload) types.Transaction {
	return types.Transaction{
		Version:              types.TransactionVersion,
		ChainID:              chainID,
		Sender:               key.PublicKey(),
		Nonce:                nonce,
		GasLimit:             50_000,
		MaxFeePerGas:         200,
		MaxPriorityFeePerGas: 3,
		Payload:              payload,
	}
}

// sign signs with the project's code and checks that the naive signer gives the same.
func sign(t *testing.T, tx types.Transaction, key crypto.PrivateKey) types.SignedTransaction {
	t.Helper()
	signed, err := types.Sign(tx, key, [32]byte{})
	if err != nil {
		t.Fatal(err)
	}
	message := naiveTagged("cairn/tx/v1", tx.Encode())
	if naive := naiveSign(key.Bytes(), message[:]); naive != signed.Signature {
		t.Fatalf("signature %x, naively %x", signed.Signature, naive)
	}
	return signed
}

func newTxVector(name string, tx types.SignedTransaction, key crypto.PrivateKey, payload map[string]any) txVector {
	hash, secret, id := tx.SigningHash(), key.Bytes(), tx.ID()
	return txVector{
		Name:                 name,
		Version:              tx.Version,
		ChainID:              tx.ChainID,
		Sender:               tx.Sender[:],
		Nonce:                tx.Nonce,
		GasLimit:             uint64(tx.GasLimit),
		MaxFeePerGas:         uint64(tx.MaxFeePerGas),
		MaxPriorityFeePerGas: uint64(tx.MaxPriorityFeePerGas),
		Payload:              payload,
		Unsigned:             tx.Transaction.Encode(),
		SigningHash:          hash[:],
		PrivateKey:           secret[:],
		Signature:            tx.Signature[:],
		Signed:               tx.Encode(),
		ID:                   id[:],
	}
}

func transactions(t *testing.T, keys [10]crypto.PrivateKey) (vectors []txVector) {
	to := types.Account(keys[1].PublicKey())
	contract := types.NewContractID(keys[0].PublicKey(), 1)
	code := []byte{0, 'a', 's', 'm', 1, 0, 0, 0}
	p := exampleParameters(keys)
	p.GasLimit *= 2
	add := func(name string, signer int, tx types.Transaction, payload map[string]any) {
		vectors = append(vectors, newTxVector(name, sign(t, tx, keys[signer]), keys[signer], payload))
	}
	add("transfer", 0, exampleTx(keys[0], 0, types.Transfer{To: to, Amount: 150_000_000}),
		map[string]any{"variant": 0, "to": bytesHex(to[:]), "value": 150_000_000})
	deploy := exampleTx(keys[0], 1, types.Deploy{Amount: 5, Name: "token", Code: code, InitArgs: []byte(`{"a":1}`)})
	deploy.GasLimit = 1_000_000
	add("deploy", 0, deploy, map[string]any{
		"variant": 1, "value": 5, "name": "token", "code": bytesHex(code), "init_args": bytesHex(`{"a":1}`)})
	add("call", 0, exampleTx(keys[0], 2, types.Call{Contract: contract, Function: "transfer", Args: []byte(`{}`)}),
		map[string]any{
			"variant": 2, "value": 0, "contract": bytesHex(contract[:]), "function": "transfer", "args": bytesHex(`{}`),
		})
	configure := exampleTx(keys[9], 0, types.Configure{Parameters: p})
	configure.GasLimit = 71_000
	add("configure", 9, configure, map[string]any{"variant": 3, "parameters": p})
	return vectors
}

type contractIDVector struct {
	Sender bytesHex `json:"sender"`
	Nonce  uint64   `json:"nonce"`
	ID     bytesHex `json:"id"`
}

func contractIDs(keys [10]crypto.PrivateKey) (vectors []contractIDVector) {
	for _, nonce := range []uint64{0, 1, 1 << 40} {
		sender := keys[0].PublicKey()
		id := types.NewContractID(sender, nonce)
		vectors = append(vectors, contractIDVector{sender[:], nonce, id[:]})
	}
	return vectors
}

type intrinsicVector struct {
	Payload string `json:"payload"`
	Gas     uint64 `json:"gas"`
}

func intrinsicGas(keys [10]crypto.PrivateKey) (vectors []intrinsicVector) {
	for _, c := range []struct {
		payload string
		value   types.Payload
	}{
		{"transfer", types.Transfer{}},
		{"call of function transfer (8 bytes) with 2 bytes of args", types.Call{Function: "transfer", Args: []byte(`{}`)}},
		{"deploy of 8 bytes of code, name token (5 bytes), 7 bytes of init_args",
			types.Deploy{Name: "token", Code: make([]byte, 8), InitArgs: make([]byte, 7)}},
		{"configure", types.Configure{Parameters: exampleParameters(keys)}},
	} {
		vectors = append(vectors, intrinsicVector{c.payload, uint64(fees.IntrinsicGas(c.value))})
	}
	return vectors
}

type baseFeeVector struct {
	BaseFee    uint64 `json:"parent_base_fee"`
	GasUsed    uint64 `json:"parent_gas_used"`
	GasLimit   uint64 `json:"parent_gas_limit"`
	TargetBPS  uint16 `json:"target_bps"`
	MinBaseFee uint64 `json:"min_base_fee"`
	MaxBaseFee uint64 `json:"max_base_fee"`
	Next       uint64 `json:"next_base_fee"`
}

func baseFees() []baseFeeVector {
	const limit, most = 1_000_000_000, 1_000_000
	vectors := []baseFeeVector{
		{10, 0, limit, 5000, 10, most, 0},
		{10, 0, limit, 5000, 8, most, 0},
		{100, limit, limit, 5000, 10, most, 0},
		{100, limit / 2, limit, 5000, 10, most, 0},
		{100, limit/2 + 1, limit, 5000, 10, most, 0},
		{100, 0, limit, 5000, 10, most, 0},
		{100, limit, limit, 1, 10, most, 0},
		{999_999, limit, limit, 5000, 10, most, 0},
		{1<<53 - 1, 1 << 40, 1 << 40, 1, 8, 1<<53 - 1, 0},
		{5_000, limit / 2, limit, 5000, 8_000, most, 0},
		{123_457, 333_333_333, limit, 3_333, 10, most, 0},
		{123_457, 333_333_333, limit, 7_777, 10, most, 0},
	}
	for i := range vectors {
		v := &vectors[i]
		parent := types.Header{
			BaseFee: types.Amount(v.BaseFee), GasUsed: types.Gas(v.GasUsed), GasLimit: types.Gas(v.GasLimit),
		}
		v.Next = uint64(fees.NextBaseFee(parent, types.Parameters{
			TargetBPS: v.TargetBPS, MinBaseFee: types.Amount(v.MinBaseFee), MaxBaseFee: types.Amount(v.MaxBaseFee),
		}))
	}
	return vectors
}
