//go:build darwin || freebsd || netbsd || openbsd || dragonfly

package wasm

// noReserve is 0: address space does not count as memory here.
const noReserve = 0

func adviseSmallPages([]byte) error { return nil }

func populate([]byte) {}
