package tree

import "github.com/cairn-chain/cairn/internal/proof/poseidon"

// Parallel calls f(0) to f(n−1), each once, in any order, on any goroutines, and returns when all have returned.
// Results do not depend on how it does so.
type Parallel = func(n int, f func(i int))

// What one call through Parallel works on at most.
const (
	nodesPerPiece    = 512
	accessesPerPiece = 128
)

// inPieces calls f for the pieces [low, high) of [0, n), each of the given size but the last.
func inPieces(n, size int, parallel Parallel, f func(low, high int)) {
	switch pieces := (n + size - 1) / size; pieces {
	case 0:
	case 1:
		f(0, n)
	default:
		parallel(pieces, func(i int) { f(i*size, min(i*size+size, n)) })
	}
}

// climb computes the digest of a subtree where it hangs under its parent: the hash of a node's children, and of
// the nodes with one empty child above it.
type climb struct {
	dest   *poseidon.Digest // where the digest at depth top goes
	path   *poseidon.Digest // of some leaf below: which child of a node in the chain is not empty
	digest poseidon.Digest  // of the subtree at depth next+1, unless node is set
	node   ref              // whose children are hashed first, at depth next
	next   uint8            // depth of the node that is hashed next
	top    uint8            // depth of the last, ≤ next
}

// pair is what climb c hashes next.
func (c *climb) pair(n *nodes) [2]poseidon.Digest {
	if c.node != none {
		return n.inner(c.node).digest
	}
	return pairWithEmpty(c.digest, c.path, int(c.next))
}

// run does the climbs level by level, the deepest first, so that a climb finds the digests of its node's children
// in place, and so that each level is hashed in bulk.
func run(n *nodes, climbs []climb, parallel Parallel) {
	order, level := byDepth(climbs)
	active := make([]uint32, 0, len(climbs))
	for depth := pathBits - 1; depth >= 0; depth-- {
		active = append(active, order[level[depth]:level[depth+1]]...)
		inPieces(len(active), nodesPerPiece, parallel, func(low, high int) {
			step(n, climbs, active[low:high])
		})
		rest := active[:0]
		for _, i := range active {
			if c := &climbs[i]; int(c.top) < depth {
				c.next--
				rest = append(rest, i)
			}
		}
		active = rest
	}
}

// step hashes one node of each of the climbs with the given numbers.
func step(n *nodes, climbs []climb, numbers []uint32) {
	var (
		pairs   [64][2]poseidon.Digest
		digests [64]poseidon.Digest
	)
	for len(numbers) > 0 {
		batch := numbers[:min(len(numbers), len(pairs))]
		for i, number := range batch {
			pairs[i] = climbs[number].pair(n)
		}
		poseidon.Nodes(digests[:len(batch)], pairs[:len(batch)])
		for i, number := range batch {
			c := &climbs[number]
			c.digest, c.node = digests[i], none
			if c.next == c.top {
				*c.dest = digests[i]
			}
		}
		numbers = numbers[len(batch):]
	}
}

// byDepth sorts the numbers of climbs by the depth that they begin at: those of depth d are
// order[level[d]:level[d+1]].
func byDepth(climbs []climb) (order []uint32, level [pathBits + 1]int) {
	for i := range climbs {
		level[climbs[i].next+1]++
	}
	for d := range pathBits {
		level[d+1] += level[d]
	}
	order = make([]uint32, len(climbs))
	next := level
	for i := range climbs {
		d := climbs[i].next
		order[next[d]] = uint32(i)
		next[d]++
	}
	return order, level
}
