package datadir_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cairn-chain/cairn/crypto"
	"github.com/cairn-chain/cairn/internal/datadir"
	"github.com/cairn-chain/cairn/internal/emergency"
	"github.com/cairn-chain/cairn/internal/protocol/params"
	"github.com/cairn-chain/cairn/types"
)

// An unusable override is refused before the node starts. As a restart does not help, the error is a final emergency
// with the reason.
func TestReadOverride(t *testing.T) {
	key, err := crypto.NewPrivateKey([32]byte{31: 9})
	check(t, err)
	file := func(change func(*types.Parameters)) string {
		t.Helper()
		p := params.Default(key.PublicKey())
		change(&p)
		content, err := json.Marshal(p)
		check(t, err)
		path := filepath.Join(t.TempDir(), "parameters.json")
		check(t, os.WriteFile(path, content, 0o600))
		return path
	}
	good := file(func(*types.Parameters) {})
	if o, err := datadir.ReadOverride("7:"+good, types.Regtest); err != nil || o.Height != 7 {
		t.Errorf("got %+v, %v, want an override of block 7", o, err)
	}
	if o, err := datadir.ReadOverride("", types.Regtest); o != nil || err != nil {
		t.Errorf("got %+v, %v of no text, want nil", o, err)
	}
	broken := filepath.Join(t.TempDir(), "broken.json")
	check(t, os.WriteFile(broken, []byte("{"), 0o600))
	for text, reason := range map[string]string{
		good:              "HEIGHT:FILE",
		"0:" + good:       "at least 1",
		"7:" + good + "x": "no such file",
		"7:" + broken:     "broken.json",
		"7:" + file(func(p *types.Parameters) { p.Version = 99 }): "does not know",
		"7:" + file(func(p *types.Parameters) { p.GasLimit = 1 }): "gas_limit",
	} {
		_, err := datadir.ReadOverride(text, types.Regtest)
		var e *emergency.Emergency
		if !errors.As(err, &e) || !e.Final || !strings.Contains(e.What, reason) {
			t.Errorf("%s: got %v, want a final emergency with %q", text, err, reason)
		}
	}
}
