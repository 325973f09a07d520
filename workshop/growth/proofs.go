package main

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/cairn-chain/cairn/internal/engine/parallel"
	"github.com/cairn-chain/cairn/internal/proof/poseidon"
	"github.com/cairn-chain/cairn/internal/proof/prover"
	"github.com/cairn-chain/cairn/internal/proof/stark"
	"github.com/cairn-chain/cairn/internal/protocol/blockproof"
	"github.com/cairn-chain/cairn/internal/protocol/tree"
	"github.com/cairn-chain/cairn/types"
	"github.com/cairn-chain/cairn/workshop/internal/plot"
)

// provenKeys is the number of keys in the state of proven blocks, and grownBy the number added at a time.
const provenKeys, grownBy = 1_000_000, 100_000

// written is the state of proven blocks, in memory.
type written struct {
	tree   tree.Tree
	values [][]byte                            // by key
	hashes map[poseidon.Digest]poseidon.Digest // hashes of values, by path
}

// write sets keys to a new value, and returns the inputs for proving the block.
func (w *written) write(keys []int, value string) (
	s blockproof.Statement, accesses []types.Access, witness tree.Witness, err error,
) {
	for _, k := range keys {
		key := binary.LittleEndian.AppendUint64([]byte{1}, uint64(k))
		after := fmt.Appendf(nil, "%s, %d", value, k)
		accesses = append(accesses, types.Access{Key: key, Old: w.values[k], New: after})
		w.values[k] = after
	}
	slices.SortFunc(accesses, func(a, b types.Access) int { return bytes.Compare(a.Key, b.Key) })
	s = blockproof.Statement{ChainID: 1, Height: 1, PreRoot: w.tree.Root(), AccessesDigest: types.DigestAccesses(accesses)}
	change, err := w.tree.Prepare(accesses, parallel.Run)
	if err != nil {
		return s, nil, witness, err
	}
	witness, err = change.Witness(func(path poseidon.Digest) (poseidon.Digest, error) { return w.hashes[path], nil })
	if err != nil {
		return s, nil, witness, err
	}
	w.tree.Commit(change, parallel.Run)
	for _, leaf := range change.Leaves() {
		w.hashes[leaf.Path] = leaf.ValueHash
	}
	s.PostRoot = w.tree.Root()
	return s, accesses, witness, nil
}

// chosen selects the level that nodes choose for each segment.
const chosen = -1

// mostLogPoints bounds rows × blowup of the measured arguments, as a prover's memory grows with it.
const mostLogPoints = 21

// provenBlock holds the medians for the proof of a block at a level.
type provenBlock struct {
	level                int // or chosen
	writes, rows, size   int
	trace, prove, verify time.Duration
}

// measureProofs proves blocks that write to a state of provenKeys keys.
func measureProofs(s settings) error {
	w := &written{values: make([][]byte, provenKeys), hashes: make(map[poseidon.Digest]poseidon.Digest, provenKeys)}
	for from := 0; from < provenKeys; from += grownBy {
		keys := make([]int, grownBy)
		for i := range keys {
			keys[i] = from + i
		}
		if _, _, _, err := w.write(keys, "first"); err != nil {
			return err
		}
	}
	p := prover.New(blockproof.Circuit())
	p.Reserve(stark.MaxLogRows, stark.LevelOf(stark.MaxBits, stark.MaxLogRows))
	var blocks []provenBlock
	for _, n := range s.writes {
		for level := chosen; level < len(stark.Levels); level++ {
			if level != chosen && stark.Levels[level].Bits != stark.MaxBits {
				continue
			}
			fmt.Fprintf(os.Stderr, "%d writes, level %d\n", n, level)
			b, err := w.prove(p, level, n, s.runs)
			if errors.Is(err, errTooLarge) {
				continue
			}
			if err != nil {
				return fmt.Errorf("%d writes, level %d: %w", n, level, err)
			}
			blocks = append(blocks, b)
		}
	}
	return writeProofs(s, blocks)
}

var errTooLarge = errors.New("too many rows for the level")

// prove proves runs blocks of n writes. They differ, as the work of grinding does from one proof to the next. The state
// keeps the writes.
func (w *written) prove(p *prover.Prover, level, n, runs int) (b provenBlock, err error) {
	keys := make([]int, n)
	for i := range keys {
		keys[i] = i * (provenKeys / n)
	}
	var scratch blockproof.Scratch
	var trace, prove, verify []time.Duration
	for run := range runs + 1 { // the first run warms the caches and does not count
		statement, accesses, witness, err := w.write(keys, fmt.Sprint("block ", run, " of ", n, " level ", level))
		if err != nil {
			return b, err
		}
		b = provenBlock{level: level, writes: n}
		begun, tracing, proving := time.Now(), time.Duration(0), time.Duration(0)
		var segments []blockproof.Proven
		for segment, err := range blockproof.Trace(statement, accesses, witness, parallel.Run) {
			if err != nil {
				return b, err
			}
			columns := segment.Columns(&scratch, parallel.Run)
			filled := time.Now()
			logRows, use := bits.TrailingZeros(uint(len(columns[0]))), level
			if use == chosen {
				use = stark.LevelOf(stark.MaxBits, logRows)
			}
			if logRows > stark.Levels[use].Most || logRows+stark.Levels[use].LogBlowup > mostLogPoints {
				return b, errTooLarge
			}
			argument, err := p.Prove(&segment.Instance, use, columns, parallel.Run)
			if err != nil {
				return b, err
			}
			segments = append(segments, segment.Proven(argument))
			b.rows += segment.Rows()
			tracing, proving = tracing+filled.Sub(begun), proving+time.Since(filled)
			begun = time.Now()
		}
		tracing += time.Since(begun)
		proof := blockproof.EncodeProof(segments)
		begun = time.Now()
		if _, err := blockproof.VerifyProof(statement, accesses, proof, stark.MaxBits, parallel.Run); err != nil {
			return b, err
		}
		trace, prove, verify = append(trace, tracing), append(prove, proving), append(verify, time.Since(begun))
		b.size = len(proof)
	}
	b.trace, b.prove, b.verify = middle(trace[1:]), middle(prove[1:]), middle(verify[1:])
	return b, nil
}

// middle returns the median.
func middle(d []time.Duration) time.Duration {
	slices.Sort(d)
	return d[len(d)/2]
}

// writeProofs writes the table, and the plot if its directory is set.
func writeProofs(s settings, blocks []provenBlock) error {
	var text strings.Builder
	fmt.Fprintf(&text, "Blocks that write to so many of %d keys, %d bits, on all cores; "+
		"medians of %d runs. A row of the table is a hash proven.\n\n"+
		"| writes | level | rows | table, ms | proof, ms | together, ms | hashes proven a second "+
		"| KB | verification and hashing the list, ms |\n"+
		"|---|---|---|---|---|---|---|---|---|\n", provenKeys, stark.MaxBits, s.runs)
	var table, proof, verification []plot.Point
	for _, b := range blocks {
		all := b.trace + b.prove
		level := "as nodes choose"
		if b.level != chosen {
			level = fmt.Sprint(b.level)
		}
		fmt.Fprintf(
			&text, "| %d | %s | %d | %.1f | %.1f | %.1f | %.0f | %.0f | %.1f |\n", b.writes, level, b.rows,
			milliseconds(b.trace), milliseconds(b.prove), milliseconds(all), float64(b.rows)/all.Seconds(),
			float64(b.size)/1000, milliseconds(b.verify),
		)
		if b.level != chosen {
			continue
		}
		x := float64(b.writes)
		table = append(table, plot.Point{X: x, Y: milliseconds(b.trace)})
		proof = append(proof, plot.Point{X: x, Y: milliseconds(all)})
		verification = append(verification, plot.Point{X: x, Y: milliseconds(b.verify)})
	}
	if s.plots != "" {
		p := plot.Plot{Title: "What a block's proof costs against its writes", X: "writes", Y: "ms", Log: true}
		p.Series = []plot.Series{
			{Name: "table and proof", Points: proof}, {Name: "of it the table", Points: table},
			{Name: "verification", Points: verification},
		}
		if err := os.WriteFile(filepath.Join(s.plots, "growth-proof.svg"), []byte(plot.SVG(1, p)), 0o644); err != nil {
			return err
		}
	}
	_, err := os.Stdout.WriteString(text.String())
	return err
}
