package qdrant

import (
	"crypto/rand"
	"fmt"
	"os"
	"strings"
	"testing"

	pb "github.com/qdrant/go-client/qdrant"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/connector/sinktest"
	"github.com/kbsync/kbsync/internal/remote"
	"github.com/kbsync/kbsync/internal/servers"
	"github.com/kbsync/kbsync/sinks/qdrant/qdrantfake"
)

// fake starts a fake server that ends with the test.
func fake(tb testing.TB) *qdrantfake.Server {
	tb.Helper()
	s, err := qdrantfake.Start()
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(s.Stop)
	return s
}

// openAt opens a sink of the collection at the address; change may be nil.
func openAt(tb testing.TB, addr, collection string, change func(*Config)) *Sink {
	tb.Helper()
	c := Config{Common: remote.Defaults(), Address: addr}
	c.Collection = collection
	if change != nil {
		change(&c)
	}
	s, err := Open(c, connector.Env{Name: "test", Dir: tb.TempDir()})
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

// conform runs the suite against a server, with collections of their own.
func conform(t *testing.T, addr string, change func(*Config), distances ...string) {
	t.Helper()
	for _, distance := range distances {
		t.Run(distance, func(t *testing.T) {
			prefix := "kbsync-test-" + strings.ToLower(rand.Text()[:10]) + "-"
			n, collection := 0, ""
			set := func(c *Config) {
				c.Distance = distance
				if change != nil {
					change(c)
				}
			}
			t.Cleanup(func() { dropAll(t, addr, prefix, set) })
			sinktest.Run(t, func(t *testing.T) connector.Sink {
				n++
				collection = fmt.Sprintf("%s%d 库", prefix, n)
				return openAt(t, addr, collection, set)
			}, sinktest.Options{Distance: distance, Reopen: func(t *testing.T) connector.Sink { return openAt(t, addr, collection, set) }})
		})
	}
}

// dropAll removes what a test has left on a server.
func dropAll(t *testing.T, addr, prefix string, change func(*Config)) {
	t.Helper()
	s := openAt(t, addr, prefix, change)
	defer func() { _ = s.Close() }()
	ctx := t.Context()
	if ctx.Err() != nil { // the context of a test is over in its cleanup
		ctx = testContext(t)
	}
	names, err := s.list(ctx)
	if err != nil {
		t.Errorf("list the collections of the test: %v", err)
	}
	for _, name := range names {
		if strings.HasPrefix(name, prefix) {
			if _, err := s.client.GetCollectionsClient().Delete(ctx, &pb.DeleteCollection{CollectionName: name}); err != nil {
				t.Errorf("drop %s: %v", name, err)
			}
		}
	}
}

// TestConformance runs against the fake: always, everywhere.
func TestConformance(t *testing.T) { conform(t, fake(t).Addr(), nil, "cosine", "dot", "l2") }

// TestConformanceStrict: strict mode refuses filters without an index.
func TestConformanceStrict(t *testing.T) {
	s := fake(t)
	s.Strict, s.MaxBatch = true, 500
	conform(t, s.Addr(), nil, "cosine")
}

// TestConformanceOld: a server without collection metadata and without batches of queries and updates.
func TestConformanceOld(t *testing.T) {
	s := fake(t)
	s.Old = true
	conform(t, s.Addr(), nil, "cosine")
}

// TestConformanceVariants: other names, the dense vector without a name, no sparse vector, no graph.
func TestConformanceVariants(t *testing.T) {
	for name, change := range map[string]func(*Config){
		"langchain":  func(c *Config) { c.Fields.Preset = "langchain" },
		"llamaindex": func(c *Config) { c.Fields.Preset = "llamaindex" },
		"names": func(c *Config) {
			c.Fields.Names = map[string]string{"content": "正文", "vector": "v", "terms": "t", "metadata": "m"}
		},
		"no sparse": func(c *Config) { c.Sparse = "none" },
		"flat":      func(c *Config) { c.Index = "flat" },
	} {
		t.Run(name, func(t *testing.T) { conform(t, fake(t).Addr(), change, "cosine") })
	}
}

// TestConformanceDouble runs against the official Python client's local mode, which other people wrote.
func TestConformanceDouble(t *testing.T) {
	conform(t, servers.Start(t, "qdrant-double").Addr, nil, "cosine", "dot", "l2")
}

// TestConformanceServer runs against a real server, at QDRANT_ADDR with QDRANT_API_KEY, and drops what it made.
func TestConformanceServer(t *testing.T) {
	addr := os.Getenv("QDRANT_ADDR")
	if addr == "" {
		return // there is none in the registries; the documentation says which version this was last run on
	}
	conform(t, addr, func(c *Config) { c.APIKey = connector.Secret(os.Getenv("QDRANT_API_KEY")) }, "cosine", "dot", "l2")
}
