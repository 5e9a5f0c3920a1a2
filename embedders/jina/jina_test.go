package jina

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
	server := providerstest.Start(t, providerstest.Jina(1024))
	embedtest.Run(t, func(t *testing.T) connector.Embedder { return open(t, server.Config("jina-embeddings-v3")) }, embedtest.Options{})
}

func late(t *testing.T, c providers.Config) connector.Embedder {
	t.Helper()
	e, err := Open(t.Context(), Config{Config: c, LateChunking: true})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func TestLateConformance(t *testing.T) {
	wire := providerstest.JinaLate(1024)
	wire.Mixed = true
	server := providerstest.Start(t, wire)
	embedtest.Run(t, func(t *testing.T) connector.Embedder { return late(t, server.Config("jina-embeddings-v3")) }, embedtest.Options{Tolerance: 1e-6})
}

func TestLateFaults(t *testing.T) {
	providerstest.Run(t, providerstest.JinaLate(1024), providerstest.Options{Model: "jina-embeddings-v3", Kinds: [2]string{"retrieval.passage", "retrieval.query"}}, late)
}

func TestFaults(t *testing.T) {
	providerstest.Run(t, providerstest.Jina(1024), providerstest.Options{Model: "jina-embeddings-v3", Kinds: [2]string{"retrieval.passage", "retrieval.query"}}, open)
}
