package acceptance

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/connector/pipeline"
)

// nestedRig is a rig over SQLite whose documents are cut by one strategy.
func nestedRig(t *testing.T, strategy, more string) *rig {
	t.Helper()
	return newRig(t, "", fmt.Sprintf("rules: [{ strategy: { %s } }]\nsink: { sqlite: { path: ./kb.sqlite } }\nembedder: { lexical: { dimensions: 256 } }\n%s", strategy, more))
}

// chapter is a Markdown document with sections about one thing each.
func chapter(title string, things ...string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\n", title)
	for _, thing := range things {
		fmt.Fprintf(&b, "## About %s\n\n", thing)
		for i := range 4 {
			fmt.Fprintf(&b, "Sentence %d tells of the %s and of nothing else in this book. 第%d句只讲%s。 ", i, thing, i, thing)
		}
		b.WriteString("\n\n")
	}
	return b.String()
}

// tree checks that the records of every document are a forest: parents are there, each is named by children, and these are numbered in order
// and are each other's neighbours.
func tree(t *testing.T, records []connector.Record) (parents, children int) {
	t.Helper()
	byID, kids := map[string]*connector.Record{}, map[string][]*connector.Record{}
	for i := range records {
		r := &records[i]
		byID[r.ChunkID] = r
		if r.ParentID != "" {
			kids[r.ParentID] = append(kids[r.ParentID], r)
		}
	}
	for i := range records {
		r := &records[i]
		if r.Metadata["children"] != nil {
			parents++
			if n := len(kids[r.ChunkID]); fmt.Sprint(r.Metadata["children"]) != fmt.Sprint(n) {
				t.Errorf("%s: parent %s names %v children and has %d", r.Path, r.ChunkID, r.Metadata["children"], n)
			}
			if r.Metadata["prev_id"] != "" || r.Metadata["next_id"] != "" {
				t.Errorf("%s: a parent has neighbours", r.Path)
			}
			continue
		}
		children++
		if next := byID[fmt.Sprint(r.Metadata["next_id"])]; r.Metadata["is_last_chunk"] != true && (next == nil || next.Metadata["children"] != nil ||
			fmt.Sprint(next.Metadata["prev_id"]) != r.ChunkID || next.Spans[0].Start <= r.Spans[0].Start) {
			t.Errorf("%s: chunk %v has no chunk behind it: %v", r.Path, r.Metadata["chunk_index"], next)
		}
	}
	for id, list := range kids {
		parent := byID[id]
		if parent == nil || parent.DocID != list[0].DocID {
			t.Errorf("%d chunks have the parent %s, which is not there, or another document's", len(list), id)
			continue
		}
		slices.SortFunc(list, func(a, b *connector.Record) int { return a.Spans[0].Start - b.Spans[0].Start })
		for k, kid := range list {
			if fmt.Sprint(kid.Metadata["child_index"]) != fmt.Sprint(k) {
				t.Errorf("%s: child %d of %s is numbered %v", kid.Path, k, id, kid.Metadata["child_index"])
			}
			if kid.Spans[0].Start < parent.Spans[0].Start || kid.Spans[0].End > parent.Spans[0].End {
				t.Errorf("%s: %v is not inside of its parent %v", kid.Path, kid.Spans, parent.Spans)
			}
		}
	}
	return parents, children
}

// nestedStrategies are those that store parents.
var nestedStrategies = map[string]string{
	"parent_child": "parent_child: { parent: 120, child: 40 }",
	"section":      "parent_child: { parent: section, child: 40 }",
	"document":     "parent_child: { parent: document, of: { sentence: { max_tokens: 40, overlap_sentences: 0 } } }",
	"hierarchical": "hierarchical: { levels: [300, 90, 30] }",
}

// TestParentsFollowTheirDocuments: after edits the collection holds what a fresh sync gives, no parent is left behind, and a run without a
// change writes nothing. The same passage in two documents has two parents.
func TestParentsFollowTheirDocuments(t *testing.T) {
	for name, strategy := range nestedStrategies {
		t.Run(name, func(t *testing.T) {
			r := nestedRig(t, strategy, "")
			text := chapter("Animals", "heron", "otter", "beaver", "鲤鱼")
			r.write("a.md", text)
			r.write("b.md", text)
			r.write("short.md", "One line.\n")
			r.settle()
			r.sync()
			records := r.export()
			parents, children := tree(t, records)
			if parents < 3 || children < 20 {
				t.Fatalf("%d parents of %d children", parents, children)
			}
			ids := map[string]string{}
			for _, rec := range records {
				if other, ok := ids[rec.ChunkID]; ok {
					t.Fatalf("%s and %s share the id %s", other, rec.Path, rec.ChunkID)
				}
				ids[rec.ChunkID] = rec.Path
			}
			if res := r.sync(); res.Chunks.Upserted+res.Chunks.Repositioned+res.Chunks.Deleted+res.Embeddings.Computed != 0 || res.BytesRead != 0 {
				t.Fatalf("a second sync wrote: %+v", res)
			}
			for _, edit := range []func(string) string{
				func(s string) string {
					return strings.Replace(s, "## About otter", "## About the otter\n\nA new paragraph.", 1)
				},
				func(s string) string { return "An introduction.\n\n" + s },
				func(s string) string { return s[:len(s)/2] + "\n" },
				func(string) string { return "Nothing is left.\n" },
			} {
				text = edit(strings.ToValidUTF8(text, ""))
				r.write("a.md", strings.ToValidUTF8(text, ""))
				r.sync()
				tree(t, r.export())
				r.exact()
			}
			r.remove("b.md")
			r.remove("a.md")
			if _, err := r.trySync(pipeline.SyncOptions{AllowDelete: true}); err != nil {
				t.Fatal(err)
			}
			for _, rec := range r.export() {
				if rec.Path != "short.md" {
					t.Errorf("%s is left of a document that is gone", rec.ChunkID)
				}
			}
		})
	}
}

// ask asks and fails on an error.
func (r *rig) ask(opts pipeline.QueryOptions) []pipeline.Answer {
	r.tb.Helper()
	p := r.open()
	defer func() { _ = p.Close() }()
	answers, err := p.Query(context.Background(), opts)
	if err != nil {
		r.tb.Fatal(err)
	}
	return answers
}

// distinct fails if an answer stands twice, or together with something that holds it.
func distinct(t *testing.T, answers []pipeline.Answer) {
	t.Helper()
	for i, a := range answers {
		for k, b := range answers {
			if i != k && (a.ChunkID == b.ChunkID || a.Path == b.Path && strings.Contains(a.Content, b.Content)) {
				t.Errorf("answer %d holds answer %d: %q", i, k, b.Content)
			}
		}
		if i > 0 && a.Score > answers[i-1].Score {
			t.Errorf("answer %d scores %v, the one before %v", i, a.Score, answers[i-1].Score)
		}
	}
}

// TestAnswersArePassages: hits are answered with their parents, each once, and k of them are found.
func TestAnswersArePassages(t *testing.T) {
	r := nestedRig(t, nestedStrategies["section"], "")
	for i, things := range [][]string{{"heron", "otter"}, {"beaver", "鲤鱼"}, {"mole", "vole"}, {"swift", "swallow"}} {
		r.write(fmt.Sprintf("%d.md", i), chapter(fmt.Sprintf("Book %d", i), things...))
	}
	r.sync()
	answers := r.ask(pipeline.QueryOptions{Text: "the otter", K: 4})
	distinct(t, answers)
	if len(answers) != 4 || answers[0].Section != "Book 0 > About otter" || !strings.Contains(answers[0].Content, "Sentence 0 tells of the otter") ||
		!strings.Contains(answers[0].Content, "Sentence 3 tells of the otter") || len(answers[0].Matched) < 2 {
		t.Fatalf("%d answers, the first: %+v", len(answers), answers[0])
	}
	if zh := r.ask(pipeline.QueryOptions{Text: "只讲鲤鱼", K: 1}); zh[0].Section != "Book 1 > About 鲤鱼" {
		t.Errorf("got %s", zh[0].Section)
	}
	hits := r.ask(pipeline.QueryOptions{Text: "the otter", K: 4, Expand: pipeline.ExpandNone})
	if len(hits) != 4 || len(hits[0].Content) > len(answers[0].Content)/2 || hits[0].Metadata["parent_id"] != answers[0].ChunkID {
		t.Errorf("without expansion: %+v", hits[0])
	}
	near := r.ask(pipeline.QueryOptions{Text: "Sentence 1 tells of the otter", K: 1, Expand: pipeline.ExpandNeighbours})
	if len(near) != 3 || near[0].Metadata["next_id"] != near[1].ChunkID || near[1].Metadata["next_id"] != near[2].ChunkID {
		t.Errorf("%d neighbours", len(near))
	}
	p := r.open()
	defer func() { _ = p.Close() }()
	if _, err := p.Query(context.Background(), pipeline.QueryOptions{Text: "x", Expand: "all"}); err == nil || !strings.Contains(err.Error(), "auto, parent") {
		t.Errorf("an unknown expansion: %v", err)
	}
}

// TestAnswersMerge: of hierarchical, chunks give way to their passage only where most of them hit, level by level.
func TestAnswersMerge(t *testing.T) {
	r := nestedRig(t, "hierarchical: { levels: [2000, 400, 90], unit: chars }", "")
	r.write("a.md", chapter("Animals", "heron", "otter", "beaver", "mole", "vole"))
	r.write("b.md", "# Stone\n\n"+strings.Repeat("Granite is hard. ", 4)+"\n\nA single quokka stands here.\n\n"+strings.Repeat("Basalt is dark and old. ", 60))
	r.sync()
	if _, children := tree(t, r.export()); children < 20 {
		t.Fatalf("%d children", children)
	}
	one := r.ask(pipeline.QueryOptions{Text: "quokka", K: 1, Mode: connector.ModeLexical})
	if len(one) != 1 || len(one[0].Content) > 120 || !strings.Contains(one[0].Content, "quokka") {
		t.Errorf("one hit of many children gave %q", one[0].Content)
	}
	up := r.ask(pipeline.QueryOptions{Text: "quokka", K: 1, Mode: connector.ModeLexical, Expand: pipeline.ExpandParent})
	if len(up) != 1 || len(up[0].Content) <= len(one[0].Content) || !strings.Contains(up[0].Content, "quokka") || up[0].Matched[0] != one[0].ChunkID {
		t.Errorf("the parent is %q", up[0].Content)
	}
	many := r.ask(pipeline.QueryOptions{Text: "the otter 只讲otter", K: 5})
	distinct(t, many)
	if len(many[0].Matched) < 2 || !strings.Contains(many[0].Content, "otter") || many[0].Metadata["merge_ratio"] == nil {
		t.Errorf("most parts of a passage hit, and the answer is %q", many[0].Content)
	}
	all := r.ask(pipeline.QueryOptions{Text: "tells of nothing else in this book", K: 40, Filter: connector.Filter{{Field: "path", Values: []any{"a.md"}}}})
	distinct(t, all)
	if len(all) != 1 {
		t.Errorf("all chunks of one passage hit, and there are %d answers", len(all))
	}
}

// TestAnswersAreWindows: a sentence is found, the window around it is returned, and no sentence is returned that stands in a better one's window.
func TestAnswersAreWindows(t *testing.T) {
	r := nestedRig(t, "sliding: { window: sentence, around: 1 }", "")
	r.write("a.md", "# Birds\n\nThe heron waits. The otter dives below the bridge. The swift never lands. The owl sleeps at noon. The wren sings loudly.\n")
	r.sync()
	answers := r.ask(pipeline.QueryOptions{Text: "otter dives", K: 3})
	if want := "The otter dives below the bridge."; len(answers) == 0 || !strings.Contains(answers[0].Content, want) || !strings.HasSuffix(answers[0].Content, "The swift never lands.") ||
		!strings.Contains(answers[0].Content, "The heron waits.") {
		t.Fatalf("got %+v", answers)
	}
	for _, a := range answers[1:] {
		if strings.Contains(answers[0].Content, strings.TrimSpace(a.Content)) {
			t.Errorf("%q stands in the first answer", a.Content)
		}
	}
	plain := r.ask(pipeline.QueryOptions{Text: "otter dives", K: 1, Expand: pipeline.ExpandNone})
	if plain[0].Content != "The otter dives below the bridge." {
		t.Errorf("without expansion: %q", plain[0].Content)
	}
}

// TestQueryTimeChunking: documents are stored whole, cut when they are asked, and the second question embeds nothing but itself.
func TestQueryTimeChunking(t *testing.T) {
	for name, sink := range map[string]string{"sqlite": "sink: { sqlite: { path: ./kb.sqlite } }", "memory": "sink: { memory: {} }"} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, "", "post_chunking: { strategy: { markdown: { max_tokens: 60 } }, documents: 2 }\nembedder: { lexical: { dimensions: 256 } }\n"+sink)
			r.write("a.md", chapter("Animals", "heron", "otter", "beaver"))
			r.write("b.md", chapter("More", "mole", "vole", "鲤鱼"))
			r.write("c.md", chapter("Stones", "granite", "basalt", "chalk"))
			r.write("d.csv", "name,price\nheron,5\notter,7\n")
			r.settle()
			r.sync()
			if records := r.export(); len(records) != 4 {
				t.Fatalf("%d chunks of 4 documents", len(records))
			}
			before := r.embeds.Load()
			first := r.ask(pipeline.QueryOptions{Text: "the otter", K: 3})
			made := r.embeds.Load() - before
			if len(first) != 3 || made == 0 || !strings.Contains(first[0].Content, "otter") || len(first[0].Content) > 600 {
				t.Fatalf("%d texts were embedded for %+v", made, first)
			}
			for _, a := range first {
				if a.Path == "a.md" && (!strings.HasPrefix(a.Section, "Animals") || a.LineStart == 0) {
					t.Errorf("%s:%d %s", a.Path, a.LineStart, a.Section)
				}
			}
			second := r.ask(pipeline.QueryOptions{Text: "the otter", K: 3})
			if n := r.embeds.Load() - before - made; n != 0 {
				t.Errorf("the same question embedded %d texts again", n)
			}
			if fmt.Sprint(first) != fmt.Sprint(second) {
				t.Errorf("the same question was answered otherwise:\n%v\n%v", first, second)
			}
			if whole := r.ask(pipeline.QueryOptions{Text: "the otter", K: 1, Expand: pipeline.ExpandNone}); !strings.HasPrefix(whole[0].Content, "# Animals") && whole[0].Path != "d.csv" {
				t.Errorf("without expansion: %q", whole[0].Content)
			}
			if res := r.sync(); res.BytesRead != 0 || res.Chunks.Upserted != 0 {
				t.Errorf("a second sync: %+v", res)
			}
			r.yaml = strings.Replace(r.yaml, "post_chunking: { strategy: { markdown: { max_tokens: 60 } }, documents: 2 }", "", 1)
			r.sync()
			for _, rec := range r.export() {
				if rec.Metadata["strategy"] == "whole" {
					t.Errorf("without query-time chunking %s is stored whole", rec.Path)
				}
			}
		})
	}
}
