package main

import (
	"fmt"
	"slices"
	"strings"
)

// reg is the name of a register in Go's assembler.
type reg string

// assembly is a function in Go's assembler under construction, with its table of constants.
type assembly struct {
	lines []string
	free  []reg // unused registers
	table []uint64
}

func registers(class string, from, to int) (r []reg) {
	for i := from; i <= to; i++ {
		r = append(r, reg(fmt.Sprintf("%s%d", class, i)))
	}
	return r
}

func (a *assembly) op(format string, args ...any) {
	a.lines = append(a.lines, fmt.Sprintf("\t"+format, args...))
}

func (a *assembly) label(name string) { a.lines = append(a.lines, name+":") }

func (a *assembly) alloc() reg {
	r := a.free[0]
	a.free = a.free[1:]
	return r
}

func (a *assembly) release(r ...reg) { a.free = append(a.free, r...) }

// capture returns the instructions that f writes instead of writing them. f allocates only from the given registers.
func (a *assembly) capture(free []reg, f func()) []string {
	lines, saved := a.lines, a.free
	a.lines, a.free = nil, slices.Clone(free)
	f()
	captured := a.lines
	a.lines, a.free = lines, saved
	return captured
}

// interleave writes two independent streams of instructions, and spreads the first over the first two thirds of the
// second. The first is a chain of dependent operations whose latency the second hides.
func (a *assembly) interleave(chain, work []string) {
	i := 0
	for j, line := range work {
		a.lines = append(a.lines, line)
		for ; i < len(chain) && 2*i*len(work) <= 3*j*len(chain); i++ {
			a.lines = append(a.lines, chain[i])
		}
	}
	a.lines = append(a.lines, chain[i:]...)
}

// loop writes body so that it runs n times. counter is a general register that body does not modify.
func (a *assembly) loop(label, counter string, n int, body func()) {
	a.op("MOVQ $%d, %s", n, counter)
	a.label(label)
	body()
	a.op("DECQ %s", counter)
	a.op("JNZ %s", label)
}

// put appends constants to the table and returns the byte offset of the first.
func (a *assembly) put(words ...uint64) int {
	a.table = append(a.table, words...)
	return 8 * (len(a.table) - len(words))
}

// file returns the whole source file with the function. frame is the size of its stack frame in bytes.
func (a *assembly) file(function string, frame int) []byte {
	var b strings.Builder
	b.WriteString(header + "//go:build !purego\n\n#include \"textflag.h\"\n\n")
	for i, w := range a.table {
		fmt.Fprintf(&b, "DATA %sTable<>+%d(SB)/8, $%#x\n", function, 8*i, w)
	}
	fmt.Fprintf(&b, "GLOBL %sTable<>(SB), RODATA|NOPTR, $%d\n\n", function, 8*len(a.table))
	fmt.Fprintf(&b, "// func %s(b *block)\nTEXT ·%s(SB), 0, $%d-8\n", function, function, frame)
	b.WriteString(strings.Join(a.lines, "\n"))
	b.WriteString("\n")
	return []byte(b.String())
}

// prologue points DI to the block, SI to the table, and DX to the frame, aligned to 64 bytes (the frame must have 64
// bytes to spare).
func (a *assembly) prologue(function string) {
	a.op("MOVQ b+0(FP), DI")
	a.op("LEAQ %sTable<>(SB), SI", function)
	a.op("LEAQ 63(SP), DX")
	a.op("ANDQ $-64, DX")
}
