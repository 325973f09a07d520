package types_test

import (
	"bytes"
	_ "embed"
	"encoding/hex"
	"encoding/json"
	"reflect"
	"testing"

	"github.com/cairn-chain/cairn/types"
)

//go:embed testdata/bincode/vectors.json
var vectorsJSON []byte

// vector is a value as Rust's bincode 1.3 encodes it. The program in testdata/bincode makes the vectors.
type vector struct {
	Type    string `json:"type"`
	Name    string `json:"name"`
	Bincode string `json:"bincode"`
	encoded []byte
}

func vectors(t testing.TB) []vector {
	t.Helper()
	var vectors []vector
	if err := json.Unmarshal(vectorsJSON, &vectors); err != nil {
		t.Fatal(err)
	}
	for i := range vectors {
		var err error
		if vectors[i].encoded, err = hex.DecodeString(vectors[i].Bincode); err != nil {
			t.Fatal(err)
		}
	}
	return vectors
}

// decoders decode a value of each type and encode it again.
var decoders = map[string]func(b []byte) (value any, encoded []byte, err error){
	"Parameters":        decoder(types.DecodeParameters, types.Parameters.Encode),
	"Policy":            decoder(types.DecodePolicy, types.Policy.Encode),
	"Witness":           decoder(types.DecodeWitness, types.EncodeWitness),
	"InclusionProof":    decoder(types.DecodeInclusionProof, types.InclusionProof.Encode),
	"Transaction":       decoder(decodeTransaction, types.Transaction.Encode),
	"SignedTransaction": decoder(types.DecodeSignedTransaction, types.SignedTransaction.Encode),
	"Header":            decoder(types.DecodeHeader, types.Header.Encode),
	"SignedHeader":      decoder(types.DecodeSignedHeader, types.SignedHeader.Encode),
	"Block":             decoder(types.DecodeBlock, types.Block.Encode),
	"Receipt":           decoder(types.DecodeReceipt, types.Receipt.Encode),
	"Genesis":           decoder(types.DecodeGenesis, types.Genesis.Encode),
	"Vec<Access>":       decoder(types.DecodeAccesses, types.EncodeAccesses),
}

func decoder[T any](decode func([]byte) (T, error), encode func(T) []byte) func([]byte) (any, []byte, error) {
	return func(b []byte) (any, []byte, error) {
		v, err := decode(b)
		if err != nil {
			return nil, nil, err
		}
		return v, encode(v), nil
	}
}

// decodeTransaction decodes a transaction in the unsigned form, or signed.
func decodeTransaction(b []byte) (types.Transaction, error) {
	return types.DecodeUnsigned(append([]byte{types.TransactionVersion}, b...))
}

// sampleValues are the vectors' values by their names.
func sampleValues() map[string]any {
	emptyReceipt := types.Receipt{GasUsed: 0x4142434445464748}
	noAllocations := sampleGenesis()
	noAllocations.Allocations = []types.Allocation{}
	return map[string]any{
		"parameters":                 sampleParameters(),
		"parameters with an upgrade": sampleUpgrading(),
		"policy":                     samplePolicy(),
		"witness of a policy":        sampleWitness(),
		"inclusion proof":            sampleInclusion(),
		"transfer":                   sampleTransaction(sampleTransfer()),
		"transfer with a memo":       sampleTransaction(sampleMemo()),
		"deploy":                     sampleTransaction(sampleDeploy()),
		"empty deploy":               sampleTransaction(types.Deploy{}),
		"call":                       sampleTransaction(sampleCall()),
		"configure":                  sampleTransaction(sampleConfigure()),
		"batch":                      sampleTransaction(sampleBatch()),
		"policy set":                 sampleTransaction(sampleSetPolicy()),
		"own key set":                sampleTransaction(types.SetPolicy{}),
		"instantiate":                sampleTransaction(sampleInstantiate()),
		"signed transfer":            sampleSigned(sampleTransfer()),
		"sponsored batch":            sampleSponsored(),
		"header":                     sampleHeader(),
		"signed header":              types.SignedHeader{Header: sampleHeader(), Seal: sampleSeal()},
		"empty block":                sampleBlock(),
		"block": sampleBlock(sampleSigned(sampleTransfer()), sampleSigned(sampleDeploy()), sampleSigned(sampleCall()),
			sampleSigned(sampleConfigure()), sampleSponsored(), sampleSigned(sampleSetPolicy()),
			sampleSigned(sampleInstantiate())),
		"receipt":                     sampleReceipt(),
		"empty receipt":               emptyReceipt,
		"genesis":                     sampleGenesis(),
		"genesis without allocations": noAllocations,
		"accesses":                    sampleAccesses(),
		"no accesses":                 []types.Access{},
	}
}

// The encoding is that of Rust's bincode, byte for byte, and decodes to the value again.
func TestBincodeVectors(t *testing.T) {
	values := sampleValues()
	for _, v := range vectors(t) {
		t.Run(v.Name, func(t *testing.T) {
			want, ok := values[v.Name]
			if !ok {
				t.Fatal("there is no such value here")
			}
			delete(values, v.Name)
			if encoded := encodeAny(t, want); !bytes.Equal(encoded, v.encoded) {
				t.Errorf("encodes to %x,\nRust's bincode to %x", encoded, v.encoded)
			}
			got, again, err := decoders[v.Type](v.encoded)
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(got, want) {
				t.Errorf("decodes to %+v, want %+v", got, want)
			}
			if !bytes.Equal(again, v.encoded) {
				t.Errorf("encodes again to %x, want %x", again, v.encoded)
			}
		})
	}
	for name := range values {
		t.Errorf("there is no vector %q", name)
	}
}

func encodeAny(t *testing.T, value any) []byte {
	t.Helper()
	switch v := value.(type) {
	case types.Witness:
		return types.EncodeWitness(v)
	case interface{ Encode() []byte }:
		return v.Encode()
	case []types.Access:
		return types.EncodeAccesses(v)
	}
	t.Fatalf("%T has no encoding", value)
	return nil
}
