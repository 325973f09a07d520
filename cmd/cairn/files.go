package main

import (
	"errors"
	"fmt"
	"log/slog"

	"github.com/cairn-chain/cairn/cli/output"
	"github.com/cairn-chain/cairn/internal/datadir"
	"github.com/cairn-chain/cairn/internal/machine"
	"github.com/cairn-chain/cairn/internal/node"
)

// shareFiles gives database and public address their shares of the files that the process may have open. The log is
// told if fewer connections remain than the setting says. If the node could not run, the error says what it needs.
func shareFiles(options *datadir.Options, serving *node.Serving, log *slog.Logger) error {
	files, err := machine.ShareFiles()
	if errors.Is(err, machine.ErrUnknown) {
		return nil
	}
	if err != nil {
		return output.Usage(err)
	}
	options.Database.OpenTables, serving.FileReads = files.Database, files.Served
	if wanted := serving.HTTP.MaxConnections; files.Public < wanted {
		log.Warn("fewer connections than --max-connections may be open: the limit of open files is too low",
			"connections", files.Public, "max-connections", wanted, "limit", files.Limit, "needed", machine.FilesFor(wanted))
		serving.HTTP.MaxConnections = files.Public
	}
	return nil
}

// checkFiles says what the limit of open files is enough for.
func checkFiles(s httpSettings) finding {
	const check = "open files"
	files, err := machine.ShareFiles()
	switch {
	case errors.Is(err, machine.ErrUnknown):
		return finding{Check: check, State: stateWarning, Detail: "the limit is " + err.Error()}
	case err != nil:
		return problem(check, err, "set it where the node is started")
	}
	f := finding{
		Check: check, State: stateOK,
		Detail: fmt.Sprintf("at most %d, of them %d connections of JSON-RPC", files.Limit, files.Public),
	}
	if wanted := int(s.MaxConnections); files.Public < wanted {
		f.State, f.Advice = stateWarning, fmt.Sprintf("--max-connections is %d: raise the hard limit to %d (ulimit -n, or "+
			"LimitNOFILE in the systemd unit), or accept fewer", wanted, machine.FilesFor(wanted))
	}
	return f
}
