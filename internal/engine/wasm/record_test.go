package wasm

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/cairn-chain/cairn/internal/protocol/vm"
	"github.com/cairn-chain/cairn/types"
)

// Compiled code on disk runs without reading the contract's code, and equals compiled code in memory.
func TestRecord(t *testing.T) {
	dir := t.TempDir()
	g := &guest{pages: 1, table: []int{2}, data: []guestData{{70, []byte{5}}}, functions: []guestFunction{
		{export: "run", body: seq(i32(0), callTable(), call(1))}, {}, {},
	}}
	hash := types.CodeHash(sha256.Sum256(g.binary()))
	first := newEngine(t, Options{Dir: dir})
	c := first.load(t, g)
	_, want := first.run(t, c, "run", &host{}, 1000)

	unread := func() ([]byte, error) { return nil, errors.New("the code is not to be read") }
	second := newEngine(t, Options{Dir: dir})
	for range 2 {
		m, err := second.Module(hash, unread)
		if err != nil {
			t.Fatal(err)
		}
		if exit, left := second.run(t, contract{hash, m}, "run", &host{}, 1000); exit != vm.Returned || left != want {
			t.Errorf("exit %d with %d gas left, want %d", exit, left, want)
		}
		if m.Instrumented() != nil || !bytes.Equal(m.Encode(), c.module.Encode()) {
			t.Error("another module came from the disk")
		}
		second.forget(t, hash)
		// A module that was requested and then evicted still runs.
		if exit, left := second.run(t, contract{hash, m}, "run", &host{}, 1000); exit != vm.Returned || left != want {
			t.Errorf("exit %d with %d gas left, want %d", exit, left, want)
		}
	}
	if s := second.Stats(); s.Loaded != s.Compiled || s.Loaded != 3 {
		t.Errorf("loaded %d of %d", s.Loaded, s.Compiled)
	}
}

// Of another program's record only the machine code is used, and only if that program rewrites the code to the same
// bytes.
func TestRecordOfAnotherProgram(t *testing.T) {
	dir := t.TempDir()
	code := body(i32(1), opDrop).binary()
	hash := types.CodeHash(sha256.Sum256(code))
	newEngine(t, Options{Dir: dir}).load(t, body(i32(1), opDrop))
	for name, test := range map[string]struct {
		change func(*record)
		loaded uint64
	}{
		"rewritten as now":  {func(*record) {}, 1},
		"rewritten another": {func(r *record) { r.rewritten[0]++ }, 0},
	} {
		e := newEngine(t, Options{Dir: dir})
		m, err := vm.Check(code)
		if err != nil {
			t.Fatal(err)
		}
		made, _, err := e.machineOf(hash, m)
		if err != nil {
			t.Fatal(err)
		}
		old := record{
			program:   [32]byte{1},
			rewritten: sha256.Sum256(compilable(m.Instrumented())),
			module:    []byte("of other rules"),
			machine:   made.machine,
		}
		test.change(&old)
		e.files.store(hash, old.encode())
		read := 0
		if m, err = e.Module(hash, func() ([]byte, error) { read++; return code, nil }); err != nil || read != 1 {
			t.Fatalf("%s: the code was read %d times, error %v", name, read, err)
		}
		if exit, left := e.run(t, contract{hash, m}, "run", &host{}, 1000); exit != vm.Returned || left == 0 ||
			e.Stats().Loaded != test.loaded {
			t.Errorf("%s: exit %d with %d gas left, %d loaded", name, exit, left, e.Stats().Loaded)
		}
		if now, ok := e.loadRecord(hash); !ok || now.program != e.program || !bytes.Equal(now.module, m.Encode()) ||
			!bytes.Equal(now.machine, made.machine) {
			t.Errorf("%s: the record was not written anew", name)
		}
	}
}

// A skeleton is never compiled: its functions are not a contract's.
func TestSkeletonIsNotCompiled(t *testing.T) {
	e := newEngine(t, Options{})
	m, err := vm.Check(body(i32(1), opDrop).binary())
	if err != nil {
		t.Fatal(err)
	}
	made, err := compileMachine(compilable(m.Instrumented()))
	if err != nil {
		t.Fatal(err)
	}
	for name, machine := range map[string][]byte{
		"none": nil,
		"cut":  made.machine[:len(made.machine)/2],
		"of few functions": append(
			[]byte(wazeroMagic), append(bytes.Clone(made.machine[6:7+int(made.machine[6])]), make([]byte, 4)...)...,
		),
		"of another wazero": append([]byte(wazeroMagic+"\x010"), made.machine[7+int(made.machine[6]):]...),
	} {
		if _, err := e.generation.load(types.CodeHash{1}, m.Skeleton(), machine); err == nil {
			t.Errorf("%s: loaded", name)
		}
	}
	if _, err := e.generation.runtime.CompileModule(
		ctx, named(m.Skeleton().Module, types.CodeHash{1}),
	); !errors.Is(err, errLoader) {
		t.Errorf("a skeleton without machine code: %v", err)
	}
	compiled, err := e.generation.load(types.CodeHash{1}, m.Skeleton(), made.machine)
	if err != nil {
		t.Fatal(err)
	}
	if err := compiled.Close(ctx); err != nil {
		t.Error(err)
	}
	if err := (&loader{}).Add([32]byte{}, strings.NewReader("")); err == nil {
		t.Error("machine code of a skeleton was taken")
	}
	if err := (&loader{}).Delete([32]byte{}); err == nil {
		t.Error("machine code was deleted")
	}
}

func TestPickFunctions(t *testing.T) {
	machine := []byte(wazeroMagic + "\x03dev" + "\x03\x00\x00\x00" + "11111111" + "22222222" + "33333333" + "rest")
	r, err := pickFunctions(machine, []uint32{0, 2})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(r); err != nil ||
		string(got) != wazeroMagic+"\x03dev"+"\x02\x00\x00\x00"+"11111111"+"33333333"+"rest" {
		t.Errorf("%q, error %v", got, err)
	}
	if _, err := pickFunctions(machine, []uint32{3}); err == nil {
		t.Error("a function that is not there was picked")
	}
	for n := range len(machine) - len("rest") {
		if _, err := pickFunctions(machine[:n], nil); err == nil {
			t.Errorf("%d bytes are machine code", n)
		}
	}
}
