package modelfile

import (
	"encoding/binary"
	"fmt"
	"math"
)

// reader reads little-endian numbers. After the first error it returns zeros; nothing it is told makes it ask for more memory than the
// data has bytes.
type reader struct {
	data []byte
	pos  int
	err  error
}

func (r *reader) fail(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf(format, args...)
	}
}

// bytes returns the next n bytes, which still belong to data.
func (r *reader) bytes(n int) []byte {
	if r.err == nil && (n < 0 || n > len(r.data)-r.pos) {
		r.fail("the file is cut off: %d bytes wanted at %d of %d", n, r.pos, len(r.data))
	}
	if r.err != nil {
		return nil
	}
	b := r.data[r.pos : r.pos+n : r.pos+n]
	r.pos += n
	return b
}

func (r *reader) u8() uint8 {
	if b := r.bytes(1); b != nil {
		return b[0]
	}
	return 0
}

func (r *reader) u16() uint16 {
	if b := r.bytes(2); b != nil {
		return binary.LittleEndian.Uint16(b)
	}
	return 0
}

func (r *reader) u32() uint32 {
	if b := r.bytes(4); b != nil {
		return binary.LittleEndian.Uint32(b)
	}
	return 0
}

func (r *reader) u64() uint64 {
	if b := r.bytes(8); b != nil {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}

func (r *reader) f32() float32 { return math.Float32frombits(r.u32()) }

// int reads a small number: the dimensions of models are below 2^24, so that their products are no surprise.
func (r *reader) int() int {
	n := r.u32()
	if n > 1<<24 {
		r.fail("the number %d at %d is too great", n, r.pos-4)
		return 0
	}
	return int(n)
}

// count reads the number of things that have at least size bytes each in what follows.
func (r *reader) count(size int) int {
	n := r.int()
	if n > (len(r.data)-r.pos)/size {
		r.fail("the file is cut off: %d things of %d bytes wanted at %d of %d", n, size, r.pos, len(r.data))
		return 0
	}
	return n
}
