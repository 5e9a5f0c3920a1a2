package opensearch

import (
	"errors"
	"fmt"
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

func create(t testing.TB, s *Sink, generation string) *Collection {
	t.Helper()
	c, err := s.Create(t.Context(), connector.Schema{Generation: generation, Model: "test", Dimensions: dims, Distance: "cosine", Layout: s.Capabilities().Layout})
	if err != nil {
		t.Fatal(err)
	}
	return c.(*Collection)
}

func point(n int, metadata map[string]any) connector.Point {
	text := fmt.Sprintf("passage %d 段落", n)
	v := make([]float32, dims)
	v[n%dims], v[(n/dims)%dims] = 1, 0.5
	return connector.Point{Vector: v, Record: connector.Record{
		ChunkID: connector.NewUUID5(connector.PipelineNamespace("opensearch"), text).String(), DocID: "d", Source: "s", Path: "p.md", Content: text, EmbedText: text,
		ContentHash: connector.ContentHash(text), Metadata: metadata,
	}}
}

// TestFaults runs what goes wrong against one real server.
func TestFaults(t *testing.T) {
	server := servers.Start(t, "opensearch")
	var n names
	for name, f := range map[string]func(*testing.T, *servers.Server, string){
		"dropped behind its back": droppedBehind, "foreign index": foreignIndex, "metadata of other types": otherTypes, "cut connections": cutConnections,
		"alias of others": aliasOfOthers,
	} {
		t.Run(name, func(t *testing.T) { f(t, server, n.next()) })
	}
	t.Run("flood stage", func(t *testing.T) { floodStage(t, server, n.next()) })
}

// droppedBehind: a bulk request would make the index again, without its mapping; nor is one that was made anew taken for it.
func droppedBehind(t *testing.T, server *servers.Server, name string) {
	s := openAt(t, server.Addr, name)
	c := create(t, s, "g1")
	p := point(1, nil)
	for _, again := range []bool{false, true} {
		if err := s.client.Call(t.Context(), http.MethodDelete, "/"+s.config.Physical("g1"), nil, nil); err != nil {
			t.Fatal(err)
		}
		if again {
			create(t, s, "g1")
		}
		for op, call := range map[string]func() error{
			"Upsert": func() error { return c.Upsert(t.Context(), []connector.Point{p}) },
			"Update": func() error { return c.UpdatePayload(t.Context(), []connector.Record{p.Record}) },
			"Delete": func() error { return c.Delete(t.Context(), []string{p.ChunkID}) },
			"Fetch":  func() error { _, err := c.Fetch(t.Context(), []string{p.ChunkID}, true); return err },
			"Count":  func() error { _, err := c.Count(t.Context()); return err },
			"Marker": func() error { _, err := c.Marker(t.Context()); return err },
			"Stamp":  func() error { return c.SetStamp(t.Context(), "x") },
			"Scan":   func() error { return firstError(c.Scan(t.Context(), true)) },
			"Search": func() error {
				_, err := c.Search(t.Context(), connector.Query{Mode: connector.ModeHybrid, Vector: p.Vector, Text: "x", K: 1})
				return err
			},
		} {
			if err := call(); connector.ClassOf(err) != connector.ClassNotFound {
				t.Errorf("%s, made again %v: %v, want not found", op, again, err)
			}
		}
		if _, err := s.Live(t.Context()); errors.Is(err, connector.ErrNoCollection) == again {
			t.Errorf("Live, made again %v: %v", again, err)
		}
		if !again {
			create(t, s, "g1")
		}
	}
}

func firstError[T any](seq func(func(T, error) bool)) error {
	for _, err := range seq {
		return err
	}
	return nil
}

func foreignIndex(t *testing.T, server *servers.Server, name string) {
	s := openAt(t, server.Addr, name)
	if err := s.client.Call(t.Context(), http.MethodPut, "/"+name, map[string]any{
		"settings": map[string]any{"index.knn": true}, "mappings": map[string]any{"properties": map[string]any{
			"v": map[string]any{"type": "knn_vector", "dimension": 2, "method": map[string]any{"name": "hnsw", "engine": "lucene", "space_type": "l2"}}}},
	}, nil); err != nil {
		t.Fatal(err)
	}
	lines := `{"index":{"_id":"a"}}` + "\n" + `{"v":[1,2.5],"text":"x","n":9007199254740993,"meta":{"k":[1,null]}}` + "\n"
	for i := range 700 {
		lines += fmt.Sprintf("{\"index\":{\"_id\":\"b%d\"}}\n{\"text\":\"y\"}\n", i)
	}
	if err := s.client.Call(t.Context(), http.MethodPost, "/"+name+"/_bulk?refresh=true", []byte(lines), nil); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Create(t.Context(), connector.Schema{Generation: "g1", Dimensions: 2, Distance: "l2"}); connector.ClassOf(err) != connector.ClassConflict {
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
	if len(got) != 701 || !slices.Equal(a.Vector, []float32{1, 2.5}) || a.Fields["n"] != int64(9007199254740993) || len(a.Fields) != 3 || got["b1"].Vector != nil {
		t.Errorf("%d foreign documents, a is %+v", len(got), a)
	}
	for range s.Foreign(t.Context(), name) {
		break
	}
	if err := firstError(s.Foreign(t.Context(), name+"-none")); connector.ClassOf(err) != connector.ClassNotFound {
		t.Errorf("a missing index: %v, want not found", err)
	}
}

func aliasOfOthers(t *testing.T, server *servers.Server, name string) {
	s := openAt(t, server.Addr, name)
	if err := s.client.Call(t.Context(), http.MethodPut, "/elsewhere-"+name, map[string]any{"aliases": map[string]any{name: map[string]any{}}}, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Create(t.Context(), connector.Schema{Generation: "g1", Dimensions: 2, Distance: "l2"}); connector.ClassOf(err) != connector.ClassConflict {
		t.Errorf("Create: %v, want a conflict", err)
	}
}

// otherTypes: values that do not fit the declared fields spoil nothing, and one that the server refuses is named.
func otherTypes(t *testing.T, server *servers.Server, name string) {
	c := create(t, openAt(t, server.Addr, name), "g1")
	metadata := map[string]any{
		"page": "xii", "title": map[string]any{"a": 1}, "language": 7, "headings": []any{"a", 1}, "version": "1.2.3", "chunk_index": 2.5, "modified_at": "yesterday",
		"": 1, "a.b": "dots", ".": "x", "metadata": "nested name", "kbsync": "planted",
	}
	good, bad := point(1, metadata), point(2, nil)
	bad.Path = strings.Repeat("x", 40_000)
	var batch *connector.BatchError
	err := c.Upsert(t.Context(), []connector.Point{good, bad, point(3, map[string]any{"version": 12})})
	if !errors.As(err, &batch) || !slices.Equal(batch.Indexes(), []int{1}) || connector.ClassOf(batch.Items[1]) != connector.ClassInvalid {
		t.Fatalf("got %v, want item 1 refused", err)
	}
	if err := c.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	for key, value := range metadata {
		switch value.(type) {
		case map[string]any, []any:
			continue
		}
		hits, err := c.Search(t.Context(), connector.Query{Mode: connector.ModeLexical, Text: "段", K: 5, Filter: connector.Filter{{Field: key, Values: []any{value}}}})
		if err != nil || len(hits) != 1 || len(hits[0].Metadata) != len(metadata) {
			t.Errorf("filter %q = %v: %d hits, %v", key, value, len(hits), err)
		}
	}
}

// cutConnections: what is cut is a transient error, and writing again ends exact.
func cutConnections(t *testing.T, server *servers.Server, name string) {
	proxy := faultproxy.Start(t, server.Addr)
	s := openAt(t, proxy.Addr, name)
	c := create(t, s, "g1")
	var points []connector.Point
	for i := range 200 {
		points = append(points, point(i, map[string]any{"i": i}))
	}
	proxy.Set(faultproxy.Harm{CutUp: 3000})
	proxy.CutAll()
	if err := c.Upsert(t.Context(), points); connector.ClassOf(err) != connector.ClassTransient {
		t.Errorf("cut: %v, want transient", err)
	}
	proxy.Set(faultproxy.Harm{})
	proxy.CutAll()
	var err error
	for range 4 {
		if err = c.Upsert(t.Context(), points); err == nil || connector.ClassOf(err) != connector.ClassTransient {
			break
		}
	}
	if err == nil {
		err = c.Flush(t.Context())
	}
	if n, cerr := c.Count(t.Context()); err != nil || cerr != nil || n != 200 {
		t.Errorf("%d documents, %v, %v", n, err, cerr)
	}
	server.Pause()
	defer server.Continue()
	s.client.Timeout = 200 * time.Millisecond
	if _, err := c.Count(t.Context()); connector.ClassOf(err) != connector.ClassTransient {
		t.Errorf("a server that does not answer: %v, want transient", err)
	}
}

// floodStage: the server blocks writes when the disk is nearly full, and says so for each item.
func floodStage(t *testing.T, server *servers.Server, name string) {
	s := openAt(t, server.Addr, name)
	c := create(t, s, "g1")
	block := func(v any) {
		t.Helper()
		if err := s.client.Call(t.Context(), http.MethodPut, c.path+"/_settings", map[string]any{"index.blocks.read_only_allow_delete": v}, nil); err != nil {
			t.Fatal(err)
		}
	}
	block(true)
	if err := c.Upsert(t.Context(), []connector.Point{point(1, nil)}); connector.ClassOf(err) != connector.ClassFull {
		t.Errorf("a disk that is full: %v, want class full", err)
	}
	block(nil)
	if err := c.Upsert(t.Context(), []connector.Point{point(1, nil)}); err != nil {
		t.Error(err)
	}
}

// TestAnswers plays answers that a healthy local server does not give.
func TestAnswers(t *testing.T) {
	var status int
	var body, user string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		user, _, _ = r.BasicAuth()
		w.Header().Set("Retry-After", "7")
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body))
	}))
	defer server.Close()
	s := openAt(t, strings.TrimPrefix(server.URL, "http://"), "answers", func(c *Config) { c.Username, c.Password = "ann", "secret-word" })
	c := s.open(entry{})
	c.schema.Dimensions = dims
	for _, a := range []struct {
		status int
		body   string
		class  connector.Class
	}{
		{401, `Unauthorized`, connector.ClassDenied},
		{403, `{"error":{"type":"security_exception","reason":"no permissions"}}`, connector.ClassDenied},
		{429, `{"error":{"type":"rejected_execution_exception"}}`, connector.ClassThrottled},
		{413, ``, connector.ClassTooLarge},
		{503, `{"error":{"type":"cluster_block_exception","reason":"blocked by: [SERVICE_UNAVAILABLE/1/state not recovered]"}}`, connector.ClassTransient},
		{200, `{"items":[{"index":{"status":429,"error":{"type":"rejected_execution_exception"}}}]}`, connector.ClassThrottled},
		{200, `{"items":[{"index":{"status":503,"error":{"type":"unavailable_shards_exception"}}}]}`, connector.ClassTransient},
		{200, `{"items":[]}`, connector.ClassTransient},
		{200, `{"items":[`, connector.ClassTransient},
		{200, `<html>`, connector.ClassTransient},
	} {
		status, body = a.status, a.body
		err := c.Upsert(t.Context(), []connector.Point{point(1, nil)})
		if connector.ClassOf(err) != a.class || strings.Contains(fmt.Sprint(err), "secret-word") {
			t.Errorf("%d %s: class %v: %v", a.status, a.body, connector.ClassOf(err), err)
		}
		var e *connector.Error
		if a.status == 429 && (!errors.As(err, &e) || e.RetryAfter != 7*time.Second) {
			t.Error("Retry-After is lost")
		}
	}
	if user != "ann" {
		t.Errorf("user %q", user)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

func TestValidate(t *testing.T) {
	for _, c := range []Config{{Address: "localhost:9200"}, {Address: "http://user:pw@host"}, {Replicas: -1}} {
		if err := c.Validate(); err == nil {
			t.Errorf("%+v is accepted", c)
		}
	}
	for _, name := range []string{"Upper", "a b", "-abc", "_abc", "a/b", "a*", strings.Repeat("x", 201)} {
		if _, err := Open(Config{}, connector.Env{Name: name}); err == nil {
			t.Errorf("%q is accepted", name)
		}
	}
}
