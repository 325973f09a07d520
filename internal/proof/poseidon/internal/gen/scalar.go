package main

import (
	"fmt"
	"slices"
	"strings"
)

// scalarOffset is added to every number that reduce24 takes, and compensates for the −128 in its result.
const scalarOffset = 128 << 24

// scalarFile returns the pure Go kernel: 64-bit numbers, 32-bit Montgomery products, and a reduction by 2^24 that only
// takes shifts, since 2^−24 = −127 mod p.
func scalarFile(pm *permutation) []byte {
	// The s-box reduces by 2^24, then divides by Montgomery's 2^32 twice; the convolution leaves a factor of 16. The
	// scale of the partial rounds solves (16·k·2^−24)³·2^−64 = k; the output is reduced by 2^24 once more.
	s := newScales(pow2(-3*24-64), 16, pow2(62), pow2(24))
	f := &goFile{}
	f.line("%spackage poseidon\n", header)
	scalarTables(f, pm, s)
	scalarFullRound(f)
	scalarToEigenbasis(f)
	scalarFromEigenbasis(f)
	scalarPartialRound(f)
	return f.formatted()
}

// montgomery returns the factors for multiplying by c/2^32: c, and c·p^−1 mod 2^32.
func montgomery(c uint64) [2]uint64 { return [2]uint64{c, c * inverseMod2(32) & (1<<32 - 1)} }

func scalarTables(f *goFile, pm *permutation, s scales) {
	full := func(c vector) string {
		for i := range c {
			c[i] = add(c[i], scalarOffset)
		}
		return row(c[:], "%d")
	}
	multipliers := func(v vector) string {
		pairs := make([]string, width)
		for i, c := range v {
			pairs[i] = row(slices.Collect(func(yield func(uint64) bool) {
				m := montgomery(c)
				_ = yield(m[0]) && yield(m[1])
			}), "%d")
		}
		return row(pairs, "%s")
	}
	f.line("// scalarInitial are the constants of the first full rounds.")
	f.line("var scalarInitial = [%d][%d]uint64{", halfFull, width)
	for r := range halfFull {
		f.line("%s,", full(pm.constants[r].times(s.initial[r])))
	}
	f.line("}\n\n// scalarTerminal are the constants of the last full rounds, and what the output's reduction needs.")
	f.line("var scalarTerminal = [%d][%d]uint64{", halfFull+1, width)
	for r := range halfFull {
		f.line("%s,", full(pm.terminal(s, r)))
	}
	f.line("%s,", full(vector{}))
	f.line("}\n\n// scalarLane0 are the constants of the partial rounds.")
	lane0 := make([]uint64, partialRounds)
	for r, k := range pm.lane0 {
		lane0[r] = add(mul(mul(k, mul(16, s.partial)), pow2(-24)), 128)
	}
	f.line("var scalarLane0 = [%d]uint64%s\n", partialRounds, row(lane0, "%d"))
	r := pow2(32)
	f.line("// scalarEntry, scalarLoop and scalarExit multiply in the eigenbasis: on the way in, in each partial round,")
	f.line("// and in the last of them.")
	f.line("var (")
	f.line("scalarEntry = [%d]multiplier%s", width, multipliers(pm.entry(s, r)))
	f.line("scalarLoop = [%d]multiplier%s", width, multipliers(pm.loop(r)))
	f.line("scalarExit = [%d]multiplier%s", width, multipliers(pm.exit(s, r)))
	f.line(")\n")
}

func scalarFullRound(f *goFile) {
	f.line("// fullRound is x ← 16·M·cube(x) + constants, up to the s-box's own factor.")
	f.line("func fullRound(x, constants *[%d]uint64) {", width)
	in := make([]string, width)
	for i := range in {
		in[i] = fmt.Sprintf("x%d", i)
		f.line("%s := cube(x[%d])", in[i], i)
	}
	for i, y := range scalarConvolution(f, in, mdsColumn[:], "a") {
		f.line("x[%d] = %s + constants[%d]", i, y, i)
	}
	f.line("}\n")
}

// scalarConvolution writes the cyclic convolution of x with c, times len(c), and returns the names of its results. It
// halves the length by x^2h − 1 = (x^h − 1)(x^h + 1). Differences wrap around 2^64; the results are positive.
func scalarConvolution(f *goFile, x []string, c []int64, name string) []string {
	if len(x) == 1 {
		return []string{term(x[0], c[0])}
	}
	h := len(x) / 2
	for i := range h {
		f.line("%su%d, %sv%d := %s+%s, %s-%s", name, i, name, i, x[i], x[i+h], x[i], x[i+h])
	}
	sums := make([]int64, h)
	cyclicIn := make([]string, h)
	for i := range h {
		sums[i] = c[i] + c[i+h]
		cyclicIn[i] = fmt.Sprintf("%su%d", name, i)
	}
	for k := range h { // the negacyclic half
		terms := make([]string, h)
		for i := range h {
			j, sign := k-i, int64(h)
			if j < 0 {
				j, sign = j+h, -sign
			}
			terms[i] = term(fmt.Sprintf("%sv%d", name, i), sign*(c[j]-c[j+h]))
		}
		f.line("%sn%d := %s", name, k, strings.Join(terms, "+"))
	}
	cyclic := scalarConvolution(f, cyclicIn, sums, name+name[:1])
	out := make([]string, 2*h)
	for k := range h {
		f.line("%sp%d, %sq%d := %s+%sn%d, %s-%sn%d", name, k, name, k, cyclic[k], name, k, cyclic[k], name, k)
		out[k], out[k+h] = fmt.Sprintf("%sp%d", name, k), fmt.Sprintf("%sq%d", name, k)
	}
	return out
}

// term returns v·c as Go source.
func term(v string, c int64) string {
	if c < 0 {
		return fmt.Sprintf("-%s*%d", v, -c)
	}
	return fmt.Sprintf("%s*%d", v, c)
}

// scalarToEigenbasis writes the last of the first full rounds: s-boxes, a decimation-in-frequency Fourier transform,
// and the entry multipliers, which include the matrix.
func scalarToEigenbasis(f *goFile) {
	f.line("// toEigenbasis is x ← diag(scalarEntry)·F·cube(x).")
	f.line("func toEigenbasis(x *[%d]uint64) {", width)
	for i := range width {
		f.line("x%d := cube(x[%d])", i, i)
	}
	butterflies(true, func(a, b, twiddle int) {
		f.line("x%d, x%d = x%d+x%d, x%d+transformOffset-x%d", a, b, a, b, a, b)
		if twiddle > 0 {
			f.line("x%d = multiplyWide(x%d, %d)", b, b, mul(pow(omega, uint64(twiddle)), pow2(32)))
		}
	})
	for i := range width {
		f.line("x[%d] = multiplyWide(x%d, scalarEntry[%d].c)", i, i, i)
	}
	f.line("}\n")
}

// scalarFromEigenbasis writes the inverse transform, decimation in time, without its division by 16.
func scalarFromEigenbasis(f *goFile) {
	f.line("// fromEigenbasis is x ← 16·F^−1·x + constants.")
	f.line("func fromEigenbasis(x, constants *[%d]uint64) {", width)
	for i := range width {
		f.line("x%d := x[%d]", i, i)
	}
	butterflies(false, func(a, b, twiddle int) {
		if twiddle > 0 {
			f.line("x%d = multiplyWide(x%d, %d)", b, b, mul(inv(pow(omega, uint64(twiddle))), pow2(32)))
		}
		f.line("x%d, x%d = x%d+x%d, x%d+transformOffset-x%d", a, b, a, b, a, b)
	})
	for i := range width {
		f.line("x[%d] = x%d + constants[%d]", i, i, i)
	}
	f.line("}\n")
}

// butterflies calls f for each butterfly of a 16-point transform with the indices of its two points and the exponent of
// the twiddle factor. The forward transform goes from distant points to near ones (decimation in frequency): the
// twiddle follows the butterfly, and results are in bit-reversed order. The inverse goes from near to distant points,
// with the twiddle first.
func butterflies(forward bool, f func(a, b, twiddle int)) {
	for stage := range 4 {
		h := 1 << stage
		if forward {
			h = 8 >> stage
		}
		for start := 0; start < width; start += 2 * h {
			for j := range h {
				f(start+j, start+j+h, j*(8/h))
			}
		}
	}
}

func scalarPartialRound(f *goFile) {
	f.line("// partialRound is x ← diag(by)·(x + D), D being what the s-box adds to lane 0 = (Σx)/16.")
	f.line("func partialRound(x *[%d]uint64, k uint64, by *[%d]multiplier) {", width, width)
	terms := make([]string, width)
	for i := range terms {
		f.line("x%d := x[%d]", i, i)
		terms[i] = fmt.Sprintf("x%d", i)
	}
	f.line("d := sboxDifference(%s, k)", strings.Join(terms, "+"))
	for i := range width {
		f.line("x[%d] = by[%d].times(x%d + d)", i, i, i)
	}
	f.line("}")
}
