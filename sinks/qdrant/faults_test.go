package qdrant

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	pb "github.com/qdrant/go-client/qdrant"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/sinks/qdrant/qdrantfake"
)

// testContext is for cleanups, when the test's own context is over.
func testContext(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

func schemaOf(s *Sink, generation string) connector.Schema {
	return connector.Schema{Generation: generation, Model: "m", Dimensions: 8, Distance: s.config.Distance, Layout: s.layout.String()}
}

// rig is a fake with a sink on it, closed at the end, and a collection with n points.
func rig(t *testing.T, n int, change func(*Config)) (*qdrantfake.Server, *Sink, *Collection) {
	t.Helper()
	server := fake(t)
	s := openAt(t, server.Addr(), "books", change)
	t.Cleanup(func() { _ = s.Close() })
	c := create(t, s, "g1")
	if n > 0 {
		if err := c.Upsert(t.Context(), testPoints(n)); err != nil {
			t.Fatal(err)
		}
	}
	return server, s, c
}

func create(t *testing.T, s *Sink, generation string) *Collection {
	t.Helper()
	c, err := s.Create(t.Context(), schemaOf(s, generation))
	if err != nil {
		t.Fatal(err)
	}
	return c.(*Collection) //nolint:forcetypeassert // Create returns nothing else
}

func wantCount(t *testing.T, c connector.Collection, want int) {
	t.Helper()
	if n, err := c.Count(t.Context()); err != nil || n != want {
		t.Errorf("Count is %d, %v; want %d", n, err, want)
	}
}

func wantClass(t *testing.T, what string, err error, want connector.Class) {
	t.Helper()
	if err == nil || connector.ClassOf(err) != want {
		t.Errorf("%s: %v (%v), want an error of class %v", what, err, connector.ClassOf(err), want)
	}
}

// TestUnfinishedWrites: whatever the server says but "completed" is no success, though it answers without an error.
func TestUnfinishedWrites(t *testing.T) {
	server, _, c := rig(t, 3, nil)
	for _, st := range []pb.UpdateStatus{pb.UpdateStatus_Acknowledged, pb.UpdateStatus_WaitTimeout, pb.UpdateStatus_ClockRejected, 77} {
		server.Status = st
		wantClass(t, "Upsert", c.Upsert(t.Context(), testPoints(2)), connector.ClassTransient)
		wantClass(t, "Delete", c.Delete(t.Context(), []string{testID(2)}), connector.ClassTransient)
		wantClass(t, "UpdatePayload", c.UpdatePayload(t.Context(), []connector.Record{testPoint(0).Record}), connector.ClassTransient)
	}
}

// TestLostAnswer: the batch was stored though the caller sees an error, or a deadline; sending it again is exact.
func TestLostAnswer(t *testing.T) {
	server, _, c := rig(t, 0, nil)
	server.After = func(ctx context.Context, method string, n int) error {
		switch {
		case method == "Upsert" && n == 1:
			return status.Error(codes.Unavailable, "connection reset")
		case method == "Upsert" && n == 2:
			<-ctx.Done()
			return ctx.Err()
		}
		return nil
	}
	wantClass(t, "cut", c.Upsert(t.Context(), testPoints(20)), connector.ClassTransient)
	wantCount(t, c, 20)
	hasty := openAt(t, server.Addr(), "books", func(c *Config) { c.Timeout = 300 * time.Millisecond })
	defer func() { _ = hasty.Close() }()
	impatient := &Collection{sink: hasty, name: c.name, schema: c.schema}
	wantClass(t, "deadline", impatient.Upsert(t.Context(), testPoints(25)), connector.ClassTransient)
	if err := c.Upsert(t.Context(), testPoints(25)); err != nil {
		t.Fatal(err)
	}
	wantCount(t, c, 25)
}

// TestPartOfABatch: the server refuses one point after it has stored the others. The error says so, and nothing is believed.
func TestPartOfABatch(t *testing.T) {
	_, s, c := rig(t, 0, nil)
	odd, err := c.encode(pointer(testPoint(1)))
	if err != nil {
		t.Fatal(err)
	}
	odd.Vectors = pb.NewVectorsMap(map[string]*pb.Vector{"unknown": pb.NewVectorDense([]float32{1})})
	good, err := c.encode(pointer(testPoint(2)))
	if err != nil {
		t.Fatal(err)
	}
	wantClass(t, "a batch with an unknown vector", c.write(t.Context(), []sized{odd, good}), connector.ClassInvalid)
	wantCount(t, c, 1)
	// Without waiting, the same is a success: the reason why every write here waits.
	if _, err := s.client.Upsert(t.Context(), &pb.UpsertPoints{CollectionName: c.name, Points: []*pb.PointStruct{odd.PointStruct}}); err != nil {
		t.Errorf("the fake is stricter than the server: %v", err)
	}
}

func pointer[T any](v T) *T { return &v }

// TestNaN: the server would store it and rank it first. Here it is refused; and what others stored is no hit.
func TestNaN(t *testing.T) {
	_, s, c := rig(t, 5, nil)
	for name, x := range map[string]float32{"NaN": float32(math.NaN()), "infinity": float32(math.Inf(1))} {
		bad := testPoint(7)
		bad.Vector[2] = x
		var batch *connector.BatchError
		if err := c.Upsert(t.Context(), []connector.Point{bad}); !errors.As(err, &batch) || connector.ClassOf(batch.Items[0]) != connector.ClassInvalid {
			t.Errorf("%s: %v", name, err)
		}
	}
	zero := testPoint(7)
	clear(zero.Vector)
	if err := c.Upsert(t.Context(), []connector.Point{zero}); err == nil {
		t.Error("a vector of zeros was stored under cosine")
	}
	nan := make([]float32, 8)
	nan[0] = float32(math.NaN())
	foreign := &pb.PointStruct{Id: pb.NewIDUUID(testID(99)), Vectors: pb.NewVectorsMap(map[string]*pb.Vector{"dense": pb.NewVectorDense(nan)})}
	if _, err := s.client.Upsert(t.Context(), &pb.UpsertPoints{CollectionName: c.name, Wait: pb.PtrOf(true), Points: []*pb.PointStruct{foreign}}); err != nil {
		t.Fatal(err)
	}
	hits, err := c.Search(t.Context(), connector.Query{Mode: connector.ModeDense, Vector: testPoint(3).Vector, K: 2})
	if err != nil || len(hits) != 2 || hits[0].ChunkID != testID(3) {
		t.Errorf("beside a vector of NaN: %d hits, %v", len(hits), err)
	}
}

// TestEmptyDelete: no ids send nothing at all; an empty selection would be one of everything.
func TestEmptyDelete(t *testing.T) {
	server, s, c := rig(t, 5, nil)
	for _, ids := range [][]string{nil, {}, {"no uuid"}, {""}, {metaID}} {
		if err := c.Delete(t.Context(), ids); err != nil {
			t.Errorf("Delete of %q: %v", ids, err)
		}
	}
	if n := server.Calls("Delete"); n != 0 {
		t.Errorf("%d requests to delete nothing", n)
	}
	wantCount(t, c, 5)
	if f, ok := c.sink.layout.filter(connector.Filter{}); f != nil || !ok {
		t.Errorf("an empty filter is sent as %v", f)
	}
	if _, err := s.client.Delete(t.Context(), &pb.DeletePoints{CollectionName: c.name, Wait: pb.PtrOf(true), Points: pb.NewPointsSelectorFilter(&pb.Filter{})}); err != nil {
		t.Fatal(err)
	}
	wantCount(t, c, 0) // the fake does what the server does
}

// TestIDs: the server refuses a whole request for one id that is no UUID.
func TestIDs(t *testing.T) {
	_, _, c := rig(t, 2, nil)
	batch := testPoints(6)
	batch[1].ChunkID, batch[3].ChunkID, batch[4].ChunkID = "chunk-1", strings.ToUpper(testID(3)), ""
	var failed *connector.BatchError
	if err := c.Upsert(t.Context(), batch); !errors.As(err, &failed) || !slices.Equal(failed.Indexes(), []int{1, 3, 4}) {
		t.Fatalf("Upsert: %v", err)
	}
	wantCount(t, c, 4) // 0 and 1 from before, 2 and 5 now
	got, err := c.Fetch(t.Context(), []string{"x", testID(5), "", testID(0)}, false)
	if err != nil || len(got) != 2 || got[0].ChunkID != testID(5) {
		t.Errorf("Fetch among ids of other forms: %d, %v", len(got), err)
	}
	twice := []connector.Point{testPoint(9), testPoint(8), testPoint(9)}
	twice[2].Content, twice[2].EmbedText = "last", "last"
	if err := c.Upsert(t.Context(), twice); err != nil {
		t.Fatal(err)
	}
	if got, err := c.Fetch(t.Context(), []string{testID(9)}, false); err != nil || got[0].Content != "last" {
		t.Errorf("of two points with one id, %q was kept, %v", got[0].Content, err)
	}
}

// TestSizes: large batches are divided, what the server finds too large is named so, and large answers are received.
func TestSizes(t *testing.T) {
	server, _, c := rig(t, 0, nil)
	before := server.Calls("Upsert")
	batch := testPoints(10)
	for i := range batch {
		batch[i].Content = strings.Repeat("长", 400_000)
		batch[i].EmbedText = batch[i].Content
	}
	if err := c.Upsert(t.Context(), batch); err != nil {
		t.Fatal(err)
	}
	if n := server.Calls("Upsert") - before; n != 4 {
		t.Errorf("12 MB went in %d requests, want 4 of at most 4 MiB", n)
	}
	got, err := c.Fetch(t.Context(), []string{testID(0), testID(1), testID(2), testID(3), testID(4), testID(5)}, true)
	if err != nil || len(got) != 6 || got[5].Content != batch[5].Content {
		t.Errorf("an answer of 7 MB: %d points, %v", len(got), err)
	}
	server.Before = func(_ context.Context, method string, _ int) error {
		if method == "Upsert" {
			return status.Error(codes.ResourceExhausted, "grpc: received message larger than max (5000000 vs. 4194304)")
		}
		return nil
	}
	wantClass(t, "a request over the server's limit", c.Upsert(t.Context(), batch[:1]), connector.ClassTooLarge)
}

// TestThrottled: the rate limiter's wait arrives, though the client's error has no code.
func TestThrottled(t *testing.T) {
	server, _, c := rig(t, 1, nil)
	server.Before = func(context.Context, string, int) error { return qdrantfake.ThrottledError{Seconds: 7} }
	for what, err := range map[string]error{"Upsert": c.Upsert(t.Context(), testPoints(1)), "Delete": c.Delete(t.Context(), []string{testID(0)})} {
		var e *connector.Error
		if !errors.As(err, &e) || e.Class != connector.ClassThrottled || e.RetryAfter != 7*time.Second {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// TestStrictMode: limits of the cluster are errors of their class; ties that it does not let us look at are cut.
func TestStrictMode(t *testing.T) {
	server, _, c := rig(t, 1, nil)
	server.Strict, server.MaxBatch = true, 3
	wantClass(t, "a batch over the limit", c.Upsert(t.Context(), testPoints(4)), connector.ClassInvalid)
	hits, err := c.Search(t.Context(), connector.Query{Mode: connector.ModeDense, Vector: testPoint(0).Vector, K: 1, Filter: connector.Filter{{Field: "anything", Values: []any{1}}}})
	if err != nil || len(hits) != 0 {
		t.Errorf("a filter by a field that nothing has: %d hits, %v", len(hits), err)
	}
}

// TestAuth: a wrong key is denied, and stands in no message.
func TestAuth(t *testing.T) {
	server := fake(t)
	server.APIKey = "right-key"
	for key, class := range map[connector.Secret]connector.Class{"wrong-key": connector.ClassDenied, "": connector.ClassDenied, "right-key": connector.ClassUnknown} {
		s := openAt(t, server.Addr(), "books", func(c *Config) { c.APIKey = key })
		_, err := s.Generations(t.Context())
		if connector.ClassOf(err) != class || (err == nil) != (key == "right-key") {
			t.Errorf("key %d: %v", len(key), err)
		}
		if err != nil && strings.Contains(err.Error(), "wrong-key") {
			t.Errorf("the key is in the message: %v", err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestRestart: a server that is gone is transient, and found again when it is back.
func TestRestart(t *testing.T) {
	server, s, c := rig(t, 5, nil)
	server.Stop()
	wantClass(t, "Upsert", c.Upsert(t.Context(), testPoints(1)), connector.ClassTransient)
	_, err := s.Live(t.Context())
	wantClass(t, "Live", err, connector.ClassTransient)
	if err := server.Restart(); err != nil {
		t.Fatal(err)
	}
	for err = c.Upsert(t.Context(), testPoints(6)); err != nil && t.Context().Err() == nil; err = c.Upsert(t.Context(), testPoints(6)) {
		wantClass(t, "Upsert before the client has connected again", err, connector.ClassTransient)
	}
	wantCount(t, c, 6)
}

// TestDiskFull: what the server says of its disk has a class of its own.
func TestDiskFull(t *testing.T) {
	server, _, c := rig(t, 1, nil)
	server.Before = func(context.Context, string, int) error {
		return status.Error(codes.Internal, "Service internal error: No space left on device: WAL buffer size exceeds available disk space")
	}
	wantClass(t, "Upsert", c.Upsert(t.Context(), testPoints(1)), connector.ClassFull)
}

// TestDeletedMeanwhile: a point that goes between the look and the update of its payload is named by the next try.
func TestDeletedMeanwhile(t *testing.T) {
	server, _, c := rig(t, 3, nil)
	server.Before = func(ctx context.Context, method string, n int) error {
		if method == "UpdateBatch" && n == 1 {
			return c.Delete(ctx, []string{testID(1)})
		}
		return nil
	}
	records := []connector.Record{testPoint(0).Record, testPoint(1).Record, testPoint(2).Record}
	records[2].Path = "moved.md"
	wantClass(t, "UpdatePayload", c.UpdatePayload(t.Context(), records), connector.ClassTransient)
	var batch *connector.BatchError
	if err := c.UpdatePayload(t.Context(), records); !errors.As(err, &batch) || !slices.Equal(batch.Indexes(), []int{1}) {
		t.Errorf("UpdatePayload again: %v", err)
	}
	if got, err := c.Fetch(t.Context(), []string{testID(2)}, false); err != nil || len(got) != 1 || got[0].Path != "moved.md" {
		t.Errorf("the other points: %v, %v", got, err)
	}
}
