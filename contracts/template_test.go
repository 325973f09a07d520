package contracts

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestNewProject(t *testing.T) {
	for lang, want := range map[string][]string{
		"rust": {".cargo/config.toml", "Cargo.toml", "cairn/Cargo.toml", "cairn/src/lib.rs", "src/lib.rs"},
		"assemblyscript": {
			"assembly/index.ts", "package.json", "sdk/index.ts", "sdk/package.json", "sdk/transform/index.mjs",
			"test/counter.test.mjs",
		},
	} {
		dir := filepath.Join(t.TempDir(), "tally")
		p, err := NewProject(dir, lang)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range want {
			if !slices.Contains(p.Files, file) {
				t.Errorf("%s: there is no %s among %s", lang, file, p.Files)
			}
		}
		for _, file := range p.Files {
			text, err := os.ReadFile(filepath.Join(dir, file))
			if err != nil || len(text) == 0 || strings.Contains(string(text), "NAME.") {
				t.Errorf("%s: error %v", file, err)
			}
		}
		if takes := lang == "assemblyscript"; takes != (p.Init != "") {
			t.Errorf("%s: the deploy's arguments are %q", lang, p.Init)
		}
		for _, command := range p.Next {
			if strings.HasPrefix(command, "cairn contract test") && p.Init != "" && !strings.Contains(command, p.Init) {
				t.Errorf("%s: got the command %q, want one with the arguments %s of init", lang, command, p.Init)
			}
		}
		if !strings.Contains(p.Module, "tally.wasm") {
			t.Errorf("the module is %s", p.Module)
		}
		if _, err := NewProject(dir, lang); !os.IsExist(err) {
			t.Errorf("a second one in the same place: error %v", err)
		}
	}
}

func TestNewProjectRefuses(t *testing.T) {
	dir := t.TempDir()
	for name, lang := range map[string]string{"tally": "cobol", "Tally": "rust", "-x": "rust", "a-b": "rust"} {
		if _, err := NewProject(filepath.Join(dir, "x", name), lang); err == nil {
			t.Errorf("%q in %s was made", name, lang)
		}
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
		t.Errorf("left behind: got %v, error %v", entries, err)
	}
}
