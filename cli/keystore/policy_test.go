package keystore

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/cairn-chain/cairn/types"
)

// TestP256: a P-256 key is stored like others, for the account of its own policy.
func TestP256(t *testing.T) {
	store := testStore(t)
	secret, err := NewP256()
	if err != nil {
		t.Fatal(err)
	}
	entry, err := store.AddKey("machine", types.Regtest, secret, password)
	if err != nil || entry.Kind != KindP256 {
		t.Fatalf("got %+v, error %v, want Kind %v", entry, err, KindP256)
	}
	policy, err := entry.ReadPolicy()
	if err != nil || policy.Hash() != entry.Account || len(policy.Owner.Signers) != 1 {
		t.Errorf("got %+v, error %v, want Hash %v and 1 signer", policy, err, entry.Account)
	}
	unlocked, err := store.Unlock("machine", password)
	if err != nil || !unlocked.P256.Equal(secret.P256) {
		t.Errorf("unlocked another secret, error %v", err)
	}
	for _, bad := range []string{"", "zz", strings.Repeat("0", 64), strings.Repeat("f", 64), strings.Repeat("1", 62)} {
		if _, err := ParseP256(bad); err == nil {
			t.Errorf("%q is a key", bad)
		}
	}
}

// TestPolicies: a policy is readable without a password, and one that does not fit its account is reported as damage.
func TestPolicies(t *testing.T) {
	store := testStore(t)
	policy := types.Policy{Owner: types.Rule{Threshold: 1, Signers: []types.Signer{types.SignerKey{}}}}
	entry, err := store.AddPolicy("vault", types.Regtest, policy)
	if err != nil || entry.Kind != KindPolicy || entry.Account != policy.Hash() {
		t.Fatalf("got %+v, error %v, want Kind %v and Account %v", entry, err, KindPolicy, policy.Hash())
	}
	if found, err := store.Find("vault"); err != nil || found != entry {
		t.Errorf("found %+v, want %+v, error %v", found, entry, err)
	}
	if _, err := store.Unlock("vault", password); !errors.Is(err, ErrNoKey) {
		t.Errorf("unlocked: error %v, want %v", err, ErrNoKey)
	}
	if _, err := store.AddPolicy("other", types.Regtest, types.Policy{}); !errors.Is(err, types.ErrBadPolicy) {
		t.Errorf("an empty policy: error %v, want %v", err, types.ErrBadPolicy)
	}
	text, err := os.ReadFile(store.path("vault"))
	if err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string][2]string{
		"another policy": {`"policy": "00`, `"policy": "01`}, "no policy": {`"policy": "` + entry.Policy + `"`, `"policy": ""`},
		"no hex": {`"policy": "00`, `"policy": "zz`}, "a secret": {`"policy"`, `"secret": "x", "policy"`},
		"an alias with a policy": {`"kind": "policy"`, `"kind": "alias"`},
	} {
		changed := strings.Replace(string(text), change[0], change[1], 1)
		if changed == string(text) {
			t.Fatalf("%s: nothing changed in %s", name, text)
		}
		if err := os.WriteFile(store.path("vault"), []byte(changed), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := store.Find("vault"); !errors.Is(err, ErrDamaged) {
			t.Errorf("%s: error %v, want %v", name, err, ErrDamaged)
		}
	}
}
