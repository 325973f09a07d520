package wasm

import (
	"bytes"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cairn-chain/cairn/internal/protocol/vm"
	"github.com/cairn-chain/cairn/types"
)

func openTestCache(t *testing.T, dir string, limit int64, build string) *cache {
	t.Helper()
	c, err := openCache(dir, limit, build, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// holds reports whether the cache returns this content for a code; it must return nothing else.
func (c *cache) holds(t *testing.T, code byte, content string) bool {
	t.Helper()
	got, _ := c.load(types.CodeHash{code})
	if got != nil && string(got) != content {
		t.Fatalf("content %q for %q", got, content)
	}
	return got != nil
}

func (c *cache) put(code byte, content string) { c.store(types.CodeHash{code}, []byte(content)) }

func codeFiles(t *testing.T, dir string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*"+cacheSuffix))
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func TestCacheKeepsCode(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "code")
	c := openTestCache(t, dir, 1<<20, "build")
	if c.holds(t, 1, "") {
		t.Error("an empty cache holds something")
	}
	c.put(1, "one")
	c.put(2, "")
	c.put(1, "one")
	for _, c := range []*cache{c, openTestCache(t, dir, 1<<20, "build")} {
		if !c.holds(t, 1, "one") || !c.holds(t, 2, "") || c.holds(t, 3, "") {
			t.Error("the cache does not hold what was put there")
		}
	}
	if openTestCache(t, dir, 1<<20, "another build").holds(t, 1, "") {
		t.Error("code of another build")
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 3 {
		t.Errorf("%d files of two codes and a key, error %v", len(entries), err)
	}
	for _, entry := range entries {
		if info, err := entry.Info(); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
			t.Errorf("%s: mode %v, error %v", entry.Name(), info.Mode(), err)
		}
	}
}

// A file that is not byte for byte as this node wrote it for this module is never used, and is removed.
func TestCacheRefusesDamage(t *testing.T) {
	dir := t.TempDir()
	c := openTestCache(t, dir, 1<<20, "build")
	const content = "machine code"
	c.put(1, content)
	path := codeFiles(t, dir)[0]
	sound, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	damaged := map[string][]byte{"empty": {}, "longer": append(slices.Clone(sound), 0)}
	for i := range sound {
		damaged[fmt.Sprintf("cut at %d", i)] = sound[:i]
		for bit := range 8 {
			flipped := slices.Clone(sound)
			flipped[i] ^= 1 << bit
			damaged[fmt.Sprintf("bit %d of byte %d flipped", bit, i)] = flipped
		}
	}
	rejected := uint64(0)
	for name, b := range damaged {
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		c = openTestCache(t, dir, 1<<20, "build")
		if c.holds(t, 1, content) {
			t.Errorf("%s: used", name)
		}
		rejected += c.rejected
		if left := codeFiles(t, dir); len(left) != 0 || c.size != 0 {
			t.Errorf("%s: %v left, %d bytes", name, left, c.size)
		}
	}
	if rejected != uint64(len(damaged)) {
		t.Errorf("%d of %d damaged files counted", rejected, len(damaged))
	}
	// The valid code of another module under this module's name.
	c.put(2, content)
	if err := os.Rename(codeFiles(t, dir)[0], path); err != nil {
		t.Fatal(err)
	}
	if openTestCache(t, dir, 1<<20, "build").holds(t, 1, content) {
		t.Error("code of another module was used")
	}
}

func TestCacheKey(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, cacheKeyName)
	c := openTestCache(t, dir, 1<<20, "build")
	c.put(1, "one")
	first, err := os.ReadFile(path)
	if err != nil || len(first) != 32 || bytes.Equal(first, make([]byte, 32)) {
		t.Fatalf("key %x, error %v", first, err)
	}
	if !openTestCache(t, dir, 1<<20, "build").holds(t, 1, "one") {
		t.Error("a second start has another key")
	}
	damage := map[string]func() error{
		"removed": func() error { return os.Remove(path) },
		"short":   func() error { return os.WriteFile(path, first[:31], 0o600) },
	}
	if runtime.GOOS != "windows" {
		damage["readable by others"] = func() error { return os.Chmod(path, 0o644) }
	}
	for name, f := range damage {
		openTestCache(t, dir, 1<<20, "build").put(1, "one")
		if err := f(); err != nil {
			t.Fatal(err)
		}
		if openTestCache(t, dir, 1<<20, "build").holds(t, 1, "one") {
			t.Errorf("%s: what was written under the key still counts", name)
		}
		if info, err := os.Stat(path); err != nil || info.Size() != 32 ||
			runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
			t.Errorf("%s: the new key's file %v, error %v", name, info, err)
		}
	}
}

func TestCacheIsBounded(t *testing.T) {
	dir := t.TempDir()
	size := int64(cachePrefix + 1000)
	content := strings.Repeat("x", 1000)
	c := openTestCache(t, dir, 3*size, "build")
	for key := range byte(3) {
		c.put(key, content)
	}
	if !c.holds(t, 0, content) { // times of use: 1 is the oldest
		t.Fatal("code fell out early")
	}
	c.put(3, content)
	c.put(9, strings.Repeat("x", 4000)) // never fits
	if c.holds(t, 1, content) || !c.holds(t, 0, content) || !c.holds(t, 2, content) || !c.holds(t, 3, content) ||
		c.holds(t, 9, "") {
		t.Error("the code that was not used for longest did not fall out")
	}
	if files := codeFiles(t, dir); len(files) != 3 || c.size != 3*size {
		t.Errorf("%d files, %d bytes", len(files), c.size)
	}
	// The times of the files keep the order of use across a restart. Leftovers of a killed process are removed.
	old := time.Now().Add(-time.Hour)
	for _, file := range codeFiles(t, dir) {
		if filepath.Base(file) != c.name(types.CodeHash{2}) {
			if err := os.Chtimes(file, old, old); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := os.WriteFile(filepath.Join(dir, ".new-123"), []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	c = openTestCache(t, dir, size, "build")
	if files := codeFiles(t, dir); len(files) != 1 || !c.holds(t, 2, content) {
		t.Errorf("%d files after a start with less room", len(files))
	}
	if _, err := os.Stat(filepath.Join(dir, ".new-123")); !os.IsNotExist(err) {
		t.Errorf("an unfinished file is left: %v", err)
	}
}

// An unwritable directory makes the node slower, and does not end it.
func TestCacheWithoutDisk(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "code")
	c := openTestCache(t, dir, 1<<20, "build")
	c.put(1, "one")
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if c.holds(t, 1, "one") {
		t.Error("a file that is gone was read")
	}
	c.put(1, "one")
	if c.failures == 0 || c.holds(t, 1, "one") {
		t.Errorf("after the directory was removed: %d failures", c.failures)
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := open(Options{Dir: file}, "build"); err == nil {
		t.Error("a file was taken for a directory")
	}
}

// An engine compiles a module once, and again after any damage to its file.
func TestMachineCodeOnDisk(t *testing.T) {
	dir := t.TempDir()
	g := body(i32(1), i32(2), store8(0))
	start := func() Stats {
		e, err := open(Options{Dir: dir}, "build")
		if err != nil {
			t.Fatal(err)
		}
		c := e.load(t, g)
		if exit, left := e.run(t, c, "run", &host{}, 1000); exit != vm.Returned || left != 1000-9 {
			t.Errorf("exit %d, %d gas left", exit, left)
		}
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}
		return e.Stats()
	}
	if s := start(); s.Compiled != 1 || s.Loaded != 0 {
		t.Errorf("first start: %+v", s)
	}
	loaded := start()
	if loaded.Compiled != 1 || loaded.Loaded == 0 || loaded.Rejected != 0 {
		t.Errorf("second start: %+v", loaded)
	}
	files := codeFiles(t, dir)
	if len(files) != int(loaded.Loaded) { // including the module with which the engine tries wazero
		t.Fatalf("%d files, %d loaded", len(files), loaded.Loaded)
	}
	for _, file := range files {
		sound, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for at := 0; at < len(sound); at += 1 + len(sound)/40 {
			flipped := slices.Clone(sound)
			flipped[at] ^= 0x10
			if err := os.WriteFile(file, flipped, 0o600); err != nil {
				t.Fatal(err)
			}
			if s := start(); s.Rejected != 1 || s.Loaded != loaded.Loaded-1 {
				t.Errorf("byte %d of %d flipped: %+v", at, len(sound), s)
			}
		}
	}
	if s := start(); s.Rejected != 0 || s.Loaded != loaded.Loaded {
		t.Errorf("last start: %+v", s)
	}
}
