package params

import "slices"

// Version is the protocol version that this code implements. It is the newest version of a chain that it makes.
const Version uint32 = 2

// versions lists the versions whose blocks this code can make and check. Each is one complete set of rules, prices and
// limits.
var versions = []uint32{Version}

// Known reports whether this code knows the rules of a protocol version. A node halts before the first block of a
// version that it does not know.
func Known(version uint32) bool { return slices.Contains(versions, version) }

// Versions returns the known versions, ascending.
func Versions() []uint32 { return slices.Clone(versions) }

// Learn makes the next version known, with the rules of the newest one, until forget is called. It serves tests of
// upgrades, and must be called while nothing else runs. No program calls it unless it is built for them; see next.go.
func Learn() (version uint32, forget func()) {
	before := versions
	version = before[len(before)-1] + 1
	versions = append(slices.Clone(before), version)
	return version, func() { versions = before }
}
