package cluster

import (
	"reflect"
	"testing"

	"github.com/cairn-chain/cairn/types"
)

// A record keeps the removed members and the former clusters; a record by an earlier program has neither.
func TestPlaceIsEncoded(t *testing.T) {
	at := Place{
		Head:    Head{Height: 7, Hash: types.BlockHash{1}},
		Time:    9,
		Members: []Record{{ID: 3, Name: "a", Keyed: true}},
		Gone:    []Gone{{ID: 4, Name: "b", Height: 5}},
		Former:  []Former{{Cluster: [16]byte{6}, Height: 2}},
	}
	got, err := DecodePlace(at.Encode())
	if err != nil || !reflect.DeepEqual(got, at) {
		t.Errorf("got %+v, %v, want %+v", got, err, at)
	}
	at.Gone, at.Former = nil, nil
	encoded := at.Encode()
	if got, err = DecodePlace(encoded[:len(encoded)-16]); err != nil || !reflect.DeepEqual(got, at) {
		t.Errorf("of an earlier program: got %+v, %v, want %+v", got, err, at)
	}
}
