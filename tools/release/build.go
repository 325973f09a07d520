package main

import (
	"context"
	"debug/buildinfo"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"time"
)

var versionPattern = regexp.MustCompile(`^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[0-9A-Za-z.-]+)?$`)

// program is the program built for a target.
type program struct {
	target
	path string // of the binary
	info *buildinfo.BuildInfo
}

// name is what the files of the program begin with.
func (r *release) name(p program) string {
	return fmt.Sprintf("cairn-%s-%s-%s", r.version, p.os, p.arch)
}

// binary is what the program is called on its system.
func (t target) binary() string {
	if t.os == "windows" {
		return "cairn.exe"
	}
	return "cairn"
}

// build builds the program: static, without paths of this machine, and with the release's version and commit.
func (r *release) build(ctx context.Context, t target) (program, error) {
	p := program{target: t, path: filepath.Join(r.work, t.os+"-"+t.arch, t.binary())}
	const set = " -X github.com/cairn-chain/cairn/internal/build."
	flags := "-s -w -buildid=" + set + "version=" + r.version + set + "commit=" + r.commit + set + "date=" +
		r.time.Format(time.RFC3339)
	self, err := os.Executable()
	if err != nil {
		return p, err
	}
	command := exec.CommandContext(
		ctx,
		"go",
		"build",
		"-trimpath",
		"-buildvcs=false",
		"-toolexec",
		`"`+self+`" `+asTool,
		"-ldflags",
		flags,
		"-o",
		p.path,
		"./cmd/cairn",
	)
	command.Dir = r.source
	command.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=", "GOOS="+t.os, "GOARCH="+t.arch)
	if _, err := output(command); err != nil {
		return p, err
	}
	p.info, err = buildinfo.ReadFile(p.path)
	return p, err
}

// pages are the manual pages and completions, made by the program itself as it is on this machine.
func (r *release) pages(ctx context.Context) ([]file, error) {
	here, err := r.build(ctx, target{runtime.GOOS, runtime.GOARCH})
	if err != nil {
		return nil, err
	}
	manual := filepath.Join(r.work, "man")
	command := exec.CommandContext(ctx, here.path, "man", manual, "--date", r.time.Format(time.DateOnly))
	if _, err := output(command); err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(manual)
	if err != nil {
		return nil, err
	}
	var pages []file
	for _, entry := range entries {
		content, err := os.ReadFile(filepath.Join(manual, entry.Name()))
		if err != nil {
			return nil, err
		}
		pages = append(pages, file{"man/" + entry.Name(), content, 0o644})
	}
	for shell, name := range completions {
		script, err := output(exec.CommandContext(ctx, here.path, "completion", shell))
		if err != nil {
			return nil, err
		}
		pages = append(pages, file{"completions/" + name, []byte(script + "\n"), 0o644})
	}
	return pages, nil
}

// completions are the names that shells look for.
var completions = map[string]string{"bash": "cairn", "zsh": "_cairn", "fish": "cairn.fish"}
