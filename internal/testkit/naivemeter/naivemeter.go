// Package naivemeter is a second implementation of docs/protocol.md, "Metering". It follows the page, uses no code of
// package vm, and ignores speed. Tests compare the two.
package naivemeter

import "slices"

// Module holds the quantities that the page defines for a module.
type Module struct {
	Functions                      []Function // defined functions
	DeployGas, Load, InstanceItems uint64
	Weight                         uint64
}

// Function holds the quantities that the page defines for a function.
type Function struct {
	Frame, Branches, Variables, Calls uint64
	Blocks                            []Block // metered blocks, in text order
}

// Block is a metered block: its offset in the function's instructions, and its price.
type Block struct {
	Offset int
	Price  uint64
	jumps  uint64 // instructions that cost more in a heavy module
}

// instruction is an instruction with its immediates.
type instruction struct {
	opcode     byte
	offset     int
	immediates []uint64
}

// construct is a block, loop or if, given by the indices of its instructions.
type construct struct {
	opcode     byte
	begin, end int
	hasResult  bool
	named      int // number of branches that target it
}

const (
	block, loop, ifs, otherwise, end  = 0x02, 0x03, 0x04, 0x05, 0x0B
	br, brIf, brTable, returns        = 0x0C, 0x0D, 0x0E, 0x0F
	call, callIndirect, drop, selects = 0x10, 0x11, 0x1A, 0x1B
	localGet, localSet, localTee      = 0x20, 0x21, 0x22
	globalGet, globalSet              = 0x23, 0x24
	firstLoad, firstStore, lastStore  = 0x28, 0x36, 0x3E
	memorySize, memoryGrow            = 0x3F, 0x40
	i32Const, i64Const, empty         = 0x41, 0x42, 0x40
	unreachable, nop                  = 0x00, 0x01
)

// price implements the table of "Gas schedule".
func price(opcode byte) uint64 {
	switch {
	case opcode == block, opcode == otherwise, opcode == end:
		return 0
	case opcode == ifs, opcode == br, opcode == brIf:
		return 3
	case opcode == loop:
		return 5
	case opcode == call, opcode == memoryGrow:
		return 12
	case opcode == callIndirect:
		return 65
	case opcode == brTable:
		return 15
	case opcode == 0x3A, opcode == 0x3C:
		return 7
	case opcode >= firstStore && opcode <= lastStore:
		return 14
	case opcode >= firstLoad && opcode < firstStore:
		return 13
	case opcode >= 0x6D && opcode <= 0x70:
		return 12
	case opcode >= 0x7F && opcode <= 0x82:
		return 20
	case opcode == 0x45, opcode == 0x50, opcode >= 0x67 && opcode <= 0x69, opcode >= 0x79 && opcode <= 0x7B:
		return 2
	}
	return 1
}

// ends implements the list of "Metering".
func ends(opcode byte) bool {
	return slices.Contains([]byte{loop, ifs, otherwise, end, br, brIf, brTable, returns, unreachable}, opcode)
}

// values implements the list of "Metering".
func values(opcode byte) uint64 {
	switch {
	case opcode == call, opcode == callIndirect, opcode == memoryGrow:
		return 3
	case opcode >= firstLoad && opcode <= lastStore:
		return 2
	case slices.Contains([]byte{block, nop, drop, localGet, localSet, localTee, globalSet}, opcode):
		return 0
	}
	return 1
}

// Measure measures a valid module. It may panic for an invalid one.
func Measure(code []byte) (m Module) {
	s := sections(code)
	mutable := uint64(0)
	for _, isMutable := range s.globals {
		if isMutable {
			mutable++
		}
	}
	m.DeployGas = 800_000
	for i, body := range s.bodies {
		f := s.measure(s.types[s.functions[len(s.functions)-len(s.bodies)+i]], body)
		m.Functions = append(m.Functions, f)
		m.DeployGas += 45_000 + 2_000*uint64(len(body)) + 10*f.Branches*f.Branches*(f.Variables+4) + 600*f.Calls*mutable
	}
	for _, f := range m.Functions {
		m.Weight += 40
		for _, b := range f.Blocks {
			m.Weight += b.Price
		}
	}
	m.chargeJumps()
	m.InstanceItems = uint64(len(s.globals)+s.segments) + s.indices
	m.Load = 12_000 + uint64(len(code)) + 40*uint64(len(s.bodies)) + 100*m.InstanceItems
	return m
}

// chargeJumps adds the surcharge of jumps.
func (m *Module) chargeJumps() {
	more := uint64(0)
	if m.Weight > 36_864 {
		more = min((m.Weight-36_864)/512, 64)
	}
	for _, f := range m.Functions {
		for i := range f.Blocks {
			f.Blocks[i].Price += more * f.Blocks[i].jumps
		}
	}
}

func (s *module) measure(t signature, body []byte) (f Function) {
	r := reader{b: body}
	locals := t.params
	for range r.u() {
		locals += r.u()
		r.at++
	}
	text := read(body[r.at:])
	constructs := match(text)
	height := s.height(text, t)
	f.Variables = locals + height
	f.Frame = 16 + f.Variables
	begin := 0
	for i, in := range text {
		f.Frame += values(in.opcode)
		if slices.Contains([]byte{call, callIndirect, memoryGrow}, in.opcode) {
			f.Calls++
		}
		if !ends(in.opcode) {
			continue
		}
		block := Block{Offset: text[begin].offset, Price: mergeBefore(text, constructs, begin)}
		for _, paid := range text[begin : i+1] {
			block.Price += price(paid.opcode)
			if slices.Contains([]byte{ifs, br, brIf, brTable, returns, call, callIndirect}, paid.opcode) {
				block.jumps++
			}
		}
		f.Blocks = append(f.Blocks, block)
		begin = i + 1
		switch f.Branches++; in.opcode {
		case loop:
			f.Branches += 2
		case brTable:
			f.Branches += in.immediates[0]
		}
	}
	for _, c := range constructs {
		if !c.hasMerge() {
			continue
		}
		f.Frame += c.width(text) + 1
		if c.opcode == loop {
			f.Frame += uint64(c.named) * (c.width(text) + 1)
		}
	}
	return f
}

// mergeBefore returns the price of the merge before the instruction at an index.
func mergeBefore(text []instruction, constructs []construct, index int) uint64 {
	for _, c := range constructs {
		if c.hasMerge() && (c.opcode == loop && c.begin == index-1 || c.opcode != loop && c.end == index-1) {
			return 2 + 5*c.width(text)
		}
	}
	return 0
}

func (c construct) hasMerge() bool { return c.opcode == ifs || c.named > 0 }

func (c construct) width(text []instruction) uint64 {
	named := map[uint64]bool{}
	for _, in := range text[c.begin:c.end] {
		if in.opcode == localSet || in.opcode == localTee {
			named[in.immediates[0]] = true
		}
	}
	if c.opcode != loop && c.hasResult {
		return uint64(len(named)) + 1
	}
	return uint64(len(named))
}

// match returns the constructs, with the number of branches that target each.
func match(text []instruction) (all []construct) {
	var open []int
	name := func(label uint64) {
		if int(label) < len(open) {
			all[open[len(open)-1-int(label)]].named++
		}
	}
	for i, in := range text {
		switch in.opcode {
		case block, loop, ifs:
			open = append(open, len(all))
			all = append(all, construct{opcode: in.opcode, begin: i, hasResult: in.immediates[0] != empty})
		case end:
			if len(open) > 0 {
				all[open[len(open)-1]].end = i
				open = open[:len(open)-1]
			}
		case br, brIf:
			name(in.immediates[0])
		case brTable:
			for _, label := range in.immediates[1:] {
				name(label)
			}
		}
	}
	return all
}
