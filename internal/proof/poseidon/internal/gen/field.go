package main

// p is the KoalaBear prime.
const p = 1<<31 - 1<<24 + 1

// omega is a primitive 16th root of unity: 3 generates the multiplicative group.
var omega = pow(3, (p-1)/16)

func add(a, b uint64) uint64 { return (a + b) % p }
func mul(a, b uint64) uint64 { return a % p * (b % p) % p }

func pow(a, e uint64) uint64 {
	r := uint64(1)
	for ; e > 0; e >>= 1 {
		if e&1 == 1 {
			r = mul(r, a)
		}
		a = mul(a, a)
	}
	return r
}

func inv(a uint64) uint64 { return pow(a, p-2) }

// pow2 returns 2^e mod p, for any sign of e.
func pow2(e int) uint64 {
	if e < 0 {
		return inv(pow(2, uint64(-e)))
	}
	return pow(2, uint64(e))
}

// cubeRoot is the inverse of x³, which is a bijection because 3 does not divide p − 1.
func cubeRoot(a uint64) uint64 { return pow(a, (2*(p-1)+1)/3) }

// inverseMod2 returns p^−1 mod 2^bits, by Newton's iteration (each step doubles the correct bits).
func inverseMod2(bits int) uint64 {
	r := uint64(1)
	for range 6 {
		r *= 2 - p*r
	}
	return r & (1<<bits - 1)
}
