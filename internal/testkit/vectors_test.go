// Package testkit holds the test code that several packages share, and the tests of the published documents: the
// protocol's description and its vectors.
package testkit

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"flag"
	"os"
	"testing"

	"github.com/cairn-chain/cairn/crypto"
	"github.com/cairn-chain/cairn/types"
	"github.com/cairn-chain/cairn/wallet"
)

const vectorsFile = "../../docs/vectors.json"

const chainID = 31337

var update = flag.Bool("update", false, "rewrite docs/vectors.json instead of comparing with it")

// bytesHex is a byte string that JSON represents in lower-case hex without a prefix.
type bytesHex []byte

func (b bytesHex) MarshalText() ([]byte, error) { return hex.AppendEncode(nil, b), nil }

// vectors is the content of docs/vectors.json.
type vectors struct {
	About []string `json:"about"`
	keptVectors
	Wallet      walletVectors     `json:"wallet"`
	Poseidon    poseidonVectors   `json:"poseidon"`
	StateRoots  []stateRootVector `json:"state_roots"`
	Witnesses   []witnessVector   `json:"state_witnesses"`
	GasSchedule scheduleVector    `json:"gas_schedule"`
	Metering    []meteringVector  `json:"metering"`
	ABI         abiVectors        `json:"abi"`
	Contracts   contractVectors   `json:"contracts"`
}

// developmentKeys are the ten accounts of the development mnemonic on regtest.
func developmentKeys(t *testing.T) (keys [10]crypto.PrivateKey) {
	t.Helper()
	seed, err := wallet.SeedFromMnemonic(mnemonic, "")
	if err != nil {
		t.Fatal(err)
	}
	for i := range keys {
		if keys[i], err = wallet.DeriveBIP86(seed, types.Regtest.CoinType(), 0, 0, uint32(i)); err != nil {
			t.Fatal(err)
		}
	}
	return keys
}

func buildVectors(t *testing.T) vectors {
	return vectors{
		About: []string{
			"Test vectors of docs/protocol.md. Bytes are lower-case hex without a prefix, integers decimal up to 2^64 - 1.",
			"Every BIP-340 signature is made with 32 zero bytes of auxiliary data, so that it can be reproduced.",
			"`context` has what differs from `judged_in`. A name that ends in _runs has long bytes as pairs of bytes and times.",
		},
		keptVectors: readKept[keptVectors](t),
		Wallet:      walletSection(t, developmentKeys(t)),
		Poseidon:    poseidonSection(t),
		StateRoots:  stateRoots(),
		Witnesses:   stateWitnesses(t),
		GasSchedule: gasSchedule(),
		Metering:    meteringSection(t),
		ABI:         abiSection(t),
		Contracts:   contractSection(t),
	}
}

func encodeVectors(t *testing.T) []byte {
	t.Helper()
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", " ")
	if err := e.Encode(buildVectors(t)); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestVectors compares docs/vectors.json with the values that the code computes. With -update it rewrites the file.
func TestVectors(t *testing.T) {
	got := encodeVectors(t)
	if *update {
		if err := os.WriteFile(vectorsFile, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(vectorsFile)
	if err != nil {
		t.Fatal(err)
	}
	gotLines, wantLines := bytes.Split(got, []byte("\n")), bytes.Split(want, []byte("\n"))
	for i := range min(len(gotLines), len(wantLines)) {
		if !bytes.Equal(gotLines[i], wantLines[i]) {
			t.Fatalf("line %d is %s, the code computes %s", i+1, wantLines[i], gotLines[i])
		}
	}
	if len(gotLines) != len(wantLines) {
		t.Fatalf("%d lines, the code computes %d", len(wantLines), len(gotLines))
	}
}
