package pdf

import (
	"bytes"
	"compress/zlib"
	"fmt"
	"strings"
	"unicode/utf16"
)

// builder writes PDF files for tests.
type builder struct {
	objects [][]byte // object n is objects[n-1]
	pages   []int
	info    string // entries of the information dictionary
	catalog string // further entries of the catalog
	trailer string
}

// The objects that every file starts with.
const (
	objCatalog = iota + 1
	objPages
	objLatin
	objBold
	objHan
	objHanFont
	objHanCMap
	objInfo
	objCount = objInfo
)

func newBuilder() *builder { return &builder{objects: make([][]byte, objCount)} }

// add appends an object and gives its number.
func (b *builder) add(body string) int {
	b.objects = append(b.objects, []byte(body))
	return len(b.objects)
}

// stream appends a stream, packed where that is asked for.
func (b *builder) stream(dict, data string, packed bool) int {
	if packed {
		var buf bytes.Buffer
		w := zlib.NewWriter(&buf)
		_, _ = w.Write([]byte(data))
		_ = w.Close()
		data = buf.String()
		dict += " /Filter /FlateDecode"
	}
	return b.add(fmt.Sprintf("<< %s /Length %d >>\nstream\n%s\nendstream", dict, len(data), data))
}

// page appends a page of 600 by 800 points; resources are those that it needs beside the fonts.
func (b *builder) page(content string, resources ...string) int {
	return b.pageWith(content, "/MediaBox [0 0 600 800]", resources...)
}

// pageWith appends a page with entries of its dictionary.
func (b *builder) pageWith(content, entries string, resources ...string) int {
	at := b.stream("", content, true)
	n := b.add(fmt.Sprintf("<< /Type /Page /Parent %d 0 R %s /Contents %d 0 R /Resources << /Font << /F1 %d 0 R /F2 %d 0 R /F3 %d 0 R >> %s >> >>",
		objPages, entries, at, objLatin, objBold, objHan, strings.Join(resources, " ")))
	b.pages = append(b.pages, n)
	return n
}

// bytes is the file.
func (b *builder) bytes() []byte {
	set := func(n int, format string, args ...any) { b.objects[n-1] = fmt.Appendf(nil, format, args...) }
	kids := make([]string, len(b.pages))
	for i, n := range b.pages {
		kids[i] = fmt.Sprintf("%d 0 R", n)
	}
	set(objCatalog, "<< /Type /Catalog /Pages %d 0 R %s >>", objPages, b.catalog)
	set(objPages, "<< /Type /Pages /Kids [%s] /Count %d >>", strings.Join(kids, " "), len(kids))
	set(objLatin, "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>")
	set(objBold, "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica-Bold /Encoding /WinAnsiEncoding >>")
	set(objHan, "<< /Type /Font /Subtype /Type0 /BaseFont /SimSun /Encoding /UniGB-UCS2-H /DescendantFonts [%d 0 R] >>", objHanFont)
	set(objHanFont, "<< /Type /Font /Subtype /CIDFontType0 /BaseFont /SimSun /CIDSystemInfo << /Registry (Adobe) /Ordering (GB1) /Supplement 4 >> /DW 1000 >>")
	set(objHanCMap, "null")
	set(objInfo, "<< %s >>", b.info)
	var out bytes.Buffer
	out.WriteString("%PDF-1.7\n%\xE2\xE3\xCF\xD3\n")
	offsets := make([]int, len(b.objects))
	for i, o := range b.objects {
		offsets[i] = out.Len()
		fmt.Fprintf(&out, "%d 0 obj\n%s\nendobj\n", i+1, o)
	}
	xref := out.Len()
	fmt.Fprintf(&out, "xref\n0 %d\n0000000000 65535 f \n", len(b.objects)+1)
	for _, at := range offsets {
		fmt.Fprintf(&out, "%010d 00000 n \n", at)
	}
	fmt.Fprintf(&out, "trailer\n<< /Size %d /Root %d 0 R /Info %d 0 R %s >>\nstartxref\n%d\n%%%%EOF\n", len(b.objects)+1, objCatalog, objInfo, b.trailer, xref)
	return out.Bytes()
}

// put sets Latin text with its baseline at (x, y) from the lower left corner.
func put(font string, size, x, y float64, text string) string {
	text = strings.NewReplacer(`\`, `\\`, "(", `\(`, ")", `\)`).Replace(text)
	return fmt.Sprintf("BT /%s %g Tf %g %g Td (%s) Tj ET\n", font, size, x, y, text)
}

// han sets Chinese text.
func han(size, x, y float64, text string) string {
	var hex strings.Builder
	for _, u := range utf16.Encode([]rune(text)) {
		fmt.Fprintf(&hex, "%04X", u)
	}
	return fmt.Sprintf("BT /F3 %g Tf %g %g Td <%s> Tj ET\n", size, x, y, hex.String())
}
