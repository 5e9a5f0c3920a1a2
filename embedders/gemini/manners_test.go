package gemini

import (
	"math"
	"strings"
	"testing"

	"github.com/kbsync/kbsync/internal/providers"
	"github.com/kbsync/kbsync/internal/providers/providerstest"
)

// A shorter vector, which Gemini does not bring to length 1, is brought to it.
func TestShortVectors(t *testing.T) {
	wire := providerstest.Gemini("gemini-embedding-001", 3072)
	write := wire.Write
	wire.Write = func(c providerstest.Call, vectors []providerstest.Vec, tokens int) any {
		for _, v := range vectors {
			for i := range v.Values {
				v.Values[i] *= 0.7
			}
		}
		return write(c, vectors, tokens)
	}
	server := providerstest.Start(t, wire)
	c := server.Config("models/gemini-embedding-001")
	c.Dimensions = 768
	e, err := Open(t.Context(), Config{Config: c})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = e.Close() }()
	got, err := e.Embed(t.Context(), []string{"a"})
	if err != nil {
		t.Fatal(err)
	}
	square := 0.0
	for _, x := range got[0] {
		square += float64(x) * float64(x)
	}
	if math.Abs(square-1) > 1e-6 || !e.Model().Normalized || server.Calls()[0].Dimensions != 768 {
		t.Errorf("length %v, %+v", math.Sqrt(square), server.Calls())
	}
}

func TestValidate(t *testing.T) {
	for want, c := range map[string]providers.Config{"env:GEMINI_API_KEY": {}, "1 to 3072": {APIKey: "k", Dimensions: 4000}} {
		if err := (&Config{Config: c}).Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}
