package matrix

import "golang.org/x/sys/cpu"

func best() Engine {
	if cpu.ARM64.HasASIMDDP {
		return NEON
	}
	return Generic
}

// tile32NEON is tile32 for rows16 rows of 16 columns; strides count values.
//
//go:noescape
func tile32NEON(c *float32, cStride int, a *float32, aStride int, b *float32, bStride, k int, bias *float32)

// tile4NEON is tile4 for rows4 rows of 16 columns; strides count values.
//
//go:noescape
func tile4NEON(c *float32, cStride int, a *uint8, aStride int, sa *float32, w *int8, sw *float32, blocks int, bias *float32)
