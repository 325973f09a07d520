package types_test

import (
	"crypto/sha256"
	"math"
	"testing"

	"github.com/cairn-chain/cairn/crypto"
	"github.com/cairn-chain/cairn/types"
)

// count fills a value with bytes that count up from start, so that no two of a sample's bytes are equal by accident.
func count[T ~[32]byte](start byte) (b T) {
	for i := range b {
		b[i] = start + byte(i)
	}
	return b
}

func countSignature(start byte) (s types.Signature) {
	for i := range s {
		s[i] = start + byte(i)
	}
	return s
}

func sampleParameters() types.Parameters {
	return types.Parameters{
		Version:      0x01020304,
		GasLimit:     1_000_000_000,
		TargetBPS:    0x1388,
		MinBaseFee:   10,
		MaxBaseFee:   1_000_000,
		Producer:     count[types.PublicKey](0x10),
		FeeRecipient: count[types.Account](0x30),
	}
}

func sampleTransaction(payload types.Payload) types.Transaction {
	return types.Transaction{
		Version:              1,
		ChainID:              0x0102030405060708,
		Sender:               count[types.Account](0x40),
		Nonce:                0x1112131415161718,
		GasLimit:             21_000,
		MaxFeePerGas:         0x2122232425262728,
		MaxPriorityFeePerGas: 3,
		Payload:              payload,
	}
}

func sampleTransfer() types.Transfer {
	return types.Transfer{To: count[types.Account](0x60), Amount: 0x3132333435363738}
}

func sampleDeploy() types.Deploy {
	return types.Deploy{
		Amount: 5, Name: "tök€n 🪙", Code: []byte{0x00, 0x61, 0x73, 0x6d, 1, 0, 0, 0}, InitArgs: []byte(`{"a":1}`),
	}
}

func sampleCall() types.Call {
	return types.Call{
		Amount: math.MaxUint64, Contract: count[types.ContractID](0x80), Function: "transfer", Args: []byte{0xff, 0x00},
	}
}

func sampleConfigure() types.Configure { return types.Configure{Parameters: sampleParameters()} }

func sampleSigned(payload types.Payload) types.SignedTransaction {
	return types.SignedTransaction{Transaction: sampleTransaction(payload), Signature: countSignature(0xa0)}
}

func sampleHeader() types.Header {
	return types.Header{
		Version:          1,
		ChainID:          2,
		Height:           3,
		Parent:           count[types.BlockHash](0x01),
		Timestamp:        4,
		Producer:         count[types.PublicKey](0x21),
		TransactionsRoot: count[types.MerkleRoot](0x41),
		ReceiptsRoot:     count[types.MerkleRoot](0x61),
		StateRoot:        count[types.StateRoot](0x81),
		WritesDigest:     count[types.Digest](0xa1),
		GasUsed:          5,
		GasLimit:         6,
		BaseFee:          math.MaxUint64 - 1,
	}
}

func sampleBlock(transactions ...types.SignedTransaction) types.Block {
	if transactions == nil {
		transactions = []types.SignedTransaction{}
	}
	return types.Block{Header: sampleHeader(), Signature: countSignature(0xc1), Transactions: transactions}
}

func sampleReceipt() types.Receipt {
	contract := count[types.ContractID](0x90)
	return types.Receipt{
		Transaction: count[types.TxID](0x70),
		Status:      types.StatusSuccess,
		GasUsed:     0x4142434445464748,
		Contract:    &contract,
		Output:      []byte{1, 2, 3},
		Logs: []types.Log{
			{
				Contract: count[types.ContractID](0xb0), Name: "Transfer",
				Topics: [][32]byte{count[[32]byte](1), count[[32]byte](2), count[[32]byte](3)}, Data: []byte{9},
			},
			{Contract: count[types.ContractID](0xc0)},
		},
	}
}

func sampleGenesis() types.Genesis {
	return types.Genesis{
		ChainID:    7,
		Network:    types.Regtest,
		Time:       1_700_000_000,
		BaseFee:    10,
		Parameters: sampleParameters(),
		Allocations: []types.Allocation{
			{Account: count[types.Account](0x00), Balance: 1},
			{Account: count[types.Account](0xe0), Balance: math.MaxUint64 - 1},
		},
	}
}

func sampleAccesses() []types.Access {
	repeat16 := func(b byte) []byte { return []byte{b, b, b, b, b, b, b, b, b, b, b, b, b, b, b, b} }
	return []types.Access{
		{Key: []byte{0, 0}, Old: repeat16(1), New: repeat16(2)},
		{Key: []byte{1, 2, 3}, New: []byte{4}},
		{Key: []byte{3}, Old: []byte{5, 6}},
	}
}

func testKey(t *testing.T, name string) crypto.PrivateKey {
	t.Helper()
	key, err := crypto.NewPrivateKey(sha256.Sum256([]byte(name)))
	if err != nil {
		t.Fatal(err)
	}
	return key
}
