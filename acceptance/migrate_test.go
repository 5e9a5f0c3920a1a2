package acceptance

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/connector/config"
	"github.com/kbsync/kbsync/connector/pipeline"
)

// migrate fills the sink of a line of configuration.
func (r *rig) migrate(sink string, opts pipeline.MigrateOptions) (pipeline.Migrated, error) {
	r.tb.Helper()
	file, err := config.Parse(filepath.Join(r.dir, "to.yaml"), []byte(sink), r.reg, config.Options{Partial: true})
	if err != nil {
		r.tb.Fatal(err)
	}
	p := r.open()
	defer func() { _ = p.Close() }()
	return p.Migrate(context.Background(), file, opts)
}

// use changes the sink line.
func (r *rig) use(sink string) {
	var keep []string
	for _, line := range strings.Split(r.yaml, "\n") {
		if !strings.HasPrefix(line, "sink:") {
			keep = append(keep, line)
		}
	}
	r.yaml = strings.Join(keep, "\n") + "\n" + sink + "\n"
}

// quiet runs a sync that must find nothing to do.
func (r *rig) quiet(what string) {
	r.tb.Helper()
	res := r.sync()
	if n := res.Chunks.Upserted + res.Chunks.Repositioned + res.Chunks.Deleted; n != 0 || res.Documents.Added+res.Documents.Updated+res.Documents.Deleted != 0 {
		r.tb.Errorf("%s: the sync was not quiet: %+v", what, res)
	}
}

// swapTest is the life of a pipeline that changes its database: by a sync to the other one, by a migration, and back to the first, which was
// left behind meanwhile.
func swapTest(t *testing.T, a, b string) {
	r := newRig(t, "", a)
	for i := range 6 {
		r.write(fmt.Sprintf("dir/%d.md", i), "# 标题 "+fmt.Sprint(i)+"\n\n"+paragraphs(fmt.Sprint(i), 8))
	}
	r.sync()
	embedded := r.embeds.Load()
	none := func(what string) {
		t.Helper()
		if n := r.embeds.Load() - embedded; n != 0 {
			t.Errorf("%s embedded %d texts", what, n)
		}
		embedded = r.embeds.Load()
	}
	r.use(b)
	if res := r.sync(); res.Documents.Added != 6 {
		t.Errorf("the sync to an empty database: %+v", res.Documents)
	}
	none("a changed sink line")
	r.exact()
	r.quiet("after the swap")

	// b moves on; a is left behind.
	r.write("dir/1.md", "# 标题 1\n\n"+paragraphs("1", 5))
	r.write("new.md", paragraphs("new", 3))
	r.remove("dir/2.md")
	r.settle()
	r.sync()
	embedded = r.embeds.Load()
	rep, err := r.migrate(a, pipeline.MigrateOptions{})
	if err != nil || rep.Verified == nil || rep.Written == 0 || rep.Deleted == 0 || rep.Unchanged == 0 {
		t.Fatalf("migration to the database that was left behind: %+v, %v", rep, err)
	}
	none("the migration")
	r.use(a)
	if res := r.sync(); res.BytesRead != 0 || res.Documents.Unchanged != 6 {
		t.Errorf("the sync after a migration opened documents: %+v", res)
	}
	r.exact()

	// And back once more, by the sink line alone, after edits.
	r.write("dir/3.md", "# 标题 3\n\n"+paragraphs("3", 9))
	r.remove("new.md")
	r.sync()
	embedded = r.embeds.Load()
	r.use(b)
	r.sync()
	none("the return to a database that was edited meanwhile")
	r.exact()
	r.quiet("at the end")
}

func TestSwap(t *testing.T) {
	sinks := map[string]string{"memory": "sink: { memory: {} }", "other": "sink: { memory: { name: other } }", "sqlite": "sink: { sqlite: {} }"}
	for a, from := range sinks {
		for b, to := range sinks {
			if a != b {
				t.Run(a+" to "+b, func(t *testing.T) {
					t.Parallel()
					swapTest(t, from, to)
				})
			}
		}
	}
}

func TestMigrationIsResumed(t *testing.T) {
	const to = "sink: { memory: { name: other } }"
	for _, lost := range []bool{false, true} {
		for n := 1; ; n++ {
			r := newRig(t, "", "")
			r.write("a.md", paragraphs("a", 8))
			r.sync()
			other, calls := r.place("other"), 0
			other.Fault = func(op string, _ int) error {
				if strings.HasSuffix(op, ":done") == lost {
					if calls++; calls == n {
						return errors.New("gone")
					}
				}
				return nil
			}
			_, err := r.migrate(to, pipeline.MigrateOptions{})
			other.Fault = nil
			if calls < n {
				if err != nil {
					t.Fatal(err)
				}
				break
			}
			if err == nil {
				t.Fatalf("the fault at call %d was swallowed", n)
			}
			if _, err := r.migrate(to, pipeline.MigrateOptions{}); err != nil {
				t.Fatalf("after a fault at call %d: %v", n, err)
			}
			r.use(to)
			r.quiet(fmt.Sprintf("after a fault at call %d", n))
			r.exact()
		}
	}
}

func TestMigrationRefusesWhatDrifted(t *testing.T) {
	r := newRig(t, "", "")
	r.write("a.md", paragraphs("a", 8))
	r.sync()
	live, err := r.memory.Live(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	records := r.export()
	points, err := live.Fetch(t.Context(), []string{records[0].ChunkID}, true)
	if err != nil {
		t.Fatal(err)
	}
	points[0].Content, points[0].EmbedText = "altered", "altered"
	if err := live.Upsert(t.Context(), points); err != nil {
		t.Fatal(err)
	}
	if _, err := r.migrate("sink: { memory: { name: other } }", pipeline.MigrateOptions{}); err == nil || !strings.Contains(err.Error(), "verify --repair") {
		t.Errorf("an altered text was copied: %v", err)
	}
	if err := live.Delete(t.Context(), []string{records[0].ChunkID}); err != nil {
		t.Fatal(err)
	}
	if _, err := r.migrate("sink: { memory: { name: other } }", pipeline.MigrateOptions{}); err == nil || !strings.Contains(err.Error(), "lacks 1 chunks") {
		t.Errorf("a lost chunk was not missed: %v", err)
	}
	if _, err := r.migrate("sink: { memory: {} }", pipeline.MigrateOptions{}); pipeline.ExitCode(err) != pipeline.ExitUsage {
		t.Errorf("migration to itself: %v", err)
	}
}

// legacy is what another program wrote: texts cut as r's own chunks are, with the embedder's vectors times a factor.
func legacy(r *rig, spoil func(i int, f *connector.Foreign)) []connector.Foreign {
	r.tb.Helper()
	var out []connector.Foreign
	p := r.open()
	defer func() { _ = p.Close() }()
	i := 0
	for pt, err := range p.Export(context.Background(), true) {
		if err != nil {
			r.tb.Fatal(err)
		}
		f := connector.Foreign{ID: fmt.Sprint("old-", i), Vector: pt.Vector, Fields: map[string]any{
			"page_content": pt.EmbedText, "metadata": map[string]any{"source": pt.Path}, "team.x": "y"}}
		if spoil != nil {
			spoil(i, &f)
		}
		out = append(out, f)
		i++
	}
	return out
}

func (r *rig) adopt(opts pipeline.AdoptOptions) (pipeline.AdoptReport, error) {
	r.tb.Helper()
	p := r.open()
	defer func() { _ = p.Close() }()
	return p.Adopt(context.Background(), opts)
}

func TestAdopt(t *testing.T) {
	docs := t.TempDir()
	first := newRig(t, docs, "")
	first.write("a.md", paragraphs("a", 12))
	first.write("b.md", paragraphs("b", 12))
	first.sync()
	items := legacy(first, nil)
	items = append(items, items[0], connector.Foreign{ID: "x", Fields: map[string]any{"page_content": "  "}},
		connector.Foreign{ID: "y", Vector: []float32{float32(math.NaN())}, Fields: map[string]any{"page_content": "no vector"}})

	r := newRig(t, docs, "")
	r.memory.Others = map[string][]connector.Foreign{"old": items}
	opts := pipeline.AdoptOptions{Collection: "old", Content: "page_content", Path: "metadata.source", Source: "docs"}
	rep, err := r.adopt(opts)
	if err != nil {
		t.Fatal(err)
	}
	if rep.Documents != 3 || rep.Chunks != len(items)-2 || rep.Repeated != 1 || rep.NoText != 1 || rep.BadVector != 1 || rep.Checked == 0 {
		t.Errorf("%+v of %d items", rep, len(items))
	}
	if again, err := r.adopt(opts); err != nil || again.Chunks < rep.Chunks-1 || len(r.export()) != rep.Chunks {
		t.Errorf("a second adoption: %+v, %v, %d chunks", again, err, len(r.export()))
	}
	r.embeds.Store(0)
	r.sync()
	if n := r.embeds.Load(); n != 0 {
		t.Errorf("%d texts were embedded though their vectors were adopted", n)
	}
	r.exact()
}

func TestAdoptRefusesVectorsOfAnotherModel(t *testing.T) {
	first := newRig(t, "", "")
	first.write("a.md", paragraphs("a", 12))
	first.sync()
	r := newRig(t, first.docs, "")
	r.memory.Others = map[string][]connector.Foreign{"old": legacy(first, func(_ int, f *connector.Foreign) {
		for i := range f.Vector {
			f.Vector[i] = float32(i%3) - 1
		}
	})}
	opts := pipeline.AdoptOptions{Collection: "old", Content: "page_content", Source: "docs", VectorsOnly: true}
	if _, err := r.adopt(opts); pipeline.ExitCode(err) != pipeline.ExitRefused {
		t.Errorf("vectors of another model were adopted: %v", err)
	}
	opts.Collection = "nowhere"
	if _, err := r.adopt(opts); err == nil {
		t.Error("a collection that is not there was adopted")
	}
	opts.Content = ""
	if _, err := r.adopt(opts); pipeline.ExitCode(err) != pipeline.ExitUsage {
		t.Errorf("%v", err)
	}
	if _, err := os.Stat(filepath.Join(r.dir, "to.yaml")); err == nil {
		t.Error("a configuration was written")
	}
}
