package wasm

import (
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"reflect"
	"runtime"
	"runtime/debug"
	"sync"

	"github.com/tetratelabs/wazero"
)

// engineBuild identifies the producer of machine code: wazero's version and source hash, the Go version and the target.
// It is empty if unknown, as for a replaced or vendored module; then no machine code is kept.
func engineBuild() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	for _, m := range info.Deps {
		if m.Path == "github.com/tetratelabs/wazero" && m.Replace == nil && m.Sum != "" {
			return fmt.Sprintf("%s %s %s %s/%s", m.Version, m.Sum, runtime.Version(), runtime.GOOS, runtime.GOARCH)
		}
	}
	return ""
}

// thisProgram returns the hash of the running program's file. The same program derives the same result from a code.
var thisProgram = sync.OnceValues(func() (hash [32]byte, err error) {
	path, err := os.Executable()
	if err != nil {
		return hash, err
	}
	file, err := os.Open(path)
	if err != nil {
		return hash, err
	}
	defer file.Close() //nolint:errcheck // open for reading only
	h := sha256.New()
	_, err = io.Copy(h, file)
	return [32]byte(h.Sum(nil)), err
})

// fileCache is wazero's interface to a cache of machine code. wazero declares it internally, over public types.
type fileCache interface {
	Get(key [32]byte) (content io.ReadCloser, ok bool, err error)
	Add(key [32]byte, content io.Reader) error
	Delete(key [32]byte) error
}

// withFiles returns a compilation cache that uses files. wazero's public API offers only directories, which it reads
// without authentication. It reports false if this version of wazero lacks the expected field.
func withFiles(files fileCache) (wazero.CompilationCache, bool) {
	memory := wazero.NewCompilationCache()
	field := reflect.ValueOf(memory).Elem().FieldByName("fileCache")
	if !field.IsValid() || field.Kind() != reflect.Interface || !reflect.TypeOf(files).Implements(field.Type()) {
		return nil, false
	}
	reflect.NewAt(field.Type(), field.Addr().UnsafePointer()).Elem().Set(reflect.ValueOf(files))
	return memory, true
}
