package show

import (
	"fmt"
	"testing"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/types"
)

// TestPaymentsByCodeAreReadable: the log of such a payment has accounts in its topics and an amount in its data.
func TestPaymentsByCodeAreReadable(t *testing.T) {
	from, to := types.Account{1}, types.Account{2}
	topics := []api.Data{make([]byte, 32), from[:], to[:]}
	want := fmt.Sprintf(`{"from":"%s","to":"%s","amount":300}`, from, to)
	data := []byte{0x2c, 1, 0, 0, 0, 0, 0, 0}
	if got := EventData(types.ContractID{}, types.NativeTransfer, topics, data); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	for _, contract := range []types.ContractID{{}, {7}} { // any contract may name its event so
		if got := EventData(contract, types.NativeTransfer, topics[:2], data); got != "0x2c01000000000000" {
			t.Errorf("%s, want 0x2c01000000000000", got)
		}
	}
}

func TestAmountsForPeople(t *testing.T) {
	for amount, want := range map[api.Quantity]string{0: "0 coins", 100_000_000: "1 coin", 150_000_000: "1.5 coins"} {
		if got := Coins(amount); got != want {
			t.Errorf("%d: %q, want %q", amount, got, want)
		}
	}
	if got := PerGas(types.Amount(1)) + ", " + PerGas(types.Amount(21)); got != "1 unit per gas, 21 units per gas" {
		t.Error(got)
	}
}
