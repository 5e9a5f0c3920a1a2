package epub

import (
	"archive/zip"
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/connector/parsertest"
)

var update = flag.Bool("update", false, "write golden files anew")

func fresh(tb testing.TB) connector.Parser {
	tb.Helper()
	c := defaults()
	c.MaxUnpacked = 1 << 20
	p, err := Plugin().Open(context.Background(), &c, connector.Env{})
	if err != nil {
		tb.Fatal(err)
	}
	return p
}

// packed is a book whose spine names the ids given, with files by name and content.
func packed(tb testing.TB, meta, spine string, files ...string) string {
	tb.Helper()
	var refs, items strings.Builder
	for id := range strings.FieldsSeq(spine) {
		fmt.Fprintf(&refs, `<itemref idref="%s"/>`, id)
	}
	for i := 0; i < len(files); i += 2 {
		id := strings.TrimSuffix(files[i], ".xhtml")
		properties := ""
		if id == "nav" {
			properties = ` properties="nav"`
		}
		fmt.Fprintf(&items, `<item id="%s" href="text/%s" media-type="application/xhtml+xml"%s/>`, id, files[i], properties)
	}
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	all := []string{"mimetype", "application/epub+zip",
		"META-INF/container.xml", `<container xmlns="c"><rootfiles><rootfile full-path="OEBPS/book.opf"/></rootfiles></container>`,
		"OEBPS/book.opf", `<package xmlns="http://www.idpf.org/2007/opf"><metadata xmlns:dc="http://purl.org/dc/elements/1.1/">` + meta + `</metadata><manifest><item id="cover" href="cover.png" media-type="image/png"/>` + items.String() + `</manifest><spine>` + refs.String() + `</spine></package>`}
	for i := 0; i < len(files); i += 2 {
		all = append(all, "OEBPS/text/"+files[i], files[i+1])
	}
	if strings.Contains(meta, "drm") {
		all = append(all, "META-INF/encryption.xml", `<encryption><EncryptedData><CipherData><CipherReference URI="OEBPS/text/one.xhtml"/></CipherData></EncryptedData></encryption>`)
	}
	for i := 0; i < len(all); i += 2 {
		w, err := z.Create(all[i])
		if err != nil {
			tb.Fatal(err)
		}
		if _, err := w.Write([]byte(all[i+1])); err != nil {
			tb.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		tb.Fatal(err)
	}
	return b.String()
}

func page(body string) string {
	return `<?xml version="1.0" encoding="UTF-8"?><html xmlns="http://www.w3.org/1999/xhtml"><head><title>x</title></head><body>` + body + `</body></html>`
}

func english(tb testing.TB) string {
	return packed(tb, `<dc:title>A Sentinelbook</dc:title><dc:creator>Ann</dc:creator><dc:creator>Bob</dc:creator><dc:language>en</dc:language>`, "nav two one two",
		"one.xhtml", page(`<h1>Chapter II</h1><p>Sentinelsecond text.</p><table><tr><th>a</th><th>b</th></tr><tr><td>1</td><td>2</td></tr></table>`),
		"two.xhtml", page(`<h1>Chapter I</h1><p>Sentinelfirst text.</p><aside>1. Sentinelnote.</aside><table><tr><th>c</th><th>d</th></tr><tr><td>3</td><td>4</td></tr></table>`),
		"nav.xhtml", page(`<nav><ol><li>Sentinelcontents</li></ol></nav>`))
}

func chinese(tb testing.TB) string {
	return packed(tb, `<dc:title>红楼梦</dc:title><dc:creator>曹雪芹</dc:creator><dc:language>zh</dc:language>`, "one", "one.xhtml", page(`<h2>第一回</h2><p>甄士隐梦幻识通灵。</p><p>贾雨村风尘怀闺秀。</p>`))
}

func TestContract(t *testing.T) {
	parsertest.Run(t, func() connector.Parser { return fresh(t) }, []parsertest.Case{
		{Name: "english", Input: english(t), Sentinels: []string{"Sentinelfirst", "Sentinelsecond", "Sentinelnote", "Sentinelcontents", "cover.png"}},
		{Name: "chinese", Input: chinese(t), Sentinels: []string{"甄士隐", "风尘"}},
		{Name: "empty"},
	})
}

// TestGolden compares what books become with testdata.
func TestGolden(t *testing.T) {
	for name, data := range map[string]string{"english": english(t), "chinese": chinese(t)} {
		els, err := parsertest.Collect(context.Background(), fresh(t), "x.epub", strings.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		var b strings.Builder
		for _, e := range els {
			fmt.Fprintf(&b, "== %s %d %v %s\n%s\n", e.Kind, e.Level, e.Properties, e.Reason, strings.TrimRight(e.Text, "\n"))
		}
		file := filepath.Join("testdata", name+".golden")
		if *update {
			if err := os.MkdirAll("testdata", 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, []byte(b.String()), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil || string(want) != b.String() {
			t.Errorf("%s: %v\n%s", name, err, b.String())
		}
	}
}

// Books that cannot be read say why.
func TestErrors(t *testing.T) {
	whole := english(t)
	for _, c := range []struct{ name, data, want string }{
		{"truncated", whole[:len(whole)/2], "cut short"},
		{"encrypted", packed(t, "drm", "one", "one.xhtml", page("x")), "encrypted"},
		{"bomb", packed(t, "", "one", "one.xhtml", page(strings.Repeat("<p>", 1<<20))), "max_unpacked"},
		{"no chapters", packed(t, "", "three", "one.xhtml", page("x")), "no chapters"},
	} {
		_, err := parsertest.Collect(context.Background(), fresh(t), "x.epub", strings.NewReader(c.data))
		if err == nil || !strings.Contains(err.Error(), c.want) || connector.ClassOf(err) != connector.ClassInvalid {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

func FuzzEPUB(f *testing.F) {
	f.Add(`<dc:title>t</dc:title>`, page("<h1>a</h1><p>b</p>"))
	f.Fuzz(func(t *testing.T, meta, chapter string) {
		if err := parsertest.CheckSound(fresh(t), "x.epub", packed(t, meta, "one one", "one.xhtml", chapter)); err != nil {
			t.Error(err)
		}
	})
}
