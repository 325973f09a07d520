package operator

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/cairn-chain/cairn/types"
)

// Debug messages of contracts are limited per block, whatever bytes they contain.
func TestDebugLinesAreBounded(t *testing.T) {
	var to bytes.Buffer
	l := &devLines{to: &to}
	for range 2 {
		to.Reset()
		for range 100_000 {
			l.debug(types.TxID{}, types.ContractID{}, make([]byte, 100))
		}
		l.debug(types.TxID{}, types.ContractID{}, make([]byte, 1<<20))
		if got := to.Len(); got > mostDebugBytes || got < mostDebugBytes/2 {
			t.Errorf("%d bytes in a block, want at most %d, and some", got, mostDebugBytes)
		}
		shown := strings.Count(to.String(), "\n")
		to.Reset()
		l.block(types.SignedHeader{}, 0)
		first, _, _ := strings.Cut(to.String(), "\n")
		var leftOut int
		if _, err := fmt.Sscanf(first, "debug: %d more lines", &leftOut); err != nil || shown+leftOut != 100_001 {
			t.Errorf("%q after %d lines (%v), want how many of 100,001 are missing", first, shown, err)
		}
	}
	to.Reset()
	l.block(types.SignedHeader{}, 0)
	if got := to.String(); strings.Contains(got, "debug") {
		t.Errorf("a block in which no contract spoke: %q", got)
	}
}
