package types_test

import (
	"bytes"
	"reflect"
	"testing"

	"github.com/cairn-chain/cairn/types"
	"pgregory.net/rapid"
)

func draw32[T ~[32]byte](t *rapid.T, name string) T {
	return T(rapid.SliceOfN(rapid.Byte(), 32, 32).Draw(t, name))
}

func drawSignature(t *rapid.T) types.Signature {
	return types.Signature(rapid.SliceOfN(rapid.Byte(), 64, 64).Draw(t, "signature"))
}

// drawBytes returns nil for no bytes, as decoders do.
func drawBytes(t *rapid.T, name string, limit int) []byte {
	if b := rapid.SliceOfN(rapid.Byte(), 0, limit).Draw(t, name); len(b) > 0 {
		return b
	}
	return nil
}

func drawParameters(t *rapid.T) types.Parameters {
	p := types.Parameters{
		Version:      2,
		GasLimit:     types.Gas(rapid.Uint64().Draw(t, "gas limit")),
		TargetBPS:    rapid.Uint16().Draw(t, "target"),
		MinBaseFee:   types.Amount(rapid.Uint64().Draw(t, "min")),
		MaxBaseFee:   types.Amount(rapid.Uint64().Draw(t, "max")),
		Producer:     draw32[types.PublicKey](t, "producer"),
		FeeRecipient: draw32[types.Account](t, "recipient"),
		BlockBytes:   rapid.Uint32().Draw(t, "block bytes"),
		Admin:        draw32[types.Account](t, "admin"),
		Notice:       rapid.Uint64().Draw(t, "notice"),
	}
	if rapid.Bool().Draw(t, "has upgrade") {
		p.Upgrade = &types.Upgrade{Version: rapid.Uint32().Draw(t, "version"), From: rapid.Uint64().Draw(t, "from")}
	}
	return p
}

func drawTransfer(t *rapid.T) types.Transfer {
	if !rapid.Bool().Draw(t, "has memo") {
		return types.Transfer{}
	}
	memo := draw32[[32]byte](t, "memo")
	return types.Transfer{Memo: &memo}
}

func drawCall(t *rapid.T) types.Call {
	return types.Call{Function: rapid.StringN(0, 16, 64).Draw(t, "function"), Args: drawBytes(t, "args", 300)}
}

func drawBatch(t *rapid.T) types.Batch {
	var b types.Batch
	for range rapid.IntRange(1, 4).Draw(t, "steps") {
		step := types.Step{
			Target: draw32[types.Account](t, "target"), Value: types.Amount(rapid.Uint64().Draw(t, "value")),
			Action: drawTransfer(t),
		}
		if rapid.Bool().Draw(t, "is call") {
			step.Action = drawCall(t)
		}
		b.Steps = append(b.Steps, step)
	}
	return b
}

func drawPayload(t *rapid.T) types.Payload {
	switch types.PayloadKind(rapid.Uint32Range(0, 6).Draw(t, "kind")) {
	case types.KindTransfer:
		return drawTransfer(t)
	case types.KindDeploy:
		return types.Deploy{
			Name: rapid.StringN(0, 16, 64).Draw(t, "name"), Code: drawBytes(t, "code", 300),
			InitArgs: drawBytes(t, "init args", 40),
		}
	case types.KindCall:
		return drawCall(t)
	case types.KindBatch:
		return drawBatch(t)
	case types.KindSetPolicy:
		p := types.SetPolicy{Recovery: rapid.Bool().Draw(t, "recovery")}
		if rapid.Bool().Draw(t, "has policy") {
			policy := drawPolicy(t)
			p.Policy = &policy
		}
		return p
	case types.KindInstantiate:
		return types.Instantiate{Name: rapid.StringN(0, 16, 64).Draw(t, "name"), InitArgs: drawBytes(t, "init args", 40)}
	default:
		return types.Configure{Parameters: drawParameters(t)}
	}
}

func drawSigner(t *rapid.T) types.Signer {
	switch rapid.IntRange(0, 2).Draw(t, "signer") {
	case 0:
		return types.SignerKey{Key: draw32[types.PublicKey](t, "key")}
	case 1:
		return types.SignerP256{Point: [64]byte(drawSignature(t))}
	default:
		return types.SignerPasskey{Point: [64]byte(drawSignature(t)), Verified: rapid.Bool().Draw(t, "verified")}
	}
}

func drawRule(t *rapid.T) types.Rule {
	r := types.Rule{Threshold: rapid.Uint8().Draw(t, "threshold")}
	for range rapid.IntRange(0, 3).Draw(t, "signers") {
		r.Signers = append(r.Signers, drawSigner(t))
	}
	return r
}

func drawPolicy(t *rapid.T) types.Policy {
	p := types.Policy{Number: rapid.Uint64().Draw(t, "number"), Owner: drawRule(t)}
	if rapid.Bool().Draw(t, "has recovery") {
		p.Recovery = &types.Recovery{Rule: drawRule(t), Delay: rapid.Uint64().Draw(t, "delay")}
	}
	return p
}

func drawEvidence(t *rapid.T) types.Evidence {
	signature := drawSignature(t)
	switch rapid.IntRange(0, 3).Draw(t, "evidence") {
	case 0:
		return types.EvidenceKey{Signature: signature}
	case 1:
		return types.EvidenceText{Signature: signature, Sighash: rapid.Uint8Range(0, 1).Draw(t, "sighash")}
	case 2:
		return types.EvidenceP256{Signature: [64]byte(signature)}
	default:
		return types.EvidencePasskey{
			Authenticator: [37]byte(rapid.SliceOfN(rapid.Byte(), 37, 37).Draw(t, "authenticator")),
			Client:        drawBytes(t, "client", 40), Signature: [64]byte(signature),
		}
	}
}

func drawWitness(t *rapid.T) types.Witness {
	switch rapid.IntRange(0, 2).Draw(t, "witness") {
	case 0:
		return types.WitnessKey{Signature: drawSignature(t)}
	case 1:
		return types.WitnessText{Signature: drawSignature(t), Sighash: rapid.Uint8Range(0, 1).Draw(t, "sighash")}
	default:
		w := types.WitnessPolicy{Policy: drawPolicy(t)}
		for range rapid.IntRange(0, 3).Draw(t, "proofs") {
			w.Proofs = append(w.Proofs, types.Proof{Signer: rapid.Uint8().Draw(t, "number"), Evidence: drawEvidence(t)})
		}
		return w
	}
}

func drawTransaction(t *rapid.T) types.SignedTransaction {
	tx := types.SignedTransaction{
		Transaction: types.Transaction{
			ChainID:              rapid.Uint64().Draw(t, "chain"),
			Sender:               draw32[types.Account](t, "sender"),
			Target:               draw32[types.Account](t, "target"),
			Nonce:                rapid.Uint64().Draw(t, "nonce"),
			GasLimit:             types.Gas(rapid.Uint64().Draw(t, "gas limit")),
			MaxFeePerGas:         types.Amount(rapid.Uint64().Draw(t, "max fee")),
			Payload:              drawPayload(t),
			MaxPriorityFeePerGas: types.Amount(rapid.Uint64().Draw(t, "priority fee")),
			Value:                types.Amount(rapid.Uint64().Draw(t, "value")),
		},
		Witness: drawWitness(t),
	}
	if rapid.Bool().Draw(t, "has payer") {
		payer := draw32[types.Account](t, "payer")
		tx.Payer, tx.PayerWitness = &payer, drawWitness(t)
	}
	if rapid.Bool().Draw(t, "has end") {
		end := rapid.Uint64().Draw(t, "end")
		tx.ValidUntil = &end
	}
	return tx
}

func drawHeader(t *rapid.T) types.Header {
	return types.Header{
		Version:          rapid.Uint32().Draw(t, "version"),
		ChainID:          rapid.Uint64().Draw(t, "chain"),
		Height:           types.Height(rapid.Uint64().Draw(t, "height")),
		Parent:           draw32[types.BlockHash](t, "parent"),
		Timestamp:        rapid.Uint64().Draw(t, "timestamp"),
		Producer:         draw32[types.PublicKey](t, "producer"),
		TransactionsRoot: draw32[types.MerkleRoot](t, "transactions"),
		ReceiptsRoot:     draw32[types.MerkleRoot](t, "receipts"),
		StateRoot:        draw32[types.StateRoot](t, "state"),
		GasUsed:          types.Gas(rapid.Uint64().Draw(t, "used")),
		GasLimit:         types.Gas(rapid.Uint64().Draw(t, "limit")),
		BaseFee:          types.Amount(rapid.Uint64().Draw(t, "base fee")),
	}
}

func drawLog(t *rapid.T) types.Log {
	log := types.Log{
		Contract: draw32[types.ContractID](t, "contract"), Name: rapid.StringN(0, 16, 64).Draw(t, "name"),
		Data: drawBytes(t, "data", 50),
	}
	for range rapid.IntRange(0, types.MaxLogTopics).Draw(t, "topics") {
		log.Topics = append(log.Topics, draw32[[32]byte](t, "topic"))
	}
	return log
}

func drawReceipt(t *rapid.T) types.Receipt {
	receipt := types.Receipt{
		GasUsed: types.Gas(rapid.Uint64().Draw(t, "used")),
		Status:  types.ReceiptStatus(rapid.Uint8Range(0, 1).Draw(t, "status")), Output: drawBytes(t, "output", 100),
	}
	if rapid.Bool().Draw(t, "has contract") {
		contract := draw32[types.ContractID](t, "contract")
		receipt.Contract = &contract
	}
	for range rapid.IntRange(0, 4).Draw(t, "logs") {
		receipt.Logs = append(receipt.Logs, drawLog(t))
	}
	return receipt
}

func drawBlock(t *rapid.T) types.Block {
	block := types.Block{Header: drawHeader(t), Seal: types.Seal{Signature: drawSignature(t)}}
	block.Transactions = []types.SignedTransaction{}
	for range rapid.IntRange(0, 4).Draw(t, "transactions") {
		block.Transactions = append(block.Transactions, drawTransaction(t))
	}
	return block
}

func drawGenesis(t *rapid.T) types.Genesis {
	genesis := types.Genesis{
		ChainID:     rapid.Uint64().Draw(t, "chain"),
		Network:     rapid.SampledFrom(types.Networks()).Draw(t, "network"),
		Time:        rapid.Uint64().Draw(t, "time"),
		BaseFee:     types.Amount(rapid.Uint64().Draw(t, "base fee")),
		Parameters:  drawParameters(t),
		Allocations: []types.Allocation{},
	}
	for range rapid.IntRange(0, 4).Draw(t, "allocations") {
		genesis.Allocations = append(genesis.Allocations, types.Allocation{
			Account: draw32[types.Account](t, "account"), Balance: types.Amount(rapid.Uint64().Draw(t, "balance")),
		})
	}
	return genesis
}

func roundTrip[T any](draw func(*rapid.T) T, decode func([]byte) (T, error), encode func(T) []byte) func(*testing.T) {
	return rapid.MakeCheck(func(t *rapid.T) {
		want := draw(t)
		encoded := encode(want)
		got, err := decode(encoded)
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("got %+v, want %+v", got, want)
		}
		if again := encode(got); !bytes.Equal(again, encoded) {
			t.Fatalf("%x encodes again to %x", encoded, again)
		}
	})
}

// The encoding of any value decodes to the same value.
func TestRoundTrips(t *testing.T) {
	t.Run("Parameters", roundTrip(drawParameters, types.DecodeParameters, types.Parameters.Encode))
	t.Run("Transaction", roundTrip(func(t *rapid.T) types.Transaction { return drawTransaction(t).Transaction },
		types.DecodeUnsigned, types.Transaction.EncodeUnsigned))
	t.Run("Policy", roundTrip(drawPolicy, types.DecodePolicy, types.Policy.Encode))
	t.Run("Witness", roundTrip(drawWitness, types.DecodeWitness, types.EncodeWitness))
	t.Run("SignedTransaction", roundTrip(drawTransaction, types.DecodeSignedTransaction, types.SignedTransaction.Encode))
	t.Run("SignedHeader", roundTrip(func(t *rapid.T) types.SignedHeader {
		return types.SignedHeader{Header: drawHeader(t), Seal: types.Seal{Signature: drawSignature(t)}}
	}, types.DecodeSignedHeader, types.SignedHeader.Encode))
	t.Run("Block", roundTrip(drawBlock, types.DecodeBlock, types.Block.Encode))
	t.Run("Receipt", roundTrip(drawReceipt, types.DecodeReceipt, types.Receipt.Encode))
	t.Run("Genesis", roundTrip(drawGenesis, types.DecodeGenesis, types.Genesis.Encode))
}
