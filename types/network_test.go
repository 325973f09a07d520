package types_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/cairn-chain/cairn/crypto/bech32m"
	"github.com/cairn-chain/cairn/types"
)

// The first receiving address of BIP-86's test vector, and its output key.
const (
	bip86Address = "bc1p5cyxnuxmeuwuvkwfem96lqzszd02n6xdcjrs20cac6yqjjwudpxqkedrcr"
	bip86Key     = "a60869f0dbcf1dc659c9cecbaf8050135ea9e8cdc487053f1dc6880949dc684c"
)

func bip86Account(t *testing.T) types.Account {
	t.Helper()
	account, err := types.ParseBytes32[types.Account](bip86Key)
	if err != nil {
		t.Fatal(err)
	}
	return account
}

func TestNetworks(t *testing.T) {
	tests := []struct {
		network types.Network
		prefix  string
		coin    uint32
		address string
	}{
		{types.Mainnet, "bc", 0, bip86Address},
		{types.Testnet, "tb", 1, "tb1p5cyxnuxmeuwuvkwfem96lqzszd02n6xdcjrs20cac6yqjjwudpxqp3mvzv"},
		{types.Regtest, "bcrt", 1, "bcrt1p5cyxnuxmeuwuvkwfem96lqzszd02n6xdcjrs20cac6yqjjwudpxqvg32hk"},
	}
	for i, test := range tests {
		if types.Networks()[i] != test.network || test.network.Prefix() != test.prefix ||
			test.network.CoinType() != test.coin {
			t.Errorf("%s: prefix %s, coin %d", test.network, test.network.Prefix(), test.network.CoinType())
		}
		if got := test.network.Address(bip86Account(t)); got != test.address {
			t.Errorf("%s: address %s, want %s", test.network, got, test.address)
		}
		if network, account, err := types.ParseAddress(test.network.Address(bip86Account(t))); err != nil ||
			network != test.network || account != bip86Account(t) {
			t.Errorf("%s: parses as %s %v, error %v", test.network, network, account, err)
		}
	}
	if types.Network("signet").Prefix() != "" {
		t.Error("an unknown network has a prefix")
	}
}

func TestParseAccount(t *testing.T) {
	testnet := types.Testnet.Address(bip86Account(t))
	upper := strings.ToUpper
	tests := []struct {
		name, text string
		want       error
	}{
		{"address", bip86Address, nil},
		{"address in upper case", upper(bip86Address), nil},
		{"x-only key", bip86Key, nil},
		{"x-only key in upper case", upper(bip86Key), nil},
		{"x-only key with a prefix", "0x" + bip86Key, nil},
		{"x-only key with a prefix in upper case", "0x" + upper(bip86Key), nil},
		{"compressed key, even", "02" + bip86Key, nil},
		{"compressed key, odd", "03" + bip86Key, nil},
		{"compressed key with a prefix", "0x03" + bip86Key, nil},
		{"compressed key with a prefix in upper case", "0x02" + upper(bip86Key), nil},

		{"nothing", "", types.ErrBadAccount},
		{"the prefix alone", "0x", types.ErrBadAccount},
		{"another parity byte", "04" + bip86Key, types.ErrBadAccount},
		{"a digit too few", bip86Key[1:], types.ErrBadAccount},
		{"a byte too few", bip86Key[2:], types.ErrBadAccount},
		{"a digit too many", bip86Key + "0", types.ErrBadAccount},
		{"uncompressed key", "04" + bip86Key + bip86Key, types.ErrBadAccount},
		{"not a digit", "g" + bip86Key[1:], types.ErrBadAccount},
		{"two prefixes", "0x0x" + bip86Key, types.ErrBadAccount},
		{"a space behind", bip86Key + " ", types.ErrBadAccount},
		{"address with a prefix", "0x" + bip86Address, types.ErrBadAccount},
		{"address in mixed case", "BC" + bip86Address[2:], types.ErrBadAccount},
		{"address with a wrong checksum", bip86Address[:len(bip86Address)-1] + "q", types.ErrBadAccount},
		{"address of another chain", bech32m.EncodeAddress("ltc", bip86Account(t)), types.ErrBadAccount},
		{"segwit v0 address of BIP-173", "bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4", types.ErrBadAccount},
		{
			"segwit v1 address with 40 bytes of BIP-350",
			"bc1pw508d6qejxtdg4y5r3zarvary0c5xw7kw508d6qejxtdg4y5r3zarvary0c5xw7kt5nd6y", types.ErrBadAccount,
		},
		{"address of testnet", testnet, types.ErrWrongNetwork},
		{"address of regtest", types.Regtest.Address(bip86Account(t)), types.ErrWrongNetwork},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, err := types.Mainnet.ParseAccount(test.text)
			if !errors.Is(err, test.want) {
				t.Fatalf("%q: got %v, want %v", test.text, err, test.want)
			}
			if test.want == nil && got != bip86Account(t) {
				t.Errorf("%q: got %v", test.text, got)
			}
		})
	}
	if _, err := types.Mainnet.ParseAccount(testnet); !strings.Contains(err.Error(), "expected prefix bc") {
		t.Errorf("the error %q does not name the expected prefix", err)
	}
	if got, err := types.Testnet.ParseAccount(testnet); err != nil || got != bip86Account(t) {
		t.Errorf("%s: got %v, want %v, %v", testnet, got, bip86Account(t), err)
	}
}
