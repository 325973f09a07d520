package archtest

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
)

// The limits that sizes are held to.
const (
	maxFile     = 400 // lines of a file that is no test
	maxFunction = 70  // lines, with those of its braces
	maxFields   = 12  // of a struct; an embedded type is one
	maxOnLine   = 5   // fields of a literal, if two of them share a line
	maxSentence = 30  // words
)

// Kinds of findings.
const (
	kindFile     = "file"
	kindFunction = "function"
	kindStruct   = "struct"
	kindLiteral  = "literal"
	kindComment  = "sentence of a comment"
	kindPage     = "sentence of a page"
	kindExported = "exported name of internal/node"
)

// Finding is a thing with its size.
type Finding struct {
	Kind  string
	Place string // the file with its line
	Name  string // of a function or struct; a sentence's beginning; else empty
	Size  int
}

func (f Finding) String() string {
	return strings.Join(strings.Fields(fmt.Sprintf("%s: %s %s: %d", f.Place, f.Kind, f.Name, f.Size)), " ")
}

// key is how the table of what is too large names it.
func (f Finding) key() string {
	file, _, _ := strings.Cut(f.Place, ":")
	switch f.Kind {
	case kindFile:
		return file
	case kindStruct, kindFunction:
		return path.Dir(file) + "." + f.Name
	}
	return path.Dir(file)
}

// Sizes lists all that a source tree has over the limits, in the order of the files, and the names that internal/node
// exports. Files and functions of tests are left out, and generated files.
func Sizes(tree fs.FS) ([]Finding, error) {
	var m measure
	err := walk(tree, func(name string) error {
		switch path.Ext(name) {
		case ".md":
			content, err := fs.ReadFile(tree, name)
			m.page(name, string(content))
			return err
		case ".go":
			source, err := fs.ReadFile(tree, name)
			if err != nil {
				return err
			}
			return m.source(name, source)
		}
		return nil
	})
	return m.findings, err
}

// CheckSizes lists what is over the limits and not in the tables, and what of the tables is within them by now.
func CheckSizes(tree fs.FS) (problems, stale []string, err error) {
	found, err := Sizes(tree)
	if err != nil {
		return nil, nil, err
	}
	places := map[string][]Finding{} // of sentences and names, by kind and key
	used := map[string]bool{}
	for _, f := range found {
		switch key := f.Kind + " " + f.key(); {
		case f.Kind == kindPage: // none may be
			problems = append(problems, f.String())
		case f.Kind == kindComment, f.Kind == kindLiteral, f.Kind == kindExported:
			places[key] = append(places[key], f)
		case f.Kind == kindStruct && slices.Contains(records, f.key()):
			used[f.key()] = true
		default:
			problems = append(problems, f.String())
		}
	}
	for _, key := range slices.Sorted(maps.Keys(places)) {
		used[key] = true
		if n := len(places[key]); n > many[key] {
			problems = append(problems, fmt.Sprintf("%s: there are %d, and at most %d may be:", key, n, many[key]))
			for _, f := range places[key] {
				problems = append(problems, "\t"+f.String())
			}
		}
	}
	for _, key := range slices.Concat(records, slices.Sorted(maps.Keys(many))) {
		if !used[key] {
			stale = append(stale, key+" is in a table of sizes_table.go and within the limits: remove it there")
		}
	}
	return problems, stale, nil
}

type measure struct {
	findings []Finding
	files    *token.FileSet
}

func (m *measure) found(kind, place, name string, size int) {
	m.findings = append(m.findings, Finding{kind, place, name, size})
}

func (m *measure) source(name string, source []byte) error {
	m.files = token.NewFileSet()
	file, err := parser.ParseFile(m.files, name, source, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	if ast.IsGenerated(file) {
		return nil
	}
	m.comments(file)
	isTest := strings.HasSuffix(name, "_test.go")
	if lines := m.line(file.FileEnd); lines > maxFile && !isTest {
		m.found(kindFile, name, "", lines)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			if lines := m.line(n.End()) - m.line(n.Pos()) + 1; lines > maxFunction && !isTest {
				m.found(kindFunction, m.place(n), n.Name.Name, lines)
			}
		case *ast.TypeSpec:
			if s, ok := n.Type.(*ast.StructType); ok && s.Fields.NumFields() > maxFields {
				m.found(kindStruct, m.place(n), n.Name.Name, s.Fields.NumFields())
			}
		case *ast.CompositeLit:
			m.literal(n)
		}
		return true
	})
	if path.Dir(name) == "internal/node" && !isTest {
		m.exports(file)
	}
	return nil
}

func (m *measure) line(at token.Pos) int { return m.files.Position(at).Line }
func (m *measure) place(n ast.Node) string {
	return fmt.Sprintf("%s:%d", m.files.Position(n.Pos()).Filename, m.line(n.Pos()))
}

// literal reports a struct's literal of many fields of which two share a line.
func (m *measure) literal(lit *ast.CompositeLit) {
	fields, shared := 0, false
	for i, element := range lit.Elts {
		pair, ok := element.(*ast.KeyValueExpr)
		if !ok {
			return
		}
		if _, ok := pair.Key.(*ast.Ident); !ok {
			return // of a map or an array
		}
		fields++
		shared = shared || i > 0 && m.line(pair.Pos()) == m.line(lit.Elts[i-1].End())
	}
	if fields > maxOnLine && shared {
		m.found(kindLiteral, m.place(lit), "", fields)
	}
}

// exports notes the exported names of a file: what is declared at its top, and the methods of exported types.
func (m *measure) exports(file *ast.File) {
	note := func(name *ast.Ident) {
		if name.IsExported() {
			m.found(kindExported, m.place(name), name.Name, 1)
		}
	}
	for _, decl := range file.Decls {
		switch decl := decl.(type) {
		case *ast.FuncDecl:
			if decl.Recv == nil || ast.IsExported(receiver(decl)) {
				note(decl.Name)
			}
		case *ast.GenDecl:
			for _, spec := range decl.Specs {
				switch spec := spec.(type) {
				case *ast.TypeSpec:
					note(spec.Name)
				case *ast.ValueSpec:
					for _, name := range spec.Names {
						note(name)
					}
				}
			}
		}
	}
}

// receiver is the name of a method's type.
func receiver(method *ast.FuncDecl) string {
	of := method.Recv.List[0].Type
	if star, ok := of.(*ast.StarExpr); ok {
		of = star.X
	}
	if name, ok := of.(*ast.Ident); ok {
		return name.Name
	}
	return ""
}
