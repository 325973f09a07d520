package rpc

import (
	"context"

	"github.com/cairn-chain/cairn/api"
)

type documentHandlers struct {
	document api.Document // describes all methods, including this one
}

func (h *documentHandlers) methods(e *clientErrors) []method {
	return []method{
		bind(e, api.Discover, h.discover),
	}
}

func (h *documentHandlers) discover(context.Context, api.NoParams) (api.Document, error) {
	return h.document, nil
}
