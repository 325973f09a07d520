package typed

import (
	"fmt"
	"testing"

	"github.com/cairn-chain/cairn/types"
)

// The text of an enum's value names the variant, also within others, as the texts of errors write it.
func TestVariantsAreNamed(t *testing.T) {
	sold := StateSold{To: types.Account{1}, Price: 5}
	want := fmt.Sprintf("{State:Sold{To:%s Price:5}}", sold.To)
	if got := fmt.Sprintf("%+v", struct{ State State }{sold}); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got := fmt.Sprintf("%+v", []State{StateOpen{}}); got != "[Open]" {
		t.Errorf("%s, want [Open]", got)
	}
}
