package sinktest

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/kbsync/kbsync/connector"
)

func roundTrip(e *env) {
	c := e.create()
	full := e.point(1)
	full.ParentID, full.Context = id(99), "Handbook > 一\n"
	full.EmbedText = full.Context + full.Content
	full.Spans = []connector.Span{{Start: 0, End: 5}, {Start: 9, End: 12}}
	full.ContextSpans = []connector.Span{{Start: 1, End: 2}}
	full.Metadata = map[string]any{
		"string": "值 \"quoted\" \\ <b>&", "empty": "", "int": 42, "negative": -7, "float": 0.1, "true": true, "false": false, "nil": nil,
		"list": []any{"a", 1, 2.5, nil, true}, "strings": []string{"x", "y"}, "no items": []any{},
		"map": map[string]any{"k": map[string]any{"deep": []any{1, "二"}}}, "键 with space.and'quotes\"": "v", "chunk_index": 3,
	}
	bare := connector.Point{Vector: e.vector(2), Record: connector.Record{ChunkID: id(2), DocID: id(5), Source: "s", Path: "p"}}
	empty := e.point(3)
	empty.Spans, empty.ContextSpans, empty.Metadata = []connector.Span{}, []connector.Span{}, map[string]any{"headings": []string{}}
	e.upsert(c, full, bare, empty)
	e.wantSame(c, full, bare, empty)
	e.wantCount(c, 3)
	if got := e.fetch(c, false, id(1)); len(got) != 1 || got[0].Vector != nil {
		e.Errorf("Fetch without vectors gave %d points, or a vector", len(got))
	}
}

func numbers(e *env) {
	values := map[string]any{"zero": 0, "pi": math.Pi, "tiny": 5e-324, "big": 1.7976931348623157e308, "third": 1.0 / 3, "2^53": 1 << 53, "-1": -1, "1e21": 1e21}
	if !e.opts.SafeIntegers {
		values["2^53+1"], values["max"], values["min"] = int64(1<<53+1), int64(math.MaxInt64), int64(math.MinInt64)
	}
	c := e.create()
	p := e.point(1)
	p.Metadata = values
	e.upsert(c, p)
	e.wantSame(c, p)
}

func texts(e *env) {
	c := e.create()
	var all []connector.Point
	for i, text := range []string{
		"", " ", "\n", "汉字、かな、한국어", "👩‍👩‍👧‍👦 🇨🇳 e\u0301", "it's \"quoted\" \\ back\\slash %s $1 ?", "tab\tand\r\nlines\n\n",
		"'; DROP TABLE points; --", "\u200d\u200e\ufeff", strings.Repeat("长文本 long text. ", 50_000), strings.Repeat("x", 1<<20),
	} {
		p := e.point(i)
		p.Content, p.EmbedText, p.Path = text, text, "dir/"+strings.TrimSpace(text[:min(len(text), 9)])+fmt.Sprint(i)
		p.Path = strings.ToValidUTF8(p.Path, "_")
		p.ContentHash = connector.ContentHash(text)
		if limit := e.maxText(); limit > 0 && len(text) > limit {
			e.wantBatchError(c.Upsert(e.ctx, []connector.Point{e.point(900), p, e.point(901)}), connector.ClassInvalid, 1)
			continue
		}
		all = append(all, p)
	}
	for _, p := range all { // one by one: together they may exceed a batch's limit of bytes
		e.upsert(c, p)
	}
	e.wantSame(c, all...)
}

func (e *env) maxText() int {
	if e.caps.Mapping == nil {
		return 0
	}
	return e.caps.Mapping.MaxTextBytes
}

// hostileBytes: what a server or its client cannot take is refused by name, and spoils nothing beside it.
func hostileBytes(e *env) {
	c := e.create()
	for what, bad := range map[string]string{"a NUL": "ef\x00fect", "invalid UTF-8": "caf\xe9 \xff\xfe"} {
		for field, set := range map[string]func(*connector.Point){
			"the text":         func(p *connector.Point) { p.Content, p.EmbedText = bad, bad },
			"the path":         func(p *connector.Point) { p.Path = bad },
			"a metadata value": func(p *connector.Point) { p.Metadata["note"] = bad },
			"a nested value":   func(p *connector.Point) { p.Metadata["note"] = map[string]any{"deep": []any{bad}} },
			"a metadata key":   func(p *connector.Point) { p.Metadata[bad] = true },
		} {
			if err := c.Delete(e.ctx, []string{id(1), id(2), id(3)}); err != nil {
				e.Fatalf("Delete: %v", err)
			}
			p := e.point(2)
			set(&p)
			err := c.Upsert(e.ctx, []connector.Point{e.point(1), p, e.point(3)})
			e.flush(c)
			switch {
			case err != nil:
				e.wantBatchError(err, connector.ClassInvalid, 1)
				e.wantCount(c, 2)
			case what == "a NUL":
				e.wantSame(c, p)
			}
			e.wantSame(c, e.point(1), e.point(3))
			if err := c.Delete(e.ctx, []string{id(2)}); err != nil {
				e.Errorf("%s in %s: Delete: %v", what, field, err)
			}
			e.flush(c)
		}
	}
}

// isolation: what the caller does to its values after a call, or to those that it got, is its own affair.
func isolation(e *env) {
	c := e.create()
	p, want := e.point(1), e.point(1)
	p.Metadata["list"], want.Metadata["list"] = []any{"a"}, []any{"a"}
	spoil := func(p *connector.Point) {
		p.Vector[0], p.Spans[0].Start, p.Metadata["team"] = 99, 77, "spoilt"
		p.Metadata["list"].([]any)[0] = "spoilt" //nolint:forcetypeassert // set above, or the record came back changed
	}
	e.upsert(c, p)
	spoil(&p)
	e.wantSame(c, want)
	got := e.fetch(c, true, id(1))
	spoil(&got[0])
	e.wantSame(c, want)
}

func replace(e *env) {
	c := e.create()
	e.upsert(c, e.points(0, 10)...)
	changed := e.point(3)
	changed.Vector = e.vector(1003)
	changed.Content = "Entirely different words about zebras. 斑马"
	changed.EmbedText = changed.Content
	changed.Metadata = map[string]any{"new": true}
	changed.Spans = nil
	e.upsert(c, changed)
	e.wantSame(c, changed, e.point(4))
	e.wantCount(c, 10)
	if e.has(connector.ModeDense) {
		if hits := e.search(c, connector.Query{Mode: connector.ModeDense, Vector: e.vector(1003), K: 1}); len(hits) != 1 || hits[0].ChunkID != id(3) {
			e.Errorf("the new vector is not found")
		}
		hits := e.search(c, connector.Query{Mode: connector.ModeDense, Vector: e.vector(3), K: 1})
		if len(hits) == 1 && hits[0].ChunkID == id(3) && hits[0].Score > similarity(e.opts.Distance, e.vector(3), e.vector(1003))+1e-3 {
			e.Errorf("the old vector is still searched")
		}
	}
	if e.has(connector.ModeLexical) {
		for text, want := range map[string]bool{"zebras": true, "斑马": true, "n3": false} {
			found := slices.Contains(hitIDs(e.search(c, connector.Query{Mode: connector.ModeLexical, Text: text, K: 10})), id(3))
			if found != want {
				e.Errorf("%q finds the replaced point: %v, want %v", text, found, want)
			}
		}
	}
}

func storeOnly(e *env) {
	c := e.create()
	parent := e.point(1)
	parent.Vector = nil
	e.upsert(c, parent, e.point(2))
	e.wantSame(c, parent, e.point(2))
	e.wantCount(c, 2)
	never := func(what string) {
		e.Helper()
		for _, mode := range e.caps.Modes {
			for _, h := range e.search(c, connector.Query{Mode: mode, Vector: e.vector(1), Text: "n1 handbook 手册", K: 10}) {
				if h.ChunkID == id(1) {
					e.Errorf("%s: a store-only point is a hit of a %s search", what, mode)
				}
			}
		}
	}
	never("stored without a vector")
	e.upsert(c, e.point(1)) // it gets a vector
	e.wantSame(c, e.point(1))
	for _, mode := range e.caps.Modes {
		if !slices.Contains(hitIDs(e.search(c, connector.Query{Mode: mode, Vector: e.vector(1), Text: "n1", K: 10})), id(1)) {
			e.Errorf("a point that got a vector is no hit of a %s search", mode)
		}
	}
	e.upsert(c, parent) // and loses it
	e.wantSame(c, parent, e.point(2))
	e.wantCount(c, 2)
	never("the vector was taken away")
}

func partialFailure(e *env) {
	c := e.create()
	batch := e.points(0, 6)
	batch[1].Vector = append(batch[1].Vector, 0.5)
	batch[2].Vector[3] = float32(math.NaN())
	batch[4].Vector[0] = float32(math.Inf(-1))
	e.wantBatchError(c.Upsert(e.ctx, batch), connector.ClassInvalid, 1, 2, 4)
	e.flush(c)
	e.wantSame(c, e.point(0), e.point(3), e.point(5))
	e.wantCount(c, 3)
	old := e.point(3)
	bad := e.point(3)
	bad.Vector = bad.Vector[1:]
	e.wantBatchError(c.Upsert(e.ctx, []connector.Point{bad, e.point(7)}), connector.ClassInvalid, 0)
	e.flush(c)
	e.wantSame(c, old, e.point(7))
}

func remove(e *env) {
	c := e.create()
	e.upsert(c, e.points(0, 40)...)
	for name, ids := range map[string][]string{"nothing": nil, "an empty list": {}, "unknown ids": {id(500), id(501)}} {
		if err := c.Delete(e.ctx, ids); err != nil {
			e.Errorf("Delete of %s: %v", name, err)
		}
	}
	e.flush(c)
	e.wantCount(c, 40)
	if err := c.Delete(e.ctx, []string{id(7), id(600), id(8), id(7)}); err != nil {
		e.Fatalf("Delete: %v", err)
	}
	e.flush(c)
	e.wantCount(c, 38)
	if got := e.fetch(c, false, id(7), id(8)); len(got) != 0 {
		e.Errorf("%d deleted points can be fetched", len(got))
	}
	for _, mode := range e.caps.Modes {
		for _, h := range e.search(c, connector.Query{Mode: mode, Vector: e.vector(7), Text: "n7 n8", K: 40}) {
			if h.ChunkID == id(7) || h.ChunkID == id(8) {
				e.Errorf("a deleted point is a hit of a %s search", mode)
			}
		}
	}
	e.upsert(c, e.points(7, 9)...)
	e.upsert(c, e.points(40, 60)...)
	e.wantSame(c, e.points(0, 60)...)
	e.wantCount(c, 60)
}

func fetch(e *env) {
	c := e.create()
	e.upsert(c, e.points(0, 700)...)
	var ids []string
	var want []connector.Point
	for n := 699; n >= 0; n -= 2 {
		ids = append(ids, id(n), id(10_000+n))
		want = append(want, e.point(n))
	}
	got := e.fetch(c, true, ids...)
	if len(got) != len(want) {
		e.Fatalf("Fetch gave %d points, want %d", len(got), len(want))
	}
	for i := range want {
		if got[i].ChunkID != want[i].ChunkID {
			e.Fatalf("point %d is %s, want %s: Fetch keeps the order of ids", i, got[i].ChunkID, want[i].ChunkID)
		}
		e.same(got[i], want[i])
	}
	if got := e.fetch(c, true); len(got) != 0 {
		e.Errorf("Fetch of no ids gave %d points", len(got))
	}
}

func scan(e *env) {
	c := e.create()
	if !e.caps.Scan {
		for _, err := range c.Scan(e.ctx, false) {
			if !errors.Is(err, connector.ErrUnsupported) {
				e.Errorf("Scan: %v, want ErrUnsupported", err)
			}
			return
		}
		e.Errorf("Scan of a sink that cannot list yields nothing, want ErrUnsupported")
		return
	}
	all := e.points(0, e.opts.ScanPoints)
	e.upsert(c, all...)
	slices.SortFunc(all, func(a, b connector.Point) int { return strings.Compare(a.ChunkID, b.ChunkID) })
	for _, vectors := range []bool{true, false} {
		n := 0
		for p, err := range c.Scan(e.ctx, vectors) {
			if err != nil {
				e.Fatalf("Scan: %v", err)
			}
			if n >= len(all) || p.ChunkID != all[n].ChunkID {
				e.Fatalf("point %d of the scan is %s: want every point once, by ascending id", n, p.ChunkID)
			}
			want := all[n]
			if !vectors {
				want.Vector = nil
			}
			e.same(p, want)
			n++
		}
		if n != len(all) {
			e.Fatalf("the scan ended after %d of %d points", n, len(all))
		}
	}
	e.scanWhileWriting(c, all)
}

// scanWhileWriting: the consumer of a scan may write, and may stop early.
func (e *env) scanWhileWriting(c connector.Collection, all []connector.Point) {
	e.Helper()
	n := 0
	for p, err := range c.Scan(e.ctx, false) {
		if err != nil {
			e.Fatalf("Scan while writing: %v", err)
		}
		if n++; n%500 == 0 {
			if err := c.Delete(e.ctx, []string{p.ChunkID}); err != nil {
				e.Fatalf("Delete during a scan: %v", err)
			}
		}
	}
	if n != len(all) {
		e.Errorf("a scan during which points behind it are deleted gave %d of %d points", n, len(all))
	}
	for range c.Scan(e.ctx, true) {
		break
	}
	e.flush(c)
	e.wantCount(c, len(all)-len(all)/500)
}

func payload(e *env) {
	c := e.create()
	e.upsert(c, e.points(0, 12)...)
	moved := e.point(5)
	moved.Metadata = map[string]any{"index": 6, "fresh": "真"}
	moved.Spans = []connector.Span{{Start: 100, End: 150}}
	moved.Path, moved.Source, moved.ParentID, moved.TokenCount = "moved/文件.md", "other", id(77), 13
	if !e.caps.Payload {
		if err := c.UpdatePayload(e.ctx, []connector.Record{moved.Record}); !errors.Is(err, connector.ErrUnsupported) {
			e.Errorf("UpdatePayload: %v, want ErrUnsupported", err)
		}
		return
	}
	if err := c.UpdatePayload(e.ctx, nil); err != nil {
		e.Errorf("UpdatePayload of nothing: %v", err)
	}
	if err := c.UpdatePayload(e.ctx, []connector.Record{moved.Record}); err != nil {
		e.Fatalf("UpdatePayload: %v", err)
	}
	e.flush(c)
	e.wantSame(c, moved, e.point(6))
	e.wantCount(c, 12)
	for _, mode := range e.caps.Modes {
		hits := e.search(c, connector.Query{Mode: mode, Vector: e.vector(5), Text: "n5", K: 1})
		if len(hits) != 1 || hits[0].ChunkID != id(5) {
			e.Errorf("%s search does not find the point after its payload changed", mode)
			continue
		}
		hits[0].Vector = moved.Vector
		e.same(hits[0].Point, moved)
	}
	other := e.point(8)
	other.Metadata = map[string]any{"done": true}
	err := c.UpdatePayload(e.ctx, []connector.Record{e.point(900).Record, other.Record, e.point(901).Record})
	e.wantBatchError(err, connector.ClassNotFound, 0, 2)
	e.flush(c)
	e.wantSame(c, other)
	e.wantCount(c, 12)
}

func concurrency(e *env) {
	c := e.create()
	const writers, each = 4, 60
	var failures sync.Map
	note := func(what string, err error) {
		if err != nil {
			failures.Store(fmt.Sprintf("%s: %v", what, err), true)
		}
	}
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for n := w * each; n < (w+1)*each; n += 10 {
				note("Upsert", c.Upsert(e.ctx, e.points(n, n+10)))
				note("Delete", c.Delete(e.ctx, []string{id(n + 9)}))
			}
		})
		wg.Go(func() {
			for range 10 {
				_, err := c.Fetch(e.ctx, []string{id(w * each), id(w*each + 9)}, true)
				note("Fetch", err)
				_, err = c.Count(e.ctx)
				note("Count", err)
				for _, mode := range e.caps.Modes {
					hits, err := c.Search(e.ctx, connector.Query{Mode: mode, Vector: e.vector(w), Text: "handbook 手册", K: 5})
					note("Search", err)
					for _, h := range hits {
						if !strings.Contains(h.Content, "handbook") {
							failures.Store("a hit without its record: "+h.ChunkID, true)
						}
					}
				}
			}
		})
	}
	wg.Wait()
	failures.Range(func(what, _ any) bool {
		e.Errorf("%v", what)
		return true
	})
	e.flush(c)
	e.wantCount(c, writers*each*9/10)
	for n := range writers * each {
		if n%10 != 9 {
			e.wantSame(c, e.point(n))
		}
	}
}
