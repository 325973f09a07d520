package journal

import (
	"errors"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"sync"
)

var errFault = errors.New("injected fault")

// memoryFS is a file system in memory that records which bytes are durable, and fails where a test says so.
type memoryFS struct {
	mu      sync.Mutex
	files   map[string]*memoryData // by name, as a process reads them
	durable map[string]*memoryData // by name, as they are after a loss of power
	fault   func(op, name string) error
	room    int // bytes that can still be written; < 0: without limit
	synced  chan struct{}
}

type memoryData struct {
	bytes  []byte
	synced int // number of durable bytes
}

func newMemoryFS() *memoryFS {
	return &memoryFS{
		files: map[string]*memoryData{}, durable: map[string]*memoryData{}, room: -1, synced: make(chan struct{}, 1000),
		fault: func(string, string) error { return nil },
	}
}

// copyFile returns the present content of the file.
func (m *memoryFS) copyFile(name string) []byte {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.files[name].bytes)
}

// afterPowerLoss returns a file system with only the durable data.
func (m *memoryFS) afterPowerLoss() *memoryFS {
	m.mu.Lock()
	defer m.mu.Unlock()
	after := newMemoryFS()
	for name, d := range m.durable {
		b := slices.Clone(d.bytes[:min(d.synced, len(d.bytes))])
		after.files[name] = &memoryData{bytes: b, synced: len(b)}
	}
	return after
}

func (m *memoryFS) with(name string, bytes []byte) *memoryFS {
	m.files[name] = &memoryData{bytes: bytes}
	return m
}

func (m *memoryFS) Create(name string) (File, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.fault("create", name); err != nil {
		return nil, err
	}
	d := &memoryData{}
	m.files[name] = d
	return &memoryFile{fs: m, name: name, data: d}, nil
}

func (m *memoryFS) Open(name string) (File, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.fault("open", name); err != nil {
		return nil, err
	}
	d, ok := m.files[name]
	if !ok {
		return nil, fs.ErrNotExist
	}
	return &memoryFile{fs: m, name: name, data: d}, nil
}

func (m *memoryFS) Rename(from, to string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.fault("rename", from); err != nil {
		return err
	}
	m.files[to] = m.files[from]
	delete(m.files, from)
	return nil
}

func (m *memoryFS) Remove(name string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.files, name)
	return m.fault("remove", name)
}

func (m *memoryFS) SyncDir(dir string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.fault("syncdir", dir); err != nil {
		return err
	}
	clear(m.durable)
	for name, d := range m.files {
		if filepath.Dir(name) == dir {
			m.durable[name] = d
		}
	}
	return nil
}

type memoryFile struct {
	fs   *memoryFS
	name string
	data *memoryData
	at   int
}

func (f *memoryFile) Read(b []byte) (int, error) {
	n, err := f.ReadAt(b, int64(f.at))
	f.at += n
	if n > 0 {
		return n, nil
	}
	return 0, err
}

func (f *memoryFile) ReadAt(b []byte, off int64) (int, error) {
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	if err := f.fs.fault("read", f.name); err != nil {
		return 0, err
	}
	n := copy(b, f.data.bytes[min(int(off), len(f.data.bytes)):])
	if n < len(b) {
		return n, io.EOF
	}
	return n, nil
}

func (f *memoryFile) Write(b []byte) (int, error) {
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	if err := f.fs.fault("write", f.name); err != nil {
		return 0, err
	}
	n := len(b)
	if room := f.fs.room; room >= 0 {
		n = min(n, room)
		f.fs.room -= n
	}
	f.data.bytes = append(f.data.bytes, b[:n]...)
	if n < len(b) {
		return n, errFault
	}
	return n, nil
}

func (f *memoryFile) Sync() error {
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	if err := f.fs.fault("sync", f.name); err != nil {
		return err
	}
	f.data.synced = len(f.data.bytes)
	select {
	case f.fs.synced <- struct{}{}:
	default:
	}
	return nil
}

func (f *memoryFile) Truncate(size int64) error {
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	if err := f.fs.fault("truncate", f.name); err != nil {
		return err
	}
	f.data.bytes = f.data.bytes[:size]
	return nil
}

func (f *memoryFile) Close() error { return nil }
