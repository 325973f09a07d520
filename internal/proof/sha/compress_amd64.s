//go:build !purego

#include "textflag.h"

// SHA-256 (FIPS 180-4, section 6.2.2) of 16 messages, one in each 32-bit lane: Z0–Z7 are the working variables a–h,
// Z8–Z23 the last 16 words of the schedule, Z24–Z27 temporaries, Z31 the mask that turns the bytes of words around.

DATA constants<>+0(SB)/8, $0x71374491428a2f98
DATA constants<>+8(SB)/8, $0xe9b5dba5b5c0fbcf
DATA constants<>+16(SB)/8, $0x59f111f13956c25b
DATA constants<>+24(SB)/8, $0xab1c5ed5923f82a4
DATA constants<>+32(SB)/8, $0x12835b01d807aa98
DATA constants<>+40(SB)/8, $0x550c7dc3243185be
DATA constants<>+48(SB)/8, $0x80deb1fe72be5d74
DATA constants<>+56(SB)/8, $0xc19bf1749bdc06a7
DATA constants<>+64(SB)/8, $0xefbe4786e49b69c1
DATA constants<>+72(SB)/8, $0x240ca1cc0fc19dc6
DATA constants<>+80(SB)/8, $0x4a7484aa2de92c6f
DATA constants<>+88(SB)/8, $0x76f988da5cb0a9dc
DATA constants<>+96(SB)/8, $0xa831c66d983e5152
DATA constants<>+104(SB)/8, $0xbf597fc7b00327c8
DATA constants<>+112(SB)/8, $0xd5a79147c6e00bf3
DATA constants<>+120(SB)/8, $0x1429296706ca6351
DATA constants<>+128(SB)/8, $0x2e1b213827b70a85
DATA constants<>+136(SB)/8, $0x53380d134d2c6dfc
DATA constants<>+144(SB)/8, $0x766a0abb650a7354
DATA constants<>+152(SB)/8, $0x92722c8581c2c92e
DATA constants<>+160(SB)/8, $0xa81a664ba2bfe8a1
DATA constants<>+168(SB)/8, $0xc76c51a3c24b8b70
DATA constants<>+176(SB)/8, $0xd6990624d192e819
DATA constants<>+184(SB)/8, $0x106aa070f40e3585
DATA constants<>+192(SB)/8, $0x1e376c0819a4c116
DATA constants<>+200(SB)/8, $0x34b0bcb52748774c
DATA constants<>+208(SB)/8, $0x4ed8aa4a391c0cb3
DATA constants<>+216(SB)/8, $0x682e6ff35b9cca4f
DATA constants<>+224(SB)/8, $0x78a5636f748f82ee
DATA constants<>+232(SB)/8, $0x8cc7020884c87814
DATA constants<>+240(SB)/8, $0xa4506ceb90befffa
DATA constants<>+248(SB)/8, $0xc67178f2bef9a3f7
GLOBL constants<>(SB), RODATA|NOPTR, $256

DATA byteOrder<>+0(SB)/8, $0x0405060700010203
DATA byteOrder<>+8(SB)/8, $0x0c0d0e0f08090a0b
GLOBL byteOrder<>(SB), RODATA|NOPTR, $16

// ROUND is one round with the word w and the constant at offset k from AX: h becomes the new a, d the new e.
#define ROUND(a, b, c, d, e, f, g, h, w, k) \
	VPADDD     w, h, h              \
	VPADDD.BCST k(AX), h, h         \
	VPRORD     $6, e, Z24           \
	VPRORD     $11, e, Z25          \
	VPRORD     $25, e, Z26          \
	VPTERNLOGD $0x96, Z26, Z25, Z24 \
	VMOVDQA32  e, Z27               \
	VPTERNLOGD $0xca, g, f, Z27     \
	VPADDD     Z24, h, h            \
	VPADDD     Z27, h, h            \
	VPADDD     h, d, d              \
	VPRORD     $2, a, Z24           \
	VPRORD     $13, a, Z25          \
	VPRORD     $22, a, Z26          \
	VPTERNLOGD $0x96, Z26, Z25, Z24 \
	VMOVDQA32  a, Z27               \
	VPTERNLOGD $0xe8, c, b, Z27     \
	VPADDD     Z24, h, h            \
	VPADDD     Z27, h, h

// SCHEDULE replaces the word w, 16 rounds old, by the next: w1 is the one after it, w9 that 9 after, w14 that 14 after.
#define SCHEDULE(w, w1, w9, w14) \
	VPRORD     $7, w1, Z24          \
	VPRORD     $18, w1, Z25         \
	VPSRLD     $3, w1, Z26          \
	VPTERNLOGD $0x96, Z26, Z25, Z24 \
	VPADDD     w9, w, w             \
	VPADDD     Z24, w, w            \
	VPRORD     $17, w14, Z24        \
	VPRORD     $19, w14, Z25        \
	VPSRLD     $10, w14, Z26        \
	VPTERNLOGD $0x96, Z26, Z25, Z24 \
	VPADDD     Z24, w, w

// LASTROUNDS are the rounds from the ninth on with the words of the block, FIRSTROUNDS all 16.
#define LASTROUNDS \
	ROUND(Z7, Z0, Z1, Z2, Z3, Z4, Z5, Z6, Z17, 36) \
	ROUND(Z6, Z7, Z0, Z1, Z2, Z3, Z4, Z5, Z18, 40) \
	ROUND(Z5, Z6, Z7, Z0, Z1, Z2, Z3, Z4, Z19, 44) \
	ROUND(Z4, Z5, Z6, Z7, Z0, Z1, Z2, Z3, Z20, 48) \
	ROUND(Z3, Z4, Z5, Z6, Z7, Z0, Z1, Z2, Z21, 52) \
	ROUND(Z2, Z3, Z4, Z5, Z6, Z7, Z0, Z1, Z22, 56) \
	ROUND(Z1, Z2, Z3, Z4, Z5, Z6, Z7, Z0, Z23, 60)

#define FIRSTROUNDS \
	ROUND(Z0, Z1, Z2, Z3, Z4, Z5, Z6, Z7, Z8, 0) \
	ROUND(Z7, Z0, Z1, Z2, Z3, Z4, Z5, Z6, Z9, 4) \
	ROUND(Z6, Z7, Z0, Z1, Z2, Z3, Z4, Z5, Z10, 8) \
	ROUND(Z5, Z6, Z7, Z0, Z1, Z2, Z3, Z4, Z11, 12) \
	ROUND(Z4, Z5, Z6, Z7, Z0, Z1, Z2, Z3, Z12, 16) \
	ROUND(Z3, Z4, Z5, Z6, Z7, Z0, Z1, Z2, Z13, 20) \
	ROUND(Z2, Z3, Z4, Z5, Z6, Z7, Z0, Z1, Z14, 24) \
	ROUND(Z1, Z2, Z3, Z4, Z5, Z6, Z7, Z0, Z15, 28) \
	ROUND(Z0, Z1, Z2, Z3, Z4, Z5, Z6, Z7, Z16, 32) \
	LASTROUNDS

// NEXTROUNDS are 16 rounds with words of the schedule.
#define NEXTROUNDS \
	SCHEDULE(Z8, Z9, Z17, Z22) \
	ROUND(Z0, Z1, Z2, Z3, Z4, Z5, Z6, Z7, Z8, 0) \
	SCHEDULE(Z9, Z10, Z18, Z23) \
	ROUND(Z7, Z0, Z1, Z2, Z3, Z4, Z5, Z6, Z9, 4) \
	SCHEDULE(Z10, Z11, Z19, Z8) \
	ROUND(Z6, Z7, Z0, Z1, Z2, Z3, Z4, Z5, Z10, 8) \
	SCHEDULE(Z11, Z12, Z20, Z9) \
	ROUND(Z5, Z6, Z7, Z0, Z1, Z2, Z3, Z4, Z11, 12) \
	SCHEDULE(Z12, Z13, Z21, Z10) \
	ROUND(Z4, Z5, Z6, Z7, Z0, Z1, Z2, Z3, Z12, 16) \
	SCHEDULE(Z13, Z14, Z22, Z11) \
	ROUND(Z3, Z4, Z5, Z6, Z7, Z0, Z1, Z2, Z13, 20) \
	SCHEDULE(Z14, Z15, Z23, Z12) \
	ROUND(Z2, Z3, Z4, Z5, Z6, Z7, Z0, Z1, Z14, 24) \
	SCHEDULE(Z15, Z16, Z8, Z13) \
	ROUND(Z1, Z2, Z3, Z4, Z5, Z6, Z7, Z0, Z15, 28) \
	SCHEDULE(Z16, Z17, Z9, Z14) \
	ROUND(Z0, Z1, Z2, Z3, Z4, Z5, Z6, Z7, Z16, 32) \
	SCHEDULE(Z17, Z18, Z10, Z15) \
	ROUND(Z7, Z0, Z1, Z2, Z3, Z4, Z5, Z6, Z17, 36) \
	SCHEDULE(Z18, Z19, Z11, Z16) \
	ROUND(Z6, Z7, Z0, Z1, Z2, Z3, Z4, Z5, Z18, 40) \
	SCHEDULE(Z19, Z20, Z12, Z17) \
	ROUND(Z5, Z6, Z7, Z0, Z1, Z2, Z3, Z4, Z19, 44) \
	SCHEDULE(Z20, Z21, Z13, Z18) \
	ROUND(Z4, Z5, Z6, Z7, Z0, Z1, Z2, Z3, Z20, 48) \
	SCHEDULE(Z21, Z22, Z14, Z19) \
	ROUND(Z3, Z4, Z5, Z6, Z7, Z0, Z1, Z2, Z21, 52) \
	SCHEDULE(Z22, Z23, Z15, Z20) \
	ROUND(Z2, Z3, Z4, Z5, Z6, Z7, Z0, Z1, Z22, 56) \
	SCHEDULE(Z23, Z8, Z16, Z21) \
	ROUND(Z1, Z2, Z3, Z4, Z5, Z6, Z7, Z0, Z23, 60)

// ADDSTATE adds the state before the block, and stores it.
#define ADDSTATE(offset, a) \
	VPADDD    offset(DI), a, a \
	VMOVDQU32 a, offset(DI)

#define LOADSTATE \
	VMOVDQU32 0(DI), Z0   \
	VMOVDQU32 64(DI), Z1  \
	VMOVDQU32 128(DI), Z2 \
	VMOVDQU32 192(DI), Z3 \
	VMOVDQU32 256(DI), Z4 \
	VMOVDQU32 320(DI), Z5 \
	VMOVDQU32 384(DI), Z6 \
	VMOVDQU32 448(DI), Z7

#define STORESTATE \
	ADDSTATE(0, Z0)   \
	ADDSTATE(64, Z1)  \
	ADDSTATE(128, Z2) \
	ADDSTATE(192, Z3) \
	ADDSTATE(256, Z4) \
	ADDSTATE(320, Z5) \
	ADDSTATE(384, Z6) \
	ADDSTATE(448, Z7)

// LOAD reads the next word of the messages.
#define LOAD(w) \
	VMOVDQU32 (SI), w   \
	VPSHUFB   Z31, w, w \
	ADDQ      R8, SI

// func compress(state *[8][16]uint32, words *uint32, stride, blocks uintptr)
TEXT ·compress(SB), NOSPLIT, $0-32
	MOVQ state+0(FP), DI
	MOVQ words+8(FP), SI
	MOVQ stride+16(FP), R8
	MOVQ blocks+24(FP), CX
	VBROADCASTI32X4 byteOrder<>(SB), Z31
	LOADSTATE

block:
	LEAQ constants<>(SB), AX
	LOAD(Z8)
	LOAD(Z9)
	LOAD(Z10)
	LOAD(Z11)
	LOAD(Z12)
	LOAD(Z13)
	LOAD(Z14)
	LOAD(Z15)
	LOAD(Z16)
	LOAD(Z17)
	LOAD(Z18)
	LOAD(Z19)
	LOAD(Z20)
	LOAD(Z21)
	LOAD(Z22)
	LOAD(Z23)
	FIRSTROUNDS
	MOVQ $3, DX

rounds:
	ADDQ $64, AX
	NEXTROUNDS
	DECQ DX
	JNZ  rounds
	STORESTATE
	DECQ CX
	JNZ  block
	VZEROUPPER
	RET

DATA count<>+0(SB)/8, $0x0000000100000000
DATA count<>+8(SB)/8, $0x0000000300000002
DATA count<>+16(SB)/8, $0x0000000500000004
DATA count<>+24(SB)/8, $0x0000000700000006
DATA count<>+32(SB)/8, $0x0000000900000008
DATA count<>+40(SB)/8, $0x0000000b0000000a
DATA count<>+48(SB)/8, $0x0000000d0000000c
DATA count<>+56(SB)/8, $0x0000000f0000000e
GLOBL count<>(SB), RODATA|NOPTR, $64

// func search(b *searchBlock, mask uint32) uint32
TEXT ·search(SB), NOSPLIT, $0-20
	MOVQ b+0(FP), SI
	LEAQ constants<>(SB), AX
	VBROADCASTI32X4 byteOrder<>(SB), Z31

	// The working variables are where the first nine rounds leave them.
	VPBROADCASTD 0(SI), Z7
	VPBROADCASTD 4(SI), Z0
	VPBROADCASTD 8(SI), Z1
	VPBROADCASTD 12(SI), Z2
	VPBROADCASTD 16(SI), Z3
	VPBROADCASTD 20(SI), Z4
	VPBROADCASTD 24(SI), Z5
	VPBROADCASTD 28(SI), Z6
	VPBROADCASTD 32(SI), Z8
	VPBROADCASTD 36(SI), Z9
	VPBROADCASTD 40(SI), Z10
	VPBROADCASTD 44(SI), Z11
	VPBROADCASTD 48(SI), Z12
	VPBROADCASTD 52(SI), Z13
	VPBROADCASTD 56(SI), Z14
	VPBROADCASTD 60(SI), Z15
	VPBROADCASTD 64(SI), Z16
	VPBROADCASTD 68(SI), Z17
	VPADDD       count<>(SB), Z17, Z17
	VPSHUFB      Z31, Z17, Z17
	VPBROADCASTD 72(SI), Z18
	VPBROADCASTD 76(SI), Z19
	VPBROADCASTD 80(SI), Z20
	VPBROADCASTD 84(SI), Z21
	VPBROADCASTD 88(SI), Z22
	VPBROADCASTD 92(SI), Z23
	LASTROUNDS
	MOVQ $3, DX

rounds:
	ADDQ $64, AX
	NEXTROUNDS
	DECQ DX
	JNZ  rounds

	MOVL         $0x6a09e667, BX // the first word of the initial state
	VPBROADCASTD BX, Z1
	VPADDD       Z1, Z0, Z0
	MOVL         mask+8(FP), BX
	VPBROADCASTD BX, Z1
	VPTESTNMD    Z1, Z0, K1
	KMOVW        K1, BX
	MOVL         BX, ret+16(FP)
	VZEROUPPER
	RET

// COLUMN reads the next word of the messages where it stands as an element of F_p in Montgomery form a, for a/2^32: with
// q = a/p mod 2^32 that is (a − q·p)/2^32, of which the low words cancel out, so it is the high word of q·p taken from 0,
// or from p if it is not 0. Z28 is 1/p mod 2^32, Z29 p and Z30 0. The processor is told what comes next: it does not see
// as many streams as there are columns.
#define COLUMN(w) \
	MOVQ       (SI), R8               \
	PREFETCHT1 256(R8)(BX*1)          \
	VMOVSHDUP  (R8)(BX*1), Z25        \
	VPMULUDQ   (R8)(BX*1), Z28, Z24   \
	VPMULUDQ   Z25, Z28, Z25          \
	VPMULUDQ   Z24, Z29, Z24          \
	VPMULUDQ   Z25, Z29, Z25          \
	VMOVSHDUP  Z24, K1, Z25           \
	VPSUBD     Z25, Z30, w            \
	VPADDD     Z29, w, Z24            \
	VPMINUD    Z24, w, w              \
	VPSHUFB    Z31, w, w              \
	ADDQ       $24, SI

// func compressColumns(state *[8][16]uint32, tag uint32, columns *field.Vector, first, blocks uintptr)
TEXT ·compressColumns(SB), NOSPLIT, $0-40
	MOVQ state+0(FP), DI
	MOVQ columns+16(FP), SI
	MOVQ first+24(FP), BX
	MOVQ blocks+32(FP), CX
	SHLQ $2, BX
	VBROADCASTI32X4 byteOrder<>(SB), Z31
	MOVL         $0x81000001, AX
	VPBROADCASTD AX, Z28
	MOVL         $0x7f000001, AX
	VPBROADCASTD AX, Z29
	VPXORD       Z30, Z30, Z30
	MOVL         $0x5555, AX
	KMOVW        AX, K1
	LOADSTATE
	MOVL         tag+8(FP), AX
	VPBROADCASTD AX, Z8
	VPSHUFB      Z31, Z8, Z8
	JMP          columns

block:
	COLUMN(Z8)

columns:
	LEAQ constants<>(SB), AX
	COLUMN(Z9)
	COLUMN(Z10)
	COLUMN(Z11)
	COLUMN(Z12)
	COLUMN(Z13)
	COLUMN(Z14)
	COLUMN(Z15)
	COLUMN(Z16)
	COLUMN(Z17)
	COLUMN(Z18)
	COLUMN(Z19)
	COLUMN(Z20)
	COLUMN(Z21)
	COLUMN(Z22)
	COLUMN(Z23)
	FIRSTROUNDS
	MOVQ $3, DX

rounds:
	ADDQ $64, AX
	NEXTROUNDS
	DECQ DX
	JNZ  rounds
	STORESTATE
	DECQ CX
	JNZ  block
	VZEROUPPER
	RET

// TRANSPOSE takes words 0–3 of 16 messages, one in each lane, to four registers in which each 128-bit lane holds the four
// words of one message: those of messages 0, 4, 8 and 12 in m0, those of messages 1, 5, 9 and 13 in m1 and so on. It
// does the reverse too.
#define TRANSPOSE(w0, w1, w2, w3, m0, m1, m2, m3) \
	VPUNPCKLDQ  w1, w0, Z24   \
	VPUNPCKHDQ  w1, w0, Z25   \
	VPUNPCKLDQ  w3, w2, Z26   \
	VPUNPCKHDQ  w3, w2, Z27   \
	VPUNPCKLQDQ Z26, Z24, m0  \
	VPUNPCKHQDQ Z26, Z24, m1  \
	VPUNPCKLQDQ Z27, Z25, m2  \
	VPUNPCKHQDQ Z27, Z25, m3

// WORD reads a word of the states, most significant byte first.
#define WORD(offset, w) \
	VMOVDQU32 offset(SI), w \
	VPSHUFB   Z31, w, w

// HALVES stores the 16-byte halves at an offset in four messages' hashes, those of m, whose first lane is x.
#define HALVES(x, m, offset) \
	VMOVDQU32     x, offset(DI)         \
	VEXTRACTI32X4 $1, m, 128+offset(DI) \
	VEXTRACTI32X4 $2, m, 256+offset(DI) \
	VEXTRACTI32X4 $3, m, 384+offset(DI)

// AHEAD asks for the four cache lines at an offset of what is stored next: otherwise each hash waits for its own.
#define AHEAD(offset) \
	PREFETCHT0 offset(DI)     \
	PREFETCHT0 64+offset(DI)  \
	PREFETCHT0 128+offset(DI) \
	PREFETCHT0 192+offset(DI)

// func storeLanes(dst *[32]byte, state *[8][16]uint32)
TEXT ·storeLanes(SB), NOSPLIT, $0-16
	MOVQ dst+0(FP), DI
	MOVQ state+8(FP), SI
	VBROADCASTI32X4 byteOrder<>(SB), Z31
	WORD(0, Z0)
	WORD(64, Z1)
	WORD(128, Z2)
	WORD(192, Z3)
	WORD(256, Z4)
	WORD(320, Z5)
	WORD(384, Z6)
	WORD(448, Z7)
	TRANSPOSE(Z0, Z1, Z2, Z3, Z8, Z9, Z10, Z11)
	TRANSPOSE(Z4, Z5, Z6, Z7, Z12, Z13, Z14, Z15)
	AHEAD(512)
	AHEAD(768)
	HALVES(X8, Z8, 0)
	HALVES(X12, Z12, 16)
	HALVES(X9, Z9, 32)
	HALVES(X13, Z13, 48)
	HALVES(X10, Z10, 64)
	HALVES(X14, Z14, 80)
	HALVES(X11, Z11, 96)
	HALVES(X15, Z15, 112)
	VZEROUPPER
	RET

// PAIRS reads the 16 bytes at an offset in pairs k, k + 4, k + 8 and k + 12 into m, whose first lane is x.
#define PAIRS(offset, x, m) \
	VMOVDQU32    offset(SI), x                  \
	VINSERTI32X4 $1, 256+offset(SI), m, m \
	VINSERTI32X4 $2, 512+offset(SI), m, m \
	VINSERTI32X4 $3, 768+offset(SI), m, m

// FOURWORDS reads the four words at an offset in all pairs and stores them word by word.
#define FOURWORDS(from, to) \
	PAIRS(from, X0, Z0)     \
	PAIRS(64+from, X1, Z1)  \
	PAIRS(128+from, X2, Z2) \
	PAIRS(192+from, X3, Z3) \
	TRANSPOSE(Z0, Z1, Z2, Z3, Z4, Z5, Z6, Z7) \
	VMOVDQU32 Z4, to(DI)     \
	VMOVDQU32 Z5, 64+to(DI)  \
	VMOVDQU32 Z6, 128+to(DI) \
	VMOVDQU32 Z7, 192+to(DI)

// func loadPairs(words *[16][16]uint32, digests *[32]byte)
TEXT ·loadPairs(SB), NOSPLIT, $0-16
	MOVQ words+0(FP), DI
	MOVQ digests+8(FP), SI
	FOURWORDS(0, 0)
	FOURWORDS(16, 256)
	FOURWORDS(32, 512)
	FOURWORDS(48, 768)
	VZEROUPPER
	RET
