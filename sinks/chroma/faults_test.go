package chroma

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/faultproxy"
	"github.com/kbsync/kbsync/internal/servers"
)

const dims = 8

func schema(s *Sink, generation string) connector.Schema {
	return connector.Schema{Generation: generation, Model: "test", Dimensions: dims, Distance: "cosine", Layout: s.Capabilities().Layout}
}

func create(t testing.TB, s *Sink, generation string) *Collection {
	t.Helper()
	c, err := s.Create(t.Context(), schema(s, generation))
	if err != nil {
		t.Fatal(err)
	}
	return c.(*Collection)
}

func point(n int, metadata map[string]any) connector.Point {
	text := fmt.Sprintf("passage %d", n)
	return connector.Point{Vector: standIn(text, dims), Record: connector.Record{
		ChunkID: connector.NewUUID5(connector.PipelineNamespace("chroma"), text).String(), DocID: "d", Source: "s", Path: "p.md", Content: text, EmbedText: text,
		ContentHash: connector.ContentHash(text), Metadata: metadata,
	}}
}

func upsert(t testing.TB, c connector.Collection, points ...connector.Point) {
	t.Helper()
	if err := c.Upsert(t.Context(), points); err != nil {
		t.Fatal(err)
	}
}

func count(t testing.TB, c connector.Collection) int {
	t.Helper()
	n, err := c.Count(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestFaults runs what goes wrong against one real server.
func TestFaults(t *testing.T) {
	server := servers.Start(t, "chroma")
	var n names
	for name, f := range map[string]func(*testing.T, *servers.Server, string){
		"interrupted switch": interruptedSwitch, "dropped behind its back": droppedBehind, "foreign collection": foreignCollection, "merged metadata": mergedMetadata,
		"too many terms": tooManyTerms, "hidden keys": hiddenKeys, "cut connections": cutConnections, "store-only crowd": storeOnlyCrowd, "half made": halfMade,
	} {
		t.Run(name, func(t *testing.T) { f(t, server, "fault"+n.next()) })
	}
}

// interruptedSwitch stops after each request of a switch; the next sink completes it, or it had not begun.
func interruptedSwitch(t *testing.T, server *servers.Server, name string) {
	for steps := range 4 {
		s := openAt(t, server.Addr, fmt.Sprintf("%s-%d", name, steps))
		upsert(t, create(t, s, "g1"), point(1, nil))
		held := create(t, s, "g2")
		upsert(t, held, point(1, nil), point(2, nil))
		limit := &limited{left: steps + 1, next: s.client.HTTP.Transport} // one lists
		s.client.HTTP.Transport = limit
		if err := s.Promote(t.Context(), "g2"); (err == nil) != (steps == 3) {
			t.Errorf("after %d requests: %v", steps, err)
		}
		limit.left = 1000
		s = openAt(t, server.Addr, s.config.Collection)
		live, err := s.Live(t.Context())
		if err != nil {
			t.Fatalf("after %d requests: %v", steps, err)
		}
		want := map[int]string{0: "g1", 1: "g1", 2: "g2", 3: "g2"}[steps]
		if got := live.Schema().Generation; got != want {
			t.Errorf("after %d requests %s is live, want %s", steps, got, want)
		}
		var e entry
		if err := s.client.Call(t.Context(), "GET", "/"+s.config.Collection, nil, &e); err != nil || e.Metadata[nextKey] == true && steps != 1 {
			t.Errorf("after %d requests, by name: %+v, %v", steps, e, err)
		}
		if err := s.Promote(t.Context(), "g2"); err != nil {
			t.Error(err)
		}
		if got := count(t, held); got != 2 {
			t.Errorf("the collection that was open holds %d", got)
		}
		if err := s.Promote(t.Context(), "g1"); err != nil {
			t.Error(err)
		}
		if schemas, err := s.Generations(t.Context()); err != nil || len(schemas) != 2 || schemas[0].Generation != "g1" {
			t.Errorf("after the way back: %v, %v", schemas, err)
		}
	}
}

// limited lets so many requests pass.
type limited struct {
	left int
	next http.RoundTripper
}

func (l *limited) RoundTrip(r *http.Request) (*http.Response, error) {
	if l.left--; l.left < 0 {
		return nil, errors.New("the process ended here")
	}
	return l.next.RoundTrip(r)
}

func droppedBehind(t *testing.T, server *servers.Server, name string) {
	s := openAt(t, server.Addr, name)
	c := create(t, s, "g1")
	upsert(t, c, point(1, nil))
	if err := s.client.Call(t.Context(), "DELETE", "/"+name, nil, nil); err != nil {
		t.Fatal(err)
	}
	for op, call := range map[string]func() error{
		"Upsert":  func() error { return c.Upsert(t.Context(), []connector.Point{point(1, nil)}) },
		"Update":  func() error { return c.UpdatePayload(t.Context(), []connector.Record{point(1, nil).Record}) },
		"Delete":  func() error { return c.Delete(t.Context(), []string{point(1, nil).ChunkID}) },
		"Fetch":   func() error { _, err := c.Fetch(t.Context(), []string{point(1, nil).ChunkID}, true); return err },
		"Count":   func() error { _, err := c.Count(t.Context()); return err },
		"Marker":  func() error { _, err := c.Marker(t.Context()); return err },
		"Stamp":   func() error { return c.SetStamp(t.Context(), "x") },
		"Foreign": func() error { return firstError(s.Foreign(t.Context(), name)) },
		"Scan":    func() error { return firstError(c.Scan(t.Context(), true)) },
		"Search": func() error {
			_, err := c.Search(t.Context(), connector.Query{Mode: connector.ModeDense, Vector: point(1, nil).Vector, K: 1})
			return err
		},
	} {
		if err := call(); connector.ClassOf(err) != connector.ClassNotFound {
			t.Errorf("%s: %v, want not found", op, err)
		}
	}
	if _, err := s.Live(t.Context()); !errors.Is(err, connector.ErrNoCollection) {
		t.Errorf("Live: %v", err)
	}
}

func firstError[T any](seq func(func(T, error) bool)) error {
	for _, err := range seq {
		return err
	}
	return nil
}

func foreignCollection(t *testing.T, server *servers.Server, name string) {
	s := openAt(t, server.Addr, name)
	var e entry
	if err := s.client.Call(t.Context(), "POST", "", map[string]any{"name": name}, &e); err != nil {
		t.Fatal(err)
	}
	if err := s.client.Call(t.Context(), "POST", "/"+e.ID+"/upsert", map[string]any{
		"ids": []string{"a", "b"}, "embeddings": [][]float32{{1, 2}, {3, 4}}, "documents": []any{"text", nil},
		"metadatas": []any{map[string]any{"n": 1, "f": 1.5, "list": []string{"x"}}, nil},
	}, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Create(t.Context(), schema(s, "g1")); connector.ClassOf(err) != connector.ClassConflict {
		t.Errorf("Create: %v, want a conflict", err)
	}
	got := map[string]connector.Foreign{}
	for f, err := range s.Foreign(t.Context(), name) {
		if err != nil {
			t.Fatal(err)
		}
		got[f.ID] = f
	}
	a := got["a"]
	if len(got) != 2 || a.Fields["document"] != "text" || a.Fields["n"] != int64(1) || a.Fields["f"] != 1.5 || a.Vector[1] != 2 || len(got["b"].Fields) != 0 {
		t.Errorf("foreign items: %+v", got)
	}
}

// mergedMetadata: Chroma keeps keys that an upsert does not name; the sink takes them away, those of others too.
func mergedMetadata(t *testing.T, server *servers.Server, name string) {
	s := openAt(t, server.Addr, name)
	c := create(t, s, "g1")
	p := point(1, map[string]any{"team": "red", "old": 1, "tags": []any{"a"}})
	upsert(t, c, p)
	if err := c.call(t.Context(), "POST", "/update", map[string]any{"ids": []string{p.ChunkID}, "metadatas": []any{map[string]any{"stranger": true}}}, nil); err != nil {
		t.Fatal(err)
	}
	p.Metadata = map[string]any{"team": "blue"}
	for what, write := range map[string]func() error{
		"Upsert":        func() error { return c.Upsert(t.Context(), []connector.Point{p}) },
		"UpdatePayload": func() error { return c.UpdatePayload(t.Context(), []connector.Record{p.Record}) },
	} {
		if err := write(); err != nil {
			t.Fatal(err)
		}
		got, err := c.get(t.Context(), []string{p.ChunkID}, false)
		if err != nil {
			t.Fatal(err)
		}
		keys := slices.Sorted(maps.Keys(got[p.ChunkID].metadata))
		if want := []string{"content_hash", "context", "doc_id", "kbsync", "parent_id", "path", "source", "team"}; !slices.Equal(keys, want) {
			t.Errorf("%s leaves the keys %v, want %v", what, keys, want)
		}
	}
}

// tooManyTerms: what would make the server fail for good is refused by name before.
func tooManyTerms(t *testing.T, server *servers.Server, name string) {
	c := create(t, openAt(t, server.Addr, name), "g1")
	list := make([]any, 6000)
	for i := range list {
		list[i] = i
	}
	var batch *connector.BatchError
	err := c.Upsert(t.Context(), []connector.Point{point(1, nil), point(2, map[string]any{"list": list}), point(3, map[string]any{"list": list[:maxKeys]})})
	if !errors.As(err, &batch) || !slices.Equal(batch.Indexes(), []int{1}) || connector.ClassOf(batch.Items[1]) != connector.ClassInvalid {
		t.Errorf("got %v, want item 1 refused", err)
	}
	if got := count(t, c); got != 2 {
		t.Errorf("%d items, want 2", got)
	}
}

func hiddenKeys(t *testing.T, server *servers.Server, name string) {
	c := create(t, openAt(t, server.Addr, name), "g1")
	metadata := map[string]any{"": 1, "$or": "x", "#document": true, "chroma:document": "planted", "kbsync": "planted", "kbsync_store_only": true, "source": "other", "context": 7}
	p := point(1, metadata)
	upsert(t, c, p)
	got, err := c.Fetch(t.Context(), []string{p.ChunkID}, true)
	if err != nil || len(got) != 1 || got[0].Vector == nil || got[0].Source != "s" || len(got[0].Metadata) != len(metadata) {
		t.Fatalf("got %+v, %v", got, err)
	}
	for key, value := range metadata {
		if key == "source" { // the record's own
			value = "s"
		}
		hits, err := c.Search(t.Context(), connector.Query{Mode: connector.ModeDense, Vector: p.Vector, K: 1, Filter: connector.Filter{{Field: key, Values: []any{value}}}})
		if err != nil || len(hits) != 1 {
			t.Errorf("filter %q = %v: %d hits, %v", key, value, len(hits), err)
		}
	}
}

// cutConnections: requests that are cut, or answered with other bytes, are transient errors, and writing again ends exact.
func cutConnections(t *testing.T, server *servers.Server, name string) {
	proxy := faultproxy.Start(t, server.Addr)
	s := openAt(t, proxy.Addr, name, func(c *Config) { c.Timeout = 5 * time.Second })
	c := create(t, s, "g1")
	var points []connector.Point
	for i := range 200 {
		points = append(points, point(i, map[string]any{"i": i}))
	}
	proxy.Set(faultproxy.Harm{CutUp: 3000})
	if err := c.Upsert(t.Context(), points); connector.ClassOf(err) != connector.ClassTransient {
		t.Errorf("cut: %v, want transient", err)
	}
	proxy.Set(faultproxy.Harm{})
	proxy.CutAll()
	for try := 0; ; try++ {
		err := c.Upsert(t.Context(), points)
		if err == nil {
			break
		}
		if connector.ClassOf(err) != connector.ClassTransient || try > 3 {
			t.Fatal(err)
		}
	}
	if got := count(t, c); got != 200 {
		t.Errorf("%d items, want 200", got)
	}
	server.Pause()
	defer server.Continue()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := c.Upsert(ctx, points); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	s.client.Timeout = 200 * time.Millisecond
	if _, err := c.Count(t.Context()); connector.ClassOf(err) != connector.ClassTransient {
		t.Errorf("a server that does not answer: %v, want transient", err)
	}
}

// storeOnlyCrowd: stand-ins that rank before everything else are passed over.
func storeOnlyCrowd(t *testing.T, server *servers.Server, name string) {
	c := create(t, openAt(t, server.Addr, name), "g1")
	var points []connector.Point
	for i := range 300 {
		p := point(i, nil)
		p.Vector = nil
		points = append(points, p)
	}
	query := standIn(points[0].ChunkID, dims)
	far := point(1000, nil)
	for i := range far.Vector {
		far.Vector[i] = -query[i]
	}
	upsert(t, c, append(points, far)...)
	for _, exact := range []bool{false, true} {
		hits, err := c.Search(t.Context(), connector.Query{Mode: connector.ModeDense, Vector: query, K: 5, Exact: exact})
		if err != nil || len(hits) != 1 || hits[0].ChunkID != far.ChunkID {
			t.Errorf("exact %v: %d hits, %v", exact, len(hits), err)
		}
	}
}

// halfMade: a process that ended in Create left a collection with its mark, or the item that made the index.
func halfMade(t *testing.T, server *servers.Server, name string) {
	for steps := 1; steps <= 4; steps++ {
		s := openAt(t, server.Addr, fmt.Sprintf("%s-%d", name, steps))
		s.client.HTTP.Transport = &limited{left: steps + 1, next: s.client.HTTP.Transport}
		if _, err := s.Create(t.Context(), schema(s, "g1")); (err == nil) != (steps == 4) {
			t.Errorf("after %d requests: %v", steps, err)
		}
		s = openAt(t, server.Addr, s.config.Collection)
		c := create(t, s, "g1")
		if got := count(t, c); got != 0 {
			t.Errorf("after %d requests the collection holds %d items", steps, got)
		}
		if e, err := c.entry(t.Context()); err != nil || e.Metadata[newKey] == true {
			t.Errorf("after %d requests: %+v, %v", steps, e, err)
		}
	}
}

// TestAnswers plays answers that the local server does not give.
func TestAnswers(t *testing.T) {
	var status int
	var body, token string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		token = r.Header.Get("X-Chroma-Token")
		w.Header().Set("Retry-After", "7")
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body))
	}))
	defer server.Close()
	s := openAt(t, strings.TrimPrefix(server.URL, "http://"), "answers", func(c *Config) { c.APIKey = "secret-token" })
	c := s.open(entry{ID: "x"})
	for _, a := range []struct {
		status int
		body   string
		class  connector.Class
	}{
		{401, `{"error":"AuthError","message":"Unauthorized"}`, connector.ClassDenied},
		{403, `{}`, connector.ClassDenied},
		{429, `{"error":"RateLimited","message":"slow down"}`, connector.ClassThrottled},
		{413, `length limit exceeded`, connector.ClassTooLarge},
		{500, `{"error":"InternalError","message":"database or disk is full"}`, connector.ClassFull},
		{503, ``, connector.ClassTransient},
		{200, `{"ids":["a"`, connector.ClassTransient},
		{200, `<html>`, connector.ClassTransient},
	} {
		status, body = a.status, a.body
		_, err := c.Fetch(t.Context(), []string{"a"}, false)
		if connector.ClassOf(err) != a.class || strings.Contains(err.Error(), "secret-token") {
			t.Errorf("%d %s: class %v: %v", a.status, a.body, connector.ClassOf(err), err)
		}
		var e *connector.Error
		if a.status == 429 && (!errors.As(err, &e) || e.RetryAfter != 7*time.Second) {
			t.Error("Retry-After is lost")
		}
	}
	if token != "secret-token" {
		t.Errorf("token %q", token)
	}
	large := point(1, nil)
	large.Content = strings.Repeat("x", maxRequest)
	status, body = 200, `{"ids":[],"metadatas":[]}`
	if err := c.Upsert(t.Context(), []connector.Point{{Record: large.Record}}); connector.ClassOf(err) != connector.ClassTooLarge {
		t.Errorf("a text over the limit: class %v", connector.ClassOf(err))
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

func TestValidate(t *testing.T) {
	for _, c := range []Config{
		{Address: "localhost:8000"}, {Address: "http://user:pw@host"}, {Address: "ftp://host"}, {Address: "http://h?x=1"},
	} {
		if err := c.Validate(); err == nil {
			t.Errorf("%+v is accepted", c)
		}
	}
	for _, name := range []string{"ab", "手册", "a b", "-abc", "abc.", strings.Repeat("x", 501)} {
		if _, err := Open(Config{}, connector.Env{Name: name}); err == nil {
			t.Errorf("%q is accepted", name)
		}
	}
	c := Config{}
	if err := c.Validate(); err != nil || c.Address != "http://localhost:8000" || c.Tenant != "default_tenant" {
		t.Errorf("defaults: %+v, %v", c, err)
	}
}
