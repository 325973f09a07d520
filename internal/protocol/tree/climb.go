package tree

import "github.com/cairn-chain/cairn/internal/proof/poseidon"

// Parallel calls f(0) to f(n−1), each once, in any order and on any goroutines, and returns when all have returned.
// Results do not depend on the schedule.
type Parallel = func(n int, f func(i int))

// Maximum amount of work in one call through Parallel.
const (
	nodesPerPiece    = 512
	accessesPerPiece = 128
)

// inPieces calls f for consecutive pieces [low, high) of [0, n). All pieces but the last have the given size.
func inPieces(n, size int, parallel Parallel, f func(low, high int)) {
	switch pieces := (n + size - 1) / size; pieces {
	case 0:
	case 1:
		f(0, n)
	default:
		parallel(pieces, func(i int) { f(i*size, min(i*size+size, n)) })
	}
}

// climb computes the digest of a subtree at the depth below its parent: it hashes a node's children, and then the nodes
// with one empty child above it.
type climb struct {
	dest *poseidon.Digest // receives the digest at depth top; until then holds that at depth next+1, unless node is set
	path *poseidon.Digest // path of any leaf below: determines the nonempty child of each node in the chain
	node *inner           // node whose children are hashed first, at depth next; nil if there is none
	next uint8            // depth of the node that is hashed next
	top  uint8            // depth of the last node, ≤ next
}

// pair returns the children that climb c hashes next.
func (c *climb) pair() [2]poseidon.Digest {
	if c.node != nil {
		return c.node.digest
	}
	return pairWithEmpty(*c.dest, c.path, int(c.next))
}

// run executes the climbs level by level, the deepest first. Thus a climb finds the digests of its node's children in
// place, and each level is hashed in bulk.
func run(climbs []climb, parallel Parallel) {
	order, level := byDepth(climbs)
	active := make([]*climb, 0, len(order))
	for depth := pathBits - 1; depth >= 0; depth-- {
		active = append(active, order[level[depth]:level[depth+1]]...)
		if len(active) == 0 {
			continue
		}
		inPieces(len(active), nodesPerPiece, parallel, func(low, high int) {
			step(active[low:high])
		})
		rest := active[:0]
		for _, c := range active {
			if int(c.top) < depth {
				c.next--
				rest = append(rest, c)
			}
		}
		active = rest
	}
}

// step hashes one node of each climb.
func step(climbs []*climb) {
	var (
		pairs   [64][2]poseidon.Digest
		digests [64]poseidon.Digest
	)
	for len(climbs) > 0 {
		batch := climbs[:min(len(climbs), len(pairs))]
		for i, c := range batch {
			pairs[i] = c.pair()
		}
		poseidon.Nodes(digests[:len(batch)], pairs[:len(batch)])
		for i, c := range batch {
			*c.dest, c.node = digests[i], nil
		}
		climbs = climbs[len(batch):]
	}
}

// byDepth sorts climbs by their initial depth: those with depth d are order[level[d]:level[d+1]].
func byDepth(climbs []climb) (order []*climb, level [pathBits + 1]int) {
	for i := range climbs {
		level[climbs[i].next+1]++
	}
	for d := range pathBits {
		level[d+1] += level[d]
	}
	order = make([]*climb, len(climbs))
	free := level
	for i := range climbs {
		d := climbs[i].next
		order[free[d]] = &climbs[i]
		free[d]++
	}
	return order, level
}

// inOrder is a sequential [Parallel].
func inOrder(n int, f func(i int)) {
	for i := range n {
		f(i)
	}
}
