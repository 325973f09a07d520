package hunt

import "slices"

// shapes lists all shapes.
var shapes = slices.Concat([]*shape{random, host, graph}, merges, lines, spread)
