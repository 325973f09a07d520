//go:build !purego

#include "textflag.h"

// func prefetch(n *inner)
TEXT ·prefetch(SB), NOSPLIT, $0-8
	MOVQ n+0(FP), AX
	PREFETCHT0 (AX)
	PREFETCHT0 64(AX)
	PREFETCHT0 75(AX)
	RET
