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

// drawBytes is nil where it is empty, as decoders have it.
func drawBytes(t *rapid.T, name string, limit int) []byte {
	if b := rapid.SliceOfN(rapid.Byte(), 0, limit).Draw(t, name); len(b) > 0 {
		return b
	}
	return nil
}

func drawParameters(t *rapid.T) types.Parameters {
	return types.Parameters{
		Version:      rapid.Uint32().Draw(t, "version"),
		GasLimit:     types.Gas(rapid.Uint64().Draw(t, "gas limit")),
		TargetBPS:    rapid.Uint16().Draw(t, "target"),
		MinBaseFee:   types.Amount(rapid.Uint64().Draw(t, "min")),
		MaxBaseFee:   types.Amount(rapid.Uint64().Draw(t, "max")),
		Producer:     draw32[types.PublicKey](t, "producer"),
		FeeRecipient: draw32[types.Account](t, "recipient"),
	}
}

func drawPayload(t *rapid.T) types.Payload {
	amount := types.Amount(rapid.Uint64().Draw(t, "amount"))
	switch types.PayloadKind(rapid.Uint32Range(0, 3).Draw(t, "kind")) {
	case types.KindTransfer:
		return types.Transfer{To: draw32[types.Account](t, "to"), Amount: amount}
	case types.KindDeploy:
		return types.Deploy{
			Amount: amount, Name: rapid.StringN(0, 16, 64).Draw(t, "name"), Code: drawBytes(t, "code", 300),
			InitArgs: drawBytes(t, "init args", 40),
		}
	case types.KindCall:
		return types.Call{
			Amount: amount, Contract: draw32[types.ContractID](t, "contract"),
			Function: rapid.StringN(0, 16, 64).Draw(t, "function"), Args: drawBytes(t, "args", 300),
		}
	default:
		return types.Configure{Parameters: drawParameters(t)}
	}
}

func drawTransaction(t *rapid.T) types.SignedTransaction {
	return types.SignedTransaction{
		Transaction: types.Transaction{
			Version:              rapid.Uint8().Draw(t, "version"),
			ChainID:              rapid.Uint64().Draw(t, "chain"),
			Sender:               draw32[types.Account](t, "sender"),
			Nonce:                rapid.Uint64().Draw(t, "nonce"),
			GasLimit:             types.Gas(rapid.Uint64().Draw(t, "gas limit")),
			MaxFeePerGas:         types.Amount(rapid.Uint64().Draw(t, "max fee")),
			Payload:              drawPayload(t),
			MaxPriorityFeePerGas: types.Amount(rapid.Uint64().Draw(t, "priority fee")),
		},
		Signature: drawSignature(t),
	}
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
		WritesDigest:     draw32[types.Digest](t, "writes"),
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
		Transaction: draw32[types.TxID](t, "transaction"), GasUsed: types.Gas(rapid.Uint64().Draw(t, "used")),
		Status: types.ReceiptStatus(rapid.Uint8Range(0, 1).Draw(t, "status")), Output: drawBytes(t, "output", 100),
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
	block := types.Block{Header: drawHeader(t), Signature: drawSignature(t), Transactions: []types.SignedTransaction{}}
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

// Whatever the value: its encoding decodes to it.
func TestRoundTrips(t *testing.T) {
	t.Run("Parameters", roundTrip(drawParameters, types.DecodeParameters, types.Parameters.Encode))
	t.Run("Transaction", roundTrip(func(t *rapid.T) types.Transaction { return drawTransaction(t).Transaction },
		types.DecodeTransaction, types.Transaction.Encode))
	t.Run("SignedTransaction", roundTrip(drawTransaction, types.DecodeSignedTransaction, types.SignedTransaction.Encode))
	t.Run("SignedHeader", roundTrip(func(t *rapid.T) types.SignedHeader {
		return types.SignedHeader{Header: drawHeader(t), Signature: drawSignature(t)}
	}, types.DecodeSignedHeader, types.SignedHeader.Encode))
	t.Run("Block", roundTrip(drawBlock, types.DecodeBlock, types.Block.Encode))
	t.Run("Receipt", roundTrip(drawReceipt, types.DecodeReceipt, types.Receipt.Encode))
	t.Run("Genesis", roundTrip(drawGenesis, types.DecodeGenesis, types.Genesis.Encode))
}
