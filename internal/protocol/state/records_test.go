package state_test

import (
	"bytes"
	"encoding/hex"
	"errors"
	"strings"
	"testing"

	"github.com/cairn-chain/cairn/codec"
	"github.com/cairn-chain/cairn/internal/protocol/state"
	"github.com/cairn-chain/cairn/types"
	"pgregory.net/rapid"
)

func fill[T ~[32]byte](b byte) T { return T(bytes.Repeat([]byte{b}, 32)) }

// The keys of docs/protocol.md's table of records.
func TestKeys(t *testing.T) {
	account, contract := strings.Repeat("11", 32), strings.Repeat("22", 32)
	id := fill[types.ContractID](0x22)
	tests := []struct {
		name string
		key  []byte
		want string
	}{
		{"supply", state.SupplyKey(), "0000"},
		{"parameters", state.ParametersKey(), "0001"},
		{"account", state.AccountKey(fill[types.Account](0x11)), "01" + account},
		{"contract", state.ContractKey(id), "02" + contract},
		{"storage", state.StorageKey(id, []byte("key")), "03" + contract + "6b6579"},
		{"storage under the empty key", state.StorageKey(id, nil), "03" + contract},
	}
	for _, test := range tests {
		if got := hex.EncodeToString(test.key); got != test.want {
			t.Errorf("%s: got %s, want %s", test.name, got, test.want)
		}
	}
	longest := state.StorageKey(id, make([]byte, types.MaxStorageKeyBytes))
	if _, err := types.DecodeAccesses(types.EncodeAccesses([]types.Access{{Key: longest}})); err != nil {
		t.Errorf("the longest key does not fit an access: %v", err)
	}
}

// record is a kind of record: each has the same tests.
type record struct {
	name    string
	value   any
	encoded string
	decode  func([]byte) (value any, encoded []byte, err error)
}

func decoder[T interface{ Encode() []byte }](decode func([]byte) (T, error)) func([]byte) (any, []byte, error) {
	return func(b []byte) (any, []byte, error) {
		v, err := decode(b)
		return v, v.Encode(), err
	}
}

var (
	decodeSupply   = decoder(state.DecodeSupply)
	decodeAccount  = decoder(state.DecodeAccount)
	decodeContract = decoder(state.DecodeContract)
)

func records() []record {
	code, deployer := strings.Repeat("33", 32), strings.Repeat("44", 32)
	return []record{
		{
			"supply", state.Supply{Supply: 0x0102030405060708, Burned: 9}, "0807060504030201" + "0900000000000000", decodeSupply,
		},
		{
			"account", state.Account{Balance: 0x0102030405060708, Nonce: 9}, "0807060504030201" + "0900000000000000",
			decodeAccount,
		},
		{"account without coins", state.Account{Nonce: 1}, "0000000000000000" + "0100000000000000", decodeAccount},
		{"account without transactions", state.Account{Balance: 1}, "0100000000000000" + "0000000000000000", decodeAccount},
		{
			"contract", state.Contract{
				CodeHash: fill[types.CodeHash](0x33), Deployer: fill[types.Account](0x44), Height: 0x0102, Name: "né",
			}, code + deployer + "0201000000000000" + "0300000000000000" + "6ec3a9", decodeContract,
		},
		{"contract of zeros", state.Contract{}, strings.Repeat("00", 80), decodeContract},
	}
}

func TestRecords(t *testing.T) {
	for _, r := range records() {
		t.Run(r.name, func(t *testing.T) {
			b, err := hex.DecodeString(r.encoded)
			if err != nil {
				t.Fatal(err)
			}
			if got, encoded, err := r.decode(b); err != nil || got != r.value || !bytes.Equal(encoded, b) {
				t.Errorf("%x decodes to %+v, %v and encodes again to %x", b, got, err, encoded)
			}
			if _, _, err := r.decode(append(b, 0)); !errors.Is(err, codec.ErrTrailing) {
				t.Errorf("with a byte behind: %v", err)
			}
			for n := 1; n < len(b); n++ {
				if _, _, err := r.decode(b[:n]); !errors.Is(err, codec.ErrTruncated) {
					t.Errorf("cut to %d bytes: %v", n, err)
				}
			}
		})
	}
}

// Of all records only an account's may be absent, and it has only one form of being so.
func TestAbsentRecords(t *testing.T) {
	if b := (state.Account{}).Encode(); len(b) != 0 {
		t.Errorf("the zero account encodes to %x", b)
	}
	if got, err := state.DecodeAccount(nil); err != nil || got != (state.Account{}) {
		t.Errorf("no account record is %+v, %v", got, err)
	}
	if _, err := state.DecodeAccount(make([]byte, 16)); err == nil {
		t.Error("an account record of zeros is accepted")
	}
	if b := (state.Supply{}).Encode(); len(b) != 16 {
		t.Errorf("a supply of 0 encodes to %x", b)
	}
	if _, err := state.DecodeSupply(nil); !errors.Is(err, codec.ErrTruncated) {
		t.Errorf("no supply record: %v", err)
	}
	if _, err := state.DecodeContract(nil); !errors.Is(err, codec.ErrTruncated) {
		t.Errorf("no contract record: %v", err)
	}
}

func TestContractName(t *testing.T) {
	longest := state.Contract{Name: strings.Repeat("n", types.MaxNameBytes)}
	if got, err := state.DecodeContract(longest.Encode()); err != nil || got != longest {
		t.Errorf("the longest name: %+v, %v", got, err)
	}
	tooLong := state.Contract{Name: strings.Repeat("n", types.MaxNameBytes+1)}
	if _, err := state.DecodeContract(tooLong.Encode()); !errors.Is(err, codec.ErrTooLong) {
		t.Errorf("a name too long: %v", err)
	}
	notUTF8 := state.Contract{Name: "\xff"}
	if _, err := state.DecodeContract(notUTF8.Encode()); !errors.Is(err, codec.ErrBadUTF8) {
		t.Errorf("a name that is not UTF-8: %v", err)
	}
}

func TestRecordRoundTrips(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		first, second := types.Amount(rapid.Uint64().Draw(t, "first")), rapid.Uint64().Draw(t, "second")
		supply := state.Supply{Supply: first, Burned: types.Amount(second)}
		if got, err := state.DecodeSupply(supply.Encode()); err != nil || got != supply {
			t.Fatalf("%+v decodes to %+v, %v", supply, got, err)
		}
		account := state.Account{Balance: first, Nonce: second}
		if got, err := state.DecodeAccount(account.Encode()); err != nil || got != account {
			t.Fatalf("%+v decodes to %+v, %v", account, got, err)
		}
		contract := state.Contract{
			CodeHash: fill[types.CodeHash](rapid.Byte().Draw(t, "code")), Height: types.Height(second),
			Deployer: fill[types.Account](rapid.Byte().Draw(t, "deployer")), Name: rapid.StringN(0, 16, 64).Draw(t, "name"),
		}
		if got, err := state.DecodeContract(contract.Encode()); err != nil || got != contract {
			t.Fatalf("%+v decodes to %+v, %v", contract, got, err)
		}
	})
}

func fuzzDecoder(f *testing.F, decode func([]byte) (any, []byte, error)) {
	f.Helper()
	for _, r := range records() {
		b, err := hex.DecodeString(r.encoded)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Add([]byte{})
	f.Add(make([]byte, 16))
	f.Fuzz(func(t *testing.T, b []byte) {
		if _, encoded, err := decode(b); err == nil && !bytes.Equal(encoded, b) {
			t.Fatalf("%x encodes again to %x", b, encoded)
		}
	})
}

func FuzzDecodeSupply(f *testing.F)   { fuzzDecoder(f, decodeSupply) }
func FuzzDecodeAccount(f *testing.F)  { fuzzDecoder(f, decodeAccount) }
func FuzzDecodeContract(f *testing.F) { fuzzDecoder(f, decodeContract) }
