package chain

import (
	"encoding/binary"
	"fmt"

	"github.com/cairn-chain/cairn/internal/storage/kv"
	"github.com/cairn-chain/cairn/types"
)

// The state has policies by their hashes only. Blocks reveal the policies themselves, and the store keeps each by its
// hash. It stays when its block is pruned, because accounts may still name it. A stateless store keeps none.

// revealed is a policy with the first stored block that revealed it. In a store that was restored from a copy of the
// state, it is the latest block that may have revealed it.
type revealed struct {
	since  types.Height
	policy []byte
}

func (r revealed) encode() []byte { return append(encodeHeight(r.since), r.policy...) }

// decodeRevealed decodes the output of encode, and the policy.
func decodeRevealed(row []byte) (since types.Height, p types.Policy, err error) {
	if len(row) < 8 {
		return 0, p, fmt.Errorf("%w: a policy's row of %d bytes", ErrCorrupt, len(row))
	}
	if p, err = types.DecodePolicy(row[8:]); err != nil {
		return 0, p, fmt.Errorf("%w: a policy: %w", ErrCorrupt, err)
	}
	return types.Height(binary.BigEndian.Uint64(row)), p, nil
}

// policies returns the policies that the block's transactions reveal, encoded, by their hashes: those that they set, and
// those by which they are signed or paid for.
func (b indexed) policies() map[types.Account][]byte {
	var found map[types.Account][]byte
	add := func(p *types.Policy) {
		if found == nil {
			found = make(map[types.Account][]byte)
		}
		found[p.Hash()] = p.Encode()
	}
	for _, tx := range b.txs {
		signed := tx.Signed()
		for _, w := range []types.Witness{signed.Witness, signed.PayerWitness} {
			if by, is := w.(types.WitnessPolicy); is {
				add(&by.Policy)
			}
		}
		if set, is := signed.Payload.(types.SetPolicy); is && set.Policy != nil {
			add(set.Policy)
		}
	}
	return found
}

// putPolicies writes the policies of a block that the store does not have.
func (v *view) putPolicies(b *kv.Batch, index indexed) error {
	if v.stateless {
		return nil
	}
	for hash, policy := range index.policies() {
		key := tablePolicies.key(hash[:])
		known, err := has(v.snapshot, key)
		if err != nil {
			return err
		}
		if !known {
			b.Set(key, revealed{index.height, policy}.encode())
		}
	}
	return nil
}

// undoPolicies deletes the policies that a block revealed first.
func (v *view) undoPolicies(b *kv.Batch, index indexed) error {
	if v.stateless {
		return nil
	}
	for hash := range index.policies() {
		key := tablePolicies.key(hash[:])
		row, err := v.snapshot.Get(key)
		if err != nil {
			return fmt.Errorf("policy %s: %w", hash, missing(err))
		}
		since, _, err := decodeRevealed(row)
		if err != nil {
			return err
		}
		if since == index.height {
			b.Delete(key)
		}
	}
	return nil
}

// Policy returns the policy with this hash if a block has revealed it, and otherwise [ErrNotFound].
func (s *Store) Policy(hash types.Account) (types.Policy, error) {
	return read(s, func(v *view) (types.Policy, error) {
		row, err := v.snapshot.Get(tablePolicies.key(hash[:]))
		if err != nil {
			return types.Policy{}, fmt.Errorf("policy %s: %w", hash, notFound(err))
		}
		_, p, err := decodeRevealed(row)
		return p, err
	})
}

// Policies calls f for each policy that a block has revealed, ascending by hash, until f returns an error, which
// Policies returns.
func (st *State) Policies(f func(types.Policy) error) error {
	if err := st.atHead(); err != nil {
		return err
	}
	lower, upper := tablePolicies.bounds()
	return kv.Scan(st.view.snapshot, lower, upper, func(_, row []byte) error {
		_, p, err := decodeRevealed(row)
		if err != nil {
			return err
		}
		return f(p)
	})
}

// PutPolicy adds a policy. since is a block up to the restored one, the latest that may have revealed it.
func (r *Restore) PutPolicy(p types.Policy, since types.Height) error {
	hash := p.Hash()
	return r.put(tablePolicies.key(hash[:]), revealed{since, p.Encode()}.encode())
}

// revelation is the first use of a policy in a block.
type revelation struct {
	policy types.Account // its hash
	block  types.Height
}

// firstStored reports whether the block that revealed a policy first is among the stored blocks from a height on.
func (c *checker) firstStored(since types.Height) bool {
	return since > c.report.Oldest || c.report.Oldest == 0
}

// policiesThemselves checks the policies against their hashes.
func (c *checker) policiesThemselves() error {
	where := allTables[tablePolicies]
	lower, upper := tablePolicies.bounds()
	return kv.Scan(c.view.snapshot, lower, upper, func(key, row []byte) error {
		since, p, err := decodeRevealed(row)
		if err != nil {
			return c.note(where, err)
		}
		hash := p.Hash()
		if string(key[1:]) != string(hash[:]) {
			c.add(where, "the row under %x has the policy %s", key[1:], hash)
		}
		if c.firstStored(since) {
			c.policies.add(revelation{hash, since})
		}
		return c.ctx.Err()
	})
}

// revealed checks that the policies of a stored block are there.
func (c *checker) revealed(index indexed) error {
	for hash := range index.policies() {
		row, err := c.view.snapshot.Get(tablePolicies.key(hash[:]))
		if err != nil {
			return fmt.Errorf("policy %s: %w", hash, missing(err))
		}
		since, _, err := decodeRevealed(row)
		switch {
		case err != nil:
			return err
		case since > index.height:
			c.add(inBlock(index.height), "it reveals the policy %s, which is recorded for block %d", hash, since)
		case since == index.height && c.firstStored(since):
			c.policies.remove(revelation{hash, since})
		}
	}
	return nil
}

// allRevealed checks that each policy names the block that revealed it first.
func (c *checker) allRevealed() error {
	if c.policies.difference != 0 {
		c.add(allTables[tablePolicies], "they do not match the policies that the blocks revealed")
	}
	return nil
}
