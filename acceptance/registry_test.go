package acceptance

import (
	"context"
	"errors"
	"testing"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/connector/sinktest"
	"github.com/kbsync/kbsync/plugins"
)

type remoteConfig struct {
	Socket string `yaml:"socket"`
}

// registry is the program's own list and the plugins that exist for tests alone.
func registry(tb testing.TB, r *rig) *connector.Registry {
	tb.Helper()
	return registryWith(tb, r, nil)
}

// registryWith is that of a build with these weights.
func registryWith(tb testing.TB, r *rig, weights []byte) *connector.Registry {
	tb.Helper()
	reg, err := plugins.Registry(weights)
	err = errors.Join(err,
		reg.Sources.Add("faulty", faultyPlugin()),
		reg.Sources.Add("paged", pagedPlugin(r)),
		reg.Embedders.Add("contextual", contextualPlugin(r)),
		reg.Sinks.Add("memory", connector.Define("memory", "the reference sink", memoryConfig{},
			func(_ context.Context, c *memoryConfig, _ connector.Env) (connector.Sink, error) {
				return r.place(c.Name), nil
			})),
		reg.Sinks.Add("remote", connector.Define("remote", "a sink in another process", remoteConfig{},
			func(_ context.Context, c *remoteConfig, _ connector.Env) (connector.Sink, error) {
				return &remote{socket: c.Socket}, nil
			})),
	)
	if err != nil {
		tb.Fatal(err)
	}
	return reg
}

// memoryConfig names one of a rig's memories.
type memoryConfig struct {
	Name string `yaml:"name" doc:"which memory"`
}

// place is the memory of that name; the empty name is the rig's own.
func (r *rig) place(name string) *sinktest.Memory {
	if name == "" {
		return r.memory
	}
	if r.places[name] == nil {
		if r.places == nil {
			r.places = map[string]*sinktest.Memory{}
		}
		r.places[name] = sinktest.NewMemory()
		r.places[name].Name = name
	}
	return r.places[name]
}
