package main

// file returns the assembly file.
func file() []byte {
	a := &assembly{}
	a.multiplyKernel()
	a.squareKernel()
	a.doubleKernel()
	a.addKernel()
	a.chooseKernel()
	a.fetchKernel()
	a.addPointsKernel()
	a.spreadKernel()
	a.takeKernel()
	a.putKernel()
	return a.bytes()
}

func (a *assembly) multiplyKernel() {
	a.function("multiply", "dst, x, y *element", 24, 0)
	a.op("MOVQ dst+0(FP), DI")
	a.op("MOVQ x+8(FP), SI")
	a.op("MOVQ y+16(FP), BX")
	a.loadConstants()
	a.multiply(element{"DI", 0}, element{"SI", 0}, element{"BX", 0}, nil)
	a.end()
}

// squareKernel squares several elements in turn. They are independent, so the squarings overlap.
func (a *assembly) squareKernel() {
	a.function("square", "dst, x *element, times, count int", 32, 0)
	a.op("MOVQ dst+0(FP), DI")
	a.op("MOVQ x+8(FP), SI")
	a.op("MOVQ times+16(FP), CX")
	a.op("MOVQ count+24(FP), DX")
	a.op("MOVQ DI, R8")
	a.loadConstants()
	a.text.WriteString("round:\n")
	a.op("MOVQ R8, DI")
	a.op("MOVQ DX, AX")
	a.text.WriteString("next:\n")
	a.square(element{"DI", 0}, element{"SI", 0}, nil)
	a.op("ADDQ $%d, DI", elementSize)
	a.op("ADDQ $%d, SI", elementSize)
	a.op("DECQ AX")
	a.op("JNZ next")
	a.op("MOVQ R8, SI")
	a.op("DECQ CX")
	a.op("JNZ round")
	a.end()
}

// doubleKernel doubles in Jacobian coordinates on y² = x³ + b: with S = 4XY² and M = 3X²,
// X' = M² − 2S, Y' = M(S − X') − 8Y⁴, Z' = 2YZ.
func (a *assembly) doubleKernel() {
	a.function("double", "p *point, times int", 16, 5)
	a.op("MOVQ p+0(FP), DI")
	a.op("MOVQ times+8(FP), CX")
	a.loadConstants()
	a.text.WriteString("next:\n")
	x, y, zz := coordinates("DI")
	m, yy, t, u, q := scratch(0), scratch(1), scratch(2), scratch(3), scratch(4)
	a.square(yy, y, nil)
	a.square(m, x, func(r []reg) { a.times(r, 3) })
	a.multiply(t, x, yy, nil) // S/4
	a.multiply(zz, y, zz, func(r []reg) { a.times(r, 2) })
	a.square(q, yy, nil)
	a.square(x, m, func(r []reg) {
		a.addModulus(r, 16)
		a.subtract(r, t, 3)
	})
	r := zs(10, limbs)
	for i := range limbs {
		a.op("VPSLLQ $2, %s, %s", t.limb(i), r[i])
	}
	a.addModulus(r, 2)
	a.subtract(r, x, 0)
	a.carry(u, r, "")
	a.multiply(y, m, u, func(r []reg) {
		a.addModulus(r, 16)
		a.subtract(r, q, 3)
	})
	a.op("DECQ CX")
	a.op("JNZ next")
	a.end()
}

// addKernel adds the affine point (x, ±y) to one in Jacobian coordinates: with H = x·Z² − X and R = ±y·Z³ − Y, X' = R²
// − H³ − 2XH², Y' = R(XH² − X') − YH³, Z' = ZH. In lanes that negate y, R is negated instead, and with it the factor of
// R in Y'.
func (a *assembly) addKernel() {
	a.function("add", "dst, p *point, x, y, h *element, negative, active uint64", 56, 8)
	a.op("MOVQ dst+0(FP), DI")
	a.op("MOVQ p+8(FP), SI")
	a.op("MOVQ x+16(FP), BX")
	a.op("MOVQ y+24(FP), DX")
	a.op("MOVQ h+32(FP), R8")
	a.op("MOVQ negative+40(FP), AX")
	a.op("KMOVW AX, K1")
	a.op("MOVQ active+48(FP), AX")
	a.op("KMOVW AX, K2")
	a.loadConstants()
	dstX, dstY, dstZ := coordinates("DI")
	x1, y1, z1 := coordinates("SI")
	x2, y2, h := element{"BX", 0}, element{"DX", 0}, element{"R8", 0}
	zz, zzz, r, hh, hhh, v, x3, d := scratch(0), scratch(1), scratch(2), scratch(3), scratch(4), scratch(5), scratch(6),
		scratch(7)
	w := zz  // no longer needed by then
	y3 := hh // likewise
	a.square(zz, z1, nil)
	a.multiply(h, x2, zz, func(t []reg) {
		a.addModulus(t, 2)
		a.subtract(t, x1, 0)
	})
	a.multiply(zzz, z1, zz, nil)
	a.multiply(r, y2, zzz, func(t []reg) {
		a.addModulus(t, 2)
		for i := range limbs { // − Y, or + Y if negative
			a.op("VMOVDQU64 %s, %s", y1.limb(i), z(2))
			a.op("VPSUBQ %s, %s, %s", z(2), t[i], z(3))
			a.op("VPADDQ %s, %s, K1, %s", z(2), t[i], z(3))
			a.op("VMOVDQA64 %s, %s", z(3), t[i])
		}
	})
	a.square(hh, h, nil)
	a.multiply(v, x1, hh, nil)
	a.multiply(hhh, h, hh, nil)
	a.square(x3, r, func(t []reg) {
		a.addModulus(t, 6)
		a.subtract(t, hhh, 0)
		a.subtract(t, v, 1)
	})
	a.multiply(w, y1, hhh, nil)
	a.multiply(hhh, z1, h, nil) // Z'
	t := zs(10, limbs)
	a.load(v, zs(2, limbs))
	a.load(x3, zs(15, limbs))
	for i := range limbs { // ±(V − X')
		a.op("VPSUBQ %s, %s, %s", z(15+i), z(2+i), t[i])
		a.op("VPSUBQ %s, %s, K1, %s", z(2+i), z(15+i), t[i])
	}
	a.addModulus(t, 2)
	a.carry(d, t, "")
	a.multiply(y3, r, d, func(t []reg) {
		a.addModulus(t, 2)
		a.subtract(t, w, 0)
	})
	for _, c := range [][2]element{{x3, dstX}, {y3, dstY}, {hhh, dstZ}} {
		a.load(c[0], t)
		a.storeMasked(t, "K2", c[1])
	}
	a.end()
}

// chooseKernel sets each lane of x and y to that lane of the table entry at index, counted from 1; index 0 selects the
// first.
func (a *assembly) chooseKernel() {
	const entries = 8
	a.function("choose", "x, y *element, xs, ys *[8]element, index *[8]uint64", 40, 0)
	a.op("MOVQ x+0(FP), DI")
	a.op("MOVQ y+8(FP), SI")
	a.op("MOVQ xs+16(FP), BX")
	a.op("MOVQ ys+24(FP), DX")
	a.op("MOVQ index+32(FP), AX")
	a.op("VMOVDQU64 (AX), Z31")
	for i := 2; i < entries; i++ {
		a.op("VPCMPEQQ.BCST %s, Z31, K%d", a.constant(uint64(i)), i-1)
	}
	a.op("VPCMPEQQ.BCST %s, Z31, K%d", a.constant(entries), entries-1)
	x, y := zs(0, limbs), zs(5, limbs)
	a.load(element{"BX", 0}, x)
	a.load(element{"DX", 0}, y)
	for entry := 1; entry < entries; entry++ {
		for i := range limbs {
			a.op("VMOVDQU64 %s, K%d, %s", element{"BX", entry * elementSize}.limb(i), entry, x[i])
			a.op("VMOVDQU64 %s, K%d, %s", element{"DX", entry * elementSize}.limb(i), entry, y[i])
		}
	}
	a.store(x, element{"DI", 0})
	a.store(y, element{"SI", 0})
	a.end()
}

// fetchKernel sets lane i of x and y to the point at rows[i], two coordinates of four words of 64 bits each.
func (a *assembly) fetchKernel() {
	a.function("fetch", "x, y *element, rows *[8]*row", 24, 0)
	a.op("MOVQ x+0(FP), DI")
	a.op("MOVQ y+8(FP), SI")
	a.op("MOVQ rows+16(FP), BX")
	rows := zs(0, 8)
	for i, r := range rows {
		a.op("MOVQ %d(BX), AX", 8*i)
		a.op("VMOVDQU64 (AX), %s", r)
	}
	a.op("VPBROADCASTQ %s, %s", a.constant(1<<52-1), mask52)
	words := a.transpose()
	a.unpack(words[:4], element{"DI", 0})
	a.unpack(words[4:], element{"SI", 0})
	a.end()
}

// unpack stores a number of four words of 64 bits as limbs.
func (a *assembly) unpack(word []reg, dst element) {
	limb, temp := z(8), z(9)
	for i := range limbs {
		switch i {
		case 0:
			a.op("VPANDQ %s, %s, %s", mask52, word[0], limb)
		case limbs - 1:
			a.op("VPSRLQ $16, %s, %s", word[3], limb)
		default:
			a.op("VPSRLQ $%d, %s, %s", 64-12*i, word[i-1], limb)
			a.op("VPSLLQ $%d, %s, %s", 12*i, word[i], temp)
			a.op("VPORQ %s, %s, %s", temp, limb, limb)
			a.op("VPANDQ %s, %s, %s", mask52, limb, limb)
		}
		a.op("VMOVDQU64 %s, %s", limb, dst.limb(i))
	}
}

// transpose transposes eight rows of eight words in Z0…Z7 and returns the registers of the columns. It uses all
// registers except Z28…Z31.
func (a *assembly) transpose() (columns []reg) {
	row, pair := zs(0, 8), zs(8, 8)
	for i := 0; i < 8; i += 2 {
		a.op("VPUNPCKLQDQ %s, %s, %s", row[i+1], row[i], pair[i])
		a.op("VPUNPCKHQDQ %s, %s, %s", row[i+1], row[i], pair[i+1])
	}
	// pair[2i+odd] has the words of parity odd of rows 2i and 2i + 1, two by two in blocks of 128 bits. 0x88 selects
	// blocks 0 and 2 (words 0, 4), and 0xdd selects blocks 1 and 3 (words 2, 6).
	columns = make([]reg, 8)
	next := 16
	for odd := range 2 {
		for second, pick := range []int{0x88, 0xdd} {
			left, right := z(next), z(next+1)
			a.op("VSHUFI64X2 $%d, %s, %s, %s", pick, pair[2+odd], pair[odd], left)
			a.op("VSHUFI64X2 $%d, %s, %s, %s", pick, pair[6+odd], pair[4+odd], right)
			low, high := z(next+2), z(next+3)
			a.op("VSHUFI64X2 $%d, %s, %s, %s", 0x88, right, left, low)
			a.op("VSHUFI64X2 $%d, %s, %s, %s", 0xdd, right, left, high)
			columns[2*second+odd], columns[4+2*second+odd] = low, high
			next += 4
			if next == 28 { // the next registers hold constants, and the rows are no longer needed
				next = 0
			}
		}
	}
	return columns
}

// addPointsKernel adds two points in Jacobian coordinates: with U = X1·Z2², S = Y1·Z2³, H = X2·Z1² − U and
// R = Y2·Z1³ − S, X' = R² − H³ − 2UH², Y' = R(UH² − X') − SH³, Z' = Z1·Z2·H.
func (a *assembly) addPointsKernel() {
	a.function("addPoints", "dst, p, q *point", 24, 8)
	a.op("MOVQ dst+0(FP), DI")
	a.op("MOVQ p+8(FP), SI")
	a.op("MOVQ q+16(FP), BX")
	a.loadConstants()
	dstX, dstY, dstZ := coordinates("DI")
	x1, y1, z1 := coordinates("SI")
	x2, y2, z2 := coordinates("BX")
	zz1, zz2, u, h, s, r, hh, hhh := scratch(0), scratch(1), scratch(2), scratch(3), scratch(4), scratch(5), scratch(6),
		scratch(7)
	minus := func(e element) func(t []reg) {
		return func(t []reg) {
			a.addModulus(t, 2)
			a.subtract(t, e, 0)
		}
	}
	a.square(zz1, z1, nil)
	a.square(zz2, z2, nil)
	a.multiply(u, x1, zz2, nil)
	a.multiply(h, x2, zz1, minus(u))
	a.multiply(s, y1, zz2, nil)
	a.multiply(r, y2, zz1, nil)
	a.multiply(s, s, z2, nil)
	a.multiply(r, r, z1, minus(s))
	a.multiply(zz1, z1, z2, nil)
	// p and q are not read below, so dst may be one of them.
	a.square(hh, h, nil)
	a.multiply(dstZ, zz1, h, nil)
	a.multiply(u, u, hh, nil)
	a.multiply(hhh, h, hh, nil)
	a.square(dstX, r, func(t []reg) {
		a.addModulus(t, 6)
		a.subtract(t, hhh, 0)
		a.subtract(t, u, 1)
	})
	a.multiply(s, s, hhh, nil)
	t := zs(10, limbs)
	a.load(u, t)
	a.addModulus(t, 2)
	a.subtract(t, dstX, 0)
	a.carry(zz2, t, "")
	a.multiply(dstY, r, zz2, minus(s))
	a.end()
}

// spreadKernel sets all lanes of x and y to limbs in memory.
func (a *assembly) spreadKernel() {
	a.function("spread", "x, y *element, xs, ys *[5]uint64", 32, 0)
	a.op("MOVQ x+0(FP), DI")
	a.op("MOVQ y+8(FP), SI")
	a.op("MOVQ xs+16(FP), BX")
	a.op("MOVQ ys+24(FP), DX")
	for i, r := range zs(0, limbs) {
		a.op("VPBROADCASTQ %d(BX), %s", 8*i, r)
	}
	for i, r := range zs(limbs, limbs) {
		a.op("VPBROADCASTQ %d(DX), %s", 8*i, r)
	}
	a.store(zs(0, limbs), element{"DI", 0})
	a.store(zs(limbs, limbs), element{"SI", 0})
	a.end()
}

// pointLimbs is the number of words of a bucket's point. A word of padding makes it two vectors.
const pointLimbs = 3 * limbs

// takeKernel sets lane i of a point to the i-th bucket's point.
func (a *assembly) takeKernel() {
	a.function("take", "p *point, from *[8]*bucket", 16, 0)
	a.op("MOVQ p+0(FP), DI")
	a.op("MOVQ from+8(FP), BX")
	for half := range 2 {
		for i, r := range zs(0, 8) {
			a.op("MOVQ %d(BX), AX", 8*i)
			a.op("VMOVDQU64 %d(AX), %s", half*vectorBytes, r)
		}
		for i, column := range a.transpose() {
			if limb := 8*half + i; limb < pointLimbs {
				a.op("VMOVDQU64 %s, %d(DI)", column, limb*vectorBytes)
			}
		}
	}
	a.end()
}

// putKernel sets the i-th bucket to lane i of a point.
func (a *assembly) putKernel() {
	a.function("put", "to *[8]*bucket, p *point", 16, 0)
	a.op("MOVQ to+0(FP), BX")
	a.op("MOVQ p+8(FP), SI")
	for half := range 2 {
		for i, r := range zs(0, 8) {
			if limb := 8*half + i; limb < pointLimbs {
				a.op("VMOVDQU64 %d(SI), %s", limb*vectorBytes, r)
			} else {
				a.zero(r)
			}
		}
		for i, row := range a.transpose() {
			a.op("MOVQ %d(BX), AX", 8*i)
			a.op("VMOVDQU64 %s, %d(AX)", row, half*vectorBytes)
		}
	}
	a.end()
}
