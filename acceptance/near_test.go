package acceptance

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/connector/pipeline"
)

const (
	nearEnglish = "The gateway reads its routes from a file and watches it. When the file changes, the routes change, and no request is lost. " +
		"Operators see the live table in the console at any time of the day, and a faulty file is refused as a whole. " +
		"Each line of the log names the client, the route and the seconds that the answer took, so that slow routes are found by sorting."
	nearChinese = "员工入职满一年后享有带薪年假，年假天数按照工龄计算，具体标准由人力资源部门公布。员工申请年假时，应当提前在系统中提交申请，并由直属主管审批。" +
		"年假原则上应当在当年度内休完，因工作原因确实需要结转的，经部门负责人同意后可以结转到下一年度。"
	nearTable = "| region | orders | returns | remarks of the office |\n|---|---|---|---|\n| north | 14 | 3 | the harbour was closed for some weeks in autumn |\n| south | 15 | 2 | nothing that anybody would remember was reported |\n"
)

// nearDoc has near copies of a text in each language, and texts that differ in a number or a negation.
func nearDoc() string {
	return strings.Join([]string{
		nearEnglish,
		strings.Replace(nearEnglish, "any time", "any hour", 1), // near
		nearChinese,
		strings.Replace(nearChinese, "具体标准", "详细标准", 1), // near
		nearEnglish + " This holds for v1.2.",
		nearEnglish + " This holds for v1.3.",
		strings.Replace(nearEnglish, "is refused", "is not refused", 1),
		strings.Replace(nearChinese, "满一年", "满三年", 1),
		"Sentinel: quuxfrobnicate stands here, and nowhere else in this document, with some words around it for company.",
	}, "\n\n") + "\n"
}

// TestNearDuplicates leaves near copies out, and nothing that differs in a number or a negation; the chunks that stay stand for all of the text.
func TestNearDuplicates(t *testing.T) {
	r := newRig(t, "", "dedup: near\nrules: [{ match: {}, strategy: { paragraph: { max_tokens: 220 } } }]")
	r.write("near.md", nearDoc())
	if res := r.sync(); res.Chunks.LeftOut != 2 {
		t.Errorf("%d chunks are said to be left out, want 2", res.Chunks.LeftOut)
	}
	records := r.export()
	if len(records) != 7 {
		t.Fatalf("%d chunks stay, want 7", len(records))
	}
	covered := make([]bool, len(nearDoc()))
	all, copies := "", 0
	for _, rec := range records {
		all += rec.Content
		at := 0
		for _, s := range rec.Spans {
			for i := s.Start; i < s.End; i++ {
				covered[i] = true
			}
			at += s.Len()
		}
		if n, ok := rec.Metadata["near_duplicates"]; ok {
			copies++
			if fmt.Sprint(n) != "1" || len(rec.Spans) < 2 || !strings.HasPrefix(nearDoc()[rec.Spans[0].Start:], strings.TrimSpace(rec.Content)) {
				t.Errorf("%v copies, spans %v", n, rec.Spans)
			}
		}
	}
	if copies != 2 {
		t.Errorf("%d chunks say that they stand for others, want 2", copies)
	}
	for i, c := range []byte(nearDoc()) {
		if !covered[i] && c != ' ' && c != '\n' {
			t.Fatalf("byte %d is in no span", i)
		}
	}
	for _, s := range []string{"v1.2", "v1.3", "is not refused", "满三年", "quuxfrobnicate"} {
		if !strings.Contains(all, s) {
			t.Errorf("%s was left out", s)
		}
	}
	r.exact()
	if res := r.sync(); res.Chunks.Upserted+res.Chunks.Repositioned+res.Chunks.Deleted > 0 {
		t.Errorf("a second sync wrote: %+v", res.Chunks)
	}
}

// TestNearTables keeps the tables of two years, as Markdown and by records.
func TestNearTables(t *testing.T) {
	for _, strategy := range []string{"markdown: { max_tokens: 100 }", "table: { mode: rows, rows_per_chunk: 1 }"} {
		r := newRig(t, "", "dedup: near\nrules: [{ match: {}, strategy: { "+strategy+" } }]")
		r.write("t.md", "# Sales of 2023\n\n"+nearTable+"\n# Sales of 2024\n\n"+strings.Replace(nearTable, "| 14 |", "| 41 |", 1))
		r.write("t.csv", "name,remark,year\n"+strings.Repeat("the harbour of the north was closed for some weeks in the autumn of that year,nothing,2023\n", 1)+
			"the harbour of the north was closed for some weeks in the autumn of that year,nothing,2024\n")
		r.sync()
		all := ""
		for _, rec := range r.export() {
			all += rec.Path + rec.EmbedText
		}
		for _, s := range []string{"2023", "2024", "14", "41"} {
			if !strings.Contains(all, s) {
				t.Errorf("%s: %s was left out", strategy, s)
			}
		}
	}
}

// TestNearSpooled gives the same chunks where a document is too large for memory.
func TestNearSpooled(t *testing.T) {
	r := newRig(t, "", "dedup: near\nkeywords: { top: 3 }\nrules: [{ match: {}, strategy: { paragraph: { max_tokens: 220 } } }]")
	text := nearDoc() + paragraphs("spool", 1200) + nearDoc()
	r.write("big.txt", text)
	r.sync()
	want := map[string]string{}
	p, err := pipeline.OpenPreview(context.Background(), r.config(), r.reg, false)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = p.Close() }()
	conf := r.config().Sources[0]
	src, err := p.Source(context.Background(), conf)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = src.Close() }()
	left := 0
	for ch, err := range p.Changes(context.Background(), conf.Name, src) {
		if err != nil {
			t.Fatal(err)
		}
		x, err := p.Chunks(context.Background(), conf.Name, src.Capabilities(), ch.Document, func(rec connector.Record) error {
			want[rec.ChunkID] = fmt.Sprint(rec.Spans, rec.Metadata["keywords"], rec.Metadata["near_duplicates"])
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		left += x.LeftOut
	}
	if left < 9 {
		t.Errorf("%d chunks were left out", left)
	}
	got := r.export()
	if len(got) != len(want) || len(got) < 1100 {
		t.Fatalf("%d chunks, want %d", len(got), len(want))
	}
	for _, rec := range got {
		if s := fmt.Sprint(rec.Spans, rec.Metadata["keywords"], rec.Metadata["near_duplicates"]); s != want[rec.ChunkID] {
			t.Fatalf("chunk %s: %s, want %s", rec.ChunkID, s, want[rec.ChunkID])
		}
	}
}
