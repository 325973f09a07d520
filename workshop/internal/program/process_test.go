package program

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// serving is a shell command that writes the ready file, which is its last argument, prints its arguments, and waits.
const serving = `for ready; do :; done; echo "$0 with $*"; echo "to the standard error" >&2; cat >"$ready.part" <<end
{"rpc": "http://a", "admin": "$ADMIN"}
end
mv "$ready.part" "$ready"; exec sleep 600`

func shell(t *testing.T, script string, args ...string) Command {
	t.Helper()
	return Command{Args: append([]string{"sh", "-c", script, "node"}, args...), Log: filepath.Join(t.TempDir(), "log")}
}

func serve(t *testing.T, c Command) (*Node, string) {
	t.Helper()
	ready := filepath.Join(t.TempDir(), "ready.json")
	if err := os.WriteFile(ready, []byte("of an earlier one"), 0o600); err != nil {
		t.Fatal(err)
	}
	n, err := Serve(t.Context(), c, ready)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(n.Kill)
	return n, ready
}

func TestServe(t *testing.T) {
	admin := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, err := w.Write([]byte(r.URL.Path[1:] + " 3\n")); err != nil {
			t.Error(err)
		}
	}))
	defer admin.Close()
	c := shell(t, serving, "one")
	c.Env = append(os.Environ(), "ADMIN="+admin.URL)
	n, ready := serve(t, c)
	if n.RPC != "http://a" || n.Admin != admin.URL {
		t.Errorf("got %s, want http://a, %s, want %s", n.RPC, n.Admin, admin.URL)
	}
	log, err := os.ReadFile(c.Log)
	if want := "node with one --ready-file " + ready + "\nto the standard error\n"; err != nil || string(log) != want {
		t.Errorf("got %q, want %q, error %v", log, want, err)
	}
	if values, err := n.Metrics(t.Context(), "metrics"); err != nil || values["metrics"] != 3 {
		t.Errorf("got %v, error %v", values, err)
	}
	if _, err := n.Metrics(t.Context(), "none"); err == nil {
		t.Error("a metric that is missing is no error")
	}
	if err := n.End(syscall.SIGTERM); err != nil {
		t.Error(err)
	}
	if err := n.Wait(); err == nil || !strings.Contains(err.Error(), "terminated") {
		t.Errorf("it ended so: error %v, want an error with %q", err, "terminated")
	}
	if err := errors.Join(n.Signal(os.Interrupt), n.End(os.Interrupt)); err != nil {
		t.Errorf("a signal to one that is gone: error %v", err)
	}
}

func TestServeFails(t *testing.T) {
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for name, c := range map[string]struct {
		ctx    context.Context
		script string
		want   []string
	}{
		"it ends": {
			t.Context(), "echo no disk; exit 3", []string{"it ended by itself (exit status 3)", "ends with\nno disk"},
		},
		"it ends well": {t.Context(), "exit 0", []string{"it ended by itself (exit status 0)"}},
		"no JSON": {
			t.Context(), `for ready; do :; done; echo word >"$ready.part"; mv "$ready.part" "$ready"; exec sleep 600`,
			[]string{"ready file", "invalid character"},
		},
		"it is given up": {ended, "exec sleep 600", []string{"it does not serve: context canceled"}},
	} {
		_, err := Serve(c.ctx, shell(t, c.script), filepath.Join(t.TempDir(), "ready.json"))
		for _, part := range c.want {
			if err == nil || !strings.Contains(err.Error(), part) {
				t.Errorf("%s: %v, without %q", name, err, part)
			}
		}
	}
	if _, err := Start(Command{Args: []string{filepath.Join(t.TempDir(), "none")}}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a program that is not there: error %v, want %v", err, os.ErrNotExist)
	}
}

func TestAwaitTellsWhatIsWrong(t *testing.T) {
	p, err := Start(shell(t, "exec sleep 600"))
	if err != nil {
		t.Fatal(err)
	}
	defer p.Kill()
	wrong := errors.New("wrong")
	if err := p.Await(t.Context(), func(context.Context) (bool, error) { return false, wrong }); !errors.Is(err, wrong) {
		t.Error(err)
	}
}

func TestStop(t *testing.T) {
	// A node that starts another process, as a node with an external prover does.
	const ready = `for ready; do :; done; sleep 600 & echo '{}' >"$ready.part"; mv "$ready.part" "$ready"; wait`
	for name, c := range map[string]struct {
		script, want string
		patience     time.Duration
	}{
		"well":  {script: `trap 'kill $!; exit 0' TERM; ` + ready},
		"badly": {script: `trap 'kill $!; exit 4' TERM; ` + ready, want: "exit status 4"},
		"not": {
			script:   `trap '' TERM; ` + ready,
			want:     "it still ran 1ms after it was asked to end, and was killed",
			patience: time.Millisecond,
		},
	} {
		command := shell(t, c.script)
		command.Patience = c.patience
		n, _ := serve(t, command)
		if err := n.Stop(); c.want == "" && err != nil || c.want != "" && (err == nil || err.Error() != c.want) {
			t.Errorf("%s: error %v", name, err)
		}
		select {
		case <-n.Ended():
		default:
			t.Errorf("%s: it runs", name)
		}
	}
}

func TestKillReachesAllThatWasStarted(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	p, err := Start(shell(t, `sleep 600 >"$1" & wait`, pipe))
	if err != nil {
		t.Fatal(err)
	}
	defer p.Kill()
	open, err := os.Open(pipe) // returns once the pipe is open for writing
	if err != nil {
		t.Fatal(err)
	}
	defer open.Close()
	p.Kill()
	if err := p.Wait(); err == nil || err.Error() != "signal: killed" {
		t.Errorf("it ended so: error %v", err)
	}
	if rest, err := io.ReadAll(open); err != nil || len(rest) != 0 { // it ends when no process can write any more
		t.Errorf("got %q, error %v", rest, err)
	}
	p.Kill()
}
