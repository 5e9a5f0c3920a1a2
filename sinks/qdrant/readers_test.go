package qdrant

import (
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// TestReaders reads collections with the libraries that the presets are for. KBSYNC_READERS is a Python that has langchain-qdrant
// and llama-index-vector-stores-qdrant.
func TestReaders(t *testing.T) {
	python := os.Getenv("KBSYNC_READERS")
	if python == "" {
		return // TestPresets compares with the names that these libraries had when they were last run
	}
	for preset, hits := range map[string]int{"langchain": 2, "llamaindex": 3} {
		server, _, _ := rig(t, 5, func(c *Config) { c.Fields.Preset = preset })
		vector, err := json.Marshal(testPoint(3).Vector)
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.CommandContext(t.Context(), python, "testdata/read.py", server.Addr(), preset, string(vector))
		cmd.Stderr = os.Stderr
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%s: %v", preset, err)
		}
		lines := strings.Split(strings.TrimSpace(string(out)), "\n")
		for i, line := range lines {
			var hit struct {
				ID, Text string
				Metadata map[string]any
			}
			if err := json.Unmarshal([]byte(line), &hit); err != nil {
				t.Fatal(err)
			}
			if i == 1 { // the second best of the first query
				continue
			}
			if want := testPoint(3); hit.ID != want.ChunkID || hit.Text != want.Content || hit.Metadata["n"] != 3.0 {
				t.Errorf("%s: hit %d is %+v", preset, i, hit)
			}
		}
		if len(lines) != hits {
			t.Errorf("%s: %d hits, want %d", preset, len(lines), hits)
		}
	}
}
