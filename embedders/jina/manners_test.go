package jina

import (
	"strings"
	"testing"

	"github.com/kbsync/kbsync/internal/providers"
	"github.com/kbsync/kbsync/internal/providers/providerstest"
)

// Models of version 2 know no task: questions and passages are one.
func TestPlainModel(t *testing.T) {
	server := providerstest.Start(t, providerstest.Jina(768))
	e, err := Open(t.Context(), Config{Config: server.Config("jina-embeddings-v2-base-zh")})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = e.Close() }()
	if _, err := e.EmbedQuery(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	if m := e.Model(); server.Calls()[0].Kind != "" || m.QueryPrefix != m.DocumentPrefix {
		t.Errorf("%+v, %+v", server.Calls(), m)
	}
}

func TestValidate(t *testing.T) {
	for want, c := range map[string]providers.Config{"env:JINA_API_KEY": {}, "1 to 1024": {APIKey: "k", Dimensions: 2000}} {
		if err := (&Config{Config: c}).Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}

// Late chunking is another model, of one document of 8,192 tokens a request.
func TestLateIsAnotherModel(t *testing.T) {
	c := providers.Config{APIKey: "k", Dimensions: 512}
	plain, err := Open(t.Context(), Config{Config: c})
	if err != nil {
		t.Fatal(err)
	}
	joined, err := Open(t.Context(), Config{Config: c, LateChunking: true})
	if err != nil {
		t.Fatal(err)
	}
	if a, b := plain.Model(), joined.Model(); a.Identity() == b.Identity() || a.Contextual || !b.Contextual || b.MaxTokens != 6144 {
		t.Errorf("%+v\n%+v", a, b)
	}
}
