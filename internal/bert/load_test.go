package bert

import (
	"strings"
	"testing"

	"github.com/kbsync/kbsync/internal/modelfile"
)

func TestLoadRefuses(t *testing.T) {
	for want, c := range map[string]modelfile.Config{
		"relu":  {Activation: "relu", Pooling: "mean"},
		"max":   {Activation: "gelu", Pooling: "max"},
		"words": {Activation: "gelu", Pooling: "cls", Hidden: 4, Heads: 1, Layers: 1, Intermediate: 4},
	} {
		if _, err := Load(&modelfile.Model{Config: c}, Options{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
