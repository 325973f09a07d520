package main

// fullRounds writes n rounds of s-boxes, matrix, and the constants in the table from the offset on.
func (k *packed) fullRounds(label string, constants, n int) {
	k.op("LEAQ %d(SI), R8", constants)
	k.loop(label, "CX", n, func() {
		k.matrixInput()
		k.matrix()
		k.op("ADDQ $%d, R8", 2*k.stride*width)
	})
}

// matrixInput cubes all elements, reduces them by 2^16, and takes sums and differences of elements that are 8 apart. Of
// the 8 sums, and of the 8 differences, it stores the low halves, two neighbours to a register, and then the high
// halves.
//
// Reduction leaves at most 32512·2^15 + 2^15 < p/2 + 2^16 in absolute value, so sums and differences fit in 32 bits.
func (k *packed) matrixInput() {
	for pair := range 4 {
		var sums, differences [2]reg
		for i := range 2 {
			at := k.size * (2*pair + i)
			a, b := k.fetch("R13", at), k.fetch("R13", at+8*k.size)
			for _, x := range []reg{a, b} {
				k.cube(x)
				k.halves(x)
				k.maddC(x, k.fold, x)
			}
			sums[i], differences[i] = a, k.alloc()
			k.sub(a, b, differences[i])
			k.add(a, b, a)
			k.release(b)
			k.halves(sums[i])
			k.halves(differences[i])
		}
		for _, v := range []struct {
			of [2]reg
			at int
		}{{sums, k.sums()}, {differences, k.differences()}} {
			low, high := k.alloc(), k.alloc()
			k.op("VPSLLD $16, %s, %s", v.of[1], low)
			k.op(k.word, low, v.of[0], low)
			k.op("VPSRLD $16, %s, %s", v.of[0], high)
			k.op(k.word, v.of[1], high, high)
			k.save(low, "DX", v.at+k.size*pair)
			k.save(high, "DX", v.at+k.size*(pair+4))
			k.release(v.of[:]...)
		}
	}
}

// convolve calls each with the low and the high accumulator of each of the 8 results of a convolution of the pairs at
// the offset. The coefficients for result j and pair i are coefficient(j − 2i).
func (k *packed) convolve(pairs int, coefficient func(m int) int, each func(j int, low, high reg)) {
	var in [8]reg
	for i := range in {
		in[i] = k.fetch("DX", pairs+k.size*i)
	}
	for j := range 8 {
		var acc [2]reg
		for half := range acc {
			acc[half] = k.alloc()
			k.maddC(in[4*half], coefficient(j), acc[half])
			t := k.alloc()
			for i := 1; i < 4; i++ {
				k.maddC(in[4*half+i], coefficient(j-2*i), t)
				k.add(acc[half], t, acc[half])
			}
			k.release(t)
		}
		each(j, acc[0], acc[1])
	}
	k.release(in[:]...)
}

// matrix writes 2·M·x, reduced by 2^16, plus the constants at R8. The absolute values of the coefficients sum up to 371
// in the cyclic half and 273 in the other, so accumulators stay below 644·2^15 < 1.3·2^24, and results below 1.02·2^30.
func (k *packed) matrix() {
	negacyclic := func(j, half int) int { return k.negacyclics() + k.size*(2*j+half) }
	k.convolve(k.differences(), func(m int) int { return k.negacyclic + k.size*(m+6) }, func(j int, low, high reg) {
		k.save(low, "DX", negacyclic(j, 0))
		k.save(high, "DX", negacyclic(j, 1))
	})
	k.convolve(k.sums(), func(m int) int { return k.cyclic + k.size*(m&7) }, func(j int, low, high reg) {
		lowDifference, highDifference := k.alloc(), k.alloc()
		for half, v := range [][2]reg{{low, lowDifference}, {high, highDifference}} {
			k.op("VPSUBD %d(DX), %s, %s", negacyclic(j, half), v[0], v[1])
			k.op("VPADDD %d(DX), %s, %s", negacyclic(j, half), v[0], v[0])
		}
		k.reduce(j, low, high)
		k.reduce(j+8, lowDifference, highDifference)
	})
}

// reduce combines an element's accumulators and stores the element. The constant for low includes the bias of halves.
func (k *packed) reduce(element int, low, high reg) {
	k.by("VPADDD", "R8", 2*k.stride*element, low, low)
	k.by("VPADDD", "R8", (2*element+1)*k.stride, high, high)
	k.xorC(low, k.bias, low)
	k.maddC(low, k.fold, low)
	k.add(low, high, low)
	k.release(high)
	k.save(low, "R13", k.size*element)
}

// butterfly writes (a, b) ← (a + b, a − b) in [0, p), with b multiplied by a constant of the table if there is one.
func (k *packed) butterfly(a, b reg, multiplier int) {
	d := k.alloc()
	k.sub(a, b, d)
	k.add(a, b, a)
	k.lower(a)
	k.addC(d, k.p, b)
	if multiplier >= 0 {
		k.times(b, "SI", multiplier)
	} else {
		k.min(d, b, b)
	}
	k.release(d)
}

// eights runs body for both halves of the batch, with 8 elements in registers.
func (k *packed) eights(body func(x []reg, first int)) {
	for first := 0; first < width; first += 8 {
		x := make([]reg, 8)
		for i := range x {
			x[i] = k.fetch("R13", k.size*(first+i))
		}
		body(x, first)
		for i := range x {
			k.save(x[i], "R13", k.size*(first+i))
		}
	}
}

// toEigenbasis writes the s-boxes, the Fourier transform, and the matrix as multipliers. The first stage of the
// transform spans the whole batch, the others stay within its halves.
func (k *packed) toEigenbasis() {
	multiplier := func(twiddle int) int {
		if twiddle == 0 {
			return -1
		}
		return k.forward + 2*k.stride*twiddle
	}
	butterflies(true, func(a, b, twiddle int) {
		if b-a != 8 {
			return
		}
		x, y := k.fetch("R13", k.size*a), k.fetch("R13", k.size*b)
		for _, r := range []reg{x, y} {
			k.cube(r)
			k.lift(r)
		}
		k.butterfly(x, y, multiplier(twiddle))
		k.save(x, "R13", k.size*a)
		k.save(y, "R13", k.size*b)
	})
	k.eights(func(x []reg, first int) {
		butterflies(true, func(a, b, twiddle int) {
			if b-a != 8 && a&8 == first {
				k.butterfly(x[a&7], x[b&7], multiplier(twiddle))
			}
		})
		for i := range x {
			k.times(x[i], "SI", k.entry+2*k.stride*(first+i))
		}
	})
}

// fromEigenbasis writes the inverse transform, followed by the constants of the first full round after it.
func (k *packed) fromEigenbasis() {
	twiddled := func(x reg, twiddle int) {
		if twiddle > 0 {
			k.times(x, "SI", k.backward+2*k.stride*twiddle)
		}
	}
	k.eights(func(x []reg, first int) {
		butterflies(false, func(a, b, twiddle int) {
			if b-a != 8 && a&8 == first {
				twiddled(x[b&7], twiddle)
				k.butterfly(x[a&7], x[b&7], -1)
			}
		})
	})
	butterflies(false, func(a, b, twiddle int) {
		if b-a != 8 {
			return
		}
		x, y := k.fetch("R13", k.size*a), k.fetch("R13", k.size*b)
		twiddled(y, twiddle)
		k.butterfly(x, y, -1)
		k.addC(x, k.after+k.stride*a, x)
		k.addC(y, k.after+k.stride*b, y)
		k.save(x, "R13", k.size*a)
		k.save(y, "R13", k.size*b)
	})
}

// partialRounds runs both batches. It interleaves the s-box of one batch, a chain of dependent instructions, with the
// multiplications of the other.
func (k *packed) partialRounds() {
	k.op("LEAQ %d(SI), R8", k.lane0)
	k.op("LEAQ %d(SI), R9", k.loopBy)
	k.op("LEAQ %d(SI), R10", k.exitBy)
	free, r := k.free, registers(k.class, 0, 15)
	sums, differences := r[12:14], r[14:]
	chain := func(batch int) []string {
		return k.capture(r[:6], func() { k.sboxDifference(sums[batch], differences[batch]) })
	}
	work := func(batch int) []string {
		return k.capture(r[6:12], func() {
			for i := range width {
				at := k.batch()*batch + k.size*i
				x := k.alloc()
				k.op("VPADDD %d(DX), %s, %s", at, differences[batch], x)
				k.times(x, "R9", 2*k.stride*i)
				if i == 0 {
					k.op("%s %s, %s", k.copy, x, sums[batch])
				} else {
					k.add(x, sums[batch], sums[batch])
					k.lower(sums[batch])
				}
				k.save(x, "DX", at)
			}
		})
	}
	k.free = r[:12:12]
	for batch, sum := range sums {
		k.op("%s %d(DX), %s", k.load, k.batch()*batch, sum)
		for i := 1; i < width; i++ {
			k.op("VPADDD %d(DX), %s, %s", k.batch()*batch+k.size*i, sum, sum)
			k.lower(sum)
		}
	}
	k.lines = append(k.lines, chain(0)...)
	k.loop("partialRound", "CX", partialRounds, func() {
		k.op("CMPQ CX, $1")
		k.op("CMOVQEQ R10, R9")
		k.interleave(chain(1), work(0))
		k.op("ADDQ $%d, R8", k.stride)
		k.interleave(chain(0), work(1))
	})
	k.free = free
}

// sboxDifference takes the sum of a batch, which is 16 times lane 0, and computes the change of lane 0 by the s-box, in
// [0, p): (sum + constant)³ − sum/16. With sum = 16·h + l, sum/16 is h − 127·2^20·l, as 2^−24 = −127.
func (k *packed) sboxDifference(sum, to reg) {
	low := k.alloc()
	k.by(k.and, "SI", k.low4, sum, low)
	k.op("VPSLLD $27, %s, %s", low, to)
	k.op("VPSLLD $20, %s, %s", low, low)
	k.sub(to, low, to)
	k.op("VPSRLD $4, %s, %s", sum, low)
	k.sub(to, low, to)
	k.release(low)
	k.lift(to)
	cube := k.alloc()
	k.by("VPADDD", "R8", 0, sum, cube)
	k.cube(cube)
	k.lift(cube)
	k.add(to, cube, to)
	k.lower(to)
	k.release(cube)
}
