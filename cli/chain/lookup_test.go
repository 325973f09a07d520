package chain

import (
	"testing"

	"github.com/cairn-chain/cairn/api"
)

func TestTakesAccount(t *testing.T) {
	seen := 0
	for _, d := range api.Declarations() {
		for i := range d.Params.NumField() {
			if takesAccount(d.Name, i) {
				seen++
			}
		}
	}
	if seen < 12 {
		t.Errorf("got %d parameters that take names, want more", seen)
	}
}
