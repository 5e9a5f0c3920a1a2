package voyage

import (
	"strings"
	"testing"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/providers"
)

func TestValidate(t *testing.T) {
	for want, c := range map[string]providers.Config{
		"env:VOYAGE_API_KEY": {}, "512, 2048": {APIKey: "k", Dimensions: 300}, "nothing else": {APIKey: "k", Model: "voyage-law-2", Dimensions: 512},
	} {
		if err := (&Config{Config: c}).Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
	for key, base := range map[string]string{"pa-1": DefaultBaseURL, "al-1": MongoDBBaseURL} {
		c := Config{Config: providers.Config{APIKey: connector.Secret(key)}}
		if err := c.Validate(); err != nil || c.BaseURL != base || c.Model != DefaultModel {
			t.Errorf("%s: %v, %s", key, err, c.BaseURL)
		}
	}
}

// The limits of requests differ by model; cl100k counts in place of Voyage's tokenizers, so that a quarter is left.
func TestLimits(t *testing.T) {
	for model, tokens := range map[string]int{"voyage-3-large": 90000, "voyage-3.5": 240000, "voyage-3.5-lite": 750000, "voyage-9": 90000, "voyage-context-3": 24000, "voyage-context-9": 24000} {
		e, err := Open(t.Context(), Config{Config: providers.Config{APIKey: "k", Model: model, Dimensions: 1024}})
		if err != nil {
			t.Fatal(err)
		}
		if m := e.Model(); m.MaxTokens != tokens || m.MaxItems != 1000 || m.Contextual != strings.Contains(model, "context") {
			t.Errorf("%s: %+v", model, m)
		}
	}
}
