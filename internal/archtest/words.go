package archtest

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"slices"
	"strings"
	"unicode"
)

// words have one meaning each in the names of types, functions, methods, fields, variables and constants.
var words = []struct {
	word    string
	meaning string
	breaks  func(declared) bool
}{
	{
		"run", "to work until it ends, a verb; something that goes on is named by what it makes",
		func(d declared) bool { return d.isType && ast.IsExported(d.name) },
	},
	{
		"room", "the memory that an answer may use",
		func(d declared) bool {
			return !slices.Contains([]string{
				"internal/engine/cluster/link", "internal/server/front", "internal/server/push", "jsonrpc",
			}, d.pkg)
		},
	},
	{
		"head", "the newest block; what comes first in bytes is a preamble or a prefix",
		func(d declared) bool {
			return slices.Contains([]string{
				"internal/apigen", "internal/engine/wasm", "internal/loadgen", "internal/server/front",
			}, d.pkg)
		},
	},
	{
		"proof", "of blocks; one in the state tree is a MerkleProof",
		func(d declared) bool {
			return d.pkg == "internal/protocol/tree" && ast.IsExported(d.name) && !strings.Contains(d.name, "Merkle")
		},
	},
}

// declared is a name that a source declares.
type declared struct {
	pkg    string
	name   string
	isType bool
}

// CheckWords lists the names of a source tree, tests left out, in which a word means something else than it should.
func CheckWords(tree fs.FS) (problems []string, err error) {
	err = walk(tree, func(name string) error {
		if path.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		source, err := fs.ReadFile(tree, name)
		if err != nil {
			return err
		}
		files := token.NewFileSet()
		file, err := parser.ParseFile(files, name, source, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		eachName(file, func(id *ast.Ident, isType bool) {
			d := declared{path.Dir(name), id.Name, isType}
			for _, w := range words {
				if slices.Contains(wordsOf(id.Name), w.word) && w.breaks(d) {
					problems = append(problems, fmt.Sprintf(
						"%s: %s: in names %q means %s", files.Position(id.Pos()), id.Name, w.word, w.meaning,
					))
				}
			}
		})
		return nil
	})
	return problems, err
}

// eachName calls note for what a file declares at its top, and for fields and methods.
func eachName(file *ast.File, note func(id *ast.Ident, isType bool)) {
	for _, decl := range file.Decls {
		switch decl := decl.(type) {
		case *ast.FuncDecl:
			note(decl.Name, false)
		case *ast.GenDecl:
			ast.Inspect(decl, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.TypeSpec:
					note(n.Name, true)
				case *ast.ValueSpec:
					for _, id := range n.Names {
						note(id, false)
					}
				case *ast.FuncType, *ast.FuncLit:
					return false // its parameters and what is local
				case *ast.Field:
					for _, id := range n.Names {
						note(id, false)
					}
				}
				return true
			})
		}
	}
}

// wordsOf cuts a name at its capital letters.
func wordsOf(name string) (all []string) {
	for name != "" {
		end := strings.IndexFunc(name[1:], unicode.IsUpper) + 1
		if end == 0 {
			end = len(name)
		}
		all = append(all, strings.ToLower(name[:end]))
		name = name[end:]
	}
	return all
}
