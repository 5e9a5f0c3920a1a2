package text

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/text/encoding/simplifiedchinese"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/connector/parsertest"
	"github.com/kbsync/kbsync/internal/shareddata"
)

func TestConformance(t *testing.T) {
	gbk, err := simplifiedchinese.GB18030.NewEncoder().String("第一段文字，说明事情的经过。\r\n\r\n第二段文字，说明结果。\r\n")
	if err != nil {
		t.Fatal(err)
	}
	parsertest.Run(t, func() connector.Parser { return New() }, []parsertest.Case{
		{Name: "paragraphs", Input: "one\ntwo\n\n\nthree\x00 four\n", Sentinels: []string{"one", "four"}},
		{Name: "cr line ends", Input: "alpha\r\rbeta\rgamma", Sentinels: []string{"alpha", "gamma"}},
		{Name: "gb18030", Input: gbk, Sentinels: []string{"第一段", "结果"}},
		{Name: "one long line", Input: strings.Repeat("word ", 50_000) + "sentinel", Sentinels: []string{"sentinel"}},
		{Name: "blank", Input: " \n\n"},
		{Name: "empty", Input: ""},
	})
}

func TestElements(t *testing.T) {
	els, err := parsertest.Collect(context.Background(), New(), "", strings.NewReader("\ufeffone\r\rtwo\u200b\n"))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, el := range els {
		got = append(got, string(el.Kind)+":"+el.Text)
	}
	if s := strings.Join(got, "|"); s != "dropped:\ufeff|text:one\n\n|text:two\n|dropped:\u200b" {
		t.Errorf("%q", s)
	}
}

// A gigabyte in one line would take the test too long; the memory for 64 MiB shows the same.
func TestMemoryIsBounded(t *testing.T) {
	line := io.LimitReader(&endless{"知识库 "}, 64<<20)
	var before, now runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	size, n := 0, 0
	for el, err := range New().Parse(context.Background(), parsertest.Document("", -1), line) {
		if err != nil {
			t.Fatal(err)
		}
		size += len(el.Text)
		if n++; n%200 == 0 {
			runtime.GC()
			runtime.ReadMemStats(&now)
			if now.HeapAlloc > before.HeapAlloc+8<<20 {
				t.Fatalf("heap grew by %d bytes after %d of text", now.HeapAlloc-before.HeapAlloc, size)
			}
		}
	}
	if size < 64<<20-16 {
		t.Errorf("%d bytes of text", size)
	}
}

type endless struct{ word string }

func (e *endless) Read(p []byte) (int, error) {
	n := 0
	for n+len(e.word) <= len(p) {
		n += copy(p[n:], e.word)
	}
	if n == 0 {
		n = copy(p, "          ")
	}
	return n, nil
}

func TestRealFiles(t *testing.T) {
	err := filepath.WalkDir(shareddata.Dir(t), func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		switch filepath.Ext(path) {
		case ".txt", ".md", ".tex", ".vtt":
		default:
			return nil
		}
		raw, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if err := parsertest.CheckAll(New(), path, string(raw)); err != nil {
			t.Errorf("%s: %v", path, err)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func FuzzText(f *testing.F) {
	f.Add("one\n\ntwo\r\rthree\x00")
	f.Add(strings.Repeat("x", 70_000))
	f.Fuzz(func(t *testing.T, raw string) {
		if err := parsertest.CheckSound(New(), "", raw); err != nil {
			t.Error(err)
		}
	})
}

func BenchmarkText(b *testing.B) {
	raw, err := os.ReadFile(filepath.Join(shareddata.Dir(b), "bench", "en.md"))
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(raw)))
	for b.Loop() {
		for _, err := range New().Parse(context.Background(), parsertest.Document("", -1), strings.NewReader(string(raw))) {
			if err != nil {
				b.Fatal(err)
			}
		}
	}
}
