package main

import (
	"bytes"
	"os"
	"testing"
)

// The kernels in the tree must equal the generator's output.
func TestGeneratedFileIsCurrent(t *testing.T) {
	have, err := os.ReadFile("../../kernels_amd64.s")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(have, file()) {
		t.Error("kernels_amd64.s is not what the generator writes: run go generate")
	}
}
