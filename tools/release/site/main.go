// Command site makes a static site of the repository's Markdown pages: what README.md links to, and what that links to
// in turn. The site has a search, and asks nobody else for anything.
package main

import (
	"flag"
	"fmt"
	"os"
)

func main() {
	source := flag.String("source", ".", "directory of the repository")
	out := flag.String("out", "dist/docs", "output directory; its contents are replaced")
	flag.Parse()
	pages, err := build(os.DirFS(*source), *out)
	if err != nil {
		fmt.Fprintln(os.Stderr, "site:", err)
		os.Exit(1)
	}
	fmt.Printf("%d pages in %s\n", pages, *out)
}
