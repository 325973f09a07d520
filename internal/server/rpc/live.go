package rpc

import (
	"errors"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/types"
)

// parseAccount parses an account parameter: an address of this network or a public key in hex.
func parseAccount(network types.Network, text string) (types.Account, error) {
	account, err := network.ParseAccount(text)
	switch {
	case err == nil:
		return account, nil
	case errors.Is(err, types.ErrWrongNetwork):
		return account, withData(api.ErrWrongNetwork, "param", "account", "expectedPrefix", network.Prefix())
	default:
		return account, withData(api.ErrBadAccount, "param", "account", "expectedPrefix", network.Prefix())
	}
}

// liveness checks whether the node has halted.
type liveness struct {
	chain headers
	node  Node
}

// live refuses to serve the latest state if the node has halted, because the chain has moved on without it. A block
// that is named by its height was verified, and so was the state after it.
func (l *liveness) live(block api.BlockRef) error {
	following := l.node.Following()
	if following == nil || block != api.Latest() {
		return nil
	}
	if cause := following.Halted(); cause != "" {
		return withData(api.ErrHalted, "cause", cause, "height", l.chain.Head().Header.Height)
	}
	return nil
}
