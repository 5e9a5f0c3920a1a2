package sqlite

import (
	"database/sql/driver"
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"
	"sync"
	"sync/atomic"

	sqlite3 "modernc.org/sqlite"
)

// scans are the searches that run at the moment, by handle. SQL functions reach a search through its handle: SQLite
// hands them each row in place, which spares copying hundreds of megabytes of vectors a query.
type scans struct {
	next   atomic.Int64
	active sync.Map // int64 → *denseScan, *postings or *metadataScan
}

// begin gives a search a handle; done takes it back.
func (s *scans) begin(scan any) (handle int64, done func()) {
	handle = s.next.Add(1)
	s.active.Store(handle, scan)
	return handle, func() { s.active.Delete(handle) }
}

// step is a search that looks at one row at a time.
type step interface {
	row(args []driver.Value) (driver.Value, error)
}

// register makes the function kbsync_row(handle, …) known to the connections of d. Its arguments are views of SQLite's
// memory and must not be kept.
func (s *scans) register(d *sqlite3.Driver) error {
	return d.RegisterFunction("kbsync_row", &sqlite3.FunctionImpl{NArgs: 3, VolatileArgs: true,
		Scalar: func(_ *sqlite3.FunctionContext, args []driver.Value) (driver.Value, error) {
			handle, _ := args[0].(int64)
			scan, ok := s.active.Load(handle)
			if !ok {
				return nil, fmt.Errorf("kbsync_row: no search %d", handle)
			}
			return scan.(step).row(args[1:]) //nolint:forcetypeassert // begin stores nothing else
		}})
}

// denseScan compares the query with vector blocks. Arguments: block number, data.
type denseScan struct {
	layout  layout
	query   []float32
	factor  float32 // of the query
	allowed *slotSet
	top     *topK
}

func (d *denseScan) row(args []driver.Value) (driver.Value, error) {
	block, ok1 := args[0].(int64)
	data, ok2 := args[1].([]byte)
	if !ok1 || !ok2 {
		return nil, fmt.Errorf("vector block of types %T, %T: the file is damaged", args[0], args[1])
	}
	slot := block * d.layout.perBlock
	for size := d.layout.place(); len(data) >= size; data, slot = data[size:], slot+1 {
		factor := math.Float32frombits(binary.LittleEndian.Uint32(data))
		if factor == 0 || !d.allowed.has(slot) {
			continue
		}
		if d.layout.distance == "l2" {
			d.top.add(slot, -math.Sqrt(float64(squared(d.query, data[4:size]))))
			continue
		}
		d.top.add(slot, float64(dot(d.query, data[4:size]))*float64(factor)*float64(d.factor))
	}
	return nil, nil
}

// metadataScan collects the slots whose metadata meets every condition. Arguments: slot, metadata (or NULL).
type metadataScan struct {
	conditions []metadataCondition
	set        *slotSet
}

func (m *metadataScan) row(args []driver.Value) (driver.Value, error) {
	slot, ok := args[0].(int64)
	if !ok {
		return nil, fmt.Errorf("slot of type %T", args[0])
	}
	var raw string
	if args[1] != nil {
		if raw, ok = args[1].(string); !ok {
			return nil, fmt.Errorf("metadata of type %T", args[1])
		}
	}
	for i := range m.conditions {
		if !m.conditions[i].holds(raw) {
			return nil, nil
		}
	}
	m.set.add(slot)
	return nil, nil
}

// slotSet is a set of slots below storeOnly; nil holds all.
type slotSet struct {
	words []uint64
}

func (s *slotSet) add(slot int64) {
	for int(slot>>6) >= len(s.words) {
		s.words = append(s.words, make([]uint64, max(64, len(s.words)))...)
	}
	s.words[slot>>6] |= 1 << (slot & 63)
}

func (s *slotSet) has(slot int64) bool {
	if s == nil {
		return true
	}
	return int(slot>>6) < len(s.words) && s.words[slot>>6]&(1<<(slot&63)) != 0
}

func (s *slotSet) len() (n int) {
	for _, w := range s.words {
		n += bits.OnesCount64(w)
	}
	return n
}

// blocks are the distinct values of slot/perBlock, ascending.
func (s *slotSet) blocks(perBlock int64) (out []int64) {
	for i, w := range s.words {
		for ; w != 0; w &= w - 1 {
			block := (int64(i)<<6 + int64(bits.TrailingZeros64(w))) / perBlock
			if len(out) == 0 || out[len(out)-1] != block {
				out = append(out, block)
			}
		}
	}
	return out
}
