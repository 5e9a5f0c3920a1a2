package modelfile

import (
	"encoding/binary"
	"fmt"
	"math"
)

// Size is the number of bytes of a matrix in this encoding, or -1 if it cannot have that shape.
func (e Encoding) Size(rows, cols int) int {
	const most = 1 << 40 // no product below overflows
	if rows <= 0 || cols <= 0 || rows > most/cols {
		return -1
	}
	switch e {
	case F32:
		return rows * cols * 4
	case F16:
		return rows * cols * 2
	case Q8:
		return rows*cols + rows*4
	case Q4:
		if cols%Q4Block == 0 {
			return rows * cols / Q4Block * Q4Bytes
		}
	}
	return -1
}

// String names the encoding.
func (e Encoding) String() string {
	switch e {
	case F32:
		return "f32"
	case F16:
		return "f16"
	case Q8:
		return "q8"
	case Q4:
		return "q4"
	}
	return fmt.Sprintf("encoding(%d)", uint8(e))
}

// Row decodes row i into dst, which must have room for Cols values, and returns it. The tensor must be a valid one, as every tensor
// that this package read is.
func (t *Tensor) Row(i int, dst []float32) []float32 {
	dst = dst[:t.Cols]
	switch t.Encoding {
	case F32:
		row := t.Data[i*t.Cols*4:]
		for j := range dst {
			dst[j] = math.Float32frombits(binary.LittleEndian.Uint32(row[j*4:]))
		}
	case F16:
		row := t.Data[i*t.Cols*2:]
		for j := range dst {
			dst[j] = Half(binary.LittleEndian.Uint16(row[j*2:]))
		}
	case Q8:
		factor := math.Float32frombits(binary.LittleEndian.Uint32(t.Data[t.Rows*t.Cols+i*4:]))
		for j, v := range t.Data[i*t.Cols : (i+1)*t.Cols] {
			dst[j] = float32(int8(v)) * factor
		}
	case Q4:
		size := t.Cols / Q4Block * Q4Bytes
		for b, row := 0, t.Data[i*size:(i+1)*size]; b < t.Cols/Q4Block; b++ {
			block, out := row[b*Q4Bytes:(b+1)*Q4Bytes], dst[b*Q4Block:(b+1)*Q4Block]
			d := Half(binary.LittleEndian.Uint16(block))
			for j, v := range block[2:] {
				out[j] = float32(int(v&15)-8) * d
				out[j+16] = float32(int(v>>4)-8) * d
			}
		}
	}
	return dst
}

// Floats decodes the whole tensor, row after row.
func (t *Tensor) Floats() []float32 {
	out := make([]float32, t.Rows*t.Cols)
	for i := range t.Rows {
		t.Row(i, out[i*t.Cols:(i+1)*t.Cols])
	}
	return out
}

// Half decodes an IEEE half-precision number.
func Half(h uint16) float32 {
	sign, exp, man := uint32(h&0x8000)<<16, uint32(h>>10)&31, uint32(h&0x3ff)
	switch exp {
	case 0: // zero or subnormal
		f := float32(man) / (1 << 24)
		return math.Float32frombits(math.Float32bits(f) | sign)
	case 31:
		return math.Float32frombits(sign | 0x7f800000 | man<<13)
	}
	return math.Float32frombits(sign | (exp+112)<<23 | man<<13)
}

func (t *Tensor) check() error {
	want := t.Encoding.Size(t.Rows, t.Cols)
	if want < 0 || want != len(t.Data) {
		return fmt.Errorf("the tensor %q of %d×%d in %s has %d bytes, want %d", t.Name, t.Rows, t.Cols, t.Encoding, len(t.Data), want)
	}
	return nil
}
