package operator

import (
	"errors"
	"fmt"
	"log/slog"

	"github.com/cairn-chain/cairn/cli/output"
	"github.com/cairn-chain/cairn/internal/datadir"
	"github.com/cairn-chain/cairn/internal/machine"
	"github.com/cairn-chain/cairn/internal/node"
)

// shareFiles divides the process's open-file limit between the database and the public address. It lowers the limit of
// connections, with a warning, if too few files remain for the setting. It returns an error with the needed limit if a
// node cannot run.
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
		log.Warn("the open-file limit is too low for --max-connections: accepting fewer connections; raise the limit "+
			"(ulimit -n, or LimitNOFILE in the systemd unit)",
			"connections", files.Public, "max-connections", wanted, "limit", files.Limit, "needed", machine.FilesFor(wanted))
		serving.HTTP.MaxConnections = files.Public
	}
	return nil
}

// checkFiles reports the number of connections that the open-file limit allows.
func checkFiles(s httpSettings) finding {
	const check = "open files"
	files, err := machine.ShareFiles()
	switch {
	case errors.Is(err, machine.ErrUnknown):
		return finding{Check: check, State: stateWarning, Detail: "the limit is " + err.Error()}
	case err != nil:
		return problem(check, err, "raise the limit where the node is started")
	}
	f := finding{
		Check: check, State: stateOK,
		Detail: fmt.Sprintf("limit %d, which leaves %d for JSON-RPC connections", files.Limit, files.Public),
	}
	if wanted := int(s.MaxConnections); files.Public < wanted {
		f.State, f.Advice = stateWarning, fmt.Sprintf("--max-connections is %d: raise the hard limit to %d (ulimit -n, or "+
			"LimitNOFILE in the systemd unit), or accept fewer", wanted, machine.FilesFor(wanted))
	}
	return f
}
