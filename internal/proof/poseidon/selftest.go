package poseidon

import (
	"encoding/hex"
	"fmt"
)

// permuted holds states and their permutations, for the states 0, 1, …, 15; all 0; all P − 1.
var permuted = [3][2][width]uint32{
	{
		{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15},
		{
			610090613, 935319874, 1893335292, 796792199, 356405232, 552237741, 55134556, 1215104204,
			1823723405, 1133298033, 1780633798, 1453946561, 710069176, 1128629550, 1917333254, 1175481618,
		},
	},
	{
		{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0},
		{
			2096630793, 502841916, 2048234017, 615698125, 1716747525, 1717817948, 194562273, 959725011,
			1720971930, 2093224065, 1607677051, 1849387246, 2054104179, 1529778884, 1740781079, 92100382,
		},
	},
	{
		{P - 1, P - 1, P - 1, P - 1, P - 1, P - 1, P - 1, P - 1, P - 1, P - 1, P - 1, P - 1, P - 1, P - 1, P - 1, P - 1},
		{
			80767616, 383372031, 1503356788, 2125894918, 1946887912, 879437609, 1712137281, 672292544,
			1911844364, 828626166, 1140802964, 650895436, 1866586638, 613293787, 1870649746, 481320165,
		},
	},
}

// SelfTest tests the active kernel with known answers and returns an error that names the first wrong one. A CPU or
// build that computes other hashes must not take part in consensus.
func SelfTest() error {
	for shift := range permuted {
		var b block
		for i := range b {
			b[i] = permuted[(i+shift)%len(permuted)][0]
		}
		permuteLanes(&b, lanes)
		for i := range b {
			if b[i] != permuted[(i+shift)%len(permuted)][1] {
				return fmt.Errorf("poseidon: kernel %s permutes %v wrongly", active, permuted[(i+shift)%len(permuted)][0])
			}
		}
	}
	var halves [2]Digest
	for i := range halves[0] {
		halves[0][i], halves[1][i] = uint32(i), uint32(rate+i)
	}
	var bytes [256]byte
	for i := range bytes {
		bytes[i] = byte(i)
	}
	src := make([][2]Digest, lanes)
	for i := range src {
		src[i] = halves
	}
	dst := make([]Digest, lanes)
	for _, c := range []struct {
		name, want string
		hash       func()
	}{
		{"node", "245d3e7537bfd94370da00fe2f7e158a153e4ff420ea7ab203494962486d04d3", func() { Nodes(dst, src) }},
		{"leaf", "233f26f877397ef52ac81ce33baa22b85c7e12d23b0ece05427b62825aa91d20", func() { Leaves(dst, src) }},
		{"value hash", "3894b9ca7cde9129017146a040cc52fd453643f80a5b6c03456164205f55f2ca", func() {
			msgs := make([][]byte, lanes)
			for i := range msgs {
				msgs[i] = bytes[:]
			}
			HashMany(TagValue, dst, msgs)
		}},
	} {
		c.hash()
		for _, d := range dst {
			if got := d.Bytes(); hex.EncodeToString(got[:]) != c.want {
				return fmt.Errorf("poseidon: kernel %s computes the %s %x, not %s", active, c.name, got, c.want)
			}
		}
	}
	return nil
}
