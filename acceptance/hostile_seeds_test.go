package acceptance

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/zlib"
	"encoding/base64"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kbsync/kbsync/internal/shareddata"
)

// mutation damages a file in one way, the same each time.
type mutation struct {
	name  string
	apply func([]byte) []byte
}

func mutations() []mutation {
	cut := func(num, den int) func([]byte) []byte {
		return func(b []byte) []byte { return b[:len(b)*num/den] }
	}
	flip := func(seed uint64, n int) func([]byte) []byte {
		return func(b []byte) []byte {
			b = slices.Clone(b)
			rng := rand.New(rand.NewPCG(seed, uint64(len(b))))
			for range n {
				if len(b) > 0 {
					b[rng.IntN(len(b))] ^= byte(1 << rng.IntN(8))
				}
			}
			return b
		}
	}
	return []mutation{
		{"cut-quarter", cut(1, 4)},
		{"cut-half", cut(1, 2)},
		{"cut-end", func(b []byte) []byte { return b[:max(len(b)-17, 0)] }},
		{"no-start", func(b []byte) []byte { return b[min(len(b), 9):] }},
		{"flip-3", flip(1, 3)},
		{"flip-100", flip(2, 100)},
		{"flip-5000", flip(3, 5000)},
		{"zeros", func(b []byte) []byte {
			b = slices.Clone(b)
			clear(b[len(b)/3 : len(b)/3+min(4096, len(b)/3)])
			return b
		}},
		{"twice", func(b []byte) []byte { return append(slices.Clone(b), b...) }},
		{"head-and-noise", func(b []byte) []byte {
			b = slices.Clone(b)
			rng := rand.New(rand.NewPCG(4, 4))
			for i := min(len(b), 300); i < len(b); i++ {
				b[i] = byte(rng.IntN(256))
			}
			return b
		}},
	}
}

// hostileSeeds are real documents below dir, a few of each format, by path.
func hostileSeeds(tb testing.TB, dir string) (seeds []string) {
	tb.Helper()
	const each, largest = 5, 400 << 10
	kinds := []string{".pdf", ".docx", ".xlsx", ".xlsm", ".html", ".xhtml", ".tex", ".csv", ".md", ".vtt", ".json", ".txt"}
	have := map[string]int{}
	err := filepath.WalkDir(filepath.Join(dir, "fixtures"), func(path string, d fs.DirEntry, err error) error {
		ext := filepath.Ext(path)
		if err != nil || d.IsDir() || !slices.Contains(kinds, ext) || have[ext] >= each {
			return err
		}
		if info, err := d.Info(); err != nil || info.Size() > largest || info.Size() < 500 {
			return err
		}
		have[ext]++
		rel, err := filepath.Rel(dir, path)
		seeds = append(seeds, rel)
		return err
	})
	if err != nil {
		tb.Fatal(err)
	}
	return seeds
}

// plantHostile fills a folder, by format, with files that no parser may stumble over, and says how many.
func plantHostile(tb testing.TB, docs string) (n int) {
	tb.Helper()
	put := func(name string, content []byte) {
		tb.Helper()
		path := filepath.Join(docs, strings.TrimPrefix(filepath.Ext(name), "."), filepath.FromSlash(name))
		err := os.MkdirAll(filepath.Dir(path), 0o755)
		if err == nil {
			err = os.WriteFile(path, content, 0o644)
		}
		if err != nil {
			tb.Fatal(err)
		}
		n++
	}
	src := shareddata.Dir(tb)
	var real [][]byte
	for i, name := range hostileSeeds(tb, src) {
		b, err := os.ReadFile(filepath.Join(src, name))
		if err != nil {
			tb.Fatal(err)
		}
		real = append(real, b)
		for _, m := range mutations() {
			put(fmt.Sprintf("mutated/%02d-%s-%s", i, m.name, filepath.Base(name)), m.apply(b))
		}
	}
	for name, content := range handmadeSeeds(tb) {
		for _, m := range mutations() {
			put("handmade/"+m.name+"-"+name, m.apply(content))
		}
	}
	noise := make([]byte, 5000)
	for i := range noise {
		noise[i] = byte(i * i * 31 >> 3)
	}
	extensions := []string{"pdf", "docx", "pptx", "xlsx", "odt", "odp", "ods", "rtf", "epub", "eml", "mbox", "zip", "tar", "tgz", "gz", "html", "mht", "xml", "json", "jsonl", "csv", "ipynb", "tex", "md", "rst", "adoc", "org", "ics", "vcf", "1", "parquet", "srt", "vtt", "proto", "yaml", "toml", "go", "py", "txt", "doc", "xls", "ppt", "msg"}
	for i, ext := range extensions {
		put("empty/empty."+ext, nil)
		put("noise/noise."+ext, noise)
		put("wrong/other."+ext, real[i%len(real)])
	}
	for name, content := range malicious(tb) {
		put("malicious/"+name, content)
	}
	return n
}

// handmadeSeeds are small sound files of formats of which there are no real ones at hand.
func handmadeSeeds(tb testing.TB) map[string][]byte {
	tb.Helper()
	mail := "From: Anna <a@example.com>\r\nTo: b@example.com\r\nSubject: =?utf-8?B?5L2g5aW9?= plan\r\nDate: Mon, 02 Jan 2006 15:04:05 +0000\r\nMIME-Version: 1.0\r\n" +
		"Content-Type: multipart/mixed; boundary=b1\r\n\r\n--b1\r\nContent-Type: text/plain; charset=utf-8\r\n\r\nThe plan is attached.\r\n\r\n> What is the plan?\r\n\r\n--b1\r\n" +
		"Content-Type: text/markdown; name=plan.md\r\nContent-Disposition: attachment; filename=plan.md\r\nContent-Transfer-Encoding: base64\r\n\r\n" +
		base64.StdEncoding.EncodeToString([]byte("# Plan\n\nFirst the plan, then the work.\n")) + "\r\n--b1--\r\n"
	odf := func(kind, body string) []byte {
		return []byte(zipOf(tb, [][2]string{{"mimetype", "application/vnd.oasis.opendocument." + kind}, {"content.xml", `<?xml version="1.0" encoding="UTF-8"?><office:document-content xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0" xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0" xmlns:draw="urn:oasis:names:tc:opendocument:xmlns:drawing:1.0" xmlns:table="urn:oasis:names:tc:opendocument:xmlns:table:1.0"><office:body>` + body + `</office:body></office:document-content>`}, {"META-INF/manifest.xml", "<manifest/>"}}))
	}
	slide := `<p:sld xmlns:p="http://schemas.openxmlformats.org/presentationml/2006/main" xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"><p:cSld><p:spTree><p:sp><p:nvSpPr><p:cNvPr id="1" name="t"/><p:cNvSpPr/><p:nvPr><p:ph type="title"/></p:nvPr></p:nvSpPr><p:txBody><a:p><a:r><a:t>The title</a:t></a:r></a:p></p:txBody></p:sp></p:spTree></p:cSld></p:sld>`
	rels := func(rows string) string {
		return `<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">` + rows + `</Relationships>`
	}
	const office = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/"
	tarball := tarOf(tb, map[string]string{"a.md": "# A\n\nApples.\n", "dir/b.txt": "Pears.\n"})
	return map[string][]byte{
		"mail.eml":  []byte(mail),
		"box.mbox":  []byte("From a@example.com Mon Jan  2 15:04:05 2006\n" + strings.ReplaceAll(mail, "\r\n", "\n") + "\nFrom b@example.com Mon Jan  2 16:04:05 2006\n" + strings.ReplaceAll(mail, "\r\n", "\n")),
		"text.odt":  odf("text", `<office:text><text:h text:outline-level="1">Head</text:h><text:p>Words of the text.</text:p><text:list><text:list-item><text:p>One</text:p></text:list-item></text:list></office:text>`),
		"show.odp":  odf("presentation", `<office:presentation><draw:page draw:name="p1"><draw:frame><draw:text-box><text:p>Words</text:p></draw:text-box></draw:frame></draw:page></office:presentation>`),
		"sheet.ods": odf("spreadsheet", `<office:spreadsheet><table:table table:name="S"><table:table-row><table:table-cell><text:p>a</text:p></table:table-cell><table:table-cell><text:p>b</text:p></table:table-cell></table:table-row></table:table></office:spreadsheet>`),
		"show.pptx": []byte(zipOf(tb, [][2]string{{"[Content_Types].xml", "<Types/>"}, {"_rels/.rels", rels(`<Relationship Id="r1" Type="` + office + `officeDocument" Target="ppt/presentation.xml"/>`)},
			{"ppt/presentation.xml", `<p:presentation xmlns:p="http://schemas.openxmlformats.org/presentationml/2006/main" xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"><p:sldIdLst><p:sldId id="256" r:id="r1"/></p:sldIdLst></p:presentation>`},
			{"ppt/_rels/presentation.xml.rels", rels(`<Relationship Id="r1" Type="` + office + `slide" Target="slides/slide1.xml"/>`)}, {"ppt/slides/slide1.xml", slide}})),
		"book.epub": []byte(zipOf(tb, [][2]string{{"mimetype", "application/epub+zip"}, {"META-INF/container.xml", `<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles><rootfile full-path="c.opf" media-type="application/oebps-package+xml"/></rootfiles></container>`},
			{"c.opf", `<package xmlns="http://www.idpf.org/2007/opf"><manifest><item id="a" href="a.xhtml" media-type="application/xhtml+xml"/></manifest><spine><itemref idref="a"/></spine></package>`}, {"a.xhtml", `<html xmlns="http://www.w3.org/1999/xhtml"><body><h1>Chapter</h1><p>Words of the book.</p></body></html>`}})),
		"text.rtf":    []byte(`{\rtf1\ansi\ansicpg1252{\fonttbl{\f0 Arial;}}{\stylesheet{\s1 heading 1;}}\pard\s1 Head\par\pard Words \b bold\b0  and \'e9 \u20320?\u22909?\par\trowd\cellx100\cellx200 a\cell b\cell\row}`),
		"files.zip":   []byte(zipOf(tb, [][2]string{{"a.md", "# A\n\nApples.\n"}, {"dir/b.txt", "Pears.\n"}})),
		"files.tar":   tarball,
		"files.tgz":   gzipped(tb, tarball),
		"words.gz":    gzipped(tb, []byte(strings.Repeat("Words in a packed text.\n", 50))),
		"text.rst":    []byte("Title\n=====\n\nWords::\n\n  code\n\n===  ===\na    b\n===  ===\n1    2\n===  ===\n\n* one\n\n  * two\n"),
		"text.adoc":   []byte("= Title\nAnna\n\n== Part\n\n* one\n** two\n\n|===\n|a |b\n\n|1 |2\n|===\n\n----\ncode\n----\n"),
		"text.org":    []byte("#+TITLE: T\n* Head :tag:\n:PROPERTIES:\n:X: 1\n:END:\n- one\n  - two\n| a | b |\n|---+---|\n| 1 | 2 |\n#+BEGIN_SRC go\nx\n#+END_SRC\n"),
		"tool.1":      []byte(".TH TOOL 1\n.SH NAME\ntool \\- does it\n.SH OPTIONS\n.TP\n.B \\-x\nThe \\fIx\\fR.\n"),
		"dates.ics":   []byte("BEGIN:VCALENDAR\r\nVERSION:2.0\r\nBEGIN:VEVENT\r\nUID:1\r\nSUMMARY:Meeting\\, 会议\r\nDTSTART:20260101T100000Z\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n"),
		"people.vcf":  []byte("BEGIN:VCARD\r\nVERSION:3.0\r\nFN:Anna 安娜\r\nTEL:1\r\nEND:VCARD\r\n"),
		"feed.xml":    []byte(`<?xml version="1.0"?><rss version="2.0"><channel><title>Feed</title><item><title>One</title><description>&lt;p&gt;Words&lt;/p&gt;</description></item></channel></rss>`),
		"page.mht":    []byte("From: <Saved by Blink>\r\nSnapshot-Content-Location: http://x/\r\nMIME-Version: 1.0\r\nContent-Type: multipart/related; boundary=\"b\"\r\n\r\n--b\r\nContent-Type: text/html\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\n<html><body><h1>Head</h1><p>Words =E4=BD=A0</p></body></html>\r\n--b--\r\n"),
		"note.ipynb":  []byte(`{"cells":[{"cell_type":"markdown","metadata":{},"source":["# Head\n"]},{"cell_type":"code","metadata":{},"outputs":[],"source":["print(1)"]}],"metadata":{"language_info":{"name":"python"}},"nbformat":4,"nbformat_minor":5}`),
		"lines.jsonl": []byte("{\"a\":1,\"b\":\"words\"}\n{\"a\":2,\"b\":\"字\"}\n"),
	}
}

// malicious are files made to do harm.
func malicious(tb testing.TB) map[string][]byte {
	tb.Helper()
	zeros := strings.Repeat("\x00", 1<<20)
	many := func(s string, n int) []byte { return []byte(strings.Repeat(s, n)) }
	nested := func(open, mid, end string, n int) []byte {
		return []byte(strings.Repeat(open, n) + mid + strings.Repeat(end, n))
	}
	laughs := `<?xml version="1.0"?><!DOCTYPE l [<!ENTITY a "ha">` + func() string {
		var b strings.Builder
		for c := 'b'; c < 'k'; c++ {
			fmt.Fprintf(&b, `<!ENTITY %c "%s">`, c, strings.Repeat(fmt.Sprintf("&%c;", c-1), 10))
		}
		return b.String()
	}() + `]>`
	outside := `<?xml version="1.0"?><!DOCTYPE l [<!ENTITY x SYSTEM "file:///etc/passwd">]>`
	docx := func(document string, more ...[2]string) []byte {
		return []byte(zipOf(tb, append([][2]string{{"[Content_Types].xml", "<Types/>"}, {"word/document.xml", document}}, more...)))
	}
	body := func(inner string) string {
		return `<w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"><w:body>` + inner + `</w:body></w:document>`
	}
	bomb := zipOf(tb, [][2]string{{"zeros.txt", strings.Repeat(zeros, 64)}})
	for range 3 {
		var files [][2]string
		for i := range 16 {
			files = append(files, [2]string{fmt.Sprintf("%d.zip", i), bomb})
		}
		bomb = zipOf(tb, files)
	}
	var lots [][2]string
	for i := range 120_000 {
		lots = append(lots, [2]string{fmt.Sprintf("f%d", i), ""})
	}
	out := map[string][]byte{
		"bomb.zip":            []byte(bomb),
		"lots.zip":            []byte(zipOf(tb, lots)),
		"slip.zip":            []byte(zipOf(tb, [][2]string{{"../../up.md", "# Up\n\nWords.\n"}, {"/etc/abs.md", "# Abs\n\nWords.\n"}, {`..\win.md`, "# Win\n\nWords.\n"}, {"a//b/./c.md", "# C\n\nWords.\n"}, {"dup.md", "one"}, {"dup.md", "two"}, {"nul\x00.md", "x"}})),
		"overlap.zip":         overlapping(tb),
		"bomb.gz":             gzipped(tb, []byte(strings.Repeat(zeros, 300))),
		"bomb.tgz":            gzipped(tb, tarOf(tb, map[string]string{"zeros.txt": strings.Repeat(zeros, 200)})),
		"huge-size.tar":       hugeTar(),
		"part-bomb.docx":      docx(body("<w:p><w:r><w:t>" + strings.Repeat(" ", 300<<20) + "</w:t></w:r></w:p>")),
		"laughs.docx":         docx(laughs + body("<w:p><w:r><w:t>&j;</w:t></w:r></w:p>")),
		"outside.docx":        docx(outside + body("<w:p><w:r><w:t>&x;</w:t></w:r></w:p>")),
		"deep-tables.docx":    docx(body(string(nested("<w:tbl><w:tr><w:tc>", "<w:p/>", "</w:tc></w:tr></w:tbl>", 20_000)))),
		"style-cycle.docx":    docx(body(`<w:p><w:pPr><w:pStyle w:val="A"/></w:pPr><w:r><w:t>Words</w:t></w:r></w:p>`), [2]string{"word/styles.xml", `<w:styles xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"><w:style w:styleId="A"><w:basedOn w:val="B"/></w:style><w:style w:styleId="B"><w:basedOn w:val="A"/></w:style></w:styles>`}),
		"laughs.xml":          []byte(laughs + "<l>&j;</l>"),
		"laughs.svg":          []byte(laughs + `<svg xmlns="http://www.w3.org/2000/svg"><text>&j;</text></svg>`),
		"outside.xml":         []byte(outside + "<l>&x;</l>"),
		"deep.xml":            nested("<a>", "x", "</a>", 300_000),
		"deep.html":           nested("<div>", "x", "</div>", 300_000),
		"deep-lists.html":     nested("<ul><li>", "x", "</li></ul>", 100_000),
		"deep-tables.html":    nested("<table><tr><td>", "x", "</td></tr></table>", 30_000),
		"unclosed.html":       many("<b><i><p>word ", 100_000),
		"attributes.html":     []byte("<p " + strings.Repeat("a=1 ", 500_000) + ">x"),
		"deep.json":           nested("[", "", "]", 500_000),
		"deep-objects.json":   nested(`{"a":`, "1", "}", 300_000),
		"long-string.json":    []byte(`{"a":"` + strings.Repeat("x", 20<<20) + `"}`),
		"heading.md":          []byte("# " + strings.Repeat("x ", 5<<20) + "\n\nbody\n"),
		"title.html":          []byte("<title>" + strings.Repeat("x ", 5<<20) + "</title><h1>" + strings.Repeat("字", 2<<20) + "</h1><p>body"),
		"quotes.md":           many("> ", 200_000),
		"brackets.md":         many("[", 100_000),
		"stars.md":            many("*a_ ", 100_000),
		"lists.md":            deepList(3000),
		"ticks.md":            many("`a``b```c", 50_000),
		"one-line.txt":        many("word ", 4<<20),
		"one-line-zh.txt":     many("字", 4<<20),
		"no-space.txt":        many("x", 8<<20),
		"combining.txt":       many("\u0301", 1<<20),
		"wide.csv":            []byte(strings.Repeat("a,", 500_000) + "\n" + strings.Repeat("1,", 500_000) + "\n"),
		"quote.csv":           []byte("a,b\n\"" + strings.Repeat("x,\n", 2<<20)),
		"groups.rtf":          []byte(`{\rtf1 ` + strings.Repeat("{", 500_000) + "x"),
		"bin.rtf":             []byte(`{\rtf1 {\bin2147483647 x}words\par}`),
		"braces.tex":          many("{", 500_000),
		"environments.tex":    many("\\begin{itemize}\\item ", 50_000),
		"parens.py":           many("(", 300_000),
		"braces.go":           []byte("package a\nfunc f() {" + strings.Repeat("{", 200_000)),
		"deep.yaml":           deepYAML(5000),
		"aliases.yaml":        []byte("a: &a [x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c]\ne: [*d,*d,*d,*d,*d,*d]\n"),
		"parts.eml":           deepMail(3000),
		"boundaries.eml":      []byte("Subject: x\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n" + strings.Repeat("--b\r\n\r\nx\r\n", 100_000)),
		"header.eml":          []byte("Subject: " + strings.Repeat("x ", 5<<20) + "\r\n\r\nbody\r\n"),
		"stars.org":           many("* a\n", 200_000),
		"deep.org":            deepStars(5000),
		"underlines.rst":      many("a\n=\nb\n-\n", 50_000),
		"grid.rst":            many("+-+\n| |\n", 50_000),
		"blocks.adoc":         many("====\n", 100_000),
		"fonts.1":             many(".B \\fB\\fI\\f[X] x\n", 100_000),
		"strings.1":           stringsPage(),
		"fold.ics":            []byte("BEGIN:VCALENDAR\r\nBEGIN:VEVENT\r\nSUMMARY:x" + strings.Repeat("\r\n x", 500_000) + "\r\nEND:VEVENT\r\n"),
		"deep.ics":            many("BEGIN:VEVENT\r\n", 200_000),
		"cues.vtt":            []byte("WEBVTT\n\n" + strings.Repeat("00:00.000 --> 00:00.000\n<b><i>x\n\n", 100_000)),
		"encrypted.docx":      append([]byte("\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"), bytes.Repeat([]byte("E\x00n\x00c\x00r\x00y\x00p\x00t\x00e\x00d\x00P\x00a\x00c\x00k\x00a\x00g\x00e\x00"), 100)...),
		"old.doc":             append([]byte("\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"), bytes.Repeat([]byte("W\x00o\x00r\x00d\x00"), 300)...),
		"kids-cycle.pdf":      pdfOf("<< /Type /Catalog /Pages 2 0 R >>", "<< /Type /Pages /Kids [2 0 R 2 0 R] /Count 2 >>"),
		"count.pdf":           pdfOf("<< /Type /Catalog /Pages 2 0 R >>", "<< /Type /Pages /Kids [3 0 R] /Count 1000000000 >>", "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 200 200] >>"),
		"box.pdf":             pdfOf("<< /Type /Catalog /Pages 2 0 R >>", "<< /Type /Pages /Kids [3 0 R] /Count 1 >>", "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 1000000000 1000000000] >>"),
		"stream-bomb.pdf":     pdfBomb(tb),
		"outline-cycle.pdf":   pdfOf("<< /Type /Catalog /Pages 2 0 R /Outlines 4 0 R >>", "<< /Type /Pages /Kids [3 0 R] /Count 1 >>", "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 200 200] >>", "<< /First 5 0 R /Last 5 0 R >>", "<< /Title (x) /Next 5 0 R /First 5 0 R /Parent 4 0 R >>"),
		"deep-arrays.pdf":     pdfOf("<< /Type /Catalog /Pages 2 0 R /X "+string(nested("[", "", "]", 100_000))+" >>", "<< /Type /Pages /Kids [] /Count 0 >>"),
		"no-pages.pdf":        pdfOf("<< /Type /Catalog /Pages 2 0 R >>", "<< /Type /Pages /Kids [] /Count 0 >>"),
		"many-pages.pdf":      manyPages(20_000),
		"just-the-header.pdf": []byte("%PDF-1.7\n"),
		"dimension.xlsx": []byte(zipOf(tb, [][2]string{{"[Content_Types].xml", `<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"><Override PartName="/xl/workbook.xml" ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.sheet.main+xml"/></Types>`},
			{"_rels/.rels", `<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="r1" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument" Target="xl/workbook.xml"/></Relationships>`},
			{"xl/workbook.xml", `<workbook xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main" xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"><sheets><sheet name="S" sheetId="1" r:id="r1"/></sheets></workbook>`},
			{"xl/_rels/workbook.xml.rels", `<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="r1" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/worksheet" Target="worksheets/sheet1.xml"/></Relationships>`},
			{"xl/worksheets/sheet1.xml", `<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><dimension ref="A1:XFD1048576"/><sheetData><row r="1"><c r="A1" t="inlineStr"><is><t>a</t></is></c><c r="XFD1"><v>1</v></c></row><row r="1048576"><c r="XFD1048576"><v>2</v></c></row></sheetData><mergeCells><mergeCell ref="A1:XFD1048576"/></mergeCells></worksheet>`}})),
	}
	return out
}

func zipOf(tb testing.TB, files [][2]string) string {
	tb.Helper()
	var buf bytes.Buffer
	w := zip.NewWriter(&buf)
	for _, f := range files {
		method := zip.Deflate
		if f[0] == "mimetype" {
			method = zip.Store
		}
		m, err := w.CreateHeader(&zip.FileHeader{Name: f[0], Method: method})
		if err == nil {
			_, err = m.Write([]byte(f[1]))
		}
		if err != nil {
			tb.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		tb.Fatal(err)
	}
	return buf.String()
}

// overlapping is a zip file whose directory names one content many times.
func overlapping(tb testing.TB) []byte {
	tb.Helper()
	one := zipOf(tb, [][2]string{{"kernel.txt", strings.Repeat("\x00", 8<<20)}})
	at := strings.Index(one, "PK\x01\x02")
	end := strings.Index(one, "PK\x05\x06")
	entry := one[at:end]
	const copies = 60_000
	var b bytes.Buffer
	b.WriteString(one[:at])
	for i := range copies {
		e := []byte(entry)
		copy(e[46:], fmt.Sprintf("k%09d", i)[:len("kernel.txt")])
		b.Write(e)
	}
	tail := []byte(one[end:])
	n, size := copies, copies*len(entry)
	copy(tail[8:], []byte{byte(n), byte(n >> 8), byte(n), byte(n >> 8), byte(size), byte(size >> 8), byte(size >> 16), byte(size >> 24)})
	b.Write(tail)
	return b.Bytes()
}

func tarOf(tb testing.TB, files map[string]string) []byte {
	tb.Helper()
	var buf bytes.Buffer
	w := tar.NewWriter(&buf)
	for name, content := range files {
		err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(content))})
		if err == nil {
			_, err = w.Write([]byte(content))
		}
		if err != nil {
			tb.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		tb.Fatal(err)
	}
	return buf.Bytes()
}

// hugeTar says that its one file has 8 GiB.
func hugeTar() []byte {
	b := make([]byte, 2048)
	copy(b, "huge.txt")
	copy(b[100:], "0000644\x000000000\x000000000\x0077777777777\x0000000000000\x00        0")
	copy(b[257:], "ustar\x0000")
	sum := 0
	for _, c := range b[:512] {
		sum += int(c)
	}
	copy(b[148:], fmt.Sprintf("%06o\x00 ", sum))
	return b
}

// pdfOf is a PDF of these objects, the first of them its catalog.
func pdfOf(objects ...string) []byte {
	var b bytes.Buffer
	b.WriteString("%PDF-1.7\n")
	at := make([]int, len(objects))
	for i, o := range objects {
		at[i] = b.Len()
		fmt.Fprintf(&b, "%d 0 obj\n%s\nendobj\n", i+1, o)
	}
	xref := b.Len()
	fmt.Fprintf(&b, "xref\n0 %d\n0000000000 65535 f \n", len(objects)+1)
	for _, n := range at {
		fmt.Fprintf(&b, "%010d 00000 n \n", n)
	}
	fmt.Fprintf(&b, "trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n", len(objects)+1, xref)
	return b.Bytes()
}

// pdfBomb has a page whose content unpacks to 400 MB.
func pdfBomb(tb testing.TB) []byte {
	tb.Helper()
	var packed bytes.Buffer
	w := zlib.NewWriter(&packed)
	chunk := []byte(strings.Repeat("q Q ", 1<<18))
	for range 400 {
		if _, err := w.Write(chunk); err != nil {
			tb.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		tb.Fatal(err)
	}
	return pdfOf("<< /Type /Catalog /Pages 2 0 R >>", "<< /Type /Pages /Kids [3 0 R] /Count 1 >>", "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 200 200] /Contents 4 0 R >>",
		fmt.Sprintf("<< /Length %d /Filter /FlateDecode >>\nstream\n%s\nendstream", packed.Len(), packed.String()))
}

// manyPages has n empty pages.
func manyPages(n int) []byte {
	objects := []string{"<< /Type /Catalog /Pages 2 0 R >>", ""}
	var kids strings.Builder
	for i := range n {
		fmt.Fprintf(&kids, "%d 0 R ", i+3)
		objects = append(objects, "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 200 200] >>")
	}
	objects[1] = fmt.Sprintf("<< /Type /Pages /Kids [%s] /Count %d >>", kids.String(), n)
	return pdfOf(objects...)
}

func deepList(n int) []byte {
	var b bytes.Buffer
	for i := range n {
		fmt.Fprintf(&b, "%s- x\n", strings.Repeat("  ", i))
	}
	return b.Bytes()
}

func deepYAML(n int) []byte {
	var b bytes.Buffer
	for i := range n {
		fmt.Fprintf(&b, "%sa:\n", strings.Repeat(" ", i))
	}
	return b.Bytes()
}

func deepStars(n int) []byte {
	var b bytes.Buffer
	for i := range n {
		fmt.Fprintf(&b, "%s head\n", strings.Repeat("*", i+1))
	}
	return b.Bytes()
}

// stringsPage defines strings by ten of the one before.
func stringsPage() []byte {
	var b bytes.Buffer
	b.WriteString(".TH A 1\n.ds a xxxxxxxxxx\n")
	for c := 'b'; c < 'p'; c++ {
		fmt.Fprintf(&b, ".ds %c %s\n", c, strings.Repeat(fmt.Sprintf("\\*%c", c-1), 10))
	}
	b.WriteString("\\*o\n")
	return b.Bytes()
}

func deepMail(n int) []byte {
	var b bytes.Buffer
	for i := range n {
		fmt.Fprintf(&b, "Content-Type: multipart/mixed; boundary=b%d\r\n\r\n--b%d\r\n", i, i)
	}
	b.WriteString("Content-Type: text/plain\r\n\r\nThe end.\r\n")
	return append([]byte("Subject: deep\r\nMIME-Version: 1.0\r\n"), b.Bytes()...)
}
