package archtest

import (
	"os"
	"strings"
	"testing"
	"testing/fstest"
)

func TestPagesLeadSomewhere(t *testing.T) {
	problems, err := CheckPages(os.DirFS("../.."))
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Error(p)
	}
}

func TestBrokenReferencesAreFound(t *testing.T) {
	const other = "# Page\n\n## A `section`, and more\n\n## Twice\n\n## Twice\n\n- **A term.** It is.\n"
	for _, tc := range []struct{ name, file, content, want string }{
		{"a page", "a.md", "see [it](docs/none.md)", "there is no docs/none.md"},
		{"a section", "a.md", "see [it](docs/other.md#none)", "has no section"},
		{"a section of the page itself", "a.md", "see [it](#none)", "has no section"},
		{"a third heading of two", "a.md", "see [it](docs/other.md#twice-2)", "has no section"},
		{"a page from a folder", "docs/a.md", "see [it](docs/other.md)", "there is no docs/other.md"},
		{"a page in a comment", "a.go", "// F is docs/none.md's.\npackage a", "docs/none.md, which is not there"},
		{"a section in a comment", "a.go", "package a\n\n// See docs/other.md,\n// \"None\".\n", `"None"`},
		{
			"a page that is there", "a.md",
			"[a](docs/other.md) [b](docs/other.md#a-section-and-more) [c](docs/other.md#twice-1) [d](https://x/y#z)", "",
		},
		{"code", "a.md", "`[a](none.md)`\n\n```\n[a](none.md)\n```\n", ""},
		{
			"comments that lead somewhere", "a.go",
			"package a\n\n// See docs/other.md, \"A section, and more\", and docs/other.md, \"A term\".\n", "",
		},
	} {
		problems, err := CheckPages(fstest.MapFS{tc.file: {Data: []byte(tc.content)}, "docs/other.md": {Data: []byte(other)}})
		if err != nil {
			t.Fatalf("%s: error %v", tc.name, err)
		}
		if tc.want == "" && len(problems) > 0 ||
			tc.want != "" && (len(problems) != 1 || !strings.Contains(problems[0], tc.want)) {
			t.Errorf("%s: got %q, want %q", tc.name, problems, tc.want)
		}
	}
}

// RATIONALE.md lists every page below docs/rationale.
func TestRationaleListsItsPages(t *testing.T) {
	index, err := os.ReadFile("../../RATIONALE.md")
	if err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir("../../docs/rationale")
	if err != nil || len(entries) == 0 {
		t.Fatalf("%d pages, error %v", len(entries), err)
	}
	for _, entry := range entries {
		if link := "](docs/rationale/" + entry.Name() + ")"; !strings.Contains(string(index), link) {
			t.Errorf("RATIONALE.md has no link %q", link)
		}
	}
}
