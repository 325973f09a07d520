package program

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"time"
)

// readClock is x86-64 machine code that replaces the vdso(7) function for clock_gettime(2). It makes the system call,
// and adds seconds to CLOCK_REALTIME.
var readClock = []byte{
	0xb8, 0xe4, 0, 0, 0, // mov $228 (clock_gettime), %eax
	0x0f, 0x05, // syscall
	0x85, 0xff, // test %edi, %edi
	0x75, 0x07, // jne: skip the next instruction unless the clock is CLOCK_REALTIME, 0
	0x48, 0x81, 0x06, 0, 0, 0, 0, // addq $seconds, (%rsi)
	0xc3, // ret
}

const (
	secondsAt = 14           // offset of the seconds in readClock
	heapAt    = 0xc000000000 // start of a Go program's heap: its variables are below
)

// SetClock shifts the wall clock of a running Go program by whole seconds, as if an operator had changed the time of
// its machine. Zero restores it. Other processes and the monotonic clock are unaffected. It needs Linux on x86-64.
func (p *Process) SetClock(wrong time.Duration) error {
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		return errors.New("the clock of a process is set wrong on Linux on x86-64 only")
	}
	memory, err := os.OpenFile(p.proc("mem"), os.O_RDWR, 0)
	if err != nil {
		return err
	}
	if p.clock == 0 {
		p.clock, err = p.takeClock(memory)
	}
	if err == nil {
		seconds := binary.LittleEndian.AppendUint32(nil, uint32(int32(wrong/time.Second)))
		_, err = memory.WriteAt(seconds, p.clock+secondsAt)
	}
	return errors.Join(err, memory.Close())
}

// takeClock writes readClock to the unused end of the kernel's shared object, makes the program call it, and returns
// its address.
func (p *Process) takeClock(memory *os.File) (int64, error) {
	areas, err := p.areas(memory)
	if err != nil {
		return 0, err
	}
	var object area
	for _, a := range areas {
		if a.name == "[vdso]" {
			object = a
		}
	}
	function, err := clockFunction(object.content)
	if err != nil {
		return 0, err
	}
	pointer := binary.LittleEndian.AppendUint64(nil, uint64(object.from)+function)
	var places []int64
	for _, a := range areas {
		for at := 0; at+8 <= len(a.content); at += 8 {
			if a.name != object.name && bytes.Equal(a.content[at:at+8], pointer) {
				places = append(places, a.from+int64(at))
			}
		}
	}
	room := len(object.content) - len(readClock)
	room -= room % 64 // in one cache line, so that updates of the seconds are atomic
	if unused := bytes.Trim(object.content[room:], "\x00"); len(places) != 1 || len(unused) > 0 {
		return 0, fmt.Errorf("there are %d places of the clock's function and %d bytes at the shared object's end",
			len(places), len(unused))
	}
	code := object.from + int64(room)
	if _, err := memory.WriteAt(readClock, code); err != nil {
		return 0, err
	}
	_, err = memory.WriteAt(binary.LittleEndian.AppendUint64(nil, uint64(code)), places[0])
	return code, err
}

// area is a region of a process's memory.
type area struct {
	name    string
	from    int64
	content []byte
}

// areas returns the regions of a Go program's variables and of the kernel's shared object (proc_pid_maps(5)).
func (p *Process) areas(memory *os.File) (areas []area, err error) {
	maps, err := os.ReadFile(p.proc("maps"))
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(string(maps)) {
		var a area
		var from, to uint64
		var mode string
		if _, err := fmt.Sscanf(line, "%x-%x %s", &from, &to, &mode); err != nil {
			return nil, fmt.Errorf("%q: %w", line, err)
		}
		if fields := strings.Fields(line); len(fields) == 6 {
			a.name = fields[5]
		}
		variables := from < heapAt && strings.HasPrefix(mode, "rw")
		if !variables && a.name != "[vdso]" {
			continue
		}
		a.from, a.content = int64(from), make([]byte, to-from)
		if _, err := memory.ReadAt(a.content, a.from); err != nil {
			return nil, err
		}
		areas = append(areas, a)
	}
	return areas, nil
}

// clockFunction returns the offset in a shared object of the function that returns the time.
func clockFunction(object []byte) (uint64, error) {
	file, err := elf.NewFile(bytes.NewReader(object))
	if err != nil {
		return 0, err
	}
	symbols, err := file.DynamicSymbols()
	for _, s := range symbols {
		if s.Name == "__vdso_clock_gettime" {
			return s.Value, nil
		}
	}
	return 0, errors.Join(err, errors.New("the kernel's shared object has no __vdso_clock_gettime"))
}
