package archtest

import (
	"io/fs"
	"os"
	"path"
	"regexp"
	"strings"
	"testing"
)

// An installation of JavaScript packages that would run their scripts.
var (
	npmInstalls = regexp.MustCompile(`npm"?[ ,](?:.*[ "])?(?:ci|install|i|add|update)\b`)
	noScripts   = regexp.MustCompile(`ignore-scripts(?:=true)?\b`)
)

// runsScripts reports whether a line of a script installs packages and allows them to run scripts.
func runsScripts(line string) bool {
	return npmInstalls.MatchString(line) && !strings.Contains(line, "apt-get") && !noScripts.MatchString(line)
}

// Every npm installation by a script runs with the option that disables package scripts. Installations by hand are
// covered by the .npmrc beside each lock file.
func TestNoPackageRunsScripts(t *testing.T) {
	tree := os.DirFS("../..")
	scripts, locks := 0, 0
	err := fs.WalkDir(tree, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		base := path.Base(name)
		if entry.IsDir() && (base == "node_modules" || base == ".git" || base == "target") {
			return fs.SkipDir
		}
		if base == "package-lock.json" {
			locks++
			settings, err := fs.ReadFile(tree, path.Join(path.Dir(name), ".npmrc"))
			if err != nil || !noScripts.Match(settings) {
				t.Errorf("%s: got %q, %v beside it, want an .npmrc with ignore-scripts=true", name, settings, err)
			}
			return nil
		}
		ext := path.Ext(name)
		if ext != ".sh" && base != "Makefile" && name != ".ci/run" && !(ext == ".go" && strings.HasPrefix(name, "tools/")) {
			return nil
		}
		scripts++
		content, err := fs.ReadFile(tree, name)
		for i, line := range strings.Split(string(content), "\n") {
			if runsScripts(line) {
				t.Errorf("%s:%d: got %q, want --ignore-scripts", name, i+1, strings.TrimSpace(line))
			}
		}
		return err
	})
	if err != nil || scripts < 10 || locks < 3 {
		t.Errorf("got %d scripts, %d lock files and %v, want 10 and 3 at least", scripts, locks, err)
	}
	for line, want := range map[string]bool{
		"npm ci": true, "npm install x.tgz": true, `(cd sdk && npm --prefix y ci --silent)`: true, `{"npm", "ci", "--silent"},`: true,
		"npm ci --ignore-scripts": false, "npm test": false, "npm run build": false,
		"apt-get install -y -qq nodejs npm install": false, `{"npm", "ci", "--ignore-scripts"}`: false,
	} {
		if got := runsScripts(line); got != want {
			t.Errorf("%q: got %t, want %t", line, got, want)
		}
	}
}
