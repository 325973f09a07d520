package archtest

import (
	"encoding/json"
	"io/fs"
	"os"
	"path"
	"regexp"
	"strings"
	"testing"
)

// scope is the npm scope of all JavaScript packages. Strangers cannot register names within it.
const scope = "@cairn-chain/"

// freeName matches a package of this product that is installed or imported by a name outside its scope.
var freeName = regexp.MustCompile(`(?:from|import\(|require\(|install|view)\s*["']?cairn-[a-z]+["'/ \n]`)

// Every JavaScript package that is not private has the scope, and no page or source names one without it.
func TestPackagesHaveTheScope(t *testing.T) {
	tree := os.DirFS("../..")
	packages, sources := 0, 0
	err := fs.WalkDir(tree, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		base := path.Base(name)
		if entry.IsDir() {
			if base == "node_modules" || base == ".git" || base == "target" || base == "dist" || base == "build" {
				return fs.SkipDir
			}
			return nil
		}
		ext := path.Ext(name)
		if base != "package.json" && ext != ".md" && ext != ".ts" && ext != ".tsx" && ext != ".go" && ext != ".sh" || base == "CHANGELOG.md" {
			return nil
		}
		content, err := fs.ReadFile(tree, name)
		if err != nil || base != "package.json" {
			sources++
			if found := freeName.Find(content); found != nil {
				t.Errorf("%s: got %q, want a name of %s", name, found, scope)
			}
			return err
		}
		var said struct {
			Name    string
			Private bool
		}
		if err := json.Unmarshal(content, &said); err != nil {
			return err
		}
		packages++
		if !said.Private && !strings.HasPrefix(said.Name, scope) {
			t.Errorf("%s: got the name %q, want one of %s", name, said.Name, scope)
		}
		return nil
	})
	if err != nil || packages < 10 || sources < 500 {
		t.Errorf("got %d packages, %d sources and %v, want 10 and 500 at least", packages, sources, err)
	}
}
