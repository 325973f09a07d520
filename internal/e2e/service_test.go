package e2e

import (
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/cairn-chain/cairn/client"
	"github.com/cairn-chain/cairn/types"
)

// service is a command that goes on until it is asked to end.
type service struct {
	args []string
	// works returns once the service did something more, and wrote a line about it.
	works func(t *testing.T)
}

// refusing is a server that refuses everything, and what returns after one more request to it.
func refusing(t *testing.T) (url string, asked func(*testing.T)) {
	t.Helper()
	var count atomic.Uint64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		count.Add(1)
		http.Error(w, "no", http.StatusInternalServerError)
	}))
	t.Cleanup(server.Close)
	return server.URL, func(t *testing.T) {
		t.Helper()
		// One may have been under way.
		from := count.Load()
		eventually(t, "two more requests", func() bool { return count.Load() >= from+2 })
	}
}

// eventually waits until something is so.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	ticker := time.NewTicker(10 * time.Millisecond)
	defer ticker.Stop()
	for end := time.After(startTimeout); !is(); {
		select {
		case <-ticker.C:
		case <-end:
			t.Fatalf("got nothing in %s, want %s", startTimeout, what)
		}
	}
}

// services are all commands of the program that go on: a node in its bootstrap, which nobody serves, among them.
func services(t *testing.T) map[string]service {
	t.Helper()
	s := newSigning(t)
	upstream, asksUpstream := refusing(t)
	node, asksNode := refusing(t)
	rpc := freeAddress(t)
	dev, err := client.New("http://" + rpc)
	if err != nil {
		t.Fatal(err)
	}
	return map[string]service{
		"node": {[]string{
			"node", "--mode", "replica", "--data-dir", filepath.Join(t.TempDir(), "replica"), "--upstream", upstream,
			"--genesis-hash", "0x" + strings.Repeat("01", 32), "--rpc-addr", "127.0.0.1:0", "--admin-addr", "127.0.0.1:0",
		}, asksUpstream},
		"prove": {[]string{"prove", "--admin", node, "--admin-token-file", filepath.Join(t.TempDir(), "none")}, asksNode},
		"signer": {[]string{"signer", "run", "--data-dir", s.signer, "--listen", s.address, "--client", s.client},
			func(t *testing.T) {
				t.Helper()
				eventually(t, "a connection", func() bool {
					connection, err := net.Dial("tcp", s.address)
					if err != nil {
						return false
					}
					return connection.Close() == nil
				})
			}},
		"dev": {[]string{
			"dev", "--ephemeral", "--block-time", "50ms", "--rpc-addr", rpc, "--admin-addr", "127.0.0.1:0", "--prove", "off",
		}, func(t *testing.T) {
			t.Helper()
			var from types.Height
			eventually(t, "a height", func() bool {
				from, err = dev.BlockNumber(t.Context())
				return err == nil
			})
			eventually(t, "two more blocks", func() bool {
				head, err := dev.BlockNumber(t.Context())
				return err == nil && head >= from+2
			})
		}},
	}
}

// A service goes on when nobody reads its standard streams any more, and when SIGHUP comes before it serves. SIGTERM
// ends it with exit code 0.
func TestServicesOutliveTheirReaders(t *testing.T) {
	t.Parallel()
	for name, s := range services(t) {
		t.Run(name, func(t *testing.T) {
			reader, writer, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			command := exec.Command(buildBinary(t), s.args...)
			command.Env, command.Stdout, command.Stderr = environment(), writer, writer
			if err := command.Start(); err != nil {
				t.Fatal(err)
			}
			ended := make(chan error, 1)
			go func() { ended <- command.Wait() }()
			defer func() { _ = command.Process.Kill() }()
			first := make([]byte, 1)
			if name != "prove" { // which has nothing to tell
				if _, err := reader.Read(first); err != nil {
					t.Fatal(err)
				}
			}
			if err := reader.Close(); err != nil {
				t.Fatal(err)
			}
			for range 2 {
				s.works(t)
				if err := command.Process.Signal(syscall.SIGHUP); err != nil {
					t.Fatal(err)
				}
			}
			s.works(t)
			if err := command.Process.Signal(syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
			if err := <-ended; err != nil {
				t.Errorf("got %v, want exit code 0", err)
			}
		})
	}
}

// A command whose output nobody reads to its end says nothing of that.
func TestCommandsEndWithTheirReader(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"version"}, {"help"}, {"completion", "bash"}} {
		reader, writer, err := os.Pipe()
		if err == nil {
			err = reader.Close()
		}
		if err != nil {
			t.Fatal(err)
		}
		var told strings.Builder
		command := exec.Command(buildBinary(t), args...)
		command.Env, command.Stdout, command.Stderr = environment(), writer, &told
		if err := command.Run(); err != nil || told.Len() > 0 {
			t.Errorf("%q: got %v, %q, want a quiet end", args, err, told.String())
		}
		if err := writer.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
