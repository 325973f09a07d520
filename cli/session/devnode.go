package session

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

// DevNodeFile is the default name, in the program's home directory, of the ready file that `cairn dev` writes.
const DevNodeFile = "dev.json"

const (
	defaultRPCURL   = "http://127.0.0.1:8777"
	maxDevNodeBytes = 1 << 20
)

// devNode describes a development node running on this machine.
type devNode struct {
	RPC   string `json:"rpc"`
	Admin string `json:"admin"`
	Token string `json:"adminTokenFile"`
	PID   int    `json:"pid"`
}

// runningDevNode reads the ready file of a development node. runs is false if none is running: the file may remain from
// a killed node.
func runningDevNode(home string) (node devNode, runs bool) {
	file, err := os.Open(filepath.Join(home, DevNodeFile))
	if err != nil {
		return node, false
	}
	defer file.Close()
	err = json.NewDecoder(io.LimitReader(file, maxDevNodeBytes)).Decode(&node)
	return node, err == nil && node.RPC != "" && processRuns(node.PID)
}

// Admin returns a client for an admin address. Without a token file, it uses the token of the development node running
// at the address, or else the token of the node in the home directory.
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

// devNodeURL returns the URL of the development node running on this machine, or the default URL if there is none.
func devNodeURL(environ []string) string {
	if home := Home(environ); home != "" {
		if node, runs := runningDevNode(home); runs {
			return node.RPC
		}
	}
	return defaultRPCURL
}

// processRuns reports whether a process exists. Windows detects a missing process when it is looked up, other systems
// when it is signalled.
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
