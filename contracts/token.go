package contracts

import (
	"bytes"
	_ "embed" // for the token's module
)

//go:embed wasm/nep20.wasm
var token []byte

// Token is the compiled reference token, which follows NEP-20 (docs/protocol.md, "Conventions above consensus").
func Token() []byte { return bytes.Clone(token) }
