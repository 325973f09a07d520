package invoke

import (
	"slices"

	"github.com/spf13/cobra"
)

// groups are the groups of commands in the program's help.
var groups = []struct {
	id, title string
	commands  []string
}{
	{"coins", "Keys and coins:", []string{"keys", "account", "send", "pay", "cancel", "fund", "token"}},
	{"look", "Look at the chain:", []string{
		"status", "block", "tx", "events", "proof", "fees", "mempool", "watch", "rpc",
	}},
	{"contracts", "Contracts:", []string{"contract", "deploy", "call", "encode", "decode"}},
	{"node", "Run a node:", []string{"dev", "init", "node", "prove", "doctor", "snapshot", "db", "quarantine", "bench"}},
	{"network", "Run a network:", []string{"parameters", "configure", "upgrade", "cluster", "signer", "promote"}},
	{"program", "This program:", []string{"help", "version", "completion"}},
}

// arrange assigns the commands below root to groups. Commands without a group are listed last.
func arrange(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	for _, group := range groups {
		root.AddGroup(&cobra.Group{ID: group.id, Title: group.title})
		for _, command := range root.Commands() {
			if slices.Contains(group.commands, command.Name()) {
				command.GroupID = group.id
			}
		}
	}
}
