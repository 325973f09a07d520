package params_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/cairn-chain/cairn/internal/protocol/params"
	"github.com/cairn-chain/cairn/types"
)

// prices is the gas schedule of version 2 of the protocol in the order of its canonical text.
var prices = []struct {
	name string
	gas  uint64
}{
	{"IntrinsicTransfer", 5_000},
	{"IntrinsicCall", 11_000},
	{"IntrinsicCallByte", 16},
	{"IntrinsicDeploy", 61_000},
	{"IntrinsicDeployByte", 16},
	{"IntrinsicDeployCodeByte", 1_000},
	{"IntrinsicConfigure", 61_000},
	{"IntrinsicInstantiate", 11_000},
	{"InstantiateByte", 16},
	{"IntrinsicBatch", 11_000},
	{"BatchTransfer", 5_000},
	{"BatchCall", 2_000},
	{"BatchCallByte", 16},
	{"IntrinsicSetPolicy", 31_000},
	{"IntrinsicSetPolicyByte", 16},
	{"WitnessKey", 5_000},
	{"WitnessText", 11_000},
	{"WitnessP256", 60_000},
	{"WitnessPolicy", 2_000},
	{"WitnessPolicyByte", 16},
	{"Payer", 15_000},
	{"NewAccount", 100_000},
	{"NewContract", 130_000},
	{"Deploy", 800_000},
	{"DeployFunction", 45_000},
	{"DeployBodyByte", 2_000},
	{"DeployBranches", 10},
	{"DeployCallGlobal", 600},
	{"ContractCall", 11_000},
	{"NestedTimes", 2},
	{"ContractCallArgByte", 1},
	{"InstanceItem", 200},
	{"MemoryPage", 3_000},
	{"MemoryGrowPage", 12_000},
	{"Instruction", 1},
	{"Branch", 3},
	{"Loop", 5},
	{"Load", 13},
	{"Store", 14},
	{"Store8", 7},
	{"Unary", 2},
	{"DivRem32", 12},
	{"DivRem64", 20},
	{"Call", 12},
	{"CallIndirect", 65},
	{"BrTable", 15},
	{"Structure", 0},
	{"Merge", 2},
	{"MergeValue", 5},
	{"WeightFunction", 40},
	{"WeightNear", 36_864},
	{"WeightFar", 512},
	{"Far", 64},
	{"HostFunction", 130},
	{"CopyBytesPerGas", 4},
	{"StorageRead", 4_000},
	{"StorageReadKeyByte", 16},
	{"StorageReadValueByte", 16},
	{"StorageWrite", 12_000},
	{"StorageWriteKeyByte", 12},
	{"StorageWriteValueByte", 64},
	{"StorageNewKey", 100_000},
	{"StorageOldByte", 16},
	{"StorageLongValue", 25_000},
	{"StorageReserve", 291_240},
	{"NativeTransfer", 9_000},
	{"CallValue", 9_000},
	{"AccountLookup", 5_000},
	{"OutputByte", 12},
	{"Emit", 2_000},
	{"EmitByte", 16},
	{"SHA256", 500},
	{"SHA256Byte", 4},
	{"Keccak256", 1_100},
	{"Keccak256Byte", 6},
	{"Blake3", 400},
	{"Blake3Byte", 2},
	{"SchnorrVerify", 270_000},
	{"SchnorrVerifyByte", 6},
	{"ECDSARecover", 350_000},
	{"P256Verify", 300_000},
	{"AccountVerify", 5_000},
	{"AccountVerifyWitnessByte", 16},
	{"AccountVerifyMessageByte", 6},
	{"AccountVerifyKey", 270_000},
	{"AccountVerifyText", 280_000},
	{"AccountVerifyP256", 300_000},
	{"ReplaceCode", 20_000},
}

// Every field has the price in the document, and the text lists them all.
func TestPrices(t *testing.T) {
	var text strings.Builder
	schedule := reflect.ValueOf(params.Prices)
	if schedule.NumField() != len(prices) {
		t.Errorf("%d fields, want %d", schedule.NumField(), len(prices))
	}
	for _, price := range prices {
		fmt.Fprintf(&text, "%s %d\n", price.name, price.gas)
		field := schedule.FieldByName(price.name)
		if !field.IsValid() || field.Uint() != price.gas {
			t.Errorf("%s is %v, want %d", price.name, field, price.gas)
		}
	}
	if got := params.Prices.Text(); got != text.String() {
		t.Errorf("text is\n%swant\n%s", got, &text)
	}
	if got := params.Prices.Digest(); got != sha256.Sum256([]byte(text.String())) {
		t.Errorf("digest is %v, not that of the text", got)
	}
}

// The gas left before a look-up in storage pays for the longest value, whichever function looks it up.
func TestReservePaysForTheLongestValue(t *testing.T) {
	s, longest := params.Prices, types.Gas(types.MaxStorageValueBytes)
	read := s.StorageLongValue + s.StorageReadValueByte*longest + (longest+s.CopyBytesPerGas-1)/s.CopyBytesPerGas
	replaced := s.StorageLongValue + s.StorageOldByte*longest
	if most := max(read, replaced, s.StorageNewKey); s.StorageReserve != most {
		t.Errorf("the reserve is %d, and a look-up takes up to %d", s.StorageReserve, most)
	}
}

// pricesDigest is the digest in data directories. A change of a price or a name changes it, and a node refuses to
// continue a chain with another digest.
const pricesDigest = "2ae4dbd6d4bd3d2440e58a64a8f839439c76e6b9cdac0b1e9b7fa365b87e07d9"

func TestPricesDigest(t *testing.T) {
	digest := params.Prices.Digest()
	if got := hex.EncodeToString(digest[:]); got != pricesDigest {
		t.Errorf("got %s, want %s", got, pricesDigest)
	}
	changed := params.Prices
	changed.ECDSARecover++
	if changed.Digest() == digest {
		t.Error("another price has the same digest")
	}
}
