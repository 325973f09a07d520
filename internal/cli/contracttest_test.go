package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cairn-chain/cairn/contracts"
	"github.com/cairn-chain/cairn/internal/contractbuild"
)

func TestContractTest(t *testing.T) {
	d := newDesk(t, nil)
	file := filepath.Join(t.TempDir(), "gold.wasm")
	if err := os.WriteFile(file, contracts.Token(), 0o600); err != nil {
		t.Fatal(err)
	}
	init := `{"name":"Gold","symbol":"GLD","decimals":2,"initialSupply":1000}`
	tested := d.run(t, "contract", "test", file, "--init", init, "--callback", "received:u64", "--json")
	var result testedContract
	if err := json.Unmarshal(tested.document(t).Result, &result); err != nil {
		t.Fatal(err)
	}
	if transfer := result.Functions["gold.transfer"]; tested.exit != 0 || result.Calls < 20_000 ||
		transfer == nil || transfer.Succeeded == 0 || !strings.Contains(tested.err, "no invariants are declared") {
		t.Errorf("%+v", tested)
	}
	for want, args := range map[string][]string{
		"bad argument":   {"--init", `{"name":1}`},
		"there is no ty": {"--init", init, "--callback", "quote:float"},
		"no such file":   {filepath.Join(t.TempDir(), "none.wasm")},
	} {
		args = append([]string{"contract", "test"}, args...)
		if !strings.HasSuffix(args[2], ".wasm") {
			args = append(args, file)
		}
		if o := d.run(t, args...); o.exit != 1 || !strings.Contains(o.err, want) {
			t.Errorf("%q: %d %s", args, o.exit, o.err)
		}
	}
}

func TestDeclaresInvariants(t *testing.T) {
	source := contractbuild.Source{
		Manifest: contractbuild.Manifest{Language: contractbuild.Rust, Package: "bank"},
		Files: map[string][]byte{
			"bank/src/lib.rs":  []byte("contract! { invariants { fn solvent() {} } }"),
			"cairn/src/lib.rs": []byte("nothing"),
		},
	}
	if !declaresInvariants(source) {
		t.Error("the package has invariants")
	}
	source.Files["bank/src/lib.rs"], source.Files["cairn/src/lib.rs"] = nil, source.Files["bank/src/lib.rs"]
	if declaresInvariants(source) {
		t.Error("only what it depends on has some")
	}
}
