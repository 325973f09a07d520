//go:build !purego

#include "textflag.h"

// Sixteen elements of F_p lie in a register. A product of two words takes 64 bits, so even and odd lanes are multiplied
// apart: Z0, Z2, … Z10 are the sums of even lanes for the six coordinates, Z1, Z3, … Z11 those of odd ones. A product is
// below 2^62 and a sum is kept below p·2^32 < 2^63, so that two products may be added before the sum is folded, that is
// p·2^32 taken from it if it is not below.

// MULADD adds w, a word in all lanes, times the even lanes Z12 to even, and times the odd lanes Z13 to odd.
#define MULADD(w, even, odd) \
	VPMULUDQ.BCST w, Z12, Z14 \
	VPMULUDQ.BCST w, Z13, Z15 \
	VPADDQ        Z14, even, even \
	VPADDQ        Z15, odd, odd

// COLUMN adds the products of the column whose slice header stands at BX, from row DX/4 on, with the weights at CX. There
// are more columns than the processor sees streams, so it is told what comes next.
#define COLUMN(header, weights) \
	MOVQ      header(BX), R8        \
	PREFETCHT0 128(R8)(DX*1)        \
	VMOVDQU32 (R8)(DX*1), Z12       \
	VPSRLQ    $32, Z12, Z13         \
	MULADD(0+weights(CX), Z0, Z1)   \
	MULADD(8+weights(CX), Z2, Z3)   \
	MULADD(16+weights(CX), Z4, Z5)  \
	MULADD(24+weights(CX), Z6, Z7)  \
	MULADD(32+weights(CX), Z8, Z9)  \
	MULADD(40+weights(CX), Z10, Z11)

// FOLD takes Z31 = p·2^32 from a sum that is not below.
#define FOLD(sum) \
	VPSUBQ  Z31, sum, Z14 \
	VPMINUQ Z14, sum, sum

#define FOLDALL \
	FOLD(Z0) FOLD(Z1)  \
	FOLD(Z2) FOLD(Z3)  \
	FOLD(Z4) FOLD(Z5)  \
	FOLD(Z6) FOLD(Z7)  \
	FOLD(Z8) FOLD(Z9)  \
	FOLD(Z10) FOLD(Z11)

// LOAD sets the sums of a coordinate, whose slice header stands at DI, to its elements times 2^32.
#define LOAD(header, even, odd) \
	MOVQ       header(DI), R8    \
	VMOVDQU32  (R8)(DX*1), Z12   \
	VPSLLQ     $32, Z12, even    \
	VPANDQ     Z28, Z12, odd

// STORE reduces the sums of a coordinate (Montgomery) and stores its elements.
#define STORE(header, even, odd) \
	MOVQ       header(DI), R8    \
	VPMULUDQ   Z29, even, Z12    \
	VPMULUDQ   Z29, odd, Z13     \
	VPMULUDQ   Z30, Z12, Z12     \
	VPMULUDQ   Z30, Z13, Z13     \
	VPADDQ     Z12, even, Z12    \
	VPADDQ     Z13, odd, Z13     \
	VPSRLQ     $32, Z12, Z12     \
	VPANDQ     Z28, Z13, Z13     \
	VPORQ      Z12, Z13, Z12     \
	VPSUBD     Z30, Z12, Z13     \
	VPMINUD    Z13, Z12, Z12     \
	VMOVDQU32  Z12, (R8)(DX*1)

// CONSTANTS sets Z28 to the mask of odd lanes, Z29 to −1/p mod 2^32, Z30 to p in all lanes and Z31 to p·2^32.
#define CONSTANTS \
	MOVL         $0x7f000001, AX \
	VPBROADCASTD AX, Z30         \
	VPSLLQ       $32, Z30, Z31   \
	MOVL         $0x7effffff, AX \
	VPBROADCASTD AX, Z29         \
	MOVQ         $-1, AX         \
	VPBROADCASTQ AX, Z28         \
	VPSLLQ       $32, Z28, Z28

// func combineLanes(dst *Planar, columns *Vector, weights *uint64, count, blocks uintptr)
TEXT ·combineLanes(SB), NOSPLIT, $0-40
	MOVQ dst+0(FP), DI
	MOVQ blocks+32(FP), SI
	XORQ DX, DX
	CONSTANTS

block:
	LOAD(0, Z0, Z1)
	LOAD(24, Z2, Z3)
	LOAD(48, Z4, Z5)
	LOAD(72, Z6, Z7)
	LOAD(96, Z8, Z9)
	LOAD(120, Z10, Z11)
	MOVQ columns+8(FP), BX
	MOVQ weights+16(FP), CX
	MOVQ count+24(FP), R9
	SUBQ $2, R9
	JLT  single

pair:
	COLUMN(0, 0)
	COLUMN(24, 48)
	FOLDALL
	ADDQ $48, BX
	ADDQ $96, CX
	SUBQ $2, R9
	JGE  pair

single:
	CMPQ R9, $-1
	JNE  store
	COLUMN(0, 0)
	FOLDALL

store:
	STORE(0, Z0, Z1)
	STORE(24, Z2, Z3)
	STORE(48, Z4, Z5)
	STORE(72, Z6, Z7)
	STORE(96, Z8, Z9)
	STORE(120, Z10, Z11)
	ADDQ $64, DX
	DECQ SI
	JNZ  block
	VZEROUPPER
	RET

// PRODUCT adds the products of the rows of Z12 and Z13 with the coordinate of weights whose slice header stands at DI.
#define PRODUCT(header, even, odd) \
	MOVQ       header(DI), R8        \
	VMOVDQU32  (R8)(DX*1), Z14       \
	VPSRLQ     $32, Z14, Z15         \
	VPMULUDQ   Z14, Z12, Z14         \
	VPMULUDQ   Z15, Z13, Z15         \
	VPADDQ     Z14, even, even       \
	VPADDQ     Z15, odd, odd

// PRODUCTS adds the products of the next rows with all coordinates.
#define PRODUCTS \
	VMOVDQU32 (BX)(DX*1), Z12 \
	VPSRLQ    $32, Z12, Z13   \
	PRODUCT(0, Z0, Z1)        \
	PRODUCT(24, Z2, Z3)       \
	PRODUCT(48, Z4, Z5)       \
	PRODUCT(72, Z6, Z7)       \
	PRODUCT(96, Z8, Z9)       \
	PRODUCT(120, Z10, Z11)

// func innerProductLanes(sums *[12][8]uint64, column *Element, weights *Planar, blocks uintptr)
TEXT ·innerProductLanes(SB), NOSPLIT, $0-32
	MOVQ   sums+0(FP), R10
	MOVQ   column+8(FP), BX
	MOVQ   weights+16(FP), DI
	MOVQ   blocks+24(FP), SI
	XORQ   DX, DX
	CONSTANTS
	VPXORQ Z0, Z0, Z0
	VPXORQ Z1, Z1, Z1
	VPXORQ Z2, Z2, Z2
	VPXORQ Z3, Z3, Z3
	VPXORQ Z4, Z4, Z4
	VPXORQ Z5, Z5, Z5
	VPXORQ Z6, Z6, Z6
	VPXORQ Z7, Z7, Z7
	VPXORQ Z8, Z8, Z8
	VPXORQ Z9, Z9, Z9
	VPXORQ Z10, Z10, Z10
	VPXORQ Z11, Z11, Z11

	SUBQ   $2, SI
	JLT    last

two:
	PRODUCTS
	ADDQ $64, DX
	PRODUCTS
	FOLDALL
	ADDQ $64, DX
	SUBQ $2, SI
	JGE  two

last:
	CMPQ SI, $-1
	JNE  sums
	PRODUCTS
	FOLDALL

sums:
	VMOVDQU64 Z0, 0(R10)
	VMOVDQU64 Z1, 64(R10)
	VMOVDQU64 Z2, 128(R10)
	VMOVDQU64 Z3, 192(R10)
	VMOVDQU64 Z4, 256(R10)
	VMOVDQU64 Z5, 320(R10)
	VMOVDQU64 Z6, 384(R10)
	VMOVDQU64 Z7, 448(R10)
	VMOVDQU64 Z8, 512(R10)
	VMOVDQU64 Z9, 576(R10)
	VMOVDQU64 Z10, 640(R10)
	VMOVDQU64 Z11, 704(R10)
	VZEROUPPER
	RET

// func addScalarLanes(dst, a *Element, x uint32, blocks uintptr)
TEXT ·addScalarLanes(SB), NOSPLIT, $0-32
	MOVQ         dst+0(FP), DI
	MOVQ         a+8(FP), BX
	MOVL         x+16(FP), AX
	VPBROADCASTD AX, Z0
	MOVQ         blocks+24(FP), SI
	MOVL         $0x7f000001, AX
	VPBROADCASTD AX, Z1
	XORQ         DX, DX

add:
	VPADDD    (BX)(DX*1), Z0, Z2
	VPSUBD    Z1, Z2, Z3
	VPMINUD   Z3, Z2, Z2
	VMOVDQU32 Z2, (DI)(DX*1)
	ADDQ      $64, DX
	DECQ      SI
	JNZ       add
	VZEROUPPER
	RET
