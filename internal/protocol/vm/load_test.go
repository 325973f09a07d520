package vm

import (
	"os"
	"testing"

	"github.com/cairn-chain/cairn/internal/protocol/params"
)

// A block of the default gas limit can load nine hundred different codes of the size of the reference token's.
func TestBlockLoadsNineHundredTokens(t *testing.T) {
	code, err := os.ReadFile("../../../contracts/wasm/nep20.wasm")
	if err != nil {
		t.Fatal(err)
	}
	token, err := Check(code)
	if err != nil {
		t.Fatal(err)
	}
	if most := params.BlockLoad(params.DefaultGasLimit); 900*params.Load(token.Load()) > most {
		t.Errorf("a token is a load of %d, a block holds %d", token.Load(), most)
	}
}
