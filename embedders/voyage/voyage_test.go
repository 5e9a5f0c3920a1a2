package voyage

import (
	"testing"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/connector/embedtest"
	"github.com/kbsync/kbsync/internal/providers"
	"github.com/kbsync/kbsync/internal/providers/providerstest"
)

func open(t *testing.T, c providers.Config) connector.Embedder {
	t.Helper()
	e, err := Open(t.Context(), Config{Config: c})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func TestConformance(t *testing.T) {
	server := providerstest.Start(t, providerstest.Voyage(1024))
	embedtest.Run(t, func(t *testing.T) connector.Embedder { return open(t, server.Config("voyage-3.5")) }, embedtest.Options{})
}

func TestContextConformance(t *testing.T) {
	wire := providerstest.VoyageContext(1024)
	wire.Mixed = true
	server := providerstest.Start(t, wire)
	embedtest.Run(t, func(t *testing.T) connector.Embedder { return open(t, server.Config("voyage-context-3")) }, embedtest.Options{Tolerance: 1e-6})
}

func TestContextFaults(t *testing.T) {
	providerstest.Run(t, providerstest.VoyageContext(1024), providerstest.Options{Model: "voyage-context-3", Kinds: [2]string{"document", "query"}}, open)
}

func TestFaults(t *testing.T) {
	providerstest.Run(t, providerstest.Voyage(1024), providerstest.Options{Model: "voyage-3.5", Kinds: [2]string{"document", "query"}}, open)
}
