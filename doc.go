// Package cairn is the root of the Cairn blockchain node: see README.md for what it is and ARCHITECTURE.md for the map.
package cairn
