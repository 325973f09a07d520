package wallet

import (
	"errors"
	"strings"
	"testing"

	"github.com/cairn-chain/cairn/internal/testkit/bip"
)

// aboutAccount is m/86'/0'/0' of aboutMnemonic, as BIP-86 has it.
const aboutAccount = "xpub6BgBgsespWvERF3LHQu6CnqdvfEvtMcQjYrcRzx53QJjSxarj2afYWcLteoGVky7D3UKDP9QyrLprQ3VCECoY49yfdDEHGCtMMj92pReUsQ"

// TestAccount: the extended public key is BIP-86's and gives the same keys as the seed, on both kinds of networks.
func TestAccount(t *testing.T) {
	seed, err := SeedFromMnemonic(aboutMnemonic, "")
	if err != nil {
		t.Fatal(err)
	}
	for coin, prefix := range []string{aboutAccount, "tpub"} {
		derived, err := DeriveAccount(seed, uint32(coin), 0)
		if err != nil || !strings.HasPrefix(derived.String(), prefix) {
			t.Fatalf("coin %d: got %s, %v, want %s…", coin, derived, err, prefix)
		}
		account, err := ParseAccount(derived.String())
		if err != nil || account.String() != derived.String() || account.Mainnet() != (coin == 0) {
			t.Fatalf("coin %d: got %s, %v, want %s", coin, account, err, derived)
		}
		for _, path := range [][2]uint32{{0, 0}, {0, 1}, {1, 0}, {0, 1<<31 - 1}} {
			key, err := DeriveBIP86(seed, uint32(coin), 0, path[0], path[1])
			if err != nil {
				t.Fatal(err)
			}
			if got, err := account.Output(path[0], path[1]); err != nil || got != key.PublicKey() {
				t.Errorf("coin %d, %v: got %x, %v, want %x", coin, path, got, err, key.PublicKey())
			}
		}
		if _, err := account.Output(0, 1<<31); err == nil {
			t.Errorf("coin %d: got a hardened key, want an error", coin)
		}
	}
	if _, err := DeriveAccount(seed, 0, 1<<31); err == nil {
		t.Error("got an account 2^31, want an error")
	}
}

// TestParseAccountRefuses: text other than an account's public key is refused, and the error does not quote it.
func TestParseAccountRefuses(t *testing.T) {
	vectors := bip.Read[[]struct {
		XPrv string `json:"xprv"`
	}](t, "bip32.json")
	const master = "xpub661MyMwAqRbcFtXgS5sYJABqqG9YLmC4Q1Rdap9gSE8NqtwybGhePY2gZ29ESFjqJoCu1Rupje8YtGqsefD265TMg7usUDFdp6W1EGMcet8"
	for _, text := range []string{
		"", "xpub", aboutMnemonic, strings.Replace(aboutAccount, "xpub6B", "xpub6C", 1), vectors[0].XPrv, master,
	} {
		if _, err := ParseAccount(text); !errors.Is(err, ErrNotAccountKey) || len(text) > 4 && strings.Contains(err.Error(), text) {
			t.Errorf("%q: got %v, want %v without the text", text, err, ErrNotAccountKey)
		}
	}
}
