package types_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/cairn-chain/cairn/types"
	"pgregory.net/rapid"
)

// genesisJSON is a genesis in every form that JSON may have: amounts as integers and as strings, accounts as hex of
// 32 and of 33 bytes and as an address.
const genesisJSON = `{
	"chain_id": 7,
	"network": "mainnet",
	"time": 1700000000000,
	"base_fee": "10",
	"parameters": {
		"version": 2,
		"gas_limit": 1000000000,
		"block_bytes": 20971520,
		"target_bps": 5000,
		"min_base_fee": 10,
		"max_base_fee": "1000000",
		"producer": "02` + bip86Key + `",
		"fee_recipient": "` + bip86Address + `",
		"admin": "` + bip86Key + `",
		"notice": 604800000,
		"upgrade": {"version": 3, "from": "1800000000000"}
	},
	"allocations": [
		{"account": "0x1111111111111111111111111111111111111111111111111111111111111111", "balance": 5},
		{"account": "` + bip86Address + `", "balance": "18446744073709551610"}
	]
}`

func TestParseGenesisJSON(t *testing.T) {
	key := bip86Account(t)
	ones := types.Account(bytes.Repeat([]byte{0x11}, 32))
	want := types.Genesis{
		ChainID: 7,
		Network: types.Mainnet,
		Time:    1700000000000,
		BaseFee: 10,
		Parameters: types.Parameters{
			Version:      2,
			GasLimit:     1_000_000_000,
			BlockBytes:   20 << 20,
			TargetBPS:    5000,
			MinBaseFee:   10,
			MaxBaseFee:   1_000_000,
			Producer:     types.PublicKey(key),
			FeeRecipient: key,
			Admin:        key,
			Notice:       604_800_000,
			Upgrade:      &types.Upgrade{Version: 3, From: 1_800_000_000_000},
		},
		Allocations: []types.Allocation{{Account: ones, Balance: 5}, {Account: key, Balance: 18446744073709551610}},
	}
	got, err := types.ParseGenesisJSON([]byte(genesisJSON))
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestGenesisJSONRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		genesis := drawGenesis(t)
		rendered, err := json.Marshal(genesis)
		if err != nil {
			t.Fatal(err)
		}
		again, err := types.ParseGenesisJSON(rendered)
		if err != nil || !bytes.Equal(again.Encode(), genesis.Encode()) {
			t.Fatalf("%s reads as %+v, error %v", rendered, again, err)
		}
		parameters, err := json.Marshal(genesis.Parameters)
		if err != nil {
			t.Fatal(err)
		}
		if p, err := types.ParseParametersJSON(parameters, genesis.Network); err != nil || !p.Equal(genesis.Parameters) {
			t.Fatalf("%s reads as %+v, error %v", parameters, p, err)
		}
	})
}

// The rendering gives each member its name in the protocol's structures.
func TestGenesisJSONMembers(t *testing.T) {
	got, err := json.Marshal(types.Genesis{
		ChainID:     1,
		Network:     types.Regtest,
		Time:        2,
		BaseFee:     3,
		Parameters:  types.Parameters{Version: 4, GasLimit: 5, Upgrade: &types.Upgrade{Version: 7, From: 8}},
		Allocations: []types.Allocation{{Balance: 6}, {Balance: 1 << 53}},
	})
	zeros := `"0x` + strings.Repeat("0", 64) + `"`
	want := `{"chain_id":1,"network":"regtest","time":2,"base_fee":3,"parameters":{"version":4,"gas_limit":5,"block_bytes":0,"target_bps":0,` +
		`"min_base_fee":0,"max_base_fee":0,"producer":` + zeros + `,"fee_recipient":` + zeros + `,"admin":` + zeros +
		`,"notice":0,"upgrade":{"version":7,"from":8}},"allocations":[{"account":` + zeros + `,"balance":6},` +
		`{"account":` + zeros + `,"balance":"9007199254740992"}]}`
	if err != nil || string(got) != want {
		t.Errorf("got %s, %v\nwant %s", got, err, want)
	}
}

// One member of a good genesis is replaced at a time.
func TestGenesisJSONRules(t *testing.T) {
	testnet := types.Testnet.Address(bip86Account(t))
	tests := []struct {
		name, old, new, want string
	}{
		{"unknown member", `"chain_id"`, `"extra": 1, "chain_id"`, `unknown member "extra"`},
		{"unknown member of parameters", `"version": 2`, `"extra": 1, "version": 2`, `unknown member "extra"`},
		{"unknown member of an upgrade", `"version": 3`, `"extra": 1, "version": 3`, `unknown member "extra"`},
		{"unknown member of an allocation", `"balance": 5`, `"balance": 5, "extra": 1`, `unknown member "extra"`},
		{"repeated member", `"chain_id": 7`, `"chain_id": 7, "chain_id": 8`, `"chain_id" occurs twice`},
		{"repeated member of parameters", `"version": 2`, `"version": 2, "version": 2`, `"version" occurs twice`},
		{"repeated member of an allocation", `"balance": 5`, `"balance": 5, "balance": 5`, `"balance" occurs twice`},
		{"member in upper case", `"time"`, `"Time"`, `"time" is missing`},
		{"member with a letter that folds", `"base_fee"`, "\"ba\u017fe_fee\"", `"base_fee" is missing`},
		{"data behind", "]\n}", "]\n} {}", "data after"},
		{"cut", "]\n}", "]\n", "EOF"},
		{"no chain id", `"chain_id": 7,`, ``, `"chain_id" is missing`},
		{"no time", `"time": 1700000000000,`, ``, `"time" is missing`},
		{"no base fee", `"base_fee": "10",`, ``, `"base_fee" is missing`},
		{"chain id null", `"chain_id": 7`, `"chain_id": null`, "chain_id: null is not"},
		{"no network", `"network": "mainnet",`, ``, `"network" is missing`},
		{"unknown network", `"mainnet"`, `"signet"`, "unknown network"},
		{"network in upper case", `"mainnet"`, `"Mainnet"`, "unknown network"},
		{"no network's name", `"mainnet"`, `""`, "unknown network"},
		{
			"recipient of another network", `"fee_recipient": "` + bip86Address, `"fee_recipient": "` + testnet,
			"expected prefix bc",
		},
		{"allocation of another network", `{"account": "` + bip86Address, `{"account": "` + testnet, "expected prefix bc"},
		{"no producer", `"producer": "02` + bip86Key + `",`, ``, `"producer" is missing`},
		{"no admin", `"admin": "` + bip86Key + `",`, ``, `"admin" is missing`},
		{"no upgrade", `,
		"upgrade": {"version": 3, "from": "1800000000000"}`, ``, `"upgrade" is missing`},
		{"no time of the upgrade", `, "from": "1800000000000"`, ``, `"from" is missing`},
		{"no block bytes", `"block_bytes": 20971520,`, ``, `"block_bytes" is missing`},
		{"no account", `{"account": "` + bip86Address + `", `, `{`, `"account" is missing`},
		{"amount below 0", `"balance": 5`, `"balance": -5`, `-5 is not`},
		{"amount with a fraction", `"balance": 5`, `"balance": 5.0`, `5.0 is not`},
		{"amount with an exponent", `"balance": 5`, `"balance": 5e3`, `5e3 is not`},
		{"amount in hex", `"balance": 5`, `"balance": "0x5"`, `"0x5" is not`},
		{"amount with a sign", `"balance": 5`, `"balance": "+5"`, `"+5" is not`},
		{"amount with a zero before", `"balance": 5`, `"balance": "05"`, `"05" is not`},
		{"amount with underscores", `"balance": 5`, `"balance": "5_0"`, `"5_0" is not`},
		{"amount with a space", `"balance": 5`, `"balance": " 5"`, `" 5" is not`},
		{"amount with an escape", `"balance": 5`, `"balance": "\u0035"`, ` is not`},
		{"empty amount", `"balance": 5`, `"balance": ""`, `"" is not`},
		{"amount null", `"balance": 5`, `"balance": null`, `null is not`},
		{"amount over 64 bits", `"18446744073709551610"`, `18446744073709551616`, `18446744073709551616 is not`},
		{"amount is a list", `"balance": 5`, `"balance": [5]`, `is not`},
		{"version over 32 bits", `"version": 2`, `"version": 4294967296`, "4294967296 is not"},
		{"block bytes over 32 bits", `20971520`, `"4294967296"`, "is not"},
		{"target over 16 bits", `5000`, `65536`, "65536 is not"},
		{"allocations are an object", `"allocations": [`, `"allocations": {}, "x": [`, "not a list"},
		{"a genesis in a list", "{\n\t\"chain_id\"", "[{\n\t\"chain_id\"", "not a JSON object"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			text := strings.Replace(genesisJSON, test.old, test.new, 1)
			if text == genesisJSON {
				t.Fatal("nothing was replaced")
			}
			if _, err := types.ParseGenesisJSON([]byte(text)); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
}

// Lists may be empty but not absent. A chain ID is any u64, also as a string of its digits.
func TestGenesisJSONForms(t *testing.T) {
	from := strings.Index(genesisJSON, `[
		{"account"`)
	empty := genesisJSON[:from] + "[]}"
	genesis, err := types.ParseGenesisJSON([]byte(strings.Replace(empty, `: 7,`, `: "18446744073709551615",`, 1)))
	if err != nil || len(genesis.Allocations) != 0 || genesis.ChainID != 1<<64-1 {
		t.Errorf("got %+v, %v", genesis, err)
	}
	from = strings.Index(genesisJSON, `,
	"allocations"`)
	if _, err := types.ParseGenesisJSON([]byte(genesisJSON[:from] + "}")); err == nil {
		t.Error("a genesis without allocations is read")
	}
}

func TestParseParametersJSONRules(t *testing.T) {
	good, err := json.Marshal(sampleParameters())
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		old, new, want string
	}{
		{`"version"`, `"extra":1,"version"`, `unknown member "extra"`},
		{`"version"`, `"version":1,"version"`, `"version" occurs twice`},
		{`"producer":"0x10`, `"producer":"`, "producer: neither"},
		{`"fee_recipient":"0x30`, `"fee_recipient":"`, "fee_recipient: neither"},
		{`"notice"`, `"Notice"`, `"notice" is missing`},
	}
	for _, test := range tests {
		text := strings.Replace(string(good), test.old, test.new, 1)
		if _, err := types.ParseParametersJSON([]byte(text), types.Regtest); err == nil ||
			!strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, want %q", text, err, test.want)
		}
	}
	ofMainnet := strings.Replace(string(good), sampleParameters().FeeRecipient.String(), bip86Address, 1)
	if _, err := types.ParseParametersJSON([]byte(ofMainnet), types.Regtest); !errors.Is(err, types.ErrWrongNetwork) {
		t.Errorf("an address of another network: error %v, want %v", err, types.ErrWrongNetwork)
	}
	// Without a known network there are no addresses.
	if err := new(types.Parameters).UnmarshalJSON([]byte(ofMainnet)); err == nil {
		t.Error("an address is read without a network")
	}
	if p := new(types.Parameters); p.UnmarshalJSON(good) != nil || !p.Equal(sampleParameters()) {
		t.Errorf("%s reads as %+v", good, p)
	}
}

func TestGenesisDigest(t *testing.T) {
	genesis := sampleGenesis()
	if got, want := genesis.Digest(), tagged("cairn/genesis/v2", genesis.Encode()); got != want {
		t.Errorf("got %v, want %x", got, want)
	}
}

// tagged is the tagged hash of BIP-340, written out: SHA256(SHA256(tag) ‖ SHA256(tag) ‖ message).
func tagged(tag string, message []byte) [32]byte {
	prefix := sha256.Sum256([]byte(tag))
	return sha256.Sum256(append(append(prefix[:], prefix[:]...), message...))
}
