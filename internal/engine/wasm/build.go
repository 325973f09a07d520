package wasm

import (
	"fmt"
	"reflect"
	"runtime"
	"runtime/debug"

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

// withFiles makes wazero ask files for machine code. wazero has no public way to give it anything but a directory, which
// it reads without authentication; the interface that it asks inside has three methods over public types, so it can be
// set. It reports false if this wazero has no such field: then there is no cache.
func withFiles(files *cache) (wazero.CompilationCache, bool) {
	memory := wazero.NewCompilationCache()
	field := reflect.ValueOf(memory).Elem().FieldByName("fileCache")
	if !field.IsValid() || field.Kind() != reflect.Interface || !reflect.TypeFor[*cache]().Implements(field.Type()) {
		return nil, false
	}
	reflect.NewAt(field.Type(), field.Addr().UnsafePointer()).Elem().Set(reflect.ValueOf(files))
	return memory, true
}
