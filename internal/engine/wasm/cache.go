package wasm

import (
	"container/list"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/cairn-chain/cairn/types"
)

// cache keeps the results of compiling codes, above all machine code, in the files of a directory.
//
// Machine code is executed as read, so a file is used only if it has a valid AES-GCM tag of its bytes, under a random
// key of this node. The tag shows that this node wrote these bytes for this code with this build of the engine.
// (HMAC-SHA-256 took five times as long, which dominated the loading time.) An invalid file is removed, and its module
// is compiled again. So files need no sync: a torn one has no valid tag.
//
// A file's name is derived from the code's hash and the engine's build, which covers the features of the processor.
type cache struct {
	dir   string
	limit int64 // bytes of all files
	key   cipher.AEAD
	build string
	log   *slog.Logger

	mu                 sync.Mutex
	files              map[string]*list.Element // *cacheFile, by name
	recent             *list.List               // last used first
	size               int64                    // bytes of all files
	rejected, failures uint64                   // events since the cache was opened
}

type cacheFile struct {
	name string
	size int64
}

const (
	cacheMagic   = "cairn machine code 2\n"
	cacheKeyName = "key"
	cacheSuffix  = ".code"
	cacheKeySize = 32

	// A file is a nonce, the tag of the rest, the magic, the file's name and the content.
	cacheNonceSize = 12
	cacheTagSize   = 16
	cacheNameSize  = 2*sha256.Size + len(cacheSuffix)
	cacheTagged    = cacheNonceSize + cacheTagSize
	cachePrefix    = cacheTagged + len(cacheMagic) + cacheNameSize
)

// openCache opens a directory, creating it if necessary. Without this node's secret key, no file in it is valid.
func openCache(dir string, limit int64, build string, log *slog.Logger) (*cache, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	key, err := cacheKey(dir)
	if err != nil {
		return nil, fmt.Errorf("read the key that authenticates compiled code: %w", err)
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		return nil, err
	}
	c := &cache{
		dir:    dir,
		limit:  limit,
		key:    aead,
		build:  build,
		log:    log,
		files:  map[string]*list.Element{},
		recent: list.New(),
	}
	return c, c.list()
}

// cacheKey reads the directory's key. It replaces a key that is invalid or accessible to others, which invalidates the
// existing files.
func cacheKey(dir string) ([]byte, error) {
	path := filepath.Join(dir, cacheKeyName)
	info, err := os.Lstat(path)
	switch {
	case err == nil && info.Mode().IsRegular() && info.Size() == cacheKeySize &&
		(runtime.GOOS == "windows" || info.Mode().Perm()&0o077 == 0):
		return os.ReadFile(path)
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return nil, err
	}
	key := make([]byte, cacheKeySize)
	rand.Read(key) //nolint:errcheck // crypto/rand.Read never fails
	return key, writeFile(path, key)
}

// writeFile replaces a file atomically. Only this user can read the new one.
func writeFile(path string, parts ...[]byte) (err error) {
	file, err := os.CreateTemp(filepath.Dir(path), ".new-*") // mode 0600
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(file.Name()))
		}
	}()
	for _, part := range parts {
		if _, err := file.Write(part); err != nil {
			return errors.Join(err, file.Close())
		}
	}
	if err := file.Close(); err != nil {
		return err
	}
	return os.Rename(file.Name(), path)
}

// list finds the existing files, and removes temporary files of a killed process.
func (c *cache) list() error {
	entries, err := os.ReadDir(c.dir)
	if err != nil {
		return err
	}
	type found struct {
		cacheFile
		used time.Time
	}
	var files []found
	for _, entry := range entries {
		switch {
		case strings.HasPrefix(entry.Name(), ".new-"):
			if err := os.Remove(filepath.Join(c.dir, entry.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		case strings.HasSuffix(entry.Name(), cacheSuffix):
			info, err := entry.Info()
			if errors.Is(err, fs.ErrNotExist) {
				continue
			} else if err != nil {
				return err
			}
			files = append(files, found{cacheFile{entry.Name(), info.Size()}, info.ModTime()})
		}
	}
	slices.SortFunc(files, func(a, b found) int { return a.used.Compare(b.used) })
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, f := range files {
		c.hold(f.name, f.size)
	}
	return c.shed()
}

// hold records a file as the last used one.
func (c *cache) hold(name string, size int64) {
	if e, ok := c.files[name]; ok {
		c.size += size - e.Value.(*cacheFile).size
		e.Value.(*cacheFile).size = size
		c.recent.MoveToFront(e)
		return
	}
	c.files[name] = c.recent.PushFront(&cacheFile{name, size})
	c.size += size
}

// shed removes the least recently used files until the cache is within its limit.
func (c *cache) shed() error {
	for c.size > c.limit {
		if err := c.remove(c.recent.Back().Value.(*cacheFile).name); err != nil {
			return err
		}
	}
	return nil
}

func (c *cache) remove(name string) error {
	if e, ok := c.files[name]; ok {
		c.size -= c.recent.Remove(e).(*cacheFile).size
		delete(c.files, name)
	}
	if err := os.Remove(filepath.Join(c.dir, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

func (c *cache) name(hash types.CodeHash) string {
	h := sha256.New()
	h.Write([]byte(c.build))
	h.Write(hash[:])
	return hex.EncodeToString(h.Sum(nil)) + cacheSuffix
}

// fileBuffers holds *[]byte with the memory of files that were used. To get new memory from the system can take longer
// than to read into it.
var fileBuffers sync.Pool

// load returns the content that was stored for a code, and the buffer that it is in, or nil if there is none. An
// invalid file is not an error: the code is compiled again.
func (c *cache) load(hash types.CodeHash) (content []byte, buffer *[]byte) {
	name := c.name(hash)
	c.mu.Lock()
	_, ok := c.files[name]
	c.mu.Unlock()
	if !ok {
		return nil, nil
	}
	content, buffer, err := c.read(name)
	c.mu.Lock()
	defer c.mu.Unlock()
	if err != nil {
		c.rejected++
		c.log.Warn("compiled code is damaged: compiling it again", "file", name, "error", err)
		if err := c.remove(name); err != nil {
			c.failures++
			c.log.Warn("cannot remove damaged compiled code", "file", name, "error", err)
		}
		return nil, nil
	}
	c.hold(name, int64(cachePrefix+len(content)))
	now := time.Now()
	if err := os.Chtimes(filepath.Join(c.dir, name), now, now); err != nil { // keeps the order of use over a restart
		c.failures++
		c.log.Debug("cannot mark compiled code as used", "file", name, "error", err)
	}
	return content, buffer
}

// read returns the content of a file, if its tag is valid, and the buffer that it is in.
func (c *cache) read(name string) (content []byte, buffer *[]byte, err error) {
	file, err := os.Open(filepath.Join(c.dir, name))
	if err != nil {
		return nil, nil, err
	}
	defer file.Close() //nolint:errcheck // open for reading only
	info, err := file.Stat()
	if err != nil {
		return nil, nil, err
	}
	if info.Size() < int64(cachePrefix) || info.Size() > c.limit {
		return nil, nil, fmt.Errorf("its size of %d bytes is impossible", info.Size())
	}
	buffer, ok := fileBuffers.Get().(*[]byte)
	if !ok || int64(cap(*buffer)) < info.Size() {
		made := make([]byte, info.Size())
		buffer = &made
	}
	all := (*buffer)[:info.Size()]
	if _, err := io.ReadFull(file, all); err != nil {
		return nil, nil, err
	}
	if _, err := c.key.Open(nil, all[:cacheNonceSize], all[cacheNonceSize:cacheTagged], all[cacheTagged:]); err != nil {
		return nil, nil, errors.New("its authentication tag does not match")
	}
	if string(all[cacheTagged:cachePrefix]) != cacheMagic+name {
		return nil, nil, errors.New("it belongs to another code")
	}
	return all[cachePrefix:], buffer, nil
}

// store stores the content for a code. A failure, as of a full disk, is only logged: the code is compiled again later.
func (c *cache) store(hash types.CodeHash, content []byte) {
	name, size := c.name(hash), int64(cachePrefix+len(content))
	if size > c.limit {
		return
	}
	nonce := make([]byte, cacheNonceSize)
	rand.Read(nonce) //nolint:errcheck // crypto/rand.Read never fails
	tagged := slices.Concat([]byte(cacheMagic), []byte(name), content)
	if err := writeFile(filepath.Join(c.dir, name), nonce, c.key.Seal(nil, nonce, nil, tagged), tagged); err != nil {
		c.failed("cannot store compiled code", name, err)
		return
	}
	c.mu.Lock()
	c.hold(name, size)
	err := c.shed()
	c.mu.Unlock()
	if err != nil {
		c.failed("cannot evict compiled code", name, err)
	}
}

// held returns the number of invalid files found, and the size of all files in bytes.
func (c *cache) held() (rejected uint64, bytes int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.rejected, c.size
}

func (c *cache) failed(what, name string, err error) {
	c.mu.Lock()
	c.failures++
	c.mu.Unlock()
	c.log.Warn(what, "file", name, "error", err)
}
