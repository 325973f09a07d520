package hunt

import (
	_ "embed"
	"strings"
)

//go:embed testdata/corpus.txt
var corpusText string

// Corpus holds the genes that are kept: the shapes that attacks began with, and the worst that searches found.
func Corpus() (all []Genes) {
	for line := range strings.Lines(corpusText) {
		if line = strings.TrimSpace(line); line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		g, err := Parse(line)
		if err != nil {
			panic("testdata/corpus.txt: " + err.Error())
		}
		all = append(all, g)
	}
	return all
}
