package machine

import (
	"errors"
	"fmt"
)

// ErrUnknown is returned for information that the system does not provide.
var ErrUnknown = errors.New("unknown on this system")

// Files is a node's division of the process's open-file limit. Connections of strangers have a share of their own, so
// they never take the descriptor that the database needs for its next file.
type Files struct {
	Limit    int // limit of the process
	Database int // tables that the database keeps open
	Public   int // connections of the public address
	Served   int // files read at a time for these connections
}

// The public address does not get these descriptors.
const (
	// ownFiles is for the standard streams, locks, journals, and files that are written now and then.
	ownFiles = 64
	// peerFiles is for the connections with other nodes, the signer and a trace collector, in either direction, and for
	// the strangers that the cluster's port admits.
	peerFiles = 128
	// AdminConnections is the limit of connections of the admin address.
	AdminConnections = 64

	// The database gets an eighth of the limit, within these bounds, for the tables that it keeps open. Tables held by
	// readers, its log, and the files that it writes need more.
	leastTables = 128
	mostTables  = 1000
	besideTable = 32

	// LeastFiles is the lowest limit at which a node runs.
	LeastFiles = 512
	// mostFiles replaces an unlimited or higher limit.
	mostFiles = 1 << 20

	servedPart = 8 // one descriptor in servedPart left for the public address is for files
)

// reserve returns the number of descriptors kept from the public address if the database keeps the given number of
// tables open.
func reserve(tables int) int {
	return ownFiles + peerFiles + AdminConnections + tables + tables/2 + besideTable
}

// ShareFiles divides this process's open-file limit. Go raises the limit at the start to the hard limit of
// setrlimit(2). ShareFiles returns [ErrUnknown] if the limit is not known.
func ShareFiles() (Files, error) {
	limit, err := openFilesLimit()
	if err != nil {
		return Files{}, err
	}
	return shareFiles(int(min(limit, mostFiles)))
}

func shareFiles(limit int) (Files, error) {
	if limit < LeastFiles {
		return Files{}, fmt.Errorf("the open-file limit is %d, but a node needs %d: raise the hard limit (ulimit -n "+
			"65536, or LimitNOFILE=65536 in its systemd unit)", limit, LeastFiles)
	}
	f := Files{Limit: limit, Database: min(max(limit/8, leastTables), mostTables)}
	left := limit - reserve(f.Database)
	f.Served = left / servedPart
	f.Public = left - f.Served
	return f, nil
}

// FilesFor returns the lowest limit that allows the given number of connections of the public address.
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
