package vm

import (
	"os"
	"path/filepath"
	"reflect"
	"testing"
)

// A stored module equals the checked one in everything that a price or a result may depend on. Nodes that load the
// module and nodes that check its code must not differ.
func TestDecodedModuleIsTheCheckedOne(t *testing.T) {
	files, err := filepath.Glob("../../../contracts/wasm/*.wasm")
	if err != nil || len(files) < 5 {
		t.Fatalf("contracts: %v, %v", files, err)
	}
	for _, file := range files {
		code, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		checked, err := Check(code)
		if err != nil {
			t.Fatal(err)
		}
		decoded, err := DecodeModule(checked.Encode())
		if err != nil {
			t.Fatal(err)
		}
		fields := reflect.TypeFor[Module]()
		for i := range fields.NumField() {
			if fields.Field(i).Name != "instrumented" && reflect.ValueOf(*checked).Field(i).IsZero() &&
				fields.Field(i).Type.Kind() == reflect.Uint64 {
				t.Errorf("%s: %s is 0, so this test says nothing of it", file, fields.Field(i).Name)
			}
		}
		want := *checked
		want.instrumented = nil
		if !reflect.DeepEqual(*decoded, want) {
			t.Errorf("%s: what was kept differs from what was checked", file)
		}
	}
}
