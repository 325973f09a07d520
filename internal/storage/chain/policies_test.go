package chain

import (
	"errors"
	"reflect"

	"github.com/cairn-chain/cairn/types"
)

// requirePolicies compares the policies with those that the chain's blocks, pruned or not, revealed.
func requirePolicies(t tester, s *Store, c *toyChain) {
	t.Helper()
	shown := make(map[types.Account]bool)
	show := func(w types.Witness) {
		if by, is := w.(types.WitnessPolicy); is {
			shown[by.Policy.Hash()] = true
		}
	}
	for _, b := range c.blocks {
		for _, tx := range b.block().Transactions {
			show(tx.Witness)
			show(tx.PayerWitness)
			if set, is := tx.Payload.(types.SetPolicy); is && set.Policy != nil {
				shown[set.Policy.Hash()] = true
			}
		}
	}
	for i := range toyPolicies {
		want := toyPolicy(i)
		got, err := s.Policy(want.Hash())
		if shown[want.Hash()] != (err == nil) || err == nil && !reflect.DeepEqual(got, want) {
			t.Fatalf("policy %d: got %+v, %v, want it: %t", i, got, err, shown[want.Hash()])
		}
		if err != nil && !errors.Is(err, ErrNotFound) {
			t.Fatalf("policy %d: got %v, want ErrNotFound", i, err)
		}
	}
}
