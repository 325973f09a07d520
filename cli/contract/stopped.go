package contract

import (
	"context"
	"crypto/sha256"
	"fmt"
	"strings"

	"github.com/cairn-chain/cairn/cli/tracing"
	"github.com/cairn-chain/cairn/kit/contractbuild"
	"github.com/cairn-chain/cairn/kit/contracttest"
	"github.com/cairn-chain/cairn/types"
)

// stopped compiles a contract again with debug information, and returns its own source lines at which its call failed,
// innermost function first. It returns none for a module without source, or if only calls of other contracts failed.
func (g givenModule) stopped(
	ctx context.Context, o contractbuild.Options, stops []contracttest.Stop,
) (list []tracing.StoppedAt, err error) {
	var places []contracttest.Place
	for _, s := range stops {
		if s.Code == types.CodeHash(sha256.Sum256(g.module)) {
			places = s.Places
			break
		}
	}
	if g.source == nil || len(places) == 0 {
		return nil, nil
	}
	lines, err := contractbuild.Map(ctx, *g.source, o, g.module)
	if err != nil {
		return nil, err
	}
	return tracing.LinesAt(*g.source, lines, places), nil
}

// stoppedText lists the lines at which a call stopped.
func stoppedText(list []tracing.StoppedAt) string {
	var b strings.Builder
	for _, s := range list {
		fmt.Fprintf(&b, "\n  %s", s)
	}
	return b.String()
}
