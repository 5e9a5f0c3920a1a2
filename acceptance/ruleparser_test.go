package acceptance

import (
	"strings"
	"testing"
)

// A rule may name the parser: of documents that another one would read, and of those that none claims. Taking the rule away, or changing
// what it says, cuts the documents anew that it touches, and no others.
func TestRuleNamesParser(t *testing.T) {
	const rule = "rules:\n- { match: { path: \"*.html\" }, parser: { text: {} } }\n- { match: { path: \"*.mp3\" }, parser: { markdown: {} }, metadata: { from: tape } }\n"
	r := newRig(t, "", rule)
	r.write("a.html", "<h1>Head</h1><p>Body of the page.</p>")
	r.write("b.mp3", "# Notes\n\nWords that stand in a file with a misleading name.\n")
	r.write("c.md", "# Other\n\nA file that no rule touches.\n")
	r.settle()
	r.sync()
	contents := func() map[string]string {
		out := map[string]string{}
		for _, p := range r.export() {
			out[p.Path] += p.Content
			if p.Path == "b.mp3" && p.Metadata["from"] != "tape" {
				t.Errorf("b.mp3 lacks the rule's metadata: %v", p.Metadata)
			}
		}
		return out
	}
	got := contents()
	if !strings.Contains(got["a.html"], "<h1>Head</h1>") || !strings.Contains(got["b.mp3"], "Words that stand") || len(got) != 3 {
		t.Fatalf("%q", got)
	}
	if again := r.sync(); again.Documents.Unchanged != 3 || again.BytesRead != 0 {
		t.Errorf("the second sync: %+v", again)
	}
	r.yaml = strings.Replace(r.yaml, rule, "", 1)
	res := r.sync()
	if res.Documents.Updated != 1 || res.Documents.Unchanged != 1 {
		t.Errorf("without the rules: %+v", res.Documents)
	}
	if got := contents(); strings.Contains(got["a.html"], "<h1>") || got["b.mp3"] != "" || len(got) != 2 {
		t.Errorf("without the rules: %q", got)
	}
}
