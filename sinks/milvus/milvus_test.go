package milvus

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/connector/sinktest"
	"github.com/kbsync/kbsync/internal/servers"
)

func config(addr, collection string) Config {
	c := defaults()
	c.Address, c.Collection = addr, collection
	return c
}

func openWith(t testing.TB, c Config) *Sink {
	t.Helper()
	s, err := Open(c, connector.Env{Name: "test", Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// forget drops what a test made, so that the next ones do not carry it.
func forget(t testing.TB, c Config) {
	t.Helper()
	s := openWith(t, c)
	defer func() { _ = s.Close() }()
	ctx := context.WithoutCancel(t.Context())
	all, _, err := s.inventory(ctx)
	if err != nil {
		return // the server is gone
	}
	if srv, err := s.link.connect(ctx); err == nil {
		_ = srv.DropAlias(ctx, s.conf.Collection)
		for _, f := range all {
			_ = srv.DropCollection(ctx, f.name)
		}
	}
}

func conform(t *testing.T, addr, distance string, change func(*Config)) {
	var n atomic.Int32
	var last Config
	opts := sinktest.Options{Distance: distance, LooseTies: true, Reopen: func(t *testing.T) connector.Sink { return openWith(t, last) }}
	if distance != "cosine" {
		opts.ScanPoints = 300 // how vectors are compared is nothing to a scan
	}
	sinktest.Run(t, func(t *testing.T) connector.Sink {
		last = config(addr, fmt.Sprintf("手册 %s.%d-%s", distance, n.Add(1), "x"))
		last.Distance = distance
		if change != nil {
			change(&last)
		}
		used := last
		t.Cleanup(func() { forget(t, used) })
		return openWith(t, last)
	}, opts)
}

func TestConformance(t *testing.T) {
	srv := servers.Start(t, "milvus-lite")
	for _, distance := range []string{"cosine", "dot", "l2"} {
		t.Run(distance, func(t *testing.T) { conform(t, srv.Addr, distance, nil) })
	}
}

// TestMilvus23 checks the sink on a full server of an old version, which has no sparse vectors.
func TestMilvus23(t *testing.T) {
	srv := startFull(t)
	ctx := t.Context()
	for _, distance := range []string{"cosine", "dot", "l2"} {
		t.Run(distance, func(t *testing.T) { conform(t, srv.Addr, distance, func(c *Config) { c.Sparse = "none" }) })
	}
	t.Run("sparse", func(t *testing.T) {
		s := openWith(t, config(srv.Addr, "sparse"))
		defer func() { _ = s.Close() }()
		_, err := s.Create(ctx, connector.Schema{Generation: "g1", Model: "m", Dimensions: 8})
		if connector.ClassOf(err) != connector.ClassUnsupported {
			t.Errorf("sparse vectors on Milvus 2.3: %v, want a refusal that names the version", err)
		}
	})
}

// startFull runs a full server. Its package starts the server as a child, which would outlive a kill of the parent.
func startFull(t *testing.T) *servers.Server {
	srv := servers.Start(t, "milvus")
	t.Cleanup(func() { crash(t, srv) })
	return srv
}

// crash kills a server at once.
func crash(t *testing.T, srv *servers.Server) {
	t.Helper()
	if srv.Name == "milvus" {
		log, err := os.ReadFile(srv.Dir() + ".log")
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`Process:\s+(\d+)`).FindAllSubmatch(log, -1) {
			pid, _ := strconv.Atoi(string(m[1]))
			if cmd, err := os.ReadFile("/proc/" + string(m[1]) + "/cmdline"); err == nil && strings.Contains(string(cmd), srv.Dir()) {
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
		}
	}
	srv.Kill()
}
