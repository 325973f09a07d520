package rpc

import (
	"context"

	"github.com/cairn-chain/cairn/api"
)

func (s *Server) discover(context.Context, api.NoParams) (api.Document, error) {
	return s.document, nil
}
