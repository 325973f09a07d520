package blockproof

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/cairn-chain/cairn/internal/proof/air"
	"github.com/cairn-chain/cairn/internal/proof/field"
	"github.com/cairn-chain/cairn/internal/proof/poseidon"
)

// forgery is a table with its claims, to be changed until it violates only one constraint.
type forgery struct {
	entries []entry
	part    part
	table   []field.Vector
	public  []field.Element
	terms   []air.Term
}

// forge begins with the honest table of a batch.
func forge(tb testing.TB, b *batch) *forgery {
	segment := b.segments(tb, largest)[0]
	return &forgery{
		b.entries(), segment.part, segment.Columns(new(Scratch), InOrder), segment.Instance.Public, segment.Instance.Terms,
	}
}

func (f *forgery) set(column, row int, v field.Element) { f.table[column][row] = v }

func (f *forgery) increase(column, row int) {
	one := field.New(1)
	f.table[column][row].Add(&f.table[column][row], &one)
}

// finish computes rows again from their halves.
func (f *forgery) finish(rows ...int) {
	for _, r := range rows {
		finish(f.table, r, r+1)
	}
}

// publish claims the roots on the first row.
func (f *forgery) publish() {
	for i := range digestSize {
		d := f.table[colDigest+i]
		f.public[i], f.public[digestSize+i] = d[0], d[0]
		if f.table[colChanged][0].IsOne() {
			f.public[digestSize+i] = d[1]
		}
	}
}

// retell derives the public side from the changed part and entries.
func (f *forgery) retell() { f.terms = terms(f.entries, &f.part) }

// aim sets turn on a row so that the right half may be open.
func (f *forgery) aim(row int) {
	var sum field.Element
	for i := range pathElements {
		one := field.New(1)
		one.Add(&one, &f.table[colPrefix+i][row])
		one.Mul(&one, &f.table[colStep+i][row])
		sum.Add(&sum, &one)
	}
	sum.Inverse(&sum)
	sum.Mul(&sum, &f.table[colOpen+1][row])
	f.set(colTurn, row, sum)
}

// notZero shows on the row below that the digest of half s is not zero.
func (f *forgery) notZero(row, s int) {
	for i := range digestSize {
		if v := f.table[colInput+s*digestSize+i][row]; !v.IsZero() {
			v.Inverse(&v)
			f.set([2]int{colPrefix, colStep}[s]+i, row+1, v)
			return
		}
	}
}

func (f *forgery) copyRow(to, from int) {
	for _, column := range f.table {
		column[to] = column[from]
	}
}

// at is a path that begins with the given bits; salt makes it differ after 16 bits.
func at(bits string, salt uint32) (p poseidon.Digest) {
	for i, b := range bits {
		p[0] |= uint32(b-'0') << (30 - i)
	}
	p[0] |= salt
	p[7] = salt
	return p
}

var one, zero = field.New(1), field.Element{}

// forgeries returns, for each kind of constraint, the trace that only this constraint forbids. s is the half in its
// name, i the index.
func forgeries(tb testing.TB, s, i int) map[string]func() *forgery {
	here, there := at(fmt.Sprint(s), 1), at(fmt.Sprint(1-s), 2)
	h1, h2 := poseidon.Digest{5, 6, 7}, poseidon.Digest{8, 9}
	batchOf := func(before model, accesses func(*batch)) *batch {
		b := newBatch(before)
		accesses(b)
		return b
	}
	// reads and writes there, and nothing here; and reads on both sides
	readThere := batchOf(model{there: h1}, func(b *batch) { b.read(there) })
	writeThere := batchOf(model{there: h1}, func(b *batch) { b.write(there, h2) })
	readBoth := batchOf(model{here: h1, there: h2}, func(b *batch) { b.read(here); b.read(there) })
	absent := func(paths ...poseidon.Digest) *batch {
		return batchOf(model{}, func(b *batch) {
			for _, p := range paths {
				b.read(p)
			}
		})
	}
	deleteThere := func() *forgery { // the half is closed here, although it is a leaf that must move up
		f := forge(tb, batchOf(model{here: h1, there: h2}, func(b *batch) { b.write(there, poseidon.Digest{}) }))
		f.part.others = nil
		f.retell()
		f.set(colOpen+s, 0, zero)
		f.set(colLeaf+s, 0, zero)
		f.set(colLeaf+s, 1, zero)
		f.aim(0)
		f.finish(0, 1)
		f.publish()
		return f
	}
	return map[string]func() *forgery{
		"permutation": func() *forgery {
			f := forge(tb, readBoth)
			var inputs [width]field.Element
			for k := range inputs {
				inputs[k] = f.table[colInput+k][0]
			}
			permute(&tampered{columns: f.table[colPermute:], at: i}, inputs)
			b := newBlocks(f.table[colPermute:])
			b.next(0, 1)
			combine(b, f.table)
			f.publish()
			return f
		},
		"half empty is a bit": func() *forgery {
			f := forge(tb, readThere)
			f.set(colEmpty+s, 0, field.New(2))
			f.finish(0)
			f.publish()
			return f
		},
		"half empty: digest": func() *forgery {
			f := forge(tb, readThere)
			f.set(colInput+s*digestSize+i, 0, one)
			f.finish(0)
			f.publish()
			return f
		},
		"is empty": func() *forgery { return notNode(forge(tb, readBoth), colIsEmpty) },
		"is leaf":  func() *forgery { return notNode(forge(tb, readBoth), colIsLeaf) },
		"digest": func() *forgery {
			f := forge(tb, readBoth)
			f.increase(colDigest+i, 0)
			f.publish()
			return f
		},
		"canonical path": func() *forgery { // keys that have values, claimed to be absent at paths p further right
			x, y := poseidon.Digest{5, 1 << 29}, poseidon.Digest{5, 1 << 30}
			b := newBatch(model{x: h1, y: h2})
			for _, path := range []poseidon.Digest{x, y} {
				path[0] += poseidon.P
				b.read(path)
			}
			f := forge(tb, b)
			for i := range f.entries {
				f.entries[i].path[0] -= poseidon.P
			}
			f.retell()
			return f
		},
		"half open is a bit": func() *forgery {
			f := forge(tb, absent(here))
			f.set(colOpen+s, 0, field.New(2))
			f.aim(0)
			f.entries, f.part.levels = slices.Repeat(f.entries, 2), []uint8{1, 1}
			f.entries[1].path[7] = 9 // another absent key of this half
			f.retell()
			return f
		},
		"half closed: no leaf": func() *forgery { // the whole tree is presented as a leaf here, so nothing is there
			f := forge(tb, absent(there))
			f.set(colEmpty+s, 0, zero)
			f.set(colLeaf+s, 0, one)
			f.set(colInput+s*digestSize, 0, field.New(77))
			f.finish(0)
			f.publish()
			return f
		},
		"half closed: empty before and after": func() *forgery {
			f := forge(tb, writeThere)
			f.set(colEmpty+s, 1, zero)
			f.finish(1)
			f.publish()
			return f
		},
		"half closed: leaf before and after": func() *forgery { // the node here moves up as if it were a leaf
			f := forge(
				tb, batchOf(model{at(fmt.Sprint(s, 0), 1): h1, at(fmt.Sprint(s, 1), 2): h2}, func(b *batch) { b.read(there) }),
			)
			f.copyRow(1, 0)
			f.set(colSame, 0, zero)
			f.set(colChanged, 0, one)
			f.set(colKept+s, 0, one)
			for _, column := range []int{colSame, colLevel, colOpen, colOpen + 1, colTurn} {
				f.set(column, 1, zero)
			}
			for i := range 2 * pathElements {
				f.set(colPrefix+i, 1, zero)
			}
			f.notZero(0, s)
			f.set(colLeaf+s, 1, one)
			f.finish(1)
			f.publish()
			return f
		},
		"half closed: digest before and after": func() *forgery {
			f := forge(tb, batchOf(model{here: h1, there: h1}, func(b *batch) { b.write(there, h2) }))
			f.increase(colInput+s*digestSize+i, 1)
			f.finish(1)
			f.publish()
			return f
		},
		"half kept": deleteThere,
		"half kept: the other is not emptied": func() *forgery {
			f := deleteThere()
			f.set(colKept+s, 0, one)
			f.notZero(0, s)
			return f
		},
		"half kept: digest not zero": func() *forgery { // an empty half passes for a node, and its contents stay deeper
			f := forge(tb, writeThere)
			f.set(colEmpty+s, 0, zero)
			f.set(colEmpty+s, 1, zero)
			f.set(colKept+s, 0, one)
			f.finish(0, 1)
			f.publish()
			return f
		},
		"changed is a bit": func() *forgery { // a position twice, and removed once
			f := forge(tb, absent(at("00", 1), at("01", 2)))
			f.set(colSame, 1, zero)
			f.set(colChanged, 1, field.New(2))
			f.set(colEmpty, 2, one)
			f.set(colEmpty+1, 2, one)
			f.finish(2)
			f.copyRow(3, 1)
			f.copyRow(4, 2)
			f.table[colChanged][3].Neg(&one)
			return f
		},
		"same is a bit": func() *forgery {
			f := forge(tb, absent(at("00", 1), at("01", 2)))
			f.set(colSame, 1, field.New(2))
			f.copyRow(2, 1)
			f.table[colSame][2].Neg(&one)
			return f
		},
		"root": func() *forgery { // two positions at the root
			f := forge(tb, writeThere)
			f.set(colSame, 0, one)
			f.part.steps[0] = 2
			f.part.others = append(f.part.others, other{1, there, h1})
			f.retell()
			return f
		},
		"root: level": func() *forgery { // the first bit of paths is skipped
			f := forge(tb, absent(at("00", 1)))
			f.set(colLevel, 0, one)
			f.set(colStep, 0, field.New(1<<29))
			f.part.levels[0], f.part.steps = 2, []uint32{0, 1}
			f.retell()
			return f
		},
		"root: prefix": func() *forgery { // bit 31·i is 1 on the way, though the left half is taken
			x, y := poseidon.Digest{}, step(31*i+1)
			f := forge(tb, absent(x, y))
			for row := range f.table[0] {
				if f.table[colSame][row].IsOne() {
					v := field.New(1 << 30)
					f.table[colPrefix+i][row].Add(&f.table[colPrefix+i][row], &v)
					f.aim(row)
				}
			}
			for k := range f.entries {
				f.entries[k].path[i] |= 1 << 30
			}
			f.retell()
			return f
		},
		"root: before": func() *forgery {
			f := forge(tb, writeThere)
			f.public[i].Add(&f.public[i], &one)
			return f
		},
		"root: after": func() *forgery {
			f := forge(tb, writeThere)
			f.public[digestSize+i].Add(&f.public[digestSize+i], &one)
			return f
		},
	}
}

// notNode makes the first row, a node, pass for the kind of the column.
func notNode(f *forgery, column int) *forgery {
	f.set(column, 0, one)
	for i := range digestSize {
		f.table[colDigest+i][0].Add(&f.table[colInput+i][0], &f.table[colInput+digestSize+i][0])
	}
	f.publish()
	return f
}

// tampered is an arithmetic of elements whose columns are those of the first row. It corrupts one of them, and
// continues from there.
type tampered struct {
	elements
	columns  []field.Vector
	at, made int
}

func (t *tampered) column(value field.Element) field.Element {
	if t.made == t.at {
		value.Add(&value, &one)
	}
	t.columns[t.made][0] = value
	t.made++
	return value
}

// TestEachConstraintIsNeeded deletes each constraint in turn: there is a forged trace that the circuit then accepts,
// and that the whole circuit refuses because of this constraint.
func TestEachConstraintIsNeeded(t *testing.T) {
	if testing.Short() {
		t.Skip("slow under the race detector, and has only one goroutine")
	}
	n := 0
	for i, c := range circuit.Constraints() {
		if circuit.InExtension(c.Node) {
			continue // constraints of buses are tested in package air
		}
		name, index, s := c.Name, 0, 0
		if k := strings.Index(name, "["); k > 0 {
			if _, err := fmt.Sscanf(name[k:], "[%d]", &index); err != nil {
				t.Fatal(err)
			}
			name = name[:k]
		}
		for k := range side {
			if rest, ok := strings.CutPrefix(name, side[k]+" "); ok {
				name, s = "half "+rest, k
			}
		}
		forged := forgeries(t, s, index)[name]
		if forged == nil {
			t.Errorf("no forgery against %q", c.Name)
			continue
		}
		f := forged()
		var v *air.Violation
		if err := circuit.Check(f.table, f.public, f.terms); !errors.As(err, &v) || v.Constraint != c.Name {
			t.Errorf("%q: the circuit says %v", c.Name, err)
		}
		if err := circuit.Without(i).Check(f.table, f.public, f.terms); err != nil {
			t.Errorf("%q deleted: still %v", c.Name, err)
		}
		n++
	}
	t.Logf("%d constraints deleted in turn, each with a forged trace that then passes", n)
}
