package sinktest

import (
	"context"
	"errors"
	"iter"
	"math"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/kbsync/kbsync/connector"
)

// broken is a sink that keeps every rule until one of its functions is replaced.
type broken struct {
	connector.Sink
	create      func(connector.Schema) (connector.Collection, error)
	live        func() (connector.Collection, error)
	generations func() ([]connector.Schema, error)
	promote     func(string) error
	drop        func(string) error
	close       func() error
	c           hooks
	memory      *Memory
}

// hooks replace methods of every collection. Each gets the sound method's collection.
type hooks struct {
	marker  func(c connector.Collection) (string, error)
	stamp   func(c connector.Stamper) (string, error)
	upsert  func(ctx context.Context, c connector.Collection, p []connector.Point) error
	payload func(ctx context.Context, c connector.Collection, r []connector.Record) error
	delete  func(ctx context.Context, c connector.Collection, ids []string) error
	fetch   func(ctx context.Context, c connector.Collection, ids []string, vectors bool) ([]connector.Point, error)
	scan    func(ctx context.Context, c connector.Collection, vectors bool) iter.Seq2[connector.Point, error]
	count   func(ctx context.Context, c connector.Collection) (int, error)
	search  func(ctx context.Context, c connector.Collection, q connector.Query) ([]connector.Hit, error)
}

type brokenCollection struct {
	connector.Collection
	h *hooks
}

func (b *broken) wrap(c connector.Collection, err error) (connector.Collection, error) {
	if err != nil {
		return nil, err
	}
	return brokenCollection{c, &b.c}, nil
}

func (b *broken) Create(ctx context.Context, s connector.Schema) (connector.Collection, error) {
	if b.create != nil {
		return b.wrap(b.create(s))
	}
	return b.wrap(b.Sink.Create(ctx, s))
}

func (b *broken) Live(ctx context.Context) (connector.Collection, error) {
	if b.live != nil {
		return b.wrap(b.live())
	}
	return b.wrap(b.Sink.Live(ctx))
}

func (b *broken) Generations(ctx context.Context) ([]connector.Schema, error) {
	if b.generations != nil {
		return b.generations()
	}
	return b.Sink.Generations(ctx)
}

func (b *broken) Promote(ctx context.Context, g string) error {
	if b.promote != nil {
		return b.promote(g)
	}
	return b.Sink.Promote(ctx, g)
}

func (b *broken) Drop(ctx context.Context, g string) error {
	if b.drop != nil {
		return b.drop(g)
	}
	return b.Sink.Drop(ctx, g)
}

func (b *broken) Close() error {
	if b.close != nil {
		return b.close()
	}
	return b.Sink.Close()
}

func (c brokenCollection) Marker(ctx context.Context) (string, error) {
	if c.h.marker != nil {
		return c.h.marker(c.Collection)
	}
	return c.Collection.Marker(ctx)
}

func (c brokenCollection) Stamp(ctx context.Context) (string, error) {
	sound, _ := c.Collection.(connector.Stamper)
	if c.h.stamp != nil {
		return c.h.stamp(sound)
	}
	return sound.Stamp(ctx)
}

func (c brokenCollection) SetStamp(ctx context.Context, stamp string) error {
	sound, _ := c.Collection.(connector.Stamper)
	return sound.SetStamp(ctx, stamp)
}

func (c brokenCollection) Upsert(ctx context.Context, p []connector.Point) error {
	if c.h.upsert != nil {
		return c.h.upsert(ctx, c.Collection, p)
	}
	return c.Collection.Upsert(ctx, p)
}

func (c brokenCollection) UpdatePayload(ctx context.Context, r []connector.Record) error {
	if c.h.payload != nil {
		return c.h.payload(ctx, c.Collection, r)
	}
	return c.Collection.UpdatePayload(ctx, r)
}

func (c brokenCollection) Delete(ctx context.Context, ids []string) error {
	if c.h.delete != nil {
		return c.h.delete(ctx, c.Collection, ids)
	}
	return c.Collection.Delete(ctx, ids)
}

func (c brokenCollection) Fetch(ctx context.Context, ids []string, vectors bool) ([]connector.Point, error) {
	if c.h.fetch != nil {
		return c.h.fetch(ctx, c.Collection, ids, vectors)
	}
	return c.Collection.Fetch(ctx, ids, vectors)
}

func (c brokenCollection) Scan(ctx context.Context, vectors bool) iter.Seq2[connector.Point, error] {
	if c.h.scan != nil {
		return c.h.scan(ctx, c.Collection, vectors)
	}
	return c.Collection.Scan(ctx, vectors)
}

func (c brokenCollection) Count(ctx context.Context) (int, error) {
	if c.h.count != nil {
		return c.h.count(ctx, c.Collection)
	}
	return c.Collection.Count(ctx)
}

func (c brokenCollection) Search(ctx context.Context, q connector.Query) ([]connector.Hit, error) {
	if c.h.search != nil {
		return c.h.search(ctx, c.Collection, q)
	}
	return c.Collection.Search(ctx, q)
}

// Builders of faults.

// stored changes points on their way in.
func stored(change func(p *connector.Point)) func(*broken) {
	return func(b *broken) {
		b.c.upsert = func(ctx context.Context, c connector.Collection, points []connector.Point) error {
			points = slices.Clone(points)
			for i := range points {
				p, err := clonePoint(points[i], true)
				if err != nil {
					return err
				}
				change(&p)
				points[i] = p
			}
			return c.Upsert(ctx, points)
		}
	}
}

// answered changes the hits of searches.
func answered(change func(q connector.Query, hits []connector.Hit) []connector.Hit) func(*broken) {
	return func(b *broken) {
		b.c.search = func(ctx context.Context, c connector.Collection, q connector.Query) ([]connector.Hit, error) {
			hits, err := c.Search(ctx, q)
			return change(q, hits), err
		}
	}
}

// asked changes the questions.
func asked(change func(q *connector.Query)) func(*broken) {
	return func(b *broken) {
		b.c.search = func(ctx context.Context, c connector.Collection, q connector.Query) ([]connector.Hit, error) {
			change(&q)
			return c.Search(ctx, q)
		}
	}
}

// fetched changes what Fetch returns.
func fetched(change func(ids []string, out []connector.Point) []connector.Point) func(*broken) {
	return func(b *broken) {
		b.c.fetch = func(ctx context.Context, c connector.Collection, ids []string, vectors bool) ([]connector.Point, error) {
			out, err := c.Fetch(ctx, ids, vectors)
			return change(ids, out), err
		}
	}
}

// scanned changes the list of points that Scan yields.
func scanned(change func(all []connector.Point) []connector.Point) func(*broken) {
	return func(b *broken) {
		b.c.scan = func(ctx context.Context, c connector.Collection, vectors bool) iter.Seq2[connector.Point, error] {
			return func(yield func(connector.Point, error) bool) {
				var all []connector.Point
				for p, err := range c.Scan(ctx, vectors) {
					if err != nil {
						yield(p, err)
						return
					}
					all = append(all, p)
				}
				for _, p := range change(all) {
					if !yield(p, nil) {
						return
					}
				}
			}
		}
	}
}

// recorder stands in for testing.T.
type recorder struct {
	failed atomic.Bool
	first  atomic.Value
}

func (r *recorder) Helper() {}
func (r *recorder) Errorf(format string, _ ...any) {
	r.failed.Store(true)
	r.first.CompareAndSwap(nil, format)
}

func (r *recorder) Fatalf(format string, args ...any) {
	r.Errorf(format, args...)
	runtime.Goexit()
}

func TestPlants(t *testing.T) {
	covered := map[string]bool{}
	for name, plant := range plants() {
		want, _, _ := strings.Cut(name, ":")
		covered[want] = true
		t.Run(name, func(t *testing.T) {
			at := slices.IndexFunc(rules(), func(r rule) bool { return r.name == want })
			if at < 0 {
				t.Fatalf("no rule %q", want)
			}
			m := NewMemory()
			b := &broken{Sink: m, memory: m}
			plant(b)
			rec := &recorder{}
			done := make(chan struct{})
			go func() {
				defer close(done)
				opts := Options{ScanPoints: 2600, Reopen: func(*testing.T) connector.Sink { return nil }}.withDefaults()
				check(t.Context(), rec, rules()[at], b, opts, func() connector.Sink { return b })
			}()
			<-done
			if !rec.failed.Load() {
				t.Errorf("the rule does not catch it")
			}
		})
	}
	for _, r := range rules() {
		if !covered[r.name] {
			t.Errorf("no fault is planted for rule %q", r.name)
		}
	}
}

// The suite passes a sound sink through the same wrapper, so that what it catches is the fault.
func TestNoPlant(t *testing.T) {
	var last *broken
	Run(t, func(*testing.T) connector.Sink {
		m := NewMemory()
		last = &broken{Sink: m, memory: m}
		return last
	}, Options{Reopen: func(*testing.T) connector.Sink { return last }})
}

func plants() map[string]func(*broken) {
	all := shapePlants()
	for _, more := range []map[string]func(*broken){pointPlants(), writePlants(), searchPlants()} {
		for name, plant := range more {
			all[name] = plant
		}
	}
	return all
}

func shapePlants() map[string]func(*broken) {
	ctx := context.Background()
	return map[string]func(*broken){
		"stamp: it is forgotten": func(b *broken) {
			b.c.stamp = func(connector.Stamper) (string, error) { return "", nil }
		},
		"stamp: one for all collections": func(b *broken) {
			var first connector.Stamper
			b.c.stamp = func(s connector.Stamper) (string, error) {
				if first == nil {
					first = s
				}
				return first.Stamp(ctx)
			}
		},
		"empty: Live makes one": func(b *broken) {
			b.live = func() (connector.Collection, error) {
				return b.memory.Create(ctx, connector.Schema{Generation: "x", Dimensions: 16})
			}
		},
		"empty: Live fails in another way": func(b *broken) {
			b.live = func() (connector.Collection, error) { return nil, errors.New("404") }
		},
		"empty: a generation that is not there": func(b *broken) {
			b.generations = func() ([]connector.Schema, error) { return []connector.Schema{{}}, nil }
		},
		"empty: search fails": func(b *broken) {
			b.c.search = func(context.Context, connector.Collection, connector.Query) ([]connector.Hit, error) {
				return nil, errors.New("index is empty")
			}
		},
		"generations: the newest is live": func(b *broken) {
			b.create = func(s connector.Schema) (connector.Collection, error) {
				c, err := b.memory.Create(ctx, s)
				return c, errors.Join(err, b.memory.Promote(ctx, s.Generation))
			}
		},
		"generations: the live one is not first": func(b *broken) {
			b.generations = func() ([]connector.Schema, error) {
				g, err := b.memory.Generations(ctx)
				slices.Reverse(g)
				return g, err
			}
		},
		"generations: the schema is forgotten": func(b *broken) {
			b.generations = func() ([]connector.Schema, error) {
				g, err := b.memory.Generations(ctx)
				for i := range g {
					g[i].Model = ""
				}
				return g, err
			}
		},
		"generations: Promote of what is missing":   func(b *broken) { b.promote = func(g string) error { _ = b.memory.Promote(ctx, g); return nil } },
		"generations: Promote does nothing":         func(b *broken) { b.promote = func(string) error { return nil } },
		"generations: Create empties what is there": func(b *broken) { b.create = recreate(b) },
		"conflict: taken as it is": func(b *broken) {
			b.create = func(s connector.Schema) (connector.Collection, error) {
				c, err := b.memory.Create(ctx, s)
				if err != nil {
					return b.memory.Live(ctx)
				}
				return c, nil
			}
		},
		"conflict: without a class": func(b *broken) {
			b.create = func(s connector.Schema) (connector.Collection, error) {
				c, err := b.memory.Create(ctx, s)
				if err != nil {
					return nil, errors.New(err.Error())
				}
				return c, nil
			}
		},
		"marker: empty":           func(b *broken) { b.c.marker = func(connector.Collection) (string, error) { return "", nil } },
		"marker: always the same": func(b *broken) { b.c.marker = func(connector.Collection) (string, error) { return "m", nil } },
		"marker: the generation's name": func(b *broken) {
			b.c.marker = func(c connector.Collection) (string, error) { return c.Schema().Generation, nil }
		},
		"marker: changes": func(b *broken) {
			n := 0
			b.c.marker = func(connector.Collection) (string, error) { n++; return strings.Repeat("m", n), nil }
		},
		"drop: keeps the points": func(b *broken) {
			kept := map[string]connector.Point{}
			b.drop = func(g string) error {
				if c := b.memory.collections[g]; c != nil {
					kept = c.points
				}
				return b.memory.Drop(ctx, g)
			}
			b.create = func(s connector.Schema) (connector.Collection, error) {
				c, err := b.memory.Create(ctx, s)
				if m, ok := c.(*memoryCollection); ok && len(m.points) == 0 {
					m.points = kept
				}
				return c, err
			}
		},
		"drop: does nothing": func(b *broken) { b.drop = func(string) error { return nil } },
		"drop: of what is gone fails": func(b *broken) {
			b.drop = func(g string) error {
				if b.memory.collections[g] == nil {
					return errors.New("not found")
				}
				return b.memory.Drop(ctx, g)
			}
		},
		"drop: old handles go on": func(b *broken) {
			b.c.upsert = func(ctx context.Context, c connector.Collection, p []connector.Point) error {
				if err := c.Upsert(ctx, p); connector.ClassOf(err) != connector.ClassNotFound {
					return err
				}
				return nil
			}
		},
		"durability: forgets on Close": func(b *broken) {
			b.close = func() error { b.memory.live, b.memory.collections = "", map[string]*memoryCollection{}; return nil }
		},
		"durability: loses the last batch": func(b *broken) {
			b.close = func() error {
				for _, c := range b.memory.collections {
					delete(c.points, id(20))
				}
				return nil
			}
		},
		"cancel: writes go on": func(b *broken) {
			b.c.upsert = func(_ context.Context, c connector.Collection, p []connector.Point) error {
				return c.Upsert(context.Background(), p)
			}
		},
		"cancel: the cause is lost": func(b *broken) {
			b.c.count = func(ctx context.Context, c connector.Collection) (int, error) {
				n, err := c.Count(ctx)
				if err != nil {
					err = errors.New("aborted")
				}
				return n, err
			}
		},
		"cancel: scan ends as if complete": func(b *broken) {
			b.c.scan = func(ctx context.Context, c connector.Collection, v bool) iter.Seq2[connector.Point, error] {
				if ctx.Err() != nil {
					return func(func(connector.Point, error) bool) {}
				}
				return c.Scan(ctx, v)
			}
		},
	}
}

func recreate(b *broken) func(connector.Schema) (connector.Collection, error) {
	return func(s connector.Schema) (connector.Collection, error) {
		if c := b.memory.collections[s.Generation]; c != nil {
			c.points = map[string]connector.Point{}
		}
		return b.memory.Create(context.Background(), s)
	}
}

func pointPlants() map[string]func(*broken) {
	return map[string]func(*broken){
		"round trip: context is lost":  stored(func(p *connector.Point) { p.Context = "" }),
		"round trip: parent is lost":   stored(func(p *connector.Point) { p.ParentID = "" }),
		"round trip: spans are joined": stored(func(p *connector.Point) { p.Spans = p.Spans[:min(1, len(p.Spans))] }),
		"round trip: empty spans are none": stored(func(p *connector.Point) {
			if len(p.ContextSpans) == 0 {
				p.ContextSpans = nil
			}
		}),
		"round trip: context spans are lost": stored(func(p *connector.Point) { p.ContextSpans = nil }),
		"round trip: embedded text changes":  stored(func(p *connector.Point) { p.EmbedText = strings.TrimSpace(p.EmbedText) + " " }),
		"round trip: nil is dropped":         stored(func(p *connector.Point) { delete(p.Metadata, "nil") }),
		"round trip: empty list is dropped":  stored(func(p *connector.Point) { delete(p.Metadata, "no items") }),
		"round trip: nested is flattened": stored(func(p *connector.Point) {
			if p.Metadata["map"] != nil {
				p.Metadata["map"] = "map[k:map[deep:[1 二]]]"
			}
		}),
		"round trip: vector of bytes": stored(func(p *connector.Point) {
			for i, x := range p.Vector {
				p.Vector[i] = float32(math.Round(float64(x)*100)) / 100
			}
		}),
		"round trip: vectors unasked": func(b *broken) {
			b.c.fetch = func(ctx context.Context, c connector.Collection, ids []string, _ bool) ([]connector.Point, error) {
				return c.Fetch(ctx, ids, true)
			}
		},
		"hostile bytes: a NUL is cut out": stored(func(p *connector.Point) {
			p.Content, p.EmbedText = strings.ReplaceAll(p.Content, "\x00", ""), strings.ReplaceAll(p.EmbedText, "\x00", "")
		}),
		"hostile bytes: the batch is refused whole": func(b *broken) {
			b.c.upsert = func(ctx context.Context, c connector.Collection, points []connector.Point) error {
				for i := range points {
					if strings.ContainsRune(points[i].Content, 0) {
						return connector.Errorf(connector.ClassInvalid, "a NUL")
					}
				}
				return c.Upsert(ctx, points)
			}
		},
		"numbers: integers are floats": stored(func(p *connector.Point) {
			for k, v := range p.Metadata {
				if n, ok := v.(int64); ok {
					p.Metadata[k] = float64(n)
				}
			}
		}),
		"numbers: floats of 32 bits": stored(func(p *connector.Point) {
			for k, v := range p.Metadata {
				if x, ok := v.(float64); ok && math.Abs(x) < 10 {
					p.Metadata[k] = float64(float32(x))
				}
			}
		}),
		"texts: trimmed":       stored(func(p *connector.Point) { p.Content = strings.TrimSpace(p.Content) }),
		"texts: normalised":    stored(func(p *connector.Point) { p.Content = strings.ReplaceAll(p.Content, "e\u0301", "é") }),
		"texts: line ends":     stored(func(p *connector.Point) { p.Content = strings.ReplaceAll(p.Content, "\r\n", "\n") }),
		"texts: cut at 64 KiB": stored(func(p *connector.Point) { p.Content = p.Content[:min(len(p.Content), 65535)] }),
		"texts: ASCII":         stored(func(p *connector.Point) { p.Path = strings.ToValidUTF8(strings.ReplaceAll(p.Path, "汉", "?"), "?") }),
		"isolation: keeps the caller's values": func(b *broken) {
			kept := map[string]connector.Point{}
			b.c.upsert = func(ctx context.Context, c connector.Collection, points []connector.Point) error {
				for _, p := range points {
					kept[p.ChunkID] = p
				}
				return c.Upsert(ctx, points)
			}
			fetched(func(ids []string, out []connector.Point) []connector.Point {
				for i := range out {
					out[i] = kept[out[i].ChunkID]
				}
				return out
			})(b)
		},
		"fetch: as they come": fetched(func(_ []string, out []connector.Point) []connector.Point {
			slices.SortFunc(out, func(a, b connector.Point) int { return strings.Compare(a.ChunkID, b.ChunkID) })
			return out
		}),
		"fetch: blanks for what is missing": fetched(func(ids []string, out []connector.Point) []connector.Point {
			return append(out, make([]connector.Point, len(ids)-len(out))...)
		}),
		"fetch: the first page alone": fetched(func(_ []string, out []connector.Point) []connector.Point { return out[:min(len(out), 100)] }),
		"fetch: no ids means all": func(b *broken) {
			b.c.fetch = func(ctx context.Context, c connector.Collection, ids []string, v bool) ([]connector.Point, error) {
				if len(ids) == 0 {
					ids = []string{id(1)}
				}
				return c.Fetch(ctx, ids, v)
			}
		},
		"scan: the first 1,000 alone":  scanned(func(all []connector.Point) []connector.Point { return all[:min(len(all), 1000)] }),
		"scan: no order":               scanned(func(all []connector.Point) []connector.Point { return append(all[len(all)/2:], all[:len(all)/2]...) }),
		"scan: the last page twice":    scanned(func(all []connector.Point) []connector.Point { return append(all, all[len(all)-1:]...) }),
		"scan: a page's edge is lost":  scanned(func(all []connector.Point) []connector.Point { return slices.Delete(all, 1000, 1001) }),
		"scan: vectors are left out":   scanned(func(all []connector.Point) []connector.Point { return withoutVectors(all) }),
		"scan: records are left empty": scanned(func(all []connector.Point) []connector.Point { return withoutRecords(all) }),
		"scan: paged by offset": func(b *broken) {
			b.c.scan = func(ctx context.Context, c connector.Collection, v bool) iter.Seq2[connector.Point, error] {
				return scanByOffset(ctx, c, v)
			}
		},
	}
}

func withoutVectors(all []connector.Point) []connector.Point {
	for i := range all {
		all[i].Vector = nil
	}
	return all
}

func withoutRecords(all []connector.Point) []connector.Point {
	for i := range all {
		all[i].Record = connector.Record{ChunkID: all[i].ChunkID}
	}
	return all
}

func scanByOffset(ctx context.Context, c connector.Collection, vectors bool) iter.Seq2[connector.Point, error] {
	return func(yield func(connector.Point, error) bool) {
		for offset := 0; ; offset += 100 {
			n := 0
			for p, err := range c.Scan(ctx, vectors) { // each page from the state of now
				if n++; n <= offset {
					continue
				}
				if !yield(p, err) || err != nil {
					return
				}
				if n == offset+100 {
					break
				}
			}
			if n < offset+100 {
				return
			}
		}
	}
}

func writePlants() map[string]func(*broken) {
	return map[string]func(*broken){
		"replace: metadata is merged": func(b *broken) {
			b.c.upsert = func(ctx context.Context, c connector.Collection, points []connector.Point) error {
				for i, p := range points {
					old, err := c.Fetch(ctx, []string{p.ChunkID}, true)
					if err != nil {
						return err
					}
					if len(old) == 1 {
						for k, v := range p.Metadata {
							old[0].Metadata[k] = v
						}
						points[i].Metadata = old[0].Metadata
					}
				}
				return c.Upsert(ctx, points)
			}
		},
		"replace: the first stays": func(b *broken) {
			b.c.upsert = func(ctx context.Context, c connector.Collection, points []connector.Point) error {
				for _, p := range points {
					if old, err := c.Fetch(ctx, []string{p.ChunkID}, false); err != nil || len(old) == 0 {
						if err := errors.Join(err, c.Upsert(ctx, []connector.Point{p})); err != nil {
							return err
						}
					}
				}
				return nil
			}
		},
		"replace: counted twice": func(b *broken) {
			extra := 0
			b.c.upsert = func(ctx context.Context, c connector.Collection, p []connector.Point) error {
				if old, err := c.Fetch(ctx, []string{p[0].ChunkID}, false); err == nil {
					extra += len(old)
				}
				return c.Upsert(ctx, p)
			}
			b.c.count = func(ctx context.Context, c connector.Collection) (int, error) {
				n, err := c.Count(ctx)
				return n + extra, err
			}
		},
		"replace: old words stay indexed": answered(func(q connector.Query, hits []connector.Hit) []connector.Hit {
			if q.Text == "n3" {
				hits = append(hits, connector.Hit{Point: connector.Point{Record: connector.Record{ChunkID: id(3)}}})
			}
			return hits
		}),
		"store only: a zero vector": stored(func(p *connector.Point) {
			if p.Vector == nil {
				p.Vector = make([]float32, 16)
				p.Vector[0] = 1
			}
		}),
		"store only: not counted": func(b *broken) {
			b.c.count = func(ctx context.Context, c connector.Collection) (int, error) {
				n := 0
				for p, err := range c.Scan(ctx, true) {
					if err != nil {
						return 0, err
					}
					if p.Vector != nil {
						n++
					}
				}
				return n, nil
			}
		},
		"store only: the old vector stays": func(b *broken) {
			b.c.upsert = func(ctx context.Context, c connector.Collection, points []connector.Point) error {
				for i, p := range points {
					if old, err := c.Fetch(ctx, []string{p.ChunkID}, true); err == nil && len(old) == 1 && p.Vector == nil {
						points[i].Vector = old[0].Vector
					}
				}
				return c.Upsert(ctx, points)
			}
		},
		"partial failure: all or nothing": func(b *broken) {
			b.c.upsert = func(ctx context.Context, c connector.Collection, points []connector.Point) error {
				for _, p := range points {
					if len(p.Vector) != c.Schema().Dimensions {
						return connector.Errorf(connector.ClassInvalid, "bad batch")
					}
				}
				return c.Upsert(ctx, points)
			}
		},
		"partial failure: silent": func(b *broken) {
			b.c.upsert = func(ctx context.Context, c connector.Collection, points []connector.Point) error {
				_ = c.Upsert(ctx, points)
				return nil
			}
		},
		"partial failure: off by one": reindexed(func(i int) int { return i + 1 }),
		"partial failure: others are lost": func(b *broken) {
			b.c.upsert = func(ctx context.Context, c connector.Collection, points []connector.Point) error {
				err := c.Upsert(ctx, points)
				if err == nil {
					return nil
				}
				var ids []string
				for _, p := range points {
					ids = append(ids, p.ChunkID)
				}
				return errors.Join(err, c.Delete(ctx, ids))
			}
		},
		"partial failure: without a class": func(b *broken) {
			b.c.upsert = func(ctx context.Context, c connector.Collection, points []connector.Point) error {
				err := c.Upsert(ctx, points)
				var batch *connector.BatchError
				if errors.As(err, &batch) {
					for i, e := range batch.Items {
						batch.Items[i] = errors.New(e.Error())
					}
				}
				return err
			}
		},
		"delete: nothing means all": func(b *broken) {
			b.c.delete = func(ctx context.Context, c connector.Collection, ids []string) error {
				if len(ids) == 0 {
					for p, err := range c.Scan(ctx, false) {
						if err != nil {
							return err
						}
						ids = append(ids, p.ChunkID)
					}
				}
				return c.Delete(ctx, ids)
			}
		},
		"delete: unknown ids fail": func(b *broken) {
			b.c.delete = func(ctx context.Context, c connector.Collection, ids []string) error {
				if got, err := c.Fetch(ctx, ids, false); err != nil || len(got) < len(ids) {
					return errors.New("unknown id")
				}
				return c.Delete(ctx, ids)
			}
		},
		"delete: the first alone": func(b *broken) {
			b.c.delete = func(ctx context.Context, c connector.Collection, ids []string) error {
				return c.Delete(ctx, ids[:min(1, len(ids))])
			}
		},
		"delete: still a hit": func(b *broken) {
			b.c.search = func(ctx context.Context, c connector.Collection, q connector.Query) ([]connector.Hit, error) {
				hits, err := c.Search(ctx, q)
				return append(hits, connector.Hit{Score: math.Inf(-1), Point: connector.Point{Record: connector.Record{ChunkID: id(7)}}}), err
			}
		},
		"payload: the vector is lost": func(b *broken) {
			b.c.payload = func(ctx context.Context, c connector.Collection, records []connector.Record) error {
				var points []connector.Point
				for _, r := range records {
					points = append(points, connector.Point{Record: r})
				}
				return c.Upsert(ctx, points)
			}
		},
		"payload: metadata alone": func(b *broken) {
			b.c.payload = func(ctx context.Context, c connector.Collection, records []connector.Record) error {
				for i, r := range records {
					old, err := c.Fetch(ctx, []string{r.ChunkID}, false)
					if err == nil && len(old) == 1 {
						records[i] = old[0].Record
						records[i].Metadata = r.Metadata
					}
				}
				return c.UpdatePayload(ctx, records)
			}
		},
		"payload: makes what is missing": func(b *broken) {
			b.c.payload = func(ctx context.Context, c connector.Collection, records []connector.Record) error {
				err := c.UpdatePayload(ctx, records)
				var batch *connector.BatchError
				if !errors.As(err, &batch) {
					return err
				}
				for i := range batch.Items {
					if err := c.Upsert(ctx, []connector.Point{{Record: records[i]}}); err != nil {
						return err
					}
				}
				return nil
			}
		},
		"payload: not supported, but claimed": func(b *broken) {
			b.c.payload = func(context.Context, connector.Collection, []connector.Record) error { return connector.ErrUnsupported }
		},
		"concurrency: writes are lost": func(b *broken) {
			var active atomic.Int32
			b.c.upsert = func(ctx context.Context, c connector.Collection, points []connector.Point) error {
				defer active.Add(-1)
				if active.Add(1) > 1 {
					return nil
				}
				runtime.Gosched()
				return c.Upsert(ctx, points)
			}
		},
		"concurrency: hits without records": answered(func(q connector.Query, hits []connector.Hit) []connector.Hit {
			for i := range hits {
				hits[i].Record = connector.Record{ChunkID: hits[i].ChunkID}
			}
			return hits
		}),
	}
}

func reindexed(change func(int) int) func(*broken) {
	return func(b *broken) {
		b.c.upsert = func(ctx context.Context, c connector.Collection, points []connector.Point) error {
			err := c.Upsert(ctx, points)
			var batch *connector.BatchError
			if !errors.As(err, &batch) {
				return err
			}
			items := map[int]error{}
			for i, e := range batch.Items {
				items[change(i)] = e
			}
			return &connector.BatchError{Items: items}
		}
	}
}

func searchPlants() map[string]func(*broken) {
	swap := func(mode connector.SearchMode) func(connector.Query, []connector.Hit) []connector.Hit {
		return func(q connector.Query, hits []connector.Hit) []connector.Hit {
			if q.Mode == mode && len(hits) > 2 {
				hits[0], hits[2] = hits[2], hits[0]
			}
			return hits
		}
	}
	return map[string]func(*broken){
		"dense: approximate": answered(func(q connector.Query, hits []connector.Hit) []connector.Hit {
			if q.K == 10 && len(hits) > 5 {
				return slices.Delete(hits, 3, 4)
			}
			return hits
		}),
		"dense: no order":           answered(swap(connector.ModeDense)),
		"dense: k is at most 100":   asked(func(q *connector.Query) { q.K = min(q.K, 100) }),
		"dense: k = 0 is a default": asked(func(q *connector.Query) { q.K = max(q.K, 10) }),
		"dense: pads the query": asked(func(q *connector.Query) {
			for len(q.Vector) < 16 {
				q.Vector = append(q.Vector, 0)
			}
		}),
		"dense: hits without records": answered(func(_ connector.Query, hits []connector.Hit) []connector.Hit {
			for i := range hits {
				hits[i].Metadata = nil
			}
			return hits
		}),
		"ties: the highest ids": answered(func(q connector.Query, hits []connector.Hit) []connector.Hit { slices.Reverse(hits); return hits }),
		"lexical: words between spaces alone": asked(func(q *connector.Query) {
			q.Text = strings.Map(func(r rune) rune {
				if r > 0x3000 && r < 0xFF00 {
					return ' '
				}
				return r
			}, q.Text)
		}),
		"lexical: case matters": asked(func(q *connector.Query) {
			if q.Text != strings.ToLower(q.Text) {
				q.Text = "nothing"
			}
		}),
		"lexical: all words are needed": answered(func(q connector.Query, hits []connector.Hit) []connector.Hit {
			if strings.Contains(q.Text, " ") {
				return nil
			}
			return hits
		}),
		"lexical: always something": func(b *broken) {
			b.c.search = func(ctx context.Context, c connector.Collection, q connector.Query) ([]connector.Hit, error) {
				hits, err := c.Search(ctx, q)
				if len(hits) == 0 {
					q.Mode, q.Vector = connector.ModeDense, unit(append([]float32{1}, make([]float32, 15)...))
					return c.Search(ctx, q)
				}
				return hits, err
			}
		},
		"lexical: content alone is indexed": stored(func(p *connector.Point) { p.EmbedText = p.Content[:min(len(p.Content), 5)] }),
		"hostile questions: a syntax error": func(b *broken) {
			b.c.search = func(ctx context.Context, c connector.Collection, q connector.Query) ([]connector.Hit, error) {
				if strings.Count(q.Text, `"`)%2 == 1 {
					return nil, errors.New("fts5: syntax error")
				}
				return c.Search(ctx, q)
			}
		},
		"hybrid: dense alone":   asked(func(q *connector.Query) { q.Mode = connector.ModeDense }),
		"hybrid: lexical alone": asked(func(q *connector.Query) { q.Mode = connector.ModeLexical }),
		"hybrid: a hit twice": answered(func(_ connector.Query, hits []connector.Hit) []connector.Hit {
			if len(hits) == 10 {
				hits[9] = hits[8]
			}
			return hits
		}),
		"filters: left out":           asked(func(q *connector.Query) { q.Filter = nil }),
		"filters: the first alone":    asked(func(q *connector.Query) { q.Filter = q.Filter[:min(1, len(q.Filter))] }),
		"filters: first value alone":  asked(func(q *connector.Query) { q.Filter = firstValues(q.Filter) }),
		"filters: after the ranking":  filterAfter,
		"filters: no list membership": asked(func(q *connector.Query) { q.Filter = renamed(q.Filter, "tags", "absent") }),
		"filters: numbers as text":    asked(func(q *connector.Query) { q.Filter = numbersFromText(q.Filter) }),
		"filters: no doc_id":          asked(func(q *connector.Query) { q.Filter = renamed(q.Filter, "doc_id", "absent") }),
		"modes: one is not there": func(b *broken) {
			b.c.search = func(ctx context.Context, c connector.Collection, q connector.Query) ([]connector.Hit, error) {
				if q.Mode == connector.ModeHybrid {
					return nil, connector.ErrUnsupported
				}
				return c.Search(ctx, q)
			}
		},
		"modes: nonsense is dense": asked(func(q *connector.Query) {
			if q.Mode == "nonsense" {
				q.Mode = connector.ModeDense
			}
		}),
	}
}

func firstValues(f connector.Filter) connector.Filter {
	f = slices.Clone(f)
	for i := range f {
		f[i].Values = f[i].Values[:min(1, len(f[i].Values))]
	}
	return f
}

func renamed(f connector.Filter, from, to string) connector.Filter {
	f = slices.Clone(f)
	for i := range f {
		if f[i].Field == from {
			f[i].Field = to
		}
	}
	return f
}

func numbersFromText(f connector.Filter) connector.Filter {
	f = slices.Clone(f)
	for i := range f {
		f[i].Values = slices.Clone(f[i].Values)
		for j, v := range f[i].Values {
			if v == "17" {
				f[i].Values[j] = 17
			}
		}
	}
	return f
}

func filterAfter(b *broken) {
	b.c.search = func(ctx context.Context, c connector.Collection, q connector.Query) ([]connector.Hit, error) {
		filter := q.Filter
		q.Filter = nil
		hits, err := c.Search(ctx, q)
		return slices.DeleteFunc(hits, func(h connector.Hit) bool { return !Matches(&h.Record, filter) }), err
	}
}
