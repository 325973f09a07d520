package blockproof

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/cairn-chain/cairn/types"
)

// ErrWrites is returned by [CompareWrites] for different writes.
var ErrWrites = errors.New("blockproof: execution makes different writes than the proven ones")

// CompareWrites compares the writes among the accesses that execution gave with those among the proven ones; both
// ascend by key. It returns an error that wraps [ErrWrites] and names the first key that differs. If the proof holds,
// the producer then sealed a state root to which the block's transactions do not lead.
func CompareWrites(executed, proven []types.Access) error {
	executed, proven = fromWrite(executed), fromWrite(proven)
	for len(executed) > 0 && len(proven) > 0 {
		e, p := &executed[0], &proven[0]
		switch order := bytes.Compare(e.Key, p.Key); {
		case order < 0:
			return fmt.Errorf("%w: the proven writes lack the key %x", ErrWrites, e.Key)
		case order > 0:
			return fmt.Errorf("%w: execution does not write the key %x", ErrWrites, p.Key)
		case !bytes.Equal(e.Old, p.Old) || !bytes.Equal(e.New, p.New):
			return fmt.Errorf("%w: different values of the key %x", ErrWrites, e.Key)
		}
		executed, proven = fromWrite(executed[1:]), fromWrite(proven[1:])
	}
	if len(executed) > 0 {
		return fmt.Errorf("%w: the proven writes lack the key %x", ErrWrites, executed[0].Key)
	}
	if len(proven) > 0 {
		return fmt.Errorf("%w: execution does not write the key %x", ErrWrites, proven[0].Key)
	}
	return nil
}

// fromWrite returns accesses from its first write on.
func fromWrite(accesses []types.Access) []types.Access {
	for len(accesses) > 0 && !accesses[0].Changed() {
		accesses = accesses[1:]
	}
	return accesses
}
