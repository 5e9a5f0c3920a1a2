package pdf

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand"
	"strings"
	"testing"
	"time"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/connector/parsertest"
)

// read reads a file that may be bad: there are sound elements, or an error of a class that says what is wrong.
func read(t *testing.T, p connector.Parser, data []byte) ([]connector.Element, error) {
	t.Helper()
	els, err := parsertest.Collect(context.Background(), p, "a.pdf", bytes.NewReader(data))
	if err != nil {
		if connector.ClassOf(err) != connector.ClassInvalid || !strings.HasPrefix(err.Error(), "pdf: ") {
			t.Errorf("class %v: %v", connector.ClassOf(err), err)
		}
		return nil, err
	}
	if err := parsertest.CheckElements(els); err != nil {
		t.Error(err)
	}
	return els, nil
}

// TestDamaged: whatever part of a file is missing, doubled or changed costs that file at most.
func TestDamaged(t *testing.T) {
	p := opener(t)()
	rng := rand.New(rand.NewSource(1))
	for name, whole := range map[string][]byte{"english": english(), "chinese": chinese(), "scanned": scanned()} {
		t.Run(name, func(t *testing.T) {
			for i := range 40 {
				_, _ = read(t, p, whole[:len(whole)*i/40])
				b := bytes.Clone(whole)
				for range 1 << (i % 8) {
					b[rng.Intn(len(b))] = byte(rng.Intn(256))
				}
				_, _ = read(t, p, b)
				at, to := rng.Intn(len(whole)), rng.Intn(len(whole))
				_, _ = read(t, p, append(bytes.Clone(whole[:at]), whole[to:]...))
			}
			if els := collect(t, p, whole); len(els) < 2 {
				t.Error("a sound file after the damaged ones gives nothing")
			}
		})
	}
}

// forms adds forms in forms: each draws the next one twice, n deep.
func forms(b *builder, n int) int {
	next := b.stream("/Type /XObject /Subtype /Form /BBox [0 0 600 800]", put("F1", 10, 50, 50, "deep"), false)
	for range n {
		next = b.stream(fmt.Sprintf("/Type /XObject /Subtype /Form /BBox [0 0 600 800] /Resources << /XObject << /X %d 0 R >> >>", next), "/X Do /X Do", false)
	}
	return next
}

// TestBombs: small files that would take very much. Each is an error, or is read within bounds; the next file is read as ever.
func TestBombs(t *testing.T) {
	open := opener(t)
	page := func(content string, more ...string) []byte {
		b := newBuilder()
		b.page(content, more...)
		return b.bytes()
	}
	b := newBuilder()
	b.page("/X Do", fmt.Sprintf("/XObject << /X %d 0 R >>", forms(b, 40)))
	doubling := b.bytes()
	b = newBuilder()
	self := len(b.objects) + 1
	b.stream(fmt.Sprintf("/Type /XObject /Subtype /Form /BBox [0 0 9 9] /Resources << /XObject << /X %d 0 R >> >>", self), "/X Do", false)
	b.page("/X Do "+put("F1", 10, 50, 500, "after all"), fmt.Sprintf("/XObject << /X %d 0 R >>", self))
	cycle := b.bytes()
	for name, c := range map[string]struct {
		data []byte
		want string // a part of the error or of the elements; empty: anything
	}{
		"forms that double":     {doubling, "takes more than 320 MiB"},
		"a form in itself":      {cycle, "after all"},
		"a packed stream":       {page(strings.Repeat(" ", 300<<20)), "320 MiB"},
		"deep saves":            {page(strings.Repeat("q ", 1_000_000) + put("F1", 10, 50, 500, "after all")), "after all"},
		"deep arrays":           {page(strings.Repeat("[", 1_000_000) + put("F1", 10, 50, 500, "after all")), ""},
		"deep objects":          {[]byte("%PDF-1.4\n1 0 obj " + strings.Repeat("<< /A [", 200_000) + "\ntrailer << /Root 1 0 R >>"), "damaged"},
		"pages in themselves":   {[]byte("%PDF-1.4\n1 0 obj << /Type /Catalog /Pages 2 0 R >> endobj\n2 0 obj << /Type /Pages /Kids [2 0 R 2 0 R] /Count 2 >> endobj\ntrailer << /Root 1 0 R >>"), ""},
		"a billion pages":       {[]byte("%PDF-1.4\n1 0 obj << /Type /Catalog /Pages 2 0 R >> endobj\n2 0 obj << /Type /Pages /Kids [3 0 R] /Count 1000000000 >> endobj\n3 0 obj << /Type /Page /Parent 2 0 R >> endobj\ntrailer << /Root 1 0 R >>"), ""},
		"fewer than no pages":   {[]byte("%PDF-1.4\n1 0 obj << /Type /Catalog /Pages 2 0 R >> endobj\n2 0 obj << /Type /Pages /Kids [] /Count -5 >> endobj\ntrailer << /Root 1 0 R >>"), ""},
		"a page without end":    {bytes.Replace(english(), []byte("/MediaBox [0 0 600 800]"), []byte("/MediaBox [0 0 1e38 9e37]"), 1), "About bridges"},
		"a page turned inwards": {bytes.Replace(english(), []byte("/MediaBox [0 0 600 800]"), []byte("/MediaBox [600 800 0 0]"), 1), "About bridges"},
		"a huge size":           {page(put("F1", 1e30, 50, 500, "too large") + put("F1", 10, 50, 500, "after all") + "BT /F1 10 Tf 1e38 0 0 1e38 1e38 1e38 Tm (far away) Tj ET"), "after all"},
		"a font of nothing":     {page("BT /F9 10 Tf 50 500 Td (no font) Tj ET " + put("F1", 10, 50, 400, "after all")), "after all"},
		"many letters":          {page("BT /F1 1 Tf 1 1 Td " + strings.Repeat("("+strings.Repeat("a", 1000)+") Tj 0 1 Td ", 600) + "ET"), "page 1 has 6"},
		"many lines":            {page(strings.Repeat("0 0 m 9 9 l S ", 400_000) + put("F1", 10, 50, 500, "after all")), ""},
	} {
		t.Run(name, func(t *testing.T) {
			els, err := read(t, open(), c.data)
			if got := fmt.Sprint(show(els), err); !strings.Contains(got, c.want) {
				t.Errorf("got %.300s, want %s", got, c.want)
			}
		})
	}
	if got := show(collect(t, open(), english())); !strings.Contains(got, "About bridges") {
		t.Error("a sound file after the bombs gives", got)
	}
}

// TestStopped: a file that keeps PDFium busy is stopped when its time is up, when it is cancelled, and when nobody wants more.
func TestStopped(t *testing.T) {
	b := newBuilder()
	b.page("/X Do", fmt.Sprintf("/XObject << /X %d 0 R >>", forms(b, 40)))
	busy := b.bytes()
	p := opener(t, func(c *Config) { c.Timeout = time.Millisecond })()
	if _, err := read(t, p, busy); err == nil || !strings.Contains(err.Error(), "takes too long: raise timeout") {
		t.Error(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	if _, err := parsertest.Collect(ctx, opener(t)(), "a.pdf", bytes.NewReader(busy)); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
}

// TestManyAtOnce: more files at once than there are sandboxes, some of them large, give what they give alone.
func TestManyAtOnce(t *testing.T) {
	b := newBuilder()
	b.page(strings.Repeat(" ", 80<<20) + put("F1", 10, 50, 500, "a page of many bytes"))
	files := [][]byte{english(), b.bytes(), chinese()}
	p := opener(t)()
	want := make([]string, len(files))
	for i := range files {
		want[i] = show(collect(t, p, files[i]))
	}
	results := make(chan error)
	const copies = 6
	for range copies {
		for i := range files {
			go func() {
				els, err := parsertest.Collect(context.Background(), p, "a.pdf", bytes.NewReader(files[i]))
				if got := show(els); err == nil && got != want[i] {
					err = fmt.Errorf("got %s", got)
				}
				results <- err
			}()
		}
	}
	for range copies * len(files) {
		if err := <-results; err != nil {
			t.Error(err)
		}
	}
}
