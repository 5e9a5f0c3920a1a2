package sinktest

import (
	"context"
	"errors"

	"github.com/kbsync/kbsync/connector"
)

func empty(e *env) {
	schemas, err := e.sink.Generations(e.ctx)
	if err != nil || len(schemas) != 0 {
		e.Errorf("Generations of an empty place: %v, %v; want none", schemas, err)
	}
	if _, err := e.sink.Live(e.ctx); !errors.Is(err, connector.ErrNoCollection) {
		e.Errorf("Live of an empty place: %v, want ErrNoCollection", err)
	}
	target := e.sink.Target()
	if target.Kind == "" || target.String() != e.sink.Target().String() {
		e.Errorf("Target %q is empty or not stable", target)
	}
	c := e.create()
	e.wantCount(c, 0)
	e.flush(c)
	if got := e.fetch(c, true, id(1)); len(got) != 0 {
		e.Errorf("Fetch of an empty collection gave %d points", len(got))
	}
	if err := c.Upsert(e.ctx, nil); err != nil {
		e.Errorf("Upsert of nothing: %v", err)
	}
	for _, mode := range e.caps.Modes {
		if hits := e.search(c, connector.Query{Mode: mode, Vector: e.vector(1), Text: "handbook", K: 5}); len(hits) != 0 {
			e.Errorf("%s search of an empty collection gave %d hits", mode, len(hits))
		}
	}
}

func (e *env) wantGenerations(want ...string) {
	e.Helper()
	schemas, err := e.sink.Generations(e.ctx)
	if err != nil {
		e.Fatalf("Generations: %v", err)
	}
	got := map[string]bool{}
	for _, s := range schemas {
		got[s.Generation] = true
		if s != e.schema(s.Generation) {
			e.Errorf("the schema came back as %+v", s)
		}
	}
	if len(schemas) != len(want) || schemas[0].Generation != want[0] {
		e.Fatalf("Generations gives %v, want %v with the live one first", schemas, want)
	}
	for _, w := range want {
		if !got[w] {
			e.Errorf("generation %s is missing in %v", w, schemas)
		}
	}
}

func (e *env) wantLive(want string) {
	e.Helper()
	c, err := e.sink.Live(e.ctx)
	if err != nil {
		e.Fatalf("Live: %v", err)
	}
	if got := c.Schema(); got != e.schema(want) {
		e.Errorf("Live is %+v, want generation %s", got, want)
	}
}

func generations(e *env) {
	c1 := e.create()
	e.upsert(c1, e.point(1))
	e.wantLive("g1")
	c2 := e.createAs("g2")
	e.upsert(c2, e.point(2), e.point(3))
	e.wantLive("g1")
	e.wantGenerations("g1", "g2")
	e.wantCount(c1, 1)
	if err := e.sink.Promote(e.ctx, "g2"); err != nil {
		e.Fatalf("Promote: %v", err)
	}
	e.wantLive("g2")
	e.wantGenerations("g2", "g1")
	live, err := e.sink.Live(e.ctx)
	if err != nil {
		e.Fatalf("Live: %v", err)
	}
	e.wantSame(live, e.point(2), e.point(3))
	e.wantCount(live, 2)
	if err := e.sink.Promote(e.ctx, "g2"); err != nil {
		e.Errorf("Promote of the live generation: %v", err)
	}
	if err := e.sink.Promote(e.ctx, "nowhere"); err == nil {
		e.Errorf("Promote of an unknown generation succeeded")
	}
	e.wantLive("g2")
	again := e.createAs("g1") // opens what is there
	e.wantSame(again, e.point(1))
	e.wantCount(again, 1)
	e.wantLive("g2")
}

func conflict(e *env) {
	e.upsert(e.create(), e.point(1))
	for name, change := range map[string]func(*connector.Schema){
		"dimensions": func(s *connector.Schema) { s.Dimensions *= 2 },
		"model":      func(s *connector.Schema) { s.Model = "other/model@2" },
	} {
		s := e.schema("g1")
		change(&s)
		_, err := e.sink.Create(e.ctx, s)
		if connector.ClassOf(err) != connector.ClassConflict {
			e.Errorf("Create with another %s: %v, want an error of class conflict", name, err)
		}
	}
	e.wantSame(e.create(), e.point(1))
}

func (e *env) marker(c connector.Collection) string {
	e.Helper()
	m, err := c.Marker(e.ctx)
	if err != nil || m == "" {
		e.Fatalf("Marker: %q, %v", m, err)
	}
	return m
}

func marker(e *env) {
	first := e.marker(e.create())
	if again := e.marker(e.create()); again != first {
		e.Errorf("the marker changed from %s to %s though the collection is the same", first, again)
	}
	live, err := e.sink.Live(e.ctx)
	if err != nil {
		e.Fatalf("Live: %v", err)
	}
	if m := e.marker(live); m != first {
		e.Errorf("the marker is %s through Live and %s through Create", m, first)
	}
	if second := e.marker(e.createAs("g2")); second == first {
		e.Errorf("two generations share the marker %s", first)
	}
	e.promoteAndDrop("g2", "g1")
	if made := e.marker(e.create()); made == first {
		e.Errorf("the marker %s is the same after the collection was dropped and made again", first)
	}
}

// stamps: a sink that keeps a note keeps it with the collection, whatever is written beside it.
func stamps(e *env) {
	c := e.create()
	first, ok := c.(connector.Stamper)
	if !ok {
		return
	}
	want := func(s connector.Stamper, stamp string) {
		e.Helper()
		if got, err := s.Stamp(e.ctx); err != nil || got != stamp {
			e.Errorf("Stamp: %q, %v; want %q", got, err, stamp)
		}
	}
	set := func(s connector.Stamper, stamp string) {
		e.Helper()
		if err := s.SetStamp(e.ctx, stamp); err != nil {
			e.Fatalf("SetStamp: %v", err)
		}
	}
	mark := e.marker(c)
	want(first, "")
	set(first, `{"pipeline 名":"one"}`)
	e.upsert(c, e.points(0, 3)...)
	want(first, `{"pipeline 名":"one"}`)
	e.wantCount(c, 3)
	again, _ := e.create().(connector.Stamper)
	want(again, `{"pipeline 名":"one"}`)
	other, _ := e.createAs("g2").(connector.Stamper)
	want(other, "")
	set(other, "two")
	set(first, "three")
	want(again, "three")
	want(other, "two")
	if m := e.marker(c); m != mark {
		e.Errorf("the marker changed from %s to %s with the stamp", mark, m)
	}
	e.wantGenerations("g1", "g2")
	e.promoteAndDrop("g2", "g1")
	live, err := e.sink.Live(e.ctx)
	if err != nil {
		e.Fatalf("Live: %v", err)
	}
	kept, _ := live.(connector.Stamper)
	want(kept, "two")
	fresh, _ := e.create().(connector.Stamper)
	want(fresh, "")
}

func (e *env) promoteAndDrop(live, gone string) {
	e.Helper()
	if err := e.sink.Promote(e.ctx, live); err != nil {
		e.Fatalf("Promote: %v", err)
	}
	if err := e.sink.Drop(e.ctx, gone); err != nil {
		e.Fatalf("Drop: %v", err)
	}
}

func drop(e *env) {
	old := e.create()
	e.upsert(old, e.points(0, 20)...)
	e.upsert(e.createAs("g2"), e.point(1))
	e.promoteAndDrop("g2", "g1")
	e.wantGenerations("g2")
	if err := old.Upsert(e.ctx, e.points(0, 1)); err == nil {
		e.Errorf("Upsert into a dropped collection succeeded")
	}
	if err := e.sink.Drop(e.ctx, "g1"); err != nil {
		e.Errorf("Drop of what is gone: %v", err)
	}
	c := e.create()
	e.wantCount(c, 0)
	if got := e.fetch(c, false, id(1)); len(got) != 0 {
		e.Errorf("a dropped point is back in the new collection")
	}
	e.wantLive("g2")
}

func cancelled(e *env) {
	c := e.create()
	e.upsert(c, e.points(0, 5)...)
	ctx, cancel := context.WithCancel(e.ctx)
	cancel()
	calls := map[string]func() error{
		"Upsert":  func() error { return c.Upsert(ctx, e.points(5, 6)) },
		"Delete":  func() error { return c.Delete(ctx, []string{id(0)}) },
		"Fetch":   func() error { _, err := c.Fetch(ctx, []string{id(1)}, false); return err },
		"Count":   func() error { _, err := c.Count(ctx); return err },
		"Create":  func() error { _, err := e.sink.Create(ctx, e.schema("g2")); return err },
		"Promote": func() error { return e.sink.Promote(ctx, "g1") },
	}
	if e.caps.Payload {
		calls["UpdatePayload"] = func() error { return c.UpdatePayload(ctx, []connector.Record{e.point(1).Record}) }
	}
	if e.caps.Scan {
		calls["Scan"] = func() error {
			for _, err := range c.Scan(ctx, false) {
				if err != nil {
					return err
				}
			}
			return nil
		}
	}
	for _, mode := range e.caps.Modes {
		calls["Search "+string(mode)] = func() error {
			_, err := c.Search(ctx, connector.Query{Mode: mode, Vector: e.vector(1), Text: "handbook", K: 3})
			return err
		}
	}
	for name, call := range calls {
		if err := call(); !errors.Is(err, context.Canceled) {
			e.Errorf("%s with a cancelled context: %v, want context.Canceled", name, err)
		}
	}
	e.wantSame(c, e.points(0, 5)...)
	e.wantCount(c, 5)
}

func durability(e *env) {
	if e.reopen == nil {
		return
	}
	c := e.create()
	e.upsert(c, e.points(0, 30)...)
	if err := c.Delete(e.ctx, []string{id(3)}); err != nil {
		e.Fatalf("Delete: %v", err)
	}
	e.flush(c)
	mark := e.marker(c)
	if err := e.sink.Close(); err != nil {
		e.Fatalf("Close: %v", err)
	}
	e.sink = e.reopen()
	live, err := e.sink.Live(e.ctx)
	if err != nil {
		e.Fatalf("Live after reopening: %v", err)
	}
	e.wantCount(live, 29)
	e.wantSame(live, e.points(4, 30)...)
	if m := e.marker(live); m != mark {
		e.Errorf("the marker changed from %s to %s", mark, m)
	}
}
