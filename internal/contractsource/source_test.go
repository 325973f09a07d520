package contractsource

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"
)

func sample() Source {
	return Source{
		Manifest: Manifest{Format: 1, Language: Rust, Name: "tally", Toolchain: map[string]string{"rustc": "1.63.0"}},
		Files: map[string][]byte{
			"Cargo.toml": []byte("[package]\n"), "src/lib.rs": []byte("//"), "cairn/src/lib.rs": {},
			"src-more/a_b": bytes.Repeat([]byte("x"), 600),
		},
	}
}

func TestArchive(t *testing.T) {
	archive, err := sample().Archive()
	if err != nil {
		t.Fatal(err)
	}
	again, err := sample().Archive()
	if err != nil || !bytes.Equal(archive, again) {
		t.Fatalf("a second archive differs: error %v", err)
	}
	read, err := ReadArchive(archive)
	if err != nil {
		t.Fatal(err)
	}
	if fmt.Sprint(read) != fmt.Sprint(sample()) {
		t.Fatalf("read %v", read)
	}
	if got := HashOf(archive).String(); got != "0xd256ee7fb4c4dfe59e1d09ffee9833e22f57cac859b30b2fb7706e6d5bdcd9b8" {
		t.Errorf("the format changed: hash %s", got)
	}
}

func TestSourceIsRefused(t *testing.T) {
	file := func(path string) func(*Source) {
		return func(s *Source) { s.Files[path] = []byte("x") }
	}
	many := func(s *Source) {
		for i := range MaxFiles {
			s.Files[fmt.Sprintf("f%d", i)] = nil
		}
	}
	for name, change := range map[string]func(*Source){
		"parent":           file("../x"),
		"parent inside":    file("src/../../x"),
		"absolute":         file("/etc/passwd"),
		"hidden":           file(".cargo/config.toml"),
		"hidden below":     file("src/.x"),
		"empty part":       file("src//x"),
		"empty":            file(""),
		"directory":        file("src/"),
		"backslash":        file(`src\x`),
		"long path":        file(strings.Repeat("a", 101)),
		"manifest":         file(manifestFile),
		"file and dir":     file("src/lib.rs/x"),
		"too many files":   many,
		"too many bytes":   func(s *Source) { s.Files["big"] = make([]byte, MaxArchiveBytes) },
		"later format":     func(s *Source) { s.Manifest.Format = 2 },
		"other language":   func(s *Source) { s.Manifest.Language = "c" },
		"name with path":   func(s *Source) { s.Manifest.Name = "../x" },
		"package outside":  func(s *Source) { s.Manifest.Package = "../x" },
		"package absolute": func(s *Source) { s.Manifest.Package = "/x" },
	} {
		s := sample()
		change(&s)
		if _, err := s.Archive(); !errors.Is(err, ErrSource) {
			t.Errorf("%s: error %v, want %v", name, err, ErrSource)
		}
	}
}

// entry is an entry of a hand-written archive.
type entry struct {
	header  tar.Header
	content string
}

func written(t *testing.T, entries []entry) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, e := range entries {
		e.header.Size = int64(len(e.content))
		if err := w.WriteHeader(&e.header); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(e.content)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func regular(name, content string) entry {
	return entry{content: content, header: tar.Header{
		Typeflag: tar.TypeReg, Name: name, Mode: 0o644, ModTime: time.Unix(0, 0), Format: tar.FormatUSTAR,
	}}
}

func TestReadArchiveRefuses(t *testing.T) {
	manifest := regular(manifestFile, `{"format":1,"language":"rust","name":"t","package":"","toolchain":{}}`+"\n")
	a, b := regular("a", "1"), regular("b", "2")
	if _, err := ReadArchive(written(t, []entry{manifest, a, b})); err != nil {
		t.Fatalf("the archive that the cases change: error %v", err)
	}
	changed := func(change func(*tar.Header)) []entry {
		e := regular("a", "")
		change(&e.header)
		return []entry{manifest, e, b}
	}
	for name, entries := range map[string][]entry{
		"no manifest":    {a, b},
		"manifest later": {a, manifest, b},
		"manifest twice": {manifest, manifest},
		"not sorted":     {manifest, b, a},
		"twice":          {manifest, a, a},
		"other spacing": {
			regular(manifestFile, `{ "format":1,"language":"rust","name":"t","package":"","toolchain":{}}`+"\n"), a,
		},
		"unknown member": {
			regular(manifestFile, `{"format":1,"language":"rust","name":"t","package":"","toolchain":{},"x":1}`+"\n"), a,
		},
		"not JSON":      {regular(manifestFile, `{`), a},
		"symbolic link": changed(func(h *tar.Header) { h.Typeflag, h.Linkname = tar.TypeSymlink, "/etc/passwd" }),
		"hard link":     changed(func(h *tar.Header) { h.Typeflag, h.Linkname = tar.TypeLink, "b" }),
		"directory":     changed(func(h *tar.Header) { h.Typeflag, h.Name = tar.TypeDir, "a/" }),
		"device":        changed(func(h *tar.Header) { h.Typeflag = tar.TypeChar }),
		"executable":    changed(func(h *tar.Header) { h.Mode = 0o755 }),
		"owner":         changed(func(h *tar.Header) { h.Uid = 1000 }),
		"owner's name":  changed(func(h *tar.Header) { h.Uname = "root" }),
		"time":          changed(func(h *tar.Header) { h.ModTime = time.Unix(1, 0) }),
		"extended header": changed(func(h *tar.Header) {
			h.Format, h.PAXRecords = tar.FormatPAX, map[string]string{"A.b": "c"}
		}),
		"outside": changed(func(h *tar.Header) { h.Name = "../a" }),
	} {
		if _, err := ReadArchive(written(t, entries)); !errors.Is(err, ErrSource) {
			t.Errorf("%s: error %v, want %v", name, err, ErrSource)
		}
	}
	whole := written(t, []entry{manifest, a, b})
	for name, archive := range map[string][]byte{
		"empty": nil, "cut": whole[:len(whole)-700], "more": append(slices.Clone(whole), 0),
		"long": make([]byte, MaxArchiveBytes+1),
	} {
		if _, err := ReadArchive(archive); !errors.Is(err, ErrSource) {
			t.Errorf("%s: error %v, want %v", name, err, ErrSource)
		}
	}
}

func FuzzReadArchive(f *testing.F) {
	archive, err := sample().Archive()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(archive)
	f.Fuzz(func(t *testing.T, archive []byte) {
		s, err := ReadArchive(archive)
		if err != nil {
			return
		}
		if again, err := s.Archive(); err != nil || !bytes.Equal(again, archive) {
			t.Fatalf("%v has another archive: error %v", slices.Sorted(maps.Keys(s.Files)), err)
		}
	})
}
