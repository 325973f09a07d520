package chain

import (
	"encoding/binary"
	"fmt"

	"github.com/cairn-chain/cairn/internal/protocol/state"
	"github.com/cairn-chain/cairn/types"
)

// deploys calls put for the rows that list the contracts made by a block with these accesses, ascending. These rows are
// kept when the block is pruned.
func deploys(h types.Height, accesses []types.Access, put func(key, value []byte) error) error {
	n := uint32(0)
	for i := range accesses {
		a := &accesses[i]
		if !isContract(a.Key) || len(a.Old) > 0 || len(a.New) == 0 {
			continue
		}
		if err := put(tableDeploys.at(h, n), a.Key[1:]); err != nil {
			return err
		}
		n++
	}
	return nil
}

// isContract reports whether a state key is that of a contract's record.
func isContract(key []byte) bool {
	return len(key) == 33 && state.Domain(key[0]) == state.DomainContract
}

// Deployment is a contract with its position: the block that made it, and its number among the contracts that the block
// made, ascending by ID. Code can make contracts too, so a transaction may make several.
type Deployment struct {
	Position
	Contract types.ContractID
}

// Contracts returns at most limit contracts of the state in order of deployment, starting after a position. The zero
// position is before all.
func (st *State) Contracts(after Position, limit int) ([]Deployment, error) {
	if st.view.stateless {
		return nil, ErrNoState
	}
	if limit <= 0 {
		return nil, nil
	}
	it, err := st.view.snapshot.NewIter(
		append(tableDeploys.at(after.Height, after.Index), 0), tableDeploys.atHeight(st.height+1),
	)
	if err != nil {
		return nil, err
	}
	var found []Deployment
	for ok := it.First(); ok && len(found) < limit && err == nil; ok = it.Next() {
		var d Deployment
		if d, err = decodeDeployment(it.Key(), it.Value()); err == nil {
			found = append(found, d)
		}
	}
	if closeErr := it.Close(); closeErr != nil { // the values read may differ from the stored ones
		err = closeErr
	}
	return found, err
}

func decodeDeployment(key, row []byte) (d Deployment, err error) {
	if len(key) != 1+positionBytes || len(row) != len(d.Contract) {
		return d, fmt.Errorf("%w: a deployment under %x of %d bytes", ErrCorrupt, key, len(row))
	}
	d.Height, d.Index = types.Height(binary.BigEndian.Uint64(key[1:])), binary.BigEndian.Uint32(key[9:])
	copy(d.Contract[:], row)
	return d, nil
}
