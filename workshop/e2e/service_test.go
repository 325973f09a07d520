package e2e

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/client"
	"github.com/cairn-chain/cairn/types"
)

// service is a command that runs until it is asked to end.
type service struct {
	args []string
	// works returns once the service has done something more, and has logged it.
	works func(t *testing.T)
}

// refusing is a server that refuses everything, and a function that returns after the next request.
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
		// One operation may have been under way.
		from := count.Load()
		eventually(t, "two more requests", func() bool { return count.Load() >= from+2 })
	}
}

// eventually waits until a condition holds.
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

// services are all commands that run until they are stopped, among them a node in its bootstrap without an upstream.
func services(t *testing.T) map[string]service {
	t.Helper()
	s := newSigning(t)
	upstream, asksUpstream := refusing(t)
	node, asksNode := refusing(t)
	rpc := freeAddress(t)
	dev, err := client.New("http://"+rpc, client.WithRetry(0))
	if err != nil {
		t.Fatal(err)
	}
	return map[string]service{
		"node": {[]string{
			"node", "--mode", "replica", "--data-dir", filepath.Join(t.TempDir(), "replica"), "--upstream", upstream,
			"--genesis-hash", "0x" + strings.Repeat("01", 32), "--rpc-addr", "127.0.0.1:0", "--admin-addr", "127.0.0.1:0",
		}, asksUpstream},
		"prove": {[]string{"prove", "--admin", node, "--admin-token-file", filepath.Join(t.TempDir(), "none")}, asksNode},
		"signer": {[]string{"signer", "run", "--data-dir", s.signer, "--listen", s.address, "--client", s.client,
			"--admin-addr", "127.0.0.1:0"},
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

// A service continues when its standard streams have no readers any more, and when SIGHUP arrives before it serves.
// SIGTERM ends it with exit code 0.
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
			if name != "prove" { // it has nothing to report
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

// A command whose output is not read to its end does not complain about it.
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

// With --log-format json, every line on both output streams of a service is a JSON document, even at the end because of
// wrong settings.
func TestLogsAreJSON(t *testing.T) {
	t.Parallel()
	for name, s := range services(t) {
		for _, extra := range [][]string{nil, {"--no-such-flag"}} {
			var told bytes.Buffer
			command := exec.Command(buildBinary(t), append(slices.Concat(s.args, []string{"--log-format", "json"}), extra...)...)
			command.Env, command.Stdout, command.Stderr = environment(), &told, &told
			if err := command.Start(); err != nil {
				t.Fatal(err)
			}
			if extra == nil {
				s.works(t)
				if err := command.Process.Signal(syscall.SIGTERM); err != nil {
					t.Fatal(err)
				}
			}
			_ = command.Wait() // how it ends does not matter here
			if told.Len() == 0 && name != "prove" {
				t.Errorf("%s %q: got no line, want some", name, extra)
			}
			for line := range strings.Lines(told.String()) {
				if !json.Valid([]byte(line)) {
					t.Errorf("%s %q: got %q, want JSON", name, extra, line)
				}
			}
		}
	}
}

// asked returns the body of a server's answer.
func asked(t *testing.T, url string) string {
	t.Helper()
	response, err := http.Get(url)
	if err != nil {
		return err.Error()
	}
	body, err := io.ReadAll(response.Body)
	if err = errors.Join(err, response.Body.Close()); err != nil {
		t.Fatal(err)
	}
	return string(body)
}

// The admin address answers while a node downloads the beginning of its chain, and a signer has one too.
func TestAdminAddressOfServices(t *testing.T) {
	t.Parallel()
	all := services(t)
	for name, says := range map[string][3]string{
		"node":   {`"ok"`, "fetching the genesis", "cairn_build_info"},
		"signer": {`"ok"`, `"ready"`, `cairn_signer_refused_total{reason="height_signed"} 0`},
	} {
		address := freeAddress(t)
		args := slices.Clone(all[name].args)
		if i := slices.Index(args, "--admin-addr"); i >= 0 {
			args = slices.Delete(args, i, i+2)
		}
		command := exec.Command(buildBinary(t), append(args, "--admin-addr", address)...)
		command.Env = environment()
		if err := command.Start(); err != nil {
			t.Fatal(err)
		}
		for i, path := range []string{"/health", "/ready", "/metrics"} {
			eventually(t, name+path+" with "+says[i], func() bool {
				return strings.Contains(asked(t, "http://"+address+path), says[i])
			})
		}
		if err := command.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		if err := command.Wait(); err != nil {
			t.Errorf("%s: got %v, want exit code 0", name, err)
		}
	}
}

// If a replica's only upstream is unusable, the replica reports the reason and the remedy in the same words everywhere.
// Unknown values are absent.
func TestReplicaTellsWhyItDoesNotFollow(t *testing.T) {
	t.Parallel()
	primary := startDev(t, "--ephemeral", "--prove", "off")
	other := filepath.Join(t.TempDir(), "chain")
	u := newUser(t)
	u.succeeds(nil, "init", other)
	replica := start(t, "node", "--mode", "replica", "--data-dir", t.TempDir(), "--upstream", primary.RPC,
		"--genesis", filepath.Join(other, "genesis.json"))
	c, err := client.New(replica.RPC)
	if err != nil {
		t.Fatal(err)
	}
	const remedy = ": give an --upstream of this chain"
	var status api.SyncStatus
	eventually(t, "a reason", func() bool {
		status, err = c.SyncStatus(t.Context())
		return err == nil && status.Reason != nil && strings.Contains(*status.Reason, remedy)
	})
	if status.PrimaryHeight != nil || status.BlocksBehind != nil || status.Upstreams[0].Height != nil || status.Synced {
		t.Errorf("got %+v, want no height of an upstream that is of another chain", status)
	}
	if ready := asked(t, replica.Admin+"/ready"); !strings.Contains(ready, *status.Reason) {
		t.Errorf("got %s, want %s", ready, *status.Reason)
	}
	metrics := asked(t, replica.Admin+"/metrics")
	for _, name := range []string{"cairn_sync_silence_seconds", "cairn_sync_blocks_behind", "cairn_sync_primary_height"} {
		if strings.Contains(metrics, name) {
			t.Errorf("got a value of %s, want none", name)
		}
	}
}
