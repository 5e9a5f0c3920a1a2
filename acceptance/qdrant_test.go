package acceptance

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/connector/pipeline"
	"github.com/kbsync/kbsync/sinks/qdrant/qdrantfake"
)

// TestQdrantFaultAtEveryCall runs against a server with Qdrant's measured behaviour (batches that fail in parts, whole points replaced, filters that
// need indexes) and spoils each call once: refused before, lost after, throttled. Passing faults are not noticed; others end the run, and the next one
// is exact.
func TestQdrantFaultAtEveryCall(t *testing.T) {
	lost := status.Error(codes.Unavailable, "connection lost")
	for name, plant := range map[string]struct {
		before, after error
		passes        bool
	}{
		"refused":   {before: status.Error(codes.Internal, "Service internal error: task panicked")},
		"away":      {before: lost, passes: true},
		"lost":      {after: lost, passes: true},
		"disk full": {before: status.Error(codes.Internal, "Service internal error: No space left on device")},
	} {
		t.Run(name, func(t *testing.T) {
			for at := int64(1); ; at++ {
				server, err := qdrantfake.Start()
				if err != nil {
					t.Fatal(err)
				}
				server.Strict, server.MaxBatch = true, 1000
				r := newRig(t, "", fmt.Sprintf("sink: { qdrant: { address: %q, collection: books } }", server.Addr()))
				r.write("a.md", paragraphs("a", 8))
				r.write("b.md", paragraphs("b", 3))
				r.sync()
				r.write("a.md", paragraphs("a", 9))
				r.write("c.md", paragraphs("c", 3))
				r.remove("b.md")
				var calls atomic.Int64
				spoil := func(err error) func(context.Context, string, int) error {
					return func(context.Context, string, int) error {
						if calls.Add(1) == at {
							return err
						}
						return nil
					}
				}
				if plant.before != nil {
					server.Before = spoil(plant.before)
				} else {
					server.After = spoil(plant.after)
				}
				_, err = r.trySync(pipeline.SyncOptions{})
				server.Before, server.After = nil, nil
				if plant.passes && err != nil {
					t.Fatalf("call %d: a passing fault ended the run: %v", at, err)
				}
				r.sync()
				r.exact()
				server.Stop()
				if calls.Load() < at {
					break
				}
			}
		})
	}
}

// A rate limit is waited out, as long as the server asks, and nothing is lost.
func TestQdrantThrottled(t *testing.T) {
	server, err := qdrantfake.Start()
	if err != nil {
		t.Fatal(err)
	}
	defer server.Stop()
	var throttled atomic.Int64
	server.Before = func(_ context.Context, method string, n int) error {
		if method == "Upsert" && n == 2 {
			throttled.Add(1)
			return qdrantfake.ThrottledError{Seconds: 1}
		}
		return nil
	}
	r := newRig(t, "", fmt.Sprintf("sink: { qdrant: { address: %q, collection: books, batch: 2 } }", server.Addr()))
	r.write("a.md", sections(1, 20))
	r.sync()
	if throttled.Load() == 0 {
		t.Error("nothing was throttled")
	}
	r.exact()
}

// Two models of equal dimensions never share a collection, and dense questions by the wrong one are refused.
func TestModelsOfEqualDimensionsAreNotMixed(t *testing.T) {
	server, err := qdrantfake.Start()
	if err != nil {
		t.Fatal(err)
	}
	defer server.Stop()
	r := newRig(t, "", fmt.Sprintf("sink: { qdrant: { address: %q, collection: books } }", server.Addr()))
	r.write("a.md", paragraphs("a", 8))
	r.sync()
	r.opts.WrapEmbedder = func(e connector.Embedder) connector.Embedder { return otherModel{e} }
	if _, err := r.trySync(pipeline.SyncOptions{}); pipeline.ExitCode(err) != pipeline.ExitRefused {
		t.Errorf("a sync with another model of the same dimensions: %v", err)
	}
	p := r.open()
	defer func() { _ = p.Close() }()
	if _, err := p.Query(t.Context(), pipeline.QueryOptions{Text: "paragraph", Mode: connector.ModeDense}); pipeline.ExitCode(err) != pipeline.ExitRefused {
		t.Errorf("a question by another model: %v", err)
	}
}

// otherModel makes the same vectors under another name.
type otherModel struct{ connector.Embedder }

func (o otherModel) Model() connector.Model {
	m := o.Embedder.Model()
	m.Name += "-other"
	return m
}
