package cohere

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
	server := providerstest.Start(t, providerstest.Cohere(1024))
	embedtest.Run(t, func(t *testing.T) connector.Embedder { return open(t, server.Config("embed-multilingual-v3.0")) }, embedtest.Options{})
}

func TestFaults(t *testing.T) {
	providerstest.Run(t, providerstest.Cohere(1024), providerstest.Options{Model: "embed-multilingual-v3.0", Kinds: [2]string{"search_document", "search_query"}}, open)
}
