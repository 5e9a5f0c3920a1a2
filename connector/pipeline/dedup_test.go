package pipeline

import (
	"slices"
	"strings"
	"testing"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/connector/config"
	"github.com/kbsync/kbsync/internal/counters"
)

const (
	dedupText = "The gateway reads its routes from a file and watches it. When the file changes, the routes change, and no request is lost. " +
		"Operators see the live table in the console at any time of the day, and a faulty file is refused as a whole. " +
		"Each line of the log names the client, the route and the seconds that the answer took, so that slow routes are found by sorting."
)

// TestDeduper says which chunks an earlier one stands for, by kind of chunk.
func TestDeduper(t *testing.T) {
	near := strings.Replace(dedupText, "any time", "any hour", 1)
	for name, c := range map[string]struct {
		second      connector.Chunk
		exact, near bool
	}{
		"the same":           {connector.Chunk{Text: dedupText}, true, true},
		"nearly":             {connector.Chunk{Text: near}, false, true},
		"parent":             {connector.Chunk{Text: dedupText, StoreOnly: true, Key: "p"}, false, false},
		"knows its context":  {connector.Chunk{Text: dedupText, Late: true}, false, false},
		"nearly, in context": {connector.Chunk{Text: near, Late: true}, false, false},
		"rendered":           {connector.Chunk{Text: dedupText, Rendered: true}, true, true},
		"nearly, rendered":   {connector.Chunk{Text: near, Rendered: true}, false, false},
		"nearly, generated":  {connector.Chunk{Text: near, Generated: true}, false, false},
		"another heading":    {connector.Chunk{Context: "Guide 2 > Routes\n", Text: dedupText}, false, false},
	} {
		for dedup, want := range map[string]bool{"none": false, "exact": c.exact, "near": c.near} {
			d, err := newDeduper(&config.File{Dedup: dedup})
			if err != nil {
				t.Fatal(err)
			}
			first := connector.Chunk{Text: dedupText, Spans: []connector.Span{{Start: 0, End: 9}}}
			pc := newPiece(&first, counters.Chars{})
			pc.ID = connector.UUID{7}
			if _, dup := d.repeats(&first, &pc, 0); dup {
				t.Fatalf("%s, %s: the first chunk repeats another", name, dedup)
			}
			d.stays(pc.ID)
			c.second.Spans = []connector.Span{{Start: 9, End: 19}}
			again := newPiece(&c.second, counters.Chars{})
			id, dup := d.repeats(&c.second, &again, 1)
			if dup != want || dup && id != pc.ID {
				t.Errorf("%s, %s: repeats is %v (%v), want %v", name, dedup, dup, id, want)
			}
			d.standFor(&pc, 0)
			if want && (!slices.Equal(pc.Spans, []connector.Span{{Start: 0, End: 9}, {Start: 9, End: 19}}) || d.leftOut() != 1) {
				t.Errorf("%s, %s: it stands for %v, %d left out", name, dedup, pc.Spans, d.leftOut())
			}
			if n, ok := pc.Metadata[nearMetadata]; ok != (want && !c.exact) || ok && n != 1 {
				t.Errorf("%s, %s: near copies %v", name, dedup, n)
			}
		}
	}
}
