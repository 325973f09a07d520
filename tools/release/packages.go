package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/goreleaser/nfpm/v2"
	_ "github.com/goreleaser/nfpm/v2/deb" // registers itself
	nfpmfiles "github.com/goreleaser/nfpm/v2/files"
	_ "github.com/goreleaser/nfpm/v2/rpm" // registers itself
)

// writePackages writes the packages for Debian, Fedora and their derivatives.
func (r *release) writePackages(p program, files []file) error {
	for _, format := range []string{"deb", "rpm"} {
		packager, err := nfpm.Get(format)
		if err != nil {
			return err
		}
		contents, err := r.packaged(p, format, files)
		if err != nil {
			return err
		}
		info := nfpm.WithDefaults(&nfpm.Info{
			Name:       "cairn",
			Platform:   "linux",
			Arch:       p.arch,
			Version:    r.version,
			Section:    "net",
			Priority:   "optional",
			Maintainer: "The Cairn authors <cairn@localhost>",
			Description: "Blockchain node with contracts in WebAssembly and a proof for every block\nOne program: the " +
				"node, the prover and the tools to use them.",
			Homepage:        "https://github.com/cairn-chain/cairn",
			License:         "Apache-2.0",
			MTime:           r.time,
			DisableGlobbing: true,
			Overridables:    nfpm.Overridables{Contents: contents, Umask: 0o022, RPM: nfpm.RPM{BuildHost: "localhost"}},
		})
		info.Scripts = nfpm.Scripts{
			PostInstall: filepath.Join(r.source, "deploy", "package", "installed.sh"),
			PreRemove:   filepath.Join(r.source, "deploy", "package", "removing.sh"),
			PostRemove:  filepath.Join(r.source, "deploy", "package", "removed.sh"),
		}
		var encoded bytes.Buffer
		if err := packager.Package(info, &encoded); err != nil {
			return err
		}
		if err := r.writeFile(r.name(p)+"."+format, encoded.Bytes(), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// packaged places the files of an archive where a system expects them.
func (r *release) packaged(p program, format string, files []file) (nfpmfiles.Contents, error) {
	var contents nfpmfiles.Contents
	directory := filepath.Join(r.work, format+"-"+p.arch)
	if err := os.MkdirAll(directory, 0o755); err != nil {
		return nil, err
	}
	for _, f := range files {
		destination, content := place(f, format), f.content
		if strings.HasSuffix(f.name, ".service") {
			content = bytes.ReplaceAll(content, []byte("/usr/local/bin/"), []byte("/usr/bin/"))
		}
		if strings.HasPrefix(f.name, "man/") {
			var err error
			if content, err = gzipped(content); err != nil {
				return nil, err
			}
		}
		source := filepath.Join(directory, strings.ReplaceAll(f.name, "/", "_"))
		if err := os.WriteFile(source, content, 0o644); err != nil {
			return nil, err
		}
		contents = append(contents, &nfpmfiles.Content{
			Source: source, Destination: destination,
			FileInfo: &nfpmfiles.ContentFileInfo{
				Owner: "root", Group: "root", Mode: os.FileMode(f.mode), MTime: r.time.Truncate(time.Second),
			},
		})
	}
	// Owned by root: otherwise the unit's first start would give it to the service.
	return append(contents, &nfpmfiles.Content{
		Destination: "/etc/cairn", Type: nfpmfiles.TypeDir,
		FileInfo: &nfpmfiles.ContentFileInfo{Owner: "root", Group: "root", Mode: 0o700, MTime: r.time.Truncate(time.Second)},
	}), nil
}

// place returns the path of an archive's file on a system.
func place(f file, format string) string {
	name := f.name[strings.LastIndexByte(f.name, '/')+1:]
	switch {
	case f.name == "cairn":
		return "/usr/bin/cairn"
	case strings.HasPrefix(f.name, "man/"):
		return "/usr/share/man/man1/" + name + ".gz"
	case name == completions["bash"]:
		return "/usr/share/bash-completion/completions/cairn"
	case name == completions["zsh"] && format == "deb":
		return "/usr/share/zsh/vendor-completions/_cairn"
	case name == completions["zsh"]:
		return "/usr/share/zsh/site-functions/_cairn"
	case name == completions["fish"]:
		return "/usr/share/fish/vendor_completions.d/cairn.fish"
	case strings.HasSuffix(name, ".service"):
		return "/usr/lib/systemd/system/" + name
	case name == "LICENSE" && format == "deb":
		return "/usr/share/doc/cairn/copyright"
	default:
		return "/usr/share/doc/cairn/" + f.name
	}
}
