package blockproof

import (
	"math/bits"
	"slices"

	"github.com/cairn-chain/cairn/internal/proof/field"
	"github.com/cairn-chain/cairn/internal/proof/poseidon"
)

// Scratch is memory for the columns of one segment at a time. The zero value is ready to use.
type Scratch struct {
	all field.Vector
}

// columns returns columns with the given number of rows and undefined contents. It invalidates the columns that it
// returned before.
func (r *Scratch) columns(rows int) []field.Vector {
	stride := rows + field.Gap
	if len(r.all) < columns*stride {
		r.all = nil // free it before the larger one is allocated
		r.all = make(field.Vector, columns*stride)
	}
	table := make([]field.Vector, columns)
	for i := range table {
		table[i] = r.all[i*stride : i*stride+rows : i*stride+rows]
	}
	return table
}

// Columns returns the table that satisfies the circuit. Its columns have a power of two of rows. They are in scratch
// and valid until scratch is used again.
func (s *Segment) Columns(scratch *Scratch, parallel Parallel) []field.Vector {
	all := s.rows
	rows := 1 << max(minLogRows, bits.Len(uint(len(all)-1)))
	table, padding := scratch.columns(rows), paddingRow()
	parallel((rows+rowsPerPiece-1)/rowsPerPiece, func(i int) {
		low, high := i*rowsPerPiece, min((i+1)*rowsPerPiece, rows)
		used := max(low, min(high, len(all)))
		for k, column := range table {
			if k < colPermute { // the permutation sets its own columns
				clear(column[low:used])
			}
			for r := used; r < high; r++ {
				column[r] = padding[k]
			}
		}
		var inverses []*field.Element
		for r := low; r < used; r++ {
			inverses = all[r].fill(table, r, inverses)
		}
		invert(inverses)
		finish(table, low, used)
	})
	return table
}

// paddingRow returns the row of a permutation of zeros, which follows the rows in use.
func paddingRow() (row [columns]field.Element) {
	table := new(Scratch).columns(1)
	finish(table, 0, 1)
	for k := range row {
		row[k] = table[k][0]
	}
	return row
}

// invert replaces elements by their inverses.
func invert(elements []*field.Element) {
	v := make(field.Vector, len(elements))
	for i, e := range elements {
		v[i] = *e
	}
	field.Invert(v)
	for i, e := range elements {
		*e = v[i]
	}
}

// rowsPerPiece is the number of rows that are made in one call through Parallel.
const rowsPerPiece = 1 << 10

// fill sets the columns of row r that are known without the permutation. It appends to inverses the elements that must
// be replaced by their inverses.
func (row *tableRow) fill(table []field.Vector, r int, inverses []*field.Element) []*field.Element {
	one := field.New(1)
	set := func(column int, digest *poseidon.Digest) {
		for i, v := range digest {
			table[column+i][r] = field.New(uint64(v))
		}
	}
	for h := range row.halves {
		half := &row.halves[h]
		set(colInput+h*digestSize, &half.digest)
		switch {
		case half.kind == empty:
			table[colEmpty+h][r] = one
		case row.open[h] && half.kind == leaf:
			table[colLeaf+h][r] = one
		}
		if row.phase == after {
			if !row.open[h] && half.kind != empty {
				inverses = append(inverses, showNotZero(table, [2]int{colPrefix, colStep}[h], r, &half.digest))
			}
			continue
		}
		if row.open[h] {
			table[colOpen+h][r] = one
		} else if row.phase == changed && half.kind != empty {
			table[colKept+h][r] = one
		}
	}
	switch row.phase {
	case after:
		return inverses
	case changed:
		table[colChanged][r] = one
	case same:
		table[colSame][r] = one
	}
	at := step(int(row.level))
	table[colLevel][r] = field.New(uint64(row.level))
	set(colPrefix, &row.prefix)
	set(colStep, &at)
	if row.open[1] {
		i := int(row.level) / elementBits
		turn := field.New(uint64(at[i]))
		next := field.New(uint64(row.prefix[i]) + 1)
		inverses = append(inverses, table[colTurn][r].Mul(&turn, &next))
	}
	return inverses
}

// showNotZero sets the eight columns so that their product with digest, which is not zero, is 1 after the returned
// element is inverted.
func showNotZero(table []field.Vector, column, r int, digest *poseidon.Digest) *field.Element {
	i := slices.IndexFunc(digest[:], func(v uint32) bool { return v != 0 })
	table[column+i][r] = field.New(uint64(digest[i]))
	return &table[column+i][r]
}

// finish computes the remaining columns of rows low to high.
func finish(table []field.Vector, low, high int) {
	b := newBlocks(table[colPermute:])
	inputs := make([]field.Vector, width)
	for ; low < high; low += blockRows {
		b.next(low, min(low+blockRows, high))
		for i := range inputs {
			inputs[i] = table[colInput+i][b.low:b.high]
		}
		b.permute(inputs)
		combine(b, table)
	}
}

// combine computes, for the rows of b, whether the halves together are empty, a leaf or a node, and the digest. The
// permutations must be computed.
func combine(b *blocks, table []field.Vector) {
	low, high := b.low, b.high
	half := func(column int) [2]field.Vector {
		return [2]field.Vector{table[column][low:high], table[column+1][low:high]}
	}
	e, l := half(colEmpty), half(colLeaf)
	isEmpty, isLeaf, isNode := table[colIsEmpty][low:high], table[colIsLeaf][low:high], b.spare
	isEmpty.Mul(e[0], e[1])
	isLeaf.Mul(e[0], l[1])
	isNode.Mul(e[1], l[0])
	isLeaf.Add(isLeaf, isNode)
	field.AddScalar(isNode, b.zeros, field.New(1))
	isNode.Sub(isNode, isEmpty)
	isNode.Sub(isNode, isLeaf)
	for i := range digestSize {
		left, right := table[colInput+i][low:high], table[colInput+digestSize+i][low:high]
		digest, hashed := table[colDigest+i][low:high], table[colPermute+permutationColumns-digestSize+i][low:high]
		digest.Sub(hashed, right)
		digest.Mul(digest, isNode)
		digest.Add(digest, left)
		digest.Add(digest, right)
	}
}
