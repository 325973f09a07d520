package machine

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// deedVariable makes this test's program a service that does something by which other processes end.
const deedVariable = "TEST_DOES"

func TestMain(m *testing.M) {
	if deed := os.Getenv(deedVariable); deed != "" {
		CatchSignals()
		Serve()
		deeds[deed]()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// deeds are the actions of the program. Each ends it with an exit code if the result is wrong.
var deeds = map[string]func(){
	"writes where nobody reads": func() {
		for _, stream := range []*os.File{os.Stdout, os.Stderr} {
			if _, err := stream.Write([]byte("lost\n")); !errors.Is(err, syscall.EPIPE) {
				os.Exit(3)
			}
		}
	},
	"writes too large a file": func() {
		file, err := os.Create(os.Getenv("TEST_FILE"))
		if err == nil {
			err = unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: 1, Max: 1})
		}
		if err == nil {
			_, err = file.Write([]byte("too large"))
		}
		if !errors.Is(err, syscall.EFBIG) {
			os.Exit(3)
		}
	},
	"is signalled": func() {
		for _, s := range []syscall.Signal{syscall.SIGHUP, syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGTTOU} {
			if err := syscall.Kill(os.Getpid(), s); err != nil {
				os.Exit(3)
			}
		}
	},
	"panics": func() {
		go panic("in a goroutine")
		select {}
	},
}

// A service is ended neither by a stream without a reader nor by a signal that means nothing to it; and a panic does
// not end it with the exit code of wrong usage.
func TestServicesGoOn(t *testing.T) {
	for deed := range deeds {
		t.Run(deed, func(t *testing.T) {
			command := exec.Command(os.Args[0])
			command.Dir = t.TempDir()
			command.Env = append(os.Environ(), deedVariable+"="+deed, "TEST_FILE="+filepath.Join(command.Dir, "file"))
			var told bytes.Buffer
			command.Stderr = &told
			if deed == "writes where nobody reads" {
				reader, writer, err := os.Pipe()
				if err == nil {
					err = reader.Close()
				}
				if err != nil {
					t.Fatal(err)
				}
				command.Stdout, command.Stderr = writer, writer
			}
			_ = command.Run() // the process state below says more
			status := command.ProcessState.Sys().(syscall.WaitStatus)
			if deed != "panics" {
				if !status.Exited() || status.ExitStatus() != 0 {
					t.Errorf("got %s, want exit code 0\n%s", command.ProcessState, &told)
				}
				return
			}
			if status.Signal() != syscall.SIGABRT || status.CoreDump() || !strings.Contains(told.String(), "in a goroutine") {
				t.Errorf("got %s, want an end by SIGABRT without a core file\n%s", command.ProcessState, &told)
			}
		})
	}
}
