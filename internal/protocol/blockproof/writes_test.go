package blockproof

import (
	"errors"
	"strings"
	"testing"

	"github.com/cairn-chain/cairn/types"
)

func TestCompareWrites(t *testing.T) {
	access := func(key, before, after string) types.Access {
		return types.Access{Key: []byte(key), Old: []byte(before), New: []byte(after)}
	}
	list := func(accesses ...types.Access) []types.Access { return accesses }
	read, otherRead := access("a", "1", "1"), access("bb", "", "")
	b, d := access("b", "1", "2"), access("d", "", "2")
	for _, c := range []struct {
		name             string
		executed, proven []types.Access
		want             string // part of the error; empty: none
	}{
		{"nothing", nil, nil, ""},
		{"reads do not matter", list(read, b, d), list(b, otherRead, d), ""},
		{"one more is executed", list(read, b, d), list(b), "lack the key 64"},
		{"one more is executed before", list(b, d), list(read, d), "lack the key 62"},
		{"one more is proven", list(b), list(b, read, d), "does not write the key 64"},
		{"one more is proven before", list(d), list(b, d), "does not write the key 62"},
		{"another value after", list(b), list(access("b", "1", "3")), "different values of the key 62"},
		{"another value before", list(b), list(access("b", "", "2")), "different values of the key 62"},
		{"none is executed", list(read), list(read, d), "does not write the key 64"},
		{"none is proven", list(d), nil, "lack the key 64"},
	} {
		err := CompareWrites(c.executed, c.proven)
		if c.want == "" && err != nil || c.want != "" && (!errors.Is(err, ErrWrites) || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: error %v, want %q", c.name, err, c.want)
		}
	}
}
