package e2e

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/cairn-chain/cairn/internal/storage/kv"
	"github.com/cairn-chain/cairn/internal/storage/signstate"
	"github.com/cairn-chain/cairn/types"
)

// TestStopUnderLoad stops a busy node as its user does: it exits with 0, and no acknowledged transaction is lost.
func TestStopUnderLoad(t *testing.T) {
	t.Parallel()
	for name, signal := range map[string]syscall.Signal{"SIGTERM": syscall.SIGTERM, "SIGINT": syscall.SIGINT} {
		t.Run(name, func(t *testing.T) {
			s := newSurvivor(t, uint64(signal), 512)
			s.start = func() []string { return []string{"node", "--data-dir", s.dir, "--block-time", "200ms"} }
			for s.load.acknowledged() == 0 {
				if err := s.live(func(node *process) error { return errors.Join(node.End(signal), node.Wait()) }); err != nil {
					t.Fatal(err)
				}
			}
			if err := s.finish(); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// TestStopBeforeAChain stops nodes that wait for an upstream to provide the beginning of a chain: they exit with 0.
func TestStopBeforeAChain(t *testing.T) {
	t.Parallel()
	genesis, hash := filepath.Join(initialize(t), "genesis.json"), types.BlockHash{1}.String()
	for name, args := range map[string][]string{
		"genesis":         {"--genesis-hash", hash},
		"snapshot":        {"--genesis", genesis, "--bootstrap", "snapshot"},
		"a trusted block": {"--genesis", genesis, "--verify", "stateless", "--trusted-header", "7:" + hash},
	} {
		t.Run(name, func(t *testing.T) {
			asked, give := make(chan struct{}, 1), make(chan struct{})
			upstream := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
				select {
				case asked <- struct{}{}:
				default: // the program asks again
				}
				<-give
			}))
			defer upstream.Close()
			defer close(give)
			node := launch(
				t, append([]string{"node", "--mode", "replica", "--data-dir", t.TempDir(), "--upstream", upstream.URL}, args...)...,
			)
			select {
			case <-asked:
			case <-node.Ended():
				t.Fatal(node.EndedEarly())
			}
			if err := node.Stop(); err != nil {
				t.Error(err)
			}
		})
	}
}

// initialize makes a network and returns its data directory.
func initialize(t *testing.T, args ...string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "chain")
	newUser(t).succeeds(nil, append([]string{"init", dir}, args...)...)
	return dir
}

// anyPorts are the arguments of a node that must not serve, and that would serve on these addresses.
var anyPorts = []string{"--rpc-addr", "127.0.0.1:0", "--admin-addr", "127.0.0.1:0"}

func TestSecondNodeOnADataDirectoryIsRefused(t *testing.T) {
	t.Parallel()
	dir := initialize(t)
	first := start(t, "node", "--data-dir", dir)
	refused := newUser(t).fails(exitFailed, append([]string{"node", "--data-dir", dir}, anyPorts...)...)
	if !strings.Contains(refused.Message, "in use by another process") {
		t.Errorf("it says %q", refused.Message)
	}
	newUser(t).of(first).succeeds(nil, "status")
	if err := first.Stop(); err != nil {
		t.Fatal(err)
	}
	if err := start(t, "node", "--data-dir", dir).Stop(); err != nil {
		t.Errorf("after the first: error %v", err)
	}
}

func TestAddressInUseIsRefused(t *testing.T) {
	t.Parallel()
	first := startDev(t, "--ephemeral")
	address := strings.TrimPrefix(first.RPC, "http://")
	refused := newUser(t).fails(exitFailed, "dev", "--ephemeral", "--rpc-addr", address, "--admin-addr", "127.0.0.1:0")
	if !strings.Contains(refused.Message, address) || !strings.Contains(refused.Message, "in use") {
		t.Errorf("it says %q", refused.Message)
	}
}

// TestOtherGenesisIsRefused starts a node with the data of one chain and the genesis of another.
func TestOtherGenesisIsRefused(t *testing.T) {
	t.Parallel()
	dir, other := initialize(t), initialize(t, "--chain-id", "77")
	development := filepath.Join(t.TempDir(), "dev")
	for _, node := range []*process{start(t, "node", "--data-dir", dir), startDev(t, "--data-dir", development)} {
		if err := node.Stop(); err != nil {
			t.Fatal(err)
		}
	}
	for name, args := range map[string][]string{
		"another network's": {
			"node", "--data-dir", dir, "--genesis", filepath.Join(other, "genesis.json"), "--protocol-key",
			filepath.Join(other, "protocol.key"),
		},
		"another mnemonic's": {"dev", "--data-dir", development, "--mnemonic", strings.Repeat("abandon ", 11) + "about"},
		"fewer accounts":     {"dev", "--data-dir", development, "--accounts", "3"},
	} {
		t.Run(name, func(t *testing.T) {
			refused := newUser(t).fails(exitUsage, append(args, anyPorts...)...)
			if strings.Count(refused.Message, "0x") != 2 || !strings.Contains(refused.Message, "genesis") {
				t.Errorf("it says %q", refused.Message)
			}
		})
	}
	if err := start(t, "node", "--data-dir", dir).Stop(); err != nil {
		t.Errorf("with its own: error %v", err)
	}
}

// TestDamagedDatabaseIsRefused damages a database's files. The node does not start, states the reason in a sentence,
// and ends with the exit code after which service managers do not restart it.
func TestDamagedDatabaseIsRefused(t *testing.T) {
	t.Parallel()
	dir := usedDirectory(t)
	flip := func(b []byte) []byte {
		for i := len(b) / 8; i < len(b); i += 64 {
			b[i] ^= 0x55
		}
		return b
	}
	flipOne := func(b []byte) []byte {
		b[len(b)/100] ^= 0x55
		return b
	}
	half := func(b []byte) []byte { return b[:len(b)/2] }
	empty := func([]byte) []byte { return nil }
	for name, tc := range map[string]struct {
		pattern string // of the names of the files to damage
		damage  func([]byte) []byte
	}{
		"table: bytes flipped":    {"*.sst", flip},
		"table: cut in half":      {"*.sst", half},
		"table: emptied":          {"*.sst", empty},
		"manifest: bytes flipped": {"MANIFEST-*", flip},
		"manifest: emptied":       {"MANIFEST-*", empty},
		"log: a byte flipped":     {"*.log", flipOne},
	} {
		t.Run(name, func(t *testing.T) {
			damaged := filepath.Join(t.TempDir(), "chain")
			if err := os.CopyFS(damaged, os.DirFS(dir)); err != nil {
				t.Fatal(err)
			}
			if err := os.Chmod(filepath.Join(damaged, "protocol.key"), 0o600); err != nil {
				t.Fatal(err)
			}
			damage(t, filepath.Join(damaged, "db"), tc.pattern, tc.damage)
			u := newUser(t)
			for _, args := range [][]string{
				append([]string{"node", "--data-dir", damaged}, anyPorts...), {"db", "check", "--data-dir", damaged},
			} {
				if refused := u.fails(exitUsage, args...); !strings.Contains(refused.Message, "database") {
					t.Errorf("cairn %s says %q", args[0], refused.Message)
				}
			}
		})
	}
}

// TestLostBlocksAreNoticed removes the end of the database's log of a killed node. The node does not continue after an
// earlier block without an operator's consent, even if only the newest block is missing.
func TestLostBlocksAreNoticed(t *testing.T) {
	t.Parallel()
	dir := initialize(t, "--block-time", "100ms")
	node := start(t, "node", "--data-dir", dir)
	// seen waits for some blocks and returns the last one.
	seen := func() (last types.Height) {
		t.Helper()
		count := 0
		for block, err := range connect(t, node).SubscribeBlocks(t.Context(), nil) {
			if err != nil {
				t.Fatal(err)
			}
			if last = block.Height; count == 3 {
				break
			}
			count++
		}
		return last
	}
	seen()
	node.Kill()
	if err := start(t, "node", "--data-dir", dir).Stop(); err != nil {
		t.Fatalf("it does not go on after being killed: error %v", err)
	}
	node = start(t, "node", "--data-dir", dir)
	last := seen()
	node.Kill()
	locks, err := filepath.Glob(filepath.Join(dir, "signed-*"))
	if err != nil || len(locks) != 1 {
		t.Fatalf("locks %v, error %v, want 1 lock", locks, err)
	}
	lock, err := signstate.Open(kv.FS{}, locks[0], types.BlockHash{})
	if err != nil {
		t.Fatal(err)
	}
	if signed := lock.Last().Height; signed < last {
		t.Errorf("block %d was told of, and %d is the last that is held", last, signed)
	}
	if err := lock.Close(); err != nil {
		t.Fatal(err)
	}
	damage(t, filepath.Join(dir, "db"), "*.log", func([]byte) []byte { return nil })
	refused := newUser(t).fails(exitUsage, append([]string{"node", "--data-dir", dir}, anyPorts...)...)
	if !strings.Contains(refused.Message, "are lost here") || !strings.Contains(refused.Message, locks[0]) {
		t.Errorf("it says %q", refused.Message)
	}
	if err := os.Remove(locks[0]); err != nil {
		t.Fatal(err)
	}
	newUser(t).succeeds(nil, "promote", "--from-dead", "--alone", "--yes", "--data-dir", dir,
		"--protocol-key", filepath.Join(dir, "protocol.key"))
	if err := start(t, "node", "--data-dir", dir).Stop(); err != nil {
		t.Errorf("it does not go on when told to: error %v", err)
	}
}

// minLog is the length of a log in whose beginning damage is detected: later records show that it had been written. In
// the last 32 KiB a damaged write looks like one that a crash cut off.
const minLog = 100_000

// usedDirectory makes the data directory of a chain, partly in tables and partly in the log. A node that stops leaves
// nothing in the log; a node that is killed does.
func usedDirectory(t *testing.T) string {
	t.Helper()
	s := newSurvivor(t, 3, 512)
	s.start = func() []string { return []string{"node", "--data-dir", s.dir, "--block-time", "100ms"} }
	if err := s.live((*process).Stop); err != nil {
		t.Fatal(err)
	}
	const lives = 30
	for range lives {
		if err := s.live(func(node *process) error { node.Kill(); return nil }); err != nil {
			t.Fatal(err)
		}
		logs, err := filepath.Glob(filepath.Join(s.dir, "db", "*.log"))
		if err != nil || len(logs) == 0 {
			t.Fatalf("logs %v, error %v", logs, err)
		}
		info, err := os.Stat(logs[len(logs)-1]) // the newest
		if err != nil {
			t.Fatal(err)
		}
		if info.Size() > minLog {
			return s.dir
		}
	}
	t.Fatalf("no log of %d bytes after %d lives", minLog, lives)
	return ""
}

// damage changes all files of a directory whose name matches a pattern.
func damage(t *testing.T, dir, pattern string, change func([]byte) []byte) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, pattern))
	if err != nil || len(files) == 0 {
		t.Fatalf("no file %s in %s: error %v", pattern, dir, err)
	}
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, change(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
