package quarantine

import (
	"bytes"
	"encoding/json"
	"errors"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cairn-chain/cairn/internal/emergency"
	"github.com/cairn-chain/cairn/internal/engine/mempool/journal"
	"github.com/cairn-chain/cairn/internal/protocol/vm"
	"github.com/cairn-chain/cairn/internal/storage/sealed"
	"github.com/cairn-chain/cairn/types"
)

var errInjected = errors.New("injected")

// faulty is an engine that acts as the test says.
type faulty struct {
	module, compile func() error
	run             func(vm.Host) error
}

func (f faulty) Module(_ types.CodeHash, code func() ([]byte, error)) (*vm.Module, error) {
	if f.module != nil {
		return nil, f.module()
	}
	_, err := code()
	return nil, err
}
func (f faulty) Compile(types.CodeHash, *vm.Module) error { return f.compile() }
func (f faulty) Run(_ types.CodeHash, _ *vm.Module, _ string, host vm.Host, _ *vm.Gas) (vm.Exit, error) {
	return vm.Returned, f.run(host)
}

type host struct{ err error }

func (h host) Invoke(vm.Function, vm.Memory, []uint64, *vm.Gas) (vm.Exit, error) {
	return vm.Returned, h.err
}
func (host) Grow(vm.Memory, uint32) bool { return true }
func (h host) Continue() error           { return h.err }

func failing() error   { return errInjected }
func panicking() error { panic("injected") }

func open(t *testing.T, opts Options) *List {
	t.Helper()
	b, err := Open(opts)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// Every kind of failure of the engine is its fault; failures of its host or of the store are not. A nested fault counts
// against the code in which it happened.
func TestWhoseFault(t *testing.T) {
	nested := &vm.Fault{Code: types.CodeHash{9}, Err: errInjected}
	for name, test := range map[string]struct {
		engine faulty
		call   func(vm.Engine) error
		fault  bool
	}{
		"an error of running":   {faulty{run: func(vm.Host) error { return errInjected }}, run(nil), true},
		"a panic of running":    {faulty{run: func(vm.Host) error { return panicking() }}, run(nil), true},
		"an error of loading":   {faulty{module: failing}, load(nil), true},
		"a panic of loading":    {faulty{module: panicking}, load(nil), true},
		"an error of compiling": {faulty{compile: failing}, compile, true},
		"a panic of compiling":  {faulty{compile: panicking}, compile, true},
		"the store":             {faulty{}, load(errInjected), false},
		"the host": {faulty{run: func(h vm.Host) error {
			_, err := h.Invoke(0, nil, nil, nil)
			return errors.Join(errors.New("call"), err)
		}}, run(errInjected), false},
		"who waits": {faulty{run: vm.Host.Continue}, run(errInjected), false},
		"a nested call": {faulty{run: func(h vm.Host) error {
			_, err := h.Invoke(0, nil, nil, nil)
			return err
		}}, run(nested), false},
		"a closed engine": {faulty{run: func(vm.Host) error { return vm.ErrClosed }}, run(nil), false},
	} {
		b := open(t, Options{})
		err := test.call(b.Guard(test.engine))
		var fault *vm.Fault
		if is := errors.As(err, &fault) && fault.Code == hash; err == nil || is != test.fault {
			t.Errorf("%s: got %v", name, err)
		}
		if s := b.Stats(); s.Faults != count(test.fault) || b.Quarantined(hash) != test.fault {
			t.Errorf("%s: the book has %+v", name, s)
		}
	}
}

var hash = types.CodeHash{1}

func count(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

func run(err error) func(vm.Engine) error {
	return func(e vm.Engine) error {
		_, err := e.Run(hash, nil, "f", host{err}, new(vm.Gas))
		return err
	}
}

func load(err error) func(vm.Engine) error {
	return func(e vm.Engine) error {
		_, err := e.Module(hash, func() ([]byte, error) { return nil, err })
		return err
	}
}

func compile(e vm.Engine) error { return e.Compile(hash, nil) }

// A quarantined code is refused where the node may refuse it, and runs in blocks that exist already.
func TestRefuse(t *testing.T) {
	b := open(t, Options{})
	broken := faulty{run: func(vm.Host) error { return errInjected }}
	if err := run(nil)(b.Deny(broken)); err == nil {
		t.Fatal("no fault")
	}
	sound := faulty{
		module: func() error { return nil }, compile: func() error { return nil }, run: func(vm.Host) error { return nil },
	}
	for name, call := range map[string]func(vm.Engine) error{"load": load(nil), "compile": compile} {
		if err := call(b.Deny(sound)); !errors.Is(err, ErrQuarantined) || !errors.As(err, new(*vm.Fault)) {
			t.Errorf("%s: got %v", name, err)
		}
		if err := call(b.Guard(sound)); err != nil {
			t.Errorf("%s: error %v", name, err)
		}
	}
	if s := b.Stats(); s.Faults != 1 {
		t.Errorf("the book has %+v", s)
	}
}

// A failure of an engine that runs another form of codes says nothing about them; codes on which the engine for blocks
// failed do not run on it.
func TestSpare(t *testing.T) {
	b := open(t, Options{})
	broken := faulty{
		compile: func() error { return errInjected }, run: func(vm.Host) error { panic("of the engine") },
	}
	for name, call := range map[string]func(vm.Engine) error{"compile": compile, "run": run(nil)} {
		if err := call(b.DenyOnly(broken)); !errors.As(err, new(*vm.Fault)) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	if s := b.Stats(); s.Faults != 0 || b.Quarantined(hash) {
		t.Errorf("the book has %+v", s)
	}
	if err := run(nil)(b.Guard(broken)); err == nil || !b.Quarantined(hash) {
		t.Fatalf("of an engine of blocks: error %v", err)
	}
	if err := compile(b.DenyOnly(faulty{compile: func() error { return nil }})); !errors.Is(err, ErrQuarantined) {
		t.Errorf("a code in quarantine: error %v, want %v", err, ErrQuarantined)
	}
}

// clock has a time that the test sets.
type clock struct{ now time.Time }

func (c *clock) Now() time.Time { return c.now }

func accounts(a ...types.Account) []types.Account { return a }

func codes(h ...types.CodeHash) []types.CodeHash { return h }

func code(h ...types.CodeHash) func() ([]types.CodeHash, error) {
	return func() ([]types.CodeHash, error) { return h, nil }
}

// Waits double up to a day and end on time. After a day without a wait the shortest comes first again.
func TestWaits(t *testing.T) {
	c := &clock{time.Unix(1_700_000_000, 0)}
	b := open(t, Options{Now: c.Now})
	alice, bob := types.Account{1}, types.Account{2}
	want := time.Minute
	for range 14 {
		if got := b.Overran(accounts(alice), codes(hash)); got != want {
			t.Fatalf("got %v, want %v", got, want)
		}
		for who, party := range map[types.Account][]types.CodeHash{alice: nil, bob: {{2}, hash}} {
			var waits *WaitError
			if err := b.Check(accounts(who), code(party...)); !errors.As(err, &waits) || waits.Left != want {
				t.Fatalf("%v: got %v", who, err)
			}
		}
		if err := b.Check(accounts(bob), code(types.CodeHash{2})); err != nil {
			t.Fatal(err)
		}
		c.now = c.now.Add(want)
		if err := b.Check(accounts(alice), code(hash)); err != nil {
			t.Fatalf("after %v: error %v", want, err)
		}
		want = min(2*want, 24*time.Hour)
	}
	c.now = c.now.Add(24 * time.Hour)
	b.Overran(accounts(bob), nil) // each call also removes old entries
	if got := b.Overran(accounts(alice), codes(hash)); got != time.Minute {
		t.Errorf("after a quiet day: got %v, want %v", got, time.Minute)
	}
	if s := b.Stats(); s.Overruns != 16 || s.Waiting != 3 {
		t.Errorf("the book has %+v", s)
	}
	if err := b.Check(accounts(alice), func() ([]types.CodeHash, error) { return nil, errInjected }); !errors.Is(err, errInjected) {
		t.Errorf("got %v, want %v", err, errInjected)
	}
}

// The number of recorded entries is bounded.
func TestBounds(t *testing.T) {
	c := &clock{time.Unix(1_700_000_000, 0)}
	b := open(t, Options{Now: c.Now})
	id := func(i int) [32]byte { return [32]byte{byte(i), byte(i >> 8), byte(i >> 16), 1} }
	for i := range maxQuarantined {
		b.kept.Quarantined[id(i)] = Quarantined{Time: c.now.Add(time.Duration(i))}
	}
	for i := range maxWaits {
		x := wait{c.now.Add(time.Duration(i)), 1}
		b.kept.Senders[id(i)], b.kept.Codes[id(i)] = x, x
	}
	for i := range 10 {
		b.failed(&vm.Fault{Code: id(maxWaits + i), Err: errInjected})
		b.Overran(accounts(id(maxWaits+i)), codes(id(maxWaits+i)))
	}
	if len(b.kept.Quarantined) != maxQuarantined || len(b.kept.Senders) != maxWaits || len(b.kept.Codes) != maxWaits {
		t.Errorf("got %d, want %d, %d, want %d, %d, want %d",
			len(b.kept.Quarantined), maxQuarantined, len(b.kept.Senders), maxWaits, len(b.kept.Codes), maxWaits)
	}
	if b.Quarantined([32]byte{0, 0, 0, 1}) || b.kept.Senders[[32]byte{0, 0, 0, 1}].Times != 0 {
		t.Error("the oldest did not make room")
	}
}

// cutFS fails from one operation on, and leaves the files of a process that was killed there.
type cutFS struct {
	journal.OS
	left *int
}

func (f cutFS) cut() error {
	if *f.left--; *f.left < 0 {
		return errInjected
	}
	return nil
}

func (f cutFS) Create(name string) (journal.File, error) {
	if err := f.cut(); err != nil {
		return nil, err
	}
	file, err := f.OS.Create(name)
	return cutFile{file, f}, err
}

func (f cutFS) Rename(from, to string) error {
	if err := f.cut(); err != nil {
		return err
	}
	return f.OS.Rename(from, to)
}

func (f cutFS) SyncDir(dir string) error { return errors.Join(f.cut(), f.OS.SyncDir(dir)) }

type cutFile struct {
	journal.File
	fs cutFS
}

func (f cutFile) Write(b []byte) (int, error) {
	if err := f.fs.cut(); err != nil {
		n, _ := f.File.Write(b[:len(b)/2])
		return n, err
	}
	return f.File.Write(b)
}

func (f cutFile) Sync() error { return errors.Join(f.fs.cut(), f.File.Sync()) }

// If the disk fails at any operation, the file has its content from before or after the change, and the failure is
// logged.
func TestCrash(t *testing.T) {
	c := &clock{time.Unix(1_700_000_000, 0)}
	for operations := 0; ; operations++ {
		path := filepath.Join(t.TempDir(), "aside.json")
		before := open(t, Options{Path: path, Now: c.Now})
		before.failed(&vm.Fault{Code: hash, Function: "f", Err: errInjected})
		before.Overran(accounts(types.Account{1}), codes(hash))
		var log bytes.Buffer
		left := operations
		cut := open(t, Options{Path: path, Now: c.Now, FS: cutFS{left: &left}, Log: slog.New(slog.NewTextHandler(&log, nil))})
		cut.Overran(accounts(types.Account{2}), codes(types.CodeHash{2}))
		after := open(t, Options{Path: path, Now: c.Now})
		if !after.Quarantined(hash) || len(after.kept.Senders) < 1 || after.Codes()[hash].Function != "f" {
			t.Fatalf("cut at %d: got %+v", operations, after.kept)
		}
		failed := strings.Contains(log.String(), "cannot write the quarantine file")
		if written := len(after.kept.Senders) == 2; failed != (left < 0) || !failed && !written {
			t.Fatalf("cut at %d: written %v, logged %s", operations, written, &log)
		}
		if left >= 0 {
			if !maps.Equal(after.kept.Codes, cut.kept.Codes) || !maps.Equal(after.kept.Senders, cut.kept.Senders) {
				t.Fatalf("got %+v, want %+v", after.kept, cut.kept)
			}
			return
		}
	}
}

func TestClear(t *testing.T) {
	path := filepath.Join(t.TempDir(), "aside.json")
	b := open(t, Options{Path: path})
	for i := range 3 {
		b.failed(&vm.Fault{Code: types.CodeHash{byte(i)}, Err: errInjected})
	}
	for _, want := range []struct {
		codes   []types.CodeHash
		cleared int
	}{{[]types.CodeHash{{1}, {7}}, 1}, {nil, 2}, {nil, 0}} {
		if cleared, err := b.Clear(want.codes...); err != nil || cleared != want.cleared {
			t.Errorf("%v: got %d, want %d, error %v", want.codes, cleared, want.cleared, err)
		}
	}
	if again := open(t, Options{Path: path}); len(again.Codes()) != 0 {
		t.Errorf("left are %v", again.Codes())
	}
}

func TestDamagedFile(t *testing.T) {
	seal := func(content string) string {
		text, err := sealed.JSON(json.RawMessage(content))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	full := `{"quarantined":{},"senders":{},"codes":{}}`
	if _, err := decode([]byte(seal(full))); err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{
		"empty":               "",
		"another type":        "[]",
		"no checksum":         full,
		"a member is missing": seal(`{"quarantined":{},"senders":{}}`),
		"an unknown member":   seal(`{"more":1,` + full[1:]),
		"something follows":   seal(full) + "{}",
		"no hash":             seal(`{"quarantined":{"0x01":{}},"senders":{},"codes":{}}`),
		"cut":                 seal(full)[:20],
		"too long":            seal(full) + strings.Repeat(" ", maxFile),
	} {
		path := filepath.Join(t.TempDir(), "aside.json")
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := Open(Options{Path: path})
		if told := new(emergency.Emergency); !errors.As(err, &told) || !strings.Contains(told.What, path) {
			t.Errorf("%s: got %v, want an emergency about %s", name, err, path)
		}
	}
}

// FuzzDecode: a decoded content can be written, and decodes to the same.
func FuzzDecode(f *testing.F) {
	text, err := sealed.JSON(json.RawMessage(`{"quarantined":{},"senders":{},"codes":{}}`))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Fuzz(func(t *testing.T, encoded []byte) {
		c, err := decode(encoded)
		if err != nil {
			return
		}
		b := open(t, Options{Path: filepath.Join(t.TempDir(), "aside.json")})
		b.kept = c
		if err := b.write(); err != nil {
			return // a time that JSON cannot have
		}
		again := open(t, b.opts)
		if len(again.kept.Quarantined) != len(c.Quarantined) || len(again.kept.Senders) != len(c.Senders) ||
			len(again.kept.Codes) != len(c.Codes) {
			t.Fatalf("got %+v, want %+v", again.kept, c)
		}
	})
}

// A code that an engine ran wrongly is in quarantine, also after a restart, and another engine runs it in existing
// blocks.
func TestWrongResults(t *testing.T) {
	var log bytes.Buffer
	opts := Options{Path: filepath.Join(t.TempDir(), "aside.json"), Log: slog.New(slog.NewTextHandler(&log, nil))}
	b := open(t, opts)
	var ran []string
	engine := func(name string) vm.Engine {
		note := func() error { ran = append(ran, name); return nil }
		return faulty{module: note, compile: note, run: func(vm.Host) error { return note() }}
	}
	asked := 0
	other := func() (vm.Engine, error) { asked++; return engine("other"), nil }
	divert := func(b *List) vm.Engine {
		t.Helper()
		e, err := b.Divert(engine("compiler"), other)
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	all := func(e vm.Engine) []string {
		t.Helper()
		ran = nil
		for name, call := range map[string]func(vm.Engine) error{"load": load(nil), "compile": compile, "run": run(nil)} {
			if err := call(e); err != nil {
				t.Errorf("%s: error %v", name, err)
			}
		}
		return ran
	}
	before := divert(b)
	if got := all(before); !slices.Equal(got, slices.Repeat([]string{"compiler"}, 3)) || asked != 0 {
		t.Errorf("nothing is in quarantine: %v ran, another was asked for %d times", got, asked)
	}
	b.WrongResult(7, errInjected, hash, types.CodeHash{2})
	b.WrongResult(8, errInjected)
	if s := b.Stats(); s.Faults != 2 || s.Quarantined != 2 {
		t.Errorf("the book has %+v, want 2 faults and 2 codes", s)
	}
	if n := strings.Count(log.String(), "level=ERROR"); n != 2 || !strings.Contains(log.String(), hash.String()) ||
		!strings.Contains(log.String(), "memory") {
		t.Errorf("the log has %d errors: %s", n, log.String())
	}
	if got := all(before); !slices.Equal(got, slices.Repeat([]string{"compiler"}, 3)) {
		t.Errorf("in the block that was begun %v ran", got)
	}
	b = open(t, opts)
	if why := b.Codes()[hash]; why.Error != errInjected.Error() || why.Function != "" {
		t.Errorf("opened again, the reason is %+v", why)
	}
	if got := all(divert(b)); !slices.Equal(got, slices.Repeat([]string{"other"}, 3)) || asked != 1 {
		t.Errorf("opened again: %v ran, another was asked for %d times", got, asked)
	}
	if err := load(nil)(b.Deny(engine("compiler"))); !errors.Is(err, ErrQuarantined) {
		t.Errorf("in a block that is made: error %v, want %v", err, ErrQuarantined)
	}
	if _, err := b.Divert(engine("compiler"), func() (vm.Engine, error) { return nil, errInjected }); err != errInjected {
		t.Errorf("no other engine: got %v, want %v", err, errInjected)
	}
	if _, err := b.Clear(); err != nil {
		t.Fatal(err)
	}
	if got := all(divert(b)); !slices.Equal(got, slices.Repeat([]string{"compiler"}, 3)) {
		t.Errorf("cleared: %v ran", got)
	}
}
