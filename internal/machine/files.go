package machine

import (
	"errors"
	"fmt"
)

// ErrUnknown is the error of what a system does not tell.
var ErrUnknown = errors.New("not known on this system")

// Files is how a node shares out the files that its process may have open. What strangers open comes out of a share of
// its own, so they never take the descriptor that the database needs for its next file.
type Files struct {
	Limit    int // of the process
	Database int // tables that the database keeps open
	Public   int // connections of the public address
	Served   int // files that are read for them at a time
}

// What is kept from the public address.
const (
	// ownFiles are the standard streams, locks, journals, and files that are written now and then.
	ownFiles = 64
	// peerFiles are connections with other nodes, the signer and a collector of traces, whoever dialed, with the
	// strangers that the cluster's port lets in.
	peerFiles = 128
	// AdminConnections are those of the admin address.
	AdminConnections = 64

	// The database gets an eighth of all, between these. Tables that readers hold, its log, and files that it writes
	// come beside those that it keeps open.
	leastTables = 128
	mostTables  = 1000
	besideTable = 32

	// LeastFiles is the lowest limit with which a node runs.
	LeastFiles = 512
	// mostFiles stands for no limit.
	mostFiles = 1 << 20

	servedPart = 8 // of what is left for the public address, one part in so many
)

// reserve is what is kept from the public address where the database keeps so many tables open.
func reserve(tables int) int {
	return ownFiles + peerFiles + AdminConnections + tables + tables/2 + besideTable
}

// ShareFiles shares out the files that this process may have open. At its start Go has raised the limit as far as the
// process may (the hard limit of setrlimit(2)). Where the limit is not known the error is [ErrUnknown].
func ShareFiles() (Files, error) {
	limit, err := openFilesLimit()
	if err != nil {
		return Files{}, err
	}
	return shareFiles(int(min(limit, mostFiles)))
}

func shareFiles(limit int) (Files, error) {
	if limit < LeastFiles {
		return Files{}, fmt.Errorf("the process may have %d files open, and a node needs %d: raise the hard limit "+
			"(ulimit -n 65536, or LimitNOFILE=65536 in its systemd unit)", limit, LeastFiles)
	}
	f := Files{Limit: limit, Database: min(max(limit/8, leastTables), mostTables)}
	left := limit - reserve(f.Database)
	f.Served = left / servedPart
	f.Public = left - f.Served
	return f, nil
}

// FilesFor is the lowest limit with which so many connections of the public address can be open.
func FilesFor(connections int) int {
	limit := LeastFiles
	for {
		f, _ := shareFiles(limit) // it is no lower than the least
		if f.Public >= connections || limit >= mostFiles {
			return limit
		}
		limit += max(1, (connections-f.Public)/2)
	}
}
