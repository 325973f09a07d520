// Package bip has the official test vectors of Bitcoin's improvement proposals, for tests of their implementations.
package bip

import (
	"bytes"
	"embed"
	"encoding/csv"
	"encoding/hex"
	"encoding/json"
	"testing"
)

//go:embed testdata
var files embed.FS

// Unhex decodes a hex string of a test's own or of a vector.
func Unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// Unhex32 decodes 64 hex digits.
func Unhex32(t testing.TB, s string) [32]byte {
	t.Helper()
	return [32]byte(Unhex(t, s))
}

// Read decodes the JSON file testdata/name.
func Read[T any](t testing.TB, name string) (vectors T) {
	t.Helper()
	data, err := files.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &vectors); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return vectors
}

// SignatureVector is a vector of BIP-340.
type SignatureVector struct {
	Index     string
	Secret    []byte // empty if the vector is only for verification
	Public    [32]byte
	Aux       []byte
	Message   []byte
	Signature [64]byte
	Valid     bool
	Comment   string
}

// Signatures returns the vectors of BIP-340.
func Signatures(t testing.TB) []SignatureVector {
	t.Helper()
	file, err := files.ReadFile("testdata/bip340.csv")
	if err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(bytes.NewReader(file)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	var vectors []SignatureVector
	for _, row := range rows[1:] {
		vectors = append(vectors, SignatureVector{
			Index:     row[0],
			Secret:    Unhex(t, row[1]),
			Public:    Unhex32(t, row[2]),
			Aux:       Unhex(t, row[3]),
			Message:   Unhex(t, row[4]),
			Signature: [64]byte(Unhex(t, row[5])),
			Valid:     row[6] == "TRUE",
			Comment:   row[7],
		})
	}
	if len(vectors) != 19 {
		t.Fatalf("%d vectors, not 19", len(vectors))
	}
	return vectors
}
