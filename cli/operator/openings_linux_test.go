package operator

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/cairn-chain/cairn/cli/invoke"
	"github.com/cairn-chain/cairn/internal/datadir"
)

// openings counts how often a process opens the file LOCK of directories: once to lock a data directory, and once to
// open a database.
type openings struct {
	watch int
	dirs  map[int32]string
}

func watchLocks(t *testing.T, dirs ...string) *openings {
	t.Helper()
	fd, err := syscall.InotifyInit1(syscall.IN_NONBLOCK | syscall.IN_CLOEXEC)
	must(t, err)
	o := &openings{fd, make(map[int32]string)}
	for _, dir := range dirs {
		must(t, os.MkdirAll(dir, 0o700))
		number, err := syscall.InotifyAddWatch(fd, dir, syscall.IN_OPEN)
		must(t, err)
		o.dirs[int32(number)] = filepath.Base(dir)
	}
	return o
}

// count is the openings so far, by directory; it ends the watch.
func (o *openings) count(t *testing.T) map[string]int {
	t.Helper()
	counted := make(map[string]int)
	for events := make([]byte, 64<<10); ; {
		n, err := syscall.Read(o.watch, events)
		if errors.Is(err, syscall.EAGAIN) {
			break
		}
		must(t, err)
		for event := events[:n]; len(event) > 0; {
			watched := int32(binary.NativeEndian.Uint32(event))
			length := int(binary.NativeEndian.Uint32(event[12:]))
			name := string(bytes.TrimRight(event[syscall.SizeofInotifyEvent:syscall.SizeofInotifyEvent+length], "\x00"))
			if name == "LOCK" {
				counted[o.dirs[watched]]++
			}
			event = event[syscall.SizeofInotifyEvent+length:]
		}
	}
	must(t, syscall.Close(o.watch))
	return counted
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// stopper stops its writer at the first message about a block.
type stopper struct {
	bytes.Buffer
	stop func()
}

func (s *stopper) Write(line []byte) (int, error) {
	if bytes.Contains(line, []byte("  block ")) {
		s.stop()
	}
	return s.Buffer.Write(line)
}

// ends runs the program. A node ends as soon as it has started, a development chain with its next block.
func ends(t *testing.T, args ...string) (exit int, out string) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	blockTime := "10ms"
	switch args[0] {
	case "node":
		stop()
		blockTime = "1m" // the node ends before its first block
		fallthrough
	case "dev":
		args = append(
			args, "--prove", "off", "--block-time", blockTime, "--rpc-addr", "127.0.0.1:0", "--admin-addr", "127.0.0.1:0",
		)
	}
	text := &stopper{stop: stop}
	root := NewRoot(func() error { return nil })
	exit = invoke.Execute(ctx, root, args, invoke.Streams{In: new(bytes.Buffer), Out: new(bytes.Buffer), Err: text})
	return exit, text.String()
}

func genesisHash(t *testing.T, chain string) string {
	t.Helper()
	genesis, err := datadir.ReadGenesis(filepath.Join(chain, datadir.GenesisFile), chain, nil)
	must(t, err)
	hash, err := datadir.GenesisHash(genesis)
	must(t, err)
	return hash.String()
}

// Each command locks its data directory once, and opens the database in it once. A node opens it a second time, after
// the start checks.
func TestEachCommandOpensTheDatabaseOnce(t *testing.T) {
	work := t.TempDir()
	chain, fresh, dev := filepath.Join(work, "chain"), filepath.Join(work, "fresh"), filepath.Join(work, "dev")
	for _, args := range [][]string{{"init", chain}, {"node", "--data-dir", chain}, {"dev", "--data-dir", dev}} {
		if exit, out := ends(t, args...); exit != 0 {
			t.Fatalf("%q: %s", args, out)
		}
	}
	d, err := datadir.OpenChain(dev, datadir.Options{})
	must(t, err)
	made, err := d.CreateSnapshot(t.Context())
	must(t, errors.Join(err, d.Close()))
	blocks, zip := filepath.Join(work, "blocks"), filepath.Join(work, "snapshot.zip")
	snapshot, is := datadir.SnapshotPath(dev, made.Height), made.GenesisHash.String()
	once := map[string]int{"chain": 1, "db": 1}
	doctors := map[string]int{"chain": 2, "db": 1} // the command looks for leftovers too
	twice := map[string]int{"chain": 2, "db": 2}   // a node checks before it writes
	replica := []string{"--mode", "replica", "--upstream", "http://127.0.0.1:1", "--genesis-hash", genesisHash(t, chain)}
	for _, c := range []struct {
		args []string
		exit int
		want map[string]int
	}{
		{[]string{"db", "check", "--data-dir", chain}, 0, once},
		{[]string{"db", "export", "--out", blocks, "--data-dir", chain}, 0, once},
		{[]string{"db", "import", "--input", blocks, "--data-dir", chain}, 0, once},
		{[]string{"db", "import", "--input", blocks, "--genesis", "nowhere", "--data-dir", chain}, 2, nil},
		{[]string{"db", "prove", "--data-dir", chain}, 1, once}, // there is no block after its genesis
		{[]string{"db", "prune", "--keep", "1", "--data-dir", chain}, 0, once},
		{[]string{"db", "prune", "--keep", "1", "--end-archive", "--data-dir", chain}, 0, once},
		{[]string{"snapshot", "create", "--data-dir", chain}, 1, once}, // likewise
		{[]string{"snapshot", "list", "--data-dir", chain}, 0, nil},
		{[]string{"snapshot", "export", snapshot, "--out", zip}, 0, nil},
		{[]string{"snapshot", "verify", zip}, 0, nil},
		{[]string{"snapshot", "import", zip, "--genesis-hash", is, "--data-dir", chain}, 1, once}, // a chain exists
		{[]string{"snapshot", "import", zip, "--genesis-hash", is, "--data-dir", fresh}, 0, map[string]int{"fresh": 1}},
		{[]string{"quarantine", "list", "--data-dir", chain}, 0, nil},
		{[]string{"quarantine", "clear", "--data-dir", chain}, 0, map[string]int{"chain": 1}},
		{[]string{"doctor", "--data-dir", chain}, 0, doctors},
		{append([]string{"doctor", "--data-dir", chain}, replica...), 1, doctors}, // no server listens there
		{[]string{"node", "--data-dir", chain}, 0, twice},
		{append([]string{"node", "--data-dir", chain}, replica...), 0, twice},
		{append([]string{"node", "--data-dir", chain, "--bootstrap", "snapshot"}, replica...), 0, twice},
		{[]string{"dev", "--data-dir", dev}, 0, map[string]int{"dev": 1, "db": 1}},
	} {
		locks := watchLocks(t, chain, filepath.Join(chain, "db"), fresh, dev, filepath.Join(dev, "db"))
		exit, out := ends(t, c.args...)
		if exit != c.exit {
			t.Errorf("%q ends with %d, want %d: %s", c.args, exit, c.exit, out)
		}
		if got := locks.count(t); !maps.Equal(got, c.want) {
			t.Errorf("%q opened %v, want %v", c.args, got, c.want)
		}
	}
}
