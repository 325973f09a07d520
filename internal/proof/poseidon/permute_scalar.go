package poseidon

// The scalar kernel keeps numbers modulo P in uint64, not fully reduced. Comments give their bounds. Numbers carry
// factors that the constants in permute_scalar_gen.go compensate for: see internal/gen.

// montgomeryInverse is −P^−1 mod 2^32.
const montgomeryInverse = 0x7effffff

// transformOffset keeps differences in the Fourier transforms positive. It is a multiple of P that is at least as large
// as every subtrahend, which is at most 8 sums of numbers below 3P. Nothing in the transforms exceeds 2^38.
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

// reduce24 returns v·2^−24 − 128 mod P, for v < 2^45. The result is below P + 2^21. With v = h·2^24 + l it is h −
// 127·l, as 2^−24 = −127 mod P; using 127·(2^24 − 1 − l) instead of −127·l keeps it positive and subtracts 128.
func reduce24(v uint64) uint64 {
	n := ^v & (1<<24 - 1)
	return v>>24 + n<<7 - n
}

// reduce returns t/2^32 mod P, for t < 2^63 (Montgomery's reduction). The result is below t/2^32 + P.
func reduce(t uint64) uint64 { return (t + uint64(uint32(t)*montgomeryInverse)*P) >> 32 }

// cube returns reduce24(v)³·2^−64 mod P. The result is below 2^32.
func cube(v uint64) uint64 {
	x := reduce24(v)
	return reduce(reduce(x*x) * x)
}

// multiplyWide returns a·c/2^32 mod P, for a < 2^38 and c < P. The result is below 2^32. It folds a by 2^31 = 2^24 − 1.
func multiplyWide(a, c uint64) uint64 {
	return reduce((a&(1<<31-1) + a>>31*(1<<24-1)) * c)
}

// multiplier is a constant factor, in a form that lets a product avoid waiting for its own low half.
type multiplier struct {
	c       uint64 // below P
	inverse uint32 // c·P^−1 mod 2^32
}

// times returns a·c/2^32 mod P, for a < 2^33. The result is below 3P.
func (m multiplier) times(a uint64) uint64 {
	return a*m.c>>32 + P - uint64(uint32(a)*m.inverse)*P>>32
}

// sboxDifference returns the change of lane 0 by the s-box with the constant k before it. sum is the sum of the
// elements in the eigenbasis, which is 16 times lane 0. The result is below P.
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

// sixteenth is 2^(24−4+32) mod P. It converts a sum that reduce24 and reduce have divided to lane 0.
const sixteenth = (1 << 52) % P
