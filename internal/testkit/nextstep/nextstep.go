// Package nextstep finds the next steps in a message for operators: commands of the program, and sections of pages.
package nextstep

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

var (
	inBackquotes = regexp.MustCompile("`(?:[^`]* )?(cairn [^`]*)`")
	ofAPage      = regexp.MustCompile(`\bdocs/[a-z]+\.md#[a-z0-9-]+`)
	heading      = regexp.MustCompile(`(?m)^#+ (.*)$`)
	notInAnchor  = regexp.MustCompile(`[^a-z0-9 -]`)
)

// Commands returns the program's command lines in backquotes. A command that runs it as another user may precede them.
func Commands(message string) (lines []string) {
	for _, found := range inBackquotes.FindAllStringSubmatch(message, -1) {
		lines = append(lines, found[1])
	}
	return lines
}

// Pages returns the sections of pages, such as docs/operators.md#backup.
func Pages(message string) []string { return ofAPage.FindAllString(message, -1) }

// CheckPage returns an error unless the repository at root has a section.
func CheckPage(root, section string) error {
	path, anchor, _ := strings.Cut(section, "#")
	text, err := os.ReadFile(filepath.Join(root, path))
	if err != nil {
		return err
	}
	for _, h := range heading.FindAllStringSubmatch(string(text), -1) {
		title := notInAnchor.ReplaceAllString(strings.ToLower(h[1]), "")
		if strings.ReplaceAll(title, " ", "-") == anchor {
			return nil
		}
	}
	return fmt.Errorf("%s has no section %s", path, anchor)
}
