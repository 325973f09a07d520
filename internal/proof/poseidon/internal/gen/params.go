package main

const (
	width         = 16
	halfFull      = 4 // full rounds before, and after, the partial ones
	partialRounds = 20
	rounds        = 2*halfFull + partialRounds
)

type vector [width]uint64

// mdsColumn is the first column of the circulant matrix: M[i][j] = mdsColumn[(i−j) mod 16]. Its first row is 1, 1, 51,
// 1, 11, 17, 2, 1, 101, 63, 15, 2, 67, 22, 13, 3.
var mdsColumn = [width]int64{1, 3, 13, 22, 67, 2, 15, 63, 101, 1, 2, 17, 11, 1, 51, 1}

func mds(x vector) (y vector) {
	for i := range y {
		for j := range x {
			y[i] = add(y[i], mul(uint64(mdsColumn[(i-j+width)%width]), x[j]))
		}
	}
	return y
}

func (x vector) plus(y vector) vector {
	for i := range x {
		x[i] = add(x[i], y[i])
	}
	return x
}

func (x vector) times(k uint64) vector {
	for i := range x {
		x[i] = mul(x[i], k)
	}
	return x
}

// grain returns the round constants from the Grain LFSR in self-shrinking mode, as in appendix E of the Poseidon paper
// (Grassi et al., eprint 2019/458). Its parameters are field 1, s-box 0, n = 31, t = 16, 8 full and 20 partial rounds.
func grain() (constants [rounds]vector) {
	var state []byte
	for _, f := range []struct{ value, bits int }{
		{1, 2}, {0, 4}, {31, 12}, {width, 12}, {2 * halfFull, 10}, {partialRounds, 10}, {1<<30 - 1, 30},
	} {
		for i := f.bits - 1; i >= 0; i-- {
			state = append(state, byte(f.value>>i&1))
		}
	}
	step := func() byte {
		b := state[62] ^ state[51] ^ state[38] ^ state[23] ^ state[13] ^ state[0]
		state = append(state[1:], b)
		return b
	}
	for range 160 {
		step()
	}
	bit := func() uint64 {
		for step() == 0 {
			step()
		}
		return uint64(step())
	}
	element := func() uint64 {
		for {
			v := uint64(0)
			for range 31 {
				v = v<<1 | bit()
			}
			if v < p {
				return v
			}
		}
	}
	for r := range constants {
		for i := range constants[r] {
			constants[r][i] = element()
		}
	}
	return constants
}

// permutation holds the data from which the kernels derive their constants.
//
// The constants of partial rounds are pushed forward, since an addition to lanes that no s-box touches commutes with
// it. So each partial round keeps one constant for lane 0. The rest joins the first full round after them.
type permutation struct {
	constants [rounds]vector
	lane0     [partialRounds]uint64 // added to lane 0 before the s-box of a partial round
	after     vector                // added before the first full round after the partial ones, instead of its constants
	// lambda holds M's eigenvalues in bit-reversed order, the output order of a decimation-in-frequency transform. M is
	// circulant and 16 | p − 1, hence M = F^−1·diag(lambda)·F with F the 16-point Fourier transform.
	lambda vector
}

func derive() permutation {
	pm := permutation{constants: grain()}
	carry := pm.constants[halfFull]
	for r := range pm.lane0 {
		pm.lane0[r] = carry[0]
		carry[0] = 0
		carry = mds(carry).plus(pm.constants[halfFull+r+1])
	}
	pm.after = carry
	for k := range width {
		for j, c := range mdsColumn {
			pm.lambda[reverse4(k)] = add(pm.lambda[reverse4(k)], mul(uint64(c), pow(omega, uint64(j*k))))
		}
	}
	return pm
}

// reverse4 reverses the four bits of i.
func reverse4(i int) int { return i&1<<3 | i&2<<1 | i&4>>1 | i&8>>3 }

// scales holds the factors by which a kernel's numbers differ from the true ones at each place. Factors such as
// Montgomery's, or the factor of a division-free convolution, are never undone: constants are multiplied by them
// beforehand. An s-box takes scale k to sbox·k³; the matrix after it takes scale s to linear·s.
type scales struct {
	initial  [halfFull]uint64 // before the s-boxes of the first full rounds; the first is 1, as the input is plain
	cubed    uint64           // after the s-box of the last of these rounds, at the start of the Fourier transform
	partial  uint64           // in the partial rounds, in the eigenbasis
	terminal [halfFull]uint64 // before the s-boxes of the last full rounds
}

// newScales chooses the terminal scales so that the output of the last matrix has the scale output.
func newScales(sbox, linear, partial, output uint64) scales {
	s := scales{partial: partial}
	next := func(k uint64) uint64 { return mul(mul(sbox, linear), pow(k, 3)) }
	s.initial[0] = 1
	for r := 1; r < halfFull; r++ {
		s.initial[r] = next(s.initial[r-1])
	}
	s.cubed = mul(sbox, pow(s.initial[halfFull-1], 3))
	k := output
	for r := halfFull - 1; r >= 0; r-- {
		k = cubeRoot(mul(k, inv(mul(sbox, linear))))
		s.terminal[r] = k
	}
	return s
}

// entry returns the multipliers that end the first full rounds in the eigenbasis: the matrix and the change to the
// scale of the partial rounds. base is the number that the multiplication itself divides by (1, or Montgomery's R).
func (pm *permutation) entry(s scales, base uint64) vector {
	return pm.lambda.times(mul(base, mul(s.partial, inv(s.cubed))))
}

// loop returns the multipliers of a partial round.
func (pm *permutation) loop(base uint64) vector { return pm.lambda.times(base) }

// exit returns the multipliers of the last partial round: they set the terminal scale, and divide by the factor of 16
// from the inverse transform.
func (pm *permutation) exit(s scales, base uint64) vector {
	return pm.lambda.times(mul(base, mul(s.terminal[0], inv(mul(width, s.partial)))))
}

// terminal returns the constants of the r-th of the last full rounds.
func (pm *permutation) terminal(s scales, r int) vector {
	if r == 0 {
		return pm.after.times(s.terminal[0])
	}
	return pm.constants[halfFull+partialRounds+r].times(s.terminal[r])
}
