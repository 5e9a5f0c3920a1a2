package weaviate

import (
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	pb "github.com/weaviate/weaviate/grpc/generated/protocol/v1"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/faultproxy"
	"github.com/kbsync/kbsync/internal/servers"
)

func TestDenied(t *testing.T) {
	const key = "s3cret-key-for-the-test"
	server := servers.Start(t, "weaviate", "WEAVIATE_ANONYMOUS=false", "WEAVIATE_APIKEY="+key)
	with := func(key connector.Secret) *Sink {
		c := configAt(server, "denied")
		c.APIKey = key
		s := openWith(t, c)
		t.Cleanup(func() { _ = s.Close() })
		return s
	}
	right := with(key)
	good := create(t, right, "g1")
	upsert(t, good, points(0, 3)...)
	wantCount(t, good, 3)
	for _, wrong := range []connector.Secret{"", "wr0ng-key-of-the-test"} {
		s := with(wrong)
		c := *good
		c.sink = s
		var errs []error
		note := func(err error) { errs = append(errs, err) }
		_, err := s.Create(t.Context(), schemaOf(s, "g1"))
		note(err)
		_, err = s.Live(t.Context())
		note(err)
		note(s.Promote(t.Context(), "g1"))
		note(c.Upsert(t.Context(), points(0, 1)))
		note(c.Delete(t.Context(), []string{pointID(0)}))
		_, err = c.Fetch(t.Context(), []string{pointID(0)}, false)
		note(err)
		_, err = c.Count(t.Context())
		note(err)
		_, err = c.send(t.Context(), []*pb.BatchObject{must(c.encode(&[]connector.Point{point(1)}[0]))})
		note(err)
		for _, err := range errs {
			wantClass(t, err, connector.ClassDenied)
			if s := fmt.Sprintf("%v %+v %#v", err, err, err); strings.Contains(s, key) || strings.Contains(s, "wr0ng-key") {
				t.Errorf("the key is in the message: %s", s)
			}
		}
	}
	wantCount(t, good, 3)
}

// TestCrash: the server is killed and started again; what was acknowledged is there.
func TestCrash(t *testing.T) {
	server := servers.Start(t, "weaviate", "GRPC_MAX_MESSAGE_SIZE=1000000", "QUERY_MAXIMUM_RESULTS=600")
	c := configAt(server, "crash")
	c.Timeout = 3 * time.Second
	s := openWith(t, c)
	t.Cleanup(func() { _ = s.Close() })
	coll := create(t, s, "g1")
	t.Run("message limit", func(t *testing.T) { messageLimit(t, coll) })
	mark := coll.marker
	for from := 0; from < 1000; from += 100 {
		if err := coll.Upsert(t.Context(), points(from, from+100)); err != nil {
			t.Fatal(err)
		}
	}
	server.Kill()
	wantClass(t, coll.Upsert(t.Context(), points(0, 3)), connector.ClassTransient)
	_, err := s.Live(t.Context())
	wantClass(t, err, connector.ClassTransient)
	_, err = coll.Fetch(t.Context(), []string{pointID(0)}, false)
	wantClass(t, err, connector.ClassTransient)
	server.Restart()
	deadline := time.Now().Add(30 * time.Second)
	for {
		_, err = coll.Fetch(t.Context(), []string{pointID(0)}, false)
		if err == nil || time.Now().After(deadline) {
			break
		}
		wantClass(t, err, connector.ClassTransient)
		time.Sleep(100 * time.Millisecond)
	}
	wantCount(t, coll, 1000)
	n := 0
	for p, err := range coll.Scan(t.Context(), true) {
		if err != nil {
			t.Fatal(err)
		}
		if p.Vector != nil {
			n++
		}
	}
	if m, err := coll.Marker(t.Context()); n != 1000 || err != nil || m != mark {
		t.Errorf("%d of 1000 points with vectors; marker %s, %v, was %s", n, m, err, mark)
	}
	hits, err := coll.Search(t.Context(), connector.Query{Mode: connector.ModeDense, Vector: point(7).Vector, K: 1})
	if err != nil || len(hits) != 1 || hits[0].ChunkID != pointID(7) {
		t.Errorf("%v, %v", hits, err)
	}
	var ids []string
	for _, p := range points(1, 1000) {
		ids = append(ids, p.ChunkID)
	}
	if err := coll.Delete(t.Context(), ids); err != nil { // more than the server deletes in one call
		t.Error(err)
	}
	wantCount(t, coll, 1)
	server.Pause()
	err = coll.Upsert(t.Context(), points(0, 3))
	server.Continue()
	wantClass(t, err, connector.ClassTransient)
}

// messageLimit: requests over the server's limit are ClassTooLarge; answers over it are asked for in smaller pages.
func messageLimit(t *testing.T, c *Collection) {
	big := points(5000, 5300)
	var ids []string
	for i := range big {
		big[i].Content = strings.Repeat("x ", 2000)
		big[i].EmbedText = big[i].Content
		ids = append(ids, big[i].ChunkID)
	}
	wantClass(t, c.Upsert(t.Context(), big), connector.ClassTooLarge)
	wantCount(t, c, 0)
	for batch := range slices.Chunk(big, 50) {
		upsert(t, c, batch...)
	}
	if got, err := c.Fetch(t.Context(), ids, true); err != nil || len(got) != len(big) {
		t.Errorf("%d points, %v", len(got), err)
	}
	n := 0
	for _, err := range c.Scan(t.Context(), true) {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	if n != len(big) {
		t.Errorf("%d of %d points", n, len(big))
	}
	if err := c.Delete(t.Context(), ids); err != nil {
		t.Fatal(err)
	}
}

// TestAsyncIndexing: on a server that indexes in the background, Flush waits for that.
func TestAsyncIndexing(t *testing.T) {
	server := servers.Start(t, "weaviate", "ASYNC_INDEXING=true", "AUTOSCHEMA_ENABLED=false")
	s := openWith(t, configAt(server, "async"))
	t.Cleanup(func() { _ = s.Close() })
	c := create(t, s, "g1")
	for from := 0; from < 2000; from += 500 {
		upsert(t, c, points(from, from+500)...)
		hits, err := c.Search(t.Context(), connector.Query{Mode: connector.ModeDense, Vector: point(from + 499).Vector, K: 1})
		if err != nil || len(hits) != 1 || hits[0].ChunkID != pointID(from+499) {
			t.Errorf("after %d points: %v, %v", from+500, hits, err)
		}
	}
}

// TestCertificate: a server that cannot prove who it is gets no key.
func TestCertificate(t *testing.T) {
	var asked atomic.Int64
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Add(1) }))
	server.EnableHTTP2 = true
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	defer server.Close()
	address := server.Listener.Addr().String()
	c := Config{Address: address, GRPCAddress: address, TLS: true, APIKey: "key"}
	c.Collection = "tls"
	s := openWith(t, c)
	defer func() { _ = s.Close() }()
	_, err := s.Live(t.Context())
	wantClass(t, err, connector.ClassDenied)
	wantClass(t, s.setAlias(t.Context(), "X"), connector.ClassDenied)
	coll := &Collection{sink: s, class: "X", schema: schemaOf(s, "g1")}
	_, err = coll.Fetch(t.Context(), []string{pointID(1)}, false)
	wantClass(t, err, connector.ClassDenied)
	if asked.Load() != 0 {
		t.Error("a request was sent")
	}
}

// TestCutConnections: a request whose connection is cut is a transient error, and made again it is complete.
func TestCutConnections(t *testing.T) {
	server := servers.Start(t, "weaviate")
	web, rpc := faultproxy.Start(t, server.Addr), faultproxy.Start(t, server.Addr2)
	config := Config{Address: web.Addr, GRPCAddress: rpc.Addr}
	config.Collection, config.Timeout = "cut", 5*time.Second
	s := openWith(t, config)
	defer func() { _ = s.Close() }()
	c := create(t, s, "g1")
	for name, harm := range map[string]struct {
		on *faultproxy.Proxy
		faultproxy.Harm
	}{
		"request cut": {rpc, faultproxy.Harm{CutUp: 20_000, Cuts: 1}}, "answer cut": {rpc, faultproxy.Harm{CutDown: 1, Cuts: 1}},
		"check cut": {web, faultproxy.Harm{CutDown: 1, Cuts: 1}}, "refused": {rpc, faultproxy.Harm{Refuse: true}},
	} {
		t.Run(name, func(t *testing.T) {
			harm.on.CutAll()
			harm.on.Set(harm.Harm)
			// A connection that was cut while idle may be made anew without a word, so the harm may fall on a later call.
			var err error
			for n := 0; n < 5 && err == nil; n++ {
				err = c.Upsert(t.Context(), points(0, 300))
			}
			wantClass(t, err, connector.ClassTransient)
			harm.on.Set(faultproxy.Harm{})
			for n := 0; n < 50 && err != nil; n++ { // the client waits before it connects again
				time.Sleep(100 * time.Millisecond)
				err = c.Upsert(t.Context(), points(0, 300))
			}
			if err != nil {
				t.Fatal(err)
			}
			wantCount(t, c, 300)
		})
	}
}
