package sqlite

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/kbsync/kbsync/connector"
)

// maxDimensions keeps a block well below SQLite's limits.
const maxDimensions = 65536

// blockBytes is the size that a block comes close to. Larger blocks scan no faster, and a change of one vector
// rewrites its whole block.
const blockBytes = 24 << 10

// layout says how vectors lie in blocks. Slot s stands in block s / perBlock at place s % perBlock. A place is a
// little-endian float32 factor and then the components. The factor is 0 for an empty place, 1/length of the
// vector for cosine, else 1. Blocks end after their last vector that is not empty, so they may be short.
type layout struct {
	dims     int
	perBlock int64
	distance string
}

func newLayout(s connector.Schema) layout {
	return layout{dims: s.Dimensions, perBlock: int64(max(1, blockBytes/(4+4*s.Dimensions))), distance: s.Distance}
}

// place is the size of one vector with its factor.
func (l layout) place() int { return 4 + 4*l.dims }

// check says why a vector cannot be stored.
func (l layout) check(v []float32) error {
	if len(v) != l.dims {
		return connector.Errorf(connector.ClassInvalid, "the vector has %d dimensions, the collection %d", len(v), l.dims)
	}
	for i, x := range v {
		if x != x || x > math.MaxFloat32 || x < -math.MaxFloat32 {
			return connector.Errorf(connector.ClassInvalid, "component %d of the vector is %v", i, x)
		}
	}
	if l.distance == "cosine" && l.factor(v) == 0 {
		return connector.Errorf(connector.ClassInvalid, "the vector has no direction: its length is 0")
	}
	return nil
}

// factor is what a dot product with v is multiplied by; 0 only for a vector that cosine cannot compare.
func (l layout) factor(v []float32) float32 {
	if l.distance != "cosine" {
		return 1
	}
	f := float32(1 / length(v))
	if f > math.MaxFloat32 || f == 0 {
		return 0
	}
	return f
}

func length(v []float32) float64 {
	sum := 0.0
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	return math.Sqrt(sum)
}

// put writes v at a place of a block, which it makes longer where needed, and returns the block.
func (l layout) put(block []byte, place int64, v []float32) []byte {
	end := int(place+1) * l.place()
	if len(block) < end {
		block = append(block, make([]byte, end-len(block))...)
	}
	b := block[end-l.place() : end]
	binary.LittleEndian.PutUint32(b, math.Float32bits(l.factor(v)))
	for i, x := range v {
		binary.LittleEndian.PutUint32(b[4+4*i:], math.Float32bits(x))
	}
	return block
}

// clear empties a place and cuts the block after its last vector; an empty result means that nothing is left.
func (l layout) clear(block []byte, place int64) []byte {
	size := l.place()
	if end := int(place+1) * size; end <= len(block) {
		clear(block[end-size : end])
	}
	for len(block) >= size && binary.LittleEndian.Uint32(block[len(block)-size:]) == 0 {
		block = block[:len(block)-size]
	}
	return block
}

// get reads the vector at a place.
func (l layout) get(block []byte, place int64) ([]float32, error) {
	end := int(place+1) * l.place()
	if len(block) < end {
		return nil, fmt.Errorf("a vector block ends before place %d: the file is damaged", place)
	}
	return l.decode(block[end-l.place() : end]), nil
}

// decode reads the components of one place.
func (l layout) decode(b []byte) []float32 {
	v := make([]float32, l.dims)
	for i := range v {
		v[i] = math.Float32frombits(binary.LittleEndian.Uint32(b[4+4*i:]))
	}
	return v
}

// dot is the inner product of q with the components in b, summed in an order that depends on len(q) alone: equal
// vectors get equal scores. Eight sums at a time keep the processor's units busy; array pointers spare the bounds checks.
func dot(q []float32, b []byte) float32 {
	var s0, s1, s2, s3, s4, s5, s6, s7 float32
	for len(q) >= 8 && len(b) >= 32 {
		x, c := (*[8]float32)(q), (*[32]byte)(b)
		s0 += x[0] * component(c[0:4])
		s1 += x[1] * component(c[4:8])
		s2 += x[2] * component(c[8:12])
		s3 += x[3] * component(c[12:16])
		s4 += x[4] * component(c[16:20])
		s5 += x[5] * component(c[20:24])
		s6 += x[6] * component(c[24:28])
		s7 += x[7] * component(c[28:32])
		q, b = q[8:], b[32:]
	}
	for i, x := range q {
		s0 += x * component(b[4*i:])
	}
	return ((s0 + s1) + (s2 + s3)) + ((s4 + s5) + (s6 + s7))
}

// component reads a float32.
func component(b []byte) float32 { return math.Float32frombits(binary.LittleEndian.Uint32(b)) }

// squared is the squared Euclidean distance of q from the components in b.
func squared(q []float32, b []byte) float32 {
	var s0, s1 float32
	for len(q) >= 2 && len(b) >= 8 {
		d0 := q[0] - math.Float32frombits(binary.LittleEndian.Uint32(b[0:4]))
		d1 := q[1] - math.Float32frombits(binary.LittleEndian.Uint32(b[4:8]))
		s0 += d0 * d0
		s1 += d1 * d1
		q, b = q[2:], b[8:]
	}
	for i, x := range q {
		d := x - math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:]))
		s0 += d * d
	}
	return s0 + s1
}
