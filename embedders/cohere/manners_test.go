package cohere

import (
	"strings"
	"testing"

	"github.com/kbsync/kbsync/internal/providers"
	"github.com/kbsync/kbsync/internal/providers/providerstest"
)

func TestShorterVectors(t *testing.T) {
	server := providerstest.Start(t, providerstest.Cohere(1536))
	c := server.Config(DefaultModel)
	c.Dimensions, c.Normalize = 512, true
	e, err := Open(t.Context(), Config{Config: c})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = e.Close() }()
	if v, err := e.EmbedQuery(t.Context(), "a"); err != nil || len(v) != 512 || server.Calls()[0].Dimensions != 512 || e.Usage().Tokens != 1 {
		t.Errorf("%d dimensions, %v, %+v, %+v", len(v), err, server.Calls(), e.Usage())
	}
	if m := e.Model(); m.MaxItems != 96 || !m.Normalized {
		t.Errorf("%+v", m)
	}
}

func TestValidate(t *testing.T) {
	for want, c := range map[string]providers.Config{"env:COHERE_API_KEY": {}, "256, 512, 1024": {APIKey: "k", Dimensions: 2000}} {
		if err := (&Config{Config: c}).Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}
