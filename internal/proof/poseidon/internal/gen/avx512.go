package main

import (
	"math/bits"
	"slices"
)

// avx512 writes the kernel for AVX-512 F and IFMA. It works on two batches of 8 states, with a whole batch in 16
// registers. The eight 64-bit lanes of a register hold the same element of each of a batch's states.
//
// VPMADD52LUQ and VPMADD52HUQ multiply the low 52 bits of their operands and add the low or high half of the product.
// So a number only has to be right mod 2^52, and below 2^52 only as an operand whose high half matters. Intermediate
// differences may be negative, and nothing is masked.
type avx512 struct {
	assembly
	x [width]reg // the batch

	// Offsets of constants in the table.
	mask24, mask52, c127, offset, one       int
	initial, convolution, forward, backward int
	entry, loopBy, exitBy, lane0, terminal  int
}

// Registers that hold constants throughout.
const (
	zP       reg = "Z28" // p
	zInverse reg = "Z29" // p^−1 mod 2^52
	zMinusP  reg = "Z30" // 2^52 − p
)

const mask52 = 1<<52 - 1

// avx512Batch is the size of a batch in the frame.
const avx512Batch = 64 * width

func avx512File(pm *permutation) []byte {
	const function = "permuteAVX512"
	k := &avx512{}
	k.prologue(function)
	k.constants(pm)
	batches := func(label string, body func()) {
		k.op("MOVQ DI, R12")
		k.op("MOVQ DX, R13")
		k.loop(label, "R11", 2, func() {
			body()
			k.op("ADDQ $512, R12")
			k.op("ADDQ $%d, R13", avx512Batch)
		})
	}
	batches("first", func() {
		k.load()
		for i, x := range k.x {
			k.op("VPADDQ.BCST %d(SI), %s, %s", k.initial+8*i, x, x)
		}
		k.fullRounds("firstRound", k.initial+8*width)
		k.sboxes()
		k.toEigenbasis()
		for i, x := range k.x {
			k.op("VMOVDQA64 %s, %d(R13)", x, 64*i)
		}
	})
	k.partialRounds()
	batches("last", func() {
		k.reset()
		for i, x := range k.x {
			k.op("VMOVDQA64 %d(R13), %s", 64*i, x)
		}
		k.fromEigenbasis()
		k.fullRounds("lastRound", k.terminal+8*width)
		k.sboxes()
		k.matrix()
		k.store()
	})
	k.op("VZEROUPPER")
	k.op("RET")
	return k.file(function, 2*avx512Batch+64)
}

// shoup returns the factors for multiplying by c without a correction: c and ⌊c·2^52/p⌋.
func shoup(c uint64) [2]uint64 {
	quotient, _ := bits.Div64(c>>12, c<<52, p)
	return [2]uint64{c, quotient}
}

func (k *avx512) constants(pm *permutation) {
	// The s-box divides by Montgomery's 2^52 twice, and the convolution leaves a factor of 16. The scale of the partial
	// rounds solves (16·k)³·2^−104 = k.
	s := newScales(pow2(-104), 16, pow2(46), 1)
	multipliers := func(v ...uint64) int {
		at := k.put()
		for _, c := range v {
			m := shoup(c)
			k.put(m[:]...)
		}
		return at
	}
	for i, c := range []uint64{p, inverseMod2(52), 1<<52 - p} {
		k.op("VPBROADCASTQ %d(SI), %s", k.put(c), []reg{zP, zInverse, zMinusP}[i])
	}
	k.mask24 = k.put(1<<24 - 1)
	k.mask52 = k.put(mask52)
	k.c127 = k.put(127)
	k.offset = k.put(16 * p) // at least the subtrahends in the transforms, which are at most 8 sums of numbers below 2p
	k.one = k.put(shoup(1)[1])
	k.initial = k.put()
	for r := range halfFull {
		c := pm.constants[r].times(s.initial[r])
		k.put(c[:]...)
	}
	k.convolution = k.put()
	k.convolutionConstants(mdsColumn[:])
	var twiddles, inverses []uint64
	for j := uint64(0); j < width/2; j++ {
		twiddles = append(twiddles, pow(omega, j))
		inverses = append(inverses, inv(pow(omega, j)))
	}
	k.forward, k.backward = multipliers(twiddles...), multipliers(inverses...)
	entry, loop, exit := pm.entry(s, 1), pm.loop(1), pm.exit(s, 1)
	k.entry, k.loopBy, k.exitBy = multipliers(entry[:]...), multipliers(loop[:]...), multipliers(exit[:]...)
	k.lane0 = k.put()
	for _, c := range pm.lane0 {
		k.put(mul(c, mul(16, s.partial)))
	}
	k.put(0) // read by the chain that the last partial round starts needlessly
	k.terminal = k.put()
	for r := range halfFull {
		c := pm.terminal(s, r)
		k.put(c[:]...)
	}
}

// convolutionConstants puts, for each halving of the length n, the n/2 coefficients of the negacyclic half times n/2,
// followed by their negatives, and finally the coefficient for length 1.
func (k *avx512) convolutionConstants(c []int64) {
	if len(c) == 1 {
		k.put(uint64(c[0]))
		return
	}
	h := len(c) / 2
	sums := make([]int64, h)
	for i := range sums {
		sums[i] = c[i] + c[i+h]
	}
	for _, sign := range []int64{1, -1} {
		for i := range h {
			k.put(uint64(sign*int64(h)*(c[i]-c[i+h])) & mask52)
		}
	}
	k.convolutionConstants(sums)
}

// reset makes register i hold element i, and frees the other registers.
func (k *avx512) reset() {
	copy(k.x[:], registers("Z", 0, 15))
	k.free = append(registers("Z", 16, 27), "Z31")
}

// settle moves elements to their registers as set by reset, so that code may loop.
func (k *avx512) settle() {
	for i, home := range registers("Z", 0, 15) {
		if k.x[i] == home {
			continue
		}
		for j := i + 1; j < width; j++ { // an element that occupies this home moves out first
			if k.x[j] == home {
				k.x[j] = k.alloc()
				k.op("VMOVDQA64 %s, %s", home, k.x[j])
			}
		}
		k.free = slices.DeleteFunc(k.free, func(r reg) bool { return r == home })
		k.op("VMOVDQA64 %s, %s", k.x[i], home)
		k.release(k.x[i])
		k.x[i] = home
	}
	k.reset()
}

func (k *avx512) zero(r reg)        { k.op("VPXORQ %s, %s, %s", r, r, r) }
func (k *avx512) move(from, to reg) { k.op("VMOVDQA64 %s, %s", from, to) }
func (k *avx512) add(a, b, to reg)  { k.op("VPADDQ %s, %s, %s", a, b, to) }
func (k *avx512) sub(a, b, to reg)  { k.op("VPSUBQ %s, %s, %s", b, a, to) } // a − b

// low and high add the low or high half of a·b to acc; lowBy and highBy do so for a constant in the table.
func (k *avx512) low(a, b, acc reg)  { k.op("VPMADD52LUQ %s, %s, %s", a, b, acc) }
func (k *avx512) high(a, b, acc reg) { k.op("VPMADD52HUQ %s, %s, %s", a, b, acc) }
func (k *avx512) lowBy(base string, at int, b, acc reg) {
	k.op("VPMADD52LUQ.BCST %d(%s), %s, %s", at, base, b, acc)
}
func (k *avx512) highBy(base string, at int, b, acc reg) {
	k.op("VPMADD52HUQ.BCST %d(%s), %s, %s", at, base, b, acc)
}

// load reads 8 states of 16 uint32 at R12 and transposes them.
func (k *avx512) load() {
	k.free = registers("Z", 0, 27)
	rows := make([]reg, 8)
	for i := range rows {
		rows[i] = k.alloc()
		k.op("VMOVDQU64 %d(R12), %s", 64*i, rows[i])
	}
	mask := k.alloc()
	k.op("VPTERNLOGQ $0xff, %s, %s, %s", mask, mask, mask)
	k.op("VPSRLQ $32, %s, %s", mask, mask)
	for i, pair := range k.transpose(rows) {
		k.x[2*i], k.x[2*i+1] = k.alloc(), pair
		k.op("VPANDQ %s, %s, %s", mask, pair, k.x[2*i])
		k.op("VPSRLQ $32, %s, %s", pair, pair)
	}
	k.release(mask)
	k.settle()
}

// store makes the elements canonical, transposes them back and writes the 8 states to R12.
func (k *avx512) store() {
	for _, x := range k.x {
		k.canonical(x)
	}
	pairs := make([]reg, 8)
	for i := range pairs {
		pairs[i] = k.x[2*i]
		k.op("VPSLLQ $32, %s, %s", k.x[2*i+1], k.x[2*i+1])
		k.op("VPORQ %s, %s, %s", k.x[2*i+1], pairs[i], pairs[i])
		k.release(k.x[2*i+1])
	}
	for i, row := range k.transpose(pairs) {
		k.op("VMOVDQU64 %s, %d(R12)", row, 64*i)
	}
}

// transpose transposes 8×8 64-bit numbers: first in pairs of rows, then by 128-bit lanes.
func (k *avx512) transpose(rows []reg) []reg {
	t := make([]reg, 8)
	for i := 0; i < 8; i += 2 {
		t[i], t[i+1] = k.alloc(), k.alloc()
		k.op("VPUNPCKLQDQ %s, %s, %s", rows[i+1], rows[i], t[i])
		k.op("VPUNPCKHQDQ %s, %s, %s", rows[i+1], rows[i], t[i+1])
		k.release(rows[i], rows[i+1])
	}
	columns := make([]reg, 8)
	for half := range 2 {
		for j, select2 := range []int{0x88, 0xdd} { // lanes 0 and 2 of both operands, then lanes 1 and 3
			a, b, even, odd := k.alloc(), k.alloc(), k.alloc(), k.alloc()
			k.op("VSHUFI64X2 $%#x, %s, %s, %s", select2, t[2+half], t[half], a)
			k.op("VSHUFI64X2 $%#x, %s, %s, %s", select2, t[6+half], t[4+half], b)
			k.op("VSHUFI64X2 $0x88, %s, %s, %s", b, a, even)
			k.op("VSHUFI64X2 $0xdd, %s, %s, %s", b, a, odd)
			k.release(a, b)
			columns[2*j+half], columns[2*j+4+half] = even, odd
		}
	}
	k.release(t...)
	return columns
}

// canonical reduces any number below 2^52 to [0, p).
func (k *avx512) canonical(x reg) {
	q := k.alloc()
	k.zero(q)
	k.highBy("SI", k.one, x, q)
	k.low(q, zMinusP, x)
	k.op("VPANDQ.BCST %d(SI), %s, %s", k.mask52, x, x)
	k.sub(x, zP, q)
	k.op("VPMINUQ %s, %s, %s", q, x, x)
	k.release(q)
}

// times writes Shoup's product by the constant at the offset: with q = ⌊x·c'/2^52⌋ and c' = ⌊c·2^52/p⌋, it is x·c −
// q·p, in [0, 2p) for every x < 2^52. It releases x and returns another register.
func (k *avx512) times(x reg, base string, at int) reg {
	q, r := k.alloc(), k.alloc()
	k.zero(q)
	k.highBy(base, at+8, x, q)
	k.zero(r)
	k.lowBy(base, at, x, r)
	k.low(q, zMinusP, r)
	k.release(q, x)
	return r
}
