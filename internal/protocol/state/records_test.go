package state_test

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"reflect"
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
		t.Errorf("the longest key does not fit an access: error %v", err)
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
	decodeContract = decoder(state.DecodeContract)
)

// self is the account whose records are decoded.
var self = fill[types.Account](0x55)

func decodeAccount(b []byte) (any, []byte, error) {
	a, err := state.DecodeAccount(self, b)
	return a, a.Encode(self), err
}

func at(b byte) *types.Account {
	a := fill[types.Account](b)
	return &a
}

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
			"account with an authority", state.Account{Balance: 1, Nonce: 2, Authority: at(0x66)},
			"0100000000000000" + "0200000000000000" + strings.Repeat("66", 32), decodeAccount,
		},
		{
			"account with a recovery", state.Account{
				Nonce: 2, Authority: at(0x66), Pending: &state.Recovery{Next: fill[types.Account](0x77), From: 0x0102},
			}, "0000000000000000" + "0200000000000000" + strings.Repeat("66", 32) + strings.Repeat("77", 32) + "0201000000000000",
			decodeAccount,
		},
		{
			"account with its own authority and a recovery", state.Account{
				Nonce: 1, Pending: &state.Recovery{Next: self, From: 1<<64 - 1},
			}, "0000000000000000" + "0100000000000000" + strings.Repeat("55", 64) + "ffffffffffffffff", decodeAccount,
		},
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
			if got, encoded, err := r.decode(b); err != nil || !reflect.DeepEqual(got, r.value) || !bytes.Equal(encoded, b) {
				t.Errorf("%x decodes to %+v, %v and encodes again to %x", b, got, err, encoded)
			}
			long, short := codec.ErrTrailing, codec.ErrTruncated
			_, account := r.value.(state.Account)
			if account {
				long, short = state.ErrAccountForm, state.ErrAccountForm
			}
			if _, _, err := r.decode(append(b, 0)); !errors.Is(err, long) {
				t.Errorf("with a byte behind: error %v, want %v", err, long)
			}
			for n := 1; n < len(b); n++ {
				if account && (n == 16 || n == 48) { // a shorter form
					continue
				}
				if _, _, err := r.decode(b[:n]); !errors.Is(err, short) {
					t.Errorf("cut to %d bytes: error %v, want %v", n, err, short)
				}
			}
		})
	}
}

// Only an account's record may be absent, and it has only one form of absence.
func TestAbsentRecords(t *testing.T) {
	if b := (state.Account{}).Encode(self); len(b) != 0 {
		t.Errorf("the zero account encodes to %x", b)
	}
	if got, err := state.DecodeAccount(self, nil); err != nil || got != (state.Account{}) {
		t.Errorf("no account record is %+v, error %v", got, err)
	}
	if _, err := state.DecodeAccount(self, make([]byte, 16)); !errors.Is(err, state.ErrAccountForm) {
		t.Errorf("an account record of zeros: error %v, want %v", err, state.ErrAccountForm)
	}
	if b := (state.Supply{}).Encode(); len(b) != 16 {
		t.Errorf("a supply of 0 encodes to %x", b)
	}
	if _, err := state.DecodeSupply(nil); !errors.Is(err, codec.ErrTruncated) {
		t.Errorf("no supply record: error %v, want %v", err, codec.ErrTruncated)
	}
	if _, err := state.DecodeContract(nil); !errors.Is(err, codec.ErrTruncated) {
		t.Errorf("no contract record: error %v, want %v", err, codec.ErrTruncated)
	}
}

func TestContractName(t *testing.T) {
	longest := state.Contract{Name: strings.Repeat("n", types.MaxNameBytes)}
	if got, err := state.DecodeContract(longest.Encode()); err != nil || got != longest {
		t.Errorf("the longest name: got %+v, want %+v, error %v", got, longest, err)
	}
	tooLong := state.Contract{Name: strings.Repeat("n", types.MaxNameBytes+1)}
	if _, err := state.DecodeContract(tooLong.Encode()); !errors.Is(err, codec.ErrTooLong) {
		t.Errorf("a name too long: error %v, want %v", err, codec.ErrTooLong)
	}
	notUTF8 := state.Contract{Name: "\xff"}
	if _, err := state.DecodeContract(notUTF8.Encode()); !errors.Is(err, codec.ErrBadUTF8) {
		t.Errorf("a name that is not UTF-8: error %v, want %v", err, codec.ErrBadUTF8)
	}
}

func TestRecordRoundTrips(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		first, second := types.Amount(rapid.Uint64().Draw(t, "first")), rapid.Uint64().Draw(t, "second")
		supply := state.Supply{Supply: first, Burned: types.Amount(second)}
		if got, err := state.DecodeSupply(supply.Encode()); err != nil || got != supply {
			t.Fatalf("%+v decodes to %+v, error %v", supply, got, err)
		}
		account := drawAccount(t)
		if got, err := state.DecodeAccount(self, account.Encode(self)); err != nil || !got.Equal(self, account) {
			t.Fatalf("%+v decodes to %+v, error %v", account, got, err)
		}
		contract := state.Contract{
			CodeHash: fill[types.CodeHash](rapid.Byte().Draw(t, "code")), Height: types.Height(second),
			Deployer: fill[types.Account](rapid.Byte().Draw(t, "deployer")), Name: rapid.StringN(0, 16, 64).Draw(t, "name"),
		}
		if got, err := state.DecodeContract(contract.Encode()); err != nil || got != contract {
			t.Fatalf("%+v decodes to %+v, error %v", contract, got, err)
		}
	})
}

// drawAccount draws an account that a chain can have. Its authority may be stored even if it is the account's own.
func drawAccount(t *rapid.T) state.Account {
	a := state.Account{Balance: types.Amount(rapid.Uint64().Draw(t, "balance")), Nonce: rapid.Uint64().Draw(t, "nonce")}
	if rapid.Bool().Draw(t, "authority") {
		a.Nonce, a.Authority = max(a.Nonce, 1), at(rapid.SampledFrom([]byte{0, 0x55, 0x66}).Draw(t, "whose"))
	}
	if rapid.Bool().Draw(t, "pending") {
		next := fill[types.Account](rapid.SampledFrom([]byte{0, 0x55, 0x66}).Draw(t, "next"))
		a.Nonce, a.Pending = max(a.Nonce, 1), &state.Recovery{Next: next, From: rapid.Uint64Range(0, 20).Draw(t, "from")}
	}
	return a
}

// A record has the shortest form: its length shows which parts the account has, and parts that a change does not name
// stay.
func TestShortestForm(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := drawAccount(t)
		own := a.Authority == nil || *a.Authority == self
		want := 16
		switch {
		case a.Balance == 0 && a.Nonce == 0:
			want = 0
		case a.Pending != nil:
			want = 88
		case !own:
			want = 48
		}
		b := a.Encode(self)
		if len(b) != want || want > state.MaxAccountBytes {
			t.Fatalf("%+v has %d bytes, want %d", a, len(b), want)
		}
		if want == 0 {
			return
		}
		credited, err := state.DecodeAccount(self, b)
		if err != nil {
			t.Fatal(err)
		}
		credited.Balance = ^credited.Balance | 1
		if after := credited.Encode(self); !bytes.Equal(after[8:], b[8:]) {
			t.Fatalf("a credit changes %x to %x", b, after)
		}
	})
}

// The authority in force changes at a recovery's time and not before. The record keeps the recovery until it is written
// again.
func TestAuthorityAt(t *testing.T) {
	next := fill[types.Account](0x77)
	a := state.Account{Nonce: 1, Authority: at(0x66), Pending: &state.Recovery{Next: next, From: 10}}
	for _, test := range []struct {
		at   uint64
		want types.Account
	}{{0, *at(0x66)}, {9, *at(0x66)}, {10, next}, {11, next}, {1<<64 - 1, next}} {
		if got := a.AuthorityAt(self, test.at); got != test.want {
			t.Errorf("at %d the authority is %v, want %v", test.at, got, test.want)
		}
	}
	if got := a.At(9); got.Pending == nil || *got.Authority != *at(0x66) {
		t.Errorf("before its time it is %+v", got)
	}
	done := a.At(10)
	if done.Pending != nil || *done.Authority != next || a.Pending == nil {
		t.Errorf("at its time it is %+v, and the record %+v", done, a)
	}
	if got := (state.Account{}).AuthorityAt(self, 10); got != self {
		t.Errorf("without a record it is %v, want %v", got, self)
	}
	// A recovery to the account itself gives a record of 16 bytes.
	a.Pending = &state.Recovery{Next: self, From: 10}
	if b := a.At(10).Encode(self); len(b) != 16 || a.AuthorityAt(self, 10) != self {
		t.Errorf("a recovery to itself gives %x", b)
	}
}

// TestRecordVectors checks the records of docs/vectors.json.
func TestRecordVectors(t *testing.T) {
	file, err := os.ReadFile("../../../docs/vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	var v struct {
		Records []struct {
			Name    string
			Account types.Account
			Record  struct {
				Balance   types.Amount
				Nonce     uint64
				Authority types.Account
				Pending   []any
			}
			Encoded string
			Before  types.Account `json:"in_force_before"`
			After   types.Account `json:"in_force_from"`
			From    uint64
			Fault   string
		}
	}
	if err := json.Unmarshal(file, &v); err != nil {
		t.Fatal(err)
	}
	faults := 0
	for _, r := range v.Records {
		b, err := hex.DecodeString(r.Encoded)
		if err != nil {
			t.Fatal(err)
		}
		got, err := state.DecodeAccount(r.Account, b)
		if r.Fault != "" {
			faults++
			if !errors.Is(err, state.ErrAccountForm) {
				t.Errorf("%s: got %v, want a fault: %s", r.Name, err, r.Fault)
			}
			continue
		}
		want := state.Account{Balance: r.Record.Balance, Nonce: r.Record.Nonce, Authority: &r.Record.Authority}
		if p := r.Record.Pending; p != nil {
			next, err := types.ParseBytes32[types.Account](p[0].(string))
			if err != nil {
				t.Fatal(err)
			}
			want.Pending = &state.Recovery{Next: next, From: uint64(p[1].(float64))}
		}
		if err != nil || !got.Equal(r.Account, want) || !bytes.Equal(want.Encode(r.Account), b) {
			t.Errorf("%s: %x decodes to %+v, %v, want %+v", r.Name, b, got, err, want)
		}
		before, after := got.AuthorityAt(r.Account, r.From-1), got.AuthorityAt(r.Account, r.From)
		if before != r.Before || after != r.After {
			t.Errorf("%s: in force are %v and %v, want %v and %v", r.Name, before, after, r.Before, r.After)
		}
	}
	if faults < 5 || len(v.Records) < 12 {
		t.Errorf("%d records, %d faults", len(v.Records), faults)
	}
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
