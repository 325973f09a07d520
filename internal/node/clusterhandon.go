package node

import (
	"context"

	"github.com/cairn-chain/cairn/internal/engine/replica"
)

// handOn hands what is pending on to the producer after this cluster, which the upstreams are or lead to. Once the
// chain names another key, no block of the cluster's will have it. Each member does so, as but one may be left.
func (m *member) handOn(ctx context.Context) error {
	if len(m.node.config.Follow.URLs) == 0 || m.node.config.Key == nil {
		return nil // who has no key cannot tell whose turn it is
	}
	sources, err := m.node.config.Follow.Sources()
	if err != nil {
		return err
	}
	holds := func() bool { return m.service.Status().Barred != "" }
	replica.HandOn(ctx, m.node.pool, sources, holds, m.node.config.Log)
	for _, s := range sources {
		s.Close()
	}
	return nil
}
