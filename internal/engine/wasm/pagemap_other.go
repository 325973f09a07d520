//go:build !(linux && (amd64 || arm64))

package wasm

import "errors"

// pagemap is not available on this system.
type pagemap struct{}

func openPagemap() (*pagemap, error) {
	return nil, errors.New("page maps need Linux on amd64 or arm64")
}

func (p *pagemap) close() {}

func (p *pagemap) each([]byte, int, func(page int)) bool { return false }
