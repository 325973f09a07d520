package poseidon

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"testing"
)

func TestConstants(t *testing.T) {
	var all []byte
	for _, round := range RoundConstants {
		for _, c := range round {
			all = binary.LittleEndian.AppendUint32(all, c)
		}
	}
	sum := sha256.Sum256(all)
	if got, want := hex.EncodeToString(sum[:]),
		"74ed29164a30d2f1f9554b614c43ba7c339b9db5f5cdd3bda9cece52509bceb7"; got != want {
		t.Errorf("SHA-256 of the constants is %s, want %s", got, want)
	}
	if want := [width]uint32{1, 1, 51, 1, 11, 17, 2, 1, 101, 63, 15, 2, 67, 22, 13, 3}; MatrixRow != want {
		t.Errorf("first row of M is %v, want %v", MatrixRow, want)
	}
}
