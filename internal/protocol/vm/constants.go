package vm

import "slices"

// Constants returns the operands of i32.const and i64.const in a contract's code, each once and in order, for tools
// that look for values that the code compares with. It returns an error if the code cannot be deployed.
func Constants(code []byte) (i32, i64 []uint64, err error) {
	if _, err := Check(code); err != nil {
		return nil, nil, err
	}
	r := reader{code: code, at: 8, end: len(code)}
	for r.at < r.end {
		id, size := r.byte(), r.u32()
		next := r.at + int(size)
		if id == codeSection {
			for range r.u32() {
				size := r.u32()
				end := r.at + int(size)
				for range r.u32() { // groups of locals
					r.u32()
					r.byte()
				}
				for r.at < end {
					switch opcode := r.byte(); opcode {
					case opI32Const:
						i32 = append(i32, uint64(uint32(r.signed(32))))
					case opI64Const:
						i64 = append(i64, uint64(r.signed(64)))
					default:
						r.immediates(opcode)
					}
				}
			}
		}
		r.at = next
	}
	slices.Sort(i32)
	slices.Sort(i64)
	return slices.Compact(i32), slices.Compact(i64), nil
}
