package contract

import (
	"testing"

	"github.com/cairn-chain/cairn/cli/session"
	"github.com/cairn-chain/cairn/internal/contractsource"
)

// TestVerifiedByCode: a verification applies to one code only.
func TestVerifiedByCode(t *testing.T) {
	s := &session.Session{Home: t.TempDir()}
	if err := keepVerified(s, []byte("another"), verifiedContract{}); err != nil {
		t.Fatal(err)
	}
	if got, err := sourceOf(s, []byte("code")); err != nil || got.Verified != nil {
		t.Errorf("got %+v, %v, want nothing verified: another code was", got, err)
	}
	hash := contractsource.HashOf([]byte("archive"))
	if err := keepVerified(s, []byte("code"), verifiedContract{SourceHash: hash}); err != nil {
		t.Fatal(err)
	}
	got, err := sourceOf(s, []byte("code"))
	if want := hash.String() + ", verified here"; err != nil || got.field().Value != want {
		t.Errorf("got %+v, %v, want %q", got, err, want)
	}
}
