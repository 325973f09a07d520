package types_test

import (
	"crypto/sha256"
	"encoding/hex"
	"testing"

	"github.com/cairn-chain/cairn/types"
)

// The leaves and roots of Certificate Transparency's reference tests (google/certificate-transparency,
// merkle_tree_test.cc), which RFC 6962's authors wrote.
var (
	rfc6962Leaves = []string{
		"", "00", "10", "2021", "3031", "40414243", "5051525354555657", "606162636465666768696a6b6c6d6e6f",
	}
	rfc6962Roots = []string{
		"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
		"6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
		"fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
		"aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
		"d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
		"4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
		"76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
		"ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
		"5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
	}
)

func TestMerkleRootVectors(t *testing.T) {
	var leaves [][]byte
	for _, leaf := range rfc6962Leaves {
		b, err := hex.DecodeString(leaf)
		if err != nil {
			t.Fatal(err)
		}
		leaves = append(leaves, b)
	}
	for n, want := range rfc6962Roots {
		if got := types.NewMerkleRoot(leaves[:n]); got.String() != "0x"+want {
			t.Errorf("%d leaves: got %v, want %s", n, got, want)
		}
	}
}

// subtreeRoot is the other common way to an RFC 6962 root: level by level, a node without a sibling moves up as it is.
func subtreeRoot(leaves [][]byte) [32]byte {
	if len(leaves) == 0 {
		return sha256.Sum256(nil)
	}
	var level [][32]byte
	for _, leaf := range leaves {
		level = append(level, sha256.Sum256(append([]byte{0}, leaf...)))
	}
	for len(level) > 1 {
		var next [][32]byte
		for i := 0; i+1 < len(level); i += 2 {
			next = append(next, sha256.Sum256(append(append([]byte{1}, level[i][:]...), level[i+1][:]...)))
		}
		if len(level)%2 == 1 {
			next = append(next, level[len(level)-1])
		}
		level = next
	}
	return level[0]
}

func TestMerkleRootSizes(t *testing.T) {
	var leaves [][]byte
	for n := range 130 {
		if got := types.NewMerkleRoot(leaves); got != subtreeRoot(leaves) {
			t.Errorf("%d leaves: got %v", n, got)
		}
		leaves = append(leaves, []byte{byte(n), 7})
	}
}

// What a block's two roots are over: transaction hashes, encoded receipts.
func TestBlockRoots(t *testing.T) {
	ids := []types.TxID{count[types.TxID](1), count[types.TxID](2), count[types.TxID](3)}
	if got := types.TransactionsRoot(ids); got != subtreeRoot([][]byte{ids[0][:], ids[1][:], ids[2][:]}) {
		t.Errorf("transactions root %v", got)
	}
	full, failed := sampleReceipt(), types.Receipt{Transaction: ids[1]}
	if got := types.ReceiptsRoot([]types.Receipt{
		full, failed,
	}); got != subtreeRoot([][]byte{full.Encode(), failed.Encode()}) {
		t.Errorf("receipts root %v", got)
	}
	if types.TransactionsRoot(nil) != sha256.Sum256(nil) || types.ReceiptsRoot(nil) != sha256.Sum256(nil) {
		t.Error("the root of no leaves is not SHA256(\"\")")
	}
}
