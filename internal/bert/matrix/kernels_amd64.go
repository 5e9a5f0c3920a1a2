package matrix

import "golang.org/x/sys/cpu"

func best() Engine {
	if cpu.X86.HasAVX2 && cpu.X86.HasFMA {
		return AVX2
	}
	return Generic
}

// The tile kernels compute 16 columns of rows16 or rows4 rows; strides count values.

// tile32AVX2 is tile32 for rows16 rows.
//
//go:noescape
func tile32AVX2(c *float32, cStride int, a *float32, aStride int, b *float32, bStride, k int, bias *float32)

// tile16AVX2 is tile16 for tiles times rows16 rows, at least once. Pairs is a multiple of 4.
//
//go:noescape
func tile16AVX2(c *float32, cStride int, a *int16, aStride int, w *int16, pairs int, sa, sw, bias *float32, tiles int)

// tile4AVX2 is tile4 for tiles times rows4 rows, at least once.
//
//go:noescape
func tile4AVX2(c *float32, cStride int, a *uint8, aStride int, sa *float32, w *int8, start *int16, sw *float32, blocks int, bias *float32, tiles int)

// quantise16AVX2 rounds x·f; n is a multiple of 16.
//
//go:noescape
func quantise16AVX2(dst *int16, x *float32, n int, f float32)

// quantise8AVX2 is quantise8 for at least one block.
//
//go:noescape
func quantise8AVX2(dst *uint8, scale, x *float32, blocks int)

// packColumnsAVX2 writes column j of eight rows, stride apart, to dst[16j:], for j < d, a positive multiple of 4.
//
//go:noescape
func packColumnsAVX2(dst, rows *float32, stride, d int)

// The kernels below take n values, a positive multiple of 8.

//go:noescape
func maxAbsAVX2(x *float32, n int) float32

//go:noescape
func maxAVX2(x *float32, n int) float32

// expAVX2 replaces x by exp(x·scale + offset) and returns the sum.
//
//go:noescape
func expAVX2(x *float32, n int, scale, offset float32) float32

//go:noescape
func scaleAVX2(x *float32, n int, f float32)

//go:noescape
func geluAVX2(x *float32, n int)

// addAVX2 adds y to x and returns the sum of x.
//
//go:noescape
func addAVX2(x, y *float32, n int) float32

// squaresAVX2 is the sum of (x - mean)².
//
//go:noescape
func squaresAVX2(x *float32, n int, mean float32) float32

// normAVX2 replaces x by (x - mean)·f·gamma + beta.
//
//go:noescape
func normAVX2(x, gamma, beta *float32, n int, mean, f float32)
