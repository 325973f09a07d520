package chain

import (
	"errors"
	"testing"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/types"
)

func TestEventsAboutAnAccount(t *testing.T) {
	alice, bob := types.Account{1}, types.Account{2}
	end := errors.New("the end")
	all := func(yield func(api.Event, error) bool) {
		for i, topics := range [][]api.Data{{alice[:]}, {{}, alice[:]}, {{}, bob[:]}, {{}, bob[:], alice[:]}, {{}}} {
			if !yield(api.Event{LogIndex: uint32(i), Topics: topics}, nil) {
				return
			}
		}
		yield(api.Event{}, end)
	}
	var got []uint32
	var last error
	for event, err := range eventsAbout(all, alice) {
		if last = err; err == nil {
			got = append(got, event.LogIndex)
		}
	}
	if len(got) != 2 || got[0] != 1 || got[1] != 3 || last != end {
		t.Errorf("got events %d and %v, want 1 and 3, then the end", got, last)
	}
}
