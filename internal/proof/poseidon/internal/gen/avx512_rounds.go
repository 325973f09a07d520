package main

// fullRounds writes three rounds of s-boxes, matrix, and the constants in the table from the offset on.
func (k *avx512) fullRounds(label string, constants int) {
	k.op("LEAQ %d(SI), R8", constants)
	k.loop(label, "CX", halfFull-1, func() {
		k.sboxes()
		k.matrix()
		for i, x := range k.x {
			k.op("VPADDQ.BCST %d(R8), %s, %s", 8*i, x, x)
		}
		k.settle()
		k.op("ADDQ $%d, R8", 8*width)
	})
}

func (k *avx512) sboxes() {
	for i := 0; i < width; i += 4 {
		k.cubes(k.x[i : i+4]...)
	}
}

// cubes writes x ← x³·2^−104 for all registers in step, so that latencies overlap. If x is at most as large as the
// results of matrix, the new x is below 2p.
func (k *avx512) cubes(x ...reg) {
	low, high, q := make([]reg, len(x)), make([]reg, len(x)), make([]reg, len(x))
	for i := range x {
		low[i], high[i], q[i] = k.alloc(), k.alloc(), k.alloc()
	}
	each := func(f func(i int)) {
		for i := range x {
			f(i)
		}
	}
	// Montgomery's product a·x·2^−52 + p: with q = low(a·x)·p^−1 the low halves of a·x and q·p are equal, so the
	// difference of the high halves is exact.
	product := func(a, high, q, to []reg) {
		each(func(i int) { k.zero(low[i]); k.low(a[i], x[i], low[i]) })
		each(func(i int) { k.move(zP, high[i]); k.high(a[i], x[i], high[i]) })
		each(func(i int) { k.zero(q[i]); k.low(low[i], zInverse, q[i]) })
		each(func(i int) { k.zero(low[i]); k.high(q[i], zP, low[i]) })
		each(func(i int) { k.sub(high[i], low[i], to[i]) })
	}
	square := high
	product(x, high, q, square)
	product(square, q, square, x) // q takes the square's register once the square has been used
	each(func(i int) { k.release(low[i], high[i], q[i]) })
}

// matrix writes x ← 16·M·x mod 2^52. If x < 2p, the new x is below 2^44.6.
func (k *avx512) matrix() { copy(k.x[:], k.convolve(k.x[:], k.convolution)) }

// convolve writes the cyclic convolution, times its length, with constants from the table. It releases the registers v
// and returns others.
func (k *avx512) convolve(v []reg, at int) []reg {
	if len(v) == 1 {
		y := k.alloc()
		k.zero(y)
		k.lowBy("SI", at, v[0], y)
		k.release(v[0])
		return []reg{y}
	}
	h := len(v) / 2
	differences := make([]reg, h)
	for i := range h {
		differences[i] = k.alloc()
		k.sub(v[i], v[i+h], differences[i])
		k.add(v[i], v[i+h], v[i])
		k.release(v[i+h])
	}
	negacyclic := make([]reg, h)
	for j := range negacyclic {
		negacyclic[j] = k.alloc()
		k.zero(negacyclic[j])
	}
	for i, d := range differences {
		for j, acc := range negacyclic {
			k.lowBy("SI", at+8*((j-i+2*h)%(2*h)), d, acc) // the second h constants are the negatives
		}
	}
	k.release(differences...)
	cyclic := k.convolve(v[:h], at+16*h)
	out := make([]reg, 2*h)
	for j := range h {
		out[j], out[j+h] = cyclic[j], k.alloc()
		k.sub(cyclic[j], negacyclic[j], out[j+h])
		k.add(cyclic[j], negacyclic[j], out[j])
		k.release(negacyclic[j])
	}
	return out
}

// butterfly writes (a, b) ← (a + b, a − b), with a − b kept positive.
func (k *avx512) butterfly(a, b int) {
	d := k.alloc()
	k.sub(k.x[a], k.x[b], d)
	k.op("VPADDQ.BCST %d(SI), %s, %s", k.offset, d, d)
	k.add(k.x[a], k.x[b], k.x[a])
	k.release(k.x[b])
	k.x[b] = d
}

// toEigenbasis writes the Fourier transform, followed by the matrix as multipliers.
func (k *avx512) toEigenbasis() {
	butterflies(true, func(a, b, twiddle int) {
		k.butterfly(a, b)
		if twiddle > 0 {
			k.x[b] = k.times(k.x[b], "SI", k.forward+16*twiddle)
		}
	})
	for i := range k.x {
		k.x[i] = k.times(k.x[i], "SI", k.entry+16*i)
	}
}

// fromEigenbasis writes the inverse transform, followed by the constants of the first full round after it.
func (k *avx512) fromEigenbasis() {
	butterflies(false, func(a, b, twiddle int) {
		if twiddle > 0 {
			k.x[b] = k.times(k.x[b], "SI", k.backward+16*twiddle)
		}
		k.butterfly(a, b)
	})
	for i, x := range k.x {
		k.op("VPADDQ.BCST %d(SI), %s, %s", k.terminal+8*i, x, x)
	}
	k.settle()
}

// partialRounds runs both batches from the frame. It interleaves the s-box of one batch, a chain of dependent
// instructions, with the multiplications of the other.
func (k *avx512) partialRounds() {
	k.op("LEAQ %d(SI), R8", k.lane0)
	k.op("LEAQ %d(SI), R9", k.loopBy)
	k.op("LEAQ %d(SI), R10", k.exitBy)
	sums, differences := []reg{"Z24", "Z25"}, []reg{"Z26", "Z27"}
	chain := func(batch int) []string {
		return k.capture(registers("Z", 0, 7), func() { k.sboxDifference(sums[batch], differences[batch]) })
	}
	work := func(batch int) []string {
		return k.capture(registers("Z", 8, 23), func() {
			for i := range width {
				at := avx512Batch*batch + 64*i
				x := k.alloc()
				k.op("VPADDQ %d(DX), %s, %s", at, differences[batch], x)
				x = k.times(x, "R9", 16*i)
				k.op("VMOVDQA64 %s, %d(DX)", x, at)
				if i == 0 {
					k.move(x, sums[batch])
				} else {
					k.add(x, sums[batch], sums[batch])
				}
				k.release(x)
			}
		})
	}
	for batch, sum := range sums {
		k.op("VMOVDQA64 %d(DX), %s", avx512Batch*batch, sum)
		for i := 1; i < width; i++ {
			k.op("VPADDQ %d(DX), %s, %s", avx512Batch*batch+64*i, sum, sum)
		}
	}
	k.lines = append(k.lines, chain(0)...)
	k.loop("partialRound", "CX", partialRounds, func() {
		k.op("CMPQ CX, $1")
		k.op("CMOVQEQ R10, R9")
		k.interleave(chain(1), work(0))
		k.op("ADDQ $8, R8")
		k.interleave(chain(0), work(1))
	})
}

// sboxDifference takes the sum of a batch, which is 16 times lane 0, and computes the change of lane 0 by the s-box: D
// = (sum + constant)³ − sum/16, below 2^52. With sum = h·2^24 + l, sum/16 = (h − 127·l)·2^20, as 2^−24 = −127.
func (k *avx512) sboxDifference(sum, to reg) {
	cube, low := k.alloc(), k.alloc()
	k.op("VPADDQ.BCST (R8), %s, %s", sum, cube)
	k.op("VPANDQ.BCST %d(SI), %s, %s", k.mask24, sum, low)
	k.op("VPANDQ.BCST %d(SI), %s, %s", k.mask52, sum, to)
	k.op("VPSRLQ $24, %s, %s", to, to)
	k.sub(zP, to, to)
	k.lowBy("SI", k.c127, low, to)
	k.op("VPSLLQ $20, %s, %s", to, to)
	k.release(low)
	k.cubes(cube)
	k.add(to, cube, to)
	k.release(cube)
}
