package contractbuild

import (
	"strings"
	"testing"

	"github.com/cairn-chain/cairn/internal/contractsource"
)

func rustSource(files map[string]string) contractsource.Source {
	s := contractsource.Source{Manifest: contractsource.Manifest{Language: contractsource.Rust}, Files: map[string][]byte{}}
	for file, text := range files {
		s.Files["src/"+file] = []byte(text)
	}
	return s
}

// TestNamesInStorage: a name of two variables is refused, and the error names both, wherever they are declared.
func TestNamesInStorage(t *testing.T) {
	const count = "static COUNT: Cell<u64> = Cell::new(\"count\");\n"
	for name, test := range map[string]struct {
		files map[string]string
		want  string // part of the error; empty for none
	}{
		"two names": {map[string]string{"lib.rs": count + `static OTHER: Map<(Account, u8), u64> = Map::new("other");`}, ""},
		"one name":  {map[string]string{"lib.rs": count + `pub static OTHER: cairn::List<u64> = cairn::List::<u64>::new("count");`}, `"count" is the name of COUNT and OTHER in storage (src/lib.rs:1, src/lib.rs:2)`},
		"a comment": {map[string]string{"lib.rs": count + "// static OTHER: Cell<u64> = Cell::new(\"count\");\n/* /* */ " + count + "*/"}, ""},
		"a string":  {map[string]string{"lib.rs": count + "fn f() -> char { let _: &'static str = r#\"\" " + count + "\"#; '\"' }"}, ""},
		"tests":     {map[string]string{"lib.rs": count + "#[cfg(test)]\nmod tests { " + count + " fn f() {} }\n#[cfg(test)]\n#[path = \"b.rs\"]\nmod b;", "b.rs": count}, ""},
		"behind tests": {map[string]string{"lib.rs": count + "#[cfg(test)]\nmod tests { fn f() { g([1; 3]) } }\n" +
			strings.ReplaceAll(count, "COUNT", "LAST")}, `COUNT and LAST`},
		"a module":      {map[string]string{"lib.rs": count + "mod a;", "a/mod.rs": "mod b;", "a/b.rs": strings.ReplaceAll(count, "COUNT", "DEEP")}, `COUNT and DEEP in storage (src/lib.rs:1, src/a/b.rs:1)`},
		"no module":     {map[string]string{"lib.rs": count, "old.rs": count}, ""},
		"a constant":    {map[string]string{"lib.rs": count + "const N: &str = \"count\";\nstatic OTHER: Cell<u64> = Cell::new(N);"}, "COUNT and OTHER"},
		"the section":   {map[string]string{"lib.rs": "contract! { storage { A: Map<(u8, Account), u64> = \"a\", B: Cell<u64> = \"b\", C: List<u64> = \"a\" } }"}, `"a" is the name of A and C`},
		"both":          {map[string]string{"lib.rs": "contract! { storage { A: Cell<u64> = \"count\" } }\n" + count}, "A and COUNT"},
		"other statics": {map[string]string{"lib.rs": "static A: &str = \"x\"; static B: &str = \"x\";\n" + count}, ""},
	} {
		err := CheckStorage(rustSource(test.files))
		if got := err != nil; got != (test.want != "") || got && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, want %q", name, err, test.want)
		}
	}
}
