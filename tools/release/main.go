// Command release makes the files of a release from a source directory: archives, packages for Debian and Fedora, a
// container image, a list of contents (SBOM), and checksums of all. Builds are reproducible: times are the commit's,
// entries are ordered, and no user's name is recorded.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

func main() {
	syscall.Umask(0o022) // archives record file modes
	if len(os.Args) > 2 && os.Args[1] == asTool {
		os.Exit(runTool(os.Args[2], os.Args[3:]))
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

// release holds the settings common to all files of a release.
type release struct {
	version string
	commit  string
	time    time.Time // the commit's
	source  string    // source directory
	out     string    // output directory
	work    string    // temporary directory
}

// target is a system to build for.
type target struct{ os, arch string }

var targets = []target{
	{"linux", "amd64"}, {"linux", "arm64"},
	{"darwin", "amd64"}, {"darwin", "arm64"},
	{"windows", "amd64"}, {"windows", "arm64"},
}

func (t target) String() string { return t.os + "/" + t.arch }

func run(ctx context.Context, args []string) (err error) {
	flags := flag.NewFlagSet("release", flag.ContinueOnError)
	version := flags.String("version", "", "version by Semantic Versioning, without v")
	source := flags.String("source", ".", "source directory: a clone at the commit of the release")
	out := flags.String("out", "dist", "output directory, which must be empty or absent")
	only := flags.String("targets", "all", "systems to build for, such as linux/amd64,darwin/arm64")
	key := flags.String("key", "", "file of an Ed25519 key (PKCS #8 in PEM) that signs the checksums")
	if err := flags.Parse(args); err != nil {
		return err
	}
	chosen, err := choose(*only)
	if err != nil {
		return err
	}
	r := &release{version: *version}
	if r.source, err = filepath.Abs(*source); err != nil {
		return err
	}
	if r.out, err = filepath.Abs(*out); err != nil {
		return err
	}
	if !versionPattern.MatchString(r.version) {
		return fmt.Errorf("%q is not a version such as 0.2.0 or 0.2.0-rc.1", r.version)
	}
	if err := r.readCommit(ctx); err != nil {
		return err
	}
	if err := emptyDirectory(r.out); err != nil {
		return err
	}
	if r.work, err = os.MkdirTemp("", "cairn-release"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(r.work)) }()
	return r.make(ctx, chosen, *key)
}

func choose(list string) ([]target, error) {
	if list == "all" {
		return targets, nil
	}
	var chosen []target
	for name := range strings.SplitSeq(list, ",") {
		i := slices.IndexFunc(targets, func(t target) bool { return t.String() == name })
		if i < 0 {
			return nil, fmt.Errorf("there is no target %q: they are %v", name, targets)
		}
		chosen = append(chosen, targets[i])
	}
	return chosen, nil
}

// readCommit reads the commit of the release, and refuses sources that differ from it.
func (r *release) readCommit(ctx context.Context) error {
	changes, err := output(r.git(ctx, "status", "--porcelain"))
	if err != nil {
		return err
	}
	if changes != "" {
		return fmt.Errorf("the sources in %s differ from their commit:\n%s", r.source, changes)
	}
	if r.commit, err = output(r.git(ctx, "rev-parse", "HEAD")); err != nil {
		return err
	}
	stamp, err := output(r.git(ctx, "show", "-s", "--format=%cI", "HEAD"))
	if err != nil {
		return err
	}
	at, err := time.Parse(time.RFC3339, stamp)
	r.time = at.UTC()
	return err
}

func (r *release) git(ctx context.Context, args ...string) *exec.Cmd {
	command := exec.CommandContext(ctx, "git", args...)
	command.Dir = r.source
	return command
}

// output runs a command and returns its output without the final newline. An error contains the output.
func output(command *exec.Cmd) (string, error) {
	var complaints strings.Builder
	command.Stderr = &complaints
	printed, err := command.Output()
	if err != nil {
		return "", fmt.Errorf("%s: %w\n%s", command, err, complaints.String())
	}
	return strings.TrimRight(string(printed), "\n"), nil
}

// make makes the files, target by target.
func (r *release) make(ctx context.Context, chosen []target, key string) error {
	// The explorer's page of a proof embeds the verifier, which is not committed and must be built before the program.
	if err := r.steps(ctx, r.source, []string{
		"sh", "proof/wasm/build.sh", "internal/server/explorer/verifier",
	}); err != nil {
		return err
	}
	pages, err := r.pages(ctx)
	if err != nil {
		return err
	}
	var images []program
	for _, t := range chosen {
		fmt.Println("building for", t)
		p, err := r.build(ctx, t)
		if err != nil {
			return err
		}
		if err := r.writeSBOM(p); err != nil {
			return err
		}
		files, err := r.contents(ctx, p, pages)
		if err != nil {
			return err
		}
		if err := r.writeArchive(p, files); err != nil {
			return err
		}
		if t.os != "linux" {
			continue
		}
		if err := r.writePackages(p, files); err != nil {
			return err
		}
		images = append(images, p)
	}
	if len(images) > 0 {
		if err := r.writeImage(images); err != nil {
			return err
		}
	}
	fmt.Println("making the documentation's site")
	if err := r.writeDocs(ctx); err != nil {
		return err
	}
	fmt.Println("packing for npm")
	if err := r.writeNPM(ctx); err != nil {
		return err
	}
	installer, err := os.ReadFile(filepath.Join(r.source, "deploy", "install.sh"))
	if err != nil {
		return err
	}
	if err := r.writeFile("install.sh", installer, 0o755); err != nil {
		return err
	}
	return r.writeSums(key)
}

// writeFile writes a file of the release.
func (r *release) writeFile(name string, content []byte, mode os.FileMode) error {
	path := filepath.Join(r.out, name)
	if err := os.WriteFile(path, content, mode); err != nil {
		return err
	}
	return os.Chmod(path, mode) // regardless of the umask
}

// emptyDirectory creates a directory, or fails if it exists and is not empty.
func emptyDirectory(path string) error {
	if err := os.MkdirAll(path, 0o755); err != nil {
		return err
	}
	entries, err := os.ReadDir(path)
	if err == nil && len(entries) > 0 {
		err = fmt.Errorf("%s is not empty", path)
	}
	return err
}
