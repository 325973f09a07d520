package keystore

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cairn-chain/cairn/types"
)

const (
	mnemonic = "test test test test test test test test test test test junk"
	password = "correct horse"
)

// testStore encrypts quickly: scrypt with 2 blocks.
func testStore(t *testing.T) *Store {
	t.Helper()
	store := Open(filepath.Join(t.TempDir(), "home", "keys"))
	store.WorkFactor = 1
	return store
}

func addKey(t *testing.T, store *Store, name string) Secret {
	t.Helper()
	secret, err := NewSecret(mnemonic, types.Regtest, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := store.AddKey(name, types.Regtest, secret, password); err != nil {
		t.Fatal(err)
	}
	return secret
}

func TestRoundTrip(t *testing.T) {
	store := testStore(t)
	secret := addKey(t, store, "alice")
	entry, err := store.Find("alice")
	want := Entry{
		Name: "alice", Kind: KindKey, Account: secret.Key.PublicKey(), Network: types.Regtest, Path: "m/86'/1'/0'/0/0",
	}
	if err != nil || entry != want {
		t.Errorf("found %+v, want %+v, error %v", entry, want, err)
	}
	unlocked, err := store.Unlock("alice", password)
	if err != nil || unlocked.Key.Bytes() != secret.Key.Bytes() || unlocked.Mnemonic != mnemonic ||
		unlocked.Path != want.Path {
		t.Errorf("unlocked another secret, error %v", err)
	}
}

func TestImportedKeyHasNoMnemonic(t *testing.T) {
	store := testStore(t)
	key, err := ParsePrivateKey(" 0x" + strings.Repeat("0", 63) + "3\n")
	if err != nil {
		t.Fatal(err)
	}
	entry, err := store.AddKey("three", types.Mainnet, Secret{Key: key}, password)
	if err != nil || entry.Path != "" || !strings.HasPrefix(entry.Address(), "bc1p") {
		t.Errorf("added %+v, error %v, want Path empty and %q at the beginning", entry, err, "bc1p")
	}
	unlocked, err := store.Unlock("three", password)
	if err != nil || unlocked.Key.Bytes() != key.Bytes() || unlocked.Mnemonic != "" {
		t.Errorf("unlocked another secret, error %v", err)
	}
}

// TestBIP86 compares the derivation with the first test vector of BIP-86.
func TestBIP86(t *testing.T) {
	words := strings.Repeat("abandon ", 11) + "about"
	for index, want := range []string{
		"bc1p5cyxnuxmeuwuvkwfem96lqzszd02n6xdcjrs20cac6yqjjwudpxqkedrcr",
		"bc1p4qhjn9zdvkux4e44uhx8tc55attvtyu358kutcqkudyccelu0was9fqzwh",
	} {
		secret, err := NewSecret(words, types.Mainnet, uint32(index))
		if err != nil {
			t.Fatal(err)
		}
		if got := types.Mainnet.Address(secret.Key.PublicKey()); got != want {
			t.Errorf("address %d is %s, want %s", index, got, want)
		}
	}
}

func TestWrongPassword(t *testing.T) {
	store := testStore(t)
	addKey(t, store, "alice")
	for _, wrong := range []string{"", "wrong", password + " "} {
		if _, err := store.Unlock("alice", wrong); !errors.Is(err, ErrWrongPassword) {
			t.Errorf("with %q: error %v, want %v", wrong, err, ErrWrongPassword)
		}
	}
	if _, err := store.AddKey("bob", types.Regtest, Secret{}, ""); !errors.Is(err, ErrEmptyPassword) {
		t.Errorf("an empty new password: error %v, want %v", err, ErrEmptyPassword)
	}
}

func TestPermissions(t *testing.T) {
	store := testStore(t)
	addKey(t, store, "alice")
	for path, want := range map[string]os.FileMode{store.Dir(): 0o700, store.path("alice"): 0o600} {
		info, err := os.Stat(path)
		if err != nil || info.Mode().Perm() != want {
			t.Errorf("%s has mode %v, want %v, %v", path, info.Mode().Perm(), want, err)
		}
	}
	files, err := os.ReadDir(store.Dir())
	if err != nil || len(files) != 1 {
		t.Errorf("files left over: got %v, error %v, want 1 file", files, err)
	}
}

func TestNothingSecretIsReadable(t *testing.T) {
	store := testStore(t)
	secret := addKey(t, store, "alice")
	text, err := os.ReadFile(store.path("alice"))
	if err != nil {
		t.Fatal(err)
	}
	plaintext, err := secret.encode()
	if err != nil {
		t.Fatal(err)
	}
	var sealed sealedSecret
	if err := json.Unmarshal(plaintext, &sealed); err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{sealed.PrivateKey, "junk", password} {
		if strings.Contains(string(text), part) {
			t.Errorf("the file contains %q", part)
		}
	}
}

func TestNamesAreTakenOnce(t *testing.T) {
	store := testStore(t)
	addKey(t, store, "alice")
	if _, err := store.AddAlias("alice", types.Regtest, types.Account{1}); !errors.Is(err, ErrExists) {
		t.Errorf("an alias over a key: error %v", err)
	}
	if _, err := store.AddKey("alice", types.Regtest, addKey(t, store, "bob"), password); !errors.Is(err, ErrExists) {
		t.Errorf("a key over a key: error %v", err)
	}
	if _, err := store.Unlock("alice", password); err != nil {
		t.Errorf("the first key is gone: error %v", err)
	}
}

func TestAlias(t *testing.T) {
	store := testStore(t)
	added, err := store.AddAlias("shop", types.Testnet, types.Account{1})
	if err != nil {
		t.Fatal(err)
	}
	if found, err := store.Find("shop"); err != nil || found != added || found.Kind != KindAlias {
		t.Errorf("found %+v, want %+v, error %v, and Kind %v", found, added, err, KindAlias)
	}
	if _, err := store.Unlock("shop", password); !errors.Is(err, ErrNoKey) {
		t.Errorf("unlocking an alias: error %v, want %v", err, ErrNoKey)
	}
}

func TestListAndDelete(t *testing.T) {
	store := testStore(t)
	if entries, failures, err := store.List(); len(entries)+len(failures) != 0 || err != nil {
		t.Errorf("of a directory that does not exist: got %v, %v, error %v", entries, failures, err)
	}
	addKey(t, store, "zoe")
	addKey(t, store, "alice")
	if err := os.WriteFile(store.path("torn"), []byte(`{"version":1,`), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(store.Dir(), "README"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	names := func() (names []string, failures []error) {
		entries, failures, err := store.List()
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			names = append(names, e.Name)
		}
		return names, failures
	}
	got, failures := names()
	if !slices.Equal(got, []string{"alice", "zoe"}) || len(failures) != 1 || !errors.Is(failures[0], ErrDamaged) {
		t.Errorf("listed %v, failures %v", got, failures)
	}
	for _, name := range []string{"torn", "zoe"} {
		if err := store.Delete(name); err != nil {
			t.Error(err)
		}
	}
	if got, failures := names(); !slices.Equal(got, []string{"alice"}) || len(failures) != 0 {
		t.Errorf("listed %v, failures %v", got, failures)
	}
	if err := store.Delete("zoe"); !errors.Is(err, ErrNotFound) {
		t.Errorf("deleted twice: error %v, want %v", err, ErrNotFound)
	}
}

// TestDamagedFiles corrupts a good file in one way each.
func TestDamagedFiles(t *testing.T) {
	edit := func(change func(*document)) func([]byte) []byte {
		return func(text []byte) []byte {
			var d document
			if err := json.Unmarshal(text, &d); err != nil {
				t.Fatal(err)
			}
			change(&d)
			changed, err := json.Marshal(d)
			if err != nil {
				t.Fatal(err)
			}
			return changed
		}
	}
	tests := []struct {
		name    string
		corrupt func([]byte) []byte
	}{
		{"empty", func([]byte) []byte { return nil }},
		{"torn", func(text []byte) []byte { return text[:len(text)/2] }},
		{"something after it", func(text []byte) []byte { return append(text, '{') }},
		{"too long", func(text []byte) []byte { return append([]byte(strings.Repeat(" ", maxFileBytes)), text...) }},
		{"unknown member", func(text []byte) []byte { return []byte(strings.Replace(string(text), "{", `{"x":1,`, 1)) }},
		{"another version", edit(func(d *document) { d.Version = 2 })},
		{"another name", edit(func(d *document) { d.Name = "bob" })},
		{"another network", edit(func(d *document) { d.Network = "moon" })},
		{"another kind", edit(func(d *document) { d.Kind = KindAlias })},
		{"another account", edit(func(d *document) { d.Account[0] ^= 1 })},
		{"another path", edit(func(d *document) { d.Path = "m/86'/1'/0'/0/1" })},
		{"torn secret", edit(func(d *document) { d.Secret = d.Secret[:len(d.Secret)/2] })},
		{"no secret", edit(func(d *document) { d.Secret = "x" })},
		{"changed secret", edit(func(d *document) {
			middle := strings.LastIndex(d.Secret, "\n-----END") - 8
			changed := byte('A')
			if d.Secret[middle] == changed {
				changed = 'B'
			}
			d.Secret = d.Secret[:middle] + string(changed) + d.Secret[middle+1:]
		})},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			store := testStore(t)
			addKey(t, store, "alice")
			text, err := os.ReadFile(store.path("alice"))
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(store.path("alice"), test.corrupt(text), 0o600); err != nil {
				t.Fatal(err)
			}
			if _, err := store.Unlock("alice", password); !errors.Is(err, ErrDamaged) {
				t.Errorf("error %v, want %v", err, ErrDamaged)
			}
		})
	}
}

func TestNames(t *testing.T) {
	for _, name := range []string{"a", "alice", "cold-1", "x_y", "device", "dev-1", strings.Repeat("a", 32)} {
		if err := CheckName(name); err != nil {
			t.Errorf("%q: error %v", name, err)
		}
	}
	for _, name := range []string{
		"", "Alice", "1a", "-a", "a b", "a/b", "../a", "a.json", "ä", "dev0", "dev12", strings.Repeat("a", 33),
	} {
		if err := CheckName(name); !errors.Is(err, ErrBadName) {
			t.Errorf("%q: error %v, want %v", name, err, ErrBadName)
		}
	}
	store := testStore(t)
	for call, err := range map[string]error{
		"Find":   func() error { _, err := store.Find("../x"); return err }(),
		"Unlock": func() error { _, err := store.Unlock("../x", password); return err }(),
		"AddContract": func() error {
			_, err := store.AddContract("../x", types.Regtest, Chain{}, types.ContractID{})
			return err
		}(),
		"AddAlias": func() error { _, err := store.AddAlias("../x", types.Regtest, types.Account{}); return err }(),
		"Delete":   store.Delete("../x"),
	} {
		if !errors.Is(err, ErrBadName) {
			t.Errorf("%s of ../x: error %v, want %v", call, err, ErrBadName)
		}
	}
}

func TestParsePrivateKey(t *testing.T) {
	for _, text := range []string{
		"", "0x", strings.Repeat("0", 64), strings.Repeat("f", 64), strings.Repeat("1", 62), strings.Repeat("1", 66),
		strings.Repeat("g", 64),
	} {
		_, err := ParsePrivateKey(text)
		if err == nil {
			t.Errorf("%q was taken", text)
		} else if len(text) > 2 && strings.Contains(err.Error(), text) {
			t.Errorf("the error quotes the key: %v", err)
		}
	}
}

func FuzzDecodeDocument(f *testing.F) {
	f.Add([]byte(`{"version":1,"name":"a","kind":"alias","account":"` + types.Account{1}.String() +
		`","network":"regtest"}`))
	f.Add([]byte(`{"version":1,"name":"a","kind":"key","account":"` + types.Account{1}.String() +
		`","network":"mainnet","path":"m","secret":"x"}`))
	f.Add([]byte(`{}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		d, err := decodeDocument(text, "a")
		if err != nil {
			return
		}
		again, err := json.Marshal(d)
		if err != nil {
			t.Fatal(err)
		}
		if second, err := decodeDocument(again, "a"); err != nil || second != d {
			t.Errorf("%+v became %+v, error %v", d, second, err)
		}
	})
}
