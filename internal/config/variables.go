package config

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"
)

// isSetting marks the flags that are settings and therefore have a variable. Its value describes the bounds, if any.
const isSetting = "setting"

// Names returns the names of the flags that [Register] declared.
func Names(flags *pflag.FlagSet) (names []string) {
	flags.VisitAll(func(f *pflag.Flag) {
		if _, is := f.Annotations[isSetting]; is {
			names = append(names, f.Name)
		}
	})
	return names
}

// Unknown returns a sentence for each variable with the prefix that is not a known setting, with a suggestion if there
// is a similar one. environ lists the variables as os.Environ does.
func Unknown(prefix string, known, environ []string) (sentences []string) {
	for _, variable := range environ {
		variable, _, _ = strings.Cut(variable, "=")
		name := settingName(prefix, variable)
		if !strings.HasPrefix(variable, prefix) || slices.Contains(known, name) || ofOrchestrator(name) {
			continue
		}
		sentence := variable + ": there is no such setting"
		nearest := slices.MinFunc(known, func(a, b string) int { return distance(name, a) - distance(name, b) })
		if distance(name, nearest) <= max(2, len(name)/4) {
			sentence += fmt.Sprintf("; is %s meant?", Variable(prefix, nearest))
		}
		sentences = append(sentences, sentence)
	}
	return sentences
}

// ofOrchestrator reports whether Kubernetes sets the variable for a service that has the program's name.
func ofOrchestrator(name string) bool {
	return name == "port" || name == "service-host" || strings.HasPrefix(name, "port-") ||
		strings.HasPrefix(name, "service-port")
}

// distance returns the edit distance of two names without their hyphens.
func distance(a, b string) int {
	a, b = strings.ReplaceAll(a, "-", ""), strings.ReplaceAll(b, "-", "")
	row := make([]int, len(b)+1) // Wagner and Fischer's table, row by row
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replaced := diagonal
			if a[i] != b[j] {
				replaced++
			}
			diagonal = row[j+1]
			row[j+1] = min(replaced, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
