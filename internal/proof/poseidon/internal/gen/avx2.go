package main

// avx2 writes the kernel for AVX2: two batches of 8 states, one element of each of a batch's states in the 8 lanes of
// 32 bits of a register. Batches live in the frame, as 16 registers are too few.
//
// Products of 64 bits take the even and the odd lanes separately, and are reduced by Montgomery's 2^32. Between full
// rounds numbers are signed. The matrix works on signed halves of 16 bits: VPMADDWD multiplies those of two elements by
// two coefficients and adds the products; a number h·2^16 + l is reduced by 2^16 by one VPMADDWD as well, since
// 2^−16 = −32512 mod p makes it h − 32512·l.
type avx2 struct {
	assembly

	// Offsets of constants in the table.
	p, inverse, bias, fold, low4                           int
	initial, first, last, cyclic, negacyclic               int
	forward, backward, entry, loopBy, exitBy, lane0, after int
}

const (
	avx2Batch = 32 * width // size of a batch in the frame
	// Offsets from DX of what the matrix keeps in the frame: pairs of halves of sums and differences, and the
	// negacyclic half of the result.
	avx2Sums        = 2 * avx2Batch
	avx2Differences = avx2Sums + 32*8
	avx2Negacyclic  = avx2Differences + 32*8
	avx2Frame       = avx2Negacyclic + 32*16 + 64

	inverse16 = 127 << 8 // −2^−16 mod p
)

func avx2File(pm *permutation) []byte {
	const function = "permuteAVX2"
	k := &avx2{}
	k.free = registers("Y", 0, 15)
	k.prologue(function)
	k.constants(pm)
	batches := func(label string, body func()) {
		k.op("MOVQ DI, R12")
		k.op("MOVQ DX, R13")
		k.loop(label, "R11", 2, func() {
			body()
			k.op("ADDQ $512, R12")
			k.op("ADDQ $%d, R13", avx2Batch)
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
	return k.file(function, avx2Frame)
}

// put32 puts a constant for all 8 lanes and returns its offset.
func (k *avx2) put32(c uint32) int {
	pair := uint64(c)<<32 | uint64(c)
	return k.put(pair, pair, pair, pair)
}

// putPair puts coefficients for VPMADDWD: even for the low halves of lanes, odd for the high ones.
func (k *avx2) putPair(even, odd int64) int { return k.put32(uint32(uint16(even)) | uint32(odd)<<16) }

func (k *avx2) constants(pm *permutation) {
	// The s-box divides by Montgomery's 2^32 twice; the matrix reduces by 2^16 before and after, and leaves 2. The
	// scale of the partial rounds solves (16·k)³·2^−64 = k.
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
	// centred constants, added to a number in [0, p), make one in [−p, p).
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
	lane0 := make([]uint64, partialRounds+1) // the last is read by the chain that the last round starts in vain
	for r, c := range pm.lane0 {
		lane0[r] = mul(c, mul(16, s.partial))
	}
	k.lane0 = centred(lane0...)
}

// matrixConstants puts what the matrix adds to the low and high accumulators of each element, so that their reduction
// adds c: l and h with h − 32512·l = c mod p. The low one has the bias of signed halves too.
func (k *avx2) matrixConstants(c vector) {
	for _, c := range c {
		negative := (p - c) % p
		l := (negative + inverse16 - 1) / inverse16
		k.put32(uint32(l) + 1<<15)
		k.put32(uint32(l*inverse16 - negative))
	}
}

// Instructions; constants of the table by their offsets from SI where a name ends in C.

func (k *avx2) load(base string, at int) reg {
	r := k.alloc()
	k.op("VMOVDQU %d(%s), %s", at, base, r)
	return r
}

// save stores r, which is free afterwards.
func (k *avx2) save(r reg, base string, at int) {
	k.op("VMOVDQU %s, %d(%s)", r, at, base)
	k.release(r)
}

func (k *avx2) add(a, b, to reg)            { k.op("VPADDD %s, %s, %s", a, b, to) }
func (k *avx2) sub(a, b, to reg)            { k.op("VPSUBD %s, %s, %s", b, a, to) } // a − b
func (k *avx2) min(a, b, to reg)            { k.op("VPMINUD %s, %s, %s", a, b, to) }
func (k *avx2) addC(a reg, at int, to reg)  { k.op("VPADDD %d(SI), %s, %s", at, a, to) }
func (k *avx2) subC(a reg, at int, to reg)  { k.op("VPSUBD %d(SI), %s, %s", at, a, to) }
func (k *avx2) xorC(a reg, at int, to reg)  { k.op("VPXOR %d(SI), %s, %s", at, a, to) }
func (k *avx2) maddC(a reg, at int, to reg) { k.op("VPMADDWD %d(SI), %s, %s", at, a, to) }

// odd copies the odd lanes of a to the even ones.
func (k *avx2) odd(a, to reg) { k.op("VMOVSHDUP %s, %s", a, to) }

// lift takes x from (−p, p) to [0, p): as unsigned numbers, one of x and x + p is in that range and is the lesser.
func (k *avx2) lift(x reg) {
	t := k.alloc()
	k.addC(x, k.p, t)
	k.min(x, t, x)
	k.release(t)
}

// lower takes x from [0, 2p) to [0, p).
func (k *avx2) lower(x reg) {
	t := k.alloc()
	k.subC(x, k.p, t)
	k.min(x, t, x)
	k.release(t)
}

// cube is x ← x³·2^−64, signed. From |x| ≤ p it makes |x| < p; from |x| < 1.02·2^30, what the matrix gives, less.
func (k *avx2) cube(x reg) {
	xOdd, even, odd, q, qOdd := k.alloc(), k.alloc(), k.alloc(), k.alloc(), k.alloc()
	// Montgomery's product into the odd lanes of even and odd: with q = a·x·p^−1 mod 2^32 the low halves of a·x
	// and q·p are equal, and the difference has zeros there.
	product := func(a, aOdd reg) {
		k.op("VPMULDQ %s, %s, %s", a, x, even)
		k.op("VPMULDQ %s, %s, %s", aOdd, xOdd, odd)
		k.op("VPMULDQ %d(SI), %s, %s", k.inverse, even, q)
		k.op("VPMULDQ %d(SI), %s, %s", k.inverse, odd, qOdd)
		k.op("VPMULDQ %d(SI), %s, %s", k.p, q, q)
		k.op("VPMULDQ %d(SI), %s, %s", k.p, qOdd, qOdd)
		k.op("VPSUBQ %s, %s, %s", q, even, even)
		k.op("VPSUBQ %s, %s, %s", qOdd, odd, odd)
	}
	k.odd(x, xOdd)
	product(x, xOdd)
	k.odd(even, even)
	k.odd(odd, odd)
	product(even, odd)
	k.odd(even, x)
	k.op("VPBLENDD $0xaa, %s, %s, %s", odd, x, x)
	k.release(xOdd, even, odd, q, qOdd)
}

// times is x ← x·c·2^−32 in [0, p), for any unsigned x; at base+at are c and c·p^−1 mod 2^32.
func (k *avx2) times(x reg, base string, at int) {
	xOdd, even, odd := k.alloc(), k.alloc(), k.alloc()
	k.odd(x, xOdd)
	k.op("VPMULUDQ %d(%s), %s, %s", at, base, x, even)
	k.op("VPMULUDQ %d(%s), %s, %s", at, base, xOdd, odd)
	k.op("VPMULUDQ %d(%s), %s, %s", at+32, base, x, x)
	k.op("VPMULUDQ %d(%s), %s, %s", at+32, base, xOdd, xOdd)
	k.op("VPMULUDQ %d(SI), %s, %s", k.p, x, x)
	k.op("VPMULUDQ %d(SI), %s, %s", k.p, xOdd, xOdd)
	k.op("VPSUBQ %s, %s, %s", x, even, even)
	k.op("VPSUBQ %s, %s, %s", xOdd, odd, odd)
	k.odd(even, x)
	k.op("VPBLENDD $0xaa, %s, %s, %s", odd, x, x)
	k.release(xOdd, even, odd)
	k.lift(x)
}

// halves turns a number, up to 2^31 − 2^15 in size, into h and l, both signed 16 bits, with h·2^16 + l.
func (k *avx2) halves(x reg) {
	k.addC(x, k.bias, x)
	k.xorC(x, k.bias, x)
}

// loadStates reads 8 states at R12, transposes them, and adds the first constants.
func (k *avx2) loadStates() {
	for first := 0; first < width; first += 8 {
		x := make([]reg, 8)
		for i := range x {
			x[i] = k.load("R12", 64*i+4*first)
		}
		for i, x := range k.transpose(x) {
			k.addC(x, k.initial+32*(first+i), x)
			k.save(x, "R13", 32*(first+i))
		}
	}
}

// storeStates makes the elements canonical, transposes them back and writes the 8 states at R12.
func (k *avx2) storeStates() {
	for first := 0; first < width; first += 8 {
		x := make([]reg, 8)
		for i := range x {
			x[i] = k.load("R13", 32*(first+i))
			k.lift(x[i])
		}
		for i, x := range k.transpose(x) {
			k.save(x, "R12", 64*i+4*first)
		}
	}
}

// transpose transposes 8×8 numbers of 32 bits: in pairs, in pairs of pairs, then by lanes of 128 bits.
func (k *avx2) transpose(rows []reg) []reg {
	merge := func(instructions [2]string, x []reg, distance int) []reg {
		out := make([]reg, 8)
		for i := range x {
			if i&distance != 0 {
				continue
			}
			a, b := x[i], x[i+distance]
			out[i], out[i+distance] = k.alloc(), k.alloc()
			k.op("%s%s, %s, %s", instructions[0], b, a, out[i])
			k.op("%s%s, %s, %s", instructions[1], b, a, out[i+distance])
			k.release(a, b)
		}
		return out
	}
	x := merge([2]string{"VPUNPCKLDQ ", "VPUNPCKHDQ "}, rows, 1)
	x = merge([2]string{"VPUNPCKLQDQ ", "VPUNPCKHQDQ "}, x, 2)
	x = merge([2]string{"VPERM2I128 $0x20, ", "VPERM2I128 $0x31, "}, x, 4)
	// Unpacking has left the two middle columns of each lane of 128 bits exchanged.
	return []reg{x[0], x[2], x[1], x[3], x[4], x[6], x[5], x[7]}
}
