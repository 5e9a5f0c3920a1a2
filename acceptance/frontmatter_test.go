package acceptance

import "testing"

// TestRulesMatchFrontMatter: whatever form the front matter has, a rule may ask for what it says, and it comes with the chunks.
func TestRulesMatchFrontMatter(t *testing.T) {
	r := newRig(t, "", "front_matter: [kind, n]\nrules:\n- match: { front_matter: { kind: [faq, 问答], n: 3 } }\n  strategy: { whole: {} }")
	body := "# Title\n\nText of the document.\n"
	for name, front := range map[string]string{
		"yaml.md": "---\nkind: faq\nn: 3\n---\n", "toml.md": "+++\nkind = \"faq\"\nn = 3\n+++\n", "json.md": ";;;\n\"kind\": \"问答\", \"n\": 3\n;;;\n",
		"named.md": "---json\n{\"kind\": \"faq\", \"n\": 3}\n---\n", "hugo.md": "{\n\"kind\": \"faq\",\n\"n\": 3\n}\n", "other.md": "---\nkind: faq\nn: 4\n---\n", "none.md": "",
	} {
		r.write(name, front+body)
	}
	r.sync()
	seen := 0
	for _, rec := range r.export() {
		seen++
		want := "whole"
		if rec.Path == "other.md" || rec.Path == "none.md" {
			want = "markdown"
		}
		if rec.Metadata["strategy"] != want || (rec.Path != "none.md") != (rec.Metadata["kind"] != nil) {
			t.Errorf("%s: strategy %v, metadata %v", rec.Path, rec.Metadata["strategy"], rec.Metadata)
		}
	}
	if seen != 7 {
		t.Errorf("%d chunks", seen)
	}
}
