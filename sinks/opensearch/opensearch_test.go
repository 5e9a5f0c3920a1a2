package opensearch

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/connector/sinktest"
	"github.com/kbsync/kbsync/internal/remote"
	"github.com/kbsync/kbsync/internal/servers"
)

// names keeps the indexes of one server apart.
type names struct{ n atomic.Int64 }

func (n *names) next() string { return fmt.Sprintf("手册%d", n.n.Add(1)) }

func openAt(t testing.TB, addr, collection string, change ...func(*Config)) *Sink {
	t.Helper()
	c := Config{Common: remote.Common{Collection: collection}, Address: "http://" + addr}
	for _, f := range change {
		f(&c)
	}
	s, err := Open(c, connector.Env{Name: "test"})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestConformance(t *testing.T) {
	server := servers.Start(t, "opensearch")
	var n names
	for name, set := range map[string]func(*Config){
		"cosine": func(*Config) {}, "dot": func(c *Config) { c.Distance = "dot" },
		"l2": func(c *Config) { c.Distance, c.Sparse, c.Fields.Preset = "l2", "none", "langchain" },
	} {
		t.Run(name, func(t *testing.T) {
			var collection string
			set := func(c *Config) { set(c) }
			distance := openAt(t, server.Addr, "x", set).config.Distance
			sinktest.Run(t, func(t *testing.T) connector.Sink {
				collection = n.next()
				return openAt(t, server.Addr, collection, set)
			}, sinktest.Options{Distance: distance, Reopen: func(t *testing.T) connector.Sink {
				if name == "cosine" && strings.Contains(t.Name(), "durability") {
					server.Kill()
					server.Restart()
				}
				return openAt(t, server.Addr, collection, set)
			}})
		})
	}
}
