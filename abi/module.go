package abi

import "encoding/binary"

// wasmHeader is the beginning of every module (WebAssembly Core 1.0, 5.5.15).
const wasmHeader = "\x00asm\x01\x00\x00\x00"

// FromCode parses the ABI in a contract's code. It returns [ErrNoABI], also if code is not a module, or [ErrBad].
func FromCode(code []byte) (ABI, error) {
	text, ok := customSection(code, Section)
	if !ok {
		return ABI{}, ErrNoABI
	}
	return Parse(text)
}

// customSection returns the content of the first custom section with the given name (WebAssembly Core 1.0, 5.5.3).
func customSection(code []byte, name string) (content []byte, ok bool) {
	if len(code) < len(wasmHeader) || string(code[:len(wasmHeader)]) != wasmHeader {
		return nil, false
	}
	rest := code[len(wasmHeader):]
	for len(rest) > 0 {
		id := rest[0]
		var section []byte
		if section, rest, ok = sized(rest[1:]); !ok {
			return nil, false
		}
		if id != 0 {
			continue
		}
		if found, content, ok := sized(section); ok && string(found) == name {
			return content, true
		}
	}
	return nil, false
}

// sized splits off a length in LEB128 and that number of bytes.
func sized(b []byte) (content, rest []byte, ok bool) {
	length, n := binary.Uvarint(b)
	if n <= 0 || length > uint64(len(b)-n) {
		return nil, nil, false
	}
	end := n + int(length)
	return b[n:end], b[end:], true
}
