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

// engineBuild says what made machine code: wazero's version with the hash of its source, the Go version and the target.
// It is empty where that is not known (a replaced module, a vendored one): then no machine code is kept.
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

// thisProgram is the hash of the program that runs: whatever it makes of a code, it makes again.
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

// fileCache is what wazero's compiler asks for machine code. The interface is internal to wazero, over public types.
type fileCache interface {
	Get(key [32]byte) (content io.ReadCloser, ok bool, err error)
	Add(key [32]byte, content io.Reader) error
	Delete(key [32]byte) error
}

// withFiles makes wazero ask files for machine code. wazero has no public way to give it anything but a directory,
// which it reads without authentication. It reports false if this wazero has no such field.
func withFiles(files fileCache) (wazero.CompilationCache, bool) {
	memory := wazero.NewCompilationCache()
	field := reflect.ValueOf(memory).Elem().FieldByName("fileCache")
	if !field.IsValid() || field.Kind() != reflect.Interface || !reflect.TypeOf(files).Implements(field.Type()) {
		return nil, false
	}
	reflect.NewAt(field.Type(), field.Addr().UnsafePointer()).Elem().Set(reflect.ValueOf(files))
	return memory, true
}
