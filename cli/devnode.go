package cli

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/cairn-chain/cairn/internal/server/admin"
)

// DevNodeFile is the name, in the program's home directory, of the ready file that `cairn dev` writes if it is told no
// other.
const DevNodeFile = "dev.json"

const (
	defaultRPCURL   = "http://127.0.0.1:8777"
	maxDevNodeBytes = 1 << 20
)

// devNode is what is known of a development node that runs on this machine.
type devNode struct {
	RPC   string `json:"rpc"`
	Admin string `json:"admin"`
	Token string `json:"adminTokenFile"`
	PID   int    `json:"pid"`
}

// runningDevNode reads the ready file of a development node. It is false where none is known to run: the file may be of
// one that was killed.
func runningDevNode(home string) (node devNode, runs bool) {
	file, err := os.Open(filepath.Join(home, DevNodeFile))
	if err != nil {
		return node, false
	}
	defer file.Close()
	err = json.NewDecoder(io.LimitReader(file, maxDevNodeBytes)).Decode(&node)
	return node, err == nil && node.RPC != "" && processRuns(node.PID)
}

// Admin asks the node of an admin address. Where no file with its token is named, it is the file of the development
// node that runs there. If none does, it is the file of the node in the home directory.
func Admin(url, tokenFile string) admin.Client {
	c := admin.Client{URL: url, TokenFile: tokenFile}
	home := Home(os.Environ())
	if tokenFile != "" || home == "" {
		return c
	}
	c.TokenFile = filepath.Join(home, "node", "admin.token")
	if node, runs := runningDevNode(home); runs && strings.TrimSuffix(url, "/") == node.Admin {
		c.TokenFile = node.Token
	}
	return c
}

// devNodeURL is where the development node serves that runs on this machine; the default address if none is known to
// run.
func devNodeURL(environ []string) string {
	if home := Home(environ); home != "" {
		if node, runs := runningDevNode(home); runs {
			return node.RPC
		}
	}
	return defaultRPCURL
}

// processRuns tells whether there is a process. Windows knows it when the process is looked for, other systems when it
// is signalled.
func processRuns(pid int) bool {
	if pid <= 0 {
		return false
	}
	process, err := os.FindProcess(pid)
	if err != nil {
		return false
	}
	err = process.Signal(syscall.Signal(0))
	return !errors.Is(err, os.ErrProcessDone) && !errors.Is(err, syscall.ESRCH)
}
