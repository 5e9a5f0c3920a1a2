package gemini

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
	server := providerstest.Start(t, providerstest.Gemini("gemini-embedding-001", 3072))
	embedtest.Run(t, func(t *testing.T) connector.Embedder { return open(t, server.Config("gemini-embedding-001")) }, embedtest.Options{})
}

func TestFaults(t *testing.T) {
	providerstest.Run(t, providerstest.Gemini("gemini-embedding-001", 3072), providerstest.Options{Model: "gemini-embedding-001", Kinds: [2]string{"RETRIEVAL_DOCUMENT", "RETRIEVAL_QUERY"}}, open)
}
