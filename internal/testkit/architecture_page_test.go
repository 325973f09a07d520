package testkit

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/cairn-chain/cairn/api"
)

// TestArchitecturePageFindsEveryMethod holds the page's table of methods to the sources: each method that api declares
// is in a row, and the files that the row names declare it and bind it.
func TestArchitecturePageFindsEveryMethod(t *testing.T) {
	page, err := os.ReadFile("../../ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	var rows []string
	for line := range strings.Lines(string(page)) {
		if strings.HasPrefix(line, "| svc_") || strings.HasPrefix(line, "| dev_") || strings.HasPrefix(line, "| rpc.") {
			rows = append(rows, line)
		}
	}
	handler := regexp.MustCompile(`svc_(\w)(\w*)`)
	for _, d := range api.Declarations() {
		row := rowOf(rows, d.Name)
		if row == "" {
			t.Errorf("%s is in no row", d.Name)
			continue
		}
		cells := strings.Split(row, "|")
		if !holds(t, "../../api", cells[3], `"`+d.Name+`"`) {
			t.Errorf("%s is not declared in %s", d.Name, cells[3])
		}
		if m := handler.FindStringSubmatch(d.Name); m != nil && d.Name != "svc_chainId" {
			if !holds(t, "../server/rpc", cells[2], "func (s *Server) "+m[1]+m[2]+"(") {
				t.Errorf("%s has no handler in %s", d.Name, cells[2])
			}
		}
	}
}

func rowOf(rows []string, method string) string {
	family, _, _ := strings.Cut(method, "_")
	for _, row := range rows {
		names := strings.Split(row, "|")[1]
		if regexp.MustCompile(`\b`+regexp.QuoteMeta(method)+`\b`).MatchString(names) || strings.Contains(names, family+"_*") {
			return row
		}
	}
	return ""
}

// holds reports whether one of the files that a cell of the table names has the text.
func holds(t *testing.T, dir, cell, text string) bool {
	t.Helper()
	for _, name := range regexp.MustCompile("`(\\w+\\.go)`").FindAllStringSubmatch(cell, -1) {
		source, err := os.ReadFile(filepath.Join(dir, name[1]))
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(source), text) {
			return true
		}
	}
	return false
}
