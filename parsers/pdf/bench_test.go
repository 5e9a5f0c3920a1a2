package pdf

import (
	"context"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/klippa-app/go-pdfium/requests"
	"github.com/klippa-app/go-pdfium/webassembly"
	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"

	"github.com/kbsync/kbsync/connector/parsertest"
	"github.com/kbsync/kbsync/internal/shareddata"
)

// realFiles are the real PDF files that open without a password.
func realFiles(tb testing.TB) map[string][]byte {
	tb.Helper()
	files := map[string][]byte{}
	err := filepath.WalkDir(shareddata.Dir(tb), func(name string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || filepath.Ext(name) != ".pdf" || strings.Contains(name, "password") {
			return err
		}
		files[filepath.Base(name)], err = os.ReadFile(name)
		return err
	})
	if err != nil {
		tb.Fatal(err)
	}
	return files
}

// BenchmarkRealFiles reads all real PDF files: by go-pdfium's own call for text in rectangles with their fonts, by the part of the parser
// that asks PDFium for text, by all of what the parser asks, and by the whole parser.
func BenchmarkRealFiles(b *testing.B) {
	files := realFiles(b)
	measure := func(b *testing.B, read func(b *testing.B, data []byte) int) {
		pages := 0
		start := processorTime()
		for b.Loop() {
			for _, data := range files {
				pages += read(b, data)
			}
		}
		b.ReportMetric(float64(pages)/(processorTime()-start).Seconds(), "pages/cpu-s")
	}
	b.Run("go-pdfium", func(b *testing.B) { measure(b, peer(b)) })
	p := opener(b)().(*Parser)
	read := func(what func(d *document, i int)) func(b *testing.B, data []byte) int {
		return func(b *testing.B, data []byte) int {
			d, err := p.open(context.Background(), strings.NewReader(string(data)))
			if err != nil {
				b.Fatal(err)
			}
			defer d.close()
			for i := range d.count {
				if what(d, i); d.s.err != nil {
					b.Fatal(d.s.err)
				}
			}
			return d.count
		}
	}
	_ = collect(b, p, english())
	b.Run("text", func(b *testing.B) { measure(b, read(func(d *document, i int) { d.read(i, false) })) })
	b.Run("pages", func(b *testing.B) { measure(b, read(func(d *document, i int) { d.read(i, true) })) })
	b.Run("parser", func(b *testing.B) {
		measure(b, func(b *testing.B, data []byte) int {
			els, err := parsertest.Collect(context.Background(), p, "a.pdf", strings.NewReader(string(data)))
			if err != nil {
				b.Fatal(err)
			}
			last := 0
			for _, el := range els {
				last = max(last, el.Page, el.PageEnd)
			}
			return last
		})
	})
}

// peer reads files as go-pdfium does by itself.
func peer(b *testing.B) func(b *testing.B, data []byte) int {
	cache, err := wazero.NewCompilationCacheWithDir(filepath.Join(os.TempDir(), "kbsync-bench-pdfium"))
	if err != nil {
		b.Fatal(err)
	}
	pool, err := webassembly.Init(webassembly.Config{
		MaxTotal: 1, FSConfig: wazero.NewFSConfig(), Stdout: io.Discard, Stderr: io.Discard,
		RuntimeConfig: wazero.NewRuntimeConfig().WithCoreFeatures(api.CoreFeaturesV2 | experimental.CoreFeaturesExceptionHandling).WithCompilationCache(cache),
	})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = pool.Close() })
	return func(b *testing.B, data []byte) int {
		inst, err := pool.GetInstance(time.Minute)
		if err != nil {
			b.Fatal(err)
		}
		defer func() { _ = inst.Close() }()
		doc, err := inst.OpenDocument(&requests.OpenDocument{File: &data})
		if err != nil {
			b.Fatal(err)
		}
		count, err := inst.FPDF_GetPageCount(&requests.FPDF_GetPageCount{Document: doc.Document})
		if err != nil {
			b.Fatal(err)
		}
		for i := range count.PageCount {
			if _, err := inst.GetPageTextStructured(&requests.GetPageTextStructured{
				Page: requests.Page{ByIndex: &requests.PageByIndex{Document: doc.Document, Index: i}},
				Mode: requests.GetPageTextStructuredModeRects, CollectFontInformation: true,
			}); err != nil {
				b.Fatal(err)
			}
		}
		return count.PageCount
	}
}
