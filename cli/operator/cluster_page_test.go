package operator

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// The page about clusters names every command for clusters and signers with its flags, and the node's flags for them.
func TestClusterPageNamesCommandsAndFlags(t *testing.T) {
	content, err := os.ReadFile("../../docs/cluster.md")
	if err != nil {
		t.Fatal(err)
	}
	page := string(content)
	root := NewRoot(func() error { return nil })
	inherited := map[string]bool{"help": true}
	root.PersistentFlags().VisitAll(func(f *pflag.Flag) { inherited[f.Name] = true })
	named := func(command *cobra.Command, theirs func(*pflag.Flag) bool) {
		command.Flags().VisitAll(func(f *pflag.Flag) {
			if !inherited[f.Name] && theirs(f) && !regexp.MustCompile("--"+f.Name+`\b[^-]`).MatchString(page) {
				t.Errorf("docs/cluster.md does not name --%s of %s", f.Name, command.CommandPath())
			}
		})
	}
	commands := 0
	for _, group := range root.Commands() {
		switch group.Name() {
		case "cluster", "signer":
			for _, command := range group.Commands() {
				commands++
				if !strings.Contains(page, command.CommandPath()) {
					t.Errorf("docs/cluster.md does not name %s", command.CommandPath())
				}
				named(command, func(*pflag.Flag) bool { return true })
			}
		case "node":
			about := regexp.MustCompile(`\b(cluster|member|signer)`)
			named(group, func(f *pflag.Flag) bool { return about.MatchString(f.Name + " " + f.Usage) })
		}
	}
	if commands < 11 {
		t.Errorf("got %d commands of clusters and signers, want 11 or more", commands)
	}
}
