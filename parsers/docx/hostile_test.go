package docx

import (
	"archive/zip"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/connector/parsertest"
	"github.com/kbsync/kbsync/internal/shareddata"
	"github.com/kbsync/kbsync/internal/zipdoc/ziptest"
)

// rewritten is a package with replacements in all of its parts.
func rewritten(tb testing.TB, doc string, pairs ...string) string {
	tb.Helper()
	z, err := zip.NewReader(strings.NewReader(doc), int64(len(doc)))
	if err != nil {
		tb.Fatal(err)
	}
	var members []string
	for _, f := range z.File {
		r, err := f.Open()
		if err != nil {
			tb.Fatal(err)
		}
		data, err := io.ReadAll(r)
		if err != nil {
			tb.Fatal(err)
		}
		members = append(members, f.Name, strings.NewReplacer(pairs...).Replace(string(data)))
	}
	return ziptest.Pack(tb, members...)
}

// TestHostile: whatever is wrong with a document is one error that says so, or is left out; nothing panics.
func TestHostile(t *testing.T) {
	good := english(t)
	deep := func(open, end string, n int) string { return strings.Repeat(open, n) + strings.Repeat(end, n) }
	for _, c := range []struct{ name, input, says string }{
		{"no document part", ziptest.Pack(t, "a.txt", "x"), "no part word/document.xml"},
		{"another format", "%PDF-1.7 and so on", "no zip package"},
		{"old format", "\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1....", "without a password"},
		{"malformed", rewritten(t, good, "</w:body>", "</w:boy>"), "malformed XML"},
		{"nesting", packed(t, deep("<w:sdt>", "</w:sdt>", 100_000), parts{}), "nested"},
		{"bomb", packed(t, strings.Repeat(" ", 40<<20), parts{}), "zip bomb"},
		{"malformed styles", packed(t, plainP("x"), parts{styles: "<w:style"}), "styles.xml"},
	} {
		_, err := parsertest.Collect(context.Background(), fresh(t, nil), "x.docx", strings.NewReader(c.input))
		if connector.ClassOf(err) != connector.ClassInvalid || !strings.Contains(fmt.Sprint(err), c.says) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	for i := range 16 {
		cut := good[:len(good)*i/16]
		if err := parsertest.CheckSound(fresh(t, nil), "x.docx", cut); err != nil {
			t.Error(err)
		}
	}
	for name, body := range map[string]string{
		"nested tables":    deep("<w:tbl><w:tr><w:tc>"+plainP("x"), "</w:tc></w:tr></w:tbl>", 3000),
		"nested equations": "<w:p><m:oMath>" + deep("<m:f><m:num><m:r><m:t>x</m:t></m:r>", "</m:num></m:f>", 3000) + "</m:oMath></w:p>",
		"nested boxes":     deep(`<w:p><w:r><w:pict><v:textbox><w:txbxContent>`, `</w:txbxContent></v:textbox></w:pict></w:r></w:p>`, 1500),
		"wide span":        `<w:tbl><w:tr><w:tc><w:tcPr><w:gridSpan w:val="2000000000"/></w:tcPr>` + plainP("x") + `</w:tc></w:tr>` + row(false, "a", "b") + `</w:tbl>`,
		"field marks":      "<w:p>" + strings.Repeat(`<w:r><w:fldChar w:fldCharType="begin"/></w:r>`, 50_000) + "</w:p>" + plainP("after"),
		"negative level":   item("1", -5, "x") + item("1", 77, "y"),
	} {
		if err := parsertest.CheckSound(fresh(t, nil), "x.docx", packed(t, body, parts{numbering: testNumbering})); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := parsertest.Collect(context.Background(), fresh(t, nil), "x.docx", strings.NewReader(packed(t, body, parts{numbering: testNumbering}))); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestMissingParts: a document whose relationships name parts that are not there is read without them.
func TestMissingParts(t *testing.T) {
	doc := rewritten(t, english(t), `Target="styles.xml"`, `Target="none.xml"`, `Target="numbering.xml"`, `Target="none2.xml"`, `Target="footnotes.xml"`, `Target="../none3.xml"`, `Target="header1.xml"`, `Target="none4.xml"`)
	if got := parsed(t, doc, nil); !strings.Contains(got, "text: The Sentineltitle") {
		t.Error(got)
	}
}

// fixtures are the Word documents among the shared data.
func fixtures(tb testing.TB) map[string]string {
	tb.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(filepath.Join(shareddata.Dir(tb), "fixtures"), func(path string, _ os.DirEntry, err error) error {
		if err == nil && filepath.Ext(path) == ".docx" {
			var data []byte
			data, err = os.ReadFile(path)
			out[filepath.Base(path)] = string(data)
		}
		return err
	})
	if err != nil {
		tb.Fatal(err)
	}
	return out
}

// TestFixtures holds real documents to the contract.
func TestFixtures(t *testing.T) {
	for name, data := range fixtures(t) {
		if err := parsertest.CheckAll(fresh(t, nil), name, data); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func FuzzBody(f *testing.F) {
	for _, body := range []string{
		p("1", "x") + item("1", 0, "y") + `<w:tbl>` + row(true, "a", "b") + row(false, "c", "d") + `</w:tbl>`,
		`<w:p><w:r><w:fldChar w:fldCharType="begin"/><w:t>x</w:t><w:footnoteReference w:id="2"/></w:r><m:oMath><m:rad><m:e><m:r><m:t>x</m:t></m:r></m:e></m:rad></m:oMath></w:p>`,
		`<w:p><w:pPr><w:rPr><w:del/></w:rPr></w:pPr><w:del><w:r><w:delText>x</w:delText></w:r></w:del></w:p><w:sdt><w:sdtContent><w:p/></w:sdtContent></w:sdt>`,
	} {
		f.Add(body)
	}
	f.Fuzz(func(t *testing.T, body string) {
		doc := packed(t, body, parts{styles: testStyles, numbering: testNumbering, footnotes: `<w:footnote w:id="2">` + plainP("n") + `</w:footnote>`})
		if err := parsertest.CheckSound(fresh(t, nil), "x.docx", doc); err != nil {
			t.Error(err)
		}
	})
}

// BenchmarkDOCX measures a document from its bytes to its elements, per byte of the XML in it.
func BenchmarkDOCX(b *testing.B) {
	var body strings.Builder
	for i := range 20_000 {
		if i%20 == 0 {
			body.WriteString(p("1", fmt.Sprintf("Chapter %d", i)))
		}
		body.WriteString(`<w:p w:rsidR="00A77B3E" w:rsidRDefault="00A77B3E"><w:pPr><w:pStyle w:val="a"/><w:spacing w:after="120"/><w:jc w:val="both"/></w:pPr>`)
		for range 4 {
			body.WriteString(`<w:r w:rsidRPr="00B1"><w:rPr><w:rFonts w:ascii="Calibri" w:hAnsi="Calibri"/><w:sz w:val="22"/></w:rPr><w:t xml:space="preserve">Some words of a sentence that is written in this run, 以及中文。 </w:t></w:r>`)
		}
		body.WriteString(`</w:p>`)
		if i%50 == 0 {
			body.WriteString(`<w:tbl>` + row(true, "Name", "Age", "City") + row(false, "Ann", "31", "Rome") + row(false, "Bob", "42", "Paris") + `</w:tbl>`)
		}
	}
	doc := packed(b, body.String(), parts{styles: testStyles, numbering: testNumbering})
	parser := fresh(b, nil)
	b.SetBytes(int64(body.Len()))
	b.ReportAllocs()
	for b.Loop() {
		for _, err := range parser.Parse(context.Background(), parsertest.Document("x.docx", len(doc)), bytes.NewReader([]byte(doc))) {
			if err != nil {
				b.Fatal(err)
			}
		}
	}
}

// BenchmarkFixtures measures the real documents.
func BenchmarkFixtures(b *testing.B) {
	all := fixtures(b)
	var size int64
	for _, doc := range all {
		z, err := zip.NewReader(strings.NewReader(doc), int64(len(doc)))
		if err != nil {
			b.Fatal(err)
		}
		for _, f := range z.File {
			if strings.HasSuffix(f.Name, ".xml") {
				size += int64(f.UncompressedSize64)
			}
		}
	}
	parser := fresh(b, nil)
	b.SetBytes(size)
	for b.Loop() {
		for _, doc := range all {
			for _, err := range parser.Parse(context.Background(), parsertest.Document("x.docx", len(doc)), strings.NewReader(doc)) {
				if err != nil {
					b.Fatal(err)
				}
			}
		}
	}
}
