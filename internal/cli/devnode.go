package cli

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"syscall"
)

// DevNodeFile is the name, in the program's home directory, of the ready file that `cairn dev` writes if it is told no
// other.
const DevNodeFile = "dev.json"

const (
	defaultRPCURL   = "http://127.0.0.1:8777"
	maxDevNodeBytes = 1 << 20
)

// devNodeURL is where the development node serves that runs on this machine; the default address if none is known to
// run.
func devNodeURL(environ []string) string {
	home, err := defaultHome(environ)
	if err != nil {
		return defaultRPCURL
	}
	file, err := os.Open(filepath.Join(home, DevNodeFile))
	if err != nil {
		return defaultRPCURL
	}
	defer file.Close()
	var node struct {
		RPC string `json:"rpc"`
		PID int    `json:"pid"`
	}
	if json.NewDecoder(io.LimitReader(file, maxDevNodeBytes)).Decode(&node) != nil || node.RPC == "" || !runs(node.PID) {
		return defaultRPCURL // of one that was killed
	}
	return node.RPC
}

// runs tells whether there is a process. Windows knows it when the process is looked for, other systems when it is
// signalled.
func runs(pid int) bool {
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
