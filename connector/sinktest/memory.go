package sinktest

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"iter"
	"math"
	"slices"
	"sort"
	"strings"
	"sync"

	"github.com/kbsync/kbsync/connector"
)

// Memory is the reference sink: everything in maps, every promise of [connector.Sink] kept in the plainest way. Tests
// of the engine use it as their sink and plant failures with Fault. Close keeps what is stored, so that a second run
// can be given the same Memory.
type Memory struct {
	// Fault, if set, is called before each operation with its name and its number of items. An error is returned to
	// the caller in place of the operation, but for a *connector.BatchError, of which the items that it does not name are
	// carried out. Then it is called with ":done" after the name: an error now is returned though the operation was
	// carried out, as when an answer is lost. Names: generations, create, live, promote, drop, marker, upsert, payload,
	// delete, fetch, scan (once a point), count, flush, search, stamp, setstamp, foreign. It is called without locks, concurrently. Set it before use.
	Fault func(op string, n int) error
	// Name tells memories apart that are different places; empty is a place too.
	Name string
	// Others are collections that kbsync did not write, by name, as [connector.Importer] reads them.
	Others map[string][]connector.Foreign
	// Caps are what Capabilities returns; NewMemory fills them in.
	Caps connector.SinkCapabilities

	mu          sync.RWMutex
	live        string
	collections map[string]*memoryCollection
}

var (
	_ connector.Sink       = (*Memory)(nil)
	_ connector.Importer   = (*Memory)(nil)
	_ connector.Collection = (*memoryCollection)(nil)
	_ connector.Stamper    = (*memoryCollection)(nil)
)

// NewMemory makes an empty sink.
func NewMemory() *Memory {
	return &Memory{
		Caps: connector.SinkCapabilities{
			Modes:   []connector.SearchMode{connector.ModeDense, connector.ModeLexical, connector.ModeHybrid},
			Payload: true, Scan: true, Concurrency: 4,
		},
		collections: map[string]*memoryCollection{},
	}
}

// Capabilities is Caps.
func (m *Memory) Capabilities() connector.SinkCapabilities { return m.Caps }

// Target names the memory; memories of one name are the same place.
func (m *Memory) Target() connector.Target {
	return connector.Target{Kind: "memory", Address: "memory" + m.Name, Collection: "test"}
}

// Foreign implements [connector.Importer].
func (m *Memory) Foreign(ctx context.Context, collection string) iter.Seq2[connector.Foreign, error] {
	return func(yield func(connector.Foreign, error) bool) {
		items, ok := m.Others[collection]
		if !ok {
			yield(connector.Foreign{}, connector.Errorf(connector.ClassNotFound, "memory: no collection %q", collection))
			return
		}
		for _, f := range items {
			err := m.do(ctx, "foreign", 1, func() error { return nil })
			if !yield(f, err) || err != nil {
				return
			}
		}
	}
}

// Generations implements [connector.Sink].
func (m *Memory) Generations(ctx context.Context) ([]connector.Schema, error) {
	var out []connector.Schema
	err := m.do(ctx, "generations", 0, func() error {
		m.mu.RLock()
		defer m.mu.RUnlock()
		for name, c := range m.collections {
			if name != m.live {
				out = append(out, c.schema)
			}
		}
		sort.Slice(out, func(i, j int) bool { return out[i].Generation < out[j].Generation })
		if c := m.collections[m.live]; c != nil {
			out = append([]connector.Schema{c.schema}, out...)
		}
		return nil
	})
	return out, err
}

// Create implements [connector.Sink].
func (m *Memory) Create(ctx context.Context, schema connector.Schema) (connector.Collection, error) {
	var out connector.Collection
	err := m.do(ctx, "create", 0, func() error {
		m.mu.Lock()
		defer m.mu.Unlock()
		c := m.collections[schema.Generation]
		if c == nil {
			c = &memoryCollection{sink: m, schema: schema, marker: rand.Text(), points: map[string]connector.Point{}}
			m.collections[schema.Generation] = c
			if len(m.collections) == 1 {
				m.live = schema.Generation
			}
		}
		if c.schema != schema {
			return connector.Errorf(connector.ClassConflict, "memory: generation %q exists with another shape", schema.Generation)
		}
		out = c
		return nil
	})
	return out, err
}

// Live implements [connector.Sink].
func (m *Memory) Live(ctx context.Context) (connector.Collection, error) {
	var out connector.Collection
	err := m.do(ctx, "live", 0, func() error {
		m.mu.RLock()
		defer m.mu.RUnlock()
		c := m.collections[m.live]
		if c == nil {
			return connector.ErrNoCollection
		}
		out = c
		return nil
	})
	return out, err
}

// Promote implements [connector.Sink].
func (m *Memory) Promote(ctx context.Context, generation string) error {
	return m.do(ctx, "promote", 0, func() error {
		m.mu.Lock()
		defer m.mu.Unlock()
		if m.collections[generation] == nil {
			return connector.Errorf(connector.ClassNotFound, "memory: no generation %q", generation)
		}
		m.live = generation
		return nil
	})
}

// Drop implements [connector.Sink].
func (m *Memory) Drop(ctx context.Context, generation string) error {
	return m.do(ctx, "drop", 0, func() error {
		m.mu.Lock()
		defer m.mu.Unlock()
		if generation == m.live && len(m.collections) > 1 {
			return connector.Errorf(connector.ClassConflict, "memory: generation %q is live", generation)
		}
		if c := m.collections[generation]; c != nil {
			c.mu.Lock()
			c.points, c.dropped = map[string]connector.Point{}, true
			c.mu.Unlock()
		}
		delete(m.collections, generation)
		if generation == m.live {
			m.live = ""
		}
		return nil
	})
}

// Close keeps everything.
func (m *Memory) Close() error { return nil }

// do runs an operation between the two calls of Fault.
func (m *Memory) do(ctx context.Context, op string, n int, run func() error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := m.fault(op, n); err != nil {
		return err
	}
	if err := run(); err != nil {
		return err
	}
	return m.fault(op+":done", n)
}

func (m *Memory) fault(op string, n int) error {
	if m.Fault == nil {
		return nil
	}
	return m.Fault(op, n)
}

type memoryCollection struct {
	sink   *Memory
	schema connector.Schema
	marker string

	mu      sync.RWMutex
	points  map[string]connector.Point
	stamp   string
	dropped bool
}

func (c *memoryCollection) Schema() connector.Schema { return c.schema }

func (c *memoryCollection) Marker(ctx context.Context) (string, error) {
	return c.marker, c.sink.do(ctx, "marker", 0, func() error { return nil })
}

// Stamp implements [connector.Stamper].
func (c *memoryCollection) Stamp(ctx context.Context) (stamp string, err error) {
	err = c.sink.do(ctx, "stamp", 0, func() error {
		c.mu.RLock()
		defer c.mu.RUnlock()
		stamp = c.stamp
		return nil
	})
	return stamp, err
}

// SetStamp implements [connector.Stamper].
func (c *memoryCollection) SetStamp(ctx context.Context, stamp string) error {
	return c.sink.do(ctx, "setstamp", 0, func() error {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.stamp = stamp
		return nil
	})
}

func (c *memoryCollection) Upsert(ctx context.Context, points []connector.Point) error {
	return c.write(ctx, "upsert", len(points), func(i int) error {
		p, err := c.accept(points[i])
		if err == nil {
			c.points[p.ChunkID] = p
		}
		return err
	})
}

func (c *memoryCollection) UpdatePayload(ctx context.Context, records []connector.Record) error {
	return c.write(ctx, "payload", len(records), func(i int) error {
		old, ok := c.points[records[i].ChunkID]
		if !ok {
			return connector.Errorf(connector.ClassNotFound, "memory: no point %s", records[i].ChunkID)
		}
		p, err := c.accept(connector.Point{Record: records[i], Vector: old.Vector})
		if err == nil {
			c.points[p.ChunkID] = p
		}
		return err
	})
}

func (c *memoryCollection) Delete(ctx context.Context, ids []string) error {
	return c.write(ctx, "delete", len(ids), func(i int) error {
		delete(c.points, ids[i])
		return nil
	})
}

// write carries out the n items of op one by one, but for those that Fault names.
func (c *memoryCollection) write(ctx context.Context, op string, n int, item func(i int) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	failed := map[int]error{}
	if err := c.sink.fault(op, n); err != nil {
		batch, ok := err.(*connector.BatchError) //nolint:errorlint // the documented form of Fault's answer
		if !ok {
			return err
		}
		for i, err := range batch.Items {
			failed[i] = err
		}
	}
	c.mu.Lock()
	if c.dropped {
		c.mu.Unlock()
		return connector.Errorf(connector.ClassNotFound, "memory: generation %q was dropped", c.schema.Generation)
	}
	for i := range n {
		if failed[i] != nil {
			continue
		}
		if err := item(i); err != nil {
			failed[i] = err
		}
	}
	c.mu.Unlock()
	if err := c.sink.fault(op+":done", n); err != nil {
		return err
	}
	if len(failed) > 0 {
		return &connector.BatchError{Items: failed}
	}
	return nil
}

// accept checks a point and copies it.
func (c *memoryCollection) accept(p connector.Point) (connector.Point, error) {
	if p.ChunkID == "" {
		return p, connector.Errorf(connector.ClassInvalid, "memory: a point without an id")
	}
	if p.Vector != nil && len(p.Vector) != c.schema.Dimensions {
		return p, connector.Errorf(connector.ClassInvalid, "memory: %d dimensions, want %d", len(p.Vector), c.schema.Dimensions)
	}
	for _, x := range p.Vector {
		if math.IsNaN(float64(x)) || math.IsInf(float64(x), 0) {
			return p, connector.Errorf(connector.ClassInvalid, "memory: the vector holds %v", x)
		}
	}
	if p.Vector != nil && c.schema.Distance == "cosine" && norm(p.Vector) == 0 {
		return p, connector.Errorf(connector.ClassInvalid, "memory: a zero vector has no direction")
	}
	return clonePoint(p, true)
}

func (c *memoryCollection) Fetch(ctx context.Context, ids []string, vectors bool) ([]connector.Point, error) {
	var out []connector.Point
	err := c.sink.do(ctx, "fetch", len(ids), func() error {
		c.mu.RLock()
		defer c.mu.RUnlock()
		for _, id := range ids {
			if p, ok := c.points[id]; ok {
				p, err := clonePoint(p, vectors)
				if err != nil {
					return err
				}
				out = append(out, p)
			}
		}
		return nil
	})
	return out, err
}

func (c *memoryCollection) Scan(ctx context.Context, vectors bool) iter.Seq2[connector.Point, error] {
	return func(yield func(connector.Point, error) bool) {
		for _, p := range c.sorted() {
			err := c.sink.do(ctx, "scan", 1, func() (err error) {
				p, err = clonePoint(p, vectors)
				return err
			})
			if err != nil {
				yield(connector.Point{}, err)
				return
			}
			if !yield(p, nil) {
				return
			}
		}
	}
}

func (c *memoryCollection) Count(ctx context.Context) (n int, err error) {
	err = c.sink.do(ctx, "count", 0, func() error {
		c.mu.RLock()
		defer c.mu.RUnlock()
		n = len(c.points)
		return nil
	})
	return n, err
}

func (c *memoryCollection) Flush(ctx context.Context) error {
	return c.sink.do(ctx, "flush", 0, func() error { return nil })
}

func (c *memoryCollection) Search(ctx context.Context, q connector.Query) (hits []connector.Hit, err error) {
	if !slices.Contains(c.sink.Caps.Modes, q.Mode) {
		return nil, fmt.Errorf("memory: mode %q: %w", q.Mode, connector.ErrUnsupported)
	}
	if q.Mode != connector.ModeLexical && len(q.Vector) != c.schema.Dimensions {
		return nil, connector.Errorf(connector.ClassInvalid, "memory: a query of %d dimensions, want %d", len(q.Vector), c.schema.Dimensions)
	}
	err = c.sink.do(ctx, "search", q.K, func() error {
		hits, err = bruteSearch(c.sorted(), c.schema.Distance, q)
		return err
	})
	return hits, err
}

// sorted is a snapshot in order of id. Stored points are never changed in place.
func (c *memoryCollection) sorted() []connector.Point {
	c.mu.RLock()
	defer c.mu.RUnlock()
	out := make([]connector.Point, 0, len(c.points))
	for _, p := range c.points {
		out = append(out, p)
	}
	sort.Slice(out, func(i, j int) bool { return out[i].ChunkID < out[j].ChunkID })
	return out
}

// clonePoint copies p deeply, metadata as [Canonical] gives it.
func clonePoint(p connector.Point, vectors bool) (connector.Point, error) {
	p.Spans, p.ContextSpans = slices.Clone(p.Spans), slices.Clone(p.ContextSpans)
	if p.Vector = slices.Clone(p.Vector); !vectors {
		p.Vector = nil
	}
	if p.Metadata != nil {
		m, err := Canonical(p.Metadata)
		if err != nil {
			return p, connector.Errorf(connector.ClassInvalid, "memory: metadata of %s: %w", p.ChunkID, err)
		}
		p.Metadata, _ = m.(map[string]any)
	}
	return p, nil
}

// Canonical copies a metadata value, with the types that JSON has: nil, bool, string, int64 for integers, float64,
// []any and map[string]any.
func Canonical(v any) (any, error) {
	switch v := v.(type) {
	case nil, bool, string, int64:
		return v, nil
	case int:
		return int64(v), nil
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return nil, fmt.Errorf("%v is no JSON number", v)
		}
		return v, nil
	case []any:
		out := make([]any, len(v))
		for i := range v {
			var err error
			if out[i], err = Canonical(v[i]); err != nil {
				return nil, err
			}
		}
		return out, nil
	case map[string]any:
		out := make(map[string]any, len(v))
		for k := range v {
			var err error
			if out[k], err = Canonical(v[k]); err != nil {
				return nil, err
			}
		}
		return out, nil
	}
	return viaJSON(v)
}

// viaJSON brings any other type to those of Canonical.
func viaJSON(v any) (any, error) {
	raw, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var out any
	if err := dec.Decode(&out); err != nil {
		return nil, err
	}
	return fixNumbers(out), nil
}

func fixNumbers(v any) any {
	switch v := v.(type) {
	case json.Number:
		if n, err := v.Int64(); err == nil && !strings.ContainsAny(v.String(), ".eE") {
			return n
		}
		f, _ := v.Float64()
		return f
	case []any:
		for i := range v {
			v[i] = fixNumbers(v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = fixNumbers(v[k])
		}
	}
	return v
}
