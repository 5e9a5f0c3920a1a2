package acceptance

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/connector/pipeline"
	"github.com/kbsync/kbsync/connector/sinktest"
)

// withModel is the rig's configuration with another embedder.
func (r *rig) withModel(dimensions string) {
	for _, d := range []string{"32", "48", "64"} {
		r.yaml = strings.ReplaceAll(r.yaml, "dimensions: "+d, "dimensions: "+dimensions)
	}
}

func (r *rig) generations() []string {
	r.tb.Helper()
	schemas, err := r.memory.Generations(context.Background())
	if err != nil {
		r.tb.Fatal(err)
	}
	var out []string
	for _, s := range schemas {
		out = append(out, s.Generation)
	}
	return out
}

// rebuilt is a rig with three documents that was synced with one model and again with another.
func rebuilt(t *testing.T, policy connector.Policy) (r *rig, old, fresh string) {
	t.Helper()
	r = newRig(t, "", "")
	r.memory.Caps.Policy = policy
	r.write("a.md", paragraphs("a", 20))
	r.write("b.md", paragraphs("b", 20))
	r.sync()
	old = r.generations()[0]
	r.withModel("48")
	if !policy.Auto {
		if _, err := r.trySync(pipeline.SyncOptions{}); pipeline.ExitCode(err) != pipeline.ExitRefused {
			t.Fatalf("a changed model without consent: %v", err)
		}
	}
	if _, err := r.trySync(pipeline.SyncOptions{AllowRebuild: true}); err != nil {
		t.Fatal(err)
	}
	return r, old, r.generations()[0]
}

func (r *rig) rollback(to string) (pipeline.RolledBack, error) {
	r.tb.Helper()
	p := r.open()
	defer func() { _ = p.Close() }()
	return p.Rollback(context.Background(), to)
}

func TestRollback(t *testing.T) {
	r, old, fresh := rebuilt(t, connector.Policy{Keep: 1})
	if got := r.generations(); len(got) != 2 || got[0] != fresh || got[1] != old {
		t.Fatalf("generations %v, want %s live and %s kept", got, fresh, old)
	}
	back, err := r.rollback("")
	if err != nil || back.To != old || back.From != fresh {
		t.Fatalf("%+v, %v", back, err)
	}
	// The old model's configuration goes on where it was, incrementally.
	r.withModel("32")
	r.write("a.md", paragraphs("a", 21))
	before := r.embeds.Load()
	r.sync()
	if n := r.embeds.Load() - before; n == 0 || n > 4 {
		t.Errorf("%d texts were embedded after the rollback", n)
	}
	r.exact()
	// The newer one is a step away too, and catches up.
	r.withModel("48")
	if _, err := r.trySync(pipeline.SyncOptions{}); pipeline.ExitCode(err) != pipeline.ExitRefused {
		t.Fatalf("%v", err)
	}
	if _, err := r.trySync(pipeline.SyncOptions{AllowRebuild: true}); err != nil {
		t.Fatal(err)
	}
	if got := r.generations(); got[0] != fresh || len(got) != 2 {
		t.Errorf("generations %v", got)
	}
	r.exact()
}

func TestRollbackHoldsAgainstConsentInAdvance(t *testing.T) {
	r, old, _ := rebuilt(t, connector.Policy{Keep: 1, Auto: true})
	if _, err := r.rollback(""); err != nil {
		t.Fatal(err)
	}
	if _, err := r.trySync(pipeline.SyncOptions{}); pipeline.ExitCode(err) != pipeline.ExitRefused {
		t.Errorf("a scheduled sync undid the rollback: %v", err)
	}
	if got := r.generations(); got[0] != old {
		t.Errorf("generations %v", got)
	}
}

func TestRollbackWithoutALedger(t *testing.T) {
	r, old, _ := rebuilt(t, connector.Policy{Keep: 1})
	r.loseLedger()
	if _, err := r.rollback("g000000000000"); pipeline.ExitCode(err) != pipeline.ExitUsage {
		t.Errorf("an unknown generation: %v", err)
	}
	if back, err := r.rollback(""); err != nil || back.To != old {
		t.Errorf("%+v, %v", back, err)
	}
}

func TestPolicyKeepsSoMany(t *testing.T) {
	r, _, second := rebuilt(t, connector.Policy{Keep: 1, Auto: true})
	r.withModel("64")
	r.sync()
	if got := r.generations(); len(got) != 2 || got[1] != second {
		t.Errorf("generations %v, want the third and the second", got)
	}
	r.memory.Caps.Policy.Keep = 0
	r.sync()
	if got := r.generations(); len(got) != 1 {
		t.Errorf("generations %v after keep was set to 0", got)
	}
	if _, err := r.rollback(""); pipeline.ExitCode(err) != pipeline.ExitUsage {
		t.Errorf("rollback without another generation: %v", err)
	}
}

func TestInPlace(t *testing.T) {
	r, old, fresh := rebuilt(t, connector.Policy{InPlace: true, Keep: 1})
	if got := r.generations(); old == fresh || len(got) != 1 {
		t.Errorf("generations %v", got)
	}
	r.exact()
}

// A switch is made only to a collection that holds what was written.
func TestLostObjectsAreNotPromoted(t *testing.T) {
	r := newRig(t, "", "")
	r.write("a.md", paragraphs("a", 20))
	r.sync()
	old := r.generations()[0]
	r.withModel("48")
	opts := r.opts
	r.opts.WrapSink = func(s connector.Sink) connector.Sink { return &forgetful{Sink: s} }
	if _, err := r.trySync(pipeline.SyncOptions{AllowRebuild: true}); err == nil || !strings.Contains(err.Error(), "stays live") {
		t.Errorf("a collection that lost points was promoted: %v", err)
	}
	r.opts = opts
	if got := r.generations(); got[0] != old {
		t.Errorf("generations %v, want %s live", got, old)
	}
}

// forgetful acknowledges every write and loses one point of each.
type forgetful struct{ connector.Sink }

func (f *forgetful) Create(ctx context.Context, s connector.Schema) (connector.Collection, error) {
	c, err := f.Sink.Create(ctx, s)
	return forgetfulCollection{c}, err
}

type forgetfulCollection struct{ connector.Collection }

func (f forgetfulCollection) Upsert(ctx context.Context, points []connector.Point) error {
	return f.Collection.Upsert(ctx, points[1:])
}

// Every call of a rebuild may fail: the next run comes to the same end, and something is live throughout.
func TestRebuildFaultAtEveryCall(t *testing.T) {
	for _, lost := range []bool{false, true} {
		for n := 1; ; n++ {
			r := newRig(t, "", "")
			r.memory.Caps.Policy.Keep = 1
			r.write("a.md", paragraphs("a", 4))
			r.sync()
			r.withModel("48")
			calls := 0
			r.memory.Fault = func(op string, _ int) error {
				if strings.HasSuffix(op, ":done") != lost {
					return nil
				}
				if calls++; calls == n {
					return errors.New("gone")
				}
				return nil
			}
			_, err := r.trySync(pipeline.SyncOptions{AllowRebuild: true})
			r.memory.Fault = nil
			if live, lerr := r.memory.Live(t.Context()); lerr != nil {
				t.Fatalf("after call %d nothing is live: %v", n, lerr)
			} else if count, _ := live.Count(t.Context()); count == 0 {
				t.Fatalf("after call %d the live collection is empty", n)
			}
			if calls < n {
				if err != nil {
					t.Fatal(err)
				}
				break
			}
			if _, err := r.trySync(pipeline.SyncOptions{AllowRebuild: true}); err != nil {
				t.Fatalf("the run after a fault at call %d: %v", n, err)
			}
			if got := r.generations(); len(got) != 2 {
				t.Errorf("after a fault at call %d: generations %v", n, got)
			}
			r.exact()
		}
	}
}

func TestForeignPointsStopARebuild(t *testing.T) {
	r := newRig(t, "", "")
	r.write("a.md", paragraphs("a", 5))
	r.sync()
	live, err := r.memory.Live(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	foreign := connector.Point{Record: connector.Record{ChunkID: connector.DocID("other", "s", "p").String(), Metadata: map[string]any{"pipeline": "other"}}}
	if err := live.Upsert(t.Context(), []connector.Point{foreign}); err != nil {
		t.Fatal(err)
	}
	r.withModel("48")
	if _, err := r.trySync(pipeline.SyncOptions{AllowRebuild: true}); pipeline.ExitCode(err) != pipeline.ExitRefused || !strings.Contains(err.Error(), "did not write") {
		t.Errorf("%v", err)
	}
}

// A ledger that is older than the collection, from a backup or another machine, is noticed: what was written since is no orphan.
func TestRestoredLedger(t *testing.T) {
	for name, sink := range map[string]string{"memory": "sink: { memory: {} }", "sqlite": "sink: { sqlite: {} }"} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, "", sink)
			r.write("a.md", paragraphs("a", 6))
			r.sync()
			backup := r.saveLedger()
			r.write("b.md", paragraphs("b", 6))
			r.write("a.md", paragraphs("a", 9))
			r.sync()
			r.remove("b.md")
			backup()
			before := r.embeds.Load()
			r.sync()
			if n := r.embeds.Load() - before; n != 0 {
				t.Errorf("%d texts were embedded", n)
			}
			r.exact()
			if res := r.sync(); res.Chunks.Upserted+res.Chunks.Deleted != 0 {
				t.Errorf("the sync after it wrote: %+v", res.Chunks)
			}
		})
	}
}

// An interrupted run leaves ledger and collection in agreement: no rebuild follows.
func TestStampSurvivesInterruption(t *testing.T) {
	for _, at := range []string{"setstamp", "setstamp:done", "upsert", "upsert:done", "delete"} {
		r := newRig(t, "", "")
		r.write("a.md", paragraphs("a", 6))
		r.sync()
		r.write("a.md", paragraphs("changed", 3))
		r.memory.Fault = func(op string, _ int) error {
			if op == at {
				return errors.New("gone")
			}
			return nil
		}
		if _, err := r.trySync(pipeline.SyncOptions{}); err == nil {
			t.Fatalf("%s: no fault", at)
		}
		scans := 0
		r.memory.Fault = func(op string, _ int) error {
			if op == "scan" {
				scans++
			}
			return nil
		}
		r.sync()
		if scans > 0 {
			t.Errorf("after a fault at %s the ledger was rebuilt", at)
		}
		r.memory.Fault = nil
		r.exact()
	}
}

var _ connector.Importer = (*sinktest.Memory)(nil)
