#include "textflag.h"

// Registers of all tiles: R8, R9 are the rows 0 and 3 (or 0 and 2) of A, R10 its stride in bytes, BX the weights, DI the
// output and SI its stride in bytes. Columns 0-7 and 8-15 are two registers.

// One input of one row: C += a·B for 16 columns.
#define MAC32(addr, lo, hi) \
	VBROADCASTSS addr, Y14; \
	VFMADD231PS  Y12, Y14, lo; \
	VFMADD231PS  Y13, Y14, hi

#define PUT32(lo, hi) \
	VADDPS  Y12, lo, lo; \
	VADDPS  Y13, hi, hi; \
	VMOVUPS lo, (DI); \
	VMOVUPS hi, 32(DI); \
	ADDQ    SI, DI

#define ZERO12 \
	VPXOR Y0, Y0, Y0; \
	VPXOR Y1, Y1, Y1; \
	VPXOR Y2, Y2, Y2; \
	VPXOR Y3, Y3, Y3; \
	VPXOR Y4, Y4, Y4; \
	VPXOR Y5, Y5, Y5; \
	VPXOR Y6, Y6, Y6; \
	VPXOR Y7, Y7, Y7; \
	VPXOR Y8, Y8, Y8; \
	VPXOR Y9, Y9, Y9; \
	VPXOR Y10, Y10, Y10; \
	VPXOR Y11, Y11, Y11

// func tile32AVX2(c *float32, cStride int, a *float32, aStride int, b *float32, bStride, k int, bias *float32)
TEXT ·tile32AVX2(SB), NOSPLIT, $0-64
	MOVQ c+0(FP), DI
	MOVQ cStride+8(FP), SI
	SHLQ $2, SI
	MOVQ a+16(FP), R8
	MOVQ aStride+24(FP), R10
	SHLQ $2, R10
	LEAQ (R8)(R10*2), R9
	ADDQ R10, R9
	MOVQ b+32(FP), BX
	MOVQ bStride+40(FP), DX
	SHLQ $2, DX
	MOVQ k+48(FP), CX
	MOVQ bias+56(FP), R11
	ZERO12

loop:
	VMOVUPS (BX), Y12
	VMOVUPS 32(BX), Y13
	ADDQ DX, BX
	MAC32((R8), Y0, Y1)
	MAC32((R8)(R10*1), Y2, Y3)
	MAC32((R8)(R10*2), Y4, Y5)
	MAC32((R9), Y6, Y7)
	MAC32((R9)(R10*1), Y8, Y9)
	MAC32((R9)(R10*2), Y10, Y11)
	ADDQ $4, R8
	ADDQ $4, R9
	DECQ CX
	JNZ loop

	VMOVUPS (R11), Y12
	VMOVUPS 32(R11), Y13
	PUT32(Y0, Y1)
	PUT32(Y2, Y3)
	PUT32(Y4, Y5)
	PUT32(Y6, Y7)
	PUT32(Y8, Y9)
	PUT32(Y10, Y11)
	VZEROUPPER
	RET

// One pair of inputs of one row: C += a0·B0 + a1·B1 for 16 columns.
#define MAC16(addr, lo, hi) \
	VPBROADCASTD addr, Y14; \
	VPMADDWD     Y12, Y14, Y15; \
	VPMADDWD     Y13, Y14, Y14; \
	VPADDD       Y15, lo, lo; \
	VPADDD       Y14, hi, hi

#define PAIR16(n) \
	VMOVDQU (64*n)(BX), Y12; \
	VMOVDQU (64*n+32)(BX), Y13; \
	MAC16((4*n)(R8), Y0, Y1); \
	MAC16((4*n)(R8)(R10*1), Y2, Y3); \
	MAC16((4*n)(R8)(R10*2), Y4, Y5); \
	MAC16((4*n)(R9), Y6, Y7); \
	MAC16((4*n)(R9)(R10*1), Y8, Y9); \
	MAC16((4*n)(R9)(R10*2), Y10, Y11)

// Sums to floats: ·sa·sw + bias, rounded after each step as the generic twin does. R11 is sa, R12 sw, R13 bias.
#define PUT16(n, lo, hi) \
	VBROADCASTSS (4*n)(R11), Y14; \
	VCVTDQ2PS    lo, lo; \
	VMULPS       Y14, lo, lo; \
	VMULPS       Y12, lo, lo; \
	VADDPS       (R13), lo, lo; \
	VMOVUPS      lo, (DI); \
	VCVTDQ2PS    hi, hi; \
	VMULPS       Y14, hi, hi; \
	VMULPS       Y13, hi, hi; \
	VADDPS       32(R13), hi, hi; \
	VMOVUPS      hi, 32(DI); \
	ADDQ         SI, DI

// func tile16AVX2(c *float32, cStride int, a *int16, aStride int, w *int16, pairs int, sa, sw, bias *float32, tiles int)
TEXT ·tile16AVX2(SB), NOSPLIT, $0-80

tile:
	MOVQ c+0(FP), DI
	MOVQ cStride+8(FP), SI
	SHLQ $2, SI
	MOVQ a+16(FP), R8
	MOVQ aStride+24(FP), R10
	SHLQ $1, R10
	LEAQ (R8)(R10*2), R9
	ADDQ R10, R9
	MOVQ w+32(FP), BX
	MOVQ pairs+40(FP), CX
	MOVQ sa+48(FP), R11
	MOVQ sw+56(FP), R12
	MOVQ bias+64(FP), R13
	ZERO12

loop:
	PAIR16(0)
	PAIR16(1)
	PAIR16(2)
	PAIR16(3)
	ADDQ $256, BX
	ADDQ $16, R8
	ADDQ $16, R9
	SUBQ $4, CX
	JNZ loop

	VMOVUPS (R12), Y12
	VMOVUPS 32(R12), Y13
	PUT16(0, Y0, Y1)
	PUT16(1, Y2, Y3)
	PUT16(2, Y4, Y5)
	PUT16(3, Y6, Y7)
	PUT16(4, Y8, Y9)
	PUT16(5, Y10, Y11)
	MOVQ DI, c+0(FP)
	MOVQ a+16(FP), R8
	LEAQ (R8)(R10*4), R8
	LEAQ (R8)(R10*2), R8
	MOVQ R8, a+16(FP)
	ADDQ $24, R11
	MOVQ R11, sa+48(FP)
	DECQ tiles+72(FP)
	JNZ tile
	VZEROUPPER
	RET

// Four inputs of one row, in 16-bit sums: two for each of 16 columns.
#define MAC4(addr, lo, hi) \
	VPBROADCASTD addr, Y10; \
	VPMADDUBSW   Y8, Y10, Y11; \
	VPMADDUBSW   Y9, Y10, Y10; \
	VPADDW       Y11, lo, lo; \
	VPADDW       Y10, hi, hi

#define FOUR4(n) \
	VMOVDQU (64*n)(BX), Y8; \
	VMOVDQU (64*n+32)(BX), Y9; \
	MAC4((4*n)(R8), Y0, Y1); \
	MAC4((4*n)(R8)(R10*1), Y2, Y3); \
	MAC4((4*n)(R9), Y4, Y5); \
	MAC4((4*n)(R9)(R10*1), Y6, Y7)

// A block's sums of one row, scaled, into the output.
#define PUT4(scale, out0, out1, lo, hi) \
	VPMADDWD     Y12, lo, lo; \
	VPMADDWD     Y12, hi, hi; \
	VBROADCASTSS scale, Y15; \
	VCVTDQ2PS    lo, lo; \
	VCVTDQ2PS    hi, hi; \
	VMULPS       Y13, lo, lo; \
	VMULPS       Y14, hi, hi; \
	VFMADD213PS  out0, Y15, lo; \
	VFMADD213PS  out1, Y15, hi; \
	VMOVUPS      lo, out0; \
	VMOVUPS      hi, out1

// func tile4AVX2(c *float32, cStride int, a *uint8, aStride int, sa *float32, w *int8, start *int16, sw *float32, blocks int, bias *float32, tiles int)
TEXT ·tile4AVX2(SB), NOSPLIT, $0-88
	VPCMPEQW Y12, Y12, Y12
	VPSRLW $15, Y12, Y12

tile:
	MOVQ c+0(FP), DI
	MOVQ cStride+8(FP), SI
	SHLQ $2, SI
	LEAQ (DI)(SI*2), DX
	MOVQ a+16(FP), R8
	MOVQ aStride+24(FP), R10
	LEAQ (R8)(R10*2), R9
	MOVQ sa+32(FP), R11
	MOVQ w+40(FP), BX
	MOVQ start+48(FP), R12
	MOVQ sw+56(FP), R13
	MOVQ blocks+64(FP), CX
	MOVQ bias+72(FP), AX

	// Scales of row 1 lie AX bytes behind those of row 0, of row 2 at R15.
	VMOVUPS (AX), Y0
	VMOVUPS 32(AX), Y1
	VMOVUPS Y0, (DI)
	VMOVUPS Y1, 32(DI)
	VMOVUPS Y0, (DI)(SI*1)
	VMOVUPS Y1, 32(DI)(SI*1)
	VMOVUPS Y0, (DX)
	VMOVUPS Y1, 32(DX)
	VMOVUPS Y0, (DX)(SI*1)
	VMOVUPS Y1, 32(DX)(SI*1)
	LEAQ (CX*4), AX
	LEAQ (R11)(AX*2), R15

loop:
	VMOVDQU (R12), Y0
	VMOVDQU 32(R12), Y1
	VMOVDQA Y0, Y2
	VMOVDQA Y1, Y3
	VMOVDQA Y0, Y4
	VMOVDQA Y1, Y5
	VMOVDQA Y0, Y6
	VMOVDQA Y1, Y7
	FOUR4(0)
	FOUR4(1)
	FOUR4(2)
	FOUR4(3)
	FOUR4(4)
	FOUR4(5)
	FOUR4(6)
	FOUR4(7)
	VMOVUPS (R13), Y13
	VMOVUPS 32(R13), Y14
	PUT4((R11), (DI), 32(DI), Y0, Y1)
	PUT4((R11)(AX*1), (DI)(SI*1), 32(DI)(SI*1), Y2, Y3)
	PUT4((R15), (DX), 32(DX), Y4, Y5)
	PUT4((R15)(AX*1), (DX)(SI*1), 32(DX)(SI*1), Y6, Y7)
	ADDQ $512, BX
	ADDQ $32, R8
	ADDQ $32, R9
	ADDQ $4, R11
	ADDQ $4, R15
	ADDQ $64, R12
	ADDQ $64, R13
	DECQ CX
	JNZ loop
	MOVQ c+0(FP), DI
	LEAQ (DI)(SI*4), DI
	MOVQ DI, c+0(FP)
	MOVQ a+16(FP), R8
	LEAQ (R8)(R10*4), R8
	MOVQ R8, a+16(FP)
	MOVQ sa+32(FP), R11
	LEAQ (R11)(AX*4), R11
	MOVQ R11, sa+32(FP)
	DECQ tiles+80(FP)
	JNZ tile
	VZEROUPPER
	RET
