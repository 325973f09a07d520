package argument

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cairn-chain/cairn/cli/keystore"
	"github.com/cairn-chain/cairn/crypto"
	"github.com/cairn-chain/cairn/types"
	"github.com/cairn-chain/cairn/wallet"
)

const password = "correct horse"

// testStore has the key alice, of the private key 3, and the alias shop of the account 0101….
func testStore(t testing.TB) *keystore.Store {
	t.Helper()
	store := keystore.Open(t.TempDir())
	store.WorkFactor = 1
	key, err := crypto.NewPrivateKey([32]byte{31: 3})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := store.AddKey("alice", types.Regtest, keystore.Secret{Key: key}, password); err != nil {
		t.Fatal(err)
	}
	if _, err := store.AddAlias("shop", types.Testnet, shop); err != nil {
		t.Fatal(err)
	}
	return store
}

var shop = types.Account([]byte(strings.Repeat("\x01", 32)))

func TestParseAccount(t *testing.T) {
	store := testStore(t)
	// The public key of test vector 0 of BIP-340.
	const three = "f9308a019258c31049344f85f89d5229b531c845836f99b08601f113bce036f9"
	alice, err := types.ParseBytes32[types.Account](three)
	if err != nil {
		t.Fatal(err)
	}
	// The public mnemonic at m/86'/1'/0'/0/0 and 9; devadmin is at m/86'/1'/0'/1/1.
	dev0 := developmentAccount(t, 0, 0)
	dev9 := developmentAccount(t, 0, 9)
	tests := []struct {
		text    string
		want    types.Account
		network types.Network
		canSign bool
	}{
		{three, alice, "", false},
		{"0x" + three, alice, "", false},
		{strings.ToUpper(three), alice, "", false},
		{"03" + three, alice, "", false},
		{types.Mainnet.Address(alice), alice, types.Mainnet, false},
		{types.Testnet.Address(alice), alice, types.Testnet, false},
		{types.Regtest.Address(alice), alice, types.Regtest, false},
		{"alice", alice, types.Regtest, true},
		{"shop", shop, types.Testnet, false},
		{"dev0", dev0, types.Regtest, true},
		{"dev9", dev9, types.Regtest, true},
		{"devadmin", developmentAccount(t, 1, 1), types.Regtest, true},
	}
	for _, test := range tests {
		t.Run(test.text, func(t *testing.T) {
			account, err := ParseAccount(store, test.text)
			if err != nil || account.ID != test.want || account.Network != test.network {
				t.Fatalf("got %+v, %v, want ID %v and Network %v", account, err, test.want, test.network)
			}
			err = account.CanSign()
			if (err == nil) != test.canSign || err != nil && !errors.Is(err, ErrBadAccount) {
				t.Fatalf("CanSign: error %v", err)
			}
			if !test.canSign {
				return
			}
			key, err := account.Secret(store, func(name string) (string, error) {
				if name != test.text {
					t.Errorf("the password of %q is asked, want %q", name, test.text)
				}
				return password, nil
			})
			if err != nil || key.Key.PublicKey() != [32]byte(test.want) {
				t.Errorf("another key, error %v", err)
			}
		})
	}
}

func developmentAccount(t *testing.T, change, index uint32) types.Account {
	t.Helper()
	seed, err := wallet.SeedFromMnemonic("test test test test test test test test test test test junk", "")
	if err != nil {
		t.Fatal(err)
	}
	key, err := wallet.DeriveBIP86(seed, 1, 0, change, index)
	if err != nil {
		t.Fatal(err)
	}
	return key.PublicKey()
}

func TestParseBadAccount(t *testing.T) {
	store := testStore(t)
	for _, text := range []string{
		"", "bob", "Alice", "dev10", "dev", "devs", "alice ", "0x12", strings.Repeat("g", 64), "04" + strings.Repeat("1", 64),
		"bcrt1pqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqq", "../keys/alice",
	} {
		if account, err := ParseAccount(store, text); !errors.Is(err, ErrBadAccount) {
			t.Errorf("%q: got %+v, error %v, want %v", text, account, err, ErrBadAccount)
		}
	}
}

func TestDamagedKeyIsNoUnknownAccount(t *testing.T) {
	store := testStore(t)
	if err := os.WriteFile(filepath.Join(store.Dir(), "torn.json"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := ParseAccount(store, "torn"); !errors.Is(err, keystore.ErrDamaged) || errors.Is(err, ErrBadAccount) {
		t.Errorf("error %v", err)
	}
}

func TestAccountsBelongToChains(t *testing.T) {
	store := testStore(t)
	development := Chain{ID: 31337, Network: types.Regtest}
	regtest := Chain{ID: 5, Network: types.Regtest}
	testnet := Chain{ID: 5, Network: types.Testnet}
	anew := Chain{ID: 31337, Network: types.Regtest, Genesis: types.BlockHash{1}}
	if _, err := store.AddContract("gold", types.Regtest, keystore.Chain{ID: 31337}, types.ContractID{5}); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		text  string
		chain Chain
		ok    bool
	}{
		{"gold", development, true},
		{"gold", anew, false},
		{"gold", regtest, false},
		{"alice", anew, true},
		{"dev0", development, true},
		{"dev0", regtest, false},
		{"dev0", testnet, false},
		{"alice", development, true},
		{"alice", regtest, true},
		{"alice", testnet, false},
		{"shop", testnet, true},
		{"shop", regtest, false},
		{types.Testnet.Address(shop), testnet, true},
		{types.Testnet.Address(shop), regtest, false},
		{strings.Repeat("01", 32), testnet, true},
		{strings.Repeat("01", 32), regtest, true},
	}
	for _, test := range tests {
		account, err := ParseAccount(store, test.text)
		if err != nil {
			t.Fatal(err)
		}
		if err := account.On(test.chain); (err == nil) != test.ok || err != nil && !errors.Is(err, ErrBadAccount) {
			t.Errorf("%s on %+v: error %v", test.text, test.chain, err)
		}
	}
}

func TestKeyNeedsItsPassword(t *testing.T) {
	store := testStore(t)
	account, err := ParseAccount(store, "alice")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := account.Secret(
		store, func(string) (string, error) { return "wrong", nil },
	); !errors.Is(err, keystore.ErrWrongPassword) {
		t.Errorf("error %v", err)
	}
	nobody := errors.New("nobody there")
	if _, err := account.Secret(store, func(string) (string, error) { return "", nobody }); !errors.Is(err, nobody) {
		t.Errorf("error %v, want %v", err, nobody)
	}
}

// FuzzParseAccount: an accepted account can be written in hex and read again, and a refused one is unknown.
func FuzzParseAccount(f *testing.F) {
	for _, text := range []string{
		"alice", "dev0", types.Regtest.Address(shop), "0x" + strings.Repeat("01", 32), "", "bc1p",
	} {
		f.Add(text)
	}
	store := testStore(f)
	f.Fuzz(func(t *testing.T, text string) {
		account, err := ParseAccount(store, text)
		if err != nil {
			if !errors.Is(err, ErrBadAccount) {
				t.Errorf("error %v, want %v", err, ErrBadAccount)
			}
			return
		}
		again, err := ParseAccount(store, account.ID.String())
		if err != nil || again.ID != account.ID {
			t.Errorf("%q is %s, which is read as %s, error %v", text, account.ID, again.ID, err)
		}
	})
}

// The checksum tells the place of a typing error in an address.
func TestMistypedAddress(t *testing.T) {
	store := testStore(t)
	right := types.Regtest.Address(shop)
	for text, want := range map[string]string{
		right[:20] + "b" + right[21:]:                "look at character 21, 'b'",
		right[:len(right)-1]:                         "an address of regtest has 64 characters, not 63",
		swapped(right, 10):                           "look at character 11,",
		swapped(swapped(right, 10), 30):              "look at character 11, ",
		swapped(swapped(swapped(right, 10), 30), 40): "is not an address: its checksum does not match",
	} {
		if _, err := ParseAccount(store, text); !errors.Is(err, ErrBadAccount) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

// swapped is a text with another letter in one place.
func swapped(text string, at int) string {
	letter := byte('q')
	if text[at] == letter {
		letter = 'p'
	}
	return text[:at] + string(letter) + text[at+1:]
}
