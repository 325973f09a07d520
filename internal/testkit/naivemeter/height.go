package naivemeter

// height returns the greatest height of the operand stack. It ignores types: in dead code an instruction takes whatever
// is there.
func (s *module) height(text []instruction, function signature) (highest uint64) {
	type level struct {
		base, results uint64
		isLoop, dead  bool
	}
	operands := uint64(0)
	levels := []level{{results: function.results}}
	for _, in := range text {
		top := &levels[len(levels)-1]
		take := func(n uint64) {
			if top.dead && operands < top.base+n {
				operands = top.base
				return
			}
			operands -= n
		}
		give := func(n uint64) {
			operands += n
			highest = max(highest, operands)
		}
		switch in.opcode {
		case block, loop, ifs:
			if in.opcode == ifs {
				take(1)
			}
			results := uint64(1)
			if in.immediates[0] == empty {
				results = 0
			}
			levels = append(levels, level{base: operands, results: results, isLoop: in.opcode == loop})
		case otherwise:
			operands, top.dead = top.base, false
		case end:
			results := top.results
			operands = top.base
			levels = levels[:len(levels)-1]
			give(results)
		case br, brTable, returns, unreachable:
			operands, top.dead = top.base, true
		case brIf:
			take(1)
			if label := levels[len(levels)-1-int(in.immediates[0])]; !label.isLoop {
				take(label.results)
				give(label.results)
			}
		default:
			taken, given := s.effect(in)
			take(taken)
			give(given)
		}
	}
	return highest
}

// effect returns the numbers of operands that an instruction without labels pops and pushes.
func (s *module) effect(in instruction) (taken, given uint64) {
	op := in.opcode
	switch {
	case op == nop:
		return 0, 0
	case op == call:
		t := s.types[s.functions[in.immediates[0]]]
		return t.params, t.results
	case op == callIndirect:
		t := s.types[in.immediates[0]]
		return t.params + 1, t.results
	case op == drop, op == localSet, op == globalSet:
		return 1, 0
	case op == selects:
		return 3, 1
	case op == localGet, op == globalGet, op == memorySize, op == i32Const, op == i64Const:
		return 0, 1
	case op >= firstStore && op <= lastStore:
		return 2, 0
	case op == localTee, op == memoryGrow, op >= firstLoad && op < firstStore, op == 0x45, op == 0x50:
		return 1, 1
	case op >= 0x67 && op <= 0x69, op >= 0x79 && op <= 0x7B, op >= 0xA7:
		return 1, 1
	}
	return 2, 1
}
