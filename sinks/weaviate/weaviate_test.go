package weaviate

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

// configAt is the configuration for a server and a collection.
func configAt(server *servers.Server, collection string) Config {
	c := Config{Common: remote.Defaults(), Address: server.Addr, GRPCAddress: server.Addr2}
	c.Collection = collection
	return c
}

func openWith(t testing.TB, c Config) *Sink {
	t.Helper()
	s, err := Open(c, connector.Env{Name: "test"})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestConformance(t *testing.T) {
	server := servers.Start(t, "weaviate")
	var n atomic.Int64
	for name, change := range map[string]func(*Config){
		"cosine": func(*Config) {},
		"dot":    func(c *Config) { c.Distance = "dot" },
		"l2":     func(c *Config) { c.Distance = "l2" },
		"tenant, flat, named vector": func(c *Config) {
			c.Tenant, c.Index, c.Fields.Names = "acme", indexFlat, map[string]string{"vector": "dense", "content": "body"}
		},
		"dense alone": func(c *Config) { c.Sparse = "none" },
	} {
		t.Run(name, func(t *testing.T) {
			config := configAt(server, "")
			change(&config)
			sinktest.Run(t, func(t *testing.T) connector.Sink {
				config.Collection = fmt.Sprintf("c%d %s", n.Add(1), strings.ReplaceAll(t.Name(), "/", " "))
				return openWith(t, config)
			}, sinktest.Options{Distance: config.Distance, Reopen: func(t *testing.T) connector.Sink { return openWith(t, config) }})
		})
	}
}
