package contractbuild

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/cairn-chain/cairn/internal/contractsource"
)

// CheckStorage refuses a source that gives two storage variables the same name. They would overwrite each other, and
// the Rust compiler cannot detect it. For AssemblyScript the SDK's transform refuses such a source.
func CheckStorage(s contractsource.Source) error {
	if s.Manifest.Language != contractsource.Rust {
		return nil
	}
	names := storageNames{source: s, seen: map[string]storageName{}, consts: map[string]string{}, read: map[string]bool{}}
	names.file(own(s) + "lib.rs")
	slices.SortFunc(names.all, func(a, b storageName) int { return a.order - b.order })
	for _, n := range names.all {
		if n.name == "" {
			n.name = names.consts[n.of]
		}
		if n.name == "" {
			continue // named by an expression, which only the compiler can evaluate
		}
		if first, twice := names.seen[n.name]; twice {
			return fmt.Errorf("%q is the name of %s and %s in storage (%s:%d, %s:%d): they would overwrite each other",
				n.name, first.variable, n.variable, first.at, first.line, n.at, n.line)
		}
		names.seen[n.name] = n
	}
	return nil
}

// storageName is a storage variable.
type storageName struct {
	variable, name, of string // of is the constant that holds the name, if it is not a literal
	at                 string // file name
	line, order        int
}

// storageNames scans the files reachable from a contract's lib.rs.
type storageNames struct {
	source contractsource.Source
	all    []storageName
	seen   map[string]storageName
	consts map[string]string
	read   map[string]bool
}

// file scans a file and the modules that it declares, except test modules.
func (n *storageNames) file(file string) {
	content, ok := n.source.Files[file]
	if !ok || n.read[file] {
		return
	}
	n.read[file] = true
	tokens := rustTokens(string(content))
	dir := path.Dir(file)
	if base := path.Base(file); base != "lib.rs" && base != "mod.rs" {
		dir = path.Join(dir, strings.TrimSuffix(base, ".rs"))
	}
	for i := 0; i < len(tokens); i++ {
		at := tokens[i:]
		switch {
		case spells(at, "#", "[", "cfg", "(", "test", ")", "]"):
			i += skipItem(at)
		case spells(at, "mod") && len(at) > 2 && at[2].is(";"):
			n.file(path.Join(dir, at[1].text+".rs"))
			n.file(path.Join(dir, at[1].text, "mod.rs"))
		case spells(at, "const") && len(at) > 2 && at[2].is(":"):
			if name, _ := valueOf(at); name != nil && name.literal {
				n.consts[at[1].text] = name.text
			}
		case spells(at, "static") && len(at) > 2 && at[2].is(":"):
			if name, stored := valueOf(at); name != nil && stored {
				n.add(file, at[1], *name)
			}
		case spells(at, "storage", "{"):
			n.section(file, at[2:])
		}
	}
}

func (n *storageNames) add(file string, variable, name rustToken) {
	found := storageName{variable: variable.text, at: file, line: variable.line, order: len(n.all)}
	if name.literal {
		found.name = name.text
	} else {
		found.of = name.text
	}
	n.all = append(n.all, found)
}

// section scans a contract's storage section: NAME: TYPE = "name", separated by commas.
func (n *storageNames) section(file string, tokens []rustToken) {
	for len(tokens) > 2 && tokens[1].is(":") {
		equals := slices.IndexFunc(tokens, func(t rustToken) bool { return t.is("=") || t.is("}") })
		if equals < 0 || !tokens[equals].is("=") || equals+1 >= len(tokens) {
			return
		}
		n.add(file, tokens[0], tokens[equals+1])
		tokens = tokens[equals+2:]
		if len(tokens) > 0 && tokens[0].is(",") {
			tokens = tokens[1:]
		}
	}
}

// valueOf returns the literal or constant at the end of a const or static item. stored reports whether it is the
// argument of Cell::new, Map::new or List::new.
func valueOf(tokens []rustToken) (value *rustToken, stored bool) {
	isValue := false
	for i, t := range tokens {
		switch {
		case t.is(";"):
			return value, stored
		case t.is("="):
			isValue = true
		case !isValue:
		case !t.literal && slices.Contains([]string{"Cell", "Map", "List"}, t.text):
			stored = true
		case t.literal || len(tokens) > i+1 && tokens[i+1].is(")") && isWord(t.text[0]):
			value = &tokens[i]
		}
	}
	return nil, false
}

// skipItem returns the number of tokens of an attribute and the item that follows.
func skipItem(tokens []rustToken) int {
	depth := 0
	for i, t := range tokens {
		switch {
		case t.is("{"), t.is("("), t.is("["):
			depth++
		case t.is("}"), t.is(")"), t.is("]"):
			if depth--; depth == 0 && t.is("}") {
				return i
			}
		case t.is(";") && depth == 0:
			return i
		}
	}
	return len(tokens) - 1
}

// rustToken is a word, a sign, or the text of a string literal.
type rustToken struct {
	text    string
	literal bool
	line    int
}

func (t rustToken) is(text string) bool { return !t.literal && t.text == text }

func spells(tokens []rustToken, texts ...string) bool {
	if len(tokens) < len(texts) {
		return false
	}
	for i, text := range texts {
		if !tokens[i].is(text) {
			return false
		}
	}
	return true
}

// rustTokens tokenizes a source as far as storage names require: it drops comments and
// character literals, and takes numbers for words.
func rustTokens(text string) (tokens []rustToken) {
	line := 1
	add := func(token string, literal bool) { tokens = append(tokens, rustToken{token, literal, line}) }
	skip := func(n int) {
		line += strings.Count(text[:n], "\n")
		text = text[n:]
	}
	for len(text) > 0 {
		switch {
		case strings.HasPrefix(text, "//"):
			end := strings.IndexByte(text, '\n')
			if end < 0 {
				return tokens
			}
			skip(end)
		case strings.HasPrefix(text, "/*"):
			skip(commentLength(text))
		case rawQuotes(text) > 0:
			quotes := rawQuotes(text)
			closing := `"` + strings.Repeat("#", quotes-1)
			start := strings.IndexByte(text, '"') + 1
			end := strings.Index(text[start:], closing)
			if end < 0 {
				return tokens
			}
			add(text[start:start+end], true)
			skip(start + end + len(closing))
		case text[0] == '"':
			end := 1
			for end < len(text) && text[end] != '"' {
				if text[end] == '\\' {
					end++
				}
				end++
			}
			if end >= len(text) {
				return tokens
			}
			add(text[1:end], true)
			skip(end + 1)
		case text[0] == '\'':
			skip(characterLength(text))
		case isWord(text[0]):
			end := 1
			for end < len(text) && isWord(text[end]) {
				end++
			}
			add(text[:end], false)
			skip(end)
		default:
			if text[0] > ' ' {
				add(text[:1], false)
			}
			skip(1)
		}
	}
	return tokens
}

func isWord(b byte) bool {
	return b == '_' || b >= '0' && b <= '9' || b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= 0x80
}

// commentLength returns the length of a block comment, which may be nested.
func commentLength(text string) int {
	depth := 0
	for i := 0; i+1 < len(text); i++ {
		switch text[i : i+2] {
		case "/*":
			depth++
			i++
		case "*/":
			i++
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return len(text)
}

// rawQuotes returns one more than the number of # of a raw string that begins here, or 0 for anything else.
func rawQuotes(text string) int {
	if text[0] != 'r' {
		return 0
	}
	signs := len(text[1:]) - len(strings.TrimLeft(text[1:], "#"))
	if rest := text[1+signs:]; rest == "" || rest[0] != '"' {
		return 0
	}
	return signs + 1
}

// characterLength returns the length of a character literal, or 1 for the quote of a lifetime.
func characterLength(text string) int {
	if len(text) > 2 && text[1] == '\\' {
		if end := strings.IndexByte(text[3:], '\''); end >= 0 {
			return 3 + end + 1
		}
		return 1
	}
	end := strings.IndexByte(text[1:], '\'')
	if end > 0 && end <= 4 && len([]rune(text[1:1+end])) == 1 {
		return end + 2
	}
	return 1
}
