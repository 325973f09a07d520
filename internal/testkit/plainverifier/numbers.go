package plainverifier

import "math/big"

// prime is p = 2^31 − 2^24 + 1. Elements of F_p are integers below it; products of two fit into 64 bits.
const prime uint64 = 0x7f000001

func plus(a, b uint64) uint64  { return (a + b) % prime }
func minus(a, b uint64) uint64 { return (a + prime - b) % prime }
func times(a, b uint64) uint64 { return a * b % prime }

func power(a, k uint64) uint64 {
	c := uint64(1)
	for ; k > 0; k /= 2 {
		if k%2 == 1 {
			c = times(c, a)
		}
		a = times(a, a)
	}
	return c
}

// inverse returns a^(p − 2), by Fermat's little theorem.
func inverse(a uint64) uint64 { return power(a, prime-2) }

// root returns w_m, the generator of the subgroup of order m.
func root(m int) uint64 { return power(3, (prime-1)/uint64(m)) }

// ext is an element of E: the coordinates to 1, u, v, uv, v², uv².
type ext [6]uint64

func lift(a uint64) ext { return ext{a} }

func (a ext) plus(b ext) (c ext) {
	for i := range c {
		c[i] = plus(a[i], b[i])
	}
	return c
}

func (a ext) minus(b ext) (c ext) {
	for i := range c {
		c[i] = minus(a[i], b[i])
	}
	return c
}

// times multiplies the polynomials, and then replaces v^4, v^3 and u²: v³ = u + 1, u² = 3.
func (a ext) times(b ext) ext {
	var w [5][4]uint64 // w[i][j] belongs to v^i·u^j
	for i := range a {
		for j := range b {
			x, y := i/2+j/2, i%2+j%2
			w[x][y] = plus(w[x][y], times(a[i], b[j]))
		}
	}
	for i := 4; i >= 3; i-- {
		for j := range 3 {
			w[i-3][j] = plus(w[i-3][j], w[i][j])
			w[i-3][j+1] = plus(w[i-3][j+1], w[i][j])
		}
	}
	var c ext
	for i := range 3 {
		c[2*i] = plus(w[i][0], times(3, w[i][2]))
		c[2*i+1] = plus(w[i][1], times(3, w[i][3]))
	}
	return c
}

func (a ext) scaled(s uint64) (c ext) {
	for i := range c {
		c[i] = times(a[i], s)
	}
	return c
}

// power returns a^k by squaring.
func (a ext) power(k *big.Int) ext {
	c := lift(1)
	for i := k.BitLen() - 1; i >= 0; i-- {
		c = c.times(c)
		if k.Bit(i) == 1 {
			c = c.times(a)
		}
	}
	return c
}

// inverse returns a^(p^6 − 2), by Fermat's little theorem.
func (a ext) inverse() ext {
	k := new(big.Int).SetUint64(prime)
	k.Exp(k, big.NewInt(6), nil)
	return a.power(k.Sub(k, big.NewInt(2)))
}

func (a ext) isZero() bool { return a == ext{} }
