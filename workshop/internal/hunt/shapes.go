package hunt

import "slices"

// shapes are all there are.
var shapes = slices.Concat([]*shape{random, host, graph}, merges, lines, spread)
