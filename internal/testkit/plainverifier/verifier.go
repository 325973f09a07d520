// Package plainverifier verifies proofs step by step as described in docs/proofs.md, without regard to speed: on plain
// integers, and with no code of the verifier that nodes use. It uses only circuits and statements of the project, as
// data. Tests run both verifiers.
package plainverifier

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"slices"

	"github.com/cairn-chain/cairn/internal/proof/air"
	"github.com/cairn-chain/cairn/internal/proof/field"
	"github.com/cairn-chain/cairn/internal/proof/stark"
)

// Term is an entry of the public side of a circuit's buses.
type Term struct {
	Bus          uint32
	Multiplicity uint32   // below p
	Tuple        []uint32 // below p
}

// Statement is the statement to prove.
type Statement struct {
	Circuit *air.Circuit
	Context []byte
	Public  []uint32 // below p
	Terms   []Term
}

// Of converts a statement to this package's types.
func Of(s *stark.Statement) Statement {
	integers := func(v []field.Element) (out []uint32) {
		for i := range v {
			out = append(out, uint32(v[i].Uint64()))
		}
		return out
	}
	out := Statement{Circuit: s.Circuit, Context: s.Context, Public: integers(s.Public)}
	for _, t := range s.Terms {
		out.Terms = append(out.Terms, Term{
			Bus: uint32(t.Bus.ID()), Multiplicity: uint32(t.Multiplicity.Uint64()), Tuple: integers(t.Tuple),
		})
	}
	return out
}

type level struct{ blowup, queries, mostLogRows int }

// levels holds the security levels by their number in a proof.
var levels = []level{{4, 82, 18}, {4, 110, 17}, {8, 74, 18}, {16, 56, 17}, {8, 73, 16}, {16, 55, 16}}

const (
	grinding = 20
	maxFinal = 1 << 9
)

// check is the state of a verification.
type check struct {
	Statement
	rest  []byte   // unread part of the proof
	state [32]byte // state of the transcript
	n     int      // number of rows
	level level
	err   error // first error of reading
}

func le32(v uint32) []byte { return binary.LittleEndian.AppendUint32(nil, v) }
func le64(v uint64) []byte { return binary.LittleEndian.AppendUint64(nil, v) }

func hash(parts ...[]byte) [32]byte { return sha256.Sum256(bytes.Join(parts, nil)) }

// read reads n bytes. If the proof is too short, it returns zeros and sets the error.
func (c *check) read(n int) []byte {
	if len(c.rest) < n {
		c.rest, c.err = nil, errors.New("too short")
		return make([]byte, n)
	}
	b := c.rest[:n]
	c.rest = c.rest[n:]
	return b
}

func (c *check) element(b []byte) uint64 {
	v := uint64(binary.LittleEndian.Uint32(b))
	if v >= prime {
		c.err = errors.New("not canonical")
	}
	return v
}

func (c *check) extension(b []byte) (e ext) {
	for i := range e {
		e[i] = c.element(b[4*i:])
	}
	return e
}

func (c *check) extensions(b []byte) (v []ext) {
	for ; len(b) > 0; b = b[24:] {
		v = append(v, c.extension(b))
	}
	return v
}

func (c *check) absorb(m []byte) {
	c.state = hash(c.state[:], le32(1), le64(uint64(len(m))), m)
}

func (c *check) draw() (b [32]byte) {
	b = hash(c.state[:], le32(2))
	c.state = hash(c.state[:], le32(3))
	return b
}

func (c *check) drawExt() (e ext) {
	first, second := c.draw(), c.draw()
	words := append(first[:], second[:]...)
	for i := range e {
		e[i] = binary.LittleEndian.Uint64(words[8*i:]) % prime
	}
	return e
}

// readAbsorbed reads n bytes and absorbs them as one message.
func (c *check) readAbsorbed(n int) []byte {
	b := c.read(n)
	c.absorb(b)
	return b
}

// Verify returns nil if proof proves the statement.
func Verify(s Statement, proof []byte) error {
	c := &check{Statement: s, rest: proof}
	if err := c.readHeader(); err != nil {
		return err
	}
	columnsRoot := c.readAbsorbed(32)
	alpha, beta := c.drawExt(), c.drawExt()
	var auxRoot []byte
	if s.Circuit.AuxColumns() > 0 {
		auxRoot = c.readAbsorbed(32)
	}
	eta := c.drawExt()
	chunksRoot := c.readAbsorbed(32)
	z := c.drawExt()
	if z == lift(z[0]) {
		return errors.New("z is in the base field")
	}
	o := c.readOpened(z)
	p := o.point(c)
	p.alpha, p.beta = alpha, beta
	if err := p.checkConstraints(eta, o.values[o.atPoint-2], o.values[o.atPoint-1]); err != nil {
		return err
	}

	b := batched{check: c, opened: o, delta: c.drawExt()}
	f := c.readFRI()
	indices, err := c.readIndices()
	if err != nil {
		return err
	}
	b.columns = c.readRows(columnsRoot, 4*len(s.Circuit.Columns()), indices)
	if s.Circuit.AuxColumns() > 0 {
		b.aux = c.readRows(auxRoot, 24*s.Circuit.AuxColumns(), indices)
	}
	b.chunks = c.readRows(chunksRoot, 48, indices)
	if c.err != nil {
		return c.err
	}
	known := map[int]ext{}
	for _, index := range indices {
		known[index] = b.at(index)
	}
	f.checkQueries(known)
	if c.err == nil && len(c.rest) > 0 {
		return errors.New("too long")
	}
	return c.err
}

// readHeader reads the level and the number of rows, and begins the transcript.
func (c *check) readHeader() error {
	header := c.read(3)
	if c.err != nil || header[0] != 1 || int(header[1]) >= len(levels) {
		return errors.New("header")
	}
	if k := int(header[2]); k < 3 || k > levels[header[1]].mostLogRows {
		return errors.New("number of rows")
	}
	c.level, c.n = levels[header[1]], 1<<header[2]
	c.begin(int(header[2]))
	return nil
}

// readIndices reads the nonce and returns the distinct rows that the transcript selects, in order.
func (c *check) readIndices() (indices []int, err error) {
	nonce := c.read(8)
	h := hash(c.state[:], le32(4), nonce)
	if binary.LittleEndian.Uint64(h[:])%(1<<grinding) != 0 {
		return nil, errors.New("nonce")
	}
	c.absorb(nonce)
	for range c.level.queries {
		d := c.draw()
		indices = append(indices, int(binary.LittleEndian.Uint64(d[:])%uint64(c.level.blowup*c.n)))
	}
	slices.Sort(indices)
	return slices.Compact(indices), nil
}

// begin absorbs everything that is known before the proof.
func (c *check) begin(logRows int) {
	c.state = hash([]byte("cairn/stark/v1"))
	digest := c.Circuit.Digest()
	c.absorb(digest[:])
	var b []byte
	for _, v := range []int{bits.TrailingZeros(uint(c.level.blowup)), 3, 9, grinding, c.level.queries, logRows, 2} {
		b = append(b, le32(uint32(v))...)
	}
	c.absorb(b)
	c.absorb(c.Context)
	b = nil
	for _, v := range c.Public {
		b = append(b, le32(v)...)
	}
	c.absorb(b)
	b = nil
	for _, t := range c.Terms {
		b = append(b, le32(t.Bus)...)
		b = append(b, le32(t.Multiplicity)...)
		b = append(b, le32(uint32(len(t.Tuple)))...)
		for _, v := range t.Tuple {
			b = append(b, le32(v)...)
		}
	}
	c.absorb(b)
}

// readRows reads rows of size bytes, and the siblings that prove that they are at indices in the tree.
func (c *check) readRows(root []byte, size int, indices []int) (rows [][]byte) {
	leaves := map[int][32]byte{}
	for _, index := range indices {
		row := c.read(size)
		rows = append(rows, row)
		leaves[index] = hash(le32(0), row)
	}
	c.checkTree(root, c.level.blowup*c.n, leaves)
	return rows
}

// checkTree reads siblings and checks that a tree with size leaves has the given root and known leaves.
func (c *check) checkTree(root []byte, size int, known map[int][32]byte) {
	for ; size > 1; size /= 2 {
		above := map[int][32]byte{}
		for k := range size / 2 {
			left, isLeft := known[2*k]
			right, isRight := known[2*k+1]
			if !isLeft && !isRight {
				continue
			}
			if !isLeft {
				copy(left[:], c.read(32))
			}
			if !isRight {
				copy(right[:], c.read(32))
			}
			above[k] = hash(le32(1), left[:], right[:])
		}
		known = above
	}
	if top := known[0]; !bytes.Equal(top[:], root) && c.err == nil {
		c.err = fmt.Errorf("root %x is not %x", top, root)
	}
}
