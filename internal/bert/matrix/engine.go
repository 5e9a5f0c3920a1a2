// Package matrix multiplies the matrices of a transformer encoder on the CPU.
//
// Weights are packed once, as panels of 16 output channels, and are multiplied with many rows of activations at a time. There
// are three forms of weights, chosen by [Pack]:
//   - 16-bit integers with one scale per output channel. Activations are quantised per row to as many bits as a 32-bit sum over
//     the input width allows (13 bits for an input of 1,536 next to 8-bit weights), so nothing saturates and nothing overflows.
//   - 4-bit integers with a scale per block of 32 (the GGML form Q4_0). Activations are quantised to 8 bits per block of 32. A
//     block's products fit 16-bit sums exactly, which halves the work of the form above.
//   - 32-bit floats, as the reference.
//
// Integer sums are the same on every machine; the float arithmetic around them may differ in the last bit between [Engine]s.
package matrix

// Engine is a set of kernels. All engines give the same results up to the rounding of float sums.
type Engine uint8

const (
	// Generic is plain Go.
	Generic Engine = iota
	// AVX2 is amd64 assembly for AVX2 with FMA.
	AVX2
	// NEON is arm64 assembly with the dot product instructions of ARMv8.2, for floats and 4-bit weights; the rest is plain Go.
	NEON
)

// String is the engine's name.
func (e Engine) String() string {
	switch e {
	case AVX2:
		return "avx2"
	case NEON:
		return "neon"
	}
	return "generic"
}

// Best is the fastest engine that this machine can run.
func Best() Engine { return best() }

const (
	// panel is how many output channels are computed at a time.
	panel = 16
	// rows16 and rows4 are how many rows a kernel computes at a time.
	rows16 = 6
	rows4  = 4
	// block is how many inputs share a scale in the 4-bit form.
	block = 32
)

// PadRows is how many rows a buffer of n rows must have: kernels compute whole tiles, and leave rubbish in the rows beyond n.
func PadRows(n int) int { return roundUp(n, rows16*rows4/2) }

// PadCols is the width of a buffer that receives n columns of a product.
func PadCols(n int) int { return roundUp(n, panel) }

func roundUp(n, to int) int { return (n + to - 1) / to * to }
