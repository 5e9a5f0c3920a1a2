package keywords

import (
	"flag"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/rogpeppe/go-internal/txtar"
)

var update = flag.Bool("update", false, "rewrite expected files")

func extractor(tb testing.TB, top int, method string) *Extractor {
	tb.Helper()
	e, err := New(top, method)
	if err != nil {
		tb.Fatal(err)
	}
	return e
}

// TestGolden finds the keywords of texts in English, in Chinese and in both: each file is a document whose paragraphs are its chunks.
func TestGolden(t *testing.T) {
	const path = "testdata/keywords.txtar"
	ar, err := txtar.ParseFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var out txtar.Archive
	out.Comment = ar.Comment
	for _, f := range ar.Files {
		if strings.HasSuffix(f.Name, ".want") {
			continue
		}
		var got strings.Builder
		chunks := strings.Split(strings.TrimSpace(string(f.Data)), "\n\n")
		for _, method := range []string{TFIDF, TextRank} {
			d := extractor(t, 5, method).Document()
			for _, c := range chunks {
				d.Add(c)
			}
			for _, c := range chunks {
				fmt.Fprintf(&got, "%s: %s\n", method, strings.Join(d.Keywords(c, nil), ", "))
			}
		}
		out.Files = append(out.Files, f, txtar.File{Name: f.Name + ".want", Data: []byte(got.String())})
	}
	want := txtar.Format(&out)
	if *update {
		if err := os.WriteFile(path, want, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if string(want) != string(txtar.Format(ar)) {
		t.Errorf("keywords differ from %s; -update rewrites it; now:\n%s", path, want)
	}
}

func TestLog2(t *testing.T) {
	for x := uint64(1); x < 200_001; x++ {
		if got, want := float64(log2(x))/unit, math.Log2(float64(x)); got > want+1e-9 || got < want-1.0/unit-1e-9 {
			t.Fatalf("log2(%d) = %f, want %f", x, got, want)
		}
	}
}

func TestKey(t *testing.T) {
	for in, want := range map[string]string{
		"Databases": "database", "policies": "policy", "status": "status", "class": "class", "数据库": "数据库", "ＡＰＩ": "api", "bus": "bus", "queries": "query",
		"boxes": "boxe", "gas": "gas",
	} {
		if got := Key(in); got != want {
			t.Errorf("Key(%q) = %q, want %q", in, got, want)
		}
	}
	e := extractor(t, 3, TFIDF)
	if got := e.Of("The vector database and other vector databases.", 2); !slices.Equal(got, []string{"vector", "database"}) {
		t.Errorf("got %q: plural and singular are one word", got)
	}
}

// TestOther keeps numbers, hashes, addresses and words that every text has from being keywords.
func TestOther(t *testing.T) {
	e := extractor(t, 10, TFIDF)
	for _, text := range []string{"", " \n", "the and of it", "2024 3.14 42", "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b", "https://example.com/path/secret?x=1", "我们可以进行的", "的了是"} {
		if got := e.Of(text, 10); len(got) > 0 {
			t.Errorf("Of(%q) = %q", text, got)
		}
	}
	if got := e.Of("見 https://example.com/kubernetes，數據庫", 10); slices.Contains(got, "example") {
		t.Errorf("a word of an address: %q", got)
	}
}

// TestHeadings count as words of the chunk.
func TestHeadings(t *testing.T) {
	e := extractor(t, 1, TFIDF)
	d := e.Document()
	text := "Passwords expire; rotate credentials. Write to the helpdesk."
	d.Add(text)
	if got := d.Keywords(text, []string{"Guide", "Credentials"}); !slices.Equal(got, []string{"credentials"}) {
		t.Errorf("got %q", got)
	}
}

// TestBounded gives a document far beyond what is counted: the counts stop growing.
func TestBounded(t *testing.T) {
	s := newHanStats()
	var sb strings.Builder
	for i := range 400_000 {
		sb.WriteRune(rune(0x4E00 + (i*i*7+i/3)%20000))
	}
	for range 4 {
		s.add(sb.String())
	}
	if s.left != 0 || len(s.grams) > gramMax*statBytes/3 {
		t.Errorf("%d strings counted, %d bytes left", len(s.grams), s.left)
	}
}

// FuzzKeywords checks, on any text, that keywords are words of it, each once, that they are found again by what Probes asks for, and that
// they are the same the second time.
func FuzzKeywords(f *testing.F) {
	f.Add("Vector databases keep 向量 and text；数据库 and ｆｕｌｌ width, 自由的行为。", true)
	f.Add("ภาษาไทย คำ カタカナ ひらがな 漢字 ＡＢＣ a\xffb", false)
	f.Fuzz(func(t *testing.T, text string, rank bool) {
		method := TFIDF
		if rank {
			method = TextRank
		}
		e := extractor(t, 8, method)
		got := e.Of(text, 8)
		if again := e.Of(text, 8); !slices.Equal(got, again) {
			t.Fatalf("%q, then %q", got, again)
		}
		seen := map[string]bool{}
		for _, w := range got {
			if !strings.Contains(fold(text), w) || utf8.RuneCountInString(w) < 2 || seen[Key(w)] {
				t.Fatalf("keyword %q of %q (%q)", w, text, got)
			}
			seen[Key(w)] = true
			if p := Probes(w); !slices.Contains(p, Key(w)) {
				t.Fatalf("Probes(%q) = %q", w, p)
			}
		}
	})
}

func BenchmarkKeywords(b *testing.B) {
	e := extractor(b, 5, TFIDF)
	text := strings.Repeat("Vector databases keep embeddings of documents. 向量数据库保存文档的向量，检索时返回最近的段落。", 8)
	d := e.Document()
	d.Add(text)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		d.Keywords(text, nil)
	}
}
