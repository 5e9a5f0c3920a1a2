//go:build !arm64

package matrix

// No engine of this machine calls these.

const noNEON = "matrix: these kernels need arm64"

func tile32NEON(c *float32, cStride int, a *float32, aStride int, b *float32, bStride, k int, bias *float32) {
	panic(noNEON)
}

func tile4NEON(c *float32, cStride int, a *uint8, aStride int, sa *float32, w *int8, sw *float32, blocks int, bias *float32) {
	panic(noNEON)
}
