package main

import (
	"fmt"
	"math"
	"os"
	"runtime"
	"time"

	"github.com/cairn-chain/cairn/internal/engine/wasm"
	"github.com/cairn-chain/cairn/internal/protocol/params"
	"github.com/cairn-chain/cairn/internal/protocol/vm"
	"github.com/cairn-chain/cairn/internal/testkit/wasmgen"
	"github.com/cairn-chain/cairn/types"
	"github.com/cairn-chain/cairn/workshop/internal/hunt"
)

const maxBody, maxCode = 32_768, types.MaxCodeBytes

// compileBombs measures what modules that are hard to compile take at their deploy. Modules whose deploy no block has
// room for are left out.
func compileBombs(t *table) error {
	for _, size := range []struct{ body, code int }{
		{2_048, 1}, {4_096, 1}, {8_192, 1}, {16_384, 1}, {maxBody, 1}, {2_048, maxCode}, {maxBody, maxCode},
	} {
		name := fmt.Sprintf(", a body of %d bytes", size.body)
		if size.code > 1 {
			name = fmt.Sprintf(", bodies of %d bytes", size.body)
		}
		for _, bomb := range wasmgen.Bombs(size.body, size.code) {
			if err := compileBomb(t, bomb, name); err != nil {
				return fmt.Errorf("%s%s: %w", bomb.Name, name, err)
			}
		}
	}
	return nil
}

func compileBomb(t *table, bomb wasmgen.Bomb, name string) error {
	module, err := vm.Check(bomb.Code)
	if err != nil {
		return err
	}
	deploy := hunt.DeployGas(bomb.Code, module)
	if deploy > params.DefaultGasLimit {
		t.skip("deploy: " + bomb.Name + name)
		return nil
	}
	compile := time.Duration(math.MaxInt64)
	for range t.runs {
		took, err := compiling(bomb.Code)
		if err != nil {
			return err
		}
		compile = min(compile, took)
	}
	t.row("deploy: "+bomb.Name+name, deploy, compile)
	return nil
}

// compiling takes the processor time that a new engine takes to check a module and to compile it.
func compiling(code []byte) (took time.Duration, err error) {
	dir, err := os.MkdirTemp("", "cairn-gas-")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // of the system's temporary directory
	engine, err := wasm.New(wasm.Options{Dir: dir})
	if err != nil {
		return 0, err
	}
	runtime.GC()
	took, err = processorTime(func() error {
		module, err := engine.Module(types.CodeHash{}, func() ([]byte, error) { return code, nil })
		if err != nil {
			return err
		}
		return engine.Compile(types.CodeHash{}, module)
	})
	if err != nil {
		return 0, err
	}
	return took, engine.Close()
}
