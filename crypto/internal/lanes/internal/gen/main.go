// Command gen writes the AVX-512 kernels of package lanes; go generate runs it in that package's directory.
//
// A field element in memory is five limbs of 52 bits, each a vector of eight lanes (64 bytes). All kernels operate from
// memory to memory with the same few registers. The processor renames these, so that independent multiplications
// overlap.
package main

import (
	"fmt"
	"os"
)

func main() {
	if err := os.WriteFile("kernels_amd64.s", file(), 0o644); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
