//go:build !amd64

package matrix

func best() Engine { return Generic }

// No engine of this machine calls these.

const missing = "matrix: these kernels need amd64"

func tile32AVX2(c *float32, cStride int, a *float32, aStride int, b *float32, bStride, k int, bias *float32) {
	panic(missing)
}

func tile16AVX2(c *float32, cStride int, a *int16, aStride int, w *int16, pairs int, sa, sw, bias *float32) {
	panic(missing)
}

func tile4AVX2(c *float32, cStride int, a *uint8, aStride int, sa *float32, w *int8, start *int16, sw *float32, blocks int, bias *float32) {
	panic(missing)
}

func quantise16AVX2(dst *int16, x *float32, n int, f float32)  { panic(missing) }
func quantise8AVX2(dst *uint8, scale, x *float32, blocks int)  { panic(missing) }
func maxAbsAVX2(x *float32, n int) float32                     { panic(missing) }
func maxAVX2(x *float32, n int) float32                        { panic(missing) }
func expAVX2(x *float32, n int, scale, offset float32) float32 { panic(missing) }
func scaleAVX2(x *float32, n int, f float32)                   { panic(missing) }
func geluAVX2(x *float32, n int)                               { panic(missing) }
func addAVX2(x, y *float32, n int) float32                     { panic(missing) }
func squaresAVX2(x *float32, n int, mean float32) float32      { panic(missing) }
func normAVX2(x, gamma, beta *float32, n int, mean, f float32) { panic(missing) }
