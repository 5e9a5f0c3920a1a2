package quality

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/kbsync/kbsync/connector"
)

var update = flag.Bool("update", false, "rewrite expected files")

// cut makes the records of a document whose chunks are these texts, one behind the other.
func cut(path, media string, chunks ...string) []*connector.Record {
	var out []*connector.Record
	at := 0
	for i, text := range chunks {
		out = append(out, &connector.Record{
			ChunkID: fmt.Sprintf("%s-%d", path, i), DocID: path, Source: "docs", Path: path, Content: text, EmbedText: text,
			Spans: []connector.Span{{Start: at, End: at + len(text)}}, TokenCount: len(text) / 4,
			Metadata: map[string]any{"media_type": media, "strategy": "test", "chunk_index": i, "line_start": i + 1, "headings": []string{}},
		})
		at += len(text)
	}
	return out
}

func report(docs ...[]*connector.Record) *Report {
	c := New(Options{Unit: "cl100k"})
	for _, d := range docs {
		for _, r := range d {
			c.Add(r)
		}
	}
	return c.Report()
}

const (
	md    = "text/markdown"
	plain = "text/plain"
)

var (
	prose = "The gateway reads its routes from a file and watches it. When the file changes, the routes change, and no request is lost.\n\n"
	other = "Operators see the live table at any time. A faulty file is refused as a whole, and the table of before stays in force until it is mended.\n\n"
	long  = prose + other + "Each line of the log names the client, the route and the time that the answer took, so that slow routes are found by sorting.\n"
	wide  = "网关从文件中读取路由，并监视该文件。文件变化时路由随之变化，不会丢失任何请求。管理员可以随时查看当前生效的路由表。\n\n"
)

// TestFlags plants each fault, in English and in Chinese, and expects its flag and no other.
func TestFlags(t *testing.T) {
	titled := cut("d.html", "text/html", "Body of the first.\nInstall\n", "Run it.")
	titled[1].Metadata["headings"] = []string{"Guide", "Install"}
	forced := cut("f.md", plain, "abcdef", "ghi")
	forced[0].Metadata["forced_split"] = true
	forced[1].Metadata["forced_split"] = true
	copied := cut("b.md", md, strings.Replace(long, "mended", "repaired", 1))
	for name, c := range map[string]struct {
		docs [][]*connector.Record
		want string
	}{
		"clean":            {[][]*connector.Record{cut("a.md", md, "# Guide\n\n"+prose, "## 路由\n\n"+wide)}, ""},
		"word":             {[][]*connector.Record{cut("a.md", plain, "The gate", "way reads.")}, "cut_word cut_word"},
		"number":           {[][]*connector.Record{cut("a.md", plain, "It costs 3.", "14 today.")}, "cut_word cut_word"},
		"address":          {[][]*connector.Record{cut("a.md", plain, "See https://example.com/", "a?b=1 there.")}, "cut_word cut_word"},
		"emoji":            {[][]*connector.Record{cut("a.md", plain, "OK 👍", "🏽 done.")}, "cut_word cut_word"},
		"line end":         {[][]*connector.Record{cut("a.md", plain, "One.\r", "\nTwo.")}, "cut_word cut_word"},
		"han":              {[][]*connector.Record{cut("a.md", plain, "网关读取", "路由。")}, ""},
		"forced":           {[][]*connector.Record{forced}, "forced_split forced_split"},
		"mojibake utf-8":   {[][]*connector.Record{cut("a.md", plain, "A cafÃ© in town.")}, "mojibake"},
		"mojibake gbk":     {[][]*connector.Record{cut("a.md", plain, "文件锟斤拷内容。")}, "mojibake"},
		"replacement":      {[][]*connector.Record{cut("a.md", plain, "A \uFFFD here.")}, "mojibake"},
		"accents":          {[][]*connector.Record{cut("a.md", plain, "São Paulo, Ångström, naïve café — “so”.")}, ""},
		"heading at end":   {[][]*connector.Record{cut("a.md", md, prose+"## Next\n\n", other)}, "orphan_heading"},
		"heading alone":    {[][]*connector.Record{cut("a.md", md, "## 下一节\n\n", wide)}, "orphan_heading"},
		"heading of html":  {[][]*connector.Record{titled}, "orphan_heading"},
		"last heading":     {[][]*connector.Record{cut("a.md", md, prose, "## The end\n")}, ""},
		"comment in fence": {[][]*connector.Record{cut("a.md", md, "```sh\n# comment\n```\n\n", prose)}, ""},
		"fence":            {[][]*connector.Record{cut("a.md", md, "```go\nfunc f() {\n", "# comment\n", "}\n```\n\n"+prose, other)}, "unbalanced_fence unbalanced_fence unbalanced_fence"},
		"fence in list":    {[][]*connector.Record{cut("a.md", md, "- run:\n\n  ```sh\n  ls\n  ```\n\n", prose)}, ""},
		"fence of tildes":  {[][]*connector.Record{cut("a.md", md, "~~~\n```\n~~~\n\n", prose)}, ""},
		"table":            {[][]*connector.Record{cut("a.md", md, "| a | b |\n|---|---|\n| 1 | 2 |\n", "| 3 | 4 |\n| 5 | 6 |\n")}, "headless_table"},
		"table of html":    {[][]*connector.Record{cut("a.html", "text/html", "<table><tr><td>1</td></tr>\n", "<tr><td>2</td></tr></table>")}, "headless_table"},
		"copy":             {[][]*connector.Record{cut("a.md", md, long), copied}, "near_duplicate"},
		"copy in Chinese":  {[][]*connector.Record{cut("a.md", md, strings.Repeat(wide, 2)), cut("b.md", md, strings.Repeat(wide, 2)+"完毕。")}, "near_duplicate"},
		"other number":     {[][]*connector.Record{cut("a.md", md, prose+prose+"v1.2"), cut("b.md", md, prose+prose+"v1.3")}, ""},
		"tiny":             {[][]*connector.Record{cut("a.md", md, strings.Repeat(prose, 8), "Yes.\n\n", strings.Repeat("Other words stand here, of another matter. ", 20))}, "size_outlier"},
		"stranger":         {[][]*connector.Record{cut("a.md", md, strings.Repeat(prose, 4), strings.Repeat("网关读取路由表。", 6), strings.Repeat("Other words stand here. ", 20))}, "language_mix"},
		"alphabets":        {[][]*connector.Record{cut("a.md", md, "Sign in to p\u0430ypal now.")}, "language_mix"},
		"system":           {[][]*connector.Record{cut("a.md", md, "Операционная GNU/Linux-система работает.")}, ""},
	} {
		var got []string
		for _, it := range report(c.docs...).Flagged {
			for _, f := range it.Flags {
				got = append(got, f.Kind)
			}
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: flags %q, want %q", name, got, c.want)
		}
	}
}

// TestMidSentence counts where prose is cut within sentences.
func TestMidSentence(t *testing.T) {
	for name, c := range map[string]struct {
		records []*connector.Record
		mid     int
	}{
		"sentences":  {cut("a.txt", plain, "One is here. ", "Two is “there.” ", "Three"), 0},
		"cut":        {cut("a.txt", plain, "One is ", "here. Two", " is."), 2},
		"Chinese":    {cut("a.txt", plain, "网关读取，", "路由。监视该", "文件。"), 2},
		"quotes":     {cut("a.txt", plain, "他说：“好。”", "然后（走了。）", "完。"), 0},
		"paragraphs": {cut("a.md", md, "No stop\n\n", "- item\n", "- item two\n", "# Heading\n", "end"), 0},
		"wrapped":    {cut("a.md", md, "A line that\n", "goes on."), 1},
		"code":       {cut("a.go", "text/x-go", "func f() {\n", "return }"), 0},
	} {
		r := report(c.records)
		if got := r.Western.Mid + r.Eastern.Mid; got != c.mid {
			t.Errorf("%s: %d end in mid-sentence, want %d", name, got, c.mid)
		}
	}
	if r := report(cut("a.txt", plain, "网关读取，", "路由。")); r.Eastern.Chunks != 2 || r.Eastern.Share != 0.5 || r.Western.Chunks != 0 {
		t.Errorf("Chinese: %+v", r.Eastern)
	}
}

// TestParents leaves out chunks that are only stored.
func TestParents(t *testing.T) {
	rs := cut("a.md", md, prose+prose, prose, prose)
	rs[1].ParentID, rs[2].ParentID = rs[0].ChunkID, rs[0].ChunkID
	rs[1].Spans, rs[2].Spans = []connector.Span{{Start: 0, End: len(prose)}}, []connector.Span{{Start: len(prose), End: 2 * len(prose)}}
	if r := report(rs); r.Parents != 1 || r.Chunks != 2 {
		t.Errorf("%d parents, %d chunks", r.Parents, r.Chunks)
	}
}

// TestSample is the same for the same chunks, whatever their order, and bounds what is looked at closely.
func TestSample(t *testing.T) {
	var docs [][]*connector.Record
	for i := range 300 {
		docs = append(docs, cut(fmt.Sprintf("%03d.md", i), plain, "The gate", "way reads."))
	}
	of := func(backwards bool) string {
		c := New(Options{Sample: 100})
		for i := range docs {
			if backwards {
				i = len(docs) - 1 - i
			}
			for _, r := range docs[i] {
				c.Add(r)
			}
		}
		b, err := json.Marshal(c.Report())
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	if of(false) != of(true) {
		t.Error("the order of documents decides the sample")
	}
	var r Report
	if err := json.Unmarshal([]byte(of(false)), &r); err != nil || r.Sampled != 100 || r.Flags[CutWord] != 100 || r.Chunks != 600 {
		t.Errorf("%v: sampled %d, flagged %d", err, r.Sampled, r.Flags[CutWord])
	}
}

func TestSizes(t *testing.T) {
	s := sizes{}
	for i := 1; i <= 100; i++ {
		s.add(i)
	}
	want := Sizes{Total: 5050, Mean: 50.5, Min: 1, P5: 5, Median: 50, P95: 95, Max: 100}
	if got := s.summary(); got != want {
		t.Errorf("got %+v", got)
	}
	total := 0
	for i, b := range s.histogram() {
		total += b.Chunks
		if i > 0 && b.From != s.histogram()[i-1].To+1 {
			t.Errorf("bucket %d begins at %d", i, b.From)
		}
	}
	if total != 100 {
		t.Errorf("%d chunks in the histogram", total)
	}
	empty := report()
	if empty.Chunks != 0 || len(empty.Histogram) != 0 {
		t.Errorf("%+v", empty)
	}
}

// TestHostile writes chunks that are markup into a page: nothing of them is markup there.
func TestHostile(t *testing.T) {
	bad := `</blockquote><script>alert(1)</script><img src=x onerror=alert(2)> {{.}} "'` + "\x1b[31m"
	rs := cut(`<b>"evil'.md`, plain, bad+"cut", "ting "+bad, "\uFFFD"+bad)
	rs[0].Metadata["strategy"] = "<i>"
	var page, text bytes.Buffer
	r := report(rs)
	if err := WriteHTML(&page, r); err != nil {
		t.Fatal(err)
	}
	for _, s := range []string{"<script", "<img", "<b>", "<i>", "http:", "https:", "@import", "url("} {
		if strings.Contains(page.String(), s) {
			t.Errorf("the page has %q", s)
		}
	}
	if !strings.Contains(page.String(), "&lt;script&gt;") {
		t.Error("the text is not on the page")
	}
	if err := WriteText(&text, r, 0); err != nil || strings.Contains(text.String(), "\x1b") {
		t.Errorf("%v: a control character went to the terminal", err)
	}
}

// TestGolden writes reports of texts in English and Chinese in every form.
func TestGolden(t *testing.T) {
	docs := map[string][][]*connector.Record{
		"english": {
			cut("guide.md", md, "# Guide\n\n"+prose, prose+"## Limits\n\n", "The limit is 3.", "5 requests a sec", "ond.\n"),
			cut("table.md", md, "| a | b |\n|---|---|\n| 1 | 2 |\n", "| 3 | 4 |\n| 5 | 6 |\n"),
		},
		"chinese": {
			cut("手册.md", md, "# 手册\n\n"+wide, "```sh\n启动网关\n", "```\n\n"+wide, "网关读取", "路由表。"),
			cut("副本.md", md, "# 手册\n\n"+wide, "A cafÃ© here.\n"),
		},
	}
	for name, d := range docs {
		r := report(d...)
		var text, page bytes.Buffer
		b, err := json.MarshalIndent(r, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		if err := WriteText(&text, r, 0); err != nil {
			t.Fatal(err)
		}
		if err := WriteHTML(&page, r); err != nil {
			t.Fatal(err)
		}
		for ext, got := range map[string]string{"txt": text.String(), "json": string(b) + "\n", "html": page.String()} {
			path := "testdata/" + name + "." + ext
			if *update {
				if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
				continue
			}
			want, err := os.ReadFile(path)
			if err != nil || string(want) != got {
				t.Errorf("%s differs (%v); -update rewrites it", path, err)
			}
		}
	}
}

// FuzzAdd looks at any two chunks: nothing panics, every flag has a reason, and the forms can be written.
func FuzzAdd(f *testing.F) {
	f.Add("```go\n| a | b |", "\n# x\xff", true)
	f.Fuzz(func(t *testing.T, a, b string, m bool) {
		media := plain
		if m {
			media = md
		}
		r := report(cut("a", media, a, b))
		for _, it := range r.Flagged {
			for _, f := range it.Flags {
				if f.Detail == "" {
					t.Fatalf("%s has no reason", f.Kind)
				}
			}
		}
		var out bytes.Buffer
		if err := WriteHTML(&out, r); err != nil {
			t.Fatal(err)
		}
		if err := WriteText(&out, r, 1); err != nil {
			t.Fatal(err)
		}
	})
}
