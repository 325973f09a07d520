package config

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"
)

// isSetting marks the flags that are settings, and so have a variable. Its value are the bounds in words, if there are
// any.
const isSetting = "setting"

// Names are the settings among flags, as [Register] declared them.
func Names(flags *pflag.FlagSet) (names []string) {
	flags.VisitAll(func(f *pflag.Flag) {
		if _, is := f.Annotations[isSetting]; is {
			names = append(names, f.Name)
		}
	})
	return names
}

// Unknown says of each variable with a prefix that it names none of the known settings, and which it may be meant to
// name. environ lists the variables as os.Environ does.
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

// ofOrchestrator tells the variables that Kubernetes sets for a service which has the program's name.
func ofOrchestrator(name string) bool {
	return name == "port" || name == "service-host" || strings.HasPrefix(name, "port-") ||
		strings.HasPrefix(name, "service-port")
}

// distance is how many characters of a name are to be added, taken away or replaced to make another; hyphens do not
// count.
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
