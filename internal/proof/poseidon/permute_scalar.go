package poseidon

// The scalar kernel keeps numbers modulo P in uint64, not fully reduced; comments give their bounds. Numbers carry
// factors that the constants in permute_scalar_gen.go make up for: see internal/gen.

// montgomeryInverse is −P^−1 mod 2^32.
const montgomeryInverse = 0x7effffff

// transformOffset keeps differences in the Fourier transforms positive: a multiple of P that is not below what is
// subtracted, at most 8 sums of numbers below 3P. Nothing in the transforms passes 2^38.
const transformOffset = 24 * P

// permuteScalar permutes a state whose elements are below P.
func permuteScalar(s *[width]uint32) {
	var x [width]uint64
	for i, c := range scalarInitial[0] {
		x[i] = uint64(s[i]) + c
	}
	for r := 1; r < len(scalarInitial); r++ {
		fullRound(&x, &scalarInitial[r])
	}
	toEigenbasis(&x)
	last := len(scalarLane0) - 1
	for _, k := range scalarLane0[:last] {
		partialRound(&x, k, &scalarLoop)
	}
	partialRound(&x, scalarLane0[last], &scalarExit)
	fromEigenbasis(&x, &scalarTerminal[0])
	for r := 1; r < len(scalarTerminal); r++ {
		fullRound(&x, &scalarTerminal[r])
	}
	for i, v := range x {
		v = reduce24(v)
		s[i] = uint32(min(v, v-P))
	}
}

// reduce24 is v·2^−24 − 128 mod P, for v < 2^45; the result is below P + 2^21. With v = h·2^24 + l it is
// h − 127·l, as 2^−24 = −127 mod P; 127·(2^24 − 1 − l) in place of −127·l keeps it positive and costs the 128.
func reduce24(v uint64) uint64 {
	n := ^v & (1<<24 - 1)
	return v>>24 + n<<7 - n
}

// reduce is t/2^32 mod P, for t < 2^63 (Montgomery's reduction); the result is below t/2^32 + P.
func reduce(t uint64) uint64 { return (t + uint64(uint32(t)*montgomeryInverse)*P) >> 32 }

// cube is reduce24(v)³·2^−64 mod P; the result is below 2^32.
func cube(v uint64) uint64 {
	x := reduce24(v)
	return reduce(reduce(x*x) * x)
}

// multiplyWide is a·c/2^32 mod P, for a < 2^38 and c < P; the result is below 2^32. It folds a by 2^31 = 2^24 − 1.
func multiplyWide(a, c uint64) uint64 {
	return reduce((a&(1<<31-1) + a>>31*(1<<24-1)) * c)
}

// multiplier is a constant to multiply by, with which a product takes no wait for its own low half.
type multiplier struct {
	c       uint64 // below P
	inverse uint32 // c·P^−1 mod 2^32
}

// times is a·c/2^32 mod P, for a < 2^33; the result is below 3P.
func (m multiplier) times(a uint64) uint64 {
	return a*m.c>>32 + P - uint64(uint32(a)*m.inverse)*P>>32
}

// sboxDifference returns by how much the s-box, with the constant k before it, changes lane 0. It is given the sum of
// the elements in the eigenbasis, which is 16 times lane 0. The result is below P.
func sboxDifference(sum, k uint64) uint64 {
	s := reduce24(sum)
	y := s + k
	y = min(y, y-P)
	y = reduce(reduce(y*y) * y)
	lane0 := reduce((s + 128) * sixteenth)
	y = min(y, y-P)
	lane0 = min(lane0, lane0-P)
	d := y - lane0
	return min(d, d+P)
}

// sixteenth is 2^(24−4+32) mod P: what makes lane 0 of a sum that reduce24 and reduce have divided.
const sixteenth = (1 << 52) % P
