package types_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/cairn-chain/cairn/types"
)

// fuzzDecoder checks that bytes accepted by a type's decoder are the encoding of the result.
func fuzzDecoder(f *testing.F, typeName string) {
	f.Helper()
	for _, v := range vectors(f) {
		if v.Type == typeName {
			f.Add(v.encoded)
			f.Add(v.encoded[:len(v.encoded)/2])
		}
	}
	decode := decoders[typeName]
	f.Fuzz(func(t *testing.T, b []byte) {
		if _, encoded, err := decode(b); err == nil && !bytes.Equal(encoded, b) {
			t.Fatalf("%x encodes again to %x", b, encoded)
		}
	})
}

func FuzzDecodeParameters(f *testing.F)        { fuzzDecoder(f, "Parameters") }
func FuzzDecodeTransaction(f *testing.F)       { fuzzDecoder(f, "Transaction") }
func FuzzDecodeSignedTransaction(f *testing.F) { fuzzDecoder(f, "SignedTransaction") }
func FuzzDecodePolicy(f *testing.F)            { fuzzDecoder(f, "Policy") }
func FuzzDecodeWitness(f *testing.F)           { fuzzDecoder(f, "Witness") }
func FuzzDecodeSignedHeader(f *testing.F)      { fuzzDecoder(f, "SignedHeader") }
func FuzzDecodeBlock(f *testing.F)             { fuzzDecoder(f, "Block") }
func FuzzDecodeReceipt(f *testing.F)           { fuzzDecoder(f, "Receipt") }
func FuzzDecodeGenesis(f *testing.F)           { fuzzDecoder(f, "Genesis") }
func FuzzDecodeAccesses(f *testing.F)          { fuzzDecoder(f, "Vec<Access>") }

// An accepted genesis in JSON equals the genesis that its own rendering describes.
func FuzzParseGenesisJSON(f *testing.F) {
	f.Add([]byte(genesisJSON))
	f.Add([]byte(`{"chain_id":1,"chain_id":2}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		genesis, err := types.ParseGenesisJSON(b)
		if err != nil {
			return
		}
		rendered, err := json.Marshal(genesis)
		if err != nil {
			t.Fatal(err)
		}
		again, err := types.ParseGenesisJSON(rendered)
		if err != nil || !bytes.Equal(again.Encode(), genesis.Encode()) {
			t.Fatalf("%s reads as %+v, error %v", rendered, again, err)
		}
	})
}

// A parsed account can be written as an address, from which the same account is parsed.
func FuzzParseAccount(f *testing.F) {
	f.Add(bip86Address)
	f.Add(bip86Key)
	f.Add("0x02" + bip86Key)
	f.Fuzz(func(t *testing.T, s string) {
		for _, network := range types.Networks() {
			account, err := network.ParseAccount(s)
			if err != nil {
				continue
			}
			for _, form := range []string{network.Address(account), account.String()} {
				if again, err := network.ParseAccount(form); err != nil || again != account {
					t.Fatalf("%q is %v, its form %s is %v, error %v", s, account, form, again, err)
				}
			}
		}
	})
}
