package contractbuild

import (
	"bytes"
	"fmt"
)

// Differences describes the sections in which two modules differ, one sentence each, or returns none if the modules are
// identical. named is the module built with function names.
func Differences(built, other, named []byte) []string {
	if bytes.Equal(built, other) {
		return nil
	}
	ours, err := sections(built)
	theirs, otherErr := sections(other)
	if err != nil || otherErr != nil {
		return []string{"not a WebAssembly module"}
	}
	var found []string
	for i := range max(len(ours), len(theirs)) {
		switch {
		case i >= len(ours):
			found = append(found, theirs[i].title()+" is not in the compiled source")
		case i >= len(theirs):
			found = append(found, ours[i].title()+" is missing")
		case ours[i].title() != theirs[i].title():
			return append(found, fmt.Sprintf("it has %s, but the source compiles to %s", theirs[i].title(), ours[i].title()))
		case bytes.Equal(ours[i].content, theirs[i].content):
		case ours[i].id == codeSection:
			found = append(found, "section code: "+differentFunctions(built, other, named))
		default:
			found = append(found, fmt.Sprintf("%s: %d bytes, and %d of the source", ours[i].title(), len(theirs[i].content),
				len(ours[i].content)))
		}
	}
	if len(found) == 0 {
		found = append(found, "the lengths of sections are written in another way")
	}
	return found
}

// sectionNames holds the names of WebAssembly's sections.
var sectionNames = [...]string{
	1: "type", "import", "function", "table", "memory", "global", "export", "start", "element", "code", "data",
}

// title returns a section's name for people.
func (s section) title() string {
	switch {
	case s.id == customSection:
		return fmt.Sprintf("section %q", s.name)
	case int(s.id) < len(sectionNames):
		return "section " + sectionNames[s.id]
	}
	return fmt.Sprintf("section %d", s.id)
}

// differentFunctions compares two code sections.
func differentFunctions(built, other, named []byte) string {
	ours, err := functionsOf(built)
	theirs, otherErr := functionsOf(other)
	names, namedErr := functionsOf(named)
	if err != nil || otherErr != nil || namedErr != nil {
		return "it cannot be read"
	}
	if len(ours.bodies) != len(theirs.bodies) {
		return fmt.Sprintf("%d functions, and %d of the source", len(theirs.bodies), len(ours.bodies))
	}
	count, first := 0, 0
	for i := range ours.bodies {
		if !bytes.Equal(ours.bodies[i], theirs.bodies[i]) {
			if count++; count == 1 {
				first = i
			}
		}
	}
	if count == 0 {
		return "the lengths of functions are written in another way"
	}
	return fmt.Sprintf("%d of %d functions, first %s", count, len(ours.bodies), names.name(first))
}
