//go:build darwin || freebsd || netbsd || openbsd || dragonfly

package wasm

// noReserve is nothing here: address space does not count as memory.
const noReserve = 0

func adviseSmallPages([]byte) error { return nil }
