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
		Version:      2,
		GasLimit:     1_000_000_000,
		BlockBytes:   0x01020304,
		TargetBPS:    0x1388,
		MinBaseFee:   10,
		MaxBaseFee:   1_000_000,
		Producer:     count[types.PublicKey](0x10),
		FeeRecipient: count[types.Account](0x30),
		Admin:        count[types.Account](0x50),
		Notice:       0x5152535455565758,
	}
}

func sampleUpgrading() types.Parameters {
	p := sampleParameters()
	p.Upgrade = &types.Upgrade{Version: 0x61626364, From: 0x7172737475767778}
	return p
}

func sampleTransaction(payload types.Payload) types.Transaction {
	return types.Transaction{
		Sender:               count[types.Account](0x40),
		Target:               count[types.Account](0x60),
		ChainID:              0x0102030405060708,
		Nonce:                0x1112131415161718,
		GasLimit:             21_000,
		MaxFeePerGas:         0x2122232425262728,
		MaxPriorityFeePerGas: 3,
		Value:                0x3132333435363738,
		Payload:              payload,
	}
}

func sampleTransfer() types.Transfer { return types.Transfer{} }

func sampleMemo() types.Transfer {
	memo := count[[32]byte](0xd0)
	return types.Transfer{Memo: &memo}
}

func sampleDeploy() types.Deploy {
	return types.Deploy{Name: "tök€n 🪙", Code: []byte{0x00, 0x61, 0x73, 0x6d, 1, 0, 0, 0}, InitArgs: []byte(`{"a":1}`)}
}

func sampleCall() types.Call { return types.Call{Function: "transfer", Args: []byte{0xff, 0x00}} }

func sampleConfigure() types.Configure { return types.Configure{Parameters: sampleUpgrading()} }

func sampleBatch() types.Batch {
	return types.Batch{Steps: []types.Step{
		{Target: count[types.Account](0x01), Value: 1, Action: sampleMemo()},
		{Target: count[types.Account](0x02), Value: math.MaxUint64, Action: sampleCall()},
	}}
}

func sampleInstantiate() types.Instantiate { return types.Instantiate{Name: "a", InitArgs: []byte{1}} }

func sampleSetPolicy() types.SetPolicy {
	policy := samplePolicy()
	return types.SetPolicy{Recovery: true, Policy: &policy}
}

// samplePayloads returns a payload of each kind.
func samplePayloads() []types.Payload {
	return []types.Payload{
		sampleTransfer(), sampleDeploy(), sampleCall(), sampleConfigure(), sampleBatch(), sampleSetPolicy(),
		sampleInstantiate(),
	}
}

func samplePolicy() types.Policy {
	return types.Policy{
		Number: 0x0807060504030201,
		Owner: types.Rule{Threshold: 2, Signers: []types.Signer{
			types.SignerKey{Key: count[types.PublicKey](0x11)},
			types.SignerP256{Point: [64]byte(countSignature(0x21))},
			types.SignerPasskey{Point: [64]byte(countSignature(0x31)), Verified: true},
		}},
		Recovery: &types.Recovery{
			Rule:  types.Rule{Threshold: 1, Signers: []types.Signer{types.SignerKey{Key: count[types.PublicKey](0x12)}}},
			Delay: 9,
		},
	}
}

func sampleWitness() types.WitnessPolicy {
	var authenticator [37]byte
	for i := range authenticator {
		authenticator[i] = 0xb0 + byte(i)
	}
	return types.WitnessPolicy{Policy: samplePolicy(), Proofs: []types.Proof{
		{Signer: 0, Evidence: types.EvidenceKey{Signature: countSignature(0xa1)}},
		{Signer: 1, Evidence: types.EvidenceText{Signature: countSignature(0xa2), Sighash: types.SighashAll}},
		{Signer: 2, Evidence: types.EvidenceP256{Signature: [64]byte(countSignature(0xa3))}},
		{Signer: 255, Evidence: types.EvidencePasskey{
			Authenticator: authenticator, Client: []byte(`","origin":"`), Signature: [64]byte(countSignature(0xa4)),
		}},
	}}
}

func sampleSigned(payload types.Payload) types.SignedTransaction {
	return types.SignedTransaction{
		Transaction: sampleTransaction(payload), Witness: types.WitnessKey{Signature: countSignature(0xa0)},
	}
}

func sampleSponsored() types.SignedTransaction {
	tx := types.SignedTransaction{
		Transaction: sampleTransaction(sampleBatch()), Witness: sampleWitness(),
		PayerWitness: types.WitnessText{Signature: countSignature(0xa5)},
	}
	payer, end := count[types.Account](0x90), uint64(0x4142434445464748)
	tx.Payer, tx.ValidUntil = &payer, &end
	return tx
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
		GasUsed:          5,
		GasLimit:         6,
		BaseFee:          math.MaxUint64 - 1,
	}
}

func sampleSeal() types.Seal { return types.Seal{Signature: countSignature(0xc1)} }

func sampleBlock(transactions ...types.SignedTransaction) types.Block {
	if transactions == nil {
		transactions = []types.SignedTransaction{}
	}
	return types.Block{Header: sampleHeader(), Seal: sampleSeal(), Transactions: transactions}
}

func sampleReceipt() types.Receipt {
	contract := count[types.ContractID](0x90)
	return types.Receipt{
		Status:   types.StatusSuccess,
		GasUsed:  0x4142434445464748,
		Contract: &contract,
		Output:   []byte{1, 2, 3},
		Logs: []types.Log{
			{
				Contract: count[types.ContractID](0xb0), Name: "Transfer",
				Topics: [][32]byte{count[[32]byte](1), count[[32]byte](2), count[[32]byte](3)}, Data: []byte{9},
			},
			{Contract: count[types.ContractID](0xc0)},
		},
	}
}

func sampleInclusion() types.InclusionProof {
	return types.InclusionProof{
		Number: 1, N: 3, Leaf: count[[32]byte](0x40), Siblings: [][32]byte{count[[32]byte](0x50), count[[32]byte](0x60)},
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
