package acceptance

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/connector/pipeline"
	"github.com/kbsync/kbsync/internal/faultproxy"
	"github.com/kbsync/kbsync/internal/servers"
	"github.com/kbsync/kbsync/internal/shareddata"
)

// backend is a database that the same pipeline is run against.
type backend struct {
	name   string
	server string // of package servers; empty for none
	// line is the sink line for a server at these addresses.
	line func(addr, addr2, collection string) string
	// env are variables for the start of the server.
	env []string
}

func backends() []backend {
	return []backend{
		{name: "sqlite", line: func(_, _, collection string) string {
			return fmt.Sprintf("sink: { sqlite: { collection: %s } }", collection)
		}},
		{name: "pgvector", server: "pgvector", line: func(addr, _, collection string) string {
			return fmt.Sprintf("sink: { pgvector: { url: %q, collection: %s } }", "postgres://postgres@"+addr+"/postgres?sslmode=disable", collection)
		}},
		{name: "weaviate", server: "weaviate", line: func(addr, addr2, collection string) string {
			return fmt.Sprintf("sink: { weaviate: { address: %q, grpc_address: %q, collection: %s } }", addr, addr2, collection)
		}},
		{name: "milvus", server: "milvus-lite", line: func(addr, _, collection string) string {
			return fmt.Sprintf("sink: { milvus: { address: %q, collection: %s } }", addr, collection)
		}},
		{name: "qdrant", server: "qdrant-double", line: func(addr, _, collection string) string {
			return fmt.Sprintf("sink: { qdrant: { address: %q, collection: %s } }", addr, collection)
		}},
		{name: "chroma", server: "chroma", line: func(addr, _, collection string) string {
			return fmt.Sprintf("sink: { chroma: { address: %q, collection: %s } }", "http://"+addr, collection)
		}},
		{name: "opensearch", server: "opensearch", line: func(addr, _, collection string) string {
			return fmt.Sprintf("sink: { opensearch: { address: %q, collection: %s } }", "http://"+addr, collection)
		}},
	}
}

// started is a backend with its server, which starts when it is first needed and ends with the test that made it.
type started struct {
	backend
	parent *testing.T
	once   sync.Once
	server *servers.Server
}

var collections atomic.Int64

// sink is a sink line with a collection of its own.
func (s *started) sink(t *testing.T) string {
	t.Helper()
	addr, addr2 := s.addresses(t)
	return s.line(addr, addr2, s.collection())
}

func (s *started) collection() string {
	return fmt.Sprintf("c%d_%d", os.Getpid(), collections.Add(1))
}

func (s *started) addresses(t *testing.T) (string, string) {
	t.Helper()
	if s.backend.server == "" {
		return "", ""
	}
	s.once.Do(func() {
		s.parent.Run("start/"+s.name, func(*testing.T) {}) // names the server in the output
		s.server = start(t, s.parent, s.backend)
	})
	if s.server == nil {
		t.Skip(s.name + " is not installed")
	}
	return s.server.Addr, s.server.Addr2
}

// start runs a server that lives as long as owner, if it is installed.
func start(t, owner *testing.T, b backend) *servers.Server {
	t.Helper()
	if !servers.Installed(t, b.server) {
		return nil
	}
	return servers.Start(owner, b.server, b.env...)
}

// TestServers runs the same pipeline against every database that is installed; KBSYNC_REQUIRE_SERVERS names those that must be.
func TestServers(t *testing.T) {
	all := map[string]*started{}
	var names []string
	for _, b := range backends() {
		all[b.name] = &started{backend: b, parent: t}
		names = append(names, b.name)
	}
	t.Run("same", func(t *testing.T) { serversSame(t, all, names) })
	t.Run("swap", func(t *testing.T) {
		for _, a := range names {
			for _, b := range names {
				if a != b {
					t.Run(a+" to "+b, func(t *testing.T) { swapTest(t, all[a].sink(t), all[b].sink(t)) })
				}
			}
		}
	})
	for _, name := range names {
		t.Run("life/"+name, func(t *testing.T) { serverLife(t, all[name]) })
		t.Run("twice/"+name, func(t *testing.T) { serverTwice(t, all[name]) })
		t.Run("generations/"+name, func(t *testing.T) { serverGenerations(t, all[name]) })
		if all[name].backend.server != "" {
			t.Run("connections/"+name, func(t *testing.T) { serverConnections(t, all[name]) })
			t.Run("adopt/"+name, func(t *testing.T) { serverAdopt(t, all[name]) })
			t.Run("memory/"+name, func(t *testing.T) { serverMemory(t, all[name]) })
			t.Run("crash/"+name, func(t *testing.T) { serverCrash(t, all[name].backend) })
		}
	}
}

// questions are 200 texts to ask: real questions, and the beginnings of chunks in both languages.
func questions(t *testing.T, records []connector.Record) []string {
	t.Helper()
	f, err := os.Open(filepath.Join(shareddata.Dir(t), "chroma_chunking_evaluation", "questions_df.csv"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for i := 1; len(out) < 100; i++ {
		out = append(out, rows[i][0])
	}
	step := len(records) / 100
	for i := 0; len(out) < 200; i += max(1, step) {
		text := []rune(strings.TrimSpace(records[i%len(records)].Content))
		out = append(out, string(text[:min(len(text), 40)])+" ?")
	}
	return out
}

// serversSame: the same configuration, sink line aside, gives the same chunks, ids and metadata, and the same answers.
func serversSame(t *testing.T, all map[string]*started, names []string) {
	docs := filepath.Join(shareddata.Dir(t), "fixtures")
	open := func(t *testing.T, name string) *rig {
		t.Helper()
		r := newRig(t, docs, all[name].sink(t)+"\nembedder: { lexical: { dimensions: 384 } }")
		r.opts.RetryWait = 50 * time.Millisecond
		if _, err := r.trySync(pipeline.SyncOptions{}); err != nil && pipeline.ExitCode(err) != pipeline.ExitFailed {
			t.Fatal(err)
		}
		return r
	}
	reference := open(t, names[0])
	records := reference.export()
	want := canonical(t, records)
	asked := questions(t, records)
	truth := reference.answers(asked, connector.ModeDense, true, 50)
	for _, name := range names[1:] {
		t.Run(name, func(t *testing.T) {
			r := open(t, name)
			got := canonical(t, r.export())
			if diff := firstDifference(got, want); diff != "" {
				t.Fatalf("%d records, want %d: %.2000s", len(got), len(want), diff)
			}
			if recall := recallOf(r.answers(asked, connector.ModeDense, true, 5), truth); recall != 1 {
				t.Errorf("exact search: %.4f of the best five", recall)
			}
			recall := recallOf(r.answers(asked, connector.ModeDense, false, 5), truth)
			t.Logf("%d chunks; recall@5 of the default index: %.4f", len(got), recall)
			if recall < 0.99 {
				t.Errorf("recall@5 of the default index is %.4f, want 0.99", recall)
			}
		})
	}
}

// answers asks every question.
func (r *rig) answers(asked []string, mode connector.SearchMode, exact bool, k int) [][]pipeline.Answer {
	r.tb.Helper()
	p := r.open()
	defer func() { _ = p.Close() }()
	out := make([][]pipeline.Answer, len(asked))
	for i, text := range asked {
		var err error
		if out[i], err = p.Query(context.Background(), pipeline.QueryOptions{Text: text, K: k, Mode: mode, Exact: exact}); err != nil {
			r.tb.Fatalf("%q: %v", text, err)
		}
	}
	return out
}

// recallOf is the share of the true best answers that were found. Answers whose true scores are equal stand for each other.
func recallOf(got, truth [][]pipeline.Answer) float64 {
	found, all := 0, 0
	for i := range truth {
		score := map[string]float64{}
		for _, a := range truth[i] {
			score[a.ChunkID] = a.Score
		}
		n := min(5, len(truth[i]))
		all += n
		if n == 0 {
			continue
		}
		worst := truth[i][n-1].Score
		for _, a := range got[i][:min(n, len(got[i]))] {
			if s, ok := score[a.ChunkID]; ok && s >= worst-1e-5 {
				found++
			}
		}
	}
	return float64(found) / float64(max(1, all))
}

// watch counts the calls of a sink that write.
type watch struct {
	writes, vectors, payloads atomic.Int64
	caps                      connector.SinkCapabilities
}

type watchedSink struct {
	connector.Sink
	w *watch
}

func (s watchedSink) Create(ctx context.Context, schema connector.Schema) (connector.Collection, error) {
	c, err := s.Sink.Create(ctx, schema)
	if err != nil {
		return nil, err
	}
	return watched(c, s.w), nil
}

// watched keeps the collection's optional abilities.
func watched(c connector.Collection, w *watch) connector.Collection {
	if st, ok := c.(connector.Stamper); ok {
		return stampedCollection{watchedCollection{c, w}, st}
	}
	return watchedCollection{c, w}
}

type watchedCollection struct {
	connector.Collection
	w *watch
}

type stampedCollection struct {
	watchedCollection
	st connector.Stamper
}

func (c stampedCollection) Stamp(ctx context.Context) (string, error) { return c.st.Stamp(ctx) }
func (c stampedCollection) SetStamp(ctx context.Context, s string) error {
	c.w.writes.Add(1)
	return c.st.SetStamp(ctx, s)
}

func (c watchedCollection) Upsert(ctx context.Context, p []connector.Point) error {
	c.w.writes.Add(1)
	c.w.vectors.Add(int64(len(p)))
	return c.Collection.Upsert(ctx, p)
}

func (c watchedCollection) UpdatePayload(ctx context.Context, r []connector.Record) error {
	c.w.writes.Add(1)
	c.w.payloads.Add(int64(len(r)))
	return c.Collection.UpdatePayload(ctx, r)
}

func (c watchedCollection) Delete(ctx context.Context, ids []string) error {
	if len(ids) > 0 {
		c.w.writes.Add(1)
	}
	return c.Collection.Delete(ctx, ids)
}

// watching makes a rig count; counts begin anew with each call.
func (r *rig) watching() *watch {
	w := &watch{}
	r.opts.WrapSink = func(s connector.Sink) connector.Sink {
		w.caps = s.Capabilities()
		return watchedSink{s, w}
	}
	return w
}

// serverLife: unchanged runs write nothing, small edits little, deletions all; a lost or old ledger costs reads; drift is found and mended.
func serverLife(t *testing.T, s *started) {
	r := newRig(t, "", s.sink(t))
	r.opts.RetryWait = 50 * time.Millisecond
	for i := range 4 {
		r.write(fmt.Sprintf("目录/文件 %d.md", i), "# Title "+fmt.Sprint(i)+"\n\n"+sections(i, 40))
	}
	r.write("data.csv", "name,price\nwidget,3\ngadget,4.5\n小部件,7\n")
	r.sync()
	r.exact()
	w := r.watching()
	r.quiet("the second sync")
	if n := w.writes.Load(); n != 0 {
		t.Errorf("an unchanged sync made %d calls that write", n)
	}

	// One line on top of a document of many chunks.
	before := r.embeds.Load()
	r.write("目录/文件 1.md", "# Title 1\n\nA new line stands here. 新的一行。\n\n"+sections(1, 40))
	r.sync()
	if n := r.embeds.Load() - before; n > 3 {
		t.Errorf("a line more embedded %d texts", n)
	}
	if p := w.caps.Payload; p && w.vectors.Load() > 3 || !p && w.payloads.Load() > 0 {
		t.Errorf("a line more wrote %d vectors and %d payloads", w.vectors.Load(), w.payloads.Load())
	}
	r.exact()

	// Ledger lost; ledger of an earlier run restored.
	restore := r.saveLedger()
	r.remove("目录/文件 2.md")
	r.write("late.md", paragraphs("late", 4))
	r.sync()
	before = r.embeds.Load()
	r.loseLedger()
	r.quiet("a lost ledger")
	r.remove("late.md")
	restore()
	r.sync()
	if n := r.embeds.Load() - before; n != 0 {
		t.Errorf("a lost ledger and an old one embedded %d texts", n)
	}
	requireStamp(t, r)
	r.exact()
	r.drift(t)
	r.exact()

	// The collection vanishes behind its back.
	r.dropAll(t)
	before = r.embeds.Load()
	r.sync()
	if n := r.embeds.Load() - before; n != 0 {
		t.Errorf("a collection that vanished embedded %d texts", n)
	}
	r.exact()
}

// openSink opens the configured sink by itself.
func (r *rig) openSink(t *testing.T) connector.Sink {
	t.Helper()
	file := r.config()
	plugin, _ := r.reg.Sinks.Get(file.Sink.Kind)
	sink, err := plugin.Open(t.Context(), file.Sink.Config, connector.Env{Name: file.Name, Dir: file.Dir})
	if err != nil {
		t.Fatal(err)
	}
	return sink
}

// dropAll removes every generation, as a person at the database would.
func (r *rig) dropAll(t *testing.T) {
	t.Helper()
	sink := r.openSink(t)
	defer func() { _ = sink.Close() }()
	schemas, err := sink.Generations(t.Context())
	if err != nil || len(schemas) == 0 {
		t.Fatalf("%d generations, %v", len(schemas), err)
	}
	for i := len(schemas) - 1; i >= 0; i-- {
		if err := sink.Drop(t.Context(), schemas[i].Generation); err != nil {
			t.Fatal(err)
		}
	}
}

// sections is Markdown of n sections, each a chunk or more.
func sections(seed, n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "## Section %d of %d\n\n%s", i, seed, paragraphs(fmt.Sprintf("%d.%d", seed, i), 6))
	}
	return b.String()
}

// requireStamp says so where the sink cannot tell an old ledger.
func requireStamp(t *testing.T, r *rig) {
	t.Helper()
	p := r.open()
	defer func() { _ = p.Close() }()
	live, err := p.Collection(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := live.(connector.Stamper); !ok {
		t.Errorf("the collection keeps no stamp: a ledger restored from a backup would not be noticed")
	}
}

// drift deletes a point, alters one and adds one behind kbsync's back, and has all mended.
func (r *rig) drift(t *testing.T) {
	t.Helper()
	p := r.open()
	live, err := p.Collection(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	records := r.export()
	points, err := live.Fetch(t.Context(), []string{records[0].ChunkID, records[1].ChunkID, records[2].ChunkID}, true)
	if err != nil || len(points) != 3 {
		t.Fatalf("%d points, %v", len(points), err)
	}
	altered := points[1]
	altered.Content, altered.EmbedText = "altered", "altered"
	orphan := points[2]
	orphan.ChunkID = connector.DocID("x", "y", "z").String()
	foreign := points[2]
	foreign.ChunkID = connector.DocID("x", "y", "foreign").String()
	foreign.Metadata = map[string]any{"pipeline": "another"}
	if err := live.Delete(t.Context(), []string{points[0].ChunkID}); err != nil {
		t.Fatal(err)
	}
	if err := live.Upsert(t.Context(), []connector.Point{altered, orphan, foreign}); err != nil {
		t.Fatal(err)
	}
	rep, err := p.Verify(t.Context(), false)
	if rep == nil || rep.Missing != 1 || rep.Drifted != 1 || rep.Orphan != 1 || rep.Foreign != 1 {
		t.Errorf("verify: %+v, %v", rep, err)
	}
	if rep, err = p.Verify(t.Context(), true); err != nil || !rep.Repaired {
		t.Errorf("repair: %+v, %v", rep, err)
	}
	if rep, err = p.Verify(t.Context(), false); err != nil {
		t.Errorf("after the repair: %+v, %v", rep, err)
	}
	if err := live.Delete(t.Context(), []string{foreign.ChunkID}); err != nil {
		t.Fatal(err)
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
}

// serverGenerations: a changed model is built beside, answers throughout, goes live in one step, and can be left again.
func serverGenerations(t *testing.T, s *started) {
	r := newRig(t, "", s.sink(t))
	r.opts.RetryWait = 50 * time.Millisecond
	for i := range 3 {
		r.write(fmt.Sprintf("%d.md", i), paragraphs(fmt.Sprint(i), 10))
	}
	r.sync()
	want := canonical(t, r.export())
	r.withModel("48")
	if _, err := r.trySync(pipeline.SyncOptions{}); pipeline.ExitCode(err) != pipeline.ExitRefused {
		t.Fatalf("a changed model without consent: %v", err)
	}
	// A reader with the old configuration asks while the new generation is built and put in place.
	r.withModel("32")
	reader := r.open()
	r.withModel("48")
	stop, done := make(chan struct{}), make(chan string, 1)
	go func() { done <- keepAsking(reader, stop) }()
	_, err := r.trySync(pipeline.SyncOptions{AllowRebuild: true})
	close(stop)
	if fault := <-done; fault != "" {
		t.Error(fault)
	}
	if cerr := reader.Close(); cerr != nil {
		t.Error(cerr)
	}
	if err != nil {
		t.Fatal(err)
	}
	r.exact()
	r.quiet("after the switch")
	if _, err := r.rollback(""); err != nil {
		t.Fatalf("rollback: %v", err)
	}
	r.withModel("32")
	r.quiet("after the rollback")
	if diff := firstDifference(canonical(t, r.export()), want); diff != "" {
		t.Errorf("after the rollback: %s", diff)
	}
}

// keepAsking looks at the live collection until stop; it gives the first fault.
func keepAsking(p *pipeline.Pipeline, stop chan struct{}) string {
	for {
		select {
		case <-stop:
			return ""
		case <-time.After(5 * time.Millisecond):
		}
		live, err := p.Collection(context.Background())
		if err != nil {
			return "reader: " + err.Error()
		}
		// A reader may hold a generation that is replaced, but finds it or the next one full.
		if n, err := live.Count(context.Background()); err != nil || n == 0 {
			if again, lerr := p.Collection(context.Background()); lerr == nil {
				n, err = again.Count(context.Background())
			}
			if err != nil || n == 0 {
				return fmt.Sprintf("reader: %d points, %v", n, err)
			}
		}
	}
}

// serverConnections: connections that break, stall or lie end in an exact state after the next run.
func serverConnections(t *testing.T, s *started) {
	addr, addr2 := s.addresses(t)
	harms := map[string]faultproxy.Harm{
		"cut early":      {CutUp: 300, CutDown: 300, Cuts: 2},
		"cut in a write": {CutUp: 40_000, Cuts: 3},
		"cut an answer":  {CutDown: 2_000, Cuts: 3},
		"slow":           {Delay: 20 * time.Millisecond},
		"corrupt up":     {FlipUp: 30_000, Flips: 2},
		"corrupt down":   {FlipDown: 700, Flips: 2},
		"refused":        {Refuse: true},
	}
	for name, harm := range harms {
		t.Run(name, func(t *testing.T) {
			one, two := faultproxy.Start(t, addr), faultproxy.Start(t, addr2)
			r := newRig(t, "", s.line(one.Addr, two.Addr, s.collection()))
			r.opts.RetryWait = 5 * time.Millisecond
			r.yaml += "sync: { retries: 3 }\n"
			for i := range 3 {
				r.write(fmt.Sprintf("%d.md", i), sections(i, 12))
			}
			r.sync()
			for i := range 3 {
				r.write(fmt.Sprintf("%d.md", i), sections(i+7, 12))
			}
			r.write("more.md", sections(99, 12))
			r.remove("0.md")
			one.Set(harm)
			two.Set(harm)
			_, err := r.trySync(pipeline.SyncOptions{})
			t.Logf("the harmed run: %v (%+v, %+v)", err, one.Stats(), two.Stats())
			if harm.Refuse && pipeline.ExitCode(err) != pipeline.ExitUnreachable {
				t.Errorf("a server that is away: %v, exit %d", err, pipeline.ExitCode(err))
			}
			one.Set(faultproxy.Harm{})
			two.Set(faultproxy.Harm{})
			one.CutAll()
			two.CutAll()
			r.sync()
			r.exact()
		})
	}
}

// twice sends every write a second time, as a client does whose answer was lost on the way.
type twice struct{ connector.Sink }

func (s twice) Create(ctx context.Context, schema connector.Schema) (connector.Collection, error) {
	c, err := s.Sink.Create(ctx, schema)
	return twiceCollection{c}, err
}

type twiceCollection struct{ connector.Collection }

func (c twiceCollection) Upsert(ctx context.Context, p []connector.Point) error {
	return errors.Join(c.Collection.Upsert(ctx, p), c.Collection.Upsert(ctx, p))
}

func (c twiceCollection) UpdatePayload(ctx context.Context, r []connector.Record) error {
	return errors.Join(c.Collection.UpdatePayload(ctx, r), c.Collection.UpdatePayload(ctx, r))
}

func (c twiceCollection) Delete(ctx context.Context, ids []string) error {
	return errors.Join(c.Collection.Delete(ctx, ids), c.Collection.Delete(ctx, ids))
}

// serverAdopt: what another program wrote to this database (here another pipeline) is taken over, and its texts are not embedded again.
func serverAdopt(t *testing.T, s *started) {
	addr, addr2 := s.addresses(t)
	collection := s.collection()
	other := newRig(t, "", s.line(addr, addr2, collection))
	other.opts.RetryWait = 50 * time.Millisecond
	for i := range 3 { // plain text: what is embedded is the content alone
		other.write(fmt.Sprintf("%d.txt", i), paragraphs(fmt.Sprint(i), 12))
	}
	other.sync()
	r := newRig(t, other.docs, s.sink(t))
	r.yaml = strings.Replace(r.yaml, "name: "+pipelineName, "name: heir", 1)
	content := "content"
	if s.name == "chroma" {
		content = "document"
	}
	rep, err := r.adopt(pipeline.AdoptOptions{Collection: collection, Content: content, Path: "path", Source: "docs"})
	if err != nil || rep.Documents != 3 || rep.Checked == 0 || rep.Chunks != rep.Items || rep.BadVector+rep.NoText != 0 {
		t.Fatalf("%+v, %v", rep, err)
	}
	r.embeds.Store(0)
	r.sync()
	if n := r.embeds.Load(); n != 0 {
		t.Errorf("%d texts were embedded though their vectors were adopted", n)
	}
	r.exact()
	other.exact()
	if _, err := r.adopt(pipeline.AdoptOptions{Collection: "nowhere_at_all", Content: content, Source: "docs"}); err == nil {
		t.Error("a collection that is not there was adopted")
	}
}

// serverTwice: duplicated requests change nothing.
func serverTwice(t *testing.T, s *started) {
	r := newRig(t, "", s.sink(t))
	r.opts.RetryWait = 50 * time.Millisecond
	r.opts.WrapSink = func(s connector.Sink) connector.Sink { return twice{s} }
	for i := range 3 {
		r.write(fmt.Sprintf("%d.md", i), sections(i, 8))
	}
	r.sync()
	r.exact()
	r.write("1.md", "# New\n\n"+sections(1, 8))
	r.remove("2.md")
	r.sync()
	r.exact()
}

// serverMemory: what the client holds does not grow with what was written.
func serverMemory(t *testing.T, s *started) {
	r := newRig(t, "", s.sink(t))
	sink := r.openSink(t)
	defer func() { _ = sink.Close() }()
	caps := sink.Capabilities()
	c, err := sink.Create(t.Context(), connector.Schema{Generation: "gmemory", Model: "m", Dimensions: 384, Distance: "cosine", Layout: caps.Layout})
	if err != nil {
		t.Fatal(err)
	}
	const batch, batches = 250, 16 // 4,000 points; a client that kept them would hold 10 MB more
	heap := func() int {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int(m.HeapAlloc)
	}
	var early int
	for n := range batches {
		if n == batches/4 {
			early = heap()
		}
		points := make([]connector.Point, batch)
		for i := range points {
			text := fmt.Sprintf("Chunk %d of batch %d. 第%d块。", i, n, i) + strings.Repeat(" text", 100)
			points[i] = connector.Point{Vector: make([]float32, 384), Record: connector.Record{ChunkID: connector.DocID("memory", fmt.Sprint(n), fmt.Sprint(i)).String(),
				DocID: connector.DocID("memory", "d", fmt.Sprint(n)).String(), Source: "s", Path: "p", Content: text, EmbedText: text, ContentHash: connector.ContentHash(text),
				Spans: []connector.Span{}, ContextSpans: []connector.Span{}, Metadata: map[string]any{"pipeline": "x", "chunk_index": i}}}
			points[i].Vector[i], points[i].Vector[383] = 1, float32(n)
		}
		if err := c.Upsert(t.Context(), points); err != nil {
			t.Fatal(err)
		}
	}
	if grown := heap() - early; grown > 3<<20 {
		t.Errorf("the client holds %d KB more after 4,000 points than after 1,000", grown>>10)
	}
	if err := c.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n, err := c.Count(t.Context()); err != nil || n != batch*batches {
		t.Errorf("%d points, %v", n, err)
	}
	if err := sink.Drop(t.Context(), "gmemory"); err != nil {
		t.Error(err)
	}
}

// serverCrash: a server that is killed in the middle of a run, and again behind kbsync's back, keeps what it acknowledged.
func serverCrash(t *testing.T, b backend) {
	if b.server == "qdrant-double" {
		t.Log("the double keeps everything in memory: a crash of it tells nothing about Qdrant")
		return
	}
	srv := start(t, t, b)
	if srv == nil {
		t.Skip(b.name + " is not installed")
	}
	r := newRig(t, "", b.line(srv.Addr, srv.Addr2, "crash"))
	r.opts.RetryWait = 5 * time.Millisecond
	r.yaml += "sync: { retries: 2 }\n"
	for i := range 5 {
		r.write(fmt.Sprintf("%d.md", i), sections(i, 10))
	}
	r.sync()
	for i := range 20 {
		r.write(fmt.Sprintf("%d.md", i), sections(i+3, 10))
	}
	var upserts atomic.Int64
	r.opts.WrapSink = func(s connector.Sink) connector.Sink {
		return &crasher{Sink: s, calls: &upserts, at: 1, kill: srv.Kill}
	}
	if _, err := r.trySync(pipeline.SyncOptions{}); pipeline.ExitCode(err) != pipeline.ExitUnreachable {
		t.Errorf("the run whose server was killed: %v, exit %d", err, pipeline.ExitCode(err))
	}
	r.opts.WrapSink = nil
	srv.Restart()
	before := r.embeds.Load()
	r.sync()
	t.Logf("%d texts were embedded after the restart", r.embeds.Load()-before)
	r.exact()
	srv.Kill()
	srv.Restart()
	r.quiet("after another crash")
	r.exact()
}

// crasher ends the server when a write is under way.
type crasher struct {
	connector.Sink
	calls *atomic.Int64
	at    int64
	kill  func()
}

func (k *crasher) Create(ctx context.Context, s connector.Schema) (connector.Collection, error) {
	c, err := k.Sink.Create(ctx, s)
	return crasherCollection{c, k}, err
}

type crasherCollection struct {
	connector.Collection
	k *crasher
}

func (c crasherCollection) Upsert(ctx context.Context, points []connector.Point) error {
	if c.k.calls.Add(1) != c.k.at {
		return c.Collection.Upsert(ctx, points)
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		time.Sleep(5 * time.Millisecond)
		c.k.kill()
	})
	err := c.Collection.Upsert(ctx, points)
	wg.Wait()
	return err
}
