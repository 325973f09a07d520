package main

// fold is 2^256 mod p, p = 2^256 − 2^32 − 977.
const fold = 1<<32 + 977

// modulus holds the limbs of p.
var modulus = [limbs]uint64{1<<52 - fold, 1<<52 - 1, 1<<52 - 1, 1<<52 - 1, 1<<48 - 1}

// Registers that hold constants throughout.
const (
	mask52  reg = "Z28" // 2^52 − 1
	mask48  reg = "Z29" // 2^48 − 1
	fold260 reg = "Z30" // 2^260 mod p
	fold256 reg = "Z31" // 2^256 mod p
)

// loadConstants loads the constants into their registers.
func (a *assembly) loadConstants() {
	a.op("VPBROADCASTQ %s, %s", a.constant(1<<52-1), mask52)
	a.op("VPBROADCASTQ %s, %s", a.constant(1<<48-1), mask48)
	a.op("VPBROADCASTQ %s, %s", a.constant(fold<<4), fold260)
	a.op("VPBROADCASTQ %s, %s", a.constant(fold), fold256)
}

func (a *assembly) load(e element, r []reg) {
	for i := range limbs {
		a.op("VMOVDQU64 %s, %s", e.limb(i), r[i])
	}
}

func (a *assembly) store(r []reg, e element) {
	for i := range limbs {
		a.op("VMOVDQU64 %s, %s", r[i], e.limb(i))
	}
}

// storeMasked stores the lanes in mask.
func (a *assembly) storeMasked(r []reg, mask reg, e element) {
	for i := range limbs {
		a.op("VMOVDQU64 %s, %s, %s", r[i], mask, e.limb(i))
	}
}

// madd adds x·y to the columns: the low 52 bits of the product to lo, the others to hi. The instructions use the low 52
// bits of x and y and ignore the others.
func (a *assembly) madd(x, y, lo, hi reg) {
	a.op("VPMADD52LUQ %s, %s, %s", x, y, lo)
	a.op("VPMADD52HUQ %s, %s, %s", x, y, hi)
}

func (a *assembly) zero(r ...reg) {
	for _, r := range r {
		a.op("VPXORQ %s, %s, %s", r, r, r)
	}
}

// multiply sets dst to x·y, modified by adjust (if not nil) before the last reduction. The limbs of x and y must be
// below 2^52. So are the limbs of the result, and the highest one is at most 2^48 + 2^12. All elements are stored in
// this form, called reduced.
func (a *assembly) multiply(dst, x, y element, adjust func(t []reg)) {
	l, r := zs(0, limbs), zs(5, limbs)
	lo, hi := zs(10, 9), zs(19, 9) // columns 0…8 and 1…9
	a.load(x, l)
	a.load(y, r)
	a.zero(append(lo, hi...)...)
	for j := range limbs {
		for i := range limbs {
			a.madd(l[i], r[j], lo[i+j], hi[i+j])
		}
	}
	for k := 1; k < 9; k++ {
		a.op("VPADDQ %s, %s, %s", hi[k-1], lo[k], lo[k])
	}
	a.reduce(dst, append(lo, hi[8]), adjust)
}

// square sets dst to x² as multiply does. Products of different limbs are summed once and doubled.
func (a *assembly) square(dst, x element, adjust func(t []reg)) {
	l := zs(0, limbs)
	lo, hi := zs(10, 9), zs(19, 9)
	a.load(x, l)
	a.zero(append(lo, hi...)...)
	for i := range limbs {
		for j := i + 1; j < limbs; j++ {
			a.madd(l[i], l[j], lo[i+j], hi[i+j])
		}
	}
	for k := 2; k < 8; k++ {
		a.op("VPADDQ %s, %s, %s", hi[k-1], lo[k], lo[k])
	}
	column := append(lo, hi[8])
	column[8] = hi[7] // no product of different limbs has its low half here
	for k := 1; k < 9; k++ {
		a.op("VPADDQ %s, %s, %s", column[k], column[k], column[k])
	}
	for i := range limbs {
		a.madd(l[i], l[i], column[2*i], column[2*i+1])
	}
	a.reduce(dst, column, adjust)
}

// reduce stores the number with the given ten columns, each below 2^57, mod p.
func (a *assembly) reduce(dst element, column []reg, adjust func(t []reg)) {
	temp, t5 := z(0), z(1)
	low, high := column[:limbs], column[limbs:]
	// The bits of a column above 52 go to the next column. They also stay in this one, but madd ignores them.
	for i := range limbs - 1 {
		a.op("VPSRLQ $52, %s, %s", high[i], temp)
		a.op("VPADDQ %s, %s, %s", temp, high[i+1], high[i+1])
	}
	a.zero(t5)
	t := append(append([]reg{}, low...), t5)
	for i := range limbs {
		a.madd(high[i], fold260, t[i], t[i+1])
	}
	if adjust != nil {
		adjust(t)
	}
	a.op("VPSLLQ $4, %s, %s", t5, t5)
	a.carry(dst, t[:limbs], t5)
}

// carry stores the number with limbs t, each below 2^63, plus 2^256·above (if not empty) in reduced form. It first
// folds the bits above 2^256, then carries the limbs; the highest receives at most about 2^12.
func (a *assembly) carry(dst element, t []reg, above reg) {
	temp := z(0)
	a.op("VPSRLQ $48, %s, %s", t[4], temp)
	a.op("VPANDQ %s, %s, %s", mask48, t[4], t[4])
	if above != "" {
		a.op("VPADDQ %s, %s, %s", above, temp, temp)
	}
	a.madd(temp, fold256, t[0], t[1])
	for i := range limbs - 1 {
		a.op("VPSRLQ $52, %s, %s", t[i], temp)
		a.op("VPANDQ %s, %s, %s", mask52, t[i], t[i])
		a.op("VPADDQ %s, %s, %s", temp, t[i+1], t[i+1])
	}
	a.store(t, dst)
}

// addModulus adds n·p, limb by limb, so that reduced numbers can be subtracted up to n/2 times in total without a limb
// falling below zero.
func (a *assembly) addModulus(t []reg, n uint64) {
	for i := range limbs {
		a.op("VPADDQ.BCST %s, %s, %s", a.constant(n*modulus[i]), t[i], t[i])
	}
}

// subtract subtracts e·2^shift.
func (a *assembly) subtract(t []reg, e element, shift int) {
	for i := range limbs {
		if shift == 0 {
			a.op("VPSUBQ %s, %s, %s", e.limb(i), t[i], t[i])
			continue
		}
		a.op("VPSLLQ $%d, %s, %s", shift, e.limb(i), z(2))
		a.op("VPSUBQ %s, %s, %s", z(2), t[i], t[i])
	}
}

// times multiplies by 2 or 3.
func (a *assembly) times(t []reg, n int) {
	for _, r := range t {
		if n == 3 {
			a.op("VPADDQ %s, %s, %s", r, r, z(2))
			a.op("VPADDQ %s, %s, %s", z(2), r, r)
			continue
		}
		a.op("VPADDQ %s, %s, %s", r, r, r)
	}
}
