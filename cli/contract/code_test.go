package contract

import (
	"os"
	"testing"

	"github.com/cairn-chain/cairn/types"
)

func TestReadCodeIsBounded(t *testing.T) {
	path := t.TempDir() + "/long.wasm"
	if err := os.WriteFile(path, make([]byte, types.MaxCodeBytes+1), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := readCode(path); err == nil {
		t.Error("code over the limit was read")
	}
}
