package acceptance

import (
	"context"
	"errors"
	"testing"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/plugins"
)

type remoteConfig struct {
	Socket string `yaml:"socket"`
}

// registry is the program's own list and the plugins that exist for tests alone.
func registry(tb testing.TB, r *rig) *connector.Registry {
	tb.Helper()
	reg, err := plugins.Registry()
	err = errors.Join(err,
		reg.Sources.Add("faulty", faultyPlugin()),
		reg.Sinks.Add("memory", connector.Define("memory", "the reference sink", struct{}{},
			func(context.Context, *struct{}, connector.Env) (connector.Sink, error) { return r.memory, nil })),
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
