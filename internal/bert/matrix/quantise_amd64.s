#include "textflag.h"

DATA quant<>+0(SB)/4, $0x7fffffff
DATA quant<>+4(SB)/4, $127.0
DATA quant<>+8(SB)/4, $0x3c010204 // 1/127
DATA quant<>+12(SB)/4, $1e-30
DATA quant<>+16(SB)/4, $0x80808080
GLOBL quant<>(SB), RODATA, $20

// The order that undoes how packing interleaves the halves of registers.
DATA order<>+0(SB)/8, $0x0000000400000000
DATA order<>+8(SB)/8, $0x0000000500000001
DATA order<>+16(SB)/8, $0x0000000600000002
DATA order<>+24(SB)/8, $0x0000000700000003
GLOBL order<>(SB), RODATA, $32

// Y0 to one float in X0; uses X1.
#define ACROSS(OP) \
	VEXTRACTF128 $1, Y0, X1; \
	OP           X1, X0, X0; \
	VPERMILPS    $0x4e, X0, X1; \
	OP           X1, X0, X0; \
	VPERMILPS    $0xb1, X0, X1; \
	OP           X1, X0, X0

// func quantise16AVX2(dst *int16, x *float32, n int, f float32)
TEXT ·quantise16AVX2(SB), NOSPLIT, $0-28
	MOVQ dst+0(FP), DI
	MOVQ x+8(FP), SI
	MOVQ n+16(FP), CX
	VBROADCASTSS f+24(FP), Y2

loop:
	VMULPS (SI), Y2, Y0
	VMULPS 32(SI), Y2, Y1
	VCVTPS2DQ Y0, Y0
	VCVTPS2DQ Y1, Y1
	VPACKSSDW Y1, Y0, Y0
	VPERMQ $0xd8, Y0, Y0
	VMOVDQU Y0, (DI)
	ADDQ $64, SI
	ADDQ $32, DI
	SUBQ $16, CX
	JNZ loop
	VZEROUPPER
	RET

// func quantise8AVX2(dst *uint8, scale, x *float32, blocks int)
TEXT ·quantise8AVX2(SB), NOSPLIT, $0-32
	MOVQ dst+0(FP), DI
	MOVQ scale+8(FP), DX
	MOVQ x+16(FP), SI
	MOVQ blocks+24(FP), CX
	VBROADCASTSS quant<>+0(SB), Y15
	VBROADCASTSS quant<>+4(SB), Y14
	VMOVSS quant<>+8(SB), X13
	VMOVSS quant<>+12(SB), X12
	VPBROADCASTD quant<>+16(SB), Y11
	VMOVDQU order<>(SB), Y10

loop:
	VMOVUPS (SI), Y2
	VMOVUPS 32(SI), Y3
	VMOVUPS 64(SI), Y4
	VMOVUPS 96(SI), Y5
	VANDPS Y15, Y2, Y0
	VANDPS Y15, Y3, Y1
	VMAXPS Y1, Y0, Y0
	VANDPS Y15, Y4, Y1
	VMAXPS Y1, Y0, Y0
	VANDPS Y15, Y5, Y1
	VMAXPS Y1, Y0, Y0
	ACROSS(VMAXPS)
	VMULSS X13, X0, X1
	VMOVSS X1, (DX)
	// 127/top, or 0 if top < tiny
	VDIVSS X0, X14, X1
	VCMPSS $5, X12, X0, X0
	VANDPS X0, X1, X0
	VBROADCASTSS X0, Y0
	VMULPS Y0, Y2, Y2
	VMULPS Y0, Y3, Y3
	VMULPS Y0, Y4, Y4
	VMULPS Y0, Y5, Y5
	VCVTPS2DQ Y2, Y2
	VCVTPS2DQ Y3, Y3
	VCVTPS2DQ Y4, Y4
	VCVTPS2DQ Y5, Y5
	VPACKSSDW Y3, Y2, Y2
	VPACKSSDW Y5, Y4, Y4
	VPACKSSWB Y4, Y2, Y2
	VPERMD Y2, Y10, Y2
	VPXOR Y11, Y2, Y2
	VMOVDQU Y2, (DI)
	ADDQ $128, SI
	ADDQ $32, DI
	ADDQ $4, DX
	DECQ CX
	JNZ loop
	VZEROUPPER
	RET

// func packColumnsAVX2(dst, rows *float32, stride, d int)
TEXT ·packColumnsAVX2(SB), NOSPLIT, $0-32
	MOVQ dst+0(FP), DI
	MOVQ rows+8(FP), SI
	MOVQ stride+16(FP), AX
	SHLQ $2, AX
	MOVQ d+24(FP), CX
	LEAQ (AX)(AX*2), DX
	LEAQ (SI)(AX*4), R8

loop:
	// Four values of rows 0-3, and of rows 4-7 in the upper halves.
	VMOVUPS (SI), X0
	VMOVUPS (SI)(AX*1), X1
	VMOVUPS (SI)(AX*2), X2
	VMOVUPS (SI)(DX*1), X3
	VINSERTF128 $1, (R8), Y0, Y0
	VINSERTF128 $1, (R8)(AX*1), Y1, Y1
	VINSERTF128 $1, (R8)(AX*2), Y2, Y2
	VINSERTF128 $1, (R8)(DX*1), Y3, Y3
	VUNPCKLPS Y1, Y0, Y4
	VUNPCKHPS Y1, Y0, Y5
	VUNPCKLPS Y3, Y2, Y6
	VUNPCKHPS Y3, Y2, Y7
	VSHUFPS $0x44, Y6, Y4, Y0
	VSHUFPS $0xee, Y6, Y4, Y1
	VSHUFPS $0x44, Y7, Y5, Y2
	VSHUFPS $0xee, Y7, Y5, Y3
	VMOVUPS Y0, (DI)
	VMOVUPS Y1, 64(DI)
	VMOVUPS Y2, 128(DI)
	VMOVUPS Y3, 192(DI)
	ADDQ $256, DI
	ADDQ $16, SI
	ADDQ $16, R8
	SUBQ $4, CX
	JNZ loop
	VZEROUPPER
	RET
