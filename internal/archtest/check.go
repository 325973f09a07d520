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
	"strconv"
	"strings"
)

// Check reads every Go file of a source tree and lists violations of the table, in the order of the files. It parses
// the sources itself, as the test cache does not track files that a tool in another process reads.
func Check(tree fs.FS) ([]string, error) {
	problems, _, err := check(tree)
	return problems, err
}

// CheckAllowances lists the unused entries of the table: an import in rows that no source needs, one in testRows that
// no test needs, an importer of a shared module, or an exception.
func CheckAllowances(tree fs.FS) ([]string, error) {
	_, u, err := check(tree)
	if err != nil {
		return nil, err
	}
	var stale []string
	for table, allowed := range map[string]map[string][]string{
		"rows": rows, "testRows": testRows, "sharedModules": sharedModules, "exceptions": exceptions,
	} {
		for key, patterns := range allowed {
			for _, pattern := range patterns {
				if table == "rows" && !u.sources[key] {
					continue // a package that has only tests
				}
				if !u.used[allowance{table, key, pattern}] {
					stale = append(stale, fmt.Sprintf("%s: nobody needs that %s allows %s", table, key, pattern))
				}
			}
		}
	}
	slices.Sort(stale)
	return stale, nil
}

// allowance is a pattern in one of the tables, under a key.
type allowance struct{ table, key, pattern string }

// uses records the parts of the tables that a tree's files need.
type uses struct {
	used      map[allowance]bool
	sources   map[string]bool     // packages with a file that is not a test
	importers map[string][]string // importers of the packages of other modules
}

// allows reports whether a pattern matches the package, and records the first that does.
func (u *uses) allows(table, key string, patterns []string, pkg string) bool {
	i := slices.IndexFunc(patterns, func(pattern string) bool { return matches([]string{pattern}, pkg) })
	if i >= 0 {
		u.used[allowance{table, key, patterns[i]}] = true
	}
	return i >= 0
}

func check(tree fs.FS) ([]string, *uses, error) {
	var problems []string
	u := &uses{map[allowance]bool{}, map[string]bool{}, map[string][]string{}}
	err := walk(tree, func(name string) error {
		if path.Ext(name) != ".go" {
			return nil
		}
		found, err := u.checkFile(tree, name)
		problems = append(problems, found...)
		return err
	})
	return append(problems, u.checkImporters()...), u, err
}

// walk visits the files of a source tree, except test data and installed files.
func walk(tree fs.FS, visit func(name string) error) error {
	return fs.WalkDir(tree, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if !entry.IsDir() {
			return visit(name)
		}
		if base := entry.Name(); base == "testdata" || base == "node_modules" ||
			strings.HasPrefix(base, ".") && base != "." {
			return fs.SkipDir
		}
		return nil
	})
}

func (u *uses) checkFile(tree fs.FS, name string) (problems []string, err error) {
	source, err := fs.ReadFile(tree, name)
	if err != nil {
		return nil, err
	}
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, name, source, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	pkg, isTest := path.Dir(name), strings.HasSuffix(name, "_test.go")
	report := func(at token.Pos, format string, args ...any) {
		problems = append(problems, fmt.Sprintf("%s: %s", files.Position(at), fmt.Sprintf(format, args...)))
	}
	row, known := rows[pkg]
	if !known {
		report(file.Package, "package %s has no row in the table", pkg)
	}
	if slices.Contains(bannedNames, path.Base(pkg)) {
		report(file.Package, "package name %s says nothing about what is inside", path.Base(pkg))
	}
	strict := matches(deterministic, pkg) && !isTest
	u.sources[pkg] = u.sources[pkg] || !isTest
	for _, spec := range file.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return nil, err
		}
		own, isOwn := strings.CutPrefix(imported, module)
		switch own = strings.TrimPrefix(own, "/"); {
		case strings.HasPrefix(pkg, "internal/engine/") && matches(wire, own):
			report(spec.Pos(), "%s is part of the engine and may not import %s", pkg, own)
		case isOwn && !mayEnter(pkg, own):
			report(spec.Pos(), "%s is of another house than %s and may not import it", pkg, own)
		case isOwn && own == pkg, isOwn && isTest && own == "internal/testkit/testchain":
		case isOwn && isTest && matches(row, own):
		case isOwn && isTest && u.allows("testRows", pkg, testRows[pkg], own):
		case isOwn && !isTest && u.allows("rows", pkg, row, own):
		case isOwn:
			report(spec.Pos(), "%s may not import %s", pkg, own)
		case strict && matches(bannedImports, imported) && !u.allows("exceptions", pkg, exceptions[pkg], imported):
			report(spec.Pos(), "%s is deterministic and may not import %s", pkg, imported)
		case strings.Contains(strings.Split(imported, "/")[0], ".") && !isTest:
			if !slices.Contains(u.importers[imported], pkg) {
				u.importers[imported] = append(u.importers[imported], pkg)
			}
		}
	}
	if strict {
		checkDeterminism(file, report)
	}
	checkReserved(file, pkg, report)
	return problems, nil
}

// mayEnter reports whether the houses allow a package to import another.
func mayEnter(pkg, own string) bool {
	for house, guests := range houses {
		if matches([]string{house}, own) && !matches(guests, pkg) {
			return false
		}
	}
	return true
}

// checkReserved reports uses of reserved names of other packages. Packages must be imported under their own names.
func checkReserved(file *ast.File, pkg string, report func(token.Pos, string, ...any)) {
	names := map[string]string{}
	for full := range reserved {
		names[path.Base(full)] = full
	}
	ast.Inspect(file, func(n ast.Node) bool {
		if n, ok := n.(*ast.SelectorExpr); ok {
			if x, ok := n.X.(*ast.Ident); ok {
				full, ok := names[x.Name+"."+n.Sel.Name]
				if ok && !slices.Contains(reserved[full], pkg) {
					report(n.Pos(), "%s may not use %s", pkg, full)
				}
			}
		}
		return true
	})
}

// checkDeterminism reports goroutines, channels and floats.
func checkDeterminism(file *ast.File, report func(token.Pos, string, ...any)) {
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			report(n.Pos(), "a deterministic package starts no goroutine")
		case *ast.ChanType, *ast.SelectStmt:
			report(n.Pos(), "a deterministic package has no channels")
		case *ast.Ident:
			if n.Name == "float32" || n.Name == "float64" {
				report(n.Pos(), "a deterministic package has no floats")
			}
		case *ast.BasicLit:
			if n.Kind == token.FLOAT {
				report(n.Pos(), "a deterministic package has no floats")
			}
		}
		return true
	})
}

// checkImporters reports modules that more than one package imports without an entry in the table.
func (u *uses) checkImporters() (problems []string) {
	for _, imported := range sorted(u.importers) {
		by := u.importers[imported]
		surplus := slices.DeleteFunc(slices.Clone(by), func(p string) bool {
			return u.allows("sharedModules", imported, sharedModules[imported], p)
		})
		if len(by) > 1 && len(surplus) > 0 {
			problems = append(problems, fmt.Sprintf("%s is imported by %s: one package each", imported, strings.Join(by, ", ")))
		}
	}
	return problems
}

func sorted(m map[string][]string) []string {
	return slices.Sorted(maps.Keys(m))
}

// matches reports whether a pattern matches the package: exactly, or as "prefix/..." for all packages below a prefix.
func matches(patterns []string, pkg string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		prefix, below := strings.CutSuffix(pattern, "...")
		return pattern == pkg || below && strings.HasPrefix(pkg+"/", prefix)
	})
}
