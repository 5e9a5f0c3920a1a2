//go:build !amd64

package matrix

// No engine of this machine calls these.

const noAVX2 = "matrix: these kernels need amd64"

func tile32AVX2(c *float32, cStride int, a *float32, aStride int, b *float32, bStride, k int, bias *float32) {
	panic(noAVX2)
}

func tile16AVX2(c *float32, cStride int, a *int16, aStride int, w *int16, pairs int, sa, sw, bias *float32, tiles int) {
	panic(noAVX2)
}

func tile4AVX2(c *float32, cStride int, a *uint8, aStride int, sa *float32, w *int8, start *int16, sw *float32, blocks int, bias *float32, tiles int) {
	panic(noAVX2)
}

func quantise16AVX2(dst *int16, x *float32, n int, f float32)  { panic(noAVX2) }
func quantise8AVX2(dst *uint8, scale, x *float32, blocks int)  { panic(noAVX2) }
func packColumnsAVX2(dst, rows *float32, stride, d int)        { panic(noAVX2) }
func maxAbsAVX2(x *float32, n int) float32                     { panic(noAVX2) }
func maxAVX2(x *float32, n int) float32                        { panic(noAVX2) }
func expAVX2(x *float32, n int, scale, offset float32) float32 { panic(noAVX2) }
func scaleAVX2(x *float32, n int, f float32)                   { panic(noAVX2) }
func geluAVX2(x *float32, n int)                               { panic(noAVX2) }
func addAVX2(x, y *float32, n int) float32                     { panic(noAVX2) }
func squaresAVX2(x *float32, n int, mean float32) float32      { panic(noAVX2) }
func normAVX2(x, gamma, beta *float32, n int, mean, f float32) { panic(noAVX2) }
