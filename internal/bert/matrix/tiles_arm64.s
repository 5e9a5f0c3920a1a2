#include "textflag.h"

// The assembler lacks these: d += dot products of n with the four bytes of m at l+2h; int32 to float; d = n*m; d = n+m.
#define SDOT(d, n, m, l, h) WORD $(0x4F80E000 | l<<21 | m<<16 | h<<11 | n<<5 | d)
#define SCVTF(d, n)         WORD $(0x4E21D800 | n<<5 | d)
#define FMUL(d, n, m)       WORD $(0x6E20DC00 | m<<16 | n<<5 | d)
#define FADD(d, n, m)       WORD $(0x4E20D400 | m<<16 | n<<5 | d)

#define ROW32(a, x, c0, c1, c2, c3) \
	VLD1R.P 4(a), [x.S4]; \
	VFMLA   V24.S4, x.S4, c0.S4; \
	VFMLA   V25.S4, x.S4, c1.S4; \
	VFMLA   V26.S4, x.S4, c2.S4; \
	VFMLA   V27.S4, x.S4, c3.S4

#define CLEAR4(a, b, c, d) \
	VEOR a.B16, a.B16, a.B16; \
	VEOR b.B16, b.B16, b.B16; \
	VEOR c.B16, c.B16, c.B16; \
	VEOR d.B16, d.B16, d.B16

#define CLEAR16 \
	CLEAR4(V0, V1, V2, V3); \
	CLEAR4(V4, V5, V6, V7); \
	CLEAR4(V8, V9, V10, V11); \
	CLEAR4(V12, V13, V14, V15)

#define PUT32(n, c0, c1, c2, c3) \
	FADD(n, n, 24); \
	FADD((n+1), (n+1), 25); \
	FADD((n+2), (n+2), 26); \
	FADD((n+3), (n+3), 27); \
	VST1 [c0.S4, c1.S4, c2.S4, c3.S4], (R0); \
	ADD  R3, R0

// func tile32NEON(c *float32, cStride int, a *float32, aStride int, b *float32, bStride, k int, bias *float32)
TEXT ·tile32NEON(SB), NOSPLIT, $0-64
	MOVD c+0(FP), R0
	MOVD cStride+8(FP), R3
	LSL  $2, R3
	MOVD a+16(FP), R8
	MOVD aStride+24(FP), R4
	LSL  $2, R4
	ADD  R4, R8, R9
	ADD  R4, R9, R10
	ADD  R4, R10, R11
	ADD  R4, R11, R12
	ADD  R4, R12, R13
	MOVD b+32(FP), R1
	MOVD bStride+40(FP), R2
	LSL  $2, R2
	MOVD k+48(FP), R5
	MOVD bias+56(FP), R6
	CLEAR16
	CLEAR4(V16, V17, V18, V19)
	CLEAR4(V20, V21, V22, V23)

loop:
	VLD1 (R1), [V24.S4, V25.S4, V26.S4, V27.S4]
	ADD  R2, R1
	ROW32(R8, V28, V0, V1, V2, V3)
	ROW32(R9, V29, V4, V5, V6, V7)
	ROW32(R10, V30, V8, V9, V10, V11)
	ROW32(R11, V31, V12, V13, V14, V15)
	ROW32(R12, V28, V16, V17, V18, V19)
	ROW32(R13, V29, V20, V21, V22, V23)
	SUBS $1, R5
	BNE  loop

	VLD1 (R6), [V24.S4, V25.S4, V26.S4, V27.S4]
	PUT32(0, V0, V1, V2, V3)
	PUT32(4, V4, V5, V6, V7)
	PUT32(8, V8, V9, V10, V11)
	PUT32(12, V12, V13, V14, V15)
	PUT32(16, V16, V17, V18, V19)
	PUT32(20, V20, V21, V22, V23)
	RET

#define SDOT4(d, m, l, h) \
	SDOT(d, 16, m, l, h); \
	SDOT((d+1), 17, m, l, h); \
	SDOT((d+2), 18, m, l, h); \
	SDOT((d+3), 19, m, l, h)

// Four inputs of four rows.
#define FOUR(l, h) \
	VLD1.P 64(R1), [V16.B16, V17.B16, V18.B16, V19.B16]; \
	SDOT4(0, 20, l, h); \
	SDOT4(4, 21, l, h); \
	SDOT4(8, 22, l, h); \
	SDOT4(12, 23, l, h)

// Activations are stored with 128 added: as signed bytes they are what they were with the top bit turned.
#define ACTS(a, x) \
	VLD1.P 16(a), [x.B16]; \
	VEOR   V24.B16, x.B16, x.B16

#define HALF \
	ACTS(R8, V20); \
	ACTS(R9, V21); \
	ACTS(R10, V22); \
	ACTS(R11, V23); \
	FOUR(0, 0); \
	FOUR(1, 0); \
	FOUR(0, 1); \
	FOUR(1, 1)

#define SCALED(n) \
	SCVTF(n, n); \
	SCVTF((n+1), (n+1)); \
	SCVTF((n+2), (n+2)); \
	SCVTF((n+3), (n+3)); \
	FMUL(n, n, 16); \
	FMUL((n+1), (n+1), 17); \
	FMUL((n+2), (n+2), 18); \
	FMUL((n+3), (n+3), 19)

// A block's sums of one row, scaled, into the output.
#define PUT4(n, sa, c, c0, c1, c2, c3) \
	SCALED(n); \
	VLD1R.P 4(sa), [V20.S4]; \
	VLD1    (c), [V28.S4, V29.S4, V30.S4, V31.S4]; \
	VFMLA   V20.S4, c0.S4, V28.S4; \
	VFMLA   V20.S4, c1.S4, V29.S4; \
	VFMLA   V20.S4, c2.S4, V30.S4; \
	VFMLA   V20.S4, c3.S4, V31.S4; \
	VST1    [V28.S4, V29.S4, V30.S4, V31.S4], (c)

// func tile4NEON(c *float32, cStride int, a *uint8, aStride int, sa *float32, w *int8, sw *float32, blocks int, bias *float32)
TEXT ·tile4NEON(SB), NOSPLIT, $0-72
	MOVD c+0(FP), R12
	MOVD cStride+8(FP), R0
	LSL  $2, R0
	ADD  R0, R12, R13
	ADD  R0, R13, R14
	ADD  R0, R14, R15
	MOVD a+16(FP), R8
	MOVD aStride+24(FP), R0
	ADD  R0, R8, R9
	ADD  R0, R9, R10
	ADD  R0, R10, R11
	MOVD w+40(FP), R1
	MOVD sw+48(FP), R2
	MOVD blocks+56(FP), R3
	MOVD sa+32(FP), R4
	LSL  $2, R3, R0
	ADD  R0, R4, R5
	ADD  R0, R5, R6
	ADD  R0, R6, R7
	MOVD bias+64(FP), R0
	VLD1 (R0), [V28.S4, V29.S4, V30.S4, V31.S4]
	VST1 [V28.S4, V29.S4, V30.S4, V31.S4], (R12)
	VST1 [V28.S4, V29.S4, V30.S4, V31.S4], (R13)
	VST1 [V28.S4, V29.S4, V30.S4, V31.S4], (R14)
	VST1 [V28.S4, V29.S4, V30.S4, V31.S4], (R15)
	VMOVI $128, V24.B16

loop:
	CLEAR16
	HALF
	HALF
	VLD1.P 64(R2), [V16.S4, V17.S4, V18.S4, V19.S4]
	PUT4(0, R4, R12, V0, V1, V2, V3)
	PUT4(4, R5, R13, V4, V5, V6, V7)
	PUT4(8, R6, R14, V8, V9, V10, V11)
	PUT4(12, R7, R15, V12, V13, V14, V15)
	SUBS $1, R3
	BNE  loop
	RET
