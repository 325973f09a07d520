package main

import "slices"

// packed writes the kernels with 32-bit lanes, for AVX2 and for AVX-512 without IFMA. They work on two batches of as
// many states as a register has lanes. A register holds the same element of each of a batch's states. Batches are in
// the frame.
//
// 64-bit products are computed separately for even and odd lanes, and reduced by Montgomery's 2^32. Between full rounds
// numbers are signed. The matrix works on signed 16-bit halves: VPMADDWD multiplies the halves of two elements by two
// coefficients and adds the products. One VPMADDWD also reduces a number h·2^16 + l by 2^16: since 2^−16 = −32512 mod
// p, it becomes h − 32512·l.
type packed struct {
	assembly
	registerSet
	size   int         // size of a register, and of a constant that an instruction needs in full width
	stride int         // distance between other constants of the table
	pinned map[int]reg // constants of the table that stay in registers

	// Offsets of constants in the table.
	p, inverse, bias, fold, low4                           int
	initial, first, last, cyclic, negacyclic               int
	forward, backward, entry, loopBy, exitBy, lane0, after int
}

// registerSet holds the names that differ between the two instruction sets.
type registerSet struct {
	class                string // class of the registers
	lanes                int    // number of 32-bit lanes
	load, copy, xor, and string
	broadcast            string // suffix of an instruction with a constant of the table
	word                 string // takes the low halves of lanes from one register, the high halves from another
}

var (
	ymm = registerSet{
		class:     "Y",
		lanes:     8,
		load:      "VMOVDQU",
		copy:      "VMOVDQA",
		xor:       "VPXOR",
		and:       "VPAND",
		broadcast: "",
		word:      "VPBLENDW $0xaa, %s, %s, %s",
	}
	zmm = registerSet{
		class:     "Z",
		lanes:     16,
		load:      "VMOVDQU64",
		copy:      "VMOVDQA64",
		xor:       "VPXORD",
		and:       "VPANDD",
		broadcast: ".BCST",
		word:      "VPBLENDMW %s, %s, K2, %s",
	}
)

const inverse16 = 127 << 8 // −2^−16 mod p

func avx2File(pm *permutation) []byte {
	k := &packed{registerSet: ymm, size: 32, stride: 32}
	k.free = registers("Y", 0, 15)
	return k.write("permuteAVX2", pm)
}

// avx512bwFile returns the kernel for AVX-512 F and BW. It has enough registers to keep the constants of every
// reduction.
func avx512bwFile(pm *permutation) []byte {
	k := &packed{registerSet: zmm, size: 64, stride: 8}
	k.free = registers("Z", 0, 27)
	return k.write("permuteAVX512BW", pm)
}

// Offsets from DX of the matrix's data in the frame: pairs of halves of sums and differences, and the negacyclic half
// of the result.
func (k *packed) batch() int       { return k.size * width } // size of a batch in the frame
func (k *packed) sums() int        { return 2 * k.batch() }
func (k *packed) differences() int { return k.sums() + 8*k.size }
func (k *packed) negacyclics() int { return k.differences() + 8*k.size }
func (k *packed) frame() int       { return k.negacyclics() + 16*k.size + 64 }

func (k *packed) write(function string, pm *permutation) []byte {
	k.prologue(function)
	k.constants(pm)
	if k.class == "Z" {
		k.pin()
	}
	batches := func(label string, body func()) {
		k.op("MOVQ DI, R12")
		k.op("MOVQ DX, R13")
		k.loop(label, "R11", 2, func() {
			body()
			k.op("ADDQ $%d, R12", 4*width*k.lanes)
			k.op("ADDQ $%d, R13", k.batch())
		})
	}
	batches("first", func() {
		k.loadStates()
		k.fullRounds("firstRound", k.first, halfFull-1)
		k.toEigenbasis()
	})
	k.partialRounds()
	batches("last", func() {
		k.fromEigenbasis()
		k.fullRounds("lastRound", k.last, halfFull)
		k.storeStates()
	})
	k.op("VZEROUPPER")
	k.op("RET")
	return k.file(function, k.frame())
}

// pin loads the constants that stay in registers, and the masks of odd lanes and of odd halves of lanes.
func (k *packed) pin() {
	k.pinned = map[int]reg{k.p: "Z28", k.inverse: "Z29", k.bias: "Z30", k.fold: "Z31"}
	for _, at := range []int{k.p, k.inverse, k.bias} {
		k.op("VPBROADCASTD %d(SI), %s", at, k.pinned[at])
	}
	k.op("VMOVDQU64 %d(SI), %s", k.fold, k.pinned[k.fold])
	k.op("MOVL $0xaaaaaaaa, AX")
	k.op("KMOVW AX, K1")
	k.op("KMOVD AX, K2")
}

// put32 puts a constant for all lanes and returns its offset.
func (k *packed) put32(c uint32) int { return k.putTimes(k.stride/8, c) }

// putPair puts coefficients for VPMADDWD: even for the low halves of lanes, odd for the high halves.
func (k *packed) putPair(even, odd int64) int {
	return k.putTimes(k.size/8, uint32(uint16(even))|uint32(odd)<<16)
}

func (k *packed) putTimes(n int, c uint32) int {
	return k.put(slices.Repeat([]uint64{uint64(c)<<32 | uint64(c)}, n)...)
}

func (k *packed) constants(pm *permutation) {
	// The s-box divides by Montgomery's 2^32 twice; the matrix reduces by 2^16 before and after, and leaves a factor of
	// 2. The scale of the partial rounds solves (16·k)³·2^−64 = k.
	s := newScales(pow2(-64), pow2(-31), pow2(26), 1)
	multipliers := func(v ...uint64) int {
		at := k.put()
		for _, c := range v {
			for _, c := range montgomery(c) {
				k.put32(uint32(c))
			}
		}
		return at
	}
	// Centred constants, added to a number in [0, p), give one in [−p, p).
	centred := func(v ...uint64) int {
		at := k.put()
		for _, c := range v {
			k.put32(uint32(c) - p)
		}
		return at
	}
	k.p = k.put32(p)
	k.inverse = k.put32(uint32(inverseMod2(32)))
	k.bias = k.put32(1 << 15)
	k.fold = k.putPair(-inverse16, 1)
	k.low4 = k.put32(15)
	initial := pm.constants[0].times(s.initial[0])
	k.initial = centred(initial[:]...)
	k.first = k.put()
	for r := 1; r < halfFull; r++ {
		k.matrixConstants(pm.constants[r].times(s.initial[r]))
	}
	k.last = k.put()
	for r := 1; r < halfFull; r++ {
		k.matrixConstants(pm.terminal(s, r))
	}
	k.matrixConstants(vector{})
	after := pm.terminal(s, 0)
	k.after = centred(after[:]...)
	const h = width / 2
	k.cyclic = k.put()
	sum := func(i int) int64 { return mdsColumn[i&7] + mdsColumn[i&7+h] }
	for m := range h {
		k.putPair(sum(m), sum(m-1))
	}
	k.negacyclic = k.put()
	difference := func(i int) int64 { // for −8 < i < 8
		if i < 0 {
			return mdsColumn[i+2*h] - mdsColumn[i+h]
		}
		return mdsColumn[i] - mdsColumn[i+h]
	}
	for m := 2 - h; m < h; m++ {
		k.putPair(difference(m), difference(m-1))
	}
	r := pow2(32)
	var twiddles, inverses []uint64
	for j := range uint64(h) {
		twiddles = append(twiddles, mul(r, pow(omega, j)))
		inverses = append(inverses, mul(r, inv(pow(omega, j))))
	}
	k.forward, k.backward = multipliers(twiddles...), multipliers(inverses...)
	entry, loop, exit := pm.entry(s, r), pm.loop(r), pm.exit(s, r)
	k.entry, k.loopBy, k.exitBy = multipliers(entry[:]...), multipliers(loop[:]...), multipliers(exit[:]...)
	lane0 := make([]uint64, partialRounds+1) // the last is read by the chain that the last round starts needlessly
	for r, c := range pm.lane0 {
		lane0[r] = mul(c, mul(16, s.partial))
	}
	k.lane0 = centred(lane0...)
}

// matrixConstants puts the constants that the matrix adds to the low and high accumulators of each element, so that
// their reduction adds c: l and h with h − 32512·l = c mod p. The low constant also has the bias of signed halves.
func (k *packed) matrixConstants(c vector) {
	for _, c := range c {
		negative := (p - c) % p
		l := (negative + inverse16 - 1) / inverse16
		k.put32(uint32(l) + 1<<15)
		k.put32(uint32(l*inverse16 - negative))
	}
}

// Instructions. Names that end in C take constants of the table, by their offsets from SI.

func (k *packed) fetch(base string, at int) reg {
	r := k.alloc()
	k.op("%s %d(%s), %s", k.load, at, base, r)
	return r
}

// save stores r and frees it.
func (k *packed) save(r reg, base string, at int) {
	k.op("%s %s, %d(%s)", k.load, r, at, base)
	k.release(r)
}

// by writes an instruction with a constant that has the same value in all lanes.
func (k *packed) by(instruction, base string, at int, a, to reg) {
	if r, ok := k.pinned[at]; ok && base == "SI" {
		k.op("%s %s, %s, %s", instruction, r, a, to)
		return
	}
	k.op("%s%s %d(%s), %s, %s", instruction, k.broadcast, at, base, a, to)
}

func (k *packed) add(a, b, to reg)           { k.op("VPADDD %s, %s, %s", a, b, to) }
func (k *packed) sub(a, b, to reg)           { k.op("VPSUBD %s, %s, %s", b, a, to) } // a − b
func (k *packed) min(a, b, to reg)           { k.op("VPMINUD %s, %s, %s", a, b, to) }
func (k *packed) addC(a reg, at int, to reg) { k.by("VPADDD", "SI", at, a, to) }
func (k *packed) subC(a reg, at int, to reg) { k.by("VPSUBD", "SI", at, a, to) }
func (k *packed) xorC(a reg, at int, to reg) { k.by(k.xor, "SI", at, a, to) }

// maddC multiplies by coefficients, which the instruction needs in full width.
func (k *packed) maddC(a reg, at int, to reg) {
	if r, ok := k.pinned[at]; ok {
		k.op("VPMADDWD %s, %s, %s", r, a, to)
		return
	}
	k.op("VPMADDWD %d(SI), %s, %s", at, a, to)
}

// odd copies the odd lanes of a to the even lanes of to.
func (k *packed) odd(a, to reg) { k.op("VMOVSHDUP %s, %s", a, to) }

// highs puts the high halves of even − evenLess and odd − oddLess into the even and the odd lanes of to. The numbers
// have 64 bits, and the low halves of the two operands of a difference are equal.
func (k *packed) highs(even, evenLess, odd, oddLess, to reg) {
	k.op("VPSUBQ %s, %s, %s", evenLess, even, even)
	if k.class == "Z" {
		k.odd(even, to)
		k.op("VPSUBD %s, %s, K1, %s", oddLess, odd, to)
		return
	}
	k.op("VPSUBQ %s, %s, %s", oddLess, odd, odd)
	k.odd(even, to)
	k.op("VPBLENDD $0xaa, %s, %s, %s", odd, to, to)
}

// lift maps x from (−p, p) to [0, p): as unsigned numbers, exactly one of x and x + p is in that range and is the
// smaller.
func (k *packed) lift(x reg) {
	t := k.alloc()
	k.addC(x, k.p, t)
	k.min(x, t, x)
	k.release(t)
}

// lower maps x from [0, 2p) to [0, p).
func (k *packed) lower(x reg) {
	t := k.alloc()
	k.subC(x, k.p, t)
	k.min(x, t, x)
	k.release(t)
}

// cube writes x ← x³·2^−64, signed. If |x| ≤ p, the result is below p in absolute value; if |x| < 1.02·2^30, as after
// the matrix, it is smaller.
func (k *packed) cube(x reg) {
	xOdd, even, odd, q, qOdd := k.alloc(), k.alloc(), k.alloc(), k.alloc(), k.alloc()
	// Montgomery's product: with q = a·x·p^−1 mod 2^32 the low halves of a·x and q·p are equal, so the difference of
	// the high halves is exact.
	product := func(a, aOdd reg) {
		k.op("VPMULDQ %s, %s, %s", a, x, even)
		k.op("VPMULDQ %s, %s, %s", aOdd, xOdd, odd)
		k.by("VPMULDQ", "SI", k.inverse, even, q)
		k.by("VPMULDQ", "SI", k.inverse, odd, qOdd)
		k.by("VPMULDQ", "SI", k.p, q, q)
		k.by("VPMULDQ", "SI", k.p, qOdd, qOdd)
	}
	k.odd(x, xOdd)
	product(x, xOdd)
	for _, v := range [][2]reg{{even, q}, {odd, qOdd}} {
		k.op("VPSUBQ %s, %s, %s", v[1], v[0], v[0])
		k.odd(v[0], v[0])
	}
	product(even, odd)
	k.highs(even, q, odd, qOdd, x)
	k.release(xOdd, even, odd, q, qOdd)
}

// times writes x ← x·c·2^−32 in [0, p), for any unsigned x. At base+at are c and c·p^−1 mod 2^32.
func (k *packed) times(x reg, base string, at int) {
	xOdd, even, odd := k.alloc(), k.alloc(), k.alloc()
	k.odd(x, xOdd)
	k.by("VPMULUDQ", base, at, x, even)
	k.by("VPMULUDQ", base, at, xOdd, odd)
	k.by("VPMULUDQ", base, at+k.stride, x, x)
	k.by("VPMULUDQ", base, at+k.stride, xOdd, xOdd)
	k.by("VPMULUDQ", "SI", k.p, x, x)
	k.by("VPMULUDQ", "SI", k.p, xOdd, xOdd)
	k.highs(even, x, odd, xOdd, x)
	k.release(xOdd, even, odd)
	k.lift(x)
}

// halves splits a number, of absolute value up to 2^31 − 2^15, into signed 16-bit h and l with h·2^16 + l.
func (k *packed) halves(x reg) {
	k.addC(x, k.bias, x)
	k.xorC(x, k.bias, x)
}

// loadStates reads a batch of states at R12, transposes them, and adds the first constants.
func (k *packed) loadStates() {
	for first := 0; first < width; first += k.lanes {
		x := make([]reg, k.lanes)
		for i := range x {
			x[i] = k.fetch("R12", 4*width*i+4*first)
		}
		for i, x := range k.transpose(x) {
			k.addC(x, k.initial+k.stride*(first+i), x)
			k.save(x, "R13", k.size*(first+i))
		}
	}
}

// storeStates makes the elements canonical, transposes them back and writes the batch to R12.
func (k *packed) storeStates() {
	for first := 0; first < width; first += k.lanes {
		x := make([]reg, k.lanes)
		for i := range x {
			x[i] = k.fetch("R13", k.size*(first+i))
			k.lift(x[i])
		}
		for i, x := range k.transpose(x) {
			k.save(x, "R12", 4*width*i+4*first)
		}
	}
}

// transpose transposes a square of 32-bit numbers: in pairs, in pairs of pairs, then by 128-bit lanes.
func (k *packed) transpose(rows []reg) []reg {
	merge := func(first, second string, x []reg, distance int) []reg {
		out := make([]reg, len(x))
		for i := range x {
			if i&distance != 0 {
				continue
			}
			a, b := x[i], x[i+distance]
			out[i], out[i+distance] = k.alloc(), k.alloc()
			k.op("%s%s, %s, %s", first, b, a, out[i])
			k.op("%s%s, %s, %s", second, b, a, out[i+distance])
			k.release(a, b)
		}
		return out
	}
	x := merge("VPUNPCKLDQ ", "VPUNPCKHDQ ", rows, 1)
	x = merge("VPUNPCKLQDQ ", "VPUNPCKHQDQ ", x, 2)
	if k.class == "Y" {
		x = merge("VPERM2I128 $0x20, ", "VPERM2I128 $0x31, ", x, 4)
	} else { // 128-bit lanes 0 and 2 of both, then 1 and 3, twice
		x = merge("VSHUFI32X4 $0x88, ", "VSHUFI32X4 $0xdd, ", x, 4)
		x = merge("VSHUFI32X4 $0x88, ", "VSHUFI32X4 $0xdd, ", x, 8)
	}
	for i := 0; i < len(x); i += 4 { // unpacking has swapped the two middle columns of each 128-bit lane
		x[i+1], x[i+2] = x[i+2], x[i+1]
	}
	return x
}
