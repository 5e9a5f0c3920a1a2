package chroma

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

// names keeps the collections of one server apart.
type names struct{ n atomic.Int64 }

func (n *names) next() string { return fmt.Sprintf("kb%d", n.n.Add(1)) }

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
	server := servers.Start(t, "chroma")
	var n names
	for _, distance := range []string{"cosine", "dot", "l2"} {
		t.Run(distance, func(t *testing.T) {
			var name string
			set := func(c *Config) { c.Distance = distance }
			sinktest.Run(t, func(t *testing.T) connector.Sink {
				name = n.next()
				return openAt(t, server.Addr, name, set)
			}, sinktest.Options{Distance: distance, Reopen: func(t *testing.T) connector.Sink {
				if distance == "cosine" && strings.Contains(t.Name(), "durability") {
					server.Kill()
					server.Restart()
				}
				return openAt(t, server.Addr, name, set)
			}})
		})
	}
}
